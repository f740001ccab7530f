use footprint::value::{Str, Value};

/// What constructors and setters of payloads accept for a field of type `T`: the type itself, and what a
/// caller usually has at hand — `&str` and `String` for text, `usize` for a count, a plain value for an
/// optional field.
///
/// ```
/// use agentfootprint_record::events::payload::StreamToken;
/// let token = StreamToken::new(1, "one two".len(), "one");
/// assert_eq!((token.token_index, &*token.content), (7, "one"));
/// ```
pub trait Give<T> {
    /// The field's value.
    fn give(self) -> T;
}

impl<T> Give<T> for T {
    fn give(self) -> T {
        self
    }
}

impl<T> Give<Option<T>> for T {
    fn give(self) -> Option<T> {
        Some(self)
    }
}

/// Conversions for a field, a required field and an optional one alike.
macro_rules! give {
    ($( $from:ty => $to:ty, |$given:ident| $how:expr; )+) => {$(
        impl Give<$to> for $from {
            fn give(self) -> $to {
                let $given = self;
                $how
            }
        }

        impl Give<Option<$to>> for $from {
            fn give(self) -> Option<$to> {
                Some(Give::<$to>::give(self))
            }
        }
    )+};
}

give! {
    &str => Str, |text| text.into();
    String => Str, |text| text.into();
    &Str => Str, |text| text.clone();
    // A count beyond 2^64 cannot exist; a negative literal is a mistake that must not become a huge count.
    usize => u64, |count| u64::try_from(count).unwrap_or(u64::MAX);
    u32 => u64, |count| u64::from(count);
    i32 => u64, |count| u64::try_from(count).unwrap_or(0);
    i32 => i64, |count| i64::from(count);
    &Value => Value, |value| value.clone();
    Vec<String> => Vec<Str>, |texts| texts.into_iter().map(Str::from).collect();
    Vec<&str> => Vec<Str>, |texts| texts.into_iter().map(Str::from).collect();
}

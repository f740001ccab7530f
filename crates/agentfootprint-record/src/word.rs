//! Closed literal sets: enums that can be written only with a listed word, and read with any (EVT-23).

use std::fmt;

use footprint::value::Str;

/// A word a reader met that this version does not list.
///
/// It can only come from reading: nothing outside this crate can make one, so a writer can never put an
/// unlisted word on a record, while a record of a newer version keeps its words.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unlisted(Str);

impl Unlisted {
    pub(crate) fn read(word: &Str) -> Self {
        Self(word.clone())
    }

    /// The word as read.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Str {
        self.0.clone()
    }
}

impl fmt::Debug for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// What every closed set can do; implemented by the `words!` macro.
pub trait Word: Sized + Clone {
    /// The listed words, in the order of the specification.
    const WORDS: &'static [&'static str];

    /// The recorded word.
    fn word(&self) -> &str;

    /// The recorded word, shared.
    fn shared_word(&self) -> Str;

    /// Reads any word; an unlisted one is kept as such.
    fn read(word: &Str) -> Self;

    /// The variant of a listed word; `None` for any other.
    fn listed(word: &str) -> Option<Self>;
}

/// Declares a closed set: `pub enum Name { Variant = "word", … }`.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $word:literal ),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $( #[doc = concat!("`", $word, "`.")] $(#[$variant_meta])* $variant, )+
            /// A word this version does not list; it exists only where a record was read.
            Other($crate::word::Unlisted),
        }

        impl $crate::word::Word for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn word(&self) -> &str {
                match self {
                    $( Self::$variant => $word, )+
                    Self::Other(other) => other.as_str(),
                }
            }

            fn shared_word(&self) -> ::footprint::value::Str {
                match self {
                    Self::Other(other) => other.shared(),
                    listed => ::footprint::value::Str::from($crate::word::Word::word(listed)),
                }
            }

            fn read(word: &::footprint::value::Str) -> Self {
                Self::listed(word).unwrap_or_else(|| Self::Other($crate::word::Unlisted::read(word)))
            }

            fn listed(word: &str) -> Option<Self> {
                match word {
                    $( $word => Some(Self::$variant), )+
                    _ => None,
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str($crate::word::Word::word(self))
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::word::Word::word(self))
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <::footprint::value::Str as ::serde::Deserialize>::deserialize(deserializer)?;
                Ok($crate::word::Word::read(&word))
            }
        }

        impl $crate::events::field::Field for $name {
            const SHAPE: $crate::events::field::Shape =
                $crate::events::field::Shape::Word(<Self as $crate::word::Word>::WORDS);
            const CLASS: $crate::events::field::Class = $crate::events::field::Class::Structure;

            fn to_value(&self) -> ::footprint::value::Value {
                ::footprint::value::Value::String($crate::word::Word::shared_word(self))
            }

            fn from_value(
                value: &::footprint::value::Value,
            ) -> Result<Self, $crate::events::field::Misfit> {
                $crate::events::field::text(value).map($crate::word::Word::read)
            }
        }
    };
}

pub(crate) use words;

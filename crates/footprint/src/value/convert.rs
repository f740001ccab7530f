use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ser::ValueSerializer;
use super::{Array, Number, Object, Str, Value, ValueError};

impl Value {
    /// Turns anything serializable into a value.
    ///
    /// Refused: NaN and infinities, maps whose keys are not text, integers beyond 64 bits, and nesting
    /// deeper than [`MAX_DEPTH`](super::MAX_DEPTH). A [`Value`] inside `source` is shared, not copied.
    ///
    /// ```
    /// use footprint::value::{Value, ValueError};
    /// assert_eq!(Value::from_serialize(&("a", 1))?, footprint::value!(["a", 1]));
    /// assert_eq!(Value::from_serialize(&f64::NAN), Err(ValueError::NonFinite));
    /// # Ok::<(), ValueError>(())
    /// ```
    pub fn from_serialize<T: Serialize + ?Sized>(source: &T) -> Result<Self, ValueError> {
        source.serialize(ValueSerializer::new())
    }

    /// Reads the value as a type. A [`Value`] inside `T` shares this value's nodes.
    ///
    /// ```
    /// use footprint::value;
    /// assert_eq!(value!([1, 2]).decode::<Vec<f64>>()?, vec![1.0, 2.0]);
    /// # Ok::<(), footprint::value::ValueError>(())
    /// ```
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ValueError> {
        T::deserialize(self)
    }

    /// The same value as `serde_json` keeps it.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Number(value) => match (value.as_i64(), value.as_u64()) {
                (Some(value), _) => value.into(),
                (None, Some(value)) => value.into(),
                (None, None) => value.as_f64().into(),
            },
            Self::String(value) => (&**value).into(),
            Self::Array(items) => items.iter().map(Self::to_json).collect(),
            Self::Object(entries) => {
                entries.iter().map(|(key, value)| (key.to_string(), value.to_json())).collect()
            }
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::String(value.as_str().into())
    }
}

impl From<Str> for Value {
    fn from(value: Str) -> Self {
        Self::String(value)
    }
}

impl From<&Str> for Value {
    fn from(value: &Str) -> Self {
        Self::String(value.clone())
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<Array> for Value {
    fn from(value: Array) -> Self {
        Self::Array(value)
    }
}

impl From<Object> for Value {
    fn from(value: Object) -> Self {
        Self::Object(value)
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Self {
        value.clone()
    }
}

/// A double; NaN and infinities become `null`, as in JSON. Use [`Value::from_serialize`] to refuse them.
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Number::from_f64(value).map_or(Self::Null, Self::Number)
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Self {
        f64::from(value).into()
    }
}

macro_rules! from_integers {
    ($($int:ty),*) => {$(
        impl From<$int> for Value {
            fn from(value: $int) -> Self {
                Self::Number(value.into())
            }
        }
    )*};
}
from_integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value> + Clone> From<&[T]> for Value {
    fn from(items: &[T]) -> Self {
        Self::Array(items.iter().cloned().map(Into::into).collect())
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Null
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(value) => match (value.as_i64(), value.as_u64()) {
                (Some(value), _) => value.into(),
                (None, Some(value)) => value.into(),
                (None, None) => value.as_f64().into(),
            },
            serde_json::Value::String(value) => value.into(),
            serde_json::Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(entries) => {
                Self::Object(entries.iter().map(|(key, value)| (key.as_str(), value.into())).collect())
            }
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        Self::from(&json)
    }
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

impl PartialEq<bool> for Value {
    fn eq(&self, other: &bool) -> bool {
        self.as_bool() == Some(*other)
    }
}

impl PartialEq<i64> for Value {
    fn eq(&self, other: &i64) -> bool {
        self.as_i64() == Some(*other)
    }
}

impl PartialEq<i32> for Value {
    fn eq(&self, other: &i32) -> bool {
        self.as_i64() == Some(i64::from(*other))
    }
}

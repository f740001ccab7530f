//! The value model: JSON with O(1) clone and structural sharing.
//!
//! State, commits, events and recordings all hold the same shared [`Value`]s; keeping one costs a
//! reference count. A value never changes after it is shared: every edit makes a new version that shares
//! what it did not touch.
//!
//! | type | is |
//! |---|---|
//! | [`Value`] | one JSON value, 24 bytes |
//! | [`Number`] | a finite number; `1` and `1.0` are the same number |
//! | [`Array`] | persistent list: O(1) clone, O(log n) push and set |
//! | [`Object`] | insertion-ordered map: O(1) clone, O(log n) insert, get, remove |
//! | [`TypedViews`] | bounded table of decoded views, one per value node and type |
//! | [`utf16`] | lengths, cuts and order in UTF-16 code units |
//!
//! ```
//! use footprint::value;
//! use footprint::value::Value;
//!
//! let order = value!({ "id": "A-17", "lines": [{ "sku": "tea", "qty": 2 }] });
//! assert_eq!(order.walk(&["lines", "0", "qty"]).and_then(Value::as_i64), Some(2));
//! assert_eq!(order.to_string(), r#"{"id":"A-17","lines":[{"sku":"tea","qty":2}]}"#);
//! ```

mod array;
mod convert;
mod de;
mod equal;
mod handoff;
mod macros;
mod names;
mod number;
mod object;
mod pvec;
mod ser;
mod shapes;
pub mod summary;
mod tail;
mod text;
mod typed;
pub mod utf16;

use std::fmt;
use std::sync::Arc;

pub use array::{Array, ArrayIter};
pub use number::Number;
pub use object::{IntoKey, Object, ObjectIter};
pub use typed::TypedViews;

/// Shared text.
pub type Str = Arc<str>;

/// How deep a value may nest; deeper values are refused where they are made or written (ENG-164).
pub const MAX_DEPTH: usize = 512;

/// One JSON value; see the [module description](self).
///
/// Equality is deep and by value: numbers compare by value, objects without regard to key order, and
/// subtrees that are the same node compare equal without being visited.
#[derive(Clone, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A finite number.
    Number(Number),
    /// Text.
    String(Str),
    /// A list.
    Array(Array),
    /// A map from text to values, in insertion order.
    Object(Object),
}

/// The kind of a value, named as JSON names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// `null`
    Null,
    /// `bool`
    Bool,
    /// `number`
    Number,
    /// `string`
    String,
    /// `array`
    Array,
    /// `object`
    Object,
}

impl ValueKind {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why something could not become a value, or a value not become something.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// NaN or an infinity.
    #[error("a number must be finite")]
    NonFinite,
    /// A 128 bit integer outside the 64 bit range.
    #[error("an integer must fit into 64 bits")]
    IntegerRange,
    /// A map whose keys are not text.
    #[error("map keys must be text, found {found}")]
    NonTextKey {
        /// What kind of key was found.
        found: &'static str,
    },
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Syntax(#[from] crate::json::JsonError),
    /// Whatever serde reports.
    #[error("{0}")]
    Serde(String),
}

static NULL: Value = Value::Null;

impl Value {
    /// Its kind.
    pub fn kind(&self) -> ValueKind {
        match self {
            Self::Null => ValueKind::Null,
            Self::Bool(_) => ValueKind::Bool,
            Self::Number(_) => ValueKind::Number,
            Self::String(_) => ValueKind::String,
            Self::Array(_) => ValueKind::Array,
            Self::Object(_) => ValueKind::Object,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it is a list.
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// Whether it is a map.
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// Whether it is a list or a map.
    pub fn is_container(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// The truth value.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number as an `i64`, when it is that integer exactly.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The number as a `u64`, when it is that integer exactly.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// The number as the nearest `f64`.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    /// The number.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(value) => Some(value),
            _ => None,
        }
    }

    /// The text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(value) => Some(value),
            _ => None,
        }
    }

    /// The text, shared.
    pub fn as_shared_str(&self) -> Option<&Str> {
        match self {
            Self::String(value) => Some(value),
            _ => None,
        }
    }

    /// The list.
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Self::Array(value) => Some(value),
            _ => None,
        }
    }

    /// The map.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(value) => Some(value),
            _ => None,
        }
    }

    /// The value under a key; `None` for a missing key and for anything that is not a map.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// The item at a position; `None` past the end and for anything that is not a list.
    pub fn at(&self, index: usize) -> Option<&Value> {
        self.as_array().and_then(|array| array.get(index))
    }

    /// Follows segments: keys in maps, decimal positions in lists.
    pub fn walk<S: AsRef<str>>(&self, segments: &[S]) -> Option<&Value> {
        segments.iter().try_fold(self, |value, segment| value.step(segment.as_ref()))
    }

    /// One step of [`walk`](Self::walk).
    pub fn step(&self, segment: &str) -> Option<&Value> {
        match self {
            Self::Object(object) => object.get(segment),
            Self::Array(array) => array.get(list_position(segment)?),
            _ => None,
        }
    }

    /// Whether two values are one shared node; scalars are compared by value.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::String(a), Self::String(b)) => Arc::ptr_eq(a, b),
            (Self::Array(a), Self::Array(b)) => a.ptr_eq(b),
            (Self::Object(a), Self::Object(b)) => a.ptr_eq(b),
            _ => false,
        }
    }

    /// Where the node of a list, map or text lies, if somebody else holds it too; `None` for a node with one holder
    /// and for scalars.
    ///
    /// A walk over values can remember what it met by this number, as long as it keeps a clone of what it
    /// remembers: a node that was freed leaves its place to another.
    ///
    /// ```
    /// use footprint::value;
    /// let alone = value!([1, 2]);
    /// assert_eq!(alone.shared_address(), None);
    /// let other = alone.clone();
    /// assert!(alone.shared_address().is_some());
    /// assert_eq!(alone.shared_address(), other.shared_address());
    /// ```
    pub fn shared_address(&self) -> Option<usize> {
        match self {
            Self::String(text) if Arc::strong_count(text) > 1 => {
                Some(Arc::as_ptr(text).cast::<u8>() as usize)
            }
            Self::Array(array) if array.is_shared() => Some(array.address()),
            Self::Object(object) if object.is_shared() => Some(object.address()),
            _ => None,
        }
    }

    /// How deep the value nests: 0 for scalars, 1 for a flat container. O(1).
    ///
    /// It is an upper bound: a container that once held something deeper keeps the larger number.
    pub fn depth(&self) -> usize {
        match self {
            Self::Array(array) => array.depth(),
            Self::Object(object) => object.depth(),
            _ => 0,
        }
    }

    /// Refuses values nested deeper than [`MAX_DEPTH`].
    pub fn check_depth(&self) -> Result<(), ValueError> {
        if self.depth() > MAX_DEPTH { Err(ValueError::TooDeep { limit: MAX_DEPTH }) } else { Ok(()) }
    }
}

/// A segment as a list position: decimal digits without leading zeros.
pub(crate) fn list_position(segment: &str) -> Option<usize> {
    let canonical = segment == "0" || !segment.starts_with('0');
    if canonical && segment.bytes().all(|b| b.is_ascii_digit()) { segment.parse().ok() } else { None }
}

/// `value["key"]`: the value under the key, `null` when there is none.
impl std::ops::Index<&str> for Value {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NULL)
    }
}

/// `value[0]`: the item at the position, `null` when there is none.
impl std::ops::Index<usize> for Value {
    type Output = Value;

    fn index(&self, index: usize) -> &Value {
        self.at(index).unwrap_or(&NULL)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const _: () = assert!(size_of::<Value>() <= 24);

#[cfg(test)]
pub(crate) mod tests;

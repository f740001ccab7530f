//! Filters as data: key → operators, all ANDed (OBS-98…100).

use std::cmp::Ordering;

use indexmap::IndexMap;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

use crate::value::{Str, Value};

/// Longest list `in` and `notIn` take.
pub const MAX_LIST: usize = 1000;

/// A comparison operator. The set is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Equal.
    #[serde(rename = "eq")]
    Eq,
    /// Not equal; holds for an absent key.
    #[serde(rename = "ne")]
    Ne,
    /// Greater.
    #[serde(rename = "gt")]
    Gt,
    /// Greater or equal.
    #[serde(rename = "gte")]
    Gte,
    /// Less.
    #[serde(rename = "lt")]
    Lt,
    /// Less or equal.
    #[serde(rename = "lte")]
    Lte,
    /// Equal to an item of the list.
    #[serde(rename = "in")]
    In,
    /// Equal to no item of the list; holds for an absent key.
    #[serde(rename = "notIn")]
    NotIn,
}

impl Op {
    /// All operators, in documentation order.
    pub const ALL: [Self; 8] =
        [Self::Eq, Self::Ne, Self::Gt, Self::Gte, Self::Lt, Self::Lte, Self::In, Self::NotIn];

    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::In => "in",
            Self::NotIn => "notIn",
        }
    }

    /// The operator a JSON word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.word() == word)
    }

    /// Whether the operator holds between a value (`None` = the key is absent) and a threshold.
    ///
    /// Numbers compare numerically, strings by UTF-16 code unit, everything else only for equality; nothing is coerced.
    ///
    /// # Errors
    /// `in` and `notIn` need a list of at most 1000 items; anything else is a [`FilterError`] the caller records as `matchError`.
    pub fn test(self, actual: Option<&Value>, threshold: &Value) -> Result<bool, FilterError> {
        let ordered =
            |holds: fn(Ordering) -> bool| actual.and_then(|a| order(a, threshold)).is_some_and(holds);
        Ok(match self {
            Self::Eq => actual == Some(threshold),
            Self::Ne => actual != Some(threshold),
            Self::Gt => ordered(Ordering::is_gt),
            Self::Gte => ordered(Ordering::is_ge),
            Self::Lt => ordered(Ordering::is_lt),
            Self::Lte => ordered(Ordering::is_le),
            Self::In => list(self, threshold)?.iter().any(|item| actual == Some(item)),
            Self::NotIn => !list(self, threshold)?.iter().any(|item| actual == Some(item)),
        })
    }
}

fn list(op: Op, threshold: &Value) -> Result<&crate::value::Array, FilterError> {
    let items = threshold.as_array().ok_or(FilterError::ListExpected { op: op.word() })?;
    if items.len() > MAX_LIST {
        return Err(FilterError::ListTooLong { op: op.word(), len: items.len() });
    }
    Ok(items)
}

/// Order of two values of one ordered type; `None` for different or unordered types.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b),
        (Value::String(a), Value::String(b)) => Some(a.encode_utf16().cmp(b.encode_utf16())),
        _ => None,
    }
}

/// Why a filter is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// An operator outside the closed set.
    #[error("filter key `{key}` uses the unknown operator `{op}`; known: eq ne gt gte lt lte in notIn")]
    UnknownOperator {
        /// The filter key.
        key: String,
        /// The word that is no operator.
        op: String,
    },
    /// No condition at all.
    #[error("the filter has no condition; the catch-all is the default branch")]
    Empty,
    /// `in` or `notIn` without a list.
    #[error("operator `{op}` needs a list")]
    ListExpected {
        /// The operator.
        op: &'static str,
    },
    /// A list above the limit.
    #[error("operator `{op}` has a list of {len} items; the limit is 1000")]
    ListTooLong {
        /// The operator.
        op: &'static str,
        /// Its length.
        len: usize,
    },
    /// The JSON is not `{key: {op: value}}`.
    #[error("a filter is an object of objects: {{key: {{op: value}}}}; {at} is not")]
    Shape {
        /// What is not an object.
        at: String,
    },
}

/// A filter: conditions over top-level state keys, all of which must hold. Data: it serialises as `{"dti": {"lt": 43}}`.
///
/// ```
/// use footprint::decide::{WhereFilter, field};
/// let filter: WhereFilter = field("score").gte(600).lte(699).field("country").is_in(["NL", "BE"]).into();
/// assert_eq!(filter.len(), 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhereFilter {
    keys: IndexMap<Str, IndexMap<Op, Value>>,
}

impl WhereFilter {
    /// Adds a condition; the same operator on the same key is replaced.
    pub fn with(mut self, key: impl Into<Str>, op: Op, threshold: impl Into<Value>) -> Self {
        self.keys.entry(key.into()).or_default().insert(op, threshold.into());
        self
    }

    /// Number of conditions.
    pub fn len(&self) -> usize {
        self.keys.values().map(IndexMap::len).sum()
    }

    /// Whether there is no condition; such a filter never matches (OBS-100).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Conditions grouped by key, in declaration order.
    pub fn iter(&self) -> impl Iterator<Item = (&Str, impl Iterator<Item = (Op, &Value)>)> {
        self.keys.iter().map(|(k, ops)| (k, ops.iter().map(|(op, v)| (*op, v))))
    }

    /// Refuses what must not be declared: an empty filter, a missing or too long list.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), FilterError> {
        if self.is_empty() {
            return Err(FilterError::Empty);
        }
        for (op, threshold) in self.keys.values().flatten() {
            if matches!(op, Op::In | Op::NotIn) {
                list(*op, threshold)?;
            }
        }
        Ok(())
    }

    /// Reads a filter from a value, naming an unknown operator with its key.
    ///
    /// # Errors
    /// [`FilterError::UnknownOperator`] and [`FilterError::Shape`]; emptiness and list length are asked by [`WhereFilter::check`].
    pub fn from_value(value: &Value) -> Result<Self, FilterError> {
        let shape = |at: String| FilterError::Shape { at };
        let mut filter = Self::default();
        for (key, ops) in value.as_object().ok_or_else(|| shape("the filter".into()))?.iter() {
            let ops = ops.as_object().ok_or_else(|| shape(format!("`{key}`")))?;
            for (word, threshold) in ops.iter() {
                let op = Op::parse(word).ok_or_else(|| FilterError::UnknownOperator {
                    key: key.to_string(),
                    op: word.to_string(),
                })?;
                filter = filter.with(key.clone(), op, threshold.clone());
            }
        }
        Ok(filter)
    }
}

impl Serialize for WhereFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.keys.len()))?;
        for (key, ops) in &self.keys {
            map.serialize_entry(key, ops)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for WhereFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.as_object().is_none() {
            return Err(D::Error::invalid_type(Unexpected::Other("no object"), &"a filter object"));
        }
        Self::from_value(&value).map_err(D::Error::custom)
    }
}

/// Starts a filter on one state key.
///
/// ```
/// use footprint::decide::{Op, WhereFilter, field};
/// assert_eq!(WhereFilter::from(field("dti").lt(43)), WhereFilter::default().with("dti", Op::Lt, 43));
/// ```
pub fn field(key: impl Into<Str>) -> FieldBuilder {
    FieldBuilder { filter: WhereFilter::default(), key: key.into() }
}

/// A filter being written: operators apply to the current key.
#[derive(Clone, Debug)]
pub struct FieldBuilder {
    filter: WhereFilter,
    key: Str,
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident => $op:ident),+ $(,)?) => {
        impl FieldBuilder {
            $($(#[$doc])*
            pub fn $name(self, threshold: impl Into<Value>) -> Self {
                self.op(Op::$op, threshold.into())
            })+
        }
    };
}
operators! {
    /// The value equals the threshold.
    eq => Eq,
    /// The value differs from the threshold, or the key is absent.
    ne => Ne,
    /// The value is greater than the threshold.
    gt => Gt,
    /// The value is the threshold or greater.
    gte => Gte,
    /// The value is less than the threshold.
    lt => Lt,
    /// The value is the threshold or less.
    lte => Lte,
}

impl FieldBuilder {
    /// The value is one of these.
    pub fn is_in<V: Into<Value>>(self, items: impl IntoIterator<Item = V>) -> Self {
        let items: Vec<Value> = items.into_iter().map(Into::into).collect();
        self.op(Op::In, Value::from(items))
    }

    /// The value is none of these, or the key is absent.
    pub fn not_in<V: Into<Value>>(self, items: impl IntoIterator<Item = V>) -> Self {
        let items: Vec<Value> = items.into_iter().map(Into::into).collect();
        self.op(Op::NotIn, Value::from(items))
    }

    /// Goes on with another key; all keys must hold.
    pub fn field(mut self, key: impl Into<Str>) -> Self {
        self.key = key.into();
        self
    }

    fn op(mut self, op: Op, threshold: Value) -> Self {
        self.filter = self.filter.with(self.key.clone(), op, threshold);
        self
    }
}

impl From<FieldBuilder> for WhereFilter {
    fn from(builder: FieldBuilder) -> Self {
        builder.filter
    }
}

//! What a payload field is: its shape, its class, and how it goes to and from a [`Value`].

use std::fmt;

use footprint::value::{Array, Number, Object, Str, Value};
use indexmap::IndexMap;

use super::words::Word;

/// Whether a field may carry words of a person, a model or a tool (EVT-24). Redacting sinks work from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A count, flag, closed word, minted id or declared name.
    Structure,
    /// Anything else; the default.
    Content,
}

/// Whether a field is always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// Always.
    Required,
    /// Absent when it does not apply; never `null`.
    Optional,
    /// Absent, or the literal `true`.
    True,
}

/// The JSON shape of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A string.
    Text,
    /// A whole number, not negative.
    Count,
    /// A whole number.
    Int,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// Any JSON.
    Json,
    /// One of these words, when written; any word when read.
    Word(&'static [&'static str]),
    /// A list.
    List(&'static Shape),
    /// An object with free keys.
    Map(&'static Shape),
    /// The shape, or `null`.
    Nullable(&'static Shape),
    /// Written in this shape, read in any.
    Loose(&'static Shape),
    /// An object of these fields.
    Record(&'static [FieldInfo]),
}

/// One field of a payload or of a record inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// The recorded key.
    pub name: &'static str,
    /// Whether it is always there.
    pub need: Need,
    /// Its JSON shape.
    pub shape: Shape,
    /// Its class; a record's fields have classes of their own.
    pub class: Class,
}

/// A value that does not have the shape its field declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Where, from the payload down: `usage.input`; empty for the payload itself.
    pub path: String,
    /// What is declared.
    pub expected: String,
    /// What was found, by kind, never by value.
    pub found: String,
}

impl Misfit {
    pub(crate) fn new(expected: impl Into<String>, found: &Value) -> Self {
        Self { path: String::new(), expected: expected.into(), found: found.kind().to_string() }
    }

    pub(crate) fn missing(field: &str, expected: impl Into<String>) -> Self {
        Self { path: field.to_owned(), expected: expected.into(), found: "nothing".to_owned() }
    }

    pub(crate) fn under(mut self, segment: impl fmt::Display) -> Self {
        let separator = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{segment}{separator}{}", self.path);
        self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, expected, found } = self;
        if !path.is_empty() {
            write!(f, "`{path}`: ")?;
        }
        write!(f, "expected {expected}, found {found}")
    }
}

impl std::error::Error for Misfit {}

/// A type a payload field can have.
pub trait Field: Sized {
    /// Its JSON shape.
    const SHAPE: Shape;
    /// The class a field of this type has unless the table says otherwise.
    const CLASS: Class = Class::Content;

    /// The field as JSON; shares what can be shared.
    fn to_value(&self) -> Value;

    /// Reads the field leniently: unknown keys and words pass, a wrong shape does not.
    ///
    /// # Errors
    /// A [`Misfit`] naming path, expectation and the kind found.
    fn from_value(value: &Value) -> Result<Self, Misfit>;
}

/// A record made of fields: a payload, or an object inside one.
pub trait Record: Sized {
    /// The fields in serialised order.
    const FIELDS: &'static [FieldInfo];

    /// The record as a JSON object.
    fn to_object(&self) -> Object;

    /// Reads the record; unknown keys are ignored.
    ///
    /// # Errors
    /// A [`Misfit`] naming the first field that does not fit.
    fn from_object(object: &Object) -> Result<Self, Misfit>;
}

pub(crate) fn text(value: &Value) -> Result<&Str, Misfit> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(Misfit::new("a string", other)),
    }
}

pub(crate) fn object(value: &Value) -> Result<&Object, Misfit> {
    match value {
        Value::Object(object) => Ok(object),
        other => Err(Misfit::new("an object", other)),
    }
}

impl Field for Str {
    const SHAPE: Shape = Shape::Text;

    fn to_value(&self) -> Value {
        Value::String(self.clone())
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        text(value).cloned()
    }
}

impl Field for Value {
    const SHAPE: Shape = Shape::Json;

    fn to_value(&self) -> Value {
        self.clone()
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        Ok(value.clone())
    }
}

impl Field for bool {
    const SHAPE: Shape = Shape::Bool;
    const CLASS: Class = Class::Structure;

    fn to_value(&self) -> Value {
        Value::Bool(*self)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            other => Err(Misfit::new("a boolean", other)),
        }
    }
}

impl Field for u64 {
    const SHAPE: Shape = Shape::Count;
    const CLASS: Class = Class::Structure;

    fn to_value(&self) -> Value {
        Value::from(*self)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        value.as_u64().ok_or_else(|| Misfit::new("a whole number, not negative", value))
    }
}

impl Field for i64 {
    const SHAPE: Shape = Shape::Int;
    const CLASS: Class = Class::Structure;

    fn to_value(&self) -> Value {
        Value::from(*self)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        value.as_i64().ok_or_else(|| Misfit::new("a whole number", value))
    }
}

impl Field for f64 {
    const SHAPE: Shape = Shape::Number;
    const CLASS: Class = Class::Structure;

    fn to_value(&self) -> Value {
        number(*self)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        value.as_f64().ok_or_else(|| Misfit::new("a number", value))
    }
}

/// Whole numbers are recorded as integers (REC-12); what JSON cannot say becomes `null`, as in ECMAScript.
fn number(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: every whole double up to here is an exact integer
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and at most 2^53")]
        let whole = number as i64;
        return Value::from(whole);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

impl<T: Field> Field for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
    const CLASS: Class = T::CLASS;

    fn to_value(&self) -> Value {
        Value::Array(self.iter().map(Field::to_value).collect())
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        items(value)?
            .iter()
            .enumerate()
            .map(|(at, item)| T::from_value(item).map_err(|misfit| misfit.under(format_args!("[{at}]"))))
            .collect()
    }
}

pub(crate) fn items(value: &Value) -> Result<&Array, Misfit> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(Misfit::new("a list", other)),
    }
}

/// A key of a map field.
pub trait MapKey: Sized + std::hash::Hash + Eq {
    /// The recorded key.
    fn key(&self) -> Str;
    /// Reads a key.
    fn read_key(key: &Str) -> Self;
}

impl MapKey for Str {
    fn key(&self) -> Str {
        self.clone()
    }

    fn read_key(key: &Str) -> Self {
        key.clone()
    }
}

impl<W: Word + std::hash::Hash + Eq> MapKey for W {
    fn key(&self) -> Str {
        self.shared_word()
    }

    fn read_key(key: &Str) -> Self {
        W::read(key)
    }
}

impl<K: MapKey, V: Field> Field for IndexMap<K, V> {
    const SHAPE: Shape = Shape::Map(&V::SHAPE);
    const CLASS: Class = V::CLASS;

    fn to_value(&self) -> Value {
        Value::Object(self.iter().map(|(key, value)| (key.key(), value.to_value())).collect())
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        object(value)?
            .iter()
            .map(|(key, value)| {
                V::from_value(value)
                    .map(|value| (K::read_key(key), value))
                    .map_err(|misfit| misfit.under(key))
            })
            .collect()
    }
}

/// Required but possibly `null`.
impl<T: Field> Field for Option<T> {
    const SHAPE: Shape = Shape::Nullable(&T::SHAPE);
    const CLASS: Class = T::CLASS;

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Field::to_value)
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        match value {
            Value::Null => Ok(None),
            some => T::from_value(some).map(Some),
        }
    }
}

/// A field whose JSON type was inferred (the † of EVT §5): written as `T`, read in whatever type it has.
#[derive(Clone, Debug, PartialEq)]
pub enum Loose<T> {
    /// The declared type.
    Typed(T),
    /// What a record held instead.
    Other(Odd),
}

/// What a [`Loose`] field held instead of its declared type; comes from reading only.
#[derive(Clone, Debug, PartialEq)]
pub struct Odd(Value);

impl Odd {
    /// The value as read.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0
    }
}

impl<T> From<T> for Loose<T> {
    fn from(value: T) -> Self {
        Self::Typed(value)
    }
}

impl<T: Field> Field for Loose<T> {
    const SHAPE: Shape = Shape::Loose(&T::SHAPE);
    const CLASS: Class = T::CLASS;

    fn to_value(&self) -> Value {
        match self {
            Self::Typed(value) => value.to_value(),
            Self::Other(odd) => odd.0.clone(),
        }
    }

    fn from_value(value: &Value) -> Result<Self, Misfit> {
        Ok(T::from_value(value).map_or_else(|_| Self::Other(Odd(value.clone())), Self::Typed))
    }
}

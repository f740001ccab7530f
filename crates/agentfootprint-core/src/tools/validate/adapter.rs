//! Letting the `jsonschema` crate read [`footprint::value::Value`] in place, so that checking a call copies nothing.

use std::borrow::Cow;

use footprint::value::Number;
use footprint::value::{Array, Object, Value};
use jsonschema::JsonType;
use jsonschema::json::{Array as JsonArray, Json, JsonNumber, Node, NodeIdentity, Object as JsonObject};
use serde_json::Value as SerdeValue;

/// The representation: a tree of shared values.
pub(super) struct Shared;

impl Json for Shared {
    type Node<'a> = &'a Value;
    type PreparedKey = String;
    type StringBuffer = Value;

    // Values are immutable trees: no node is its own descendant.
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(&Value) -> T) -> T {
        *buffer = Value::from(string);
        f(buffer)
    }
}

impl<'a> Node<'a, Shared> for &'a Value {
    type Object = &'a Object;
    type Array = &'a Array;
    type Number = NumberView<'a>;

    fn as_object(&self) -> Option<&'a Object> {
        match self {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    fn as_array(&self) -> Option<&'a Array> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            Value::String(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<NumberView<'a>> {
        match self {
            Value::Number(number) => Some(NumberView(number)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    fn json_type(&self) -> JsonType {
        match self {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn to_value(&self) -> Cow<'a, SerdeValue> {
        Cow::Owned(self.to_json())
    }

    fn identity(&self) -> Option<NodeIdentity> {
        None
    }
}

impl<'a> JsonObject<'a, Shared> for &'a Object {
    type Node = &'a Value;
    type MemberName = &'a str;
    type MembersIter = Box<dyn Iterator<Item = (&'a str, &'a Value)> + 'a>;

    fn len(&self) -> usize {
        Object::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Value> {
        Object::get(self, key)
    }

    fn members(&self) -> Self::MembersIter {
        Box::new(Object::iter(self).map(|(name, value)| (&**name, value)))
    }
}

impl<'a> JsonArray<'a, Shared> for &'a Array {
    type Node = &'a Value;
    type ElementsIter = Box<dyn Iterator<Item = &'a Value> + 'a>;

    fn len(&self) -> usize {
        Array::len(self)
    }

    fn elements(&self) -> Self::ElementsIter {
        Box::new(Array::iter(self))
    }
}

/// One number of the tree.
pub(super) struct NumberView<'a>(&'a Number);

impl JsonNumber for NumberView<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.as_u64()
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.as_i64()
    }

    fn as_f64(&self) -> Option<f64> {
        Some(self.0.as_f64())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_number().to_string())
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(match Value::Number(*self.0).to_json() {
            SerdeValue::Number(number) => number,
            _ => serde_json::Number::from(0),
        })
    }

    fn is_integer(&self) -> bool {
        // By value: `1.0` is an integer (T-29).
        self.0.as_i64().is_some() || self.0.as_u64().is_some() || self.0.as_f64().fract() == 0.0
    }
}

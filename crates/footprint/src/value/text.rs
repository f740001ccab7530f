use std::fmt;
use std::str::FromStr;

use super::{Array, MAX_DEPTH, Object, Value, ValueError};
use crate::json::{JsonReader, JsonWriter};

/// Compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        JsonWriter::new(&mut text).value(self);
        f.write_str(&text)
    }
}

/// Compact JSON.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Value::Object(self.clone()).fmt(f)
    }
}

/// Compact JSON.
impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Value::Array(self.clone()).fmt(f)
    }
}

/// Reads JSON text; nesting is limited to [`MAX_DEPTH`].
impl FromStr for Value {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let mut reader = JsonReader::new(text.as_bytes());
        let value = reader.read_value_within(MAX_DEPTH)?;
        reader.finish()?;
        Ok(value)
    }
}

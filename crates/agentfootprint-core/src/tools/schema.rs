//! What the model is shown of a tool.

use std::sync::Arc;

use footprint::value::{Object, Str, Value};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// Name, description and input schema: the part of a tool that goes on the wire.
///
/// Cheap to clone; the recorded form (`{name, description, inputSchema}`) is built once.
#[derive(Clone)]
pub struct ToolSchema(Arc<Parts>);

struct Parts {
    name: Str,
    description: Str,
    input_schema: Value,
    recorded: Value,
}

impl ToolSchema {
    /// A schema; a tool without arguments has `{"type": "object", "properties": {}}`.
    ///
    /// ```
    /// use agentfootprint_core::tools::ToolSchema;
    /// let schema = ToolSchema::new("poll", "Polls a job", ToolSchema::no_input());
    /// assert_eq!(schema.recorded().to_string(),
    ///     r#"{"name":"poll","description":"Polls a job","inputSchema":{"type":"object","properties":{}}}"#);
    /// ```
    pub fn new(name: impl Into<Str>, description: impl Into<Str>, input_schema: impl Into<Value>) -> Self {
        let (name, description, input_schema) = (name.into(), description.into(), input_schema.into());
        let mut recorded = Object::new();
        recorded.insert("name", Value::from(name.clone()));
        recorded.insert("description", Value::from(description.clone()));
        recorded.insert("inputSchema", input_schema.clone());
        Self(Arc::new(Parts { name, description, input_schema, recorded: Value::Object(recorded) }))
    }

    /// The input schema of a tool without arguments (TOOL-8).
    pub fn no_input() -> Value {
        let mut schema = Object::new();
        schema.insert("type", Value::from("object"));
        schema.insert("properties", Value::Object(Object::new()));
        Value::Object(schema)
    }

    /// Reads the recorded form back; `None` when a member is missing or not a text.
    pub fn from_recorded(recorded: &Value) -> Option<Self> {
        let text = |key: &str| recorded.get(key).and_then(Value::as_str);
        let input = recorded.get("inputSchema").cloned().unwrap_or_else(Self::no_input);
        Some(Self::new(text("name")?, text("description")?, input))
    }

    /// The name the model calls.
    pub fn name(&self) -> &Str {
        &self.0.name
    }

    /// What the model reads about it.
    pub fn description(&self) -> &Str {
        &self.0.description
    }

    /// JSON Schema of the arguments.
    pub fn input_schema(&self) -> &Value {
        &self.0.input_schema
    }

    /// The recorded form, shared.
    pub fn recorded(&self) -> &Value {
        &self.0.recorded
    }
}

impl std::fmt::Debug for ToolSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ToolSchema({})", self.0.name)
    }
}

impl PartialEq for ToolSchema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.recorded == other.0.recorded
    }
}

impl Serialize for ToolSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ToolSchema", 3)?;
        out.serialize_field("name", &*self.0.name)?;
        out.serialize_field("description", &*self.0.description)?;
        out.serialize_field("inputSchema", &self.0.input_schema)?;
        out.end()
    }
}

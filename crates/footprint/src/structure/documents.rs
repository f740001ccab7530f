//! A chart as an OpenAPI document and as an MCP tool (ENG-56, ENG-57).

use crate::chart::Chart;
use crate::structure::describe::header;
use crate::value;
use crate::value::{Object, Str, Value};

/// What an OpenAPI document says besides the chart; every part has a default.
///
/// ```
/// use footprint::chart::{Chart, Stage};
/// use footprint::scope::Scope;
/// use footprint::structure::OpenApi;
///
/// let chart = Chart::builder(Stage::new("price", |_: Scope| async { Ok(()) }).named("Price")).build()?;
/// let document = chart.to_openapi(&OpenApi { title: Some("Prices".into()), ..OpenApi::default() });
/// assert_eq!(document["openapi"], "3.1.0");
/// assert_eq!(document["info"]["title"], "Prices");
/// assert!(document["paths"].get("/price").is_some());
/// # Ok::<(), footprint::chart::BuildErrors>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenApi {
    /// Title; default: the first line of the chart's description.
    pub title: Option<Str>,
    /// Version of the described interface; default `1.0.0`.
    pub version: Option<Str>,
    /// Description; default: the chart's description.
    pub description: Option<Str>,
    /// Path of the one operation; default: `/` and a slug of the first node's id.
    pub path: Option<Str>,
}

/// What an MCP tool is called; every part has a default.
#[derive(Clone, Debug, Default)]
pub struct McpTool {
    /// Tool name; default: the first node's id.
    pub name: Option<Str>,
    /// Description; default: the chart's description.
    pub description: Option<Str>,
}

/// A tool name that is empty or has characters outside `[A-Za-z0-9_.-]`. Names are refused, not rewritten: two charts must not end
/// up under one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no tool name, which consists of letters, digits, `_`, `.` and `-`: set `McpTool::name`", .name.escape_debug())]
pub struct InvalidToolName {
    /// The refused name.
    pub name: Str,
}

impl Chart {
    /// This chart as an OpenAPI 3.1 document with one `POST` operation. Contract schemas are inlined.
    pub fn to_openapi(&self, options: &OpenApi) -> Value {
        let root = self.structure().root();
        let described = Str::from(self.description());
        let description = options.description.clone().unwrap_or_else(|| described.clone());
        let summary = Value::from(header(root));
        let title = options.title.clone().map_or_else(|| summary.clone(), Value::from);
        let version = options.version.clone().unwrap_or_else(|| Str::from("1.0.0"));
        let path = match &options.path {
            Some(path) if path.starts_with('/') => path.clone(),
            // Paths of a document begin with a slash, or it does not validate.
            Some(path) => Str::from(format!("/{path}")),
            None => Str::from(format!("/{}", slug(&root.id))),
        };

        let mut answer = Object::new();
        answer.insert("description", Value::from("Success"));
        let mut operation = Object::new();
        operation.insert("summary", summary);
        operation.insert("description", Value::from(description.clone()));
        if let Some(contract) = self.contract() {
            if let Some(schema) = contract.input_document() {
                operation.insert("requestBody", value!({ "content": (json_content(schema)) }));
            }
            if let Some(schema) = contract.output_document() {
                answer.insert("content", json_content(schema));
            }
        }
        operation.insert("responses", one("200", Value::from(answer)));
        value!({
            "openapi": "3.1.0",
            "info": { "title": (title), "version": (version), "description": (description) },
            "paths": (one(&path, one("post", Value::from(operation))))
        })
    }

    /// This chart as an MCP tool: `{name, description, inputSchema}`.
    ///
    /// ```
    /// use footprint::chart::{Chart, Stage};
    /// use footprint::scope::Scope;
    /// use footprint::structure::McpTool;
    ///
    /// let chart = Chart::builder(Stage::new("price list", |_: Scope| async { Ok(()) })).build()?;
    /// assert!(chart.to_mcp_tool(&McpTool::default()).is_err());
    /// let tool = chart.to_mcp_tool(&McpTool { name: Some("price-list".into()), ..McpTool::default() })?;
    /// assert_eq!(tool["inputSchema"]["type"], "object");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidToolName`] when the name has characters a tool name must not have.
    pub fn to_mcp_tool(&self, options: &McpTool) -> Result<Value, InvalidToolName> {
        let name = options.name.clone().unwrap_or_else(|| Str::from(self.root_id()));
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if name.is_empty() || !name.bytes().all(legal) {
            return Err(InvalidToolName { name });
        }
        let description = options.description.clone().unwrap_or_else(|| Str::from(self.description()));
        let schema = match self.contract().and_then(|contract| contract.input_document()) {
            Some(schema) => schema.clone(),
            None => value!({ "type": "object", "properties": {}, "additionalProperties": false }),
        };
        Ok(value!({ "name": (name), "description": (description), "inputSchema": (schema) }))
    }
}

fn one(key: &str, value: Value) -> Value {
    let mut object = Object::new();
    object.insert(key, value);
    Value::from(object)
}

fn json_content(schema: &Value) -> Value {
    one("application/json", one("schema", schema.clone()))
}

/// Lower-case letters and digits; every run of other characters is one `-`.
fn slug(id: &str) -> String {
    let mut slug = String::with_capacity(id.len());
    for character in id.chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

//! The documents a chart generates: everything of them but the texts, which every library writes in its own words.

use footprint::chart::Chart;
use footprint::structure::{McpTool, OpenApi};
use serde_json::{Value, json};

/// What a chart generates, in the form of `expect.json`.
pub(super) fn of(chart: &Chart) -> Value {
    let parsed =
        |document: footprint::value::Value| serde_json::from_str(&document.to_string()).unwrap_or_default();
    let tool = chart.to_mcp_tool(&McpTool::default()).map(parsed).unwrap_or_default();
    without_texts(&json!({ "mcpTool": tool, "openapi": parsed(chart.to_openapi(&OpenApi::default())) }))
}

pub(super) fn without_texts(documents: &Value) -> Value {
    match documents {
        Value::Object(entries) => entries
            .iter()
            .filter(|(key, value)| {
                !(value.is_string() && ["description", "title", "summary", "mermaid"].contains(&key.as_str()))
            })
            .map(|(key, value)| (key.clone(), without_texts(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_texts).collect(),
        other => other.clone(),
    }
}

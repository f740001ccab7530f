//! The receipt: what really reached the provider, as hashes and never as bytes (AGT-90, AGT-91).

use agentfootprint_record::text::{canonical_json, receipt_hash};
use footprint::value::{Array, Object, Str, Value};

use super::cache::marker_value;
use crate::llm::{CacheMarker, LlmRequest, ToolChoice};

/// What a receipt is made from.
pub(crate) struct ReceiptFacts<'a> {
    pub(crate) run_id: &'a Str,
    pub(crate) iteration: u32,
    pub(crate) provider: &'a str,
    /// The records of the system prompt, in order.
    pub(crate) system_records: &'a Array,
    /// One entry per message.
    pub(crate) entries: Array,
    pub(crate) request: &'a LlmRequest,
    /// Whether the cache strategy left the request as it was.
    pub(crate) unchanged: bool,
    pub(crate) markers_applied: &'a [CacheMarker],
    pub(crate) strategy: Option<&'a str>,
    pub(crate) withheld: Option<&'static str>,
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::from(entries.into_iter().collect::<Object>())
}

/// Mints the receipt: the last act before the port, and minted nowhere else.
pub(crate) fn mint(facts: &ReceiptFacts<'_>) -> Value {
    let salted = |content: &str| Value::from(receipt_hash(facts.run_id, content));
    let system = facts.request.system_prompt().unwrap_or_default();
    let pieces: Array = facts
        .system_records
        .iter()
        .map(|record| {
            let raw = record.get("rawContent").and_then(Value::as_str).unwrap_or_default();
            object([
                ("hash", salted(raw)),
                ("slot", record.get("slot").cloned().unwrap_or_default()),
                ("source", record.get("source").cloned().unwrap_or_default()),
            ])
        })
        .collect();
    let names: Array = facts.request.tools.iter().map(|tool| Value::from(tool.name.clone())).collect();
    let schemas: Array = facts.request.tools.iter().map(|tool| salted(&tool_digest(tool))).collect();
    let forced = match &facts.request.tool_choice {
        Some(ToolChoice::Tool { name }) => Value::from(name.clone()),
        None => Value::Null,
    };
    object([
        (
            "system",
            object([
                ("hash", salted(&system)),
                ("chars", Value::from(agentfootprint_record::text::utf16_len(&system))),
                ("pieces", Value::from(pieces)),
            ]),
        ),
        (
            "messages",
            object([
                ("count", Value::from(facts.entries.len())),
                ("entries", Value::from(facts.entries.clone())),
                ("requestOnly", Value::from(Array::new())),
            ]),
        ),
        (
            "tools",
            object([
                ("names", Value::from(names)),
                ("schemaHashes", Value::from(schemas)),
                ("forced", forced),
                ("withheld", facts.withheld.map_or(Value::Null, Value::from)),
            ]),
        ),
        (
            "cache",
            object([
                ("transform", Value::from(if facts.unchanged { "unchanged" } else { "rewritten" })),
                ("transformHash", Value::Null),
                ("markersApplied", Value::from(facts.markers_applied.iter().map(applied).collect::<Array>())),
                ("strategy", facts.strategy.map_or(Value::Null, Value::from)),
            ]),
        ),
        ("params", params(facts.run_id, facts.request)),
        ("omittedForAttention", object([("count", Value::from(0)), ("hashes", Value::from(Array::new()))])),
        (
            "basis",
            object([
                ("epoch", Value::from(facts.iteration)),
                ("runId", Value::from(facts.run_id.clone())),
                ("model", Value::from(facts.request.model.clone())),
                ("provider", Value::from(facts.provider)),
            ]),
        ),
    ])
}

/// A marker on a receipt has no reason.
fn applied(marker: &CacheMarker) -> Value {
    let mut value = marker_value(marker).as_object().cloned().unwrap_or_default();
    value.remove("reason");
    Value::from(value)
}

fn tool_digest(tool: &crate::llm::ToolSchema) -> String {
    canonical_json(&object([
        ("name", Value::from(tool.name.clone())),
        ("description", Value::from(tool.description.clone())),
        ("inputSchema", tool.input_schema.clone()),
    ]))
}

fn params(run_id: &str, request: &LlmRequest) -> Value {
    let mut params = Object::new();
    if let Some(temperature) = request.temperature {
        params.insert("temperature", Value::from(temperature));
    }
    if let Some(max) = request.max_tokens {
        params.insert("maxTokens", Value::from(max));
    }
    if let Some(thinking) = request.thinking {
        params.insert("thinkingBudget", Value::from(thinking.budget));
    }
    if !request.stop.is_empty() {
        params.insert("stop", Value::from(request.stop.iter().map(Value::from).collect::<Array>()));
    }
    if let Some(ToolChoice::Tool { name }) = &request.tool_choice {
        params.insert(
            "toolChoice",
            object([("type", Value::from("tool")), ("name", Value::from(name.clone()))]),
        );
    }
    if let Some(form) = &request.output_schema {
        let schema = Value::from(receipt_hash(run_id, &canonical_json(&form.schema)));
        params.insert("outputSchema", object([("name", Value::from(form.name.clone())), ("hash", schema)]));
    }
    Value::from(params)
}

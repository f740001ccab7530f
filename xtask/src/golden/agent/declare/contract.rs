//! The output contract of a scenario: a judge over a few JSON-schema keywords.

use agentfootprint_core::agent::{
    AgentBuilder, ContractViolation, OutputContract, OutputOptions, OutputStrategy,
};
use footprint::value::Value as Kept;
use serde_json::Value;

use crate::golden::expr::equal;
use crate::golden::text;

pub(super) fn contracted(builder: AgentBuilder, declared: &Value) -> AgentBuilder {
    let schema = declared.get("schema").cloned().unwrap_or_default();
    let description = declared.get("description").and_then(Value::as_str).map(str::to_owned);
    let retries = declared.get("retries").and_then(Value::as_u64).unwrap_or_default();
    let mut options = OutputOptions::new().retries(u32::try_from(retries).unwrap_or(u32::MAX));
    if let Some(name) = declared.get("name").and_then(Value::as_str) {
        options = options.name(name);
    }
    if let Some(instruction) = declared.get("instruction").and_then(Value::as_str) {
        options = options.instruction(instruction);
    }
    if text(declared, "strategy") == "tool-forced" {
        options = options.strategy(OutputStrategy::ToolForced);
    }
    let builder = builder.output_schema(Judge { schema, description }, options);
    let Some(fallback) = declared.get("fallback").cloned() else { return builder };
    let canned = fallback.get("canned").cloned().map(Kept::from);
    builder.output_fallback(
        move |_, _| {
            let thrown = fallback.get("throw").and_then(Value::as_str).map(str::to_owned);
            let value = fallback.get("value").cloned().unwrap_or_default();
            async move { thrown.map_or_else(|| Ok(Kept::from(value)), Err) }
        },
        canned,
    )
}

struct Judge {
    schema: Value,
    description: Option<String>,
}

impl OutputContract for Judge {
    fn check(&self, answer: Kept) -> Result<Kept, ContractViolation> {
        match fault(&self.schema, &answer.to_json(), "") {
            Some((path, what)) if path.is_empty() => Err(ContractViolation::new(what)),
            Some((path, what)) => Err(ContractViolation::new(format!("{path}: {what}")).at(path)),
            None => Ok(answer),
        }
    }

    fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn json_schema(&self) -> Option<Kept> {
        Some(Kept::from(self.schema.clone()))
    }
}

/// The first thing that is wrong, and where.
fn fault(schema: &Value, value: &Value, path: &str) -> Option<(String, String)> {
    let wrong = |what: String| Some((path.to_owned(), what));
    let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    if let Some(kind) = schema.get("type").and_then(Value::as_str)
        && !is_a(value, kind)
    {
        return wrong(format!("expected {kind}"));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.iter().any(|each| equal(each, value))
    {
        return wrong("value not allowed".to_owned());
    }
    if let (Some(least), Some(number)) = (schema.get("minimum").and_then(Value::as_f64), value.as_f64())
        && number < least
    {
        return wrong(format!("must be at least {least}"));
    }
    for name in
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if value.is_object() && value.get(name).is_none() {
            return Some((inside(name), "required".to_owned()));
        }
    }
    for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(found) = value.get(name).and_then(|value| fault(schema, value, &inside(name))) {
            return Some(found);
        }
    }
    let items = schema.get("items")?;
    value.as_array()?.iter().enumerate().find_map(|(at, item)| fault(items, item, &inside(&at.to_string())))
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => true,
    }
}

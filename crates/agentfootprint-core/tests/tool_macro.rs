//! `#[tool]`: a function becomes a tool. Every function here is an example that must compile.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

use agentfootprint_core::tools::{
    IntoTool, Tool, ToolContext, ToolError, ToolFailure, ToolOutput, ask_human,
};
use agentfootprint_macros::tool;
use footprint::value;
use footprint::value::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How warm it is told.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Serialize)]
struct Weather {
    city: String,
    degrees: i32,
}

#[derive(Debug)]
struct Unreachable(&'static str);

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} does not answer", self.0)
    }
}

impl std::error::Error for Unreachable {}

/// Current weather of a city.
///
/// Use it for the present, not for forecasts.
#[tool(crate = "agentfootprint_core")]
async fn weather(
    /// The city, in English.
    city: String,
    /// Left out means celsius.
    unit: Option<Unit>,
) -> Result<Weather, Unreachable> {
    if city == "Atlantis" {
        return Err(Unreachable("weather.example"));
    }
    let degrees = match unit.unwrap_or(Unit::Celsius) {
        Unit::Celsius => 18,
        Unit::Fahrenheit => 64,
    };
    Ok(Weather { city, degrees })
}

/// Adds numbers.
#[tool(crate = agentfootprint_core, name = "add_all")]
fn add(numbers: Vec<i64>) -> i64 {
    numbers.iter().sum()
}

#[tool(crate = "agentfootprint_core", description = "Greets a person.")]
fn greet(
    ctx: &ToolContext,
    #[serde(default)]
    #[schemars(description = "Who.")]
    name: &str,
) -> String {
    ctx.progress(value!({ "message": "greeting" }));
    format!("Hello {name} ({})", ctx.tool_call_id())
}

/// Takes nothing, returns nothing.
#[tool(crate = "agentfootprint_core")]
pub async fn nothing() {}

/// Asks a person above a limit.
#[tool(crate = "agentfootprint_core")]
async fn refund(cents: u64, context: ToolContext) -> Result<String, ToolFailure> {
    if cents > 10_000 && context.decision().is_none() {
        return Err(ask_human(value!({ "question": "Refund more than 100?" })));
    }
    let parsed: u64 = "100".parse()?;
    Ok(format!("refunded {}", cents / parsed))
}

/// Fails with a text.
#[tool(crate = "agentfootprint_core")]
async fn text_error(fail: bool) -> Result<String, String> {
    if fail { Err("no".to_owned()) } else { Ok("yes".to_owned()) }
}

/// Fails with a boxed error.
#[tool(crate = "agentfootprint_core")]
async fn boxed_error() -> Result<ToolOutput, Box<dyn std::error::Error + Send + Sync>> {
    Err("boxed".into())
}

/// Answers a list.
#[tool(crate = "agentfootprint_core")]
#[allow(clippy::unused_async)]
async fn listing(r#type: String, tags: Vec<Option<String>>) -> Vec<String> {
    tags.into_iter().map(|tag| format!("{}:{}", r#type, tag.unwrap_or_default())).collect()
}

fn built(tool: impl IntoTool) -> Tool {
    tool.into_tool().unwrap()
}

async fn call(tool: &Tool, args: Value) -> Result<Option<Value>, String> {
    let ctx = ToolContext::detached(tool.name(), "c1");
    let answer = tool.call(args, &ctx).await;
    answer.map(ToolOutput::into_value).map_err(|failure| failure.to_string())
}

/// Proves TOOL-8.
#[test]
fn doc_comments_names_and_types_become_the_schema() {
    let tool = built(weather);
    assert_eq!(tool.name(), "weather");
    assert_eq!(
        &**tool.schema().description(),
        "Current weather of a city.\n\nUse it for the present, not for forecasts."
    );
    assert_eq!(
        *tool.schema().input_schema(),
        value!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "The city, in English." },
                "unit": {
                    "type": ["string", "null"], "enum": ["celsius", "fahrenheit", null],
                    "description": "Left out means celsius.",
                },
            },
            "required": ["city"],
        })
    );
    assert_eq!(built(add).name(), "add_all");
    assert_eq!(&**built(greet).schema().description(), "Greets a person.");
    let input = built(greet).schema().input_schema().clone();
    assert_eq!(input.walk(&["properties", "name", "description"]), Some(&value!("Who.")));
    assert!(input.get("required").is_none());
    assert_eq!(*built(nothing).schema().input_schema(), value!({ "type": "object", "properties": {} }));
    assert!(built(listing).schema().input_schema().walk(&["properties", "type"]).is_some());
}

#[tokio::test]
async fn functions_of_every_form_run() {
    let oslo = value!({ "city": "Oslo", "degrees": 64 });
    let args = value!({ "city": "Oslo", "unit": "fahrenheit" });
    assert_eq!(call(&built(weather), args).await, Ok(Some(oslo)));
    let lost = call(&built(weather), value!({ "city": "Atlantis" })).await;
    assert_eq!(lost, Err("weather.example does not answer".to_owned()));
    assert_eq!(call(&built(add), value!({ "numbers": [1, 2, 39] })).await, Ok(Some(value!(42))));
    assert_eq!(call(&built(greet), value!({ "name": "Ann" })).await, Ok(Some(value!("Hello Ann (c1)"))));
    assert_eq!(call(&built(greet), value!({})).await, Ok(Some(value!("Hello  (c1)"))));
    assert_eq!(call(&built(nothing), Value::Null).await, Ok(None));
    assert_eq!(call(&built(text_error), value!({ "fail": true })).await, Err("no".to_owned()));
    assert_eq!(call(&built(text_error), value!({ "fail": false })).await, Ok(Some(value!("yes"))));
    assert_eq!(call(&built(boxed_error), value!({})).await, Err("boxed".to_owned()));
    let tags = value!({ "type": "t", "tags": ["a", null] });
    assert_eq!(call(&built(listing), tags).await, Ok(Some(value!(["t:a", "t:"]))));
}

#[tokio::test]
async fn a_function_can_ask_a_person() {
    let ctx = ToolContext::detached("refund", "c1");
    let paused = built(refund).call(value!({ "cents": 20_000 }), &ctx).await;
    assert!(matches!(paused, Err(ToolFailure::Pause(_))));
    assert_eq!(call(&built(refund), value!({ "cents": 500 })).await, Ok(Some(value!("refunded 5"))));
}

#[tokio::test]
async fn the_function_itself_stays_callable_and_the_builder_open() {
    assert_eq!(weather::call("Oslo".to_owned(), None).await.unwrap().degrees, 18);
    assert_eq!(add::call(vec![1, 2]), 3);
    let gated = refund::builder().result_ceiling(40).build().unwrap();
    assert_eq!(gated.declared().result_ceiling.as_ref().map(|ceiling| ceiling.max_chars), Some(40));
    assert!(ToolError::new("x").to_string() == "x");
}

#[test]
fn a_tool_may_be_defined_inside_a_function() {
    #[derive(Deserialize, JsonSchema)]
    struct Local {
        depth: u8,
    }

    /// Measures.
    #[tool(crate = "agentfootprint_core")]
    fn measure(local: Local) -> u8 {
        local.depth
    }

    assert_eq!(built(measure).name(), "measure");
}

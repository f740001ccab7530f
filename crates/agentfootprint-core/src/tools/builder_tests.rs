use footprint::value;
use serde::Deserialize;

use super::*;
use crate::tools::{ToolFailure, ToolOutput};

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The order's number.
    id: String,
    /// How many to show.
    limit: Option<u8>,
    size: Size,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

fn order_tool() -> Tool {
    Tool::builder("get_order")
        .description("Looks up an order")
        .input::<Order>()
        .handler(|order, ctx| async move {
            let size = match order.size {
                Size::Small => "small",
                Size::Large => "large",
            };
            format!("{} {} {size} for {}", order.id, order.limit.unwrap_or(1), ctx.tool_call_id())
        })
        .build()
        .unwrap()
}

/// Proves TOOL-8.
#[test]
fn a_typed_tool_derives_one_self_contained_schema() {
    let tool = order_tool();
    assert_eq!(
        *tool.schema().input_schema(),
        value!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "description": "The order's number." },
                "limit": {
                    "type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 255,
                    "description": "How many to show.",
                },
                "size": { "type": "string", "enum": ["small", "large"] },
            },
            "required": ["id", "size"],
        })
    );
    let plain = Tool::builder("poll").handler(|_: Value, _| async { "done" }).build().unwrap();
    assert_eq!(*plain.schema().input_schema(), value!({ "type": "object", "properties": {} }));
}

#[tokio::test]
async fn handlers_receive_decoded_arguments_or_plain_json() {
    let ctx = ToolContext::detached("get_order", "c1");
    let answer = order_tool().call(value!({ "id": "A-1", "size": "large" }), &ctx).await;
    assert_eq!(answer.unwrap(), ToolOutput::text("A-1 1 large for c1"));

    let echo = Tool::builder("echo")
        .input_schema(value!({ "type": "object", "properties": { "x": {} } }))
        .handler(|args, _| async move { args })
        .build()
        .unwrap();
    let args = value!({ "x": [1, { "y": 2 }] });
    assert_eq!(echo.call(args.clone(), &ctx).await.unwrap(), ToolOutput::Json(args));
    assert_eq!(echo.call(Value::Null, &ctx).await.unwrap(), ToolOutput::Json(value!({})));
}

/// Proves TOOL-8, TOOL-5.
#[tokio::test]
async fn arguments_that_do_not_decode_are_named_by_path_only() {
    let ctx = ToolContext::detached("get_order", "c1");
    let text = |failure: ToolFailure| failure.to_string();
    let failed = order_tool().call(value!({ "id": "secret-77", "limit": 7000, "size": "large" }), &ctx).await;
    assert_eq!(
        text(failed.unwrap_err()),
        "The arguments of `get_order` could not be read: `limit` does not fit. Correct them to match the input schema."
    );
    let failed = order_tool().call(value!({ "id": "secret-77" }), &ctx).await;
    assert_eq!(
        text(failed.unwrap_err()),
        "The arguments of `get_order` could not be read: the arguments as a whole do not fit. Correct them to match \
         the input schema."
    );
}

/// Proves TOOL-9, TOOL-11.
#[test]
fn every_fault_is_reported_at_once() {
    let error = Tool::builder("get order")
        .input::<Vec<String>>()
        .result_ceiling(0)
        .narrow_by(["limit"])
        .result_kind("")
        .build()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "tool `get order` cannot be built (5 problems)\n\
         - inputSchema: the schema of `Vec`, which is not an object; derive it from a struct: \
         the arguments of a call are a JSON object\n\
         - name: contains ' '; call it `get_order`\n\
         - resultCeiling.maxChars: 0; give a positive number of characters\n\
         - resultKind: a blank text; name the artifact kind, or leave it out\n\
         - handler: nothing; give the tool something to run with `.handler(..)`"
    );
    let error = Tool::builder("x").narrow_by(["a"]).handler(|_: Value, _| async {}).build().unwrap_err();
    assert!(error.to_string().contains("parameters without a ceiling; declare `result_ceiling` first"));
    let none: [&str; 0] = [];
    let error =
        Tool::builder("x").composed_of(none).arguments_from(none).handler(|_: Value, _| async {}).build();
    assert_eq!(
        error.unwrap_err().to_string(),
        "tool `x` cannot be built (2 problems)\n\
         - composedOf: an empty list; name registered tools, or leave it out\n\
         - argumentsFrom: an empty list; name registered tools, or leave it out"
    );
    let lenient =
        Tool::builder("crm.get").name_policy(ToolNamePolicy::Lenient).handler(|_: Value, _| async {});
    assert_eq!(lenient.build().unwrap().name(), "crm.get");
}

/// Proves AGT-33, TOOL-8.
#[test]
fn a_tool_is_identified_by_its_value_and_keeps_its_extensions() {
    struct Store(u8);
    let tool =
        Tool::builder("a").extension(Arc::new(Store(7))).handler(|_: Value, _| async {}).build().unwrap();
    assert!(tool.ptr_eq(&tool.clone()));
    let wrapped = tool.with_handler(Arc::clone(tool.handler()));
    assert!(!tool.ptr_eq(&wrapped));
    assert_eq!(wrapped.extensions().get::<Store>().unwrap().0, 7);
    assert!(wrapped.extensions().get::<u8>().is_none());
}

/// What is no JSON Schema is refused where the tool is made, by its place.
#[test]
fn a_schema_that_is_none_is_refused() {
    for (schema, place) in [
        (value!({ "type": "objekt" }), "type"),
        (value!({ "type": "object", "required": "query" }), "required"),
        (value!({ "type": "object", "properties": { "q": { "type": 7 } } }), "q"),
    ] {
        let refused =
            Tool::builder("look").input_schema(schema).handler(|_: Value, _| async { "seen" }).build();
        let text = refused.expect_err("accepted").to_string();
        assert!(text.contains("no JSON Schema at `") && text.contains(place), "{text}");
    }
    let fine = value!({ "type": "object", "properties": { "q": { "$ref": "https://example.com/q.json" } } });
    assert!(Tool::builder("look").input_schema(fine).handler(|_: Value, _| async { "seen" }).build().is_ok());
}

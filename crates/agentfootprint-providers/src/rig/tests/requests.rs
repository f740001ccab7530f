use agentfootprint_core::llm::{LlmErrorKind, Thinking, ThinkingRefusal, ToolChoice, ToolSchema};
use agentfootprint_record::message::{Message, ToolCall};
use footprint::value;
use serde_json::json;

use super::*;

fn model() -> Scripted {
    Scripted::new(vec![Say::Text("ok"), end(FinishReason::Stop)])
}

#[tokio::test]
async fn everything_of_a_request_reaches_rig() {
    let model = model();
    let args = value!({ "city": "Paris" }).as_object().unwrap().clone();
    let mut asked = LlmRequest::new("other-model")
        .system("Be brief.")
        .user("weather?")
        .message(Message::assistant("let me see").with_tool_calls(vec![ToolCall::new("c1", "weather", args)]))
        .message(Message::tool("c1", "weather", "sunny"))
        .message(Message::assistant(" "))
        .user("and now?")
        .tool(ToolSchema::new("weather", "The weather", value!({ "type": "object" })));
    asked.temperature = Some(0.5);
    asked.max_tokens = Some(99);
    asked.stop = ["END".into()].into();
    asked.thinking = Some(Thinking { budget: 2048 });
    asked.tool_choice = Some(ToolChoice::Tool { name: "weather".into() });
    let rig = Rig::new(model.model()).with_request(|request| request.record_content_telemetry(true));
    rig.complete(&asked, &CallCx::detached()).await.unwrap();
    let (sent, _) = model.asked().pop().unwrap();
    let history = serde_json::to_value(&sent.chat_history).unwrap();
    let roles: Vec<_> =
        history.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"], "a blank turn is left out: {history:#}");
    assert_eq!(history[0]["content"], "Be brief.");
    assert_eq!(history[2]["content"][1]["function"]["arguments"], json!({"city": "Paris"}));
    assert_eq!(history[3]["content"][0]["content"][0]["text"], "sunny");
    assert_eq!(history[3]["content"][0]["name"], "weather");
    assert_eq!(sent.model.as_deref(), Some("other-model"));
    assert_eq!((sent.temperature, sent.max_tokens), (Some(0.5), Some(99)));
    assert_eq!(sent.options.stop, ["END"]);
    assert_eq!(serde_json::to_value(sent.options.reasoning).unwrap(), json!({"budget": {"tokens": 2048}}));
    assert_eq!(
        serde_json::to_value(&sent.tool_choice).unwrap(),
        json!({"specific": {"function_names": ["weather"]}})
    );
    assert_eq!(sent.tools[0].parameters, json!({"type": "object"}));
    assert!(sent.record_telemetry_content, "the program's own change is made");

    // The shorthand is the handle's own model, which rig fills in.
    rig.complete(&request(), &CallCx::detached()).await.unwrap();
    assert_eq!(model.asked().pop().unwrap().0.model.as_deref(), Some("scripted-1"));
    let debug = format!("{:?}", Rig::new(model.model()).redact(KEY));
    assert!(debug.contains("rig-scripted") && !debug.contains(KEY), "{debug}");
}

/// Proves LLM-8.
#[test]
fn what_the_rig_model_declares_is_declared() {
    let rig = Rig::new(model().model());
    let declared = rig.capabilities("rig");
    assert!(declared.carries_forced_tool_choice && declared.streams);
    assert_eq!(declared.thinking_handler.unwrap().id(), "rig");
    assert_eq!(declared.carries_in_messages.names(), ["user", "assistant"]);
    let rig = Rig::new(model().without_forced_tools().model());
    assert!(!rig.capabilities("rig").carries_forced_tool_choice);
    let rig = rig.forced_tool_choice(true).streaming(false).name("mine");
    let declared = rig.capabilities("rig");
    assert!(declared.carries_forced_tool_choice && !declared.streams);
    assert_eq!(LlmProvider::name(&rig), "mine");
}

/// Nothing is sent for a request that cannot be asked.
#[tokio::test]
async fn what_cannot_be_asked_is_refused_by_name() {
    let model = model().without_reasoning();
    let rig = Rig::new(model.model());
    let mut thinking = request();
    thinking.thinking = Some(Thinking { budget: 2048 });
    let mut zero = request();
    zero.thinking = Some(Thinking { budget: 0 });
    let unsupported = |reason| LlmErrorKind::UnsupportedThinking { reason };
    let cases = [
        (thinking, unsupported(ThinkingRefusal::NoThinking), ".thinking(…)"),
        (zero, unsupported(ThinkingRefusal::Budget), "give 1 to"),
        (
            request().tool(ToolSchema::new("", "", value!({}))),
            LlmErrorKind::Refused,
            "a tool is offered without a name",
        ),
        (
            request().message(serde_json::from_value(json!({"role": "tool", "content": "x"})).unwrap()),
            LlmErrorKind::Refused,
            "message 1 is a tool result without `toolCallId`",
        ),
        (LlmRequest::new("rig"), LlmErrorKind::Refused, "rig cannot build this request"),
    ];
    for (asked, kind, word) in cases {
        let plain = rig.complete(&asked, &CallCx::detached()).await.unwrap_err();
        let streamed = read_stream(&rig, &asked, &CallCx::detached()).await.1.unwrap();
        for error in [plain, streamed] {
            assert_eq!(error.kind, kind, "{error}");
            assert!(error.to_string().contains(word), "{error}");
            assert!(error.refused_before_send());
        }
    }
    assert!(model.asked().is_empty());
}

//! What is sent.

use agentfootprint_core::llm::{Thinking, ToolChoice, ToolSchema};
use agentfootprint_record::message::{Message, Messages, ToolCall};
use footprint::value;
use serde_json::json;

use super::fixtures::{answer, hello};
use super::*;

fn ok() -> Answer {
    Answer::ok(hello().to_string())
}

fn tool(name: &str) -> ToolSchema {
    ToolSchema::new(name, "finds", value!({"type": "object", "properties": {"z": {}, "a": {}}}))
}

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "find", value!({"z": 1, "a": "é"}).as_object().unwrap().clone())
}

fn conversation() -> LlmRequest {
    let mut signed = call("c1");
    signed.provider_meta = Some(value!({"thoughtSignature": " c2ln+/=\n"}));
    LlmRequest::new(MODEL)
        .system("Be brief.")
        .user("one")
        .message(Message::assistant("").with_tool_calls(vec![signed, call("gemini-call-0-1")]))
        .message(Message::tool("c1", "", "{\"n\":1}"))
        .message(Message::tool("gemini-call-0-1", "find", ""))
        .message(Message::assistant("").with_tool_calls(vec![]))
        .message(Message::user("two"))
        .message(Message::system("now hurry"))
        .tool(tool("find"))
}

/// The signature goes back byte for byte, an invented id does not, and a turn with nothing keeps its place.
///
/// Proves LLM-4, LLM-43, LLM-44, LLM-45, LLM-46, LLM-64, LLM-65, LLM-91.
#[tokio::test]
async fn a_whole_conversation_on_the_wire() {
    let mut request = conversation();
    request.temperature = Some(0.5);
    request.max_tokens = Some(50);
    request.stop = ["END".into()].into();
    let (builder, exchange) = builder([ok(), ok()]);
    let provider = builder.build().unwrap();
    let cx = CallCx::detached();
    provider.complete(&request, &cx).await.unwrap();
    provider.complete(&request.clone(), &cx).await.unwrap();
    let sent = exchange.requests();
    assert_eq!(
        std::str::from_utf8(&sent[0].body).unwrap(),
        concat!(
            r#"{"contents":[{"role":"user","parts":[{"text":"one"}]},"#,
            r#"{"role":"model","parts":[{"functionCall":{"id":"c1","name":"find","args":{"z":1,"a":"é"}},"#,
            r#""thoughtSignature":" c2ln+/=\n"},{"functionCall":{"name":"find","args":{"z":1,"a":"é"}}}]},"#,
            r#"{"role":"user","parts":["#,
            r#"{"functionResponse":{"id":"c1","name":"find","response":{"output":"{\"n\":1}"}}},"#,
            r#"{"functionResponse":{"name":"find","response":{"output":""}}}]},"#,
            r#"{"role":"model","parts":[{"text":""}]},{"role":"user","parts":[{"text":"two"}]}],"#,
            r#""systemInstruction":{"parts":[{"text":"Be brief."}]},"#,
            r#""tools":[{"functionDeclarations":[{"name":"find","description":"finds","#,
            r#""parametersJsonSchema":{"type":"object","properties":{"z":{},"a":{}}}}]}],"#,
            r#""generationConfig":{"temperature":0.5,"maxOutputTokens":50,"stopSequences":["END"]}}"#,
        )
    );
    assert_eq!(sent[0].body, sent[1].body, "equal requests give equal bytes");
    assert!(sent[0].url.as_str().ends_with("/v1beta/models/gemini-2.5-flash:generateContent"));
    assert_eq!(sent[0].headers["x-goog-api-key"], KEY);
    assert!(sent[0].headers["x-goog-api-key"].is_sensitive());
    // Without tools the calls of the history stay what they were.
    let bare = super::sent(&request.with_tools([])).await;
    assert_eq!(bare["contents"][1]["parts"][0]["functionCall"]["id"], "c1");
    assert_eq!(bare.get("tools"), None);
}

/// A call without an id, answered, and sent back in the next turn through JSON.
///
/// Proves LLM-65.
#[tokio::test]
async fn a_round_trip_of_a_call_without_an_id() {
    let part = json!({"functionCall": {"name": "find", "args": {}}, "thoughtSignature": "c2ln"});
    let (told, exchange) = builder([Answer::ok(answer(json!([part]), json!("STOP")).to_string()), ok()]);
    let provider = told.build().unwrap();
    let cx = CallCx::detached();
    let call = provider.complete(&request(), &cx).await.unwrap().tool_calls.remove(0);
    let stored: ToolCall = serde_json::from_str(&serde_json::to_string(&call).unwrap()).unwrap();
    let next = request()
        .message(Message::assistant("").with_tool_calls(vec![stored]))
        .message(Message::tool(call.id.clone(), "find", "found"))
        .tool(tool("find"));
    provider.complete(&next, &cx).await.unwrap();
    let contents = exchange.sent_json(1)["contents"].clone();
    assert_eq!(contents[1]["parts"], json!([part]));
    assert_eq!(
        contents[2]["parts"],
        json!([{"functionResponse": {"name": "find", "response": {"output": "found"}}}])
    );
}

/// Proves LLM-64.
#[tokio::test]
async fn thinking_is_a_budget_a_level_or_nothing() {
    let mut request = request();
    assert_eq!(sent(&request).await.get("generationConfig"), None);
    request.thinking = Some(Thinking { budget: 0 });
    let config = sent(&request).await["generationConfig"]["thinkingConfig"].clone();
    assert_eq!(config, json!({"thinkingBudget": 0}), "zero is a real value, and thoughts are not asked for");
    request.thinking = None;
    let (told, exchange) = builder([ok()]);
    let body =
        sent_by(told.thinking_level("low").include_thoughts(true).max_tokens(9), &exchange, &request).await;
    assert_eq!(
        body["generationConfig"],
        json!({"maxOutputTokens": 9, "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": true}})
    );
}

/// Proves LLM-64.
#[tokio::test]
async fn one_tool_is_forced_only_where_there_are_tools() {
    let mut request = conversation();
    request.tool_choice = Some(ToolChoice::Tool { name: "find".into() });
    let config = sent(&request).await["toolConfig"].clone();
    assert_eq!(config, json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["find"]}}));
    assert_eq!(sent(&request.with_tools([])).await.get("toolConfig"), None);
}

/// Proves LLM-43.
#[tokio::test]
async fn results_stand_before_texts_in_their_turn() {
    let request = LlmRequest::new(MODEL)
        .message(Message::assistant("").with_tool_calls(vec![call("c1")]))
        .user("meanwhile")
        .message(Message::tool("c1", "find", "found"))
        .message(Message::assistant("a"))
        .message(Message::assistant("b"));
    let contents = sent(&request).await["contents"].clone();
    assert!(contents[1]["parts"][0].get("functionResponse").is_some());
    assert_eq!(contents[1]["parts"][1]["text"], "meanwhile");
    assert_eq!(contents[2]["parts"], json!([{"text": "a"}, {"text": "b"}]));
}

/// Proves LLM-2.
#[tokio::test]
async fn framework_only_fields_are_not_sent() {
    let mut history = Messages::new();
    history.push_value(value!({
        "role": "user", "content": "hi", "frame": "wrap-up",
        "injectedBy": {"injectionId": "canary", "flavor": "fact", "iteration": 1}
    }));
    let body = sent(&LlmRequest::new(MODEL).with_messages(history)).await;
    assert_eq!(body, json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}));
}

/// Nothing is sent for a request the adapter refuses.
///
/// Proves LLM-7.
#[tokio::test]
async fn what_the_wire_cannot_say_is_refused_before_sending() {
    let (told, exchange) = builder([]);
    let provider = told.build().unwrap();
    let one = |message| {
        let mut messages = Messages::new();
        messages.push_value(message);
        LlmRequest::new(MODEL).with_messages(messages)
    };
    for (request, word) in [
        (LlmRequest::new(" ").user("hi"), "gemini-2.5-flash"),
        (LlmRequest::new("gemini").user("hi"), ".default_model("),
        (one(value!({"role": "tool", "content": "x", "toolCallId": "c9"})), "names no tool"),
        (one(value!({"role": "narrator", "content": "x"})), "narrator"),
        (one(value!({"content": "x"})), "no role"),
    ] {
        let cx = CallCx::detached();
        let error = provider.complete(&request, &cx).await.unwrap_err();
        assert!(error.refused_before_send() && error.to_string().contains(word), "{error}");
        assert!(provider.stream(&request, &cx).await.unwrap().err().unwrap().refused_before_send());
    }
    assert!(exchange.requests().is_empty());
}

/// Proves LLM-136.
#[tokio::test]
async fn a_form_of_the_answer_goes_as_it_is() {
    let mut request = request();
    request.output_schema =
        Some(agentfootprint_core::llm::OutputSchema::new("f", value!({"type": "object"})));
    assert_eq!(
        super::sent(&request).await["generationConfig"],
        json!({"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}})
    );
}

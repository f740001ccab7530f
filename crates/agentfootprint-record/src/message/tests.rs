use footprint::value;
use footprint::value::{Object, Str, Value};
use proptest::prelude::*;

use super::*;
use crate::conventions::{Frame, ResultOrigin, ResultReason};
use crate::events::field::Field as _;
use crate::events::shared::{NotDispatched, PausedCall};
use crate::events::words::ThinkingKind;

fn args(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

fn full() -> Message {
    let mut message = Message::tool("t1", "get_order", "shipped\n[note]")
        .settled_by_library(ResultReason::NotDispatched)
        .with_tool_calls(vec![ToolCall::new("t2", "x", args(value!({ "b": 1, "a": 2 })))])
        .with_thinking(vec![ThinkingBlock::redacted("data")]);
    message.ephemeral = Some(false);
    message.injected_by = Some(InjectedBy::new("i1", "memory", 2_u64).reason("recalled"));
    message.frame = Some(Frame::WrapUp);
    message.not_dispatched = Some(NotDispatched::new(PausedCall::new("t0", "ask")));
    message.tool_chars = Some(7);
    message.folded_exempt = Some(vec!["x".into()]);
    message.extra.insert("newer", value!({ "kept": true }));
    message
}

/// Proves AGT-55: one flat object, fields in the order of the table, absent fields absent.
#[test]
fn serialised_form_is_flat_and_ordered() {
    let value = full().to_value();
    let keys: Vec<_> = value.as_object().unwrap().keys().map(|key| key.to_string()).collect();
    let mut expected: Vec<String> = fields::KNOWN.iter().map(|key| (*key).to_owned()).collect();
    expected.push("newer".to_owned());
    assert_eq!(keys, expected);
    assert_eq!(Message::user("hi").to_value().to_string(), r#"{"role":"user","content":"hi"}"#);
}

/// Proves LLM-1, LLM-4: unknown fields survive at every level, and the key order of arguments is kept.
#[test]
fn unknown_fields_survive() {
    let text = r#"{"role":"assistant","content":"","toolCalls":[{"id":"t","name":"n","args":{"b":1,"a":2},"later":1}],"thinkingBlocks":[{"type":"thinking","content":"c","signature":" s\n","later":2}],"later":{"x":[]}}"#;
    let value: Value = text.parse().unwrap();
    let message = Message::from_value(&value).unwrap();
    assert_eq!(message.to_value().to_string(), text);
    assert_eq!(serde_json::to_string(&message).unwrap(), text);
    assert_eq!(serde_json::from_str::<Message>(text).unwrap(), message);
    assert_eq!(full(), Message::from_value(&full().to_value()).unwrap());
}

/// Proves LLM-2: framework-only fields never reach a provider, whatever an adapter does with a message;
/// no message is dropped, so positions stay true; what has no such field is shared.
#[test]
fn providers_see_no_framework_field() {
    let plain = Message::user("hi");
    let history: Messages = [plain.clone(), full()].into_iter().collect();
    let sent = history.for_provider();
    assert_eq!(sent.len(), history.len());

    let text = serde_json::to_string(&sent).unwrap();
    assert_eq!(text, sent.to_value().to_string());
    for key in FRAMEWORK_ONLY {
        assert!(!text.contains(key), "{key}");
    }
    for kept in ["toolCallId", "toolName", "toolCalls", "thinkingBlocks", "ephemeral", "newer"] {
        assert!(text.contains(kept), "{kept}");
    }
    let first = sent.get(0).unwrap().to_value();
    assert!(first.ptr_eq(history.get(0).unwrap().value()));
}

/// Proves LLM §1.1: handing a conversation over shares it; appending does not touch earlier clones.
#[test]
fn handing_over_shares() {
    let mut history: Messages = (0..1000).map(|n| Message::user(n.to_string())).collect();
    let sent = history.clone();
    assert!(sent.ptr_eq(&history));
    history.push(&Message::assistant("more"));
    assert_eq!((sent.len(), history.len()), (1000, 1001));
    assert_eq!(history.tail(999).len(), 2);
    assert_eq!(history.iter().next_back().unwrap().content(), "more");
    // An event that carries the history carries the list itself.
    let value = history.to_value();
    assert!(Messages::from_value(&value).unwrap().ptr_eq(&history));
}

/// Proves AGT-77, EVD-15, EVD-16, EVD-17: marks decide; prefixes only where there are none.
#[test]
fn who_wrote_a_turn() {
    let person = || Message::user("[budget exhausted, I think]");
    let unmarked: Messages = [person(), Message::assistant("[schema check")].into_iter().collect();
    assert_eq!(unmarked.marks(), HistoryMarks::Absent);
    assert_eq!(unmarked.frame_at(0, unmarked.marks()), Some(Frame::WrapUp));
    assert_eq!(unmarked.frame_at(1, unmarked.marks()), None, "assistants are not framed");
    assert!(!unmarked.is_persons_turn(0, unmarked.marks()));

    let correction = Message::framed(Role::User, Frame::SchemaCheck, "[schema check: not JSON]");
    let mut delivered = Message::user("fact");
    delivered.injected_by = Some(InjectedBy::new("i", "fact", 1_u64));
    let marked: Messages = [person(), correction, delivered].into_iter().collect();
    let marks = marked.marks();
    assert_eq!(marks, HistoryMarks::Present);
    assert_eq!(marked.frame_at(0, marks), None, "a marked history ignores text");
    assert_eq!(marked.frame_at(1, marks), Some(Frame::SchemaCheck));
    assert_eq!([0, 1, 2].map(|at| marked.is_persons_turn(at, marks)), [true, false, false]);
}

/// Proves AGT-109: what comes from outside is validated per message, naming position, role and origin.
#[test]
fn validation_names_the_message() {
    let calls = vec![ToolCall::new("t", "n", Object::new())];
    let good: Messages =
        [Message::user("hi"), Message::assistant("").with_tool_calls(calls)].into_iter().collect();
    assert_eq!(good.validate(), Ok(()));

    let check = |value: Value| {
        let Value::Array(items) = value else { panic!("a list") };
        Messages::from(items).validate().unwrap_err().to_string()
    };
    assert_eq!(check(value!([{ "role": "assistant", "content": "" }])), "message 0 (assistant): has no text");
    assert_eq!(
        check(value!([{ "role": "tool", "content": null, "toolCallId": "t1" }])),
        "message 0 (tool, answer to call `t1`): `content`: expected a string, found null"
    );
    assert_eq!(check(value!([{ "role": "robot", "content": "x" }])), "message 0 (robot): `robot` is no role");
    assert_eq!(
        check(value!([{ "content": "x" }])),
        "message 0 (no role): `role`: expected a value, found nothing"
    );
}

#[test]
fn views_decode_on_demand() {
    let history: Messages = [full()].into_iter().collect();
    let view = history.last().unwrap();
    assert!(view.is(&Role::Tool));
    assert_eq!(view.tool_text(), "shipped", "the library's note is cut off");
    assert_eq!(&**view.tool_call_id().unwrap(), "t1");
    assert_eq!(&**view.tool_name().unwrap(), "get_order");
    assert_eq!(view.tool_calls()[0].args.keys().map(|key| &**key).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(view.thinking_blocks()[0].kind, ThinkingKind::RedactedThinking);
    assert_eq!(view.result_origin(), Some(ResultOrigin::Library));
    assert_eq!(view.result_reason(), Some(ResultReason::NotDispatched));
    assert_eq!(&*view.not_dispatched().unwrap().paused_call.tool_name, "ask");
    assert_eq!(view.folded_exempt(), ["x".into()] as [Str; 1]);
    assert!(!view.is_ephemeral());
    assert_eq!(view.decode().unwrap(), full());
}

/// Proves LLM-88, LLM-91: provider data is stripped from a block, the signature is kept byte by byte.
#[test]
fn thinking_blocks() {
    let mut block = ThinkingBlock::thinking("why");
    block.signature = Some(" sig\n\u{1F600}".into());
    block.provider_meta = Some(value!({ "x": 1 }));
    block.origin = Some("anthropic".into());
    let stripped = block.clone().without_provider_meta();
    assert_eq!(stripped.to_value()["providerMeta"], Value::Null);
    assert_eq!(ThinkingBlock::from_value(&block.to_value()).unwrap(), block);
    let said = crate::events::shared::ThinkingBlock::from(&block);
    assert_eq!(
        said.to_value().to_string(),
        "{\"type\":\"thinking\",\"content\":\"why\",\"signature\":\" sig\\n\u{1F600}\"}"
    );
}

proptest! {
    /// Any JSON object that reads as a message is written back equal, in whatever order its keys came.
    #[test]
    fn reading_loses_nothing(extra in crate::tests::json(), content in any::<String>()) {
        let mut object = Object::new();
        object.insert("later", extra);
        object.insert("content", Value::from(content));
        object.insert("role", Value::from("user"));
        let value = Value::Object(object);
        prop_assert_eq!(Message::from_value(&value).unwrap().to_value(), value);
    }
}

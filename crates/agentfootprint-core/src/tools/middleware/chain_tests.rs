use agentfootprint_record::message::Messages;
use async_trait::async_trait;
use footprint::value;
use tokio_util::sync::CancellationToken;

use super::super::port::ToolHooks;
use super::*;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type OnCall = fn(&ToolCallContext) -> Result<ToolCallOutcome, BoxError>;
type OnResult = fn(&ToolResultContext) -> Result<ToolResultOutcome, BoxError>;

struct Link(&'static str, Option<OnCall>, Option<OnResult>);

#[async_trait]
impl ToolMiddleware for Link {
    fn name(&self) -> &str {
        self.0
    }

    fn hooks(&self) -> ToolHooks {
        match (self.1, self.2) {
            (Some(_), Some(_)) => ToolHooks::Both,
            (Some(_), None) => ToolHooks::Call,
            _ => ToolHooks::Result,
        }
    }

    async fn on_tool_call(&self, call: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        self.1.map_or(Ok(ToolCallOutcome::allow()), |hook| hook(call))
    }

    async fn on_tool_result(&self, result: &ToolResultContext) -> Result<ToolResultOutcome, BoxError> {
        self.2.map_or(Ok(ToolResultOutcome::allow()), |hook| hook(result))
    }
}

fn chain(links: Vec<Link>) -> Vec<Arc<dyn ToolMiddleware>> {
    links.into_iter().map(|link| Arc::new(link) as Arc<dyn ToolMiddleware>).collect()
}

fn call(args: Value) -> ToolCallContext {
    ToolCallContext {
        tool_name: "t".into(),
        tool_source: None,
        tool_call_id: "c1".into(),
        iteration: 2,
        args,
        history: Messages::new(),
        identity: None,
        cancel: CancellationToken::new(),
    }
}

fn result(result: Value) -> ToolResultContext {
    ToolResultContext { call: call(value!({})), result: Some(result), error: false }
}

fn rows(rows: &[DecisionRow]) -> Vec<String> {
    rows.iter().map(|row| row.to_value().to_string()).collect()
}

/// Proves TOOL-43, TOOL-46.
#[tokio::test]
async fn links_walk_forward_and_each_sees_the_last_value() {
    let links = chain(vec![
        Link("a", Some(|_| Ok(ToolCallOutcome::allow_with(value!({ "n": 1 }), "counted"))), None),
        Link("silent", None, Some(|_| Ok(ToolResultOutcome::allow()))),
        Link("b", Some(|call| Ok(ToolCallOutcome::allow_because(call.args.to_string()))), None),
    ]);
    let walk = walk_call(None, &links, 0, call(value!({}))).await;
    assert!(matches!(walk.end, CallEnd::Pass));
    assert_eq!(walk.args, value!({ "n": 1 }));
    assert_eq!(
        rows(&walk.rows),
        [
            r#"{"middleware":"a","moment":"before-tool","at":"tool","toolName":"t","toolCallId":"c1","iteration":2,"outcome":"allow","changed":true,"why":"counted","before":{},"after":{"n":1}}"#,
            r#"{"middleware":"b","moment":"before-tool","at":"tool","toolName":"t","toolCallId":"c1","iteration":2,"outcome":"allow","changed":false,"why":"{\"n\":1}"}"#,
        ]
    );
    assert_eq!(walk_call(None, &links, 3, call(value!({}))).await.rows, []);
}

/// Proves TOOL-43.
#[tokio::test]
async fn the_first_link_that_does_not_allow_ends_the_walk() {
    let links = chain(vec![
        Link("no", Some(|_| Ok(ToolCallOutcome::deny("not today"))), None),
        Link("never", Some(|_| panic!("not reached")), None),
    ]);
    let walk = walk_call(None, &links, 0, call(value!({}))).await;
    assert!(matches!(walk.end, CallEnd::Denied { reason } if &*reason == "not today"));
    assert_eq!(walk.rows.len(), 1);

    let links =
        chain(vec![Link("asks", Some(|_| Ok(ToolCallOutcome::ask(AskPayload::new("Really?")))), None)]);
    let walk = walk_call(None, &links, 0, call(value!({}))).await;
    assert!(matches!(walk.end, CallEnd::Asked { index: 0, .. }));
    assert!(rows(&walk.rows)[0].ends_with(r#""outcome":"ask","changed":false,"why":"Really?"}"#));
}

/// Proves TOOL-42, TOOL-43.
#[tokio::test]
async fn errors_panics_and_empty_questions_deny_naming_the_link() {
    let denial = |link: Link| async move {
        match walk_call(None, &chain(vec![link]), 0, call(value!({}))).await.end {
            CallEnd::Denied { reason } => reason.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        denial(Link("a", Some(|_| Err("no route".into())), None)).await,
        "middleware `a` failed: no route"
    );
    assert_eq!(denial(Link("b", Some(|_| panic!("boom")), None)).await, "middleware `b` failed: it panicked");
    let empty = Link("c", Some(|_| Ok(ToolCallOutcome::ask(AskPayload::new(" ")))), None);
    assert_eq!(denial(empty).await, "middleware `c` asked without a question");
}

/// Proves TOOL-43, TOOL-45.
#[tokio::test]
async fn results_walk_backward_and_a_denial_hides_but_keeps() {
    let links = chain(vec![
        Link(
            "first",
            None,
            Some(|seen| {
                let before = seen.result.as_ref().and_then(Value::as_str).unwrap_or_default();
                Ok(ToolResultOutcome::allow_with(format!("{before}1"), "marked"))
            }),
        ),
        Link(
            "second",
            None,
            Some(|seen| {
                let before = seen.result.as_ref().and_then(Value::as_str).unwrap_or_default();
                Ok(ToolResultOutcome::allow_with(format!("{before}2"), "marked"))
            }),
        ),
    ]);
    let walk = walk_result(None, &links, result(value!("x"))).await;
    assert_eq!(walk.result, Some(value!("x21")));
    assert_eq!(walk.rows.iter().map(|row| &*row.middleware).collect::<Vec<_>>(), ["second", "first"]);

    let links = chain(vec![
        Link("never", None, Some(|_| panic!("not reached"))),
        Link("hide", None, Some(|_| Ok(ToolResultOutcome::deny("hidden")))),
    ]);
    let walk = walk_result(None, &links, result(value!({ "secret": 1 }))).await;
    assert_eq!(walk.result, Some(value!("hidden")));
    assert_eq!(
        rows(&walk.rows),
        [
            r#"{"middleware":"hide","moment":"after-tool","at":"tool","toolName":"t","toolCallId":"c1","iteration":2,"outcome":"deny","changed":true,"why":"hidden","before":{"secret":1},"after":"hidden"}"#
        ]
    );
    let links = chain(vec![Link("hide", None, Some(|_| panic!("boom")))]);
    let walk = walk_result(None, &links, result(value!("x"))).await;
    assert_eq!(walk.result, Some(value!("middleware `hide` failed: it panicked")));
}

use agentfootprint_core::agent::Agent;
use agentfootprint_core::compose::{Conditional, LlmCall, Loop, Parallel, Sequence};
use agentfootprint_core::run::{RunError, RunInput, RunOptions, RunRefusal, Runner};
use agentfootprint_core::tools::{MessageContext, MessageMiddleware, MessageOutcome};

use crate::support::*;

fn silent() -> LlmCall {
    LlmCall::builder(Silent, "m").id("silent").build().unwrap()
}

/// Proves AGT-118, AGT-28: every composition on the way of a failure is left with `err`, inner before outer, and the failure
/// is said once.
#[tokio::test]
async fn a_failure_closes_every_composition_it_goes_through() {
    let inner = Conditional::builder("inner")
        .when("bad", |_| true, failing("bad"))
        .otherwise("rest", wrapping("rest"))
        .build()
        .unwrap();
    let flow = Sequence::builder("outer")
        .step("fine", wrapping("fine"))
        .step("loop", Loop::builder("loop").repeat(inner).build().unwrap())
        .build()
        .unwrap();
    let (report, heard) = run(&flow, "x").await;
    assert_eq!(heard.pairs(), ["+outer", "+loop", "+inner", "-inner err", "-loop err", "-outer err"]);
    let steps = heard.steps("composition.exit");
    assert!(steps[0].contains("step-loop/body/seed#") && steps[1].contains("step-loop/seed#"), "{steps:?}");
    assert_eq!(steps[2], "composition.exit seed#0");
    assert_eq!(heard.of("error.fatal").len(), 1);
    let failure = report.error().unwrap();
    let text = failure.to_string();
    assert!(
        text.contains("Conditional `inner`: branch `bad` failed") && text.contains("no answer"),
        "{text}"
    );
    assert!(matches!(failure.root_cause(), RunError::Llm(_)));
    assert_eq!((failure.name(), failure.checkpoint().is_some()), ("ServiceError", false));
}

/// Proves AGT-17, AGT-118, AGT-116: a cancelled run closes what it left open, at every depth and beside siblings.
#[tokio::test]
async fn a_cancelled_run_closes_what_is_open() {
    let panel = Parallel::builder("p")
        .branch("a", Sequence::builder("a").step("s", silent()).build().unwrap())
        .branch("b", silent())
        .merge_with_fn(|_| String::new())
        .build()
        .unwrap();
    let flow = Sequence::builder("s").step("p", panel).build().unwrap();
    let heard = Heard::default();
    let handle = flow.start(RunInput::from("x"), heard.options()).unwrap();
    let remote = handle.remote();
    let (report, ()) = tokio::join!(handle, async {
        tokio::task::yield_now().await;
        remote.cancel();
    });
    assert!(matches!(report.error(), Some(RunError::Cancelled { .. })), "{:?}", report.error());
    let pairs = heard.pairs();
    assert_eq!(pairs[..3], ["+s", "+p", "+a"]);
    assert_eq!(pairs[3..], ["-a err", "-p err", "-s err"]);
}

struct Strict;

#[async_trait::async_trait]
impl MessageMiddleware for Strict {
    fn name(&self) -> &str {
        "strict"
    }

    async fn on_message(
        &self,
        message: &MessageContext,
    ) -> Result<MessageOutcome, Box<dyn std::error::Error + Send + Sync>> {
        Ok(if message.content.contains("secret") {
            MessageOutcome::deny("no secrets")
        } else {
            MessageOutcome::allow()
        })
    }
}

/// Proves AGT-26: what a nested agent wrote down and stopped with fails the composition, typed; a tolerant merge sees it.
#[tokio::test]
async fn a_nested_denial_is_a_failure_of_the_member() {
    let agent = Agent::builder(Script::wrap("x"), "m").id("gate").message_middleware(Strict).build().unwrap();
    let flow =
        Sequence::builder("s").step("gate", agent.clone()).step("after", wrapping("after")).build().unwrap();
    let (report, heard) = run(&flow, "my secret").await;
    let failure = report.error().unwrap();
    assert!(matches!(failure.root_cause(), RunError::MessageDenied { .. }), "{failure:?}");
    let text = failure.to_string();
    assert!(text.contains("Sequence `s`: step `gate` failed") && text.contains("no secrets"), "{text}");
    assert_eq!(heard.pairs(), ["+s", "-s err"]);
    assert_eq!(answer(&flow, "hello").await, "after(x(hello))");
    let tolerant = Parallel::builder("p")
        .branch("gate", agent)
        .branch("other", wrapping("other"))
        .merge_outcomes_with_fn(|outcomes| outcomes.get("gate").unwrap().unwrap_err().name.to_string())
        .build()
        .unwrap();
    assert_eq!(answer(&tolerant, "my secret").await, "MessageDeniedError");
}

/// Proves CTX-48, AGT-109: an empty answer is never sent on as an empty message.
#[tokio::test]
async fn an_empty_answer_is_not_sent_on() {
    let flow = Sequence::builder("s")
        .step("empty", call("empty", &Script::texts(&[""])))
        .step("next", wrapping("next"))
        .build()
        .unwrap();
    let (report, _) = run(&flow, "x").await;
    let failure = report.error().unwrap();
    assert!(matches!(failure.root_cause(), RunError::Delivery(_)), "{failure:?}");
    assert!(failure.to_string().contains("step `next` failed"), "{failure}");
}

/// Proves AGT-20: only an agent continues a conversation.
#[tokio::test]
async fn a_composition_continues_no_conversation() {
    let agent = Agent::builder(Script::wrap("x"), "m").build().unwrap();
    let checkpoint = agent.run("hi").await.record.checkpoint().unwrap().clone();
    let flow = Sequence::builder("s").step("a", agent).build().unwrap();
    let refused = flow.start(RunInput::from("hi").continue_from(checkpoint), RunOptions::new()).unwrap_err();
    assert!(matches!(refused, RunRefusal::InvalidInput { .. }));
    assert!(refused.to_string().contains("Sequence.run"), "{refused}");
}

/// Proves AGT-135: a run can be recorded, and its recording holds every level.
#[tokio::test]
async fn compositions_are_recorded_as_agents_are() {
    let flow = Sequence::builder("s")
        .step("p", {
            let panel = Parallel::builder("p").branch("a", wrapping("a")).branch("b", wrapping("b"));
            panel.merge_with_fn(|results| results["a"].to_owned()).build().unwrap()
        })
        .build()
        .unwrap();
    let run = flow.record("x").await.unwrap();
    assert_eq!(run.answer().unwrap(), "a(x)");
    let json: serde_json::Value = serde_json::from_str(&run.recording().to_json()).unwrap();
    assert_eq!(json["snapshot"]["commitValues"], "full");
    let mounts = json["snapshot"]["subflowResults"].as_object().unwrap();
    assert!(mounts.keys().any(|key| key.starts_with("step-p/a/sf-llm-call#")));
    let deltas = RunOptions::new().commit_values(footprint::state::CommitValues::Delta);
    let run = flow.record("x").options(deltas).await.unwrap();
    let json: serde_json::Value = serde_json::from_str(&run.recording().to_json()).unwrap();
    assert_eq!(json["snapshot"]["commitValues"], "delta");
}

use agentfootprint_core::agent::Agent;
use agentfootprint_core::llm::{LlmError, LlmErrorKind};
use agentfootprint_core::run::{
    AgentRunCheckpoint, NoConversationReason, RunInput, RunOptions, RunRefusal, Runner,
};
use agentfootprint_core::tools::{CheckIn, Tool};
use agentfootprint_core::tools::{MessageContext, MessageMiddleware, MessageOutcome};
use footprint::value::Value;

use crate::support::*;

fn checkpoint_history(checkpoint: &AgentRunCheckpoint) -> Vec<Value> {
    checkpoint.history.iter().cloned().collect()
}

struct NoSecrets;

#[async_trait::async_trait]
impl MessageMiddleware for NoSecrets {
    fn name(&self) -> &str {
        "no-secrets"
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

/// Proves P-12, AGT-102, AGT-104, AGT-108.
#[tokio::test]
async fn a_denied_turn_does_not_become_history() {
    let script = Script::by(|at, _| Ok(say(&format!("answer {at}"))));
    let agent = agent(&script).message_middleware(NoSecrets).build().unwrap();
    let talk = agent.conversation(RunOptions::new());
    assert!(matches!(
        talk.checkpoint(),
        Err(RunRefusal::NoConversation { reason: NoConversationReason::NeverRun })
    ));
    assert_eq!(talk.follow_up("one").await.unwrap().answer().unwrap(), "answer 0");
    assert!(talk.follow_up("my secret").await.unwrap().error().is_some());
    let report = talk.follow_up("two").await.unwrap();
    assert_eq!(report.answer().unwrap(), "answer 1");
    let contents: Vec<String> =
        history(&report).iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect();
    assert_eq!(contents, ["one", "answer 0", "two"]);
    assert_eq!(state(&report, "turnNumber"), Some(json!(2)));
    let kept = checkpoint_history(&talk.checkpoint().unwrap());
    assert!(is_valid(&kept), "{kept:?}");
    assert_eq!(kept.len(), 4);
}

/// Proves P-12, AGT-100: after a crash the finished iterations are replayed and nothing is said twice.
#[tokio::test]
async fn a_crashed_turn_goes_on_from_its_checkpoint() {
    let script = Script::by(|at, _| match at {
        0 => Ok(look("c1")),
        1 => Err(LlmError::new(LlmErrorKind::Transient, "script", "down")),
        _ => Ok(say("done")),
    });
    let agent = agent(&script).tool(looking("seen")).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    // Through text, as from a store.
    let stored = report.error().unwrap().checkpoint().unwrap().to_json();
    let checkpoint = AgentRunCheckpoint::from_json(&stored).unwrap();
    assert_eq!(checkpoint_history(&checkpoint).len(), 3);
    let heard = Heard::default();
    let resumed = agent.resume_on_error(checkpoint, heard.options()).unwrap().await;
    assert_eq!(resumed.answer().unwrap(), "done");
    assert_ne!(resumed.record.run_id(), report.record.run_id());
    assert_eq!(script.request(2).messages().to_value(), script.request(1).messages().to_value());
    assert_eq!(heard.of("agent.iteration_start")[0]["iterIndex"], json!(1));
    assert!(is_valid(&history(&resumed)), "{:?}", history(&resumed));
}

fn asking() -> Tool {
    Tool::builder("look")
        .description("Looks.")
        .check_in(CheckIn::Always)
        .handler(|_: Value, _| async { "seen" })
        .build()
        .unwrap()
}

fn talker() -> (Agent, Script) {
    let script = Script::by(|at, _| Ok(if at == 0 { look("c1") } else { say(&format!("answer {at}")) }));
    (agent(&script).tool(asking()).build().unwrap(), script)
}

/// Proves AGT-104, P-12: an open question blocks the next turn until it is answered or abandoned.
#[tokio::test]
async fn an_open_question_blocks_the_next_turn() {
    let (agent, script) = talker();
    let talk = agent.conversation(RunOptions::new());
    assert!(talk.follow_up("go").await.unwrap().paused().is_some());
    let refusal = talk.follow_up("hello?").await.unwrap_err();
    assert!(
        matches!(&refusal, RunRefusal::PendingQuestion { tool_name, .. } if &**tool_name == "look"),
        "{refusal}"
    );
    assert_eq!(script.calls(), 1);
    assert_eq!(talk.pending_question().unwrap().tool_call_id(), Some("c1"));
    let refusal = talk.resume(None).await.unwrap_err();
    assert!(matches!(refusal, RunRefusal::DecisionRequired { .. }), "{refusal}");
    let dropped = talk.abandon_pause().unwrap();
    assert_eq!(&*dropped.tool_name, "look");
    assert!(talk.abandon_pause().is_none());
    let report = talk.follow_up("never mind").await.unwrap();
    assert_eq!(report.answer().unwrap(), "answer 1");
    assert!(is_valid(&history(&report)), "{:?}", history(&report));
}

/// Proves AGT-105, P-11: the answer is judged first, and each leg is a run of its own.
#[tokio::test]
async fn a_resumed_turn_is_a_new_leg_of_the_same_turn() {
    let (agent, script) = talker();
    let heard = Heard::default();
    let paused = agent.run("go").options(heard.options()).await;
    let question = paused.paused().unwrap();
    assert_eq!(
        heard.names().iter().rev().take(2).map(String::as_str).collect::<Vec<_>>(),
        ["integrity.disposition", "pause.request",]
    );
    let stored = question.checkpoint.to_json();
    let checkpoint = || footprint::pause::FlowchartCheckpoint::from_json(&stored).unwrap();
    let told = Heard::default();
    assert!(agent.resume(checkpoint(), Some(json!("maybe")), told.options()).is_err());
    assert!(told.all().is_empty(), "a refused answer is said nowhere");
    let answer = json!({"approved": false, "by": "ann"});
    let resumed = agent.resume(checkpoint(), Some(answer), told.options()).unwrap().await;
    assert_eq!(resumed.answer().unwrap(), "answer 1");
    assert_eq!(told.names()[..2], ["pause.resume", "agent.run_configured"]);
    assert_ne!(resumed.record.run_id(), paused.record.run_id());
    assert_eq!(script.calls(), 2);
    assert!(is_valid(&history(&resumed)), "{:?}", history(&resumed));
}

/// Proves AGT-103.
#[tokio::test]
async fn a_checkpoint_of_another_agent_is_refused() {
    let named = |id: &str| agent(&Script::new([say("hi"), say("hi")])).id(id).build().unwrap();
    let report = named("ann").run("go").await;
    let checkpoint = report.record.checkpoint().unwrap().clone();
    let next = || RunInput::new("and?").continue_from(checkpoint.clone());
    let refusal = named("bob").start(next(), RunOptions::new()).unwrap_err();
    assert!(matches!(&refusal, RunRefusal::ConversationMismatch { what: "agent", .. }), "{refusal}");
    assert!(named("ann").run(next()).await.answer().is_ok());
    // An agent nobody named takes it.
    assert!(agent(&Script::new([say("hi")])).build().unwrap().run(next()).await.answer().is_ok());
}

/// Proves AGT-104: one turn at a time.
#[tokio::test]
async fn a_second_turn_at_the_same_time_is_refused() {
    let agent = agent(&Script::by(|_, _| Ok(say("hi")))).build().unwrap();
    let talk = agent.conversation(RunOptions::new());
    let (first, second) = tokio::join!(talk.follow_up("one"), talk.follow_up("two"));
    assert!(first.unwrap().answer().is_ok());
    assert!(matches!(second, Err(RunRefusal::RunInFlight { .. })));
    assert!(talk.follow_up("three").await.is_ok());
}

/// Proves AGT-104, AGT-108, P-12: a resumed leg that fails or is dropped leaves its question open; nothing unanswered is sent.
#[tokio::test]
async fn a_failed_answer_leaves_the_question_open() {
    let script = Script::by(|at, _| match at {
        0 => Ok(look("c1")),
        1 => Err(LlmError::foreign("ServiceError", "away")),
        _ => Ok(say("done")),
    });
    let asks = Tool::builder("look").check_in(CheckIn::Always).handler(|_: Value, _| async { "seen" });
    let agent = agent(&script).tool(asks).build().unwrap();
    let talk = agent.conversation(RunOptions::new());
    assert!(talk.follow_up("go").await.unwrap().paused().is_some());
    let yes = || Some(json!({"approved": true, "by": "ann"}));
    assert!(talk.resume(yes()).await.unwrap().outcome.is_err());
    assert_eq!(talk.pending_question().unwrap().tool_call_id(), Some("c1"));
    assert!(matches!(talk.follow_up("hello?").await, Err(RunRefusal::PendingQuestion { .. })));
    {
        let dropped = talk.resume(yes());
        tokio::pin!(dropped);
        assert!(futures_util::poll!(&mut dropped).is_pending());
    }
    assert!(talk.pending_question().is_some());
    let report = talk.resume(yes()).await.unwrap();
    assert_eq!(report.answer().unwrap(), "done");
    assert!(is_valid(&history(&report)), "{:?}", history(&report));
    assert!(talk.pending_question().is_none());
}

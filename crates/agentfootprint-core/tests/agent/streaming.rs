use agentfootprint_core::llm::{LlmChunk, LlmError, LlmErrorKind, LlmResponse, Usage};
use agentfootprint_core::run::Runner;
use footprint::value::Value;
use tokio_util::sync::CancellationToken;

use crate::support::*;

fn text(token_index: u64, content: &str) -> Result<LlmChunk, LlmError> {
    Ok(LlmChunk::Text { token_index, content: content.to_owned() })
}

fn thinking(token_index: u64, delta: &str) -> Result<LlmChunk, LlmError> {
    Ok(LlmChunk::Thinking { token_index, delta: delta.to_owned() })
}

fn done(tokens: u64, response: LlmResponse) -> Result<LlmChunk, LlmError> {
    Ok(LlmChunk::done(tokens, response))
}

/// Proves P-14, LLM-10.
#[tokio::test]
async fn tokens_are_told_as_they_come_and_the_last_chunk_is_the_answer() {
    let script =
        Script::streaming([vec![thinking(0, "Hm."), text(0, "Hel"), text(1, "lo"), done(2, say("Hello"))]]);
    let agent = agent(&script).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "Hello");
    let tokens = heard.of("stream.token");
    let told: Vec<(Value, Value)> =
        tokens.iter().map(|token| (token["tokenIndex"].clone(), token["content"].clone())).collect();
    assert_eq!(told, [(json!(0), json!("Hel")), (json!(1), json!("lo"))]);
    assert_eq!(heard.count("stream.thinking_delta"), 1);
}

/// Proves P-14: a stream that breaks off is a failure of the call, never half an answer.
#[tokio::test]
async fn a_stream_without_its_last_chunk_is_not_an_answer() {
    let script = Script::streaming([vec![text(0, "Hel")]]);
    let agent = agent(&script).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert!(report.error().is_some());
    assert_eq!(heard.count("stream.llm_end"), 0);
    assert_eq!(heard.count("error.fatal"), 1);
    assert_eq!(state(&report, "llmLatestContent"), Some(json!("")));
}

/// Proves P-14: an answer without pieces is an answer.
#[tokio::test]
async fn a_stream_of_one_chunk_is_enough() {
    let mut response = say("Hi");
    response.usage = Usage::new(3, 1);
    let agent = agent(&Script::streaming([vec![done(0, response)]])).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "Hi");
    assert_eq!(heard.count("stream.token"), 0);
    assert_eq!(state(&report, "totalInputTokens"), Some(json!(3)));
}

/// Proves P-14, AGT-17.
#[tokio::test]
async fn a_run_cancelled_in_the_stream_ends_there() {
    let script = Script::streaming([vec![text(0, "Hel"), text(1, "lo"), done(2, say("Hello"))]]);
    let agent = agent(&script).build().unwrap();
    let cancel = CancellationToken::new();
    let heard = Heard::default();
    let handle = agent.run("go").options(heard.options().cancel(cancel.clone())).start().unwrap();
    handle.events().on("agentfootprint.stream.token", move |_| cancel.cancel()).unwrap().keep();
    let report = handle.finish().await;
    assert_eq!(report.error().unwrap().name(), "Cancelled");
    assert_eq!(heard.count("stream.llm_end"), 0);
    assert_eq!(state(&report, "llmLatestContent"), Some(json!("")));
}

/// Proves AGT-27, AGT-100: the first call's failure has no turn to go back to; a later one has.
#[tokio::test]
async fn a_failed_call_is_reported_with_what_was_finished() {
    let failing = |fails_at: usize| {
        Script::by(move |at, _| match at {
            _ if at == fails_at => Err(LlmError::new(LlmErrorKind::Transient, "script", "down")),
            0 => Ok(look("c1")),
            _ => Ok(say("done")),
        })
    };
    let first = agent(&failing(0)).tool(looking("seen")).build().unwrap();
    let (report, _) = run(&first, "go").await;
    assert!(report.error().unwrap().checkpoint().is_none());
    let later = agent(&failing(1)).tool(looking("seen")).build().unwrap();
    let (report, heard) = run(&later, "go").await;
    let error = report.error().unwrap();
    assert!(error.is_resumable());
    let checkpoint = error.checkpoint().unwrap();
    assert_eq!(checkpoint.last_completed_iteration, 1);
    assert_eq!(checkpoint.failure_point.as_ref().unwrap().stage.as_deref(), Some("call-llm"));
    assert_eq!(heard.count("error.fatal"), 1);
}

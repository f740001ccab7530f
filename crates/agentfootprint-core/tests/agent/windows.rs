//! What leaves a conversation, and what does not.

use std::sync::Arc;

use agentfootprint_core::agent::AgentReactMode;
use agentfootprint_core::llm::{LlmProvider, LlmResponse, Usage};
use agentfootprint_core::run::{RunError, RunInput, Runner as _};
use agentfootprint_core::window::{
    FoldRetention, FoldedSpanMatch, SlidingWindow, SummarizeOldest, TokenBudget, WindowError, WindowInput,
    WindowOutcome, WindowStrategy, folded_span_for,
};
use agentfootprint_record::message::Messages;
use footprint::value::Value;

use crate::support::*;

const LONG: &str = "a result that is long enough to be worth a notice when it leaves the conversation; it goes on and on, \
                    with words that say nothing at all, so that any sentence about its absence is shorter than it is itself, \
                    which is what the ladder of notices asks for before it leaves one in the place of what was dropped here";

fn used(mut response: LlmResponse, input: u64) -> LlmResponse {
    response.usage = Usage::new(input, 5);
    response
}

/// Looks `times` times, then answers.
fn looks(times: usize, tokens: u64) -> Script {
    Script::by(move |at, _| Ok(used(if at < times { look(&format!("c{at}")) } else { say("done") }, tokens)))
}

fn records(report: &agentfootprint_core::run::RunReport<String>) -> Vec<Value> {
    let records = state(report, "compactions").unwrap_or_default();
    records.as_array().map(|list| list.iter().cloned().collect()).unwrap_or_default()
}

fn reasons(record: &Value) -> Vec<String> {
    let refusals = record["refusals"].as_array().unwrap();
    refusals.iter().map(|one| one["reason"].as_str().unwrap().to_owned()).collect()
}

fn notices(messages: &[Value]) -> Vec<String> {
    let texts = messages.iter().filter_map(|message| message["content"].as_str());
    texts.filter(|text| text.starts_with("[dropped history")).map(str::to_owned).collect()
}

/// Proves LLM-148, LLM-149, LLM-155, LLM-163, LLM-165, LLM-167, LLM-168: a long run keeps the request and the newest
/// turns, and every visit that engaged is on record.
#[tokio::test]
async fn a_long_run_keeps_the_request_and_the_newest_turns() {
    let script = looks(30, 50);
    let agent = agent(&script)
        .tool(looking(LONG))
        .max_iterations(40)
        .keep_last_tool_results(0)
        .window(SlidingWindow::keep(2));
    let (report, heard) = run(&agent.build().unwrap(), "the question").await;
    assert_eq!(report.answer().unwrap(), "done");
    let last = script.request(30);
    let sent: Vec<Value> = last.messages().to_value().as_array().unwrap().iter().cloned().collect();
    assert_eq!(sent[0]["content"], json!("the question"));
    assert!(sent.len() <= 7, "{} messages", sent.len());
    assert_eq!(notices(&sent).len(), 1);
    assert!(notices(&sent)[0].contains("look") && notices(&sent)[0].contains("never dropped"));
    assert!(is_valid(&history(&report)));
    let records = records(&report);
    assert_eq!(records[0]["removedMessageCount"], json!(0));
    assert_eq!(reasons(&records[0])[0], "current-request");
    let busy = records.last().unwrap();
    assert_eq!((&busy["strategy"], &busy["keepRecentTurns"]), (&json!("sliding-window"), &json!(2)));
    assert_eq!(busy["droppedObservations"], json!(["look"]));
    assert!(busy["windowCharsAfter"].as_u64() < busy["windowCharsBefore"].as_u64());
    let removed: u64 = records.iter().filter_map(|one| one["removedMessageCount"].as_u64()).sum();
    assert_eq!(heard.count("context.evicted") as u64, removed);
    assert_eq!(heard.count("context.budget_pressure"), 0);
    let structure = agentfootprint_core::run::ChartRunner::spec(&agent_with_window()).structure().to_json();
    assert!(structure.contains("\"loopTarget\":\"compact\""), "{structure}");
}

fn agent_with_window() -> agentfootprint_core::agent::Agent {
    agent(&looks(0, 1)).tool(looking("x")).window(SlidingWindow::keep(2)).build().unwrap()
}

/// Proves LLM-147: without a window there is no stage, no key, and the requests are those of an agent that never heard of one.
#[tokio::test]
async fn without_a_window_nothing_changes() {
    let (with, without) = (looks(3, 50), looks(3, 50));
    let huge = agent(&with).tool(looking("seen")).window(SlidingWindow::keep(100)).build().unwrap();
    let none = agent(&without).tool(looking("seen")).build().unwrap();
    let (windowed, _) = run(&huge, "go").await;
    let (plain, _) = run(&none, "go").await;
    for at in 0..4 {
        assert_eq!(with.request(at).messages().to_value(), without.request(at).messages().to_value());
    }
    assert!(state(&plain, "compactions").is_none() && state(&windowed, "compactions").is_none());
}

/// Proves LLM-150, LLM-151, LLM-166: only a measured prompt above the threshold engages, and the pressure is said.
#[tokio::test]
async fn a_token_budget_engages_on_what_was_measured() {
    let calm = looks(4, 100);
    let quiet = agent(&calm)
        .tool(looking(LONG))
        .window(TokenBudget::tokens(100).keep_recent_turns(1))
        .build()
        .unwrap();
    let (report, heard) = run(&quiet, "go").await;
    assert!(records(&report).is_empty());
    assert_eq!(heard.count("context.budget_pressure"), 0);

    let over = looks(4, 140);
    let tight = agent(&over)
        .tool(looking(LONG))
        .keep_last_tool_results(0)
        .window(TokenBudget::tokens(100).keep_recent_turns(1))
        .build()
        .unwrap();
    let (report, heard) = run(&tight, "go").await;
    let pressure = heard.of("context.budget_pressure");
    assert_eq!(pressure.len(), records(&report).len());
    let last = pressure.last().unwrap();
    assert_eq!(
        (&last["overflowBy"], &last["cap"], &last["projected"]),
        (&json!(40), &json!(100), &json!(140))
    );
    assert_eq!((&last["planAction"], &last["unit"]), (&json!("evict"), &json!("tokens")));
    let record = records(&report).pop().unwrap();
    assert_eq!((&record["measuredTokens"], &record["overBudget"]), (&json!(140), &json!(true)));
}

/// Proves LLM-166: a provider that reports nothing cannot be windowed by tokens; the error names it and the way out.
#[tokio::test]
async fn a_window_that_cannot_be_measured_ends_the_turn() {
    let script = Script::by(|at, _| {
        let mut response = look(&format!("c{at}"));
        response.usage = Usage::new(0, 0);
        Ok(response)
    });
    let agent = agent(&script).tool(looking("x")).window(TokenBudget::tokens(10)).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    let error = report.error().unwrap();
    assert!(matches!(error, RunError::CompactionUnmeasurable { .. }), "{error:?}");
    assert_eq!(error.code(), Some("ERR_COMPACTION_UNMEASURABLE"));
    assert!(
        error.to_string().contains("counted, not guessed") && error.to_string().contains("sliding window")
    );
    assert!(error.is_terminal());
}

/// Proves LLM-159, LLM-160, LLM-162: the newest result of each tool stays; pins that block twice stand down once.
#[tokio::test]
async fn the_newest_result_of_a_tool_is_pinned() {
    let script = Script::by(|at, _| {
        Ok(used(
            if at == 0 {
                calls(&[("first", "look", json!({}))])
            } else if at < 8 {
                calls(&[(&format!("n{at}"), "glance", json!({}))])
            } else {
                say("done")
            },
            50,
        ))
    });
    let glance = agentfootprint_core::tools::Tool::builder("glance")
        .handler(|_: Value, _| async { LONG })
        .build()
        .unwrap();
    let agent = agent(&script)
        .tool(looking(LONG))
        .tool(glance)
        .repeated_call_nudge(false)
        .keep_last_tool_results(2)
        .window(SlidingWindow::keep(2))
        .build()
        .unwrap();
    let (report, _) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "done");
    let held = records(&report).iter().any(|record| {
        record["observations"]["pinned"]
            .as_array()
            .is_some_and(|pins| pins.iter().any(|pin| pin["toolName"] == json!("look")))
    });
    assert!(held, "{:?}", records(&report));
    for (at, record) in records(&report).iter().enumerate().skip(2) {
        let before: Vec<_> = records(&report)[at - 2..at].to_vec();
        let blocked = before.iter().all(|record| {
            record["removedMessageCount"] == json!(0)
                && reasons(record).contains(&"last-tool-result".to_owned())
        });
        assert_eq!(record["observations"]["standDown"] == json!(true), blocked, "record {at}");
    }
}

/// Proves LLM-169, LLM-170, LLM-172, LLM-173, LLM-174, LLM-178: the oldest turns become a summary; the originals travel with the
/// conversation, through JSON.
#[tokio::test]
async fn the_oldest_turns_become_a_summary() {
    let summarizer = Script::by(|_, _| Ok(used(say("Two things were seen."), 25)));
    let script = looks(3, 120);
    let agent = agent(&script)
        .tool(looking(&LONG.repeat(3)))
        .keep_last_tool_results(0)
        .compaction(SummarizeOldest::new(50, summarizer.clone(), "small").keep_recent_turns(1))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "done");
    let asked = summarizer.request(0);
    assert_eq!(&*asked.model, "small");
    assert!(asked.tools.is_empty());
    let text = asked.last_user_text().unwrap().to_owned();
    assert!(text.contains("look returned") && text.starts_with("<<<"), "{text}");
    let summary =
        history(&report).into_iter().find(|message| message["frame"] == json!("compaction-summary")).unwrap();
    let content = summary["content"].as_str().unwrap();
    assert!(content.starts_with("[compacted history") && content.contains("summary by small"), "{content}");
    assert!(content.ends_with("\n\nTwo things were seen."));
    let actions: Vec<Value> =
        heard.of("context.budget_pressure").iter().map(|one| one["planAction"].clone()).collect();
    assert!(actions.contains(&json!("summarize")));

    let checkpoint = report.record.checkpoint().unwrap().to_json();
    let restored = agentfootprint_core::run::AgentRunCheckpoint::from_json(&checkpoint).unwrap();
    let folded = restored.folded.as_ref().and_then(Value::as_array).cloned().unwrap();
    let messages: Messages = Messages::from(restored.history.clone());
    let mut found = messages
        .iter()
        .map(|message| folded_span_for(&folded, message))
        .filter(|found| *found != FoldedSpanMatch::None);
    assert!(
        matches!(found.next_back(), Some(FoldedSpanMatch::Kept { messages, .. }) if !messages.is_empty())
    );
    let next = agent.run(RunInput::new("again").continue_from(restored)).await;
    assert!(next.record.state().get("foldedSpans").is_some());
}

/// Proves LLM-170: a summary that is not smaller is paid for once and not asked for again; a summarizer that fails changes nothing.
#[tokio::test]
async fn a_summary_that_does_not_help_is_refused() {
    let wordy = Script::by(|_, _| Ok(used(say(&"words ".repeat(2000)), 25)));
    let script = looks(3, 120);
    let compacting = agent(&script)
        .tool(looking(LONG))
        .keep_last_tool_results(0)
        .compaction(
            SummarizeOldest::new(50, wordy.clone(), "small")
                .keep_recent_turns(2)
                .retain(FoldRetention::Discard),
        )
        .build()
        .unwrap();
    let (report, _) = run(&compacting, "go").await;
    let refused: Vec<_> = records(&report)
        .into_iter()
        .filter(|record| reasons(record).contains(&"replacement-not-smaller".to_owned()))
        .collect();
    assert_eq!(reasons(&refused[0])[0], "replacement-not-smaller");
    assert!(state(&report, "foldedSpans").is_none());
    let skipped = refused.iter().filter(|record| record["summarizerSkipped"] == json!(true)).count();
    assert_eq!(wordy.calls() + skipped, refused.len());

    let broken = Script::by(|_, _| Err(agentfootprint_core::llm::LlmError::foreign("Down", "no service")));
    let script = looks(3, 120);
    let compacting = agent(&script)
        .tool(looking(LONG))
        .keep_last_tool_results(0)
        .compaction(SummarizeOldest::new(50, broken, "small").keep_recent_turns(1))
        .build()
        .unwrap();
    let (report, _) = run(&compacting, "go").await;
    assert_eq!(report.answer().unwrap(), "done");
    assert!(records(&report).iter().any(|record| reasons(record)[0] == "summarizer-failed"));
    assert_eq!(history(&report).len(), 1 + 2 * 3);
}

struct Nameless;

#[async_trait::async_trait]
impl WindowStrategy for Nameless {
    fn name(&self) -> &str {
        " "
    }

    async fn plan(&self, _: &WindowInput<'_>) -> Result<Option<WindowOutcome>, WindowError> {
        Ok(None)
    }
}

/// Proves LLM-147, LLM-169, LLM-177: what a build refuses, each with the method and the way out.
#[test]
fn a_build_refuses_windows_that_cannot_work() {
    let provider: Arc<dyn LlmProvider> = Arc::new(Script::new([]));
    let same = SummarizeOldest::new(10, Arc::clone(&provider), "m");
    let refused = agentfootprint_core::agent::Agent::builder(provider, "m")
        .window(SlidingWindow::keep(0))
        .window(Nameless)
        .compaction(same)
        .build()
        .unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("the agent already has the window `sliding-window`, declared with `window`"),
        "{text}"
    );
    assert!(
        text.contains("it keeps 0 turns")
            && text.contains("has no name")
            && text.contains("own provider instance"),
        "{text}"
    );
    let budget = agent(&Script::new([])).window(TokenBudget::tokens(0)).build().unwrap_err().to_string();
    assert!(budget.contains("threshold is 0 tokens"), "{budget}");
}

/// Proves LLM-148: in the grouped chart the window stays outside the mounted model call, and the call sees its result.
#[tokio::test]
async fn the_grouped_chart_has_the_same_window() {
    let script = looks(4, 50);
    let agent = agent(&script)
        .tool(looking(LONG))
        .react_mode(AgentReactMode::DynamicGrouped)
        .keep_last_tool_results(0)
        .window(SlidingWindow::keep(1))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "done");
    assert!(heard.count("context.evicted") > 0);
    assert!(script.request(4).messages().len() <= 5);
}

/// A strategy of one's own gets the same guards.
struct Everything;

#[async_trait::async_trait]
impl WindowStrategy for Everything {
    fn name(&self) -> &str {
        "everything"
    }

    async fn plan(&self, input: &WindowInput<'_>) -> Result<Option<WindowOutcome>, WindowError> {
        Ok(Some(input.plan_removal(0).drop().field("mine", true)))
    }
}

/// Proves LLM-156, LLM-157, LLM-164, LLM-176, LLM-182: a custom strategy cannot drop the request, a pinned result, or half of a call.
#[tokio::test]
async fn a_custom_strategy_cannot_get_around_the_guards() {
    let script = looks(4, 50);
    let agent = agent(&script).tool(looking(LONG)).window(Everything).build().unwrap();
    let (report, _) = run(&agent, "the question").await;
    assert_eq!(report.answer().unwrap(), "done");
    let sent = script.request(4).messages().to_value();
    let sent: Vec<Value> = sent.as_array().unwrap().iter().cloned().collect();
    assert_eq!(sent[0]["content"], json!("the question"));
    assert!(is_valid(&history(&report)), "{:?}", history(&report));
    let record = records(&report).pop().unwrap();
    assert_eq!((&record["strategy"], &record["mine"]), (&json!("everything"), &json!(true)));
    assert!(reasons(&record).contains(&"last-tool-result".to_owned()));
}

/// Proves LLM-179: two runs of one agent at the same time share neither readings nor origins.
#[tokio::test]
async fn two_runs_do_not_share_a_window() {
    let script = Script::by(|_, request| {
        let looked = request.messages().len();
        Ok(used(if looked < 9 { look(&format!("c{looked}")) } else { say("done") }, 10))
    });
    let agent = agent(&script)
        .tool(looking(LONG))
        .keep_last_tool_results(0)
        .window(SlidingWindow::keep(5))
        .build()
        .unwrap();
    let ((one, _), (other, _)) = tokio::join!(run(&agent, "one"), run(&agent, "other"));
    assert_eq!(records(&one), records(&other));
    assert_eq!(one.answer().unwrap(), other.answer().unwrap());
}

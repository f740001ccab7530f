use agentfootprint_record::events::payload::{
    AgentTurnEnd, AgentTurnStart, ErrorFatal, LlmUsage, PauseRequest, PauseResume, StreamLlmEnd,
    StreamLlmStart, StreamToken, StreamToolEnd, StreamToolProgress, StreamToolStart,
};
use agentfootprint_record::events::{AgentEvent, Event, EventMeta, Moment, RunFacts};
use footprint::value;
use footprint::value::Value;

use super::{LiveState, Status, StatusFold, Templates, default_templates, progress_message_of};

fn at(run: &str, step: &str, kind: impl Into<AgentEvent>) -> Event {
    let moment = Moment { wall_clock_ms: 7, run_offset_ms: 0 };
    Event::new(kind, EventMeta::build(Some(step.into()), moment, &RunFacts::new(run, ["Agent:a"])))
}

fn tool(id: &str) -> StreamToolStart {
    StreamToolStart::new(format!("tool-{id}"), id, value!({}))
}

fn busy(live: &mut LiveState, run: &str) {
    live.hear(&at(run, "seed#0", AgentTurnStart::new(3, "q")));
    live.hear(&at(run, "call-llm#1", StreamLlmStart::new(1, "mock", "m", 0, 1, 0)));
    live.hear(&at(run, "call-llm#1", StreamToken::new(1, 0, "He")));
    live.hear(&at(run, "call-llm#1", StreamToken::new(1, 1, "y")));
    live.hear(&at(run, "tool-calls#2", tool("t1")));
    live.hear(&at(run, "tool-calls#2", tool("t2")));
}

/// Proves REC-50.
#[test]
fn the_state_says_what_is_under_way_in_which_run() {
    let mut live = LiveState::default();
    busy(&mut live, "run-1-1");
    live.hear(&at("run-2-1", "call-llm#1", StreamLlmStart::new(4, "mock", "m", 0, 1, 0)));
    assert!(
        live.is_llm_in_flight("run-1-1") && live.is_tool_executing("run-1-1") && live.is_in_turn("run-1-1")
    );
    assert_eq!(live.current_turn_index("run-1-1"), Some(3));
    assert_eq!((live.partial_text("run-1-1", "call-llm#1"), live.partial_for_run("run-1-1")), ("Hey", "Hey"));
    let call = live.run("run-1-1").unwrap().llm("call-llm#1").unwrap().clone();
    assert_eq!((call.tokens, call.iteration, &*call.model, call.started_at_ms), (2, 1, "m", 7));
    live.hear(&at("run-1-1", "tool-calls#2", StreamToolEnd::new("t1", 2)));
    let tools: Vec<&str> = live.executing_tools("run-1-1").map(|tool| &*tool.tool_name).collect();
    assert_eq!(tools, ["tool-t2"]);
    assert_eq!((live.partial_for_run("run-2-1"), live.is_in_turn("run-2-1")), ("", false));
    live.hear(&at("run-1-1", "call-llm#1", StreamLlmEnd::new(1, "Hey", 0, LlmUsage::new(1, 1), "stop", 1)));
    assert!(!live.is_llm_in_flight("run-1-1") && live.is_llm_in_flight("run-2-1"));
}

/// Proves REC-51.
#[test]
fn every_end_of_a_run_clears_all_of_it_and_nothing_else() {
    let ends: [(&str, AgentEvent); 3] = [
        ("final/prepare-final#9", AgentTurnEnd::new(3, "x", 1, 1, 1, 1).into()),
        ("call-llm#1", ErrorFatal::new("boom", "call-llm", "run").into()),
        ("tool-calls#paused", PauseRequest::new("ask", Value::Null).into()),
    ];
    for (step, end) in ends {
        let mut live = LiveState::default();
        busy(&mut live, "run-1-1");
        busy(&mut live, "run-2-1");
        live.hear(&at("run-1-1", step, end));
        assert_eq!(live.run("run-1-1"), None, "{step}");
        assert!(live.is_tool_executing("run-2-1"));
    }
    let mut live = LiveState::default();
    busy(&mut live, "run-1-1");
    live.run_over("run-1-1"); // cancelled or dropped
    assert_eq!(live, LiveState::default());
    // The turn of one branch ends: the other branch goes on.
    live.hear(&at("run-1-1", "a/tool-calls#2", tool("t1")));
    live.hear(&at("run-1-1", "ab/tool-calls#3", tool("t2")));
    live.hear(&at("run-1-1", "a/final/prepare-final#4", AgentTurnEnd::new(0, "x", 1, 1, 1, 1)));
    assert_eq!(live.executing_tools("run-1-1").map(|tool| &*tool.tool_call_id).collect::<Vec<_>>(), ["t2"]);
}

/// Proves REC-52.
#[test]
fn the_line_follows_a_streaming_run_with_two_parallel_tools() {
    let mut fold = StatusFold::default();
    let texts = default_templates();
    let mut lines: Vec<String> = Vec::new();
    let mut hear = |step: &str, kind: AgentEvent| {
        fold.hear(&at("run-1-1", step, kind));
        let line = fold.status().line(&texts).unwrap_or_default();
        if lines.last() != Some(&line) {
            lines.push(line);
        }
        fold.status()
    };
    let progress = |id: &str, payload: Value| StreamToolProgress::new(id, "x", 1, payload).into();
    hear("seed#0", AgentTurnStart::new(0, "q").into());
    hear("call-llm#1", StreamLlmStart::new(1, "mock", "m", 0, 1, 0).into());
    hear("call-llm#1", StreamToken::new(1, 0, "Let me look.").into());
    hear("call-llm#1", StreamLlmEnd::new(1, "Let me look.", 2, LlmUsage::new(1, 1), "tool_use", 1).into());
    hear("tool-calls#2", tool("t1").into());
    hear("tool-calls#2", tool("t2").into());
    hear("tool-calls#2", progress("t1", value!({ "message": "half way" })));
    hear("tool-calls#2", progress("", value!({ "message": "whose?" }))); // two at work: nobody's
    hear("tool-calls#2", StreamToolEnd::new("t1", 1).into());
    hear("tool-calls#2", progress("", value!([1, 2]))); // one at work: its own
    hear("tool-calls#2", StreamToolEnd::new("unknown", 1).into());
    hear("tool-calls#2", StreamToolEnd::new("t2", 1).into());
    let asked =
        hear("tool-calls#paused", PauseRequest::new("approval", value!({ "question": "May I?" })).into());
    assert_eq!(asked.word(), "paused");
    hear("tool-calls#resumed", PauseResume::new(Value::from(true), 5).into());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(
        lines,
        [
            "",
            "Thinking…",
            "Let me look.",
            "",
            "Using tool-t1…",
            "Using tool-t2…",
            "half way",
            "Using tool-t2…",
            "tool-t2 is at work (1)…",
            "",
            "May I?",
            "",
        ]
    );
}

/// Proves REC-53.
#[test]
fn the_ladder_ends_at_the_oldest_key_and_renders_once() {
    let with = |keys: &[(&str, &str)]| -> Templates {
        keys.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
    };
    let status = |message: Option<&str>, reports| Status::Tool {
        name: "find".into(),
        message: message.map(str::to_owned),
        reports,
    };
    let ladder = [
        ("tool.find.progress", "1 {{progressMessage}}"),
        ("tool.progress", "2 {{progressMessage}}"),
        ("tool.find", "3 {{toolName}}"),
        ("tool", "4 {{toolName}}"),
    ];
    let said = ["1 {{toolName}}", "2 {{toolName}}", "3 find", "4 find"];
    for (from, expected) in said.iter().enumerate() {
        let texts = with(ladder.get(from..).unwrap());
        assert_eq!(status(Some("{{toolName}}"), 1).line(&texts).as_deref(), Some(*expected)); // never rendered twice
    }
    let generic = [
        ("tool.find.progress.generic", "1 {{progressCount}}"),
        ("tool.progress.generic", "2 {{toolName}}"),
        ("tool", "4"),
    ];
    for (from, expected) in ["1 3", "2 find", "4"].iter().enumerate() {
        let texts = with(generic.get(from..).unwrap());
        assert_eq!(status(None, 3).line(&texts).as_deref(), Some(*expected));
    }
    // A map from before there was progress never leaves the line blank.
    let old = with(&[
        ("idle", "…"),
        ("streaming", "{{partial}}"),
        ("tool", "Using {{toolName}} {{nothing}}."),
        ("paused", "?"),
    ]);
    assert_eq!(status(Some("x"), 1).line(&old).as_deref(), Some("Using find ."));
    assert_eq!(status(None, 0).line(&with(&[("idle", "x")])), None);
    assert_eq!(Status::None.line(&old), None);
}

/// Proves REC-54.
#[test]
fn a_report_shows_its_message_and_never_its_payload() {
    let long = "é".repeat(150);
    let shown = progress_message_of(&value!({ "message": long })).unwrap();
    assert_eq!(shown, format!("{}… (30 more characters)", "é".repeat(120)));
    assert_eq!(progress_message_of(&value!({ "message": "x".repeat(120) })).unwrap().len(), 120);
    for payload in [
        value!({ "message": "  " }),
        value!({ "message": 3 }),
        value!({ "note": { "message": "inner" } }),
        value!("message"),
        value!(["message"]),
        Value::Null,
    ] {
        assert_eq!(progress_message_of(&payload), None, "{payload}");
    }
}

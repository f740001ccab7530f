use agentfootprint_record::recording::RecordedEvent;
use footprint::value;
use footprint::value::Value;

use super::{BrainMode, Cost, ReplyType, Step, ThinkingTrace, headline};

fn said(name: &str, step: &str, payload: Value) -> RecordedEvent {
    RecordedEvent::from(value!({
        "type": format!("agentfootprint.{name}"), "payload": payload,
        "meta": { "runtimeStageId": step, "wallClockMs": 5, "runOffsetMs": 0, "compositionPath": ["Agent:desk"],
                  "subflowPath": [], "runId": "run-1-1" },
    }))
}

fn run() -> Vec<RecordedEvent> {
    let start = |iteration: u64, step: &str| {
        said(
            "stream.llm_start",
            step,
            value!({ "iteration": iteration, "provider": "p", "model": "m", "systemPromptChars": 1,
            "messagesCount": 1, "toolsCount": 1, "tools": [{ "name": "a", "description": "does a" }] }),
        )
    };
    let end = |iteration: u64, step: &str, calls: u64, content: &str| {
        said(
            "stream.llm_end",
            step,
            value!({ "iteration": iteration, "content": content, "toolCallCount": calls,
            "usage": { "input": 10, "output": 5, "cacheRead": 4 }, "stopReason": "stop", "durationMs": 9 }),
        )
    };
    let tool = |id: &str, name: &str, args: Value| {
        said(
            "stream.tool_start",
            "tool-calls#2",
            value!({ "toolCallId": id, "toolName": name, "args": args }),
        )
    };
    let done = |id: &str, result: Value| {
        said(
            "stream.tool_end",
            "tool-calls#2",
            value!({ "toolCallId": id, "result": result, "durationMs": 3 }),
        )
    };
    vec![
        said("agent.turn_start", "seed#0", value!({ "turnIndex": 0, "userPrompt": "Where is it?" })),
        start(1, "call-llm#1"),
        said(
            "stream.thinking_delta",
            "call-llm#1",
            value!({ "iteration": 1, "tokenIndex": 0, "content": "hm, two " }),
        ),
        said(
            "stream.thinking_delta",
            "call-llm#1",
            value!({ "iteration": 1, "tokenIndex": 1, "content": "places" }),
        ),
        end(1, "call-llm#1", 2, "Let me look."),
        tool("t1", "a", value!({ "n": 1 })),
        tool("t2", "read_skill", value!({ "id": "shipping" })),
        done("t2", Value::from("Do this.")),
        done("t1", Value::from("here")),
        start(2, "call-llm#3"),
        end(2, "call-llm#3", 0, "It is here.\nReally."),
        said(
            "agent.turn_end",
            "final/prepare-final#4",
            value!({ "turnIndex": 0, "finalContent": "It is here.\nReally.",
            "totalInputTokens": 20, "totalOutputTokens": 10, "iterationCount": 2, "durationMs": 30 }),
        ),
    ]
}

/// Proves REC-62, REC-63.
#[test]
fn a_call_is_told_once_and_results_belong_to_what_was_asked() {
    let trace = ThinkingTrace::of(&run(), "user");
    assert_eq!(
        (trace.task.as_str(), trace.agent.as_str(), trace.model.as_str()),
        ("Where is it?", "desk", "m")
    );
    let [
        Step::Prompt { .. },
        Step::Ask { cost, thinking, tools_seen, brain, .. },
        Step::Ask { cost: other, thinking: none, tools_seen: unseen, .. },
        Step::Return { tool: second, reply_type, brain_mode, skill, output, .. },
        Step::Return { tool: first, tool_name, reply_type: data, brain_mode: reason, output: found, .. },
        Step::Answer { answer, to, error, cost: last, .. },
    ] = trace.steps.as_slice()
    else {
        panic!("{:?}", trace.steps)
    };
    let full = Cost { ms: 9, tokens: 15, tokens_in: Some(10), tokens_out: Some(5), tokens_cached: Some(4) };
    assert_eq!((*cost, *other, *last), (full, Cost::default(), full));
    assert_eq!((thinking.as_deref(), none, brain.as_str()), (Some("hm, two places"), &None, "Let me look."));
    assert_eq!((tools_seen.as_ref().unwrap()[0].name.as_str(), unseen), ("a", &None));
    assert_eq!(
        (second.as_str(), *reply_type, *brain_mode, skill.as_deref()),
        ("t2", ReplyType::Instruction, Some(BrainMode::Act), Some("shipping"))
    );
    assert_eq!(
        (first.as_str(), tool_name.as_deref(), *data, *reason),
        ("t1", Some("a"), ReplyType::Data, Some(BrainMode::Reason))
    );
    assert_eq!((output, found), (&Value::from("Do this."), &Value::from("here")));
    assert_eq!((answer.headline.as_str(), to.as_str(), *error), ("It is here.", "user", false));
    let json = serde_json::to_value(&trace).unwrap();
    assert_eq!(json["steps"][3]["replyType"], "instruction");
    assert_eq!(json["steps"][1]["cost"]["tokensCached"], 4);
    assert!(json["steps"][2].get("thinking").is_none() && json["steps"][3].get("error").is_none());
}

#[test]
fn a_failed_run_answers_with_its_failure_and_a_headline_is_cut() {
    let fatal = said(
        "error.fatal",
        "call-llm#1",
        value!({ "error": "the model is away", "stage": "call-llm", "scope": "run" }),
    );
    let trace = ThinkingTrace::of(&[fatal], "user");
    assert!(
        matches!(&trace.steps[0], Step::Answer { error: true, answer, .. } if answer.text == "the model is away")
    );
    assert_eq!(headline(&"x".repeat(140)).chars().count(), 140);
    let cut = headline(&"é".repeat(141));
    assert_eq!((cut.chars().count(), cut.ends_with('…')), (140, true));
    assert_eq!(headline("  one\n\ntwo"), "one");
}

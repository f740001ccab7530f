use footprint::value;
use footprint::value::Value;

use super::{EdgeKind, NodeKind, NodeTokens, StepGraph};
use crate::boundary::Boundaries;

fn graph(rows: &Value) -> StepGraph {
    StepGraph::of(&Boundaries::from_rows(rows))
}

/// Proves REC-48.
#[test]
fn results_that_arrive_reversed_belong_to_their_own_calls() {
    let graph = graph(&value!([
        { "type": "run.entry", "runtimeStageId": "__root__#0", "ts": 100 },
        { "type": "llm.start", "runtimeStageId": "call-llm#1", "ts": 101, "model": "m", "actorArrow": "user→llm" },
        { "type": "llm.end", "runtimeStageId": "call-llm#1", "ts": 105, "toolCallCount": 2, "content": "let me look",
          "usage": { "input": 3, "output": 4 } },
        { "type": "tool.start", "runtimeStageId": "tool-calls#2", "ts": 106, "toolName": "a", "toolCallId": "t1", "args": { "n": 1 } },
        { "type": "tool.start", "runtimeStageId": "tool-calls#2", "ts": 106, "toolName": "b", "toolCallId": "t2" },
        { "type": "tool.end", "runtimeStageId": "tool-calls#2", "ts": 107, "toolCallId": "t2", "result": "second" },
        { "type": "tool.end", "runtimeStageId": "tool-calls#2", "ts": 120, "toolCallId": "t1", "result": "first" },
        { "type": "llm.start", "runtimeStageId": "call-llm#3", "ts": 121, "model": "m", "actorArrow": "tool→llm" },
    ]));
    let first = graph.node("step-tool-start-tool-calls#2-t1").unwrap();
    let second = graph.node("step-tool-start-tool-calls#2-t2").unwrap();
    assert_eq!((first.tool_result.clone(), first.end_offset_ms), (Some(Value::from("first")), Some(20)));
    assert_eq!((second.tool_result.clone(), second.end_offset_ms), (Some(Value::from("second")), Some(7)));
    assert_eq!(first.tool_args, Some(value!({ "n": 1 })));
    let asked = graph.node("step-llm-start-call-llm#1-1").unwrap();
    assert_eq!(asked.tokens, Some(NodeTokens { input: 3, output: 4 }));
    assert_eq!(asked.assistant_text.as_deref(), Some("let me look"));
    let again = graph.node("step-llm-start-call-llm#3-2").unwrap();
    assert_eq!((again.kind, again.end_offset_ms), (NodeKind::ToolToLlm, None)); // the run stopped here
    // Both tools follow the first call, and the second call follows both.
    let edges: Vec<(&str, &str)> =
        graph.edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str())).collect();
    assert_eq!(
        edges,
        [
            (asked.id.as_str(), first.id.as_str()),
            (asked.id.as_str(), second.id.as_str()),
            (first.id.as_str(), again.id.as_str()),
            (second.id.as_str(), again.id.as_str()),
        ]
    );
}

/// Proves REC-47.
#[test]
fn pieces_of_context_wait_for_the_next_call_of_their_own_agent() {
    let graph = graph(&value!([
        { "type": "run.entry", "runtimeStageId": "__root__#0", "ts": 0, "subflowPath": ["__root__"] },
        { "type": "fork.branch", "runtimeStageId": "seed#0", "subflowPath": ["__root__"], "parentSubflowId": "seed", "childName": "x" },
        { "type": "fork.branch", "runtimeStageId": "seed#0", "subflowPath": ["__root__"], "parentSubflowId": "seed", "childName": "y" },
        { "type": "subflow.entry", "runtimeStageId": "x#1", "subflowPath": ["__root__", "x"], "subflowId": "x",
          "subflowName": "X", "primitiveKind": "Agent", "payload": { "message": "q" } },
        { "type": "subflow.entry", "runtimeStageId": "y#2", "subflowPath": ["__root__", "y"], "subflowId": "y",
          "subflowName": "Y", "primitiveKind": "Wizard" },
        { "type": "subflow.entry", "runtimeStageId": "x/sf-system-prompt#3", "subflowPath": ["__root__", "x", "sf-system-prompt"],
          "subflowId": "x/sf-system-prompt", "slotKind": "system-prompt", "payload": 1 },
        { "type": "context.injected", "runtimeStageId": "x/sf-system-prompt/compose#4",
          "subflowPath": ["__root__", "x", "sf-system-prompt"], "slot": "system-prompt", "source": "base" },
        { "type": "subflow.exit", "runtimeStageId": "x/sf-system-prompt#3", "subflowPath": ["__root__", "x", "sf-system-prompt"],
          "subflowId": "x/sf-system-prompt", "slotKind": "system-prompt", "payload": 2 },
        { "type": "llm.start", "runtimeStageId": "y/call-llm#5", "subflowPath": ["__root__", "y"], "model": "m" },
        { "type": "llm.start", "runtimeStageId": "x/call-llm#6", "subflowPath": ["__root__", "x"], "model": "m" },
        { "type": "subflow.exit", "runtimeStageId": "x#1", "subflowPath": ["__root__", "x"], "subflowId": "x", "ts": 9 },
    ]));
    let own = graph.node("step-llm-start-x/call-llm#6-1").unwrap();
    let other = graph.node("step-llm-start-y/call-llm#5-1").unwrap();
    assert_eq!((own.injections.len(), other.injections.len()), (1, 0));
    assert_eq!(own.slot_updated.as_deref(), Some("system-prompt"));
    let slot = own.slot_boundaries.clone().unwrap().system_prompt.unwrap();
    assert_eq!((slot.entry_payload, slot.exit_payload), (Some(Value::from(1)), Some(Value::from(2))));
    assert!(other.slot_boundaries.is_none());
    let (x, y) = (graph.node("subflow-x#1").unwrap(), graph.node("subflow-y#2").unwrap());
    assert!(x.is_agent_boundary && x.is_primitive_boundary);
    assert_eq!((x.primitive_kind.as_deref(), x.end_offset_ms), (Some("Agent"), Some(9)));
    assert_eq!((y.primitive_kind.as_deref(), y.is_primitive_boundary, y.end_offset_ms), (None, false, None));
    // Each branch follows its own node of the fork.
    let into: Vec<(&str, &str, EdgeKind)> =
        graph.edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str(), edge.kind)).collect();
    assert!(into.contains(&("fork-seed#0-x", "subflow-x#1", EdgeKind::Next)), "{into:?}");
    assert!(into.contains(&("fork-seed#0-y", "subflow-y#2", EdgeKind::Next)), "{into:?}");
}

/// A loop's edge says its pass, and the JSON has the recorded names.
#[test]
fn a_loop_goes_back_and_the_json_names_are_the_recorded_ones() {
    let graph = graph(&value!([
        { "type": "llm.start", "runtimeStageId": "call-llm#1", "subflowPath": ["__root__"], "model": "m" },
        { "type": "llm.end", "runtimeStageId": "call-llm#1", "subflowPath": ["__root__"], "toolCallCount": 0 },
        { "type": "loop.iteration", "runtimeStageId": "guard#2", "subflowPath": ["__root__"], "target": "body", "iteration": 2 },
        { "type": "decision.branch", "runtimeStageId": "route#3", "subflowPath": ["__root__"], "decider": "route", "chosen": "b" },
    ]));
    let back = graph.edges.last().unwrap();
    assert_eq!(
        (back.kind, back.iteration, back.to.as_str()),
        (EdgeKind::LoopIteration, Some(2), "decision-route#3-b")
    );
    let json = serde_json::to_value(&graph).unwrap();
    assert_eq!(json["nodes"][0]["kind"], "user->llm");
    assert_eq!(json["nodes"][0]["llmModel"], "m");
    assert_eq!(json["nodes"][0].get("toolName"), None);
    assert_eq!(json["edges"][1]["kind"], "loop-iteration");
}

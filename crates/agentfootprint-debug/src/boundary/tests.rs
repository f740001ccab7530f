use footprint::value;
use footprint::value::Value;

use super::{Boundaries, RangeKind, RowKind, Tokens};

/// Two parallel tools whose results arrive in reverse, inside an agent that is a member of a composition.
fn rows() -> Value {
    value!([
        { "type": "run.entry", "runtimeStageId": "__root__#0", "subflowPath": ["__root__"], "ts": 10, "commitIdxBefore": 0 },
        { "type": "composition.start", "runtimeStageId": "seed#0", "subflowPath": ["__root__"], "ts": 10,
          "commitIdxBefore": 0, "compositionId": "flow", "name": "Flow", "kind": "Sequence" },
        { "type": "subflow.entry", "runtimeStageId": "step-a#1", "subflowPath": ["__root__", "step-a"], "ts": 11,
          "commitIdxBefore": 1, "subflowId": "step-a", "subflowName": "A", "primitiveKind": "Agent" },
        { "type": "decision.branch", "runtimeStageId": "step-a/sf-cache/cache-gate#5", "subflowPath": ["__root__"],
          "ts": 12, "commitIdxBefore": 3, "decider": "cache-gate", "chosen": "no-markers" },
        { "type": "llm.start", "runtimeStageId": "step-a/call-llm#6", "subflowPath": ["__root__", "step-a"], "ts": 12,
          "commitIdxBefore": 4, "model": "m" },
        { "type": "llm.end", "runtimeStageId": "step-a/call-llm#6", "subflowPath": ["__root__", "step-a"], "ts": 20,
          "commitIdxBefore": 4, "toolCallCount": 2, "usage": { "input": 7, "output": 3 } },
        { "type": "tool.start", "runtimeStageId": "step-a/tool-calls#7", "subflowPath": ["__root__", "step-a"], "ts": 21,
          "commitIdxBefore": 5, "toolName": "x", "toolCallId": "t1" },
        { "type": "tool.start", "runtimeStageId": "step-a/tool-calls#7", "subflowPath": ["__root__", "step-a"], "ts": 21,
          "commitIdxBefore": 5, "toolName": "y", "toolCallId": "t2" },
        { "type": "tool.end", "runtimeStageId": "step-a/tool-calls#7", "subflowPath": ["__root__", "step-a"], "ts": 25,
          "commitIdxBefore": 5, "toolCallId": "t2" },
        { "type": "tool.end", "runtimeStageId": "step-a/tool-calls#7", "subflowPath": ["__root__", "step-a"], "ts": 30,
          "commitIdxBefore": 5, "toolCallId": "t1" },
        { "type": "loop.iteration", "runtimeStageId": "step-a/sf-route#8", "subflowPath": ["__root__", "step-a"],
          "ts": 31, "commitIdxBefore": 6, "target": "sf-injection-engine", "iteration": 1 },
        { "type": "subflow.exit", "runtimeStageId": "step-a#1", "subflowPath": ["__root__", "step-a"], "ts": 40,
          "commitIdxBefore": 8, "subflowId": "step-a", "subflowName": "A" },
        { "type": "newer.kind", "runtimeStageId": "x#9", "subflowPath": ["__root__"], "ts": 41, "commitIdxBefore": 9 },
        "no row",
    ])
}

/// Proves REC-43.
#[test]
fn rows_are_joined_into_ranges_and_counted() {
    let all = Boundaries::from_rows(&rows());
    assert_eq!(all.events().len(), 13); // the unknown kind is kept, what is no row is not
    assert_eq!(all.by_type(RowKind::ToolEnd).count(), 2);
    assert_eq!(all.by_type(RowKind::Other("newer.kind".to_owned())).count(), 1);
    let member = all.boundary("step-a#1").unwrap();
    assert_eq!((member.from, member.to, member.primitive.as_deref()), (1, Some(8), Some("Agent")));
    let totals = all.totals(member);
    assert_eq!(totals.tokens, Tokens { input: 7, output: 3 });
    assert_eq!((totals.llm_calls, totals.tool_calls, totals.iterations), (1, 2, 1));
    assert_eq!((totals.started_at_ms, totals.ended_at_ms, totals.duration_ms), (11, Some(40), Some(29)));
    // Results that arrive in reverse close their own calls.
    let ends = |id: &str| all.boundaries().iter().find(|range| range.id == id).unwrap().ended_at_ms;
    assert_eq!((ends("t1"), ends("t2")), (Some(30), Some(25)));
    // The run and its composition never closed: they stay open and are reported.
    let open: Vec<RangeKind> = all.open().map(|range| range.kind).collect();
    assert_eq!(open, [RangeKind::Run, RangeKind::Composition]);
    assert!(all.root().unwrap().is_open());
    let total = all.totals(all.root().unwrap());
    assert_eq!((total.llm_calls, total.ended_at_ms, total.duration_ms), (1, None, None));
    let around: Vec<&str> = all.enclosing(5).iter().map(|range| range.label.as_str()).collect();
    assert_eq!(around, ["run", "Flow", "A"]);
    let after: Vec<&str> = all.enclosing(8).iter().map(|range| range.label.as_str()).collect();
    assert_eq!(after, ["run", "Flow"]);
    assert_eq!(all.overlapping(0..1).count(), 2);
    assert_eq!(all.overlapping(2..3).count(), 3);
}

/// Proves REC-41, REC-42.
#[test]
fn machinery_is_hidden_and_a_misplaced_decision_is_put_where_its_step_says() {
    let all = Boundaries::from_rows(&rows());
    let decision = all.by_type(RowKind::Decision).next().unwrap();
    assert_eq!(decision.path, ["__root__", "step-a", "sf-cache"]);
    assert_eq!(decision.depth(), 2);
    let visible: Vec<&str> = all.visible_steps().map(|row| row.kind.word()).collect();
    assert!(!visible.contains(&"decision.branch") && !visible.contains(&"loop.iteration"), "{visible:?}");
    assert!(visible.contains(&"subflow.entry") && visible.contains(&"tool.start"));
    assert!(all.steps().all(|row| !row.kind.is_exit()));
    let slots = value!([
        { "type": "fork.branch", "runtimeStageId": "context#2", "parentSubflowId": "context", "childName": "sf-tools" },
        { "type": "fork.branch", "runtimeStageId": "panel#2", "parentSubflowId": "panel", "childName": "a" },
        { "type": "subflow.entry", "runtimeStageId": "x/thinking-claude#3", "subflowId": "x/thinking-claude" },
        { "type": "loop.iteration", "runtimeStageId": "guard#9", "target": "body", "iteration": 2 },
    ]);
    let all = Boundaries::from_rows(&slots);
    let visible: Vec<&str> = all.visible_steps().map(|row| row.runtime_stage_id.as_str()).collect();
    assert_eq!(visible, ["panel#2", "guard#9"]);
}

use agentfootprint_record::recording::RecordedEvent;
use footprint::value;
use footprint::value::Value;

use super::{Root, RunSteps, StepKind, Via};

fn said(name: &str, step: &str, payload: Value) -> RecordedEvent {
    RecordedEvent::from(value!({
        "type": format!("agentfootprint.{name}"), "payload": payload,
        "meta": { "runtimeStageId": step, "wallClockMs": 5, "runOffsetMs": 0, "compositionPath": [],
                  "subflowPath": [], "runId": "run-1-1" },
    }))
}

fn call(mount: &str) -> [RecordedEvent; 2] {
    let step = format!("{mount}/call-llm#1");
    [
        said("stream.llm_start", &step, value!({ "iteration": 1, "model": "m" })),
        said("stream.llm_end", &step, value!({ "iteration": 1, "content": "x", "toolCallCount": 0 })),
    ]
}

/// Proves REC-44.
#[test]
fn without_composition_events_the_members_say_what_the_root_is() {
    let [a0, a1] = call("step-a");
    let [b0, b1] = call("step-b");
    let one_by_one = [a0.clone(), a1.clone(), b0.clone(), b1.clone()];
    assert_eq!(RunSteps::of(&one_by_one).root, Root::Sequence);
    let side_by_side = RunSteps::of(&[a0.clone(), b0, a1.clone(), b1]);
    assert_eq!((side_by_side.root, side_by_side.labels()), (Root::Parallel, vec!["fork (2)"]));
    // One member: what it did is what happened; none: a leaf.
    let only = RunSteps::of(&[a0, a1]);
    assert_eq!((only.root, only.labels()), (Root::Leaf, vec!["user→llm", "llm→user"]));
    assert_eq!(only.path, ["step-a"]);
    let nothing = RunSteps::of(&[]);
    assert_eq!((nothing.root, nothing.steps.len()), (Root::Leaf, 0));
    // The first that fits: a fork before a route.
    let route = said("composition.route_decided", "route#2", value!({ "conditionalId": "c", "chosen": "a" }));
    let fork = said("composition.fork_start", "seed#0", value!({ "parentId": "p", "branches": [] }));
    assert_eq!(RunSteps::of(std::slice::from_ref(&route)).root, Root::Conditional);
    assert_eq!(RunSteps::of(&[route, fork]).root, Root::Parallel);
    // An agent's own route is no composition (REC-46).
    let routed = said("agent.route_decided", "sf-route#2", value!({ "chosen": "final" }));
    assert_eq!(RunSteps::of(&[routed]).root, Root::Leaf);
}

#[test]
fn parallel_tools_share_one_step_and_both_return() {
    let tool = |id: &str| {
        said("stream.tool_start", "tool-calls#2", value!({ "toolName": "t", "toolCallId": id, "args": {} }))
    };
    let steps = RunSteps::of(&[
        said("agent.turn_start", "seed#0", value!({ "turnIndex": 0, "userPrompt": "q" })),
        said("stream.llm_start", "call-llm#1", value!({ "iteration": 1 })),
        said("stream.llm_end", "call-llm#1", value!({ "iteration": 1, "toolCallCount": 2 })),
        tool("t1"),
        tool("t2"),
        said("stream.llm_start", "call-llm#3", value!({ "iteration": 2 })),
    ]);
    assert_eq!(steps.labels(), ["user→llm", "llm→tool", "tool→llm"]);
    let seqs: Vec<u64> = steps.steps.iter().map(|step| step.seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
    for step in &steps.steps[1..] {
        assert_eq!(step.kind, StepKind::React);
        let ids: Vec<&str> = step.transitions.iter().filter_map(|to| to.label.as_deref()).collect();
        assert_eq!(ids, ["t1", "t2"]);
        assert!(step.transitions.iter().all(|to| to.via == Via::ActorArrow));
    }
    assert_eq!(steps.steps[2].transitions[0].to, "stage:llm:run");
}

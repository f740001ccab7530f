mod archive;
mod embeddings;
mod opening;
mod packing;

use footprint::value;
use footprint::value::Value;

use super::*;

/// A small recording as text: two commits, one boundary row, two events of one run.
fn text() -> String {
    let event = |kind: &str, payload: Value, at: u64| {
        value!({ "type": kind, "payload": payload, "meta": { "wallClockMs": at, "runOffsetMs": 0,
            "runtimeStageId": "seed#0", "subflowPath": [], "compositionPath": ["Agent:support"],
            "runId": "run-1-1", "sessionId": "s-1" } })
    };
    let manifest = value!({ "agentId": "support", "llm": { "provider": "mock", "model": "mock-1" },
        "reactMode": "dynamic", "memories": [] });
    let frame = value!({ "id": "seed", "runtimeStageId": "seed#0", "name": "Seed", "isDecider": false,
        "isFork": false, "logs": {}, "errors": {}, "metrics": {}, "evals": {}, "newer": 1 });
    let snapshot = value!({
        "runId": "1-0000000001",
        "sharedState": { "n": 2 },
        "initialState": {},
        "executionTree": frame,
        "commitLog": [commit(0, value!(1)), commit(1, value!(2))],
        "recorders": [{ "id": "boundary-1", "name": "BoundaryEvents", "preferredOperation": "translate",
            "data": [{ "commitIdxBefore": 0 }, { "commitIdxBefore": 1 }] }],
    });
    value!({
        "snapshot": snapshot,
        "events": [
            event("agentfootprint.agent.run_configured", manifest, 1_796_042_715_718),
            event("agentfootprint.later.thing", value!({ "any": [1] }), 1_796_042_716_000),
        ],
        "structure": { "name": "Seed", "id": "seed", "type": "stage", "newer": true },
        "newer": { "kept": [1, null] },
    })
    .to_string()
}

fn commit(idx: u64, n: Value) -> Value {
    value!({ "idx": idx, "stage": "Seed", "stageId": "seed", "runtimeStageId": "seed#0",
        "trace": [{ "path": "n", "verb": "set" }], "redactedPaths": [], "overwrite": { "n": n }, "updates": {} })
}

fn recording() -> Recording {
    Recording::open(text().as_bytes()).unwrap().into_recording()
}

/// Proves REC-5: event run ids and engine run ids are distinct types with distinct forms.
#[test]
fn run_ids_are_two_types() {
    assert_eq!(EventRunId::from_parts(5, 2).as_str(), "run-5-2");
    assert_eq!(EngineRunId::from_parts(5, 2).as_str(), "5-0000000002");
}

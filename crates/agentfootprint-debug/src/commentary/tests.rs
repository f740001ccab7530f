use std::collections::BTreeSet;

use agentfootprint_record::events::{AgentEvent, Event};
use footprint::value;
use footprint::value::Value;

use super::values::size;
use super::{
    Commentary, CommentaryKey, Validate, commentary_key, commentary_keys, compose_messages, default_messages,
    validate_messages,
};
use crate::live::Templates;

fn event(name: &str, step: &str, payload: Value) -> Event {
    let event = Event::from_value(&value!({
        "type": format!("agentfootprint.{name}"), "payload": payload.clone(),
        "meta": { "runtimeStageId": step, "wallClockMs": 5, "runOffsetMs": 0, "compositionPath": ["Agent:a"],
                  "subflowPath": [], "runId": "run-1-1" },
    }))
    .unwrap();
    assert!(!matches!(event.kind, AgentEvent::Unknown(_)), "{name} {payload}");
    event
}

fn injected(source: &str, reason: &str) -> Value {
    value!({ "contentSummary": "secret", "contentHash": "h", "slot": "messages", "source": source, "reason": reason,
             "retrievalScore": 0.873 })
}

fn moved(by: &str, more: Value) -> Value {
    let mut moved = value!({ "by": by, "to": "billing" });
    if let (Value::Object(moved), Value::Object(more)) = (&mut moved, more) {
        for (key, item) in more.iter() {
            moved.insert(key.clone(), item.clone());
        }
    }
    value!({ "iteration": 1, "activeCount": 0, "skippedCount": 0, "evaluatedTotal": 0, "activeIds": [], "skippedDetails": [],
             "triggerKindCounts": {}, "skillCatalog": [], "cursorMove": moved })
}

fn routed(by: &str, scores: &[f64], more: Value) -> Value {
    let mut out = value!({ "by": by, "to": "billing", "policy": { "nearTieMargin": 0.15, "menuSize": 3 } });
    if let (Value::Object(out), Value::Object(more)) = (&mut out, more) {
        if !scores.is_empty() {
            let scores: Vec<Value> =
                scores.iter().map(|score| value!({ "id": "x", "score": *score, "relevance": 0.5 })).collect();
            out.insert("scores", Value::from(scores));
        }
        for (key, item) in more.iter() {
            out.insert(key.clone(), item.clone());
        }
    }
    out
}

fn conflict(losers: usize) -> Value {
    let claim = value!({ "toolName": "t", "target": "billing" });
    value!({ "iteration": 1, "winner": claim.clone(), "losers": vec![claim; losers] })
}

fn effect(kind: &str, outcome: &str) -> Value {
    value!({ "kind": kind, "outcome": outcome, "toolName": "t", "iteration": 1, "targetSkillId": "billing",
             "reason": "it asks", "refusalReason": "not now" })
}

fn too_large(narrow: &[&str]) -> Value {
    let narrow: Vec<Value> = narrow.iter().map(|name| Value::from(*name)).collect();
    value!({ "toolName": "t", "toolCallId": "c-9", "iteration": 1, "sizeChars": 9, "maxChars": 1, "narrowBy": narrow })
}

fn limit(action: &str) -> Value {
    value!({ "kind": "max_cost", "limit": 1.0, "actual": 2.0, "action": action })
}

fn composition(kind: &str) -> Value {
    value!({ "kind": kind, "id": "flow-1", "name": "Flow", "childCount": 2 })
}

/// One event per key that an event can have.
fn told() -> Vec<(&'static str, &'static str, Value)> {
    let none = || value!({});
    let usage = || value!({ "input": 771, "output": 772 });
    let end = |calls: u64| {
        value!({ "iteration": 1, "content": "secret", "toolCallCount": calls, "usage": usage(), "stopReason": "stop",
                 "durationMs": 5 })
    };
    let start = |iteration: u64| {
        value!({ "iteration": iteration, "provider": "p", "model": "m", "systemPromptChars": 1, "messagesCount": 1,
                 "toolsCount": 0 })
    };
    let repeated = || {
        value!({ "toolName": "t", "toolCallId": "c-9", "iteration": 1, "occurrences": 2, "argsFingerprint": "f",
                 "resultFingerprint": "g" })
    };
    let skill = || value!({ "skillId": "billing", "reason": "manual" });
    let stored =
        || value!({ "ref": "art-9", "kind": "table", "mediaType": "text/csv", "bytes": 2048, "tool": "t" });
    let refused = |op: &str| value!({ "op": op, "reason": "no-store" });
    vec![
        ("agent.turn_start", "agent.turn_start", value!({ "turnIndex": 0, "userPrompt": "secret" })),
        ("stream.llm_start.iter1", "stream.llm_start", start(1)),
        ("stream.llm_start.iterN", "stream.llm_start", start(2)),
        ("stream.llm_end.tools", "stream.llm_end", end(1)),
        ("stream.llm_end.terminal", "stream.llm_end", end(0)),
        (
            "stream.thinking",
            "stream.thinking_end",
            value!({ "iteration": 1, "blockCount": 1, "totalChars": 5 }),
        ),
        (
            "stream.token.partial",
            "stream.token",
            value!({ "iteration": 1, "tokenIndex": 0, "content": "Hel" }),
        ),
        (
            "stream.tool_start",
            "stream.tool_start",
            value!({ "toolName": "t", "toolCallId": "c-9", "args": { "a": "secret" } }),
        ),
        (
            "stream.tool_progress",
            "stream.tool_progress",
            value!({ "toolName": "t", "toolCallId": "c-9", "iteration": 1, "payload": "secret" }),
        ),
        (
            "stream.tool_end",
            "stream.tool_end",
            value!({ "toolCallId": "c-9", "durationMs": 1, "result": "secret" }),
        ),
        ("context.injected.rag", "context.injected", injected("rag", "x")),
        ("context.injected.skill", "context.injected", injected("skill", "x")),
        ("context.injected.memory", "context.injected", injected("memory", "x")),
        ("context.injected.instructions", "context.injected", injected("instructions", "rule")),
        (
            "context.injected.instructions.onToolReturn",
            "context.injected",
            injected("instructions", "on-tool-return: t"),
        ),
        ("context.injected.instructions.alwaysOn", "context.injected", injected("instructions", "always")),
        ("context.injected.custom", "context.injected", injected("fact", "x")),
        ("skill.activated", "skill.activated", skill()),
        ("skill.deactivated", "skill.deactivated", skill()),
        (
            "skill.escalated",
            "skill.escalated",
            value!({ "iteration": 1, "afterRefusals": 2, "refusals": 2,
            "from": { "provider": "p", "model": "m" }, "to": { "provider": "q" } }),
        ),
        ("skill.turn_routed.continuity", "skill.turn_routed", routed("continuity", &[], none())),
        (
            "skill.turn_routed.continuity.nearTie",
            "skill.turn_routed",
            routed("continuity", &[0.511, 0.502], value!({ "decisive": false })),
        ),
        ("skill.turn_routed.intent", "skill.turn_routed", routed("intent", &[], none())),
        ("skill.turn_routed.intent.scored", "skill.turn_routed", routed("intent", &[0.9, 0.1], none())),
        ("skill.turn_routed.intent.scoredSolo", "skill.turn_routed", routed("intent", &[0.9], none())),
        ("skill.turn_routed.entry", "skill.turn_routed", routed("entry", &[], none())),
        (
            "skill.turn_routed.entry.witness",
            "skill.turn_routed",
            routed("entry", &[], value!({ "witness": { "text": "invoice" } })),
        ),
        ("skill.turn_routed.menu", "skill.turn_routed", routed("menu", &[], none())),
        (
            "skill.turn_routed.dropped",
            "skill.turn_routed",
            routed("none", &[], value!({ "droppedResume": { "id": "old", "reason": "unknown-skill" } })),
        ),
        ("skill.turn_routed.none", "skill.turn_routed", routed("none", &[], none())),
        ("skill.turn_routed.none.rails", "skill.turn_routed", routed("none", &[], value!({ "scorer": "s" }))),
        (
            "skill.turn_routed.none.rails.nearTie",
            "skill.turn_routed",
            routed("none", &[0.4, 0.4], value!({ "decisive": false })),
        ),
        ("skill.turn_routed.none.rails.unmatched", "skill.turn_routed", routed("none", &[0.1], none())),
        ("skill.turn_routed.decider", "skill.turn_routed", routed("decider", &[], none())),
        ("skill.route_conflict", "skill.route_conflict", conflict(0)),
        ("skill.route_conflict.suppressedOne", "skill.route_conflict", conflict(1)),
        ("skill.route_conflict.suppressedMany", "skill.route_conflict", conflict(2)),
        (
            "skill.rejected.guard",
            "skill.rejected",
            value!({ "requestedId": "x", "allowed": [], "iteration": 1 }),
        ),
        (
            "skill.rejected.rails",
            "skill.rejected",
            value!({ "requestedId": "x", "allowed": [], "iteration": 1, "posture": "rails" }),
        ),
        ("tools.effect.transition.accepted", "tools.effect", effect("propose-transition", "accepted")),
        ("tools.effect.transition.refused", "tools.effect", effect("propose-transition", "refused")),
        ("tools.effect.transition.superseded", "tools.effect", effect("propose-transition", "superseded")),
        ("tools.effect.instruction.accepted", "tools.effect", effect("require-instruction", "accepted")),
        ("tools.effect.instruction.refused", "tools.effect", effect("require-instruction", "refused")),
        ("tools.result_refused", "tools.result_refused", too_large(&[])),
        ("tools.result_refused.narrowOne", "tools.result_refused", too_large(&["from"])),
        ("tools.result_refused.narrowMany", "tools.result_refused", too_large(&["from", "to"])),
        ("tools.repeated_call", "tools.repeated_call", repeated()),
        ("tools.repeated_call.argsOnly", "tools.repeated_call", {
            let mut call = repeated();
            if let Value::Object(call) = &mut call {
                call.insert("mode", Value::from("arguments"));
            }
            call
        }),
        ("artifacts.minted", "artifacts.minted", stored()),
        (
            "artifacts.presented",
            "artifacts.presented",
            value!({ "ref": "art-9", "as": "x", "toolCallId": "c-9", "iteration": 1,
            "snapshot": { "kind": "table", "mediaType": "text/csv", "bytes": 3, "label": "Orders" } }),
        ),
        (
            "artifacts.resolved.head",
            "artifacts.resolved",
            value!({ "ref": "art-9", "via": "head", "kind": "table", "bytes": 3 }),
        ),
        (
            "artifacts.resolved.get",
            "artifacts.resolved",
            value!({ "ref": "art-9", "via": "get", "kind": "table", "bytes": 3, "tool": "t" }),
        ),
        ("artifacts.refused", "artifacts.refused", refused("put")),
        ("artifacts.refused.dispatch", "artifacts.refused", refused("dispatch")),
        (
            "artifacts.expired",
            "artifacts.expired",
            value!({ "ref": "art-9", "reason": "max-bytes", "kind": "table", "bytes": 3, "tool": "t" }),
        ),
        (
            "artifacts.expired.noticed",
            "artifacts.expired",
            value!({ "ref": "art-9", "reason": "ttl", "kind": "table", "bytes": 3, "tool": "t" }),
        ),
        ("context.model_pick", "context.evaluated", moved("model-pick", none())),
        (
            "context.model_pick.menu",
            "context.evaluated",
            moved("model-pick", value!({ "offered": ["billing"] })),
        ),
        (
            "context.model_pick.offMenu",
            "context.evaluated",
            moved("model-pick", value!({ "offered": ["other"] })),
        ),
        ("context.model_pick.stay", "context.evaluated", moved("stay", value!({ "declinedOffer": true }))),
        (
            "context.entry_witness",
            "context.evaluated",
            moved("entry", value!({ "witness": { "text": "invoice" } })),
        ),
        ("context.routed", "context.evaluated", moved("route", none())),
        (
            "context.routed.matched",
            "context.evaluated",
            moved("route", value!({ "witness": { "text": "invoice" } })),
        ),
        ("context.routed.default", "context.evaluated", moved("entry", none())),
        (
            "composition.fork_start",
            "composition.fork_start",
            value!({ "parentId": "p-9", "branches": [{ "id": "a", "name": "A" }] }),
        ),
        (
            "composition.merge_end",
            "composition.merge_end",
            value!({ "parentId": "p-9", "strategy": "fn", "resultSummary": "secret", "mergedBranchCount": 2, "totalBranchCount": 2 }),
        ),
        ("composition.enter.Sequence", "composition.enter", composition("Sequence")),
        ("composition.enter.Parallel", "composition.enter", composition("Parallel")),
        ("composition.enter.Conditional", "composition.enter", composition("Conditional")),
        ("composition.enter.Loop", "composition.enter", composition("Loop")),
        ("composition.enter.Generic", "composition.enter", composition("Newer")),
        (
            "composition.exit",
            "composition.exit",
            value!({ "kind": "Loop", "id": "l-9", "name": "Flow", "status": "ok", "durationMs": 1 }),
        ),
        ("composition.handoff", "agent.handoff", value!({ "fromAgentId": "a", "toAgentId": "b" })),
        ("pause.request", "pause.request", value!({ "reason": "secret", "questionPayload": "secret" })),
        ("pause.resume", "pause.resume", value!({ "resumeInput": "secret", "pausedDurationMs": 5 })),
        ("cost.limit_hit", "cost.limit_hit", limit("newer")),
        ("cost.limit_hit.stopped", "cost.limit_hit", limit("abort")),
        ("cost.limit_hit.continued", "cost.limit_hit", limit("warn")),
    ]
}

/// Keys that fill a place of another text, or are chosen by what a tool says of itself.
const PARTS: [&str; 9] = [
    "stream.tool_start.desc",
    "stream.tool_start.noDesc",
    "tools.effect.reason",
    "tools.effect.refusalReason",
    "artifacts.presented.subject.labeled",
    "artifacts.presented.subject.plain",
    "artifacts.presented.subject.derived",
    "artifacts.actor.tool",
    "artifacts.actor.host",
];

/// Proves REC-57, REC-59.
#[test]
fn every_key_is_told_in_prose() {
    let mut seen: BTreeSet<&str> = PARTS.into();
    let commentary = Commentary::new("Desk");
    for (key, name, payload) in told() {
        let event = event(name, "call-llm#77", payload);
        assert_eq!(commentary_key(&event.kind), CommentaryKey::Key(key), "{name}");
        let line = commentary.tell(&event).unwrap();
        assert!(!line.is_empty() && !line.contains("{{") && !line.contains("  "), "{key}: {line}");
        for hidden in ["secret", "c-9", "art-9", "p-9", "77", "run-1"] {
            assert!(!line.contains(hidden), "{key}: {line}");
        }
        seen.insert(key);
    }
    assert_eq!(seen, commentary_keys().collect::<BTreeSet<_>>());
    let tell = |at: &str| {
        let (_, name, payload) = told().into_iter().find(|(key, _, _)| *key == at).unwrap();
        commentary.tell(&event(name, "call-llm#1", payload)).unwrap()
    };
    assert_eq!(tell("context.injected.rag"), "Desk adds a passage it found (87 % relevant).");
    assert!(tell("skill.turn_routed.continuity.nearTie").ends_with("(0.51 against 0.50)."));
    assert_eq!(tell("artifacts.minted"), "t stored a table (2.0 KB).");
    assert_eq!(tell("artifacts.presented"), "Desk shows “Orders” (3 bytes).");
    assert_eq!(tell("artifacts.resolved.head"), "The app looked at what is stored: a table (3 bytes).");
    assert!(tell("tools.effect.transition.refused").ends_with("does not: not now."));
    assert!(tell("stream.llm_end.tools").starts_with("The model suggests"));
    assert_eq!(
        (size(1023), size(1024), size(1_048_576)),
        ("1023 bytes".into(), "1.0 KB".into(), "1.0 MB".into())
    );
}

/// Proves REC-56.
#[test]
fn what_is_passed_over_is_passed_over_and_the_rest_falls_through() {
    for source in ["user", "tool-result", "assistant", "base", "registry"] {
        let piece = event("context.injected", "x#1", injected(source, "x"));
        assert_eq!(commentary_key(&piece.kind), CommentaryKey::Skip, "{source}");
        assert_eq!(Commentary::new("Desk").tell(&piece), None);
    }
    let skipped = [
        ("agent.iteration_start", value!({ "turnIndex": 0, "iterIndex": 1 })),
        ("agent.iteration_end", value!({ "turnIndex": 0, "iterIndex": 1, "toolCallCount": 0 })),
        ("agent.route_decided", value!({ "turnIndex": 0, "iterIndex": 1, "chosen": "final" })),
        ("composition.route_decided", value!({ "conditionalId": "c", "chosen": "a" })),
        ("composition.iteration_start", value!({ "loopId": "l", "iteration": 1 })),
        (
            "context.evicted",
            value!({ "slot": "messages", "contentHash": "h", "reason": "budget", "survivalMs": 1 }),
        ),
    ];
    for (name, payload) in skipped {
        assert_eq!(commentary_key(&event(name, "x#1", payload).kind), CommentaryKey::Skip, "{name}");
    }
    let unknown = [
        event("agent.grounding_nudged", "x#1", value!({ "iteration": 1, "refs": [], "tools": [] })),
        event("context.injected", "x#1", injected("newer", "x")),
    ];
    for event in unknown {
        assert_eq!(commentary_key(&event.kind), CommentaryKey::Unknown);
    }
}

/// Proves REC-58.
#[test]
fn the_innermost_runner_speaks() {
    let tell = |step: &str| {
        let payload = value!({ "reason": "x", "questionPayload": "x" });
        Commentary::new("Desk").tell(&event("pause.request", step, payload)).unwrap()
    };
    assert_eq!(tell("tool-calls#3"), "Desk waits for a person.");
    assert_eq!(tell("step-orders/tool-calls#3"), "orders waits for a person.");
    assert_eq!(tell("step-orders/panel/sf-tools/thinking-x/final/compose#3"), "panel waits for a person.");
}

/// Proves REC-60.
#[test]
fn texts_are_composed_freshly_and_checked_all_at_once() {
    let own: Templates =
        [("pause.request".to_owned(), "…".to_owned()), ("of.mine".to_owned(), String::new())].into();
    let composed = compose_messages(&default_messages(), &own);
    assert_eq!(
        (composed["pause.request"].as_str(), default_messages()["pause.request"].as_str()),
        ("…", "{{speaker}} waits for a person.")
    );
    assert!(validate_messages(&composed, commentary_keys(), Validate::named("mine")).is_ok());
    let mut poor = composed.clone();
    poor.remove("pause.resume");
    poor.remove("cost.limit_hit");
    let strict = Validate { label: "klingon", forbid_empty: true };
    let keys = commentary_keys().chain(["of.mine"]);
    let error = validate_messages(&poor, keys, strict).unwrap_err();
    assert_eq!((error.missing.len(), error.empty.len()), (2, 1));
    let text = error.to_string();
    for part in ["klingon", "pause.resume", "cost.limit_hit", "of.mine"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(Commentary::new("Desk").with_messages(poor, "klingon").is_err());
    // Two hosts speak two languages at once.
    let pause = event("pause.request", "x#1", value!({ "reason": "x", "questionPayload": "x" }));
    let other = Commentary::new("Desk").with_messages(composed, "mine").unwrap();
    assert_eq!(other.tell(&pause).as_deref(), Some("…"));
    assert_eq!(Commentary::new("Desk").tell(&pause).as_deref(), Some("Desk waits for a person."));
}

#[test]
fn a_tool_is_introduced_by_the_first_sentence_it_says_of_itself() {
    let mut commentary = Commentary::new("Desk");
    let request = value!({ "iteration": 1, "provider": "p", "model": "m", "systemPromptChars": 1, "messagesCount": 1, "toolsCount": 1,
        "tools": [{ "name": "t", "description": "Looks orders up. Never call it twice." }] });
    commentary.follow(&event("stream.llm_start", "x#1", request)).unwrap();
    let start = event("stream.tool_start", "x#2", value!({ "toolName": "t", "toolCallId": "c", "args": {} }));
    assert_eq!(commentary.follow(&start).as_deref(), Some("Desk uses t: Looks orders up."));
}

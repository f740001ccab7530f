use std::collections::BTreeSet;

use super::state::{self, Crosses, Reset, StateKey, When};
use super::*;
use crate::events::words::{ContextSlot, Word as _};

/// Proves AGT-45: framework ids are recognised by prefix, and a Sequence step cannot collide.
#[test]
fn reserved_prefix() {
    for id in ids::SUBFLOWS.iter().filter(|id| **id != ids::FINAL) {
        assert!(is_reserved_subflow_segment(id), "{id}");
    }
    for id in ids::STAGES {
        assert!(!is_reserved_subflow_segment(id), "{id}");
    }
    assert!(is_reserved_subflow_segment(&ids::memory_read("m")));
    assert!(is_reserved_subflow_segment(ids::ROUTER_LLM));
    assert!(!is_reserved_subflow_segment(&ids::sequence_step("sf-x")));
}

/// Proves AGT-46: ids are distinct and spelled as recorded.
#[test]
fn ids_are_distinct() {
    for list in [ids::SUBFLOWS, ids::STAGES, ids::COMPOSITION_STAGES, ids::PSEUDO_STEPS] {
        assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len());
    }
    assert_eq!(ids::memory_read("chat"), "sf-memory-read-chat");
    assert_eq!(ids::memory_write("chat"), "sf-memory-write-chat");
    assert_eq!(ids::thinking("anthropic"), "thinking-anthropic");
    assert_eq!(ids::paused_step("tool-calls"), "tool-calls#paused");
    assert_eq!(ids::resumed_step("tool-calls"), "tool-calls#resumed");
}

/// Proves AGT-48: innermost slot wins, index and outer path do not matter.
#[test]
fn slots_resolve_innermost_first() {
    for (step, slot) in [
        ("sf-system-prompt/compose#8", Some(ContextSlot::SystemPrompt)),
        ("con/sf-llm-call/sf-tools#16", Some(ContextSlot::Tools)),
        ("sf-tools/helper/sf-messages/compose#3", Some(ContextSlot::Messages)),
        ("sf-tools/helper/call-llm#4", Some(ContextSlot::Tools)),
        ("call-llm#1", None),
        ("sf-toolsmith/compose#1", None),
    ] {
        assert_eq!(slot_from_runtime_stage_id(step), slot, "{step}");
    }
    assert_eq!(slot_from_subflow_id("x/sf-messages"), Some(ContextSlot::Messages));
    assert_eq!(slot_from_subflow_id("sf-messages/compose"), None);
    for word in ContextSlot::WORDS {
        let slot = ContextSlot::listed(word).unwrap();
        assert!(state::INJECTION_KEYS.contains(&composed_key_of(&slot).unwrap()));
    }
}

/// Proves AGT-49, AGT-51, REC-141: roles go by the local segment, bare branch ids included; the unknown is
/// boundary.
#[test]
fn roles() {
    use StageRole::{Boundary, HeroAction, HeroLlm, HeroSlot, Plumbing};
    for (id, role) in [
        ("sf-tools", HeroSlot),
        ("a/sf-messages#3", HeroSlot),
        ("call-llm#18", HeroLlm),
        ("merge-llm", HeroLlm),
        ("tool-calls#22", HeroAction),
        ("x/sf-tool-calls#1", HeroAction),
        ("sf-injection-engine", Plumbing),
        ("sf-route", Plumbing),
        ("no-markers", Plumbing),
        ("seed#0", Boundary),
        ("final", Boundary),
        ("output-retry", Boundary),
        ("compose", Boundary),
        ("anything", Boundary),
    ] {
        assert_eq!(stage_role(id), role, "{id}");
    }
    assert_eq!(HeroSlot.word(), "hero-slot");
}

/// Proves AGT-50: the table of milestones.
#[test]
fn milestones() {
    for (id, kind, label) in [
        ("sf-injection-engine#1", "iteration", "Iteration"),
        ("sf-llm-call", "iteration", "Iteration"),
        ("sf-system-prompt", "slot", "System prompt"),
        ("sf-messages", "slot", "Messages"),
        ("sf-tools#11", "slot", "Tools"),
        ("call-llm", "llm-turn", "LLM turn"),
        ("merge-llm", "llm-turn", "LLM turn"),
        ("tool-calls#22", "tool-call", "Tool call"),
        ("sf-tool-calls", "tool-call", "Tool call"),
        ("sf-route", "decision", "Route"),
        ("output-retry", "decision", "Schema retry"),
        ("step-nudge", "decision", "Step nudge"),
        ("evidence-recheck", "decision", "Evidence recheck"),
        ("wrap-up", "decision", "Wrap up"),
    ] {
        let milestone = milestone_for(id).unwrap();
        assert_eq!((milestone.kind.word(), &*milestone.label), (kind, label), "{id}");
    }
    assert!(milestone_for("final").is_none());
    assert!(milestone_for("sf-tools/compose#13").is_none());
}

/// Proves REC-142: tags decide alone; only an untagged step is read from its id; tags read back what was
/// written.
#[test]
fn declared_tags_win() {
    let route = milestone_for("sf-route").unwrap();
    assert_eq!(milestone_from_tags(&route.tags()), Some(route.clone()));
    assert_eq!(milestone_of(Some(&route.tags()), "call-llm#1"), Recognised::Declared(route));
    assert_eq!(milestone_of(Some(&["other"]), "call-llm#1"), Recognised::No);
    assert_eq!(milestone_of::<&str>(None, "seed#0"), Recognised::No);
    let foreign = milestone_from_tags(&["milestone:checkpoint"]).unwrap();
    assert_eq!(foreign.kind, MilestoneKind::Other("checkpoint".into()));
    assert_eq!(foreign.label, "checkpoint");
}

/// Proves AGT-77, EVD-15: one table frame → prefix; every frame but the reliability feedback has one.
#[test]
fn frames_and_prefixes() {
    for word in Frame::WORDS {
        let frame = Frame::listed(word).unwrap();
        match frame.prefix() {
            Some(prefix) => assert_eq!(frame_from_prefix(&format!("{prefix} x]")), Some(frame)),
            None => assert_eq!(frame, Frame::ReliabilityFeedback),
        }
    }
    assert_eq!(frame_from_prefix(" [schema check"), None);
}

/// Proves AGT-44: one table; the lists of the boundary are read from it.
#[test]
fn state_keys_say_what_crosses() {
    let names: BTreeSet<_> = state::ALL.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), state::ALL.len());

    let aliased: Vec<_> = state::ALL.iter().filter_map(StateKey::alias).collect();
    assert_eq!(
        aliased,
        [
            "priorHistory",
            "priorTotalInputTokens",
            "priorTotalOutputTokens",
            "priorCumTokensInput",
            "priorCumTokensOutput",
            "priorCumEstimatedUsd",
            "priorCostBudgetHit",
            "priorDeliveredMessageKeys",
            "priorSkillHistory",
            "priorTotalCacheReadTokens",
        ]
    );
    // A key that enters under an alias is copied to its name and must leave again.
    for key in state::ALL.iter().filter(|key| key.alias().is_some()) {
        assert_eq!(key.crosses(), Crosses::Both, "{}", key.name);
    }
    let out_of = |name| StateKey::named(name).unwrap().exit.unwrap();
    assert_eq!(out_of(state::CURRENT_SKILL_ID).inner, state::NEXT_SKILL_CURSOR);
    assert_eq!(out_of(state::STEP_POINTER).inner, state::NEXT_STEP_POINTER);
    assert_eq!(out_of(state::INSTRUCTION_LEASES).inner, state::NEXT_INSTRUCTION_LEASES);
    assert_eq!(out_of(state::RECEIPT).when, When::Present);
    for name in [state::DYNAMIC_TOOL_SCHEMAS, state::ACTIVE_BY_SLOT, state::FINAL_CONTENT] {
        assert_eq!(StateKey::named(name).unwrap().crosses(), Crosses::None, "{name}");
    }
    let reset = |wanted| {
        state::ALL.iter().filter(|key| key.reset == Some(wanted)).map(|key| key.name).collect::<Vec<_>>()
    };
    assert_eq!(reset(Reset::EmptyText), [state::LLM_LATEST_CONTENT]);
    assert_eq!(
        reset(Reset::EmptyList),
        [
            state::SYSTEM_PROMPT_INJECTIONS,
            state::MESSAGES_INJECTIONS,
            state::TOOLS_INJECTIONS,
            state::LLM_LATEST_TOOL_CALLS,
            state::THINKING_BLOCKS,
            state::ACTIVE_INJECTIONS,
            state::CACHE_MARKERS,
        ]
    );
}

/// Proves AGT-47: the protocol between slots and the context recorder.
#[test]
fn injection_and_composition_keys() {
    assert_eq!(state::INJECTION_KEYS, ["systemPromptInjections", "messagesInjections", "toolsInjections"]);
    assert_eq!(state::COMPOSITION_KEYS, ["slotCompositions", "slotEvictions", "slotBudgetPressures"]);
    assert_eq!(state::memory_injection("chat"), "memoryInjection_chat");
    assert_eq!(state::retrieval_evidence("chat"), "retrievalEvidence_chat");
}

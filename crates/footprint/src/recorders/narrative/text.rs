//! The default words (OBS-81).

use std::fmt::Write as _;

use super::Direction;
use super::render::*;
use crate::decide::{RuleEvidence, RuleKind};

pub(in crate::recorders) fn stage(facts: &StageText<'_>) -> String {
    let what = facts.description.unwrap_or(facts.name);
    let said = match facts.pass {
        Some(pass) => format!("looped back to {what} (pass {pass})"),
        None if facts.number == 1 => format!("the process began with {what}"),
        None => format!("next came {what}"),
    };
    if facts.numbered { format!("Stage {}: {said}", facts.number) } else { capitalised(&said) }
}

pub(in crate::recorders) fn op(facts: &OpText<'_>) -> String {
    let verb = match facts.kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Update => "update",
        OpKind::Delete => "delete",
        OpKind::Input => "input",
    };
    let mut text = match facts.number {
        Some(number) if facts.numbered => format!("Step {number}: {verb}"),
        _ => capitalised(verb),
    };
    let _ = write!(text, " {}", facts.key.unwrap_or("the whole state"));
    if let Some(summary) = facts.summary {
        let _ = write!(text, " = {summary}");
    }
    text
}

pub(in crate::recorders) fn decision(facts: &DecisionText<'_>) -> String {
    let Some(evidence) = facts.evidence else {
        let mut text = match facts.description {
            Some(description) => format!("[Condition] {description}: took {}", facts.chosen),
            None => format!("[Condition] {} took {}", facts.decider, facts.chosen),
        };
        if let Some(rationale) = facts.rationale {
            let _ = write!(text, " because {rationale}");
        }
        if facts.fell_back {
            text.push_str(" (default, the returned id is no branch)");
        }
        return text;
    };
    if let Some(rule) = evidence.winner() {
        return format!("[Condition] rule {} held: {} → {}", rule_name(rule), rule_facts(rule), facts.chosen);
    }
    let mut text = format!("[Condition] none of {} held", counted(evidence.rules.len(), "rule"));
    match evidence.failed_rules() {
        0 => {}
        failed => {
            let _ = write!(text, " ({failed} could not be evaluated)");
        }
    }
    let _ = write!(text, " → default {}", facts.chosen);
    if let Some(label) = &evidence.default_label {
        let _ = write!(text, " \"{label}\"");
    }
    text
}

pub(in crate::recorders) fn fork(facts: &ForkText<'_>) -> String {
    let count = counted(facts.children.len(), "path");
    let start = if facts.children.len() == 1 { "starts" } else { "start together" };
    format!("[Parallel] {count} {start}: {}", facts.children.join(", "))
}

pub(in crate::recorders) fn selected(facts: &SelectedText<'_>) -> String {
    let mut text = format!("[Selected] {} of {}", facts.selected.len(), counted(facts.total, "path"));
    let matched: Vec<String> = facts
        .evidence
        .iter()
        .flat_map(|e| &e.rules)
        .filter(|r| r.matched)
        .map(|r| {
            let label = r.label.iter().fold(String::new(), |_, l| format!(" \"{l}\""));
            format!("{}{label} ({})", r.branch, rule_facts(r))
        })
        .collect();
    if !matched.is_empty() {
        let _ = write!(text, ": {}", matched.join("; "));
    } else if !facts.selected.is_empty() {
        let _ = write!(text, ": {}", facts.selected.join(", "));
    }
    text
}

fn rule_name(rule: &RuleEvidence) -> String {
    match &rule.label {
        Some(label) => format!("{} \"{label}\"", rule.rule_index),
        None => rule.rule_index.to_string(),
    }
}

/// `key actual op threshold ✓` per condition of a filter, `key=value` per input of a predicate.
fn rule_facts(rule: &RuleEvidence) -> String {
    let facts: Vec<String> = match &rule.kind {
        RuleKind::Filter { conditions } => conditions
            .iter()
            .map(|c| {
                let mark = if c.result { '✓' } else { '✗' };
                format!("{} {} {} {} {mark}", c.key, c.actual_summary, c.op.word(), c.threshold)
            })
            .collect(),
        RuleKind::Function { inputs } => {
            inputs.iter().map(|i| format!("{}={}", i.key, i.value_summary)).collect()
        }
    };
    if facts.is_empty() { "nothing was read".to_owned() } else { facts.join(", ") }
}

pub(in crate::recorders) fn subflow(facts: &SubflowText<'_>) -> String {
    match (facts.direction, facts.description) {
        (Direction::Entry, Some(description)) => format!("Entering {}: {description}", facts.name),
        (Direction::Entry, None) => format!("Entering {}", facts.name),
        (Direction::Exit, _) => format!("Leaving {}", facts.name),
    }
}

pub(in crate::recorders) fn back_edge(facts: &LoopText<'_>) -> String {
    format!("Pass {} goes back to {}", facts.iteration, facts.description.unwrap_or(facts.target))
}

pub(in crate::recorders) fn stopped(facts: &BreakText<'_>) -> String {
    let mut text = format!("Stopped at {}", facts.stage);
    if let Some(from) = facts.from_subflow {
        let _ = write!(text, ", passed on from {from}");
    }
    if let Some(reason) = facts.reason {
        let _ = write!(text, ": {reason}");
    }
    text
}

pub(in crate::recorders) fn retry(facts: &RetryText<'_>) -> String {
    let RetryText { stage, attempt, max_attempts, message, delay_ms } = facts;
    let mut text = format!("[Retry] attempt {attempt} of {max_attempts} of {stage} failed: {message}");
    if *delay_ms > 0 {
        let _ = write!(text, "; waiting {delay_ms} ms");
    }
    text
}

pub(in crate::recorders) fn error(facts: &ErrorText<'_>) -> String {
    let mut text = format!("[Error] {} failed: {}", facts.stage, facts.message);
    for issue in facts.error.issues.iter().flatten() {
        let path: Vec<String> = issue.path.iter().map(path_segment).collect();
        let _ = write!(text, "; {}: {}", path.join("."), issue.message);
    }
    text
}

fn path_segment(segment: &crate::value::Value) -> String {
    segment.as_str().map_or_else(|| segment.to_string(), ToOwned::to_owned)
}

pub(in crate::recorders) fn emit(facts: &EmitText<'_>) -> String {
    match facts.summary {
        Some(summary) => format!("[emit] {}: {summary}", facts.name),
        None => format!("[emit] {}", facts.name),
    }
}

pub(in crate::recorders) fn pause(facts: &PauseText<'_>) -> String {
    format!("Paused at {}", facts.stage)
}

pub(in crate::recorders) fn resume(facts: &ResumeText<'_>) -> String {
    let input = if facts.has_input { "with" } else { "without" };
    format!("Resumed at {} {input} input", facts.stage)
}

fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

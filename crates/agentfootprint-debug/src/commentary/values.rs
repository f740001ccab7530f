//! What a sentence may say of an event (REC-59).

use std::collections::BTreeMap;

use agentfootprint_record::events::AgentEvent as E;
use agentfootprint_record::events::payload::SkillTurnRouted;
use footprint::value::Str;

/// Values by the name of their place.
pub(super) type Values = BTreeMap<&'static str, String>;

/// The values of an event: names, counts of things, sizes, percentages.
pub(super) fn of(event: &E) -> Values {
    let mut out = Values::new();
    let mut put = |name: &'static str, value: String| drop(out.insert(name, value));
    match event {
        E::StreamToken(token) => put("partial", token.content.to_string()),
        E::StreamToolStart(start) => put("toolName", start.tool_name.to_string()),
        E::StreamToolProgress(report) => put("toolName", report.tool_name.to_string()),
        E::ContextInjected(piece) => {
            if let Some(score) = piece.retrieval_score {
                put("relevance", percentage(score));
            }
        }
        E::ContextEvaluated(pass) => {
            if let Some(to) = pass.cursor_move.as_ref().and_then(|moved| moved.to.as_ref()) {
                put("skill", to.to_string());
            }
        }
        E::SkillActivated(skill) => put("skill", skill.skill_id.to_string()),
        E::SkillDeactivated(skill) => put("skill", skill.skill_id.to_string()),
        E::SkillTurnRouted(routed) => routed_values(routed, &mut put),
        E::SkillRouteConflict(conflict) => {
            put("skill", conflict.winner.target.to_string());
            put("count", conflict.losers.len().to_string());
        }
        E::SkillRejected(rejected) => put("skill", rejected.requested_id.to_string()),
        E::ToolsEffect(effect) => {
            put("toolName", effect.tool_name.to_string());
            put("skill", named(effect.target_skill_id.as_ref()));
            put("text", named(effect.refusal_reason.as_ref().or(effect.reason.as_ref())));
        }
        E::ToolsResultRefused(refused) => {
            put("toolName", refused.tool_name.to_string());
            let names: Vec<&str> = refused.narrow_by.iter().flatten().map(|name| &**name).collect();
            put("names", names.join(", "));
        }
        E::ToolsRepeatedCall(call) => put("toolName", call.tool_name.to_string()),
        E::ArtifactsMinted(minted) => {
            put("toolName", minted.tool.to_string());
            put("kind", minted.kind.to_string());
            put("label", named(minted.label.as_ref()));
            put("size", size(minted.bytes));
        }
        E::ArtifactsPresented(shown) => {
            put("kind", shown.snapshot.kind.to_string());
            put("label", named(shown.snapshot.label.as_ref()));
            put("size", size(shown.snapshot.bytes));
        }
        E::ArtifactsResolved(read) => {
            put("toolName", named(read.tool.as_ref()));
            put("kind", read.kind.to_string());
            put("size", size(read.bytes));
        }
        E::ArtifactsExpired(expired) => put("kind", expired.kind.to_string()),
        E::CompositionForkStart(fork) => put("count", fork.branches.len().to_string()),
        E::CompositionMergeEnd(merge) => put("count", merge.merged_branch_count.to_string()),
        E::CompositionEnter(enter) => put("name", enter.name.to_string()),
        E::CompositionExit(exit) => put("name", named(exit.name.as_ref().or(Some(&exit.id)))),
        E::AgentHandoff(handoff) => put("name", handoff.to_agent_id.to_string()),
        _ => {}
    }
    out
}

/// Places that are filled with a text of their own: `(place, key)`.
pub(super) fn fragments(event: &E) -> Vec<(&'static str, &'static str)> {
    match event {
        E::ToolsEffect(effect) => {
            let refused = effect.refusal_reason.as_ref().map(|_| ("refusal", "tools.effect.refusalReason"));
            let because = effect.reason.as_ref().map(|_| ("reason", "tools.effect.reason"));
            refused.into_iter().chain(because).collect()
        }
        E::ArtifactsMinted(minted) => {
            let derived = minted.parent_refs.as_ref().is_some_and(|parents| !parents.is_empty());
            vec![("subject", subject(minted.label.is_some(), derived)), ("actor", "artifacts.actor.tool")]
        }
        E::ArtifactsPresented(shown) => vec![("subject", subject(shown.snapshot.label.is_some(), false))],
        E::ArtifactsResolved(read) => {
            let actor = if read.tool.is_some() { "artifacts.actor.tool" } else { "artifacts.actor.host" };
            vec![("actor", actor)]
        }
        _ => Vec::new(),
    }
}

fn subject(labeled: bool, derived: bool) -> &'static str {
    match (labeled, derived) {
        (true, _) => "artifacts.presented.subject.labeled",
        (false, true) => "artifacts.presented.subject.derived",
        (false, false) => "artifacts.presented.subject.plain",
    }
}

fn routed_values(routed: &SkillTurnRouted, put: &mut impl FnMut(&'static str, String)) {
    put("skill", named(routed.to.as_ref().or(routed.from.as_ref())));
    let mut scores = routed.scores.iter().flatten();
    if let Some(best) = scores.next() {
        put("relevance", percentage(best.relevance));
        put("score", format!("{:.2}", best.score));
    }
    if let Some(next) = scores.next() {
        put("otherScore", format!("{:.2}", next.score));
    }
}

fn named(name: Option<&Str>) -> String {
    name.map(ToString::to_string).unwrap_or_default()
}

/// ` (87 % relevant)`, for a share between 0 and 1; nothing for what is no share.
fn percentage(share: f64) -> String {
    if (0.0..=1.0).contains(&share) { format!(" ({:.0} % relevant)", share * 100.0) } else { String::new() }
}

/// Bytes below 1 024, else KB or MB with one decimal.
pub(super) fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let shown = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KB", shown / 1024.0),
        _ => format!("{:.1} MB", shown / 1_048_576.0),
    }
}

/// The first sentence or line of a text.
pub(super) fn first_sentence(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => line.to_owned(),
    }
}

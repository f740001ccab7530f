//! The English texts, and how a map of texts is made of others.

use std::fmt;

use crate::live::Templates;

/// Every key of the commentary with its English text.
const ENGLISH: [(&str, &str); 88] = [
    ("agent.turn_start", "{{speaker}} takes up a new question."),
    ("stream.llm_start.iter1", "{{speaker}} asks the model what to do."),
    ("stream.llm_start.iterN", "{{speaker}} asks the model again, with what it has learned."),
    ("stream.llm_end.tools", "The model suggests looking something up first."),
    ("stream.llm_end.terminal", "The model has an answer."),
    ("stream.thinking", "The model is thinking it over."),
    ("stream.token.partial", "The model is writing: {{partial}}"),
    ("stream.tool_start", "{{speaker}} uses {{toolName}}."),
    ("stream.tool_start.desc", "{{speaker}} uses {{toolName}}: {{toolDescription}}"),
    ("stream.tool_start.noDesc", "{{speaker}} uses {{toolName}}."),
    ("stream.tool_progress", "{{toolName}} is still at work."),
    ("stream.tool_end", "The tool is done."),
    ("context.injected.rag", "{{speaker}} adds a passage it found{{relevance}}."),
    ("context.injected.skill", "{{speaker}} adds the guidance of a skill."),
    ("context.injected.memory", "{{speaker}} recalls something from earlier."),
    ("context.injected.instructions", "{{speaker}} adds an instruction that applies now."),
    ("context.injected.instructions.onToolReturn", "What the tool returned brings an instruction with it."),
    ("context.injected.instructions.alwaysOn", "{{speaker}} adds an instruction that always applies."),
    ("context.injected.custom", "{{speaker}} adds a piece of context of its own."),
    ("skill.activated", "{{speaker}} turns to the skill {{skill}}."),
    ("skill.deactivated", "{{speaker}} is done with the skill {{skill}}."),
    ("skill.escalated", "After several refusals {{speaker}} asks a stronger model."),
    ("skill.turn_routed.continuity", "{{speaker}} stays with {{skill}}, where the conversation was."),
    (
        "skill.turn_routed.continuity.nearTie",
        "{{speaker}} stays with {{skill}}: nothing else was clearly better ({{score}} against {{otherScore}}).",
    ),
    ("skill.turn_routed.intent", "{{speaker}} begins with {{skill}}, by what was asked."),
    ("skill.turn_routed.intent.scored", "{{speaker}} begins with {{skill}}, the best match{{relevance}}."),
    (
        "skill.turn_routed.intent.scoredSolo",
        "{{speaker}} begins with {{skill}}, the only match{{relevance}}.",
    ),
    ("skill.turn_routed.entry", "{{speaker}} begins with {{skill}}."),
    ("skill.turn_routed.entry.witness", "{{speaker}} begins with {{skill}}, because of what was said."),
    ("skill.turn_routed.menu", "{{speaker}} lets the model choose where to begin."),
    ("skill.turn_routed.dropped", "Where the conversation was no longer exists; {{speaker}} begins anew."),
    ("skill.turn_routed.none", "No skill is needed to begin with."),
    ("skill.turn_routed.none.rails", "No declared way leads into this question."),
    (
        "skill.turn_routed.none.rails.nearTie",
        "Two ways fit about equally well ({{score}} against {{otherScore}}), so none is taken.",
    ),
    ("skill.turn_routed.none.rails.unmatched", "No declared way fits this question well enough."),
    ("skill.turn_routed.decider", "{{speaker}} had a model decide: it begins with {{skill}}."),
    ("skill.route_conflict", "Several ways led on; {{speaker}} takes the one to {{skill}}."),
    ("skill.route_conflict.suppressedOne", "Two ways led on; {{speaker}} takes the one to {{skill}}."),
    (
        "skill.route_conflict.suppressedMany",
        "{{speaker}} takes the way to {{skill}} and leaves {{count}} others.",
    ),
    ("skill.rejected.guard", "The model suggests {{skill}}; {{speaker}} does not go there from here."),
    ("skill.rejected.rails", "The model suggests {{skill}}; the declared ways do not lead there."),
    (
        "tools.effect.transition.accepted",
        "{{toolName}} proposes to go on with {{skill}}; {{speaker}} does{{reason}}.",
    ),
    (
        "tools.effect.transition.refused",
        "{{toolName}} proposes to go on with {{skill}}; {{speaker}} does not{{refusal}}.",
    ),
    (
        "tools.effect.transition.superseded",
        "{{toolName}} proposes to go on with {{skill}}; an earlier proposal won.",
    ),
    (
        "tools.effect.instruction.accepted",
        "{{toolName}} asks for an instruction to be followed; it will be{{reason}}.",
    ),
    (
        "tools.effect.instruction.refused",
        "{{toolName}} asks for an instruction to be followed; it is not{{refusal}}.",
    ),
    ("tools.effect.reason", ", because {{text}}"),
    ("tools.effect.refusalReason", ": {{text}}"),
    ("tools.result_refused", "What {{toolName}} returned is too large to read at once."),
    (
        "tools.result_refused.narrowOne",
        "What {{toolName}} returned is too large; it can be narrowed by {{names}}.",
    ),
    (
        "tools.result_refused.narrowMany",
        "What {{toolName}} returned is too large; it can be narrowed by any of {{names}}.",
    ),
    ("tools.repeated_call", "{{toolName}} was asked the same thing again and said the same."),
    ("tools.repeated_call.argsOnly", "{{toolName}} was asked the same thing again."),
    ("artifacts.minted", "{{actor}} stored {{subject}} ({{size}})."),
    ("artifacts.presented", "{{speaker}} shows {{subject}} ({{size}})."),
    ("artifacts.presented.subject.labeled", "“{{label}}”"),
    ("artifacts.presented.subject.plain", "a {{kind}}"),
    ("artifacts.presented.subject.derived", "a {{kind}} made from others"),
    ("artifacts.resolved.head", "{{actor}} looked at what is stored: a {{kind}} ({{size}})."),
    ("artifacts.resolved.get", "{{actor}} read a stored {{kind}} ({{size}})."),
    ("artifacts.actor.tool", "{{toolName}}"),
    ("artifacts.actor.host", "The app"),
    ("artifacts.refused", "Something stored could not be used."),
    ("artifacts.refused.dispatch", "A tool could not be given what it was to work on."),
    ("artifacts.expired", "A stored {{kind}} made room for newer ones."),
    ("artifacts.expired.noticed", "A stored {{kind}} has expired."),
    ("context.model_pick", "The model picks {{skill}}."),
    ("context.model_pick.menu", "The model picks {{skill}} from what it was offered."),
    ("context.model_pick.offMenu", "The model picks {{skill}}, which it was not offered."),
    ("context.model_pick.stay", "The model was offered a change and stays."),
    ("context.entry_witness", "{{speaker}} begins with {{skill}}, because of what was said."),
    ("context.routed", "{{speaker}} goes on to {{skill}}."),
    ("context.routed.matched", "A declared condition is met: {{speaker}} goes on to {{skill}}."),
    ("context.routed.default", "{{speaker}} begins with {{skill}}, where it always begins."),
    ("composition.fork_start", "{{speaker}} has {{count}} parts work side by side."),
    ("composition.merge_end", "{{speaker}} joins what {{count}} parts found."),
    ("composition.enter.Sequence", "{{name}} begins, step by step."),
    ("composition.enter.Parallel", "{{name}} begins, several parts at once."),
    ("composition.enter.Conditional", "{{name}} decides who takes this."),
    ("composition.enter.Loop", "{{name}} begins, again and again until it is good."),
    ("composition.enter.Generic", "{{name}} begins."),
    ("composition.exit", "{{name}} is done."),
    ("composition.handoff", "{{speaker}} hands over to {{name}}."),
    ("pause.request", "{{speaker}} waits for a person."),
    ("pause.resume", "A person answered; {{speaker}} goes on."),
    ("cost.limit_hit", "A limit was reached."),
    ("cost.limit_hit.stopped", "A limit was reached: {{speaker}} stops."),
    ("cost.limit_hit.continued", "A limit was reached; {{speaker}} goes on with what it has."),
];

/// The English texts.
#[must_use]
pub fn default_messages() -> Templates {
    ENGLISH.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

/// Every key, in the order of the texts.
pub fn commentary_keys() -> impl Iterator<Item = &'static str> {
    ENGLISH.iter().map(|(key, _)| *key)
}

/// A fresh map: the defaults, with what the overrides say instead.
///
/// ```
/// use agentfootprint_debug::commentary::{compose_messages, default_messages};
/// let german = [("pause.request".to_owned(), "{{speaker}} wartet auf einen Menschen.".to_owned())].into();
/// let messages = compose_messages(&default_messages(), &german);
/// assert!(messages["pause.request"].contains("wartet"));
/// assert_eq!(messages.len(), default_messages().len());
/// ```
#[must_use]
pub fn compose_messages(defaults: &Templates, overrides: &Templates) -> Templates {
    defaults.iter().chain(overrides).map(|(key, text)| (key.clone(), text.clone())).collect()
}

/// What is wrong with a map of texts: everything at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TemplateCatalogError {
    /// What the map is called.
    pub label: String,
    /// Keys it lacks.
    pub missing: Vec<String>,
    /// Keys whose text is blank.
    pub empty: Vec<String>,
}

impl fmt::Display for TemplateCatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the texts of `{}` are not complete", self.label)?;
        if !self.missing.is_empty() {
            write!(f, "; missing: {}", self.missing.join(", "))?;
        }
        if !self.empty.is_empty() {
            write!(f, "; empty: {}", self.empty.join(", "))?;
        }
        f.write_str(". Compose them over the default texts, or add the keys")
    }
}

/// How a map of texts is checked.
#[derive(Clone, Copy, Debug)]
pub struct Validate<'a> {
    /// What to call the map in an error.
    pub label: &'a str,
    /// Whether a blank text is refused too; off by default, for a blank text may be meant.
    pub forbid_empty: bool,
}

impl<'a> Validate<'a> {
    /// Checks a map of this name for missing keys.
    #[must_use]
    pub fn named(label: &'a str) -> Self {
        Self { label, forbid_empty: false }
    }
}

/// Checks that a map has every key.
///
/// # Errors
/// [`TemplateCatalogError`] with **all** keys that are missing or blank.
pub fn validate_messages<'k>(
    catalog: &Templates,
    required: impl IntoIterator<Item = &'k str>,
    how: Validate<'_>,
) -> Result<(), TemplateCatalogError> {
    let (mut missing, mut empty) = (Vec::new(), Vec::new());
    for key in required {
        match catalog.get(key) {
            None => missing.push(key.to_owned()),
            Some(text) if how.forbid_empty && text.trim().is_empty() => empty.push(key.to_owned()),
            Some(_) => {}
        }
    }
    if missing.is_empty() && empty.is_empty() {
        return Ok(());
    }
    Err(TemplateCatalogError { label: how.label.to_owned(), missing, empty })
}

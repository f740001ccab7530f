//! Redaction: one rule decides, once, about everything that is retained or served (ENG-90…96).
//!
//! Selection is by *name*, never by content: exact root keys, patterns over key names, dotted field paths
//! below a key, and marks a stage puts on what it writes. The live heap and the resume checkpoint keep real
//! values; log and mirror hold [`LOG_PLACEHOLDER`], everything served holds [`SERVED_PLACEHOLDER`].
//!
//! | question | asked by | answer |
//! |---|---|---|
//! | [`Redaction::serve`] | reads, writes, the tree | the value under a state path as it may be shown |
//! | [`Redaction::serve_state`] | state handed out whole | root keys, fields and branch namespaces |
//! | [`Redaction::serve_payload`] | mapped input, run input and output, pause payloads | walked by name at every depth |
//! | [`Redaction::serve_emit`] | emitted events | event name patterns, then as a payload |
//! | [`Redaction::serve_diagnostic`] | diagnostic bags | the entry's name |
//! | [`Redaction::tainted`] | mappers | which produced keys inherit redaction |
//! | [`Redaction::report`] | the caller | names only |
//!
//! ```
//! use footprint::state::{Marks, Path, Redaction, RedactionPolicy, RedactionRule};
//! use footprint::value;
//!
//! let policy = RedactionPolicy::new().keys(["ssn"]).fields("user", ["address.zip"]).patterns(["^secret"])?;
//! let rule = RedactionRule::new(policy);
//! let marks = Marks::default();
//! let redaction = Redaction::new(Some(&rule), &marks);
//!
//! assert_eq!(redaction.serve(&Path::key("ssn"), &value!("1-2")).value, value!("[REDACTED]"));
//! let user = value!({ "name": "Ann", "address": { "zip": "2611", "city": "Delft" } });
//! let shown = redaction.serve(&Path::key("user"), &user);
//! assert_eq!(shown.value, value!({ "name": "Ann", "address": { "zip": "[REDACTED]", "city": "Delft" } }));
//! # Ok::<(), footprint::state::InvalidPattern>(())
//! ```

mod marks;
mod policy;
mod scrub;
mod taint;

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Serialize;

pub use marks::Marks;
pub use policy::{InvalidPattern, RedactionPolicy, RedactionRule};
pub use taint::MapperRead;

use super::path::Path;
use super::staging::inside_namespaces;
use crate::value::{Object, Str, Value};
use scrub::{Form, Scrub};

/// Stands for a value in the commit log and in the mirror.
pub const LOG_PLACEHOLDER: &str = "REDACTED";
/// Stands for a value everywhere else.
pub const SERVED_PLACEHOLDER: &str = "[REDACTED]";

/// A value as it may be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// The value, or what stands for it or for parts of it.
    pub value: Value,
    /// Whether anything was replaced.
    pub redacted: bool,
    /// Whether all of it was replaced.
    pub whole: bool,
}

/// What a policy and the run's marks covered: names only, never values.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RedactionReport {
    /// Keys the policy names, then keys that patterns or marks selected, in order of first sight.
    pub redacted_keys: Vec<Str>,
    /// Field paths per key.
    pub field_redactions: IndexMap<Str, Vec<Str>>,
    /// Pattern sources.
    pub patterns: Vec<Str>,
}

/// The rule and the marks in force, ready to be asked.
#[derive(Clone, Copy, Debug)]
pub struct Redaction<'a> {
    rule: Option<&'a RedactionRule>,
    marks: &'a Marks,
    local: &'a [Path],
}

impl<'a> Redaction<'a> {
    /// The run's rule (if it has one) and its marks.
    pub fn new(rule: Option<&'a RedactionRule>, marks: &'a Marks) -> Self {
        Self { rule, marks, local: &[] }
    }

    /// Adds the marks one visit made, see [`Staging::note_mark`](super::Staging::note_mark).
    pub fn with_local(self, local: &'a [Path]) -> Self {
        Self { local, ..self }
    }

    /// Whether nothing at all is redacted; the one branch an unredacted run pays.
    pub fn is_idle(&self) -> bool {
        self.rule.is_none() && self.marks.is_empty() && self.local.is_empty()
    }

    /// Whether everything under a root key is redacted.
    pub fn selects_key(&self, key: &str) -> bool {
        self.rule.is_some_and(|rule| rule.selects_key(key))
            || self.all_marks().any(|mark| mark.len() == 1 && mark.root_key() == Some(key))
    }

    /// Whether anything at, above or below a path is redacted.
    pub fn touches(&self, path: &Path) -> bool {
        let path = inside_namespaces(path.segments());
        path.first().is_some_and(|key| self.selects_key(key)) || !matches!(self.covers(path), Cover::Nothing)
    }

    /// A value under a state path, as events, narrative and the tree may show it.
    pub fn serve(&self, path: &Path, value: &Value) -> Served {
        self.in_form(path, value, Form::Served, &mut |_| {})
    }

    /// A value under a state path as the log and the mirror keep it. Every replaced path is reported.
    pub(super) fn log(&self, path: &Path, value: &Value, found: &mut dyn FnMut(Path)) -> Served {
        self.in_form(path, value, Form::Log, found)
    }

    fn in_form(&self, path: &Path, value: &Value, form: Form, found: &mut dyn FnMut(Path)) -> Served {
        if self.is_idle() {
            return Served { value: value.clone(), redacted: false, whole: false };
        }
        let mut scrub = Scrub::new(*self, form, found);
        match scrub.at(path.segments(), value) {
            None => Served { value: value.clone(), redacted: false, whole: false },
            Some(shown) => Served { whole: scrub.was_whole(), value: shown, redacted: true },
        }
    }

    /// A level's whole state as it may be shown.
    pub fn serve_state(&self, state: &Object) -> Object {
        self.state_in_form(state, Form::Served)
    }

    /// A level's whole state as its mirror starts: the twin of state that was there before the first commit.
    pub fn mirror_of(&self, state: &Object) -> Object {
        self.state_in_form(state, Form::Log)
    }

    fn state_in_form(&self, state: &Object, form: Form) -> Object {
        if self.is_idle() {
            return state.clone();
        }
        Scrub::new(*self, form, &mut |_| {}).state(state).unwrap_or_else(|| state.clone())
    }

    /// Data that crosses a boundary (mapped input, run input and output, pause payloads): every key at every
    /// depth is judged by name.
    pub fn serve_payload(&self, payload: &Value) -> Value {
        if self.is_idle() {
            return payload.clone();
        }
        Scrub::new(*self, Form::Served, &mut |_| {}).payload(payload).unwrap_or_else(|| payload.clone())
    }

    /// The payload of an emitted event.
    pub fn serve_emit(&self, name: &str, payload: &Value) -> Value {
        if self.rule.is_some_and(|rule| rule.selects_emit(name)) {
            return SERVED_PLACEHOLDER.into();
        }
        self.serve_payload(payload)
    }

    /// An entry of a diagnostic bag, judged as key `name`.
    pub fn serve_diagnostic(&self, name: &str, value: &Value) -> Value {
        if self.selects_key(name) || self.rule.is_some_and(|rule| rule.selects_diagnostic(name)) {
            return SERVED_PLACEHOLDER.into();
        }
        let fields = self.rule.and_then(|rule| rule.diagnostic_fields(name));
        let value = match fields {
            Some(fields) => {
                let mut found = |_| {};
                let mut scrub = Scrub::new(*self, Form::Served, &mut found);
                Cow::Owned(scrub.fields(value, fields).unwrap_or_else(|| value.clone()))
            }
            None => Cow::Borrowed(value),
        };
        let served = self.serve(&Path::key(name), &value);
        self.serve_payload(&served.value)
    }

    /// What was covered, by name.
    pub fn report(&self) -> RedactionReport {
        let mut report = RedactionReport::default();
        let from_policy = self.rule.into_iter().flat_map(RedactionRule::key_names);
        for key in from_policy.chain(self.marks.selected()) {
            if !report.redacted_keys.contains(key) {
                report.redacted_keys.push(key.clone());
            }
        }
        if let Some(rule) = self.rule {
            report.patterns = rule.pattern_sources();
            report.field_redactions = rule.field_names();
        }
        report
    }

    fn all_marks(&self) -> impl Iterator<Item = &'a Path> {
        self.marks.paths().iter().chain(self.local)
    }

    /// How marks and fields stand to a path inside its namespace; root keys are asked for separately.
    fn covers(&self, path: &[Str]) -> Cover<'a> {
        let mut below: Vec<&'a [Str]> = Vec::new();
        for mark in self.all_marks() {
            match relation(mark.segments(), path) {
                Some([]) => return Cover::Whole,
                Some(rest) => below.push(rest),
                None => {}
            }
        }
        if let (Some(rule), Some((key, inner))) = (self.rule, path.split_first()) {
            for field in rule.fields_of(key) {
                match relation(field.segments(), inner) {
                    Some([]) => return Cover::Whole,
                    Some(rest) => below.push(rest),
                    None => {}
                }
            }
        }
        if below.is_empty() { Cover::Nothing } else { Cover::Below(below) }
    }

    /// Whether a mark or field below `path` runs through a list inside `value` by position, so that a tail or
    /// a delta could not be matched against it.
    pub(super) fn needs_whole_value(&self, path: &Path, value: &Value) -> bool {
        if self.is_idle() {
            return false;
        }
        match self.covers(inside_namespaces(path.segments())) {
            Cover::Below(rests) => rests.iter().any(|rest| runs_through_list(value, rest)),
            Cover::Nothing | Cover::Whole => false,
        }
    }
}

/// How selection stands to a path.
enum Cover<'a> {
    Nothing,
    Whole,
    /// These patterns below it.
    Below(Vec<&'a [Str]>),
}

/// What is left of `pattern` below `path`: `[]` when the pattern covers it, `None` when they part.
fn relation<'a>(pattern: &'a [Str], path: &[Str]) -> Option<&'a [Str]> {
    let together = pattern.iter().zip(path).all(|(p, segment)| &**p == WILDCARD || p == segment);
    together.then(|| pattern.get(path.len()..).unwrap_or_default())
}

/// In a field path: any key, any position.
const WILDCARD: &str = "*";

fn runs_through_list(value: &Value, pattern: &[Str]) -> bool {
    match (value, pattern.split_first()) {
        (_, None) => false,
        (Value::Array(_), Some(_)) => true,
        (Value::Object(entries), Some((segment, rest))) if &**segment == WILDCARD => {
            entries.values().any(|child| runs_through_list(child, rest))
        }
        (_, Some((segment, rest))) => value.step(segment).is_some_and(|child| runs_through_list(child, rest)),
    }
}

#[cfg(test)]
mod tests;

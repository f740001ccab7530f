//! Compares a recorded value with an expected one: placeholders, numbers by value, fields that a newer rule added.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::expr::equal;

/// Fields of ours that a rule introduces after the reference's version; their presence is no difference.
const NEWER_FIELDS: &[&str] = &[
    "receipt",
    "phase",
    "initialState",
    "logAddress",
    "checkpointVersion",
    "toolFate",
    "requestMeasurement",
    "draftWithheld",
    "servedBy",
    "notDispatched",
    "frame",
    "resultOrigin",
    "resultReason",
    "toolChars",
    "argsError",
    "runLabel",
    "unpriced",
    "turnId",
    "pausedTurnId",
    "providerResponseRef",
    "channel",
    "recorderFailures",
    "defaultBranch",
    "answerGuarantee",
    "totalCacheReadTokens",
    "summarySha256",
    "integrity",
    "contentWithheld",
    // The root state keys of AGT §21 P-3 include it; the expectations leave it out.
    "finalContent",
];

/// Fields whose values are opaque: only presence and count are compared.
const OPAQUE_FIELDS: &[&str] =
    &["integrityFindingIds", "deliveredMessageKeys", "correctiveMessageHash", "summaryFingerprint"];

/// Whether a field or state key is newer than the reference's version.
pub(super) fn is_newer(name: &str) -> bool {
    NEWER_FIELDS.contains(&name)
}

/// What the placeholders of one scenario stand for, over all of its runs.
#[derive(Default)]
pub(super) struct Bindings {
    by_placeholder: BTreeMap<String, String>,
}

/// One difference: where, what was expected, what was found.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub at: String,
    pub expected: String,
    pub found: String,
}

/// Collects the differences between `expected` and `found` below `at`.
pub(super) fn compare(
    at: &str,
    expected: &Value,
    found: Option<&Value>,
    bindings: &mut Bindings,
    out: &mut Vec<Difference>,
) {
    let Some(found) = found else {
        out.push(difference(at, expected, &Value::String("(absent)".to_owned())));
        return;
    };
    match (expected, found) {
        // The name of a selector as parent of its own fork leaks a placeholder in the reference (OBS-23).
        (Value::String(pattern), Value::String(_)) if pattern == "selector-temp" => {}
        (Value::String(pattern), _) => {
            if !bindings.matches(pattern, found) {
                out.push(difference(at, expected, found));
            }
        }
        (Value::Object(wanted), _) if wanted.len() == 1 && wanted.contains_key("$json") => {
            let parsed = found.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            if let Some(inner) = wanted.get("$json") {
                compare(&format!("{at}($json)"), inner, parsed.as_ref(), bindings, out);
            }
        }
        (Value::Object(wanted), Value::Object(ours)) => {
            for (key, value) in wanted {
                let place = format!("{at}.{key}");
                if OPAQUE_FIELDS.contains(&key.as_str()) {
                    compare_opaque(&place, value, ours.get(key), out);
                } else {
                    compare(&place, value, ours.get(key), bindings, out);
                }
            }
            for (key, value) in ours {
                if !wanted.contains_key(key) && !NEWER_FIELDS.contains(&key.as_str()) {
                    let place = format!("{at}.{key}");
                    out.push(difference(&place, &Value::String("(absent)".to_owned()), value));
                }
            }
        }
        (Value::Array(wanted), Value::Array(ours)) => {
            if wanted.len() != ours.len() {
                out.push(Difference {
                    at: format!("{at}.length"),
                    expected: wanted.len().to_string(),
                    found: format!("{} {}", ours.len(), short(found)),
                });
            }
            for (index, (wanted, ours)) in wanted.iter().zip(ours).enumerate() {
                compare(&format!("{at}[{index}]"), wanted, Some(ours), bindings, out);
            }
        }
        _ => {
            if !equal(expected, found) {
                out.push(difference(at, expected, found));
            }
        }
    }
}

fn compare_opaque(at: &str, expected: &Value, found: Option<&Value>, out: &mut Vec<Difference>) {
    let count = |value: &Value| value.as_array().map(Vec::len);
    match found {
        Some(found) if count(expected) == count(found) => {}
        other => out.push(difference(at, expected, other.unwrap_or(&Value::Null))),
    }
}

/// A difference in short form.
pub(super) fn difference(at: &str, expected: &Value, found: &Value) -> Difference {
    Difference { at: at.to_owned(), expected: short(expected), found: short(found) }
}

/// The value as compact JSON, cut to a readable length.
pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(240).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

impl Bindings {
    /// Whether `found` is what the expected text says, placeholders included.
    fn matches(&mut self, pattern: &str, found: &Value) -> bool {
        match kind_of(pattern) {
            Some("text") => found.as_str().is_some_and(|text| mentions(pattern, text)),
            Some("hash" | "id" | "iso") => found.is_string(),
            Some("ms" | "chars" | "tokens" | "bytes") => found.is_number(),
            Some(_) => found.as_str().is_some_and(|text| self.bind(pattern, text)),
            None => match found.as_str() {
                Some(text) if text == pattern => true,
                Some(text) => self.matches_embedded(pattern, text),
                None => false,
            },
        }
    }

    /// Equal placeholders stand for equal values, different ones for different values.
    fn bind(&mut self, placeholder: &str, value: &str) -> bool {
        match self.by_placeholder.get(placeholder) {
            Some(bound) => bound == value,
            None => {
                let taken = self.by_placeholder.values().any(|bound| bound == value);
                if !taken {
                    self.by_placeholder.insert(placeholder.to_owned(), value.to_owned());
                }
                !taken
            }
        }
    }

    /// A text with placeholders inside it.
    fn matches_embedded(&mut self, pattern: &str, text: &str) -> bool {
        let Ok(token) =
            Regex::new(r"<(ms|iso|bytes|hash|chars|tokens|id|text|runId|engineRunId|ref)(:[^>]*)?>")
        else {
            return false;
        };
        let mut source = String::from("(?s)^");
        let mut names = Vec::new();
        let mut end = 0;
        for found in token.find_iter(pattern) {
            source.push_str(&regex::escape(pattern.get(end..found.start()).unwrap_or_default()));
            source.push_str("(.*?)");
            names.push(found.as_str());
            end = found.end();
        }
        if names.is_empty() {
            return false;
        }
        source.push_str(&regex::escape(pattern.get(end..).unwrap_or_default()));
        source.push('$');
        let Some(captures) = Regex::new(&source).ok().and_then(|regex| regex.captures(text)) else {
            return false;
        };
        names.iter().enumerate().all(|(index, name)| match (kind_of(name), captures.get(index + 1)) {
            (Some("runId" | "engineRunId" | "ref"), Some(part)) => self.bind(name, part.as_str()),
            (_, part) => part.is_some(),
        })
    }
}

/// `<ms>`, `<runId:2>`, `<text:["a"]>` … → `ms`, `runId`, `text`; anything else is literal.
fn kind_of(pattern: &str) -> Option<&'static str> {
    let inner = pattern.strip_prefix('<')?.strip_suffix('>')?;
    let name = inner.split(':').next().unwrap_or(inner);
    ["ms", "iso", "bytes", "hash", "chars", "tokens", "id", "text", "runId", "engineRunId", "ref"]
        .into_iter()
        .find(|kind| *kind == name)
}

/// `<text:["a","b"]>` wants a text that mentions these names of the scenario.
fn mentions(pattern: &str, text: &str) -> bool {
    let names = pattern.strip_prefix("<text:").and_then(|rest| rest.strip_suffix('>'));
    let Some(names) = names.and_then(|names| serde_json::from_str::<Vec<String>>(names).ok()) else {
        return true;
    };
    names.iter().all(|name| text.contains(name.as_str()))
}

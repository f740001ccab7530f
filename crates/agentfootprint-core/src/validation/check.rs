//! What a comparison answers (EVD-901), and the counting of it (EVD-904).

use std::collections::HashSet;

use footprint::value::{Object, Str, Value};

/// The longest reason and path of a check, in characters.
const MAX_REASON: usize = 1024;
const MAX_PATH: usize = 256;

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckDisposition {
    /// Compared, and it agrees.
    Pass,
    /// Compared, and it does not.
    Fail,
    /// What it would be compared with could not be reached.
    Unreachable,
    /// There is nothing to compare in this answer.
    NotApplicable,
}

impl CheckDisposition {
    /// The recorded word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "checked-pass",
            Self::Fail => "checked-fail",
            Self::Unreachable => "unreachable",
            Self::NotApplicable => "not-applicable",
        }
    }

    fn read(word: &str) -> Option<Self> {
        [Self::Pass, Self::Fail, Self::Unreachable, Self::NotApplicable]
            .into_iter()
            .find(|one| one.as_str() == word)
    }
}

/// One check of an answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AnswerCheck {
    /// Its id; unique in one report.
    pub id: Str,
    /// What it found.
    pub disposition: CheckDisposition,
    /// Why, at most 1024 characters. It is recorded: no payload belongs into it.
    pub reason: Option<Str>,
    /// Which part of the answer, at most 256 characters.
    pub path: Option<Str>,
    /// The artifacts it compared with; each must have been resolved by this validation.
    pub evidence_refs: Vec<Str>,
}

impl AnswerCheck {
    /// A check with what it found.
    pub fn new(id: impl Into<Str>, disposition: CheckDisposition) -> Self {
        Self { id: id.into(), disposition, reason: None, path: None, evidence_refs: Vec::new() }
    }

    /// Compared, and it agrees.
    pub fn pass(id: impl Into<Str>) -> Self {
        Self::new(id, CheckDisposition::Pass)
    }

    /// Compared, and it does not agree.
    pub fn fail(id: impl Into<Str>) -> Self {
        Self::new(id, CheckDisposition::Fail)
    }

    /// It could not be compared.
    pub fn unreachable(id: impl Into<Str>) -> Self {
        Self::new(id, CheckDisposition::Unreachable)
    }

    /// There was nothing to compare.
    pub fn not_applicable(id: impl Into<Str>) -> Self {
        Self::new(id, CheckDisposition::NotApplicable)
    }

    /// Says why.
    #[must_use]
    pub fn reason(mut self, text: impl Into<Str>) -> Self {
        self.reason = Some(text.into());
        self
    }

    /// Says which part of the answer.
    #[must_use]
    pub fn path(mut self, path: impl Into<Str>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Names what it compared with.
    #[must_use]
    pub fn evidence<S: Into<Str>>(mut self, refs: impl IntoIterator<Item = S>) -> Self {
        self.evidence_refs.extend(refs.into_iter().map(Into::into));
        self
    }

    pub(super) fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("id", Value::from(self.id.clone()));
        out.insert("disposition", Value::from(self.disposition.as_str()));
        for (key, text) in [("reason", &self.reason), ("path", &self.path)] {
            if let Some(text) = text {
                out.insert(key, Value::from(text.clone()));
            }
        }
        if !self.evidence_refs.is_empty() {
            out.insert(
                "evidenceRefs",
                Value::Array(self.evidence_refs.iter().cloned().map(Value::from).collect()),
            );
        }
        Value::Object(out)
    }

    /// Reads a recorded check back.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_shared_str).cloned();
        let refs = value.get("evidenceRefs").and_then(Value::as_array);
        Some(Self {
            id: text("id")?,
            disposition: CheckDisposition::read(&text("disposition")?)?,
            reason: text("reason"),
            path: text("path"),
            evidence_refs: refs
                .into_iter()
                .flatten()
                .filter_map(|one| one.as_shared_str().cloned())
                .collect(),
        })
    }
}

/// Whether these checks are an answer at all: as many as allowed, each well formed, on evidence that was really read.
pub(super) fn well_formed(checks: &[AnswerCheck], most: usize, resolved: &[Str]) -> bool {
    let mut ids = HashSet::new();
    let fits =
        |text: &Option<Str>, most: usize| text.as_ref().is_none_or(|text| text.chars().count() <= most);
    checks.len() <= most
        && checks.iter().all(|check| {
            let mut refs = HashSet::new();
            !check.id.trim().is_empty()
                && ids.insert(&check.id)
                && fits(&check.reason, MAX_REASON)
                && fits(&check.path, MAX_PATH)
                && check.evidence_refs.iter().all(|one| refs.insert(one) && resolved.contains(one))
        })
}

/// How many of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) checked: usize,
    pub(super) failed: usize,
    pub(super) unreachable: usize,
    pub(super) not_applicable: usize,
}

impl Tally {
    pub(super) fn of(checks: &[AnswerCheck]) -> Self {
        let mut out = Self::default();
        for check in checks {
            match check.disposition {
                CheckDisposition::Pass => out.checked += 1,
                CheckDisposition::Fail => {
                    out.checked += 1;
                    out.failed += 1;
                }
                CheckDisposition::Unreachable => out.unreachable += 1,
                CheckDisposition::NotApplicable => out.not_applicable += 1,
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves EVD-901: an answer that is none.
    #[test]
    fn malformed_checks_are_no_answer() {
        let resolved = [Str::from("art_1")];
        let good = |checks: &[AnswerCheck]| well_formed(checks, 2, &resolved);
        let fine = AnswerCheck::fail("a").reason("r".repeat(1024)).path("p".repeat(256)).evidence(["art_1"]);
        assert!(good(&[]) && good(&[fine.clone(), AnswerCheck::pass("b")]));
        assert!(!good(&[AnswerCheck::pass("a"), AnswerCheck::fail("a")]));
        assert!(!good(&[AnswerCheck::pass(" ")]));
        assert!(!good(&[AnswerCheck::pass("a").reason("r".repeat(1025))]));
        assert!(!good(&[AnswerCheck::pass("a").path("p".repeat(257))]));
        assert!(!good(&[AnswerCheck::pass("a").evidence(["art_1", "art_1"])]));
        assert!(!good(&[AnswerCheck::pass("a").evidence(["art_2"])]));
        assert!(!good(&["a", "b", "c"].map(AnswerCheck::pass)));
        assert_eq!(AnswerCheck::read(&fine.to_value()), Some(fine));
    }
}

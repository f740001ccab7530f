//! Finding steps (OBS-202).

use std::collections::HashSet;

use super::{LogView, TraceQuery};
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::state::Path;
use crate::value::{Object, Value, utf16};

/// What a search looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// Text to find, ignoring case, in stage names, keys, values and narrative.
    pub text: Option<String>,
    /// A state key (or a path with dots) that was written or read.
    pub key: Option<String>,
    /// Matches to return at most.
    pub limit: usize,
}

impl Default for SearchQuery {
    fn default() -> Self {
        Self { text: None, key: None, limit: 25 }
    }
}

impl SearchQuery {
    /// Finds a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Finds a key.
    pub fn key(key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..Self::default() }
    }
}

/// Where a search found something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HitKind {
    /// The step's name or stage id.
    Name,
    /// A key it wrote or read.
    Key,
    /// A value it wrote.
    Value,
    /// The narrative.
    Narrative,
}

impl HitKind {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Key => "key",
            Self::Value => "value",
            Self::Narrative => "narrative",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Where it was found.
    pub kind: HitKind,
    /// The step.
    pub runtime_stage_id: RuntimeStageId,
    /// The commit, when there is one.
    pub commit_idx: Option<CommitIdx>,
    /// The key, name or text it was found in, shortened.
    pub preview: String,
}

impl Hit {
    /// The JSON object `{where, runtimeStageId, commitIdx?, preview}`.
    pub fn to_value(&self) -> Value {
        let mut row = Object::new();
        row.insert("where", self.kind.word().into());
        row.insert("runtimeStageId", self.runtime_stage_id.to_string().into());
        if let Some(commit) = self.commit_idx {
            row.insert("commitIdx", commit.0.into());
        }
        row.insert("preview", self.preview.as_str().into());
        Value::Object(row)
    }
}

/// The findings, in commit order, narrative last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchHits {
    /// Up to the limit.
    pub hits: Vec<Hit>,
    /// Whether there are more.
    pub more: bool,
}

/// Texts of a value that a search looks into at most.
const VALUE_TEXTS: usize = 64;
/// Characters around a match that a preview shows.
const AROUND: usize = 40;

impl LogView {
    /// Finds steps by key, name, value or narrative text.
    pub fn search(&self, query: &SearchQuery) -> SearchHits {
        let needle = query.text.as_ref().map(|t| t.to_lowercase()).filter(|t| !t.is_empty());
        let mut found = Found { limit: query.limit, seen: HashSet::new(), out: SearchHits::default() };
        for commit in 0..self.index().len {
            let Some(bundle) = self.bundle(commit).filter(|_| self.index().step_at(commit).is_some()) else {
                continue;
            };
            let id = &bundle.runtime_stage_id;
            let at = Some(CommitIdx(commit as usize));
            if let Some(needle) = &needle {
                for name in [&bundle.stage, &bundle.stage_id] {
                    if let Some(preview) = excerpt(name, needle) {
                        found.add(HitKind::Name, id, at, preview);
                    }
                }
            }
            for row in &bundle.rows {
                let path = row.path.to_string();
                let root = row.path.root_key();
                let wanted = query.key.as_deref().is_some_and(|k| k == path || Some(k) == root);
                if wanted || needle.as_ref().is_some_and(|n| path.to_lowercase().contains(n)) {
                    found.add(HitKind::Key, id, at, format!("{} {path}", row.verb));
                }
                if let Some(text) = needle.as_ref().and_then(|n| find_in(&row.value, n)) {
                    found.add(HitKind::Value, id, at, format!("{path}: {text}"));
                }
            }
            if found.full() {
                return found.out;
            }
        }
        self.search_reads(query.key.as_deref(), needle.as_deref(), &mut found);
        if let Some(needle) = &needle {
            for entry in self.narrative().unwrap_or_default() {
                let Some(id) = entry.runtime_stage_id.as_ref().filter(|id| self.has_step(id)) else {
                    continue;
                };
                if let Some(preview) = excerpt(&entry.text, needle) {
                    found.add(HitKind::Narrative, id, None, preview);
                }
            }
        }
        found.out
    }

    fn search_reads(&self, key: Option<&str>, needle: Option<&str>, found: &mut Found) {
        let index = self.index();
        for (symbol, steps) in self.readers().iter().enumerate() {
            let name = &*Path::from_wire(index.name(symbol as u32)).to_string();
            let wanted = key == Some(name) || needle.is_some_and(|n| name.to_lowercase().contains(n));
            for step in steps.iter().filter(|_| wanted) {
                if let (Some(id), Some(step)) = (self.step_id(*step), index.step(*step)) {
                    let at = Some(CommitIdx(step.first as usize));
                    found.add(HitKind::Key, id, at, format!("read {name}"));
                }
            }
        }
    }
}

struct Found {
    limit: usize,
    seen: HashSet<(HitKind, RuntimeStageId, String)>,
    out: SearchHits,
}

impl Found {
    fn add(&mut self, kind: HitKind, id: &RuntimeStageId, commit_idx: Option<CommitIdx>, preview: String) {
        if !self.seen.insert((kind, id.clone(), preview.clone())) {
            return;
        }
        if self.out.hits.len() >= self.limit {
            self.out.more = true;
            return;
        }
        self.out.hits.push(Hit { kind, runtime_stage_id: id.clone(), commit_idx, preview });
    }

    fn full(&self) -> bool {
        self.out.more
    }
}

/// The first text of a value that contains the needle, with its surroundings. Walks with an explicit stack and looks at a bounded part.
fn find_in(value: &Value, needle: &str) -> Option<String> {
    let mut pending = vec![value];
    let mut looked = 0;
    while let Some(value) = pending.pop() {
        looked += 1;
        if looked > VALUE_TEXTS {
            return None;
        }
        match value {
            Value::String(text) => {
                if let Some(found) = excerpt(text, needle) {
                    return Some(found);
                }
            }
            Value::Number(number) => {
                if let Some(found) = excerpt(&number.to_string(), needle) {
                    return Some(found);
                }
            }
            Value::Array(items) => pending.extend(items.iter().take(VALUE_TEXTS)),
            Value::Object(entries) => pending.extend(entries.values().take(VALUE_TEXTS)),
            Value::Null | Value::Bool(_) => {}
        }
    }
    None
}

/// The part of a text around a (lower-case) needle.
fn excerpt(text: &str, needle: &str) -> Option<String> {
    let at = text.to_lowercase().find(needle)?;
    if text.len() <= 2 * AROUND + needle.len() {
        return Some(text.to_owned());
    }
    // Lower-casing may shift bytes; any character boundary near the match will do for a preview.
    let from = (0..=at.saturating_sub(AROUND).min(text.len())).rev().find(|i| text.is_char_boundary(*i));
    let rest = from.and_then(|from| text.get(from..)).unwrap_or(text);
    Some(utf16::prefix(rest, 2 * AROUND + needle.len()).to_owned())
}

impl TraceQuery {
    /// Finds steps of the run's own log by key, name, value or narrative text.
    pub fn search(&self, query: &SearchQuery) -> SearchHits {
        self.root().search(query)
    }
}

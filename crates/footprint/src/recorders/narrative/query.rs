//! Searching a narrative, live or stored (OBS-84).

use super::{NarrativeEntry, NarrativeType};
use crate::ids::RuntimeStageId;

/// A search over narrative entries. Conditions are ANDed; the answer is a page.
///
/// ```
/// use footprint::recorders::{NarrativeQuery, NarrativeType};
/// let query = NarrativeQuery { kind: Some(NarrativeType::Step), key: Some("total".into()), ..NarrativeQuery::default() };
/// assert_eq!(query.limit, 50);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NarrativeQuery {
    /// Entries of this type.
    pub kind: Option<NarrativeType>,
    /// Entries about this state key.
    pub key: Option<String>,
    /// Entries of this step.
    pub step_id: Option<RuntimeStageId>,
    /// Entries of this subflow; `""` is the root.
    pub subflow: Option<String>,
    /// Entries whose text contains this, ignoring case.
    pub text_contains: Option<String>,
    /// Matches to skip.
    pub offset: usize,
    /// Matches to return at most.
    pub limit: usize,
}

impl Default for NarrativeQuery {
    fn default() -> Self {
        Self {
            kind: None,
            key: None,
            step_id: None,
            subflow: None,
            text_contains: None,
            offset: 0,
            limit: 50,
        }
    }
}

/// One page of matches.
#[derive(Clone, Debug, PartialEq)]
pub struct NarrativeHits<'a> {
    /// How many entries match in all.
    pub total: usize,
    /// The page, each with its position in the narrative.
    pub entries: Vec<(usize, &'a NarrativeEntry)>,
}

impl NarrativeQuery {
    /// Runs the search.
    pub fn find<'a>(&self, entries: impl IntoIterator<Item = &'a NarrativeEntry>) -> NarrativeHits<'a> {
        let needle = self.text_contains.as_ref().map(|t| t.to_lowercase());
        let mut hits = NarrativeHits { total: 0, entries: Vec::new() };
        for (at, entry) in entries.into_iter().enumerate() {
            if !self.matches(entry, needle.as_deref()) {
                continue;
            }
            if hits.total >= self.offset && hits.entries.len() < self.limit {
                hits.entries.push((at, entry));
            }
            hits.total += 1;
        }
        hits
    }

    fn matches(&self, entry: &NarrativeEntry, needle: Option<&str>) -> bool {
        self.kind.is_none_or(|kind| entry.kind == Some(kind))
            && self.key.as_deref().is_none_or(|key| entry.key.as_deref() == Some(key))
            && self.step_id.as_ref().is_none_or(|step| entry.runtime_stage_id.as_ref() == Some(step))
            && self.subflow.as_deref().is_none_or(|sub| entry.subflow_id.as_deref().unwrap_or("") == sub)
            && needle.is_none_or(|needle| entry.text.to_lowercase().contains(needle))
    }
}

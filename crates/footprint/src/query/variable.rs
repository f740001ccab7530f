//! The variable slice: what led to a value (OBS-165…168).

use super::{CommitRef, notes::add};
use super::{
    EdgeAttribution, LogView, Note, NoteCode, QueryError, ReadSource, Slice, SliceOptions, StateKey,
};
use crate::ids::CommitIdx;

/// Why a key has no slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMissing {
    /// Nothing was committed.
    EmptyLog,
    /// No commit (before the position) wrote the key: initial state, run input or code outside state.
    NeverWritten,
}

impl KeyMissing {
    /// The JSON word.
    pub fn word(self) -> &'static str {
        match self {
            Self::EmptyLog => "empty-log",
            Self::NeverWritten => "never-written",
        }
    }
}

/// How many steps have recorded reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadsCoverage {
    /// Steps of the log.
    pub steps: usize,
    /// Steps with at least one recorded read. Zero of several means that reads were not recorded, never that nothing depends on anything.
    pub steps_with_reads: usize,
}

/// The slice of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySlice {
    /// The key.
    pub key: StateKey,
    /// The exclusive position it was asked for.
    pub before: Option<CommitIdx>,
    /// The last commit that wrote it.
    pub writer: Option<CommitRef>,
    /// What led to that commit; absent exactly when `missing` is present.
    pub slice: Option<Slice>,
    /// Why there is no slice.
    pub missing: Option<KeyMissing>,
    /// Where reads came from.
    pub keys_read_kind: &'static str,
    /// How many steps have recorded reads.
    pub reads_coverage: Option<ReadsCoverage>,
    /// What the answer must say about itself.
    pub notes: Vec<Note>,
}

impl SliceOptions {
    /// The options of a variable slice: links drag in only the reads that came before the write, where rows say so.
    pub fn for_key() -> Self {
        Self { edge_attribution: EdgeAttribution::PerWrite, ..Self::default() }
    }
}

impl LogView {
    /// What led to the value of a key: the last commit that wrote it (strictly before `before`), and what led there.
    ///
    /// To follow a list item, pass `before = birth.commit_idx + 1`: a birth is inclusive, `before` is exclusive.
    ///
    /// # Errors
    /// [`QueryError::InvalidLimit`].
    pub fn slice_for_key(
        &self,
        key: &StateKey,
        before: Option<CommitIdx>,
        options: &SliceOptions,
    ) -> Result<KeySlice, QueryError> {
        options.check()?;
        let mut options = options.clone();
        options.root_link_keys = Some(vec![key.clone()]);
        let writer = self.last_writer(key, before);
        let slice = writer.as_ref().and_then(|w| self.slice_from(w.commit_idx.0 as u32, &options));
        let missing = match slice {
            Some(_) => None,
            None if self.is_empty() => Some(KeyMissing::EmptyLog),
            None => Some(KeyMissing::NeverWritten),
        };
        let mut notes = slice.as_ref().map(|s| s.notes.clone()).unwrap_or_default();
        if missing == Some(KeyMissing::NeverWritten) {
            let known = self.known_key_note(key).unwrap_or_else(|| Note::of(NoteCode::PreRunOrigin));
            add(&mut notes, known);
        }
        Ok(KeySlice {
            key: key.clone(),
            before,
            writer,
            slice,
            missing,
            keys_read_kind: options.reads.word(),
            reads_coverage: Some(self.reads_coverage(&options.reads)),
            notes,
        })
    }

    /// How many steps of this log have recorded reads.
    pub fn reads_coverage(&self, source: &ReadSource) -> ReadsCoverage {
        let index = self.index();
        let steps = index.steps.len();
        let steps_with_reads = match source {
            ReadSource::ExecutionTree => index.steps_with_reads as usize,
            _ => (0..steps as u32)
                .filter(|s| self.reads_by(source, *s).is_some_and(|reads| !reads.is_empty()))
                .count(),
        };
        ReadsCoverage { steps, steps_with_reads }
    }

    /// Says that a key is unknown, with the known keys, so that a typo never reads as "no history"; `None` when the key is known.
    pub(super) fn known_key_note(&self, key: &StateKey) -> Option<Note> {
        const SHOWN: usize = 20;
        let index = self.index();
        let seeded = self.initial_state().is_some_and(|s| s.contains_key(key.root()));
        let read = index.symbol_of(key.root()).is_some();
        if seeded || read {
            return None;
        }
        let roots = index.roots();
        let mut known: Vec<String> = roots
            .iter()
            .take(SHOWN)
            .filter_map(|n| index.path(*n).first().map(ToString::to_string))
            .collect();
        if roots.len() > SHOWN {
            known.push(format!("{} more", roots.len() - SHOWN));
        }
        let detail =
            format!("no commit writes `{key}` and no step reads it; known keys: {}", known.join(", "));
        Some(Note::with(NoteCode::UnknownKey, detail))
    }
}

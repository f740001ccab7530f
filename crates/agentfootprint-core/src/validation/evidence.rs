//! Reading artifacts while an answer is validated (EVD-907).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use footprint::value::Str;
use thiserror::Error;
use tokio::sync::OnceCell;

use super::options::AnswerValidationLimits;
use crate::artifacts::{ArtifactError, ArtifactRecord, ArtifactScope, ArtifactStore};
use crate::run::lock;

/// Why a validator got no evidence. Missing, expired and foreign are one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnswerEvidenceRefusal {
    /// The validation is over.
    #[error("the validation this reader belongs to is over")]
    Closed,
    /// A blank reference or kind.
    #[error("a reference and a kind are needed")]
    InvalidInput,
    /// The agent has no artifact store.
    #[error("this agent has no artifact store")]
    NoStore,
    /// Nothing answers to the reference.
    #[error("no artifact answers to that reference in this run's scope")]
    MissingOrExpired,
    /// It is of another kind.
    #[error("the artifact is of another kind")]
    KindMismatch,
    /// The payload is not what its digest says.
    #[error("the artifact does not match its digest")]
    DigestMismatch,
    /// More artifacts than one validation may read.
    #[error("this validation has read as many artifacts as it may")]
    MaxReads,
    /// More bytes than one validation may read.
    #[error("this validation has read as many bytes as it may")]
    MaxBytes,
    /// Ticket and payload do not agree.
    #[error("the artifact's ticket and payload do not agree")]
    InvalidRecord,
    /// The store failed.
    #[error("the artifact store failed")]
    Store,
}

impl AnswerEvidenceRefusal {
    /// The recorded word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::InvalidInput => "invalid-input",
            Self::NoStore => "no-store",
            Self::MissingOrExpired => "missing-or-expired",
            Self::KindMismatch => "kind-mismatch",
            Self::DigestMismatch => "digest-mismatch",
            Self::MaxReads => "max-reads",
            Self::MaxBytes => "max-bytes",
            Self::InvalidRecord => "invalid-record",
            Self::Store => "store-error",
        }
    }
}

type Answer = Result<ArtifactRecord, AnswerEvidenceRefusal>;
type Read = Arc<OnceCell<Answer>>;

/// The run's artifacts, for a validator: one verb, no listing and no way to another scope. It closes when the validation ends,
/// so a reader that is kept reads nothing later.
#[derive(Clone)]
pub struct AnswerEvidence(Arc<Inner>);

struct Inner {
    store: Option<(Arc<dyn ArtifactStore>, ArtifactScope)>,
    max_reads: usize,
    state: Mutex<State>,
}

struct State {
    closed: bool,
    reads: HashMap<(Str, Str), Read>,
    bytes_left: u64,
    pending: usize,
    first_refusal: Option<AnswerEvidenceRefusal>,
    resolved: Vec<Str>,
}

/// Counts a read while it is under way; also when its future is dropped.
struct Pending<'a>(&'a Inner);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).pending -= 1;
    }
}

impl AnswerEvidence {
    pub(super) fn new(
        store: Option<(Arc<dyn ArtifactStore>, ArtifactScope)>,
        limits: &AnswerValidationLimits,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            max_reads: limits.max_reads,
            state: Mutex::new(State {
                closed: false,
                reads: HashMap::new(),
                bytes_left: limits.max_bytes,
                pending: 0,
                first_refusal: None,
                resolved: Vec::new(),
            }),
        }))
    }

    /// The artifact of this reference, which must be of this kind. Asking again for the same one reads nothing again.
    ///
    /// # Errors
    /// [`AnswerEvidenceRefusal`]; the first one is the reason of the report.
    pub async fn resolve(&self, reference: &str, kind: &str) -> Answer {
        let inner = &*self.0;
        let begun = inner.begin(reference, kind);
        let answer = match begun {
            Err(refusal) => Err(refusal),
            Ok(read) => {
                let _pending = Pending(inner);
                read.get_or_init(|| inner.read(reference, kind)).await.clone()
            }
        };
        inner.note(reference, answer)
    }

    /// Ends all reading: the first refusal, if there was any, and what was resolved, in order.
    pub(super) fn close(&self) -> (Option<AnswerEvidenceRefusal>, Vec<Str>) {
        let mut state = lock(&self.0.state);
        state.closed = true;
        let unfinished = (state.pending > 0).then_some(AnswerEvidenceRefusal::Closed);
        (state.first_refusal.or(unfinished), state.resolved.clone())
    }
}

impl Inner {
    /// The read of this artifact, new or shared.
    fn begin(&self, reference: &str, kind: &str) -> Result<Read, AnswerEvidenceRefusal> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(AnswerEvidenceRefusal::Closed);
        }
        if reference.trim().is_empty() || kind.trim().is_empty() {
            return Err(AnswerEvidenceRefusal::InvalidInput);
        }
        if self.store.is_none() {
            return Err(AnswerEvidenceRefusal::NoStore);
        }
        let key = (Str::from(reference), Str::from(kind));
        let known = state.reads.get(&key).cloned();
        let read = match known {
            Some(read) => read,
            None if state.reads.len() >= self.max_reads => return Err(AnswerEvidenceRefusal::MaxReads),
            None => state.reads.entry(key).or_default().clone(),
        };
        state.pending += 1;
        Ok(read)
    }

    /// The bytes are reserved before they are read, so that reads at once share the budget.
    async fn read(&self, reference: &str, kind: &str) -> Answer {
        let Some((store, scope)) = &self.store else { return Err(AnswerEvidenceRefusal::NoStore) };
        let failed = |error: ArtifactError| match error {
            ArtifactError::Integrity { .. } => AnswerEvidenceRefusal::DigestMismatch,
            _ => AnswerEvidenceRefusal::Store,
        };
        let head = store.head(scope, reference).await.map_err(failed)?;
        let head = head.ok_or(AnswerEvidenceRefusal::MissingOrExpired)?;
        if &*head.kind != kind {
            return Err(AnswerEvidenceRefusal::KindMismatch);
        }
        {
            let mut state = lock(&self.state);
            state.bytes_left =
                state.bytes_left.checked_sub(head.bytes).ok_or(AnswerEvidenceRefusal::MaxBytes)?;
        }
        let record = store.get(scope, reference).await.map_err(failed)?;
        let record = record.ok_or(AnswerEvidenceRefusal::MissingOrExpired)?;
        let agrees = record.meta.reference == head.reference
            && record.meta.reference.as_str() == reference
            && record.meta.kind == head.kind
            && record.meta.digest == head.digest
            && record.meta.bytes == head.bytes
            && record.data.canonical_bytes().len() as u64 == head.bytes;
        if agrees { Ok(record) } else { Err(AnswerEvidenceRefusal::InvalidRecord) }
    }

    fn note(&self, reference: &str, answer: Answer) -> Answer {
        let mut state = lock(&self.state);
        // What ends after the validation is no evidence of it.
        let answer = if state.closed { Err(AnswerEvidenceRefusal::Closed) } else { answer };
        match &answer {
            Ok(_) if !state.resolved.iter().any(|known| **known == *reference) => {
                state.resolved.push(reference.into());
            }
            Ok(_) => {}
            Err(refusal) => {
                state.first_refusal.get_or_insert(*refusal);
            }
        }
        answer
    }
}

impl fmt::Debug for AnswerEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerEvidence").field("attached", &self.0.store.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifacts::{ArtifactData, PutArtifact, in_memory_artifacts};

    async fn held(texts: &[&str]) -> (AnswerEvidence, Vec<String>) {
        let (store, scope) = (in_memory_artifacts(), ArtifactScope::conversation("c"));
        let mut refs = Vec::new();
        for text in texts {
            let put = PutArtifact::new("table", "text/plain", ArtifactData::text(*text));
            refs.push(store.put(&scope, put).await.unwrap().meta.reference.to_string());
        }
        let limits = AnswerValidationLimits { max_reads: 3, max_bytes: 10, ..Default::default() };
        (AnswerEvidence::new(Some((Arc::new(store), scope)), &limits), refs)
    }

    /// Proves EVD-907: exact kind, shared reads, budgets in reads and bytes, and nothing after the end.
    #[tokio::test]
    async fn evidence_is_read_within_its_limits() {
        let (evidence, refs) = held(&["123456", "1234", "1"]).await;
        let (one, again) =
            tokio::join!(evidence.resolve(&refs[0], "table"), evidence.resolve(&refs[0], "table"));
        assert_eq!((one.unwrap().meta.bytes, again.unwrap().meta.bytes), (6, 6));
        // Ten bytes would suffice for two of them only because the first was read once.
        assert!(evidence.resolve(&refs[1], "table").await.is_ok());
        let refused = evidence.resolve(&refs[2], "table").await.unwrap_err();
        assert_eq!(refused, AnswerEvidenceRefusal::MaxBytes);
        assert_eq!(evidence.resolve("art_x", "table").await.unwrap_err(), AnswerEvidenceRefusal::MaxReads);
        assert_eq!(evidence.resolve(" ", "table").await.unwrap_err(), AnswerEvidenceRefusal::InvalidInput);
        let resolved: Vec<Str> = refs.iter().take(2).map(|one| Str::from(one.as_str())).collect();
        assert_eq!(evidence.close(), (Some(AnswerEvidenceRefusal::MaxBytes), resolved));
        assert_eq!(evidence.resolve(&refs[0], "table").await.unwrap_err(), AnswerEvidenceRefusal::Closed);
    }

    /// Proves EVD-907: missing and foreign are one answer; another kind and a missing store are named.
    #[tokio::test]
    async fn refusals_by_cause() {
        let (evidence, refs) = held(&["1"]).await;
        assert_eq!(
            evidence.resolve(&refs[0], "chart").await.unwrap_err(),
            AnswerEvidenceRefusal::KindMismatch
        );
        let foreign = "art_0123456789abcdefghijKL";
        assert_eq!(
            evidence.resolve(foreign, "table").await.unwrap_err(),
            AnswerEvidenceRefusal::MissingOrExpired
        );
        let none = AnswerEvidence::new(None, &AnswerValidationLimits::default());
        assert_eq!(none.resolve(foreign, "table").await.unwrap_err(), AnswerEvidenceRefusal::NoStore);
        assert_eq!(none.close().0, Some(AnswerEvidenceRefusal::NoStore));
    }
}

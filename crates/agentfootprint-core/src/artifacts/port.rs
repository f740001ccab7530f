//! What a store has to do, and how it refuses.

use std::sync::Arc;

use agentfootprint_record::events::words::{ArtifactRefusal, ExpiryReason};
use async_trait::async_trait;
use footprint::value::Str;
use thiserror::Error;

use super::shape::{ArtifactData, ArtifactMeta, ArtifactOrigin, ArtifactRecord, ArtifactRef, ArtifactScope};

/// How a digest is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DigestAlgorithm {
    /// `sha-256:<hex>` over the canonical bytes.
    Sha256,
}

/// A payload on its way into a store.
///
/// ```
/// use agentfootprint_core::artifacts::{ArtifactData, PutArtifact};
/// let put = PutArtifact::new("table", "text/csv", ArtifactData::text("a,b")).label("orders");
/// assert_eq!(put.label.as_deref(), Some("orders"));
/// ```
#[derive(Clone, Debug)]
pub struct PutArtifact {
    /// What kind of thing it is; not blank.
    pub kind: Str,
    /// Its media type; not blank.
    pub media_type: Str,
    /// The payload.
    pub data: ArtifactData,
    /// A name for people.
    pub label: Option<Str>,
    /// The digest the ticket shall carry; every read is held against it.
    pub digest: Option<DigestAlgorithm>,
    /// When it may leave, Unix milliseconds; a store may shorten this, never extend it.
    pub expires_at: Option<u64>,
    /// Which call made it.
    pub origin: Option<ArtifactOrigin>,
    /// What it was made from; each must be readable in the same scope.
    pub parent_refs: Vec<ArtifactRef>,
}

impl PutArtifact {
    /// A payload without anything optional.
    pub fn new(kind: impl Into<Str>, media_type: impl Into<Str>, data: impl Into<ArtifactData>) -> Self {
        Self {
            kind: kind.into(),
            media_type: media_type.into(),
            data: data.into(),
            label: None,
            digest: None,
            expires_at: None,
            origin: None,
            parent_refs: Vec::new(),
        }
    }

    /// Names it for people.
    #[must_use]
    pub fn label(mut self, label: impl Into<Str>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Has a SHA-256 digest on the ticket, and every read held against it.
    #[must_use]
    pub fn with_digest(mut self) -> Self {
        self.digest = Some(DigestAlgorithm::Sha256);
        self
    }

    /// States when it may leave, Unix milliseconds.
    #[must_use]
    pub fn expires_at(mut self, at: u64) -> Self {
        self.expires_at = Some(at);
        self
    }

    /// States what it was made from.
    #[must_use]
    pub fn parents(mut self, parents: impl IntoIterator<Item = ArtifactRef>) -> Self {
        self.parent_refs.extend(parents);
        self
    }
}

/// A row that left to make room, or because its time was over.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    /// Which.
    pub reference: ArtifactRef,
    /// Why.
    pub reason: ExpiryReason,
    /// Its kind.
    pub kind: Str,
    /// Its size.
    pub bytes: u64,
}

/// A minted ticket, and what had to leave for it.
#[derive(Clone, Debug, PartialEq)]
pub struct PutResult {
    /// The ticket.
    pub meta: ArtifactMeta,
    /// What left.
    pub swept: Vec<Swept>,
}

/// Which page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListArtifacts {
    /// Where the previous page ended; one this store did not make starts at the beginning.
    pub cursor: Option<Str>,
    /// How many rows; 50 by default.
    pub limit: Option<usize>,
}

/// One page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Where the next page begins; none when this is the last.
    pub cursor: Option<Str>,
}

/// Which row leaves first when a budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The one nobody looked at for longest.
    LeastRecentlyUsed,
    /// The oldest one.
    OldestFirst,
}

/// What a store says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactTraits {
    /// Its name.
    pub name: Str,
    /// Whether its rows outlive the process.
    pub durable: bool,
    /// What leaves first.
    pub eviction: Eviction,
}

/// A governed store of payloads: five verbs, no query and no transform (MEM-122).
///
/// Missing, expired and foreign are one answer: none. A refused `put` burns no reference, evicts nothing and leaves no byte.
#[async_trait]
pub trait ArtifactStore: Send + Sync + 'static {
    /// Checks a payload in.
    ///
    /// # Errors
    /// [`ArtifactError`] when the input is refused or the store fails; nothing is kept then.
    async fn put(&self, scope: &ArtifactScope, input: PutArtifact) -> Result<PutResult, ArtifactError>;

    /// The ticket, without the payload.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn head(
        &self,
        scope: &ArtifactScope,
        reference: &str,
    ) -> Result<Option<ArtifactMeta>, ArtifactError>;

    /// Ticket and payload; the payload is held against its digest.
    ///
    /// # Errors
    /// [`ArtifactError::Integrity`] when they differ, or when the store fails.
    async fn get(
        &self,
        scope: &ArtifactScope,
        reference: &str,
    ) -> Result<Option<ArtifactRecord>, ArtifactError>;

    /// Removes it; removing what is not there is agreement.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn delete(&self, scope: &ArtifactScope, reference: &str) -> Result<(), ArtifactError>;

    /// Tickets of the scope, newest first.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn list(
        &self,
        scope: &ArtifactScope,
        which: ListArtifacts,
    ) -> Result<Page<ArtifactMeta>, ArtifactError>;

    /// What the store says about itself.
    fn traits(&self) -> ArtifactTraits;
}

#[async_trait]
impl<S: ArtifactStore + ?Sized> ArtifactStore for Arc<S> {
    async fn put(&self, scope: &ArtifactScope, input: PutArtifact) -> Result<PutResult, ArtifactError> {
        (**self).put(scope, input).await
    }

    async fn head(
        &self,
        scope: &ArtifactScope,
        reference: &str,
    ) -> Result<Option<ArtifactMeta>, ArtifactError> {
        (**self).head(scope, reference).await
    }

    async fn get(
        &self,
        scope: &ArtifactScope,
        reference: &str,
    ) -> Result<Option<ArtifactRecord>, ArtifactError> {
        (**self).get(scope, reference).await
    }

    async fn delete(&self, scope: &ArtifactScope, reference: &str) -> Result<(), ArtifactError> {
        (**self).delete(scope, reference).await
    }

    async fn list(
        &self,
        scope: &ArtifactScope,
        which: ListArtifacts,
    ) -> Result<Page<ArtifactMeta>, ArtifactError> {
        (**self).list(scope, which).await
    }

    fn traits(&self) -> ArtifactTraits {
        (**self).traits()
    }
}

/// Why an operation was refused. No text holds a payload or a scope.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// What was handed in cannot be stored.
    #[error("the artifact cannot be stored: {0}")]
    Invalid(String),
    /// A parent is not readable in this scope.
    #[error("the artifact names parents this scope does not hold: {}", names(.0))]
    UnknownParent(Vec<ArtifactRef>),
    /// The payload is not what its digest says.
    #[error("artifact {reference} does not match its digest: expected {expected}, found {actual}")]
    Integrity {
        /// Which.
        reference: ArtifactRef,
        /// What the ticket says.
        expected: Str,
        /// What the payload has.
        actual: Str,
    },
    /// There is no store.
    #[error("no artifact store is attached; attach one with `Agent::builder(..).artifacts(store)`")]
    NoStore,
    /// The store itself failed: which operation, and what kind of failure. Never what a backend said.
    #[error("the artifact store failed at {operation}: {class}")]
    Store {
        /// The verb.
        operation: &'static str,
        /// The class of the failure.
        class: String,
    },
}

fn names(refs: &[ArtifactRef]) -> String {
    refs.iter().map(ArtifactRef::as_str).collect::<Vec<_>>().join(", ")
}

impl ArtifactError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "ERR_INVALID_ARTIFACT",
            Self::UnknownParent(_) => "ERR_UNKNOWN_PARENT_REF",
            Self::Integrity { .. } => "ERR_ARTIFACT_INTEGRITY",
            Self::NoStore => "ERR_NO_ARTIFACT_STORE",
            Self::Store { .. } => "ERR_ARTIFACT_STORE",
        }
    }

    /// The word an event has for it.
    pub(crate) fn refusal(&self) -> ArtifactRefusal {
        match self {
            Self::Invalid(_) | Self::Store { .. } => ArtifactRefusal::InvalidInput,
            Self::UnknownParent(_) => ArtifactRefusal::UnknownParent,
            Self::Integrity { .. } => ArtifactRefusal::DigestMismatch,
            Self::NoStore => ArtifactRefusal::NoStore,
        }
    }
}

//! The store as one call sees it (MEM-133): its scope is bound, its origin is stamped, every answer is a fact for the record.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::events::words::{ArtifactOp, ArtifactRefusal, ArtifactVia};
use footprint::value::Str;
use indexmap::IndexMap;

use super::port::{ArtifactError, ArtifactStore, ListArtifacts, Page, PutArtifact, Swept};
use super::shape::{ArtifactMeta, ArtifactOrigin, ArtifactRecord, ArtifactRef, ArtifactScope};

/// Something a store answered; metadata only (MEM-134).
pub(crate) enum ArtifactFact {
    Minted(ArtifactMeta),
    Resolved { via: ArtifactVia, meta: ArtifactMeta },
    Expired(Swept),
    Refused { op: ArtifactOp, reason: ArtifactRefusal, reference: Option<Str>, detail: Option<Str> },
}

/// The one place facts go to.
pub(crate) type FactSink = Arc<dyn Fn(ArtifactFact) + Send + Sync>;

/// What a capability is bound to.
#[derive(Clone)]
pub(crate) struct Binding {
    pub(crate) store: Arc<dyn ArtifactStore>,
    pub(crate) scope: Arc<ArtifactScope>,
    pub(crate) origin: ArtifactOrigin,
    pub(crate) sink: FactSink,
}

/// Artifacts, from inside a tool: five verbs. The scope is the run's own; a tool cannot name, widen or drop it, and the origin
/// of what it mints is stamped. Without a store every verb answers [`ArtifactError::NoStore`].
#[derive(Clone)]
pub struct ArtifactAccess {
    bound: Option<Binding>,
    /// Told of a refusal when there is no store.
    unbound: Option<FactSink>,
    wanted: Option<Arc<IndexMap<Str, ArtifactMeta>>>,
}

impl ArtifactAccess {
    /// A capability without a store; what is refused goes to `sink`.
    pub(crate) fn none(sink: Option<FactSink>) -> Self {
        Self { bound: None, unbound: sink, wanted: None }
    }

    /// A capability over a store.
    pub(crate) fn bound(binding: Binding, wanted: Option<Arc<IndexMap<Str, ArtifactMeta>>>) -> Self {
        Self { bound: Some(binding), unbound: None, wanted }
    }

    /// Whether a store is attached.
    pub fn is_attached(&self) -> bool {
        self.bound.is_some()
    }

    fn say(&self, fact: ArtifactFact) {
        if let Some(sink) = self.bound.as_ref().map(|bound| &bound.sink).or(self.unbound.as_ref()) {
            sink(fact);
        }
    }

    fn refused(&self, op: ArtifactOp, reference: Option<&str>, error: &ArtifactError) {
        self.say(ArtifactFact::Refused {
            op,
            reason: error.refusal(),
            reference: reference.map(Str::from),
            detail: Some(error.to_string().into()),
        });
    }

    fn binding(&self, op: ArtifactOp, reference: Option<&str>) -> Result<&Binding, ArtifactError> {
        match &self.bound {
            Some(bound) => Ok(bound),
            None => {
                self.refused(op, reference, &ArtifactError::NoStore);
                Err(ArtifactError::NoStore)
            }
        }
    }

    /// What a read came to: on the record either way.
    fn read<T>(
        &self,
        via: ArtifactVia,
        op: ArtifactOp,
        reference: &str,
        answer: Result<Option<T>, ArtifactError>,
        meta: impl Fn(&T) -> &ArtifactMeta,
    ) -> Result<Option<T>, ArtifactError> {
        match &answer {
            Ok(Some(found)) => self.say(ArtifactFact::Resolved { via, meta: meta(found).clone() }),
            Ok(None) => self.say(ArtifactFact::Refused {
                op,
                reason: ArtifactRefusal::MissingOrExpired,
                reference: Some(reference.into()),
                detail: None,
            }),
            Err(error) => self.refused(op, Some(reference), error),
        }
        answer
    }

    /// Checks a payload in. An origin in `input` is discarded.
    ///
    /// # Errors
    /// Why the store refused.
    pub async fn put(&self, mut input: PutArtifact) -> Result<ArtifactMeta, ArtifactError> {
        let bound = self.binding(ArtifactOp::Put, None)?;
        input.origin = Some(bound.origin.clone());
        match bound.store.put(&bound.scope, input).await {
            Ok(minted) => {
                minted.swept.into_iter().for_each(|one| self.say(ArtifactFact::Expired(one)));
                self.say(ArtifactFact::Minted(minted.meta.clone()));
                Ok(minted.meta)
            }
            Err(error) => {
                self.refused(ArtifactOp::Put, None, &error);
                Err(error)
            }
        }
    }

    /// Checks in what was made from this call's wanted artifacts: they become its parents.
    ///
    /// # Errors
    /// Why the store refused.
    pub async fn put_derived(&self, input: PutArtifact) -> Result<ArtifactMeta, ArtifactError> {
        let wanted = self.wanted.iter().flat_map(|wanted| wanted.values());
        let mut parents: Vec<ArtifactRef> = Vec::new();
        for meta in wanted {
            if !input.parent_refs.contains(&meta.reference) && !parents.contains(&meta.reference) {
                parents.push(meta.reference.clone());
            }
        }
        self.put(input.parents(parents)).await
    }

    /// The ticket; none when it is missing, expired or not this run's.
    ///
    /// # Errors
    /// When there is no store, or it fails.
    pub async fn head(&self, reference: &str) -> Result<Option<ArtifactMeta>, ArtifactError> {
        let bound = self.binding(ArtifactOp::Head, Some(reference))?;
        let answer = bound.store.head(&bound.scope, reference).await;
        self.read(ArtifactVia::Head, ArtifactOp::Head, reference, answer, |meta| meta)
    }

    /// Ticket and payload, held against its digest; none when it is missing, expired or not this run's.
    ///
    /// # Errors
    /// When there is no store, it fails, or the payload is not what the ticket says.
    pub async fn get(&self, reference: &str) -> Result<Option<ArtifactRecord>, ArtifactError> {
        let bound = self.binding(ArtifactOp::Get, Some(reference))?;
        let answer = bound.store.get(&bound.scope, reference).await;
        self.read(ArtifactVia::Get, ArtifactOp::Get, reference, answer, |record| &record.meta)
    }

    /// Removes it; removing what is not there is agreement.
    ///
    /// # Errors
    /// When there is no store, or it fails.
    pub async fn delete(&self, reference: &str) -> Result<(), ArtifactError> {
        let bound = self.binding(ArtifactOp::Delete, Some(reference))?;
        let answer = bound.store.delete(&bound.scope, reference).await;
        if let Err(error) = &answer {
            self.refused(ArtifactOp::Delete, Some(reference), error);
        }
        answer
    }

    /// Tickets of the run's scope, newest first.
    ///
    /// # Errors
    /// When there is no store, or it fails.
    pub async fn list(&self, which: ListArtifacts) -> Result<Page<ArtifactMeta>, ArtifactError> {
        let bound = self.binding(ArtifactOp::List, None)?;
        let answer = bound.store.list(&bound.scope, which).await;
        if let Err(error) = &answer {
            self.refused(ArtifactOp::List, None, error);
        }
        answer
    }
}

impl fmt::Debug for ArtifactAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactAccess").field("attached", &self.is_attached()).finish()
    }
}

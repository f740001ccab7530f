//! The store that keeps everything in the process. It is always bounded.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agentfootprint_record::events::words::ExpiryReason;
use agentfootprint_record::text::artifact_digest;
use async_trait::async_trait;
use footprint::clock::{Clock, SystemClock};
use footprint::value::Str;
use indexmap::IndexMap;

use super::mint::{Entropy, measure, mint_ref, prove_input, system_entropy};
use super::port::{
    ArtifactError, ArtifactStore, ArtifactTraits, Eviction, ListArtifacts, Page, PutArtifact, PutResult,
};
use super::retention::{Retention, RetentionRow, plan_retention};
use super::shape::{ArtifactData, ArtifactMeta, ArtifactRecord, ArtifactRef, ArtifactScope};
use crate::run::lock;

/// Bytes a scope may hold unless told otherwise.
const MAX_BYTES_PER_SCOPE: u64 = 32 * 1024 * 1024;
/// Rows a scope may hold unless told otherwise.
const MAX_COUNT_PER_SCOPE: u64 = 256;
const MAX_SCOPES: usize = 1024;
const MAX_TOTAL_BYTES: u64 = 512 * 1024 * 1024;
/// Rows of a page unless told otherwise.
const PAGE: usize = 50;

/// An artifact store in memory: 32 MiB and 256 rows per scope, 1 024 scopes and 512 MiB in all, unless told otherwise. There
/// is no way to switch the bounds off.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use agentfootprint_core::artifacts::*;
/// let store = in_memory_artifacts();
/// let ann = ArtifactScope::conversation("c-1");
/// let put = PutArtifact::new("table", "text/csv", ArtifactData::text("a,b"));
/// let ticket = store.put(&ann, put).await.unwrap().meta;
/// assert_eq!(ticket.bytes, 3);
/// let other = ArtifactScope::conversation("c-2");
/// assert!(store.get(&other, ticket.reference.as_str()).await.unwrap().is_none());
/// # });
/// ```
pub struct InMemoryArtifacts {
    shelves: Mutex<Shelves>,
    retention: Retention,
    max_scopes: usize,
    max_total_bytes: u64,
    dropped: AtomicU64,
    clock: Arc<dyn Clock>,
    entropy: Entropy,
}

/// A store in memory with the default bounds.
pub fn in_memory_artifacts() -> InMemoryArtifacts {
    InMemoryArtifacts {
        shelves: Mutex::default(),
        retention: bounded(Retention::default()),
        max_scopes: MAX_SCOPES,
        max_total_bytes: MAX_TOTAL_BYTES,
        dropped: AtomicU64::new(0),
        clock: Arc::new(SystemClock::new()),
        entropy: system_entropy(),
    }
}

/// Fills what has to be bounded.
fn bounded(retention: Retention) -> Retention {
    Retention {
        ttl_ms: retention.ttl_ms,
        max_bytes_per_scope: retention.max_bytes_per_scope.or(Some(MAX_BYTES_PER_SCOPE)),
        max_count_per_scope: retention.max_count_per_scope.or(Some(MAX_COUNT_PER_SCOPE)),
    }
}

impl InMemoryArtifacts {
    /// Other budgets per scope; an absent byte or row budget keeps its default.
    ///
    /// # Errors
    /// [`ArtifactError::Invalid`] when a budget is 0.
    pub fn retention(mut self, retention: Retention) -> Result<Self, ArtifactError> {
        retention.check()?;
        self.retention = bounded(retention);
        Ok(self)
    }

    /// Other bounds over all scopes; the scope nobody touched for longest leaves first. At least one scope is kept.
    #[must_use]
    pub fn bounds(mut self, max_scopes: usize, max_total_bytes: u64) -> Self {
        self.max_scopes = max_scopes.max(1);
        self.max_total_bytes = max_total_bytes;
        self
    }

    /// Another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Another source of random bytes: for reproducible runs.
    #[must_use]
    pub fn entropy(mut self, entropy: Entropy) -> Self {
        self.entropy = entropy;
        self
    }

    /// How many rows left because a budget was spent. Rows whose time was over are not counted.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn drop_rows(&self, count: usize) {
        self.dropped.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Shelves {
    scopes: HashMap<ArtifactScope, Shelf>,
    total_bytes: u64,
    /// Counts accesses: a later one is larger.
    tick: u64,
}

#[derive(Default)]
struct Shelf {
    rows: IndexMap<ArtifactRef, Row>,
    bytes: u64,
    last_access: u64,
}

struct Row {
    meta: ArtifactMeta,
    data: ArtifactData,
    last_access: u64,
}

impl Shelves {
    fn next_tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    /// The live row, touched. Reading never makes a scope.
    fn look(&mut self, scope: &ArtifactScope, reference: &str, now_ms: u64) -> Option<&Row> {
        let reference = ArtifactRef::parse(reference)?;
        let tick = self.next_tick();
        let shelf = self.scopes.get_mut(scope)?;
        let row = shelf.rows.get_mut(&reference).filter(|row| !is_over(&row.meta, now_ms))?;
        row.last_access = tick;
        shelf.last_access = tick;
        Some(row)
    }

    fn remove(&mut self, scope: &ArtifactScope, reference: &ArtifactRef) {
        let Some(shelf) = self.scopes.get_mut(scope) else { return };
        if let Some(row) = shelf.rows.shift_remove(reference) {
            shelf.bytes = shelf.bytes.saturating_sub(row.meta.bytes);
            self.total_bytes = self.total_bytes.saturating_sub(row.meta.bytes);
        }
        if shelf.rows.is_empty() {
            self.scopes.remove(scope);
        }
    }

    /// Removes whole scopes until the bounds over all of them hold; answers how many rows went.
    fn make_room(&mut self, keep: &ArtifactScope, max_scopes: usize, max_bytes: u64) -> usize {
        let mut gone = 0;
        while self.scopes.len() > max_scopes || self.total_bytes > max_bytes {
            let others = self.scopes.iter().filter(|(scope, _)| *scope != keep);
            let Some(oldest) =
                others.min_by_key(|(_, shelf)| shelf.last_access).map(|(scope, _)| scope.clone())
            else {
                break;
            };
            if let Some(shelf) = self.scopes.remove(&oldest) {
                gone += shelf.rows.len();
                self.total_bytes = self.total_bytes.saturating_sub(shelf.bytes);
            }
        }
        gone
    }
}

fn is_over(meta: &ArtifactMeta, now_ms: u64) -> bool {
    meta.expires_at.is_some_and(|at| at <= now_ms)
}

#[async_trait]
impl ArtifactStore for InMemoryArtifacts {
    async fn put(&self, scope: &ArtifactScope, input: PutArtifact) -> Result<PutResult, ArtifactError> {
        let now_ms = self.clock.now_ms();
        prove_input(&input, now_ms)?;
        // Hashing happens outside the lock; everything that looks at the scope happens inside one.
        let measured = measure(&input);
        if measured.bytes > self.max_total_bytes {
            return Err(ArtifactError::Invalid(format!(
                "it has {} bytes and the store may hold {}",
                measured.bytes, self.max_total_bytes
            )));
        }
        let reference = mint_ref(&self.entropy)?;
        let mut shelves = lock(&self.shelves);
        let unknown: Vec<ArtifactRef> = input
            .parent_refs
            .iter()
            .filter(|parent| shelves.look(scope, parent.as_str(), now_ms).is_none())
            .cloned()
            .collect();
        if !unknown.is_empty() {
            return Err(ArtifactError::UnknownParent(unknown));
        }
        let rows: Vec<RetentionRow> = shelves
            .scopes
            .get(scope)
            .into_iter()
            .flat_map(|shelf| shelf.rows.values())
            .map(|row| RetentionRow {
                reference: row.meta.reference.clone(),
                kind: row.meta.kind.clone(),
                bytes: row.meta.bytes,
                expires_at: row.meta.expires_at,
                last_access: row.last_access,
            })
            .collect();
        let swept = plan_retention(&rows, measured.bytes, &self.retention, now_ms)?;
        for one in &swept {
            shelves.remove(scope, &one.reference);
        }
        self.drop_rows(swept.iter().filter(|one| one.reason != ExpiryReason::Ttl).count());
        let meta = ArtifactMeta {
            reference: reference.clone(),
            kind: input.kind,
            media_type: input.media_type,
            bytes: measured.bytes,
            label: input.label,
            digest: measured.digest,
            expires_at: self.retention.expiry(input.expires_at, now_ms),
            origin: input.origin,
            parent_refs: input.parent_refs,
            created_at: now_ms,
            extra: IndexMap::new(),
        };
        let tick = shelves.next_tick();
        shelves.total_bytes += meta.bytes;
        let shelf = shelves.scopes.entry(scope.clone()).or_default();
        shelf.bytes += meta.bytes;
        shelf.last_access = tick;
        shelf.rows.insert(reference, Row { meta: meta.clone(), data: input.data, last_access: tick });
        let gone = shelves.make_room(scope, self.max_scopes, self.max_total_bytes);
        self.drop_rows(gone);
        Ok(PutResult { meta, swept })
    }

    async fn head(
        &self,
        scope: &ArtifactScope,
        reference: &str,
    ) -> Result<Option<ArtifactMeta>, ArtifactError> {
        let now_ms = self.clock.now_ms();
        Ok(lock(&self.shelves).look(scope, reference, now_ms).map(|row| row.meta.clone()))
    }

    async fn get(
        &self,
        scope: &ArtifactScope,
        reference: &str,
    ) -> Result<Option<ArtifactRecord>, ArtifactError> {
        let now_ms = self.clock.now_ms();
        let found = lock(&self.shelves)
            .look(scope, reference, now_ms)
            .map(|row| ArtifactRecord { meta: row.meta.clone(), data: row.data.clone() });
        let Some(record) = found else { return Ok(None) };
        verified(record).map(Some)
    }

    async fn delete(&self, scope: &ArtifactScope, reference: &str) -> Result<(), ArtifactError> {
        if let Some(reference) = ArtifactRef::parse(reference) {
            lock(&self.shelves).remove(scope, &reference);
        }
        Ok(())
    }

    async fn list(
        &self,
        scope: &ArtifactScope,
        which: ListArtifacts,
    ) -> Result<Page<ArtifactMeta>, ArtifactError> {
        let now_ms = self.clock.now_ms();
        let mut rows: Vec<ArtifactMeta> = {
            let shelves = lock(&self.shelves);
            let rows = shelves.scopes.get(scope).into_iter().flat_map(|shelf| shelf.rows.values());
            rows.map(|row| &row.meta).filter(|meta| !is_over(meta, now_ms)).cloned().collect()
        };
        rows.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| a.reference.cmp(&b.reference)));
        if let Some((at, reference)) = which.cursor.as_deref().and_then(read_cursor) {
            rows.retain(|row| row.created_at < at || (row.created_at == at && row.reference > reference));
        }
        let limit = which.limit.unwrap_or(PAGE).max(1);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let cursor = rows
            .last()
            .filter(|_| more)
            .map(|last| Str::from(format!("{}:{}", last.created_at, last.reference)));
        Ok(Page { items: rows, cursor })
    }

    fn traits(&self) -> ArtifactTraits {
        ArtifactTraits { name: "in-memory".into(), durable: false, eviction: Eviction::LeastRecentlyUsed }
    }
}

fn read_cursor(cursor: &str) -> Option<(u64, ArtifactRef)> {
    let (at, reference) = cursor.split_once(':')?;
    Some((at.parse().ok()?, ArtifactRef::parse(reference)?))
}

/// The record, if its payload is what its ticket says.
fn verified(record: ArtifactRecord) -> Result<ArtifactRecord, ArtifactError> {
    let Some(expected) = record.meta.digest.clone() else { return Ok(record) };
    let actual = Str::from(artifact_digest(record.data.canonical_bytes()));
    if actual == expected {
        return Ok(record);
    }
    Err(ArtifactError::Integrity { reference: record.meta.reference, expected, actual })
}

impl fmt::Debug for InMemoryArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shelves = lock(&self.shelves);
        f.debug_struct("InMemoryArtifacts")
            .field("scopes", &shelves.scopes.len())
            .field("bytes", &shelves.total_bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;

use std::collections::HashSet;

use footprint::clock::ManualClock;
use footprint::value;

use super::*;
use crate::artifacts::ArtifactOrigin;

fn scope(id: &str) -> ArtifactScope {
    ArtifactScope::conversation(id)
}

fn text(kind: &str, text: &str) -> PutArtifact {
    PutArtifact::new(kind, "text/plain", ArtifactData::text(text))
}

async fn put(store: &InMemoryArtifacts, scope: &ArtifactScope, input: PutArtifact) -> ArtifactMeta {
    store.put(scope, input).await.unwrap().meta
}

async fn head(store: &InMemoryArtifacts, scope: &ArtifactScope, meta: &ArtifactMeta) -> Option<ArtifactMeta> {
    store.head(scope, meta.reference.as_str()).await.unwrap()
}

/// Proves MEM-122, MEM-124, MEM-128: the ticket describes, `get` redeems, and equal bytes are two references.
#[tokio::test]
async fn put_mints_a_ticket_head_describes_get_redeems() {
    let (store, ann) = (in_memory_artifacts(), scope("c"));
    let mut input = text("table", "a,b").with_digest();
    input.label = Some("orders".into());
    input.origin = Some(ArtifactOrigin { run_id: Some("r".into()), tool_call_id: None });
    let meta = put(&store, &ann, input.clone()).await;
    assert_eq!((meta.bytes, &*meta.kind, meta.label.as_deref()), (3, "table", Some("orders")));
    assert_eq!(meta.digest.as_deref(), Some(&*artifact_digest("a,b")));
    assert_eq!(head(&store, &ann, &meta).await, Some(meta.clone()));
    let record = store.get(&ann, meta.reference.as_str()).await.unwrap().unwrap();
    assert_eq!((record.data, record.meta), (ArtifactData::text("a,b"), meta.clone()));
    assert_ne!(put(&store, &ann, input).await.reference, meta.reference);
    let shapes =
        [ArtifactData::Json(value!({ "b": 1, "a": [2] })), ArtifactData::Binary(vec![0_u8, 255].into())];
    for (shape, bytes) in shapes.into_iter().zip([15, 2]) {
        let meta = put(&store, &ann, PutArtifact::new("x", "m", shape.clone())).await;
        assert_eq!(meta.bytes, bytes);
        assert_eq!(store.get(&ann, meta.reference.as_str()).await.unwrap().unwrap().data, shape);
    }
    store.delete(&ann, meta.reference.as_str()).await.unwrap();
    store.delete(&ann, meta.reference.as_str()).await.unwrap();
    assert_eq!(head(&store, &ann, &meta).await, None);
}

/// Proves MEM-123: missing, malformed, expired and foreign are one answer, and a reading scope is not kept.
#[tokio::test]
async fn missing_expired_and_foreign_are_one_absence() {
    let clock = Arc::new(ManualClock::at(1_000));
    let (store, ann) = (in_memory_artifacts().clock(clock.clone()), scope("a/b"));
    let meta = put(&store, &ann, text("k", "x").expires_at(1_500)).await;
    let reference = meta.reference.as_str();
    let foreign = [
        scope("a"),
        scope("a/b").principal("p"),
        ArtifactScope::conversation("b").principal("a"),
        scope("a/b").tenant("t"),
    ];
    for other in foreign {
        assert!(store.get(&other, reference).await.unwrap().is_none());
        assert!(store.head(&other, reference).await.unwrap().is_none());
    }
    assert_eq!(lock(&store.shelves).scopes.len(), 1);
    for malformed in ["", "art_", "../x", "art_0000000000000000000000"] {
        assert!(store.get(&ann, malformed).await.unwrap().is_none());
    }
    clock.advance_ms(500);
    assert!(store.get(&ann, reference).await.unwrap().is_none());
    assert!(store.list(&ann, ListArtifacts::default()).await.unwrap().items.is_empty());
}

/// Proves MEM-124: a parent must be readable in the same scope, and a refused put leaves nothing.
#[tokio::test]
async fn parents_are_proven_at_mint() {
    let (store, ann) = (in_memory_artifacts(), scope("a"));
    let parent = put(&store, &ann, text("k", "x")).await;
    let foreign = put(&store, &scope("b"), text("k", "y")).await;
    let refused = store
        .put(&ann, text("k", "z").parents([parent.reference.clone(), foreign.reference.clone()]))
        .await
        .unwrap_err();
    assert_eq!(refused, ArtifactError::UnknownParent(vec![foreign.reference]));
    assert_eq!(store.list(&ann, ListArtifacts::default()).await.unwrap().items.len(), 1);
    let child = put(&store, &ann, text("k", "z").parents([parent.reference.clone()])).await;
    assert_eq!(child.parent_refs, [parent.reference]);
}

/// Proves MEM-125: every eviction is returned by the put that caused it, and a look keeps a row.
#[tokio::test]
async fn the_row_nobody_looked_at_leaves_first() {
    let retention = Retention { max_count_per_scope: Some(2), max_bytes_per_scope: Some(10), ttl_ms: None };
    let (store, ann) = (in_memory_artifacts().retention(retention).unwrap(), scope("a"));
    let first = put(&store, &ann, text("k", "1")).await;
    let second = put(&store, &ann, text("k", "2")).await;
    assert!(head(&store, &ann, &first).await.is_some());
    let swept = store.put(&ann, text("k", "3")).await.unwrap().swept;
    assert_eq!(swept.len(), 1);
    assert_eq!((&swept[0].reference, &swept[0].reason), (&second.reference, &ExpiryReason::MaxCount));
    assert_eq!(store.dropped(), 1);
    // Over the whole budget: refused, and nothing left for it.
    let refused = store.put(&ann, text("k", "12345678901")).await.unwrap_err();
    assert_eq!(refused.code(), "ERR_INVALID_ARTIFACT");
    assert!(head(&store, &ann, &first).await.is_some());
    assert!(in_memory_artifacts().retention(Retention { ttl_ms: Some(0), ..Retention::default() }).is_err());
}

/// Proves MEM-126: a payload that is not what its ticket says is refused, and the ticket stays readable.
#[tokio::test]
async fn a_changed_payload_is_refused() {
    let (store, ann) = (in_memory_artifacts(), scope("a"));
    let meta = put(&store, &ann, text("k", "right").with_digest()).await;
    lock(&store.shelves).scopes.get_mut(&ann).unwrap().rows.get_mut(&meta.reference).unwrap().data =
        ArtifactData::text("wrong");
    let refused = store.get(&ann, meta.reference.as_str()).await.unwrap_err();
    let expected = artifact_digest("right");
    assert!(matches!(&refused, ArtifactError::Integrity { reference, expected: said, .. }
        if *reference == meta.reference && **said == *expected));
    assert!(head(&store, &ann, &meta).await.is_some());
}

/// Proves MEM-127.
#[tokio::test]
async fn listing_pages_newest_first() {
    let clock = Arc::new(ManualClock::at(0));
    let (store, ann) = (in_memory_artifacts().clock(clock.clone()), scope("a"));
    let mut expected = Vec::new();
    for n in 0..7 {
        // Two of a kind share their time.
        clock.advance_ms(n % 2);
        let meta = put(&store, &ann, text("k", &n.to_string())).await;
        expected.push((std::cmp::Reverse(meta.created_at), meta.reference));
    }
    expected.sort();
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.list(&ann, ListArtifacts { cursor, limit: Some(3) }).await.unwrap();
        seen.extend(page.items.into_iter().map(|meta| meta.reference));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, expected.into_iter().map(|(_, reference)| reference).collect::<Vec<_>>());
    let foreign = ListArtifacts { cursor: Some("page 2".into()), limit: None };
    assert_eq!(store.list(&ann, foreign).await.unwrap().items.len(), 7);
}

/// Proves MEM-125: the store is bounded over all scopes, and the loss is counted, never reported to another scope.
#[tokio::test]
async fn scopes_are_bounded_together() {
    let store = in_memory_artifacts().bounds(2, 5);
    let (a, b, c) = (scope("a"), scope("b"), scope("c"));
    let first = put(&store, &a, text("k", "1")).await;
    put(&store, &b, text("k", "2")).await;
    assert!(head(&store, &a, &first).await.is_some());
    let third = store.put(&c, text("k", "3")).await.unwrap();
    assert!(third.swept.is_empty());
    assert_eq!(store.dropped(), 1);
    assert!(head(&store, &a, &first).await.is_some());
    assert!(store.list(&b, ListArtifacts::default()).await.unwrap().items.is_empty());
    // By bytes: everything of the coldest scope leaves.
    put(&store, &c, text("k", "4567")).await;
    assert_eq!(head(&store, &a, &first).await, None);
    assert!(store.put(&c, text("k", "123456")).await.is_err());
}

/// Proves MEM-125: budgets hold under concurrency.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budgets_hold_under_concurrency() {
    let retention = Retention { max_count_per_scope: Some(8), ..Retention::default() };
    let store = Arc::new(in_memory_artifacts().retention(retention).unwrap());
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.put(&scope("a"), text("k", &n.to_string())).await.unwrap() })
        })
        .collect();
    let (mut minted, mut swept) = (HashSet::new(), HashSet::new());
    for task in tasks {
        let result = task.await.unwrap();
        minted.insert(result.meta.reference);
        swept.extend(result.swept.into_iter().map(|one| one.reference));
    }
    let left = store.list(&scope("a"), ListArtifacts::default()).await.unwrap().items;
    assert_eq!((minted.len(), swept.len(), left.len()), (64, 56, 8));
    assert!(left.iter().all(|meta| !swept.contains(&meta.reference)));
}

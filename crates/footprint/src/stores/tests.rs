use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug, PartialEq)]
struct Entry(Option<u8>, usize);

impl HasStep for Entry {
    type Step = u8;
    fn step(&self) -> Option<&u8> {
        self.0.as_ref()
    }
}

fn naive_range(entries: &[Entry], step: u8) -> Option<std::ops::Range<usize>> {
    let first = entries.iter().position(|e| e.0 == Some(step))?;
    let mut end = first;
    let mut last = None;
    for (at, entry) in entries.iter().enumerate() {
        last = entry.0.or(last);
        if last == Some(step) {
            end = at + 1;
        }
    }
    Some(first..end)
}

fn naive_up_to(entries: &[Entry], visible: &HashSet<u8>) -> Vec<Entry> {
    let keep = |e: &Entry| e.0.is_some_and(|s| visible.contains(&s));
    let first = entries.iter().position(keep);
    let last = entries.iter().rposition(keep);
    let (Some(first), Some(last)) = (first, last) else { return vec![] };
    entries[first..=last].iter().filter(|e| e.0.is_none() || keep(e)).cloned().collect()
}

proptest! {
    /// Proves OBS-66, OBS-67, OBS-68, OBS-69.
    #[test]
    fn sequence_store_equals_the_naive_model(
        steps in prop::collection::vec(prop::option::weighted(0.8, 0_u8..6), 0..60),
        visible in prop::collection::hash_set(0_u8..6, 0..4),
    ) {
        let entries: Vec<Entry> = steps.into_iter().enumerate().map(|(i, s)| Entry(s, i)).collect();
        let mut store = SequenceStore::new();
        entries.iter().for_each(|e| store.push(e.clone()));
        prop_assert_eq!(store.iter().cloned().collect::<Vec<_>>(), entries.clone());
        for step in 0..6 {
            let own: Vec<_> = entries.iter().filter(|e| e.0 == Some(step)).collect();
            prop_assert_eq!(store.by_step(&step).collect::<Vec<_>>(), own);
            prop_assert_eq!(store.range(&step), naive_range(&entries, step));
        }
        let distinct: HashSet<_> = entries.iter().filter_map(|e| e.0).collect();
        prop_assert_eq!(store.step_count(), distinct.len());
        let shown: Vec<_> = store.up_to(|s| visible.contains(s)).into_iter().cloned().collect();
        prop_assert_eq!(shown, naive_up_to(&entries, &visible));
        let sum: usize = entries.iter().map(|e| e.1).sum();
        prop_assert_eq!(store.aggregate(0, |acc, e| acc + e.1), sum);
        let seen = |s: &u8| visible.contains(s);
        let some: usize = entries.iter().filter(|e| e.0.is_some_and(|s| visible.contains(&s))).map(|e| e.1).sum();
        prop_assert_eq!(store.accumulate(Some(&seen), 0, |acc, e| acc + e.1), some);
        prop_assert_eq!(store.accumulate(None, 0, |acc, e| acc + e.1), sum);
    }

    /// Proves OBS-70.
    #[test]
    fn a_capped_store_holds_the_newest_under_absolute_positions(
        steps in prop::collection::vec(prop::option::weighted(0.8, 0_u8..5), 0..60), cap in 1_usize..8,
    ) {
        let entries: Vec<Entry> = steps.into_iter().enumerate().map(|(i, s)| Entry(s, i)).collect();
        let mut store = SequenceStore::with_cap(cap);
        entries.iter().for_each(|e| store.push(e.clone()));
        let dropped = entries.len().saturating_sub(cap);
        prop_assert_eq!(store.dropped(), dropped);
        prop_assert_eq!(store.len(), entries.len() - dropped);
        for (at, entry) in entries.iter().enumerate() {
            prop_assert_eq!(store.get(at), (at >= dropped).then_some(entry));
        }
        for step in 0..5 {
            let own: Vec<_> = entries[dropped..].iter().filter(|e| e.0 == Some(step)).collect();
            prop_assert_eq!(store.by_step(&step).collect::<Vec<_>>(), own);
        }
    }

    /// Proves OBS-71.
    #[test]
    fn keyed_store_equals_the_naive_model(ops in prop::collection::vec((0_u8..6, prop::option::of(0_u32..9)), 0..60)) {
        let mut store: KeyedStore<u32, u8> = KeyedStore::new();
        let mut naive: Vec<(u8, u32)> = vec![];
        for (key, value) in ops {
            let at = naive.iter().position(|(k, _)| *k == key);
            match value {
                Some(value) => {
                    store.set(key, value);
                    match at {
                        Some(at) => naive[at].1 = value,
                        None => naive.push((key, value)),
                    }
                }
                None => {
                    prop_assert_eq!(store.delete(&key), at.map(|at| naive.remove(at).1));
                }
            }
        }
        prop_assert_eq!(store.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>(), naive.clone());
        for key in 0..6 {
            let value = naive.iter().find(|(k, _)| *k == key).map(|(_, v)| v);
            prop_assert_eq!(store.get(&key), value);
            prop_assert_eq!(store.has(&key), value.is_some());
        }
        let even = |k: &u8| k.is_multiple_of(2);
        let sum: u32 = naive.iter().filter(|(k, _)| even(k)).map(|(_, v)| v).sum();
        prop_assert_eq!(store.accumulate(Some(&even), 0, |acc, _, v| acc + v), sum);
        prop_assert_eq!(store.filter_by_keys(even).len(), naive.iter().filter(|(k, _)| even(k)).count());
    }

    /// Proves OBS-73, OBS-74.
    #[test]
    fn range_index_equals_the_naive_model(
        ops in prop::collection::vec((0_usize..30, prop::option::of(0_usize..12)), 0..40),
        from in 0_usize..45, len in 0_usize..10,
    ) {
        let mut index = CommitRangeIndex::new();
        let mut naive: BTreeMap<usize, (usize, Option<usize>)> = BTreeMap::new();
        for (label, (start, len)) in ops.into_iter().enumerate() {
            let token = index.open(label, start);
            let end = len.map(|l| start + l);
            if let Some(end) = end {
                prop_assert!(index.close(token, end));
                prop_assert!(!index.close(token, end + 1));
            }
            naive.insert(label, (start, end));
        }
        let to = from + len;
        let mut expected: Vec<_> = naive
            .iter()
            .filter(|(_, (start, end))| *start <= to && end.is_none_or(|e| e >= from))
            .map(|(label, (start, end))| (*start, std::cmp::Reverse(end.unwrap_or(usize::MAX)), *label))
            .collect();
        expected.sort_by_key(|(start, end, _)| (*start, *end));
        let mut found: Vec<_> = index
            .overlapping(from, to)
            .into_iter()
            .map(|r| (r.start, std::cmp::Reverse(r.end.unwrap_or(usize::MAX)), r.label))
            .collect();
        prop_assert!(found.is_sorted_by_key(|(start, end, _)| (*start, *end)));
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected);
    }
}

/// Proves OBS-73.
#[test]
fn stale_and_foreign_tokens_are_no_ops() {
    let mut index = CommitRangeIndex::new();
    let before = index.open("a", 1);
    index.clear();
    assert!(!index.close(before, 2));
    assert!(index.get(before).is_none());
    let now = index.open("b", 3);
    assert!(!index.close(before, 9));
    assert_eq!(index.get(now).unwrap().end, None);
    assert!(index.close(now, 4));
}

/// Proves OBS-72.
#[test]
fn boundaries_open_update_and_close() {
    let mut store: BoundaryStateStore<u32, &str> = BoundaryStateStore::new();
    assert!(!store.update(&"x", |s| *s += 1));
    assert_eq!(store.misses(&"x"), 1);
    store.start("x", 1);
    store.start("x", 5); // overwrites
    assert!(store.update(&"x", |s| *s += 1));
    assert_eq!(store.get(&"x"), Some(&6));
    assert_eq!((store.active_count(), store.has_active()), (1, true));
    assert_eq!(store.stop(&"x"), Some(6));
    assert_eq!(store.stop(&"x"), None);
    {
        let mut guard = store.start_guarded("y", 0);
        guard.update(&"y", |s| *s = 9);
        assert_eq!(guard.active().collect::<Vec<_>>(), [(&"y", &9)]);
    }
    assert!(!store.has_active());
    store.start("leak", 0);
    assert_eq!(store.clear(), ["leak"]);
}

/// A million pushes stay linear: ten times the entries cost far less than a hundred times the work.
///
/// Proves OBS-69.
#[test]
fn pushes_are_linear() {
    let mut store = SequenceStore::new();
    for i in 0..1_000_000 {
        store.push(Entry((i % 3 != 0).then_some((i % 200) as u8), i));
    }
    assert_eq!(store.len(), 1_000_000);
    let mut index = CommitRangeIndex::new();
    for i in 0..200_000 {
        let token = index.open((), i);
        index.close(token, i + 2);
    }
    assert_eq!(index.enclosing(150_000).len(), 3);
}

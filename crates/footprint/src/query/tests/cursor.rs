use std::sync::Arc;

use proptest::prelude::*;

use super::model::*;
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::query::*;
use crate::snapshot::*;
use crate::value;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Proves OBS-178.
    #[test]
    fn stops_partition_the_log_and_states_are_folds(commits in commits(20), walk in prop::collection::vec(0_usize..24, 0..12)) {
        let snapshot = snapshot(&commits, initial(), false);
        let states = states(&snapshot);
        let mut cursor = Cursor::new(Arc::new(view(&snapshot)));
        let covered: Vec<usize> = cursor.stops().iter().flat_map(|s| s.commits.clone()).collect();
        prop_assert_eq!(covered, (0..commits.len()).collect::<Vec<_>>());
        let steps: Vec<_> = cursor.stops().iter().filter_map(|s| s.step.clone()).collect();
        let distinct: std::collections::HashSet<_> = steps.iter().collect();
        prop_assert_eq!(distinct.len(), steps.len());
        for at in walk {
            let before = cursor.position();
            match cursor.to(at) {
                Move::Moved => prop_assert_eq!(cursor.position(), at),
                Move::Stayed { .. } => prop_assert_eq!(cursor.position(), before),
            }
            prop_assert_eq!(cursor.state(), &states[cursor.stop().commits.end]);
        }
        cursor.to_start();
        while cursor.forward() == Move::Moved {
            prop_assert_eq!(cursor.state(), &states[cursor.stop().commits.end]);
        }
        prop_assert_eq!(cursor.state(), &snapshot.shared_state);
    }
}

/// Proves OBS-178.
#[test]
fn moves_that_miss_do_not_move() {
    let commits: Vec<Commit> = (0..3)
        .map(|i| Commit {
            stage: i,
            again: false,
            rows: vec![(
                crate::state::Path::key(["a", "b", "a"][i as usize]),
                crate::verbs::Verb::Set,
                value!(i),
            )],
            reads: vec![],
        })
        .collect();
    let snapshot = snapshot(&commits, None, false);
    let mut cursor = Cursor::new(Arc::new(view(&snapshot)));
    assert_eq!(cursor.back(), Move::Stayed { reason: MoveMiss::Clamped, nearest: Some(0) });
    assert_eq!(cursor.to_step(&"s1#1".into()), Move::Moved);
    assert_eq!(cursor.to_step(&"s9#2".into()), Move::Stayed { reason: MoveMiss::Miss, nearest: Some(3) });
    assert_eq!(cursor.position(), 2);
    let (a, b) = (StateKey::key("a").unwrap(), StateKey::key("b").unwrap());
    assert_eq!(cursor.value(&a), Some(&value!(0)));
    assert_eq!((cursor.to_next_write(&a), cursor.value(&a).cloned()), (Move::Moved, Some(value!(2))));
    assert_eq!(cursor.to_next_write(&b), Move::Stayed { reason: MoveMiss::Miss, nearest: Some(2) });
    assert_eq!(cursor.to_previous_write(&a), Move::Moved);
    assert_eq!(cursor.stop().step, Some("s0#0".into()));
    let never = StateKey::key("never").unwrap();
    assert_eq!(cursor.to_next_write(&never), Move::Stayed { reason: MoveMiss::Empty, nearest: None });
    assert_eq!(cursor.to_commit(CommitIdx(2)), Move::Moved);
    assert_eq!(cursor.to_commit(CommitIdx(9)), Move::Stayed { reason: MoveMiss::Clamped, nearest: Some(3) });
    cursor.to_start();
    cursor.to_end();
    assert_eq!(cursor.stop().kind, StopKind::End);
    assert_eq!(cursor.changed_since(1).iter().map(ToString::to_string).collect::<Vec<_>>(), ["b", "a"]);
    cursor.mark("s1#1".into(), "look here");
    assert_eq!(cursor.marked(&"s1#1".into()).map(|m| &**m), Some("look here"));
    assert!(cursor.drill(&TraceQuery::new(snapshot)).is_err());
}

/// Proves OBS-178.
#[test]
fn legs_chain_when_indices_rise() {
    let leg = |from: u64, initial: crate::value::Value, key: &str| {
        let mut log = CommitLog::new();
        let id = RuntimeStageId::parse(&format!("s#{from}"));
        let mut bundle = crate::state::Bundle::empty(CommitIdx(0), "s", "s", id);
        bundle.rows =
            [crate::state::Row::new(crate::state::Path::key(key), crate::verbs::Verb::Set, value!(from))]
                .into();
        log.push(Arc::new(bundle));
        let initial = initial.as_object().cloned();
        Arc::new(LogView::new(LogParts { log, initial, ..LogParts::default() }))
    };
    let first = leg(0, value!({}), "a");
    let second = leg(1, value!({"a": 0}), "b");
    assert!(Cursor::chain(vec![second.clone(), first.clone()]).is_none());
    assert!(Cursor::chain(vec![first.clone(), first.clone()]).is_none());
    let mut cursor = Cursor::chain(vec![first, second]).unwrap();
    assert_eq!(cursor.stops().len(), 4);
    cursor.to_end();
    assert_eq!(crate::value::Value::Object(cursor.state().clone()), value!({"a": 0, "b": 1}));
    cursor.to(1);
    assert_eq!(crate::value::Value::Object(cursor.state().clone()), value!({"a": 0}));
    cursor.forward();
    assert_eq!((cursor.stop().leg, cursor.value(&StateKey::key("b").unwrap())), (1, Some(&value!(1))));
}

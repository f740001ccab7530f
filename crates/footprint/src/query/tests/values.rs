use proptest::prelude::*;

use super::model::*;
use crate::ids::CommitIdx;
use crate::query::*;
use crate::state::Path;
use crate::value;
use crate::value::Value;
use crate::verbs::Verb;

fn naive_value(snapshot: &crate::snapshot::Snapshot, key: &StateKey, idx: usize) -> KeyValue {
    let states = states(snapshot);
    let end = (idx + 1).min(snapshot.commit_log.len());
    match key.read(&states[end]) {
        Some(value) => KeyValue::Value(value.clone()),
        None if states[..end].iter().any(|s| key.read(s).is_some()) => KeyValue::Deleted,
        None => KeyValue::NeverWritten,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Proves OBS-151, OBS-152, ENG-79, ENG-150.
    #[test]
    fn values_and_states_equal_the_fold(commits in commits(24), seeded in any::<bool>()) {
        let snapshot = snapshot(&commits, initial().filter(|_| seeded), false);
        let view = view(&snapshot);
        let states = states(&snapshot);
        for idx in 0..=commits.len() {
            let state = view.state_at(Some(CommitIdx(idx)));
            prop_assert_eq!(&state.state, &states[(idx + 1).min(commits.len())]);
            for key in keys(&snapshot) {
                let at = view.value_at(&key, CommitIdx(idx)).unwrap();
                prop_assert_eq!(at.value.value(), key.read(&state.state), "{} at {}", key, idx);
                prop_assert_eq!(at.value, naive_value(&snapshot, &key, idx), "{} at {}", key, idx);
            }
        }
        prop_assert_eq!(&view.state_at(None).state, &states[0]);
        prop_assert_eq!(view.state_at(Some(CommitIdx(usize::MAX))).state, snapshot.shared_state);
    }

    /// Proves OBS-148, OBS-149, OBS-154.
    #[test]
    fn writers_equal_a_linear_scan(commits in commits(24), seeded in any::<bool>()) {
        let snapshot = snapshot(&commits, initial().filter(|_| seeded), false);
        let view = view(&snapshot);
        let states = states(&snapshot);
        for key in keys(&snapshot) {
            let all: Vec<usize> = (0..commits.len()).filter(|c| naive_wrote(&snapshot, &states, &key, *c)).collect();
            let found: Vec<usize> = view.writers(&key).iter().map(|w| w.commit_idx.0).collect();
            prop_assert_eq!(&found, &all, "{}", key);
            for before in 0..=commits.len() {
                let writer = view.last_writer(&key, Some(CommitIdx(before))).map(|w| w.commit_idx.0);
                prop_assert_eq!(writer, naive_writer(&snapshot, &states, &key, before));
            }
            let first = view.find_commit("s1", Some(&key)).map(|w| w.commit_idx.0);
            let stage = |c: &usize| &*snapshot.commit_log.get(*c).unwrap().stage_id == "s1";
            prop_assert_eq!(first, all.iter().copied().find(stage));
        }
        for (c, bundle) in snapshot.commit_log.iter().enumerate() {
            let id = &bundle.runtime_stage_id;
            prop_assert_eq!(view.commit_of(id).unwrap(), CommitIdx(first_of(&snapshot, c)));
            let mut paths: Vec<Path> = vec![];
            for row in snapshot.commit_log.iter().filter(|b| b.runtime_stage_id == *id).flat_map(|b| b.rows.iter()) {
                if !paths.contains(&row.path) {
                    paths.push(row.path.clone());
                }
            }
            prop_assert_eq!(view.keys_written(id), paths);
        }
    }

    /// Proves OBS-170, OBS-171.
    #[test]
    fn births_equal_a_naive_fold(commits in commits(24), seeded in any::<bool>(), nested in any::<bool>()) {
        let snapshot = snapshot(&commits, initial().filter(|_| seeded), false);
        let view = view(&snapshot);
        let states = states(&snapshot);
        let key = if nested { StateKey::dotted("a.x").unwrap() } else { StateKey::key("list").unwrap() };
        let list = |s: usize| key.read(&states[s]).and_then(Value::as_array);
        // Births by brute force: one entry per item of the current list.
        let mut births: Vec<Option<usize>> = list(0).map_or(vec![], |l| vec![None; l.len()]);
        for c in 0..commits.len() {
            match (list(c), list(c + 1)) {
                (_, None) => births.clear(),
                (Some(old), Some(new)) if old.len() <= new.len() && old.iter().zip(new.iter()).all(|(a, b)| a == b) => {
                    births.resize(new.len(), Some(c));
                }
                (_, Some(new)) => births = vec![Some(c); new.len()],
            }
            let at = Some(CommitIdx(c));
            let answer = view.array_births(&key, at);
            match list(c + 1) {
                None => prop_assert!(answer.births.is_none() && answer.missing.is_some()),
                Some(new) => {
                    let found = answer.births.unwrap();
                    prop_assert_eq!(found.iter().map(|b| &b.value).collect::<Vec<_>>(), new.iter().collect::<Vec<_>>());
                    prop_assert_eq!(found.iter().map(|b| b.born.as_ref().map(|b| b.commit_idx.0)).collect::<Vec<_>>(), births.clone());
                    for birth in found {
                        prop_assert_eq!(birth.basis == BirthBasis::PreRun, birth.born.is_none());
                        prop_assert_eq!(view.element_birth(&key, birth.index, at), Some(birth));
                    }
                    prop_assert_eq!(view.element_birth(&key, new.len(), at), None);
                }
            }
        }
    }
}

fn commit(rows: Vec<(&str, Verb, Value)>) -> Commit {
    let rows = rows.into_iter().map(|(p, v, value)| (Path::dotted(p), v, value)).collect();
    Commit { stage: 0, again: false, rows, reads: vec![] }
}

/// Proves OBS-170.
#[test]
fn a_birth_says_how_it_is_known() {
    let commits = [
        commit(vec![("list", Verb::Set, value!([1, 2]))]),
        commit(vec![("list", Verb::Append, value!([3]))]),
        commit(vec![("list", Verb::Set, value!([1, 2, 3, 4]))]),
    ];
    let view = view(&snapshot(&commits, None, false));
    let births = view.array_births(&StateKey::key("list").unwrap(), None);
    let told: Vec<_> = births.births.iter().flatten().map(|b| b.basis.word()).collect();
    assert_eq!(told, ["whole-value", "whole-value", "append-verb", "prefix-inference"]);
    assert_eq!(births.to_value()["births"][2]["verb"], value!("append"));
    assert_eq!(births.to_value()["length"], value!(4));
}

/// Proves OBS-171, OBS-113.
#[test]
fn a_redacted_tail_is_no_list() {
    let mut snapshot = snapshot(
        &[
            commit(vec![("list", Verb::Set, value!([1]))]),
            commit(vec![("list", Verb::Append, value!("REDACTED"))]),
        ],
        None,
        false,
    );
    let mut hidden = (**snapshot.commit_log.get(1).unwrap()).clone();
    hidden.redacted_paths = [Path::key("list")].into();
    let first = snapshot.commit_log.get(0).unwrap().clone();
    snapshot.commit_log = [first, hidden.into()].into_iter().collect();
    let view = view(&snapshot);
    let key = StateKey::key("list").unwrap();
    assert_eq!(view.array_births(&key, None).missing, Some(ArrayMissing::NotAnArray));
    assert_eq!(view.array_births(&key, Some(CommitIdx(0))).births.unwrap().len(), 1);
    let at = view.value_at(&key, CommitIdx(1)).unwrap();
    assert_eq!(at.partial, [Partial::Redacted]);
    let state = view.state_at(Some(CommitIdx(1))).to_value();
    assert_eq!((&state["redacted"], &state["redactedPaths"]), (&value!(true), &value!(["list"])));
    assert_eq!(view.state_at(Some(CommitIdx(0))).redacted_paths, []);
}

/// Proves OBS-151, OBS-176.
#[test]
fn answers_say_when_they_are_partial_and_when_a_key_is_unknown() {
    let commits = [commit(vec![("cfg.mode", Verb::Set, value!("fast"))])];
    let unseeded = view(&snapshot(&commits, None, false));
    let cfg = StateKey::key("cfg").unwrap();
    let at = unseeded.value_at(&cfg, CommitIdx(0)).unwrap();
    assert_eq!((at.partial, at.basis), (vec![Partial::NestedRows], Basis::LogOnly));
    let seeded = view(&snapshot(&commits, initial(), false));
    assert_eq!(seeded.value_at(&cfg, CommitIdx(0)).unwrap().partial, []);
    let typo = seeded.slice_for_key(&StateKey::key("cgf").unwrap(), None, &SliceOptions::for_key()).unwrap();
    assert_eq!(typo.missing, Some(KeyMissing::NeverWritten));
    let note = &typo.notes[0];
    assert_eq!((note.code, note.detail.contains("known keys: cfg")), (NoteCode::UnknownKey, true));
    // A seeded key is known: it came from before the run.
    let old =
        seeded.slice_for_key(&StateKey::key("seeded").unwrap(), None, &SliceOptions::for_key()).unwrap();
    assert_eq!(old.notes[0].code, NoteCode::PreRunOrigin);
    assert!(NoteCode::ALL.iter().all(|c| !c.meaning().is_empty()));
    assert!(NoteCode::ALL.iter().all(|c| NoteCode::ALL.iter().filter(|o| o.word() == c.word()).count() == 1));
}

/// Proves OBS-147.
#[test]
fn keys_that_cannot_exist_are_refused() {
    assert!(StateKey::key("").is_err());
    assert!(StateKey::path(Vec::<&str>::new()).is_err());
    assert!(StateKey::key("a\u{1f}b").is_err());
    assert_eq!(StateKey::dotted("a.b").unwrap(), StateKey::path(["a", "b"]).unwrap());
}

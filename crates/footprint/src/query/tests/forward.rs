use proptest::prelude::*;

use super::model::*;
use crate::ids::CommitIdx;
use crate::query::*;
use crate::state::Path;
use crate::value;
use crate::verbs::Verb;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Proves OBS-174.
    #[test]
    fn timelines_hold_every_read_and_write_once(commits in commits(20), before in prop::option::of(0_usize..20)) {
        let snapshot = snapshot(&commits, None, false);
        let view = view(&snapshot);
        let states = states(&snapshot);
        let end = before.unwrap_or(usize::MAX).min(commits.len());
        for name in ["a", "b", "list"] {
            let key = StateKey::key(name).unwrap();
            let timeline = view.key_timeline(&key, before.map(CommitIdx));
            let mut expected = vec![];
            for c in 0..end {
                let first = first_of(&snapshot, c) == c;
                let id = &snapshot.commit_log.get(c).unwrap().runtime_stage_id;
                let read = first && view.frame(id).is_some_and(|f| f.stage_reads.as_ref().unwrap().contains_key(name));
                // A read that resolves inside the step's own branch is a read of another key.
                let elsewhere = naive_read(&snapshot, &states, c, name).is_some_and(|(k, _)| k != key);
                if read && !elsewhere {
                    expected.push((c, MomentKind::Read, naive_writer(&snapshot, &states, &key, c)));
                }
                if naive_wrote(&snapshot, &states, &key, c) {
                    expected.push((c, MomentKind::Write, None));
                }
            }
            let found: Vec<_> =
                timeline.moments.iter().map(|m| (m.at.commit_idx.0, m.kind, m.from_write.map(|w| w.0))).collect();
            prop_assert_eq!(found, expected, "{}", name);
        }
    }

    /// Proves OBS-175.
    #[test]
    fn forward_edges_are_backward_edges_turned_round(commits in commits(16), rows_say in any::<bool>()) {
        let snapshot = snapshot(&commits, None, rows_say);
        let view = view(&snapshot);
        let options = SliceOptions { max_depth: 1000, max_nodes: 10_000, ..SliceOptions::default() };
        for name in ["a", "b", "list"] {
            let key = StateKey::key(name).unwrap();
            let Some(writer) = view.last_writer(&key, Some(CommitIdx(commits.len() / 2))) else { continue };
            let forward = view.forward_slice(&key, Some(CommitIdx(commits.len() / 2)), &options).unwrap();
            prop_assert_eq!(&forward.nodes[0].written, &Some(writer));
            prop_assert_eq!(forward.truncated, None);
            for edge in &forward.edges {
                let (from, to) = (&forward.nodes[edge.from.0 as usize], &forward.nodes[edge.to.0 as usize]);
                let (born, fed) = (from.written.as_ref().unwrap(), to.written.as_ref().unwrap());
                let first = view.commit_of(&fed.runtime_stage_id).unwrap();
                // The step that wrote the later value saw the earlier one.
                let seen = view.last_writer(&from.key, Some(first)).unwrap();
                prop_assert_eq!(&seen, born);
                let rows = &snapshot.commit_log.get(fed.commit_idx.0).unwrap().rows;
                let row = rows.iter().find(|r| r.path == *to.key.as_path()).unwrap();
                prop_assert_eq!(edge.per_write, row.read_keys.is_some());
                let rows_of = rows.iter().filter(|r| r.path == *to.key.as_path());
                let names = |r: &crate::state::Row| r.read_keys.as_ref().is_none_or(|k| k.contains(&edge.key));
                prop_assert!(rows_of.clone().any(names));
            }
        }
    }
}

fn step(reads: &[&'static str], rows: &[&str]) -> Commit {
    let rows = rows.iter().map(|p| (Path::dotted(p), Verb::Set, value!(1))).collect();
    Commit { stage: 0, again: false, rows, reads: reads.to_vec() }
}

/// Proves OBS-174, OBS-175, OBS-176.
#[test]
fn forward_answers_say_where_they_end_and_why() {
    let commits = [
        step(&["seeded"], &["a"]),
        step(&["a"], &["b"]),
        step(&["a", "b"], &[]),
        step(&[], &["a"]),
        step(&["a"], &["list"]),
    ];
    let view = view(&snapshot(&commits, initial(), false));
    let key = |k: &str| StateKey::key(k).unwrap();
    let forward = view.forward_slice(&key("a"), Some(CommitIdx(1)), &SliceOptions::default()).unwrap();
    let told: Vec<_> = forward.nodes.iter().map(|n| (n.key.to_string(), n.ends_in.len())).collect();
    // The value written at commit 3 is another one: `list` is not reached.
    assert_eq!(told, [("a".to_owned(), 1), ("b".to_owned(), 1)]);
    let json = forward.to_value();
    assert_eq!((&json["rootId"], &json["edges"][0]["basis"]), (&value!("n0"), &value!("stage")));
    assert!(forward.notes.iter().any(|n| n.code == NoteCode::ConservativeFedEdges));

    let old = view.forward_slice(&key("seeded"), None, &SliceOptions::default()).unwrap();
    assert!(old.nodes[0].written.is_none());
    assert!(old.notes.iter().any(|n| n.code == NoteCode::PreRunOrigin));
    let timeline = view.key_timeline(&key("seeded"), None);
    assert_eq!(timeline.moments[0].from_write, None);
    assert!(timeline.notes.iter().any(|n| n.code == NoteCode::PreRunOrigin));
    let none = view.forward_slice(&key("tpyo"), None, &SliceOptions::default()).unwrap();
    assert_eq!(none.missing, Some(KeyMissing::NeverWritten));
    assert!(none.notes.iter().any(|n| n.code == NoteCode::UnknownKey));
    let cut = view.forward_slice(
        &key("a"),
        Some(CommitIdx(1)),
        &SliceOptions { max_nodes: 1, ..Default::default() },
    );
    assert!(cut.unwrap().truncated.unwrap().by_nodes);
}

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::query::{StateKey, TraceQuery};
use crate::state::{
    Bundle, CommitValues, Path, RedactionPolicy, RedactionRule, RunPolicy, Tracking, Untracked,
    WriteProvenance, fold,
};
use crate::value;
use crate::value::{Object, Value};
use crate::verbs::Verb;

fn bundle(i: usize) -> Arc<Bundle> {
    Arc::new(Bundle::empty(CommitIdx(i), "S", "s", RuntimeStageId::parse(&format!("s#{i}"))))
}

/// Proves ENG-143.
#[test]
fn a_log_is_shared_and_does_not_grow_with_its_source() {
    let mut log = CommitLog::new();
    let mut frozen = vec![];
    for i in 0..1000 {
        assert_eq!(log.len(), i);
        log.push(bundle(i));
        if i % 97 == 0 {
            frozen.push((i + 1, log.clone()));
        }
    }
    for (len, log) in frozen {
        assert_eq!(log.len(), len);
        assert!(log.get(len).is_none());
        assert_eq!(log.last().unwrap().idx, CommitIdx(len - 1));
        assert!(log.iter().enumerate().all(|(i, b)| b.idx.0 == i));
        assert!((0..len).all(|i| log.get(i).unwrap().idx.0 == i));
    }
}

/// Proves OBS-56.
#[test]
fn operations_have_their_words() {
    use PreferredOperation::{Accumulate, Aggregate, Translate};
    let words = [(Translate, "translate"), (Accumulate, "accumulate"), (Aggregate, "aggregate")];
    for (operation, word) in words {
        assert_eq!((operation.word(), PreferredOperation::parse(word)), (word, Some(operation)));
    }
    assert_eq!(PreferredOperation::parse("reduce"), None);
}

/// Proves ENG-161.
#[test]
fn a_gap_keeps_its_place() {
    let mut log: CommitLog = (0..300).map(bundle).collect();
    log.push_gap("broken".into(), value!("x"), bundle(0));
    log.push(bundle(301));
    assert_eq!((log.len(), log.gaps().len()), (302, 1));
    assert_eq!(log.gap(300).map(|g| &*g.reason), Some("broken"));
    assert!(log.gap(299).is_none() && log.gap(301).is_none());
}

fn ops() -> impl Strategy<Value = Vec<Vec<(u8, u8, i64)>>> {
    let op = (0..6_u8, 0..3_u8, 0..4_i64);
    prop::collection::vec(prop::collection::vec(op, 0..6), 0..8)
}

proptest! {
    /// Proves ENG-162, ENG-4.
    #[test]
    fn a_written_record_keeps_the_laws(steps in ops(), delta in any::<bool>()) {
        let policy = RunPolicy {
            commit_values: if delta { CommitValues::Delta } else { CommitValues::Full },
            write_provenance: WriteProvenance::ReadsPrefix,
            ..RunPolicy::default()
        };
        let initial: Object = [("k0", value!([1]))].into_iter().collect();
        let mut writer = RecordWriter::new("run", initial.clone(), policy);
        for (i, step) in steps.iter().enumerate() {
            let mut record = writer.step(format!("s{}", i % 2), "S").unwrap();
            for &(what, key, n) in step {
                let key = format!("k{key}");
                match what {
                    0 => drop(record.read(&key)),
                    1 => record.set(&key, value!(n)).unwrap(),
                    2 => record.set(&key, value!([n])).unwrap(),
                    3 => record.append(&key, [value!(n)].into_iter().collect()).unwrap(),
                    4 => record.merge(&key, value!({"m": n})).unwrap(),
                    _ => record.delete(&key).unwrap(),
                }
            }
            if i % 3 == 0 { drop(record) } else { record.commit(); }
        }
        let snapshot = writer.snapshot();
        prop_assert_eq!(snapshot.commit_log.len(), steps.len());
        let bundles: Vec<&Bundle> = snapshot.commit_log.iter().map(|b| &**b).collect();
        prop_assert_eq!(&fold(initial, bundles), &snapshot.shared_state);
        for (i, bundle) in snapshot.commit_log.iter().enumerate() {
            prop_assert_eq!((bundle.idx.0, bundle.runtime_stage_id.index().0), (i, i as u64));
            prop_assert_eq!(bundle.phase, None);
        }
        let back = Snapshot::from_json(&snapshot.to_json()).unwrap();
        prop_assert_eq!(back.to_json(), snapshot.to_json());
        let query = TraceQuery::new(back);
        for key in ["k0", "k1", "k2"] {
            let key = StateKey::key(key).unwrap();
            let end = query.root().value_at(&key, CommitIdx(99)).unwrap();
            prop_assert_eq!(end.value.value(), key.read(&snapshot.shared_state));
        }
    }
}

/// Proves ENG-162, ENG-94.
#[test]
fn dials_and_redaction_hold_outside_the_engine() {
    let rule = RedactionRule::new(RedactionPolicy::new().keys(["ssn"]));
    let policy = RunPolicy {
        read_tracking: Tracking::Summary,
        write_tracking: Tracking::Off,
        redaction: Some(Arc::new(rule)),
        ..RunPolicy::default()
    };
    let seeded: Object = [("ssn", value!("SECRET-0"))].into_iter().collect();
    let mut writer = RecordWriter::new("run", seeded, policy).label("outside");
    let mut step = writer.step("a", "A").unwrap();
    assert_eq!(step.read("ssn"), Some(value!("SECRET-0")));
    step.set("ssn", value!("SECRET-1")).unwrap();
    step.set("pin", value!("SECRET-2")).unwrap();
    step.redact("pin");
    step.untracked(Untracked::ARGS);
    step.tags(["first"]);
    step.frame().unwrap().description = Some("does it".into());
    step.write(Path::dotted("cfg.mode"), Verb::Set, value!("fast")).unwrap();
    assert!(step.set("runs", Value::Null).is_err());
    assert!(step.write(Path::dotted("cfg.__proto__"), Verb::Set, Value::Null).is_err());
    step.commit();
    assert!(writer.step("a#1", "A").is_err());
    let served = writer.snapshot_redacted().to_json();
    assert!(!served.contains("SECRET"), "{served}");
    assert!(served.contains("\"outside\"") && served.contains("\"tags\":[\"first\"]"));
    assert_eq!(writer.state().get("ssn"), Some(&value!("SECRET-1")));
    let snapshot = writer.snapshot();
    assert_eq!(snapshot.shared_state.get("pin"), Some(&value!("SECRET-2")));
    let (_, frame) = snapshot.execution_tree.iter().next().unwrap();
    assert_eq!(frame.stage_writes, None);
    assert_eq!(frame.description.as_deref(), Some("does it"));
    assert_eq!(writer.commit_count(), 1);
}

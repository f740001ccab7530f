//! Names that would break a recorded path, and keys nobody inside may write.

use footprint::chart::{BuildError, Chart, FanOut, ForEach, ForkChild, Mount, Next, Selector, Stage};
use footprint::error::{MapperSide, RunError};
use footprint::scope::Scope;
use footprint::snapshot::{read_snapshot, write_snapshot};
use footprint::state::{CommitValues, fold};
use footprint::value;
use footprint::value::{Object, Value};
use footprint::walk::RunOptions;

use super::support::*;

fn holding(name: &str) -> Object {
    [(footprint::Str::from(name), value!(1))].into_iter().collect()
}

fn nested(name: &str) -> Object {
    [(footprint::Str::from("obj"), Value::Object(holding(name)))].into_iter().collect()
}

/// Proves ENG-63, ENG-31, ENG-33: the keys of an object that crosses a mount's boundary are segments of recorded
/// paths, so they are checked as keys are; a name with the separator in it would fold to another place after the
/// recording was read.
#[tokio::test]
async fn keys_of_objects_that_cross_a_mount() {
    let inner = build(Chart::builder(idle("in")));
    for name in ["a\u{1f}b", "__proto__", "constructor", "prototype"] {
        let name = name.to_owned();
        for side in [MapperSide::Input, MapperSide::Output] {
            let (given, mount) = (nested(&name), Mount::of("sf", &inner));
            let mount = match side {
                MapperSide::Input => mount.input(move |_| Ok(given.clone())),
                _ => mount.output(move |_| Ok(given.clone())),
            };
            let report = build(Chart::builder(mount)).run(RunOptions::new()).await;
            let Some(RunError::Mapper { side: found, source, .. }) = report.error() else {
                panic!("{name:?} {side:?}: {:?}", report.outcome())
            };
            assert_eq!(*found, side);
            assert!(source.0.message().contains("mapped key `obj`"), "{}", source.0.message());
            assert_folds(&report);
        }
        let given = name.clone();
        let each = ForEach::new(
            "each",
            move |_: Scope| Ok(vec![Value::Object(holding(&given))]),
            |_: &Value, _| build(Chart::builder(idle("x"))),
        );
        let report = build(Chart::builder(each.max_branches(2).into("out"))).run(RunOptions::new()).await;
        assert!(matches!(report.error(), Some(RunError::ForEach { .. })), "{name:?}: {:?}", report.outcome());
    }
}

/// Proves ENG-4, ENG-145: names with dots, slashes, marks of the address grammar, nothing and other scripts in them
/// fold to the live state also after the recording was written and read.
#[tokio::test]
async fn odd_names_fold_after_reading() {
    for name in ["", ".", "a.b", "a/b", "a#1", "a~0", "runs", "日本", " ", "\"", "\\u001f", "toString"] {
        let inner = build(Chart::builder(Stage::new("in", |s: Scope| async move {
            let obj = s.value("obj")?.unwrap();
            Ok(s.set_value("copy", obj)?)
        })));
        let (given, back) = (nested(name), nested(name));
        let mount =
            Mount::of("sf", &inner).input(move |_| Ok(given.clone())).output(move |_| Ok(back.clone()));
        for dial in [CommitValues::Full, CommitValues::Delta] {
            let chart = build(Chart::builder(mount.clone()));
            let report = chart.run(RunOptions::new().commit_values(dial)).await;
            completed(&report);
            assert_folds(&report);
            let mut text = String::new();
            write_snapshot(report.snapshot(), &mut text);
            let read = read_snapshot(text.as_bytes(), &Default::default()).unwrap();
            for snapshot in [&read, report.snapshot()] {
                let folded = fold(Object::new(), snapshot.commit_log.iter().map(|bundle| &**bundle));
                assert_eq!(folded, nested(name), "{name:?}");
                let inner = &snapshot.subflow_results["sf"].tree_context;
                let folded = fold(Object::new(), inner.history.iter().map(|bundle| &**bundle));
                assert_eq!(folded, inner.global_context, "{name:?}");
            }
        }
    }
}

/// Proves ENG-12, ENG-63: an id that state is kept under is a key of the record, so the names a reader drops are
/// refused when the chart is built, and in a continuation when it is returned.
#[tokio::test]
async fn parallel_children_are_keys() {
    for id in ["__proto__", "constructor", "prototype"] {
        let fork = Chart::builder(idle("a")).fork([mark(id), mark("z")], FanOut::AllSettled).build();
        let select = Chart::builder(
            Selector::new("s", |_: Scope| async { Ok(["z"]) }).branch(mark(id)).branch(mark("z")),
        )
        .build();
        for built in [fork, select] {
            let errors = built.map(|_| ()).unwrap_err();
            assert!(
                matches!(&errors.0[..], [BuildError::ReservedGeneratedId { id: found, .. }] if &**found == id),
                "{errors}"
            );
        }
        let returned = Stage::new("a", move |_: Scope| async move {
            Ok(Next::Fork(vec![ForkChild::from(mark(id))], FanOut::AllSettled))
        });
        let report = build(Chart::builder(returned)).run(RunOptions::new()).await;
        assert!(matches!(report.error(), Some(RunError::Stage { .. })));
        // No state is kept under the id of a chain's stage.
        build(Chart::builder(idle(id)));
    }
}

/// Proves ENG-30, ENG-63: nothing inside a mounted chart writes its arguments: no stage, no for-each with its
/// results, no merge-back of a mount further in, not from a parallel branch either.
#[tokio::test]
async fn arguments_are_nobodys_to_write() {
    let with_args = |inner: &Chart| {
        let mount = Mount::of("sf", inner).input(|_| Ok(object(value!({ "arg": { "a": [1] } }))));
        build(Chart::builder(mount))
    };
    let each = ForEach::new("each", |_: Scope| Ok(vec![1_u8]), |_: &u8, _| build(Chart::builder(idle("x"))));
    let chart = with_args(&build(Chart::builder(each.max_branches(1).into("arg"))));
    let report = chart.run(RunOptions::new()).await;
    let Some(RunError::ForEach { source, .. }) = report.error() else { panic!("{:?}", report.outcome()) };
    assert!(source.0.message().contains("read-only argument"), "{}", source.0.message());
    // Refused before a branch ran.
    assert_eq!(report.snapshot().subflow_results["sf"].tree_context.history.len(), 2);

    let leaf = build(Chart::builder(mark("leaf")));
    let onto = Mount::of("in", &leaf).output(|_| Ok(object(value!({ "arg": 9, "ok": 1 }))));
    let in_branch = Chart::builder(idle("r")).fork([ForkChild::from(onto.clone())], FanOut::FailFast);
    for inner in [build(Chart::builder(onto.clone())), build(in_branch)] {
        let report = with_args(&inner).run(RunOptions::new()).await;
        let Some(RunError::Mapper { side: MapperSide::Output, source, .. }) = report.error() else {
            panic!("{:?}", report.outcome())
        };
        assert!(source.0.message().contains("mapped key `arg`"), "{}", source.0.message());
        let state = &report.snapshot().subflow_results["sf"].tree_context.global_context;
        assert_eq!(state.get("arg"), Some(&value!({ "a": [1] })));
        assert_eq!(state.get("ok"), None);
        assert_folds(&report);
    }
    // The same mapping is fine where the key is no argument.
    completed(&build(Chart::builder(onto)).run(RunOptions::new()).await);
}

//! Forks, selectors and for-each: namespaces, error modes, results.

use footprint::chart::{Chart, FanOut, ForEach, Mount, Selector, Stage};
use footprint::error::{RunError, StageError};
use footprint::observe::Hook;
use footprint::scope::Scope;
use footprint::state::Key;
use footprint::value;
use footprint::value::Value;
use footprint::walk::RunOptions;

use super::support::*;

const OUT: Key<i64> = Key::new("out");

fn writing(id: &'static str, value: i64) -> Stage {
    Stage::new(id, move |scope: Scope| async move { Ok(scope.set(OUT, value)?) })
}

/// Proves ENG-81, ENG-83, ENG-106, ENG-110, OBS-10: branches write under `runs`, read through to the root, and
/// are read after the join; indices rise in declaration order.
#[tokio::test]
async fn namespaces() {
    let child = |id: &'static str, add: i64| {
        Stage::new(id, move |scope: Scope| async move {
            let base = *scope.get(Key::<i64>::new("base"))?;
            tokio::task::yield_now().await;
            scope.set(OUT, base + add)?;
            assert_eq!(*scope.get(OUT)?, base + add);
            Ok(())
        })
    };
    let join = Stage::new("join", |scope: Scope| async move {
        let sum = *scope.branch("a").get(OUT)? + *scope.branch("b").get(OUT)?;
        Ok(scope.set_value("sum", sum)?)
    });
    let base = Stage::new("base", |scope: Scope| async move { Ok(scope.set_value("base", 10)?) });
    let chart =
        build(Chart::builder(base).fork([child("a", 1), child("b", 2)], FanOut::AllSettled).then(join));
    let report = chart.run(RunOptions::new()).await;
    assert_eq!(
        state(&report),
        value!({ "base": 10, "runs": { "a": { "out": 11 }, "b": { "out": 12 } }, "sum": 23 })
    );
    assert_eq!(tree(&report)[0], "base#0 -> join#3 [a#1, b#2]");
    assert_folds(&report);
}

/// Proves ENG-66: what a sibling commits meanwhile is visible at root to reads of absent keys.
#[tokio::test]
async fn live_fallback() {
    let inner = build(Chart::builder(mark("in")));
    let reader = Stage::new("reader", |scope: Scope| async move {
        assert_eq!(scope.value("from-mount")?, None);
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        assert_eq!(scope.value("from-mount")?, Some(value!(true)));
        Ok(())
    });
    let chart = build(Chart::builder(idle("a")).fork(
        [
            footprint::chart::ForkChild::from(reader),
            Mount::of("sf", &inner).output_keys([("in", "from-mount")]).into(),
        ],
        FanOut::FailFast,
    ));
    let report = chart.run(RunOptions::new()).await;
    completed(&report);
}

/// Proves ENG-82: a fan-out inside a branch nests its namespace, so equal child ids never meet.
#[tokio::test]
async fn nested_namespaces() {
    use footprint::chart::Next;
    let outer = |id: &'static str| {
        Stage::new(id, |_: Scope| async {
            Ok(Next::Fork(vec![writing("left", 1).into(), writing("right", 2).into()], FanOut::AllSettled))
        })
    };
    let chart = build(Chart::builder(idle("a")).fork([outer("one"), outer("two")], FanOut::AllSettled));
    let report = chart.run(RunOptions::new()).await;
    let branch = value!({ "runs": { "left": { "out": 1 }, "right": { "out": 2 } } });
    assert_eq!(state(&report)["runs"], value!({ "one": branch.clone(), "two": branch }));
    assert_folds(&report);
}

/// Proves ENG-107, ENG-110: failures are contained, in the map and on the child's frame; the run goes on.
#[tokio::test]
async fn all_settled() {
    let chart = build(Chart::builder(idle("a")).fork([failing("bad"), slow("good", 2)], FanOut::AllSettled));
    let report = chart.run(RunOptions::new()).await;
    let map = completed(&report).unwrap();
    assert_eq!(map["bad"]["isError"], value!(true));
    assert_eq!(map["bad"]["result"]["message"], value!("broke"));
    assert_eq!(map["good"], value!({ "id": "good", "result": null, "isError": false }));
    assert_eq!(state(&report)["runs"], value!({ "bad": { "bad": "half" }, "good": { "good": true } }));
    assert!(commits(&report).contains(&"bad#1 repeat []".to_owned()));
}

/// Proves ENG-108, ENG-5: the first error ends the siblings, which commit what they staged and say why; nothing
/// is committed after the run returned.
#[tokio::test]
async fn fail_fast() {
    let busy = Stage::new("busy", |scope: Scope| async move {
        scope.set_value("busy", "half")?;
        let late = scope.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            // The handle is sealed: the run is over.
            assert!(late.set_value("busy", "late").is_err());
            assert!(late.emit("late", 1).is_err());
        });
        std::future::pending::<()>().await;
        Ok(())
    });
    let trigger = Stage::new("trigger", |_: Scope| async {
        tokio::task::yield_now().await;
        Err::<(), _>(StageError::new("broke"))
    });
    let chart = build(Chart::builder(idle("a")).fork([busy, trigger], FanOut::FailFast).then(mark("never")));
    let run = chart.run(RunOptions::new());
    let handle = run.handle();
    let report = run.await;
    let Some(RunError::Stage { address, .. }) = report.error() else { panic!("{:?}", report.outcome()) };
    assert_eq!(address.to_string(), "trigger#2");
    assert_eq!(state(&report)["runs"]["busy"], value!({ "busy": "half" }));
    let frame = report.snapshot().execution_tree.iter().nth(1).unwrap().1.clone();
    assert!(Value::Object(frame.errors)["stageExecutionError"].as_str().unwrap().contains("`trigger`"));
    let count = handle.commit_count();
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    assert_eq!(handle.commit_count(), count);
    assert_folds(&report);
}

/// Proves ENG-107: a failure of the engine is not contained, and waits for the siblings.
#[tokio::test]
async fn engine_failures_are_not_contained() {
    let deep = build(Chart::builder(Mount::of("sf2", &build(Chart::builder(idle("deep"))))));
    let chart = build(Chart::builder(idle("a")).fork(
        [footprint::chart::ForkChild::from(Mount::of("sf", &deep)), slow("good", 3).into()],
        FanOut::AllSettled,
    ));
    let report = chart.run(RunOptions::new().max_depth(2)).await;
    assert!(matches!(report.error(), Some(RunError::DepthExceeded { limit: 2, .. })));
    assert_eq!(state(&report)["runs"]["good"], value!({ "good": true }));
}

/// Proves ENG-38, ENG-39, ENG-40, ENG-41: items past the ceiling do not run and are counted; slots keep item
/// order; a failed slot is null; branches are made anew on every visit.
#[tokio::test]
async fn for_each_results() {
    let each = ForEach::new(
        "each",
        |_: Scope| Ok(vec![3u32, 1, 2, 9]),
        |wait: &u32, _| {
            let wait = *wait;
            Chart::builder(Stage::new("in", move |scope: Scope| async move {
                for _ in 0..wait {
                    tokio::task::yield_now().await;
                }
                let args = scope.args::<Value>()?;
                if wait == 1 {
                    return Err(StageError::new("one"));
                }
                Ok(value!([(args["index"].clone()), (args["item"].clone())]))
            }))
            .build()
        },
    )
    .named("Each")
    .max_branches(3)
    .into("results");
    let report = build(Chart::builder(each)).run(RunOptions::new()).await;
    let expected = value!([[0, 3], null, [2, 2]]);
    assert_eq!(completed(&report), Some(expected.clone()));
    assert_eq!(state(&report)["results"], expected);
    let frame = report.snapshot().execution_tree.iter().next().unwrap().1;
    assert_eq!(
        frame.logs.get("parallelForEach"),
        Some(&value!({ "items": 4, "branches": 3, "maxBranches": 3, "truncated": true, "into": "results" }))
    );
    let failed = report.snapshot().execution_tree.iter().nth(2).unwrap().1;
    assert_eq!((&*failed.name, failed.errors.contains_key("subflowError")), ("Each [1]", true));
    assert_eq!(report.snapshot().subflow_results["each~2"].parent_stage_id.as_ref(), "each~2.Each [2]");
    assert_folds(&report);
}

/// Proves ENG-41: without items there is no fan-out event, and the result is an empty list.
#[tokio::test]
async fn for_each_without_items() {
    let each =
        ForEach::new("each", |_: Scope| Ok(Vec::<u8>::new()), |_: &u8, _| build(Chart::builder(idle("in"))))
            .max_branches(3)
            .into("results");
    let (report, told) = told(&build(Chart::builder(each)), RunOptions::new()).await;
    assert_eq!(state(&report)["results"], value!([]));
    assert!(told.iter().all(|line| !line.starts_with("fork")));
}

/// Proves ENG-98, ENG-106: width costs no depth, and a thousand children keep declaration order.
#[tokio::test]
async fn a_wide_fork_is_one_level() {
    let ids: Vec<&'static str> =
        (0..1000).map(|n| &*Box::leak(format!("c{n:04}").into_boxed_str())).collect();
    let children: Vec<Stage> = ids.iter().map(|id| slow(id, 1)).collect();
    let chart = build(Chart::builder(idle("a")).fork(children, FanOut::AllSettled));
    let report = chart.run(RunOptions::new().max_depth(1)).await;
    let map = completed(&report).unwrap();
    assert!(map.as_object().unwrap().keys().map(|k| &**k).eq(ids.iter().copied()));
    for (at, (_, frame)) in report.snapshot().execution_tree.iter().skip(1).enumerate() {
        assert_eq!(frame.runtime_stage_id.index().0, at as u64 + 1);
    }
}

/// Proves ENG-111: a classifier names throttled children and changes nothing else.
#[tokio::test]
async fn throttled_children() {
    let chart = build(Chart::builder(idle("a")).fork([failing("x"), failing("y")], FanOut::AllSettled));
    let (report, told) = told(&chart, RunOptions::new().throttle(|e| e.message() == "broke")).await;
    completed(&report);
    let hook = Hook::Throttled.method_name().trim_start_matches("on_");
    let throttled: Vec<_> = told.iter().filter(|line| line.starts_with(hook)).collect();
    assert_eq!(throttled, ["throttled x#1", "throttled y#2"]);
}

/// Proves ENG-33: a mount inside a branch merges at its parent level's root; its mapper sees the branch first.
#[tokio::test]
async fn mounts_inside_branches() {
    let inner = build(Chart::builder(Stage::new("in", |scope: Scope| async move {
        let got = scope.args::<Value>()?["v"].clone();
        Ok(scope.set_value("w", got)?)
    })));
    let pick = Selector::new("pick", |scope: Scope| async move {
        scope.set_value("v", 1)?;
        Ok(["sf"])
    })
    .branch(Mount::of("sf", &inner).input_keys([("v", "v")]).output_keys([("w", "w")]));
    let report = build(Chart::builder(pick)).run(RunOptions::new()).await;
    assert_eq!(state(&report), value!({ "v": 1, "w": 1 }));
    assert_eq!(commits(&report), ["pick#0 [v set]", "sf#1 [w set]", "sf#1 exit []", "sf#1 repeat []"]);
}

//! Mounts: seeds, arguments, merge-back, results, laziness, dynamic continuations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use footprint::chart::{ArrayMergeMode, Branch, Chart, Decider, Mount, Next, Stage};
use footprint::error::{RunError, ScopeError, StageError};
use footprint::scope::Scope;
use footprint::value;
use footprint::value::Object;
use footprint::walk::RunOptions;

use super::support::*;

/// Proves ENG-29, ENG-30, ENG-31, ENG-87: the seed is the inner log's first bundle, stamped with the mount, and an empty object has no row;
/// arguments are read-only; the inner state starts with nothing else.
#[tokio::test]
async fn seeds_and_arguments() {
    let stage = Stage::new("in", |scope: Scope| async move {
        assert_eq!(scope.args_value(), value!({ "amount": 30, "cfg": { "a": 1, "b": 2 }, "none": {} }));
        assert_eq!(scope.value("outer")?, None);
        assert!(matches!(scope.set_value("amount", 1), Err(ScopeError::ReadOnlyKey { op: "set", .. })));
        assert!(matches!(scope.delete("cfg"), Err(ScopeError::ReadOnlyKey { op: "delete", .. })));
        assert!(matches!(scope.update("cfg", 1), Err(ScopeError::ReadOnlyKey { op: "update", .. })));
        Ok(())
    });
    let inner = build(Chart::builder(stage));
    let mount = Mount::of("sf", &inner)
        .input(|_| Ok(object(value!({ "amount": 30, "cfg": { "a": 1, "b": 2 }, "none": {} }))));
    let outer = Stage::new("outer", |scope: Scope| async move { Ok(scope.set_value("outer", 1)?) });
    let report = build(Chart::builder(outer).mount(mount)).run(RunOptions::new()).await;
    completed(&report);
    let result = &report.snapshot().subflow_results["sf#1"];
    let seed = result.tree_context.history.get(0).unwrap();
    assert_eq!((&*seed.stage_id, seed.runtime_stage_id.to_string().as_str()), ("sf", "sf#1"));
    let paths: Vec<String> = seed.rows.iter().map(|row| row.path.to_string()).collect();
    assert_eq!(paths, ["amount", "cfg.a", "cfg.b"]);
    assert_eq!(result.tree_context.history.len(), 2);
    assert_folds(&report);
}

/// Proves ENG-33, ENG-34: lists follow or replace, objects merge one level, scalars set; under the mount's own
/// address.
#[tokio::test]
async fn merge_back() {
    let inner = build(Chart::builder(idle("in")));
    let start = Stage::new("start", |scope: Scope| async move {
        scope.set_value("list", [1])?;
        scope.set_value("obj", value!({ "tags": ["a"], "deep": { "x": 1 }, "n": 1 }))?;
        Ok(())
    });
    for (mode, list) in [(ArrayMergeMode::Concat, value!([1, 2])), (ArrayMergeMode::Replace, value!([2]))] {
        let mount = Mount::of("sf", &inner).array_merge(mode).output(|_| {
            Ok(object(value!({
                "list": [2],
                "obj": { "tags": ["b"], "deep": { "y": 2 }, "n": 2 },
                "empty": {},
                "scalar": null
            })))
        });
        let report = build(Chart::builder(start.clone()).mount(mount)).run(RunOptions::new()).await;
        assert_eq!(
            state(&report),
            value!({
                "list": (list),
                "obj": { "tags": ["a", "b"], "deep": { "x": 1, "y": 2 }, "n": 2 },
                "scalar": null
            })
        );
        assert_folds(&report);
    }
}

/// Proves ENG-141, ENG-142, ENG-10: results under path and address, nested ones at the same top map, prefixed
/// ids; the run's own log and tree hold only the mount.
#[tokio::test]
async fn results_are_keyed_twice() {
    let leaf = build(Chart::builder(mark("leaf")));
    let mid = build(Chart::builder(Mount::of("sf-leaf", &leaf)));
    let chart = build(
        Chart::builder(Mount::of("sf-mid", &mid)).decide(
            Decider::new("again", |scope: Scope| async move {
                Ok(if scope.commit_count() < 3 { "yes" } else { "no" })
            })
            .branch(Branch::stage(idle("yes")).loop_to("sf-mid"))
            .branch(idle("no")),
        ),
    );
    let report = chart.run(RunOptions::new()).await;
    let results = &report.snapshot().subflow_results;
    let keys: Vec<&str> = results.keys().map(|k| &**k).collect();
    assert_eq!(
        keys,
        ["sf-mid", "sf-mid#0", "sf-mid/sf-leaf", "sf-mid/sf-leaf#1", "sf-mid#5", "sf-mid/sf-leaf#6"]
    );
    assert!(Arc::ptr_eq(&results["sf-mid"], &results["sf-mid#5"]));
    let leaf = &results["sf-mid/sf-leaf#6"];
    assert_eq!(leaf.tree_context.global_context.get("leaf"), Some(&value!(true)));
    assert_eq!(leaf.parent_stage_id.as_ref(), "sf-mid/sf-leaf");
    let address = leaf.tree_context.log_address.clone().unwrap();
    assert_eq!(address.drill_path, ["sf-mid#5".into(), "sf-mid/sf-leaf#6".into()]);
    assert_eq!(report.snapshot().execution_tree.len(), 6);
}

/// Proves ENG-37, ENG-59: a lazy mount is resolved once per site and run, behaves like an eager one, and its
/// structure joins the runtime structure.
#[tokio::test]
async fn lazy_mounts() {
    let made = Arc::new(AtomicUsize::new(0));
    let inner = build(Chart::builder(mark("in")));
    let lazy = {
        let (made, inner) = (Arc::clone(&made), inner.clone());
        Mount::lazy("sf", move || {
            made.fetch_add(1, Ordering::Relaxed);
            inner.clone()
        })
    };
    let looped = |mount: Mount| {
        build(
            Chart::builder(mount).decide(
                Decider::new("again", |scope: Scope| async move {
                    Ok(if scope.commit_count() < 3 { "yes" } else { "no" })
                })
                .branch(Branch::stage(idle("yes")).loop_to("sf"))
                .branch(idle("no")),
            ),
        )
    };
    let chart = looped(lazy);
    let (report, lines) = told(&chart, RunOptions::new()).await;
    assert_eq!(made.load(Ordering::Relaxed), 1);
    assert_eq!(lines.iter().filter(|line| line.starts_with("subflow_registered")).count(), 1);
    let eager = looped(Mount::of("sf", &inner)).run(RunOptions::new()).await;
    assert_eq!(commits(&report), commits(&eager));
    assert_eq!(tree(&report), tree(&eager));
    assert!(chart.structure().find("sf/in").is_none());
    assert!(report.runtime_structure().find("sf/in").is_some());
    chart.run(RunOptions::new()).await;
    assert_eq!(made.load(Ordering::Relaxed), 2);

    let broken = build(Chart::builder(Mount::lazy("sf", || Err::<Chart, _>(StageError::new("no chart")))));
    let report = broken.run(RunOptions::new()).await;
    assert!(matches!(report.error(), Some(RunError::Resolver { mount, .. }) if mount.to_string() == "sf#0"));
}

/// Proves ENG-32, ENG-114: mapper and outcome receive the returned value; the state is there as well.
#[tokio::test]
async fn returned_values() {
    let inner = build(Chart::builder(Stage::new("in", |scope: Scope| async move {
        scope.set_value("s", 1)?;
        Ok("returned")
    })));
    let mount = Mount::of("sf", &inner).output(|end| {
        let mut out = Object::new();
        out.insert("output", end.output.clone().unwrap_or_default());
        out.insert("state", end.state.value("s").unwrap_or_default());
        Ok(out)
    });
    let report = build(Chart::builder(mount)).run(RunOptions::new()).await;
    assert_eq!(completed(&report), Some(value!("returned")));
    assert_eq!(state(&report), value!({ "output": "returned", "state": 1 }));
}

/// Proves ENG-43: a jump is a counted loop edge, a chain and a mount apply to one visit, the chart is unchanged.
#[tokio::test]
async fn dynamic_continuations() {
    let jump = Stage::new("jump", |scope: Scope| async move {
        let n = scope.value("n")?.and_then(|n| n.as_i64()).unwrap_or(0) + 1;
        scope.set_value("n", n)?;
        Ok(Next::Goto(if n < 3 { "jump" } else { "end" }.into()))
    });
    let chart = build(Chart::builder(jump).then(mark("skipped")).then(mark("end")));
    let (report, lines) = told(&chart, RunOptions::new()).await;
    assert_eq!(commits(&report), ["jump#0 [n set]", "jump#1 [n set]", "jump#2 [n set]", "end#3 [end set]"]);
    assert_eq!(lines.iter().filter(|line| line.starts_with("loop")).count(), 3);

    let chain = Stage::new("plan", |_: Scope| async { Ok(Next::Chain(vec![mark("x"), mark("y")])) });
    let chart = build(Chart::builder(chain).then(mark("declared")));
    let report = chart.run(RunOptions::new()).await;
    assert_eq!(commits(&report), ["plan#0 []", "x#1 [x set]", "y#2 [y set]"]);
    let logs = &report.snapshot().execution_tree.iter().next().unwrap().1.logs;
    assert_eq!(logs.get("isDynamic"), Some(&value!(true)));
    assert_eq!(logs.get("dynamicNextName"), Some(&value!("x")));
    assert_eq!(chart.node_count(), 2);

    let inner = build(Chart::builder(mark("in")));
    let mounting = Stage::new("plan", move |_: Scope| {
        let mount = Mount::of("sf", &inner).output_keys([("in", "got")]);
        async move { Ok(Next::Mount(Box::new(mount))) }
    });
    let report = build(Chart::builder(mounting).then(mark("declared"))).run(RunOptions::new()).await;
    assert_eq!(
        commits(&report),
        ["plan#0 []", "sf#1 [got set]", "sf#1 exit []", "declared#3 [declared set]"]
    );

    fn again(n: usize) -> Stage {
        Stage::new(format!("more{n}"), move |_: Scope| async move { Ok(Next::Chain(vec![again(n + 1)])) })
    }
    let report = build(Chart::builder(again(0))).run(RunOptions::new().max_iterations(20)).await;
    assert!(
        matches!(report.error(), Some(RunError::DynamicLimit { limit: 20, .. })),
        "{:?}",
        report.outcome()
    );
    assert_eq!(report.snapshot().commit_log.len(), 21);

    let clash = Stage::new("plan", |_: Scope| async { Ok(Next::Chain(vec![mark("declared")])) });
    let report = build(Chart::builder(clash).then(mark("declared"))).run(RunOptions::new()).await;
    assert!(
        matches!(report.error(), Some(RunError::Stage { address, .. }) if address.to_string() == "plan#0")
    );
}

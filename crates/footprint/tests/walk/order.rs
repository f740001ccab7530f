//! Event order: one test per row of ENG-99's table.

use footprint::chart::{Branch, Chart, Decider, FanOut, ForEach, Mount, Retry, Selector, Stage, Step};
use footprint::error::StageError;
use footprint::pause::Ask;
use footprint::scope::Scope;
use footprint::value::{Object, Value};
use footprint::walk::RunOptions;

use super::support::*;

/// Proves ENG-99, ENG-100, ENG-13, OBS-60: the stage row, emits mid-stage, `next` only along plain edges.
#[tokio::test]
async fn stage() {
    let first = Stage::new("a", |scope: Scope| async move {
        scope.value("k")?;
        scope.set_value("k", 1)?;
        scope.emit("hello", 1)?;
        scope.set_value("l", 2)?;
        Ok(())
    });
    let chart = build(Chart::builder(first).then(idle("b")));
    let (report, told) = told(&chart, RunOptions::new()).await;
    completed(&report);
    assert_eq!(
        told,
        lines(
            "run_start __root__#0
             stage_start a#0
             read(k) a#0
             write(k) a#0
             emit(hello) a#0
             write(l) a#0
             stage_end a#0
             commit a#0
             stage_executed(linear) a#0
             next a#0
             stage_start b#1
             stage_end b#1
             commit b#1
             stage_executed(linear) b#1
             run_end __root__#0"
        )
    );
}

/// Proves ENG-99 (failing stage), ENG-5: commit before the error, no stage end.
#[tokio::test]
async fn failing_stage() {
    let chart = build(Chart::builder(idle("a")).then(failing("b")).then(idle("never")));
    let (report, told) = told(&chart, RunOptions::new()).await;
    assert!(report.error().is_some());
    assert_eq!(
        told[5..],
        lines(
            "next a#0
             stage_start b#1
             write(b) b#1
             commit b#1
             flow_error b#1
             run_failed __root__#0"
        )
    );
    let tree = &report.snapshot().execution_tree;
    let frame = tree.iter().nth(1).unwrap().1;
    assert_eq!(frame.errors.get("stageExecutionError"), Some(&Value::from("Error: broke")));
}

/// Proves ENG-99 (decider), ENG-102, ENG-104: commit, decision, branch, then the decider's own next.
#[tokio::test]
async fn decider() {
    let route =
        Decider::new("route", |_: Scope| async { Ok("right") }).branch(idle("left")).branch(idle("right"));
    let chart = build(Chart::builder(route).then(idle("after")));
    let (report, told) = told(&chart, RunOptions::new()).await;
    assert_eq!(
        told,
        lines(
            "run_start __root__#0
             stage_start route#0
             stage_end route#0
             commit route#0
             decision(right) route#0
             stage_executed(decider) route#0
             stage_start right#1
             stage_end right#1
             commit right#1
             stage_executed(linear) right#1
             next route#0
             stage_start after#2
             stage_end after#2
             commit after#2
             stage_executed(linear) after#2
             run_end __root__#0"
        )
    );
    assert_eq!(tree(&report), ["route#0 -> after#2 [right#1]", "right#1", "after#2"]);
}

/// Proves ENG-99 (selector), ENG-105, ENG-100: children in declaration order, no `next` afterwards.
#[tokio::test]
async fn selector() {
    let pick = Selector::new("pick", |_: Scope| async { Ok(["c", "a"]) })
        .branch(mark("a"))
        .branch(mark("b"))
        .branch(mark("c"));
    let chart = build(Chart::builder(pick).then(idle("after")));
    let (report, told) = told(&chart, RunOptions::new()).await;
    assert_eq!(
        told[1..],
        lines(
            "stage_start pick#0
             stage_end pick#0
             commit pick#0
             selected pick#0
             stage_executed(selector) pick#0
             fork pick#0
             stage_start a#1
             write(a) a#1
             stage_end a#1
             commit a#1
             stage_executed(linear) a#1
             commit(repeat) a#1
             stage_start c#2
             write(c) c#2
             stage_end c#2
             commit c#2
             stage_executed(linear) c#2
             commit(repeat) c#2
             stage_start after#3
             stage_end after#3
             commit after#3
             stage_executed(linear) after#3
             run_end __root__#0"
        )
    );
    let frame = report.snapshot().execution_tree.iter().next().unwrap().1;
    assert_eq!(Value::Object(frame.logs.clone())["skippedChildIds"][0], Value::from("b"));
}

/// Proves ENG-99 (fork), ENG-106: the fork after its stage, children, repeats, then `next`.
#[tokio::test]
async fn fork() {
    let chart = build(
        Chart::builder(idle("a")).fork([slow("x", 2), mark("y")], FanOut::AllSettled).then(idle("after")),
    );
    let (report, told) = told(&chart, RunOptions::new()).await;
    assert_eq!(
        told[1..],
        lines(
            "stage_start a#0
             stage_end a#0
             commit a#0
             stage_executed(linear) a#0
             fork a#0
             stage_executed(fork) a#0
             stage_start x#1
             stage_start y#2
             write(y) y#2
             stage_end y#2
             commit y#2
             stage_executed(linear) y#2
             commit(repeat) y#2
             write(x) x#1
             stage_end x#1
             commit x#1
             stage_executed(linear) x#1
             commit(repeat) x#1
             next a#0
             stage_start after#3
             stage_end after#3
             commit after#3
             stage_executed(linear) after#3
             run_end __root__#0"
        )
    );
    assert_eq!(tree(&report)[0], "a#0 -> after#3 [x#1, y#2]");
}

/// Proves ENG-20, ENG-70: a fork after a mount hangs on a node without function: index, no bundle.
#[tokio::test]
async fn bare_fork() {
    let inner = build(Chart::builder(idle("in")));
    let chart =
        build(Chart::builder(Mount::of("sf", &inner)).fork([idle("x"), idle("y")], FanOut::AllSettled));
    let (report, told) = told(&chart, RunOptions::new()).await;
    let from = told.iter().position(|line| line == "fork sf-fork#2").unwrap();
    assert_eq!(told[from..from + 2], ["fork sf-fork#2", "stage_executed(fork) sf-fork#2"]);
    assert!(commits(&report).iter().all(|line| !line.starts_with("sf-fork")));
    assert_eq!(tree(&report)[1], "sf-fork#2 [x#3, y#4]");
}

fn mounted() -> Chart {
    let inner = build(Chart::builder(mark("in")));
    build(Chart::builder(Mount::of("sf", &inner).output_keys([("in", "got")])).then(idle("after")))
}

/// Proves ENG-99 (mount), ENG-33, ENG-70, ENG-100: merge-back before the exit event, exit bundle after it,
/// no `next` after a mount.
#[tokio::test]
async fn mount() {
    let (report, told) = told(&mounted(), RunOptions::new()).await;
    assert_eq!(
        told[1..],
        lines(
            "subflow_entry sf#0
             stage_executed(subflow-mount) sf#0
             stage_start sf/in#1
             write(in) sf/in#1
             stage_end sf/in#1
             commit sf/in#1
             stage_executed(linear) sf/in#1
             commit sf#0
             subflow_exit sf#0
             commit(exit) sf#0
             stage_start after#2
             stage_end after#2
             commit after#2
             stage_executed(linear) after#2
             run_end __root__#0"
        )
    );
    assert_eq!(commits(&report), ["sf#0 [got set]", "sf#0 exit []", "after#2 []"]);
}

/// Proves ENG-99 (mount without output mapper): one empty commit, after the exit event.
#[tokio::test]
async fn mount_without_output() {
    let inner = build(Chart::builder(idle("in")));
    let (report, told) = told(&build(Chart::builder(Mount::of("sf", &inner))), RunOptions::new()).await;
    let from = told.iter().position(|line| line == "subflow_exit sf#0").unwrap();
    assert_eq!(told[from..], ["subflow_exit sf#0", "commit sf#0", "run_end __root__#0"]);
    assert_eq!(commits(&report), ["sf#0 []"]);
}

/// Proves ENG-99 (failing mount), ENG-117: inner error, no merge-back, exit, one commit, no error of the
/// mount's own, the inner record kept.
#[tokio::test]
async fn failing_mount() {
    let inner = build(Chart::builder(failing("in")));
    let chart = build(Chart::builder(Mount::of("sf", &inner).output_keys([("in", "got")])));
    let (report, told) = told(&chart, RunOptions::new()).await;
    assert_eq!(
        told[1..],
        lines(
            "subflow_entry sf#0
             stage_executed(subflow-mount) sf#0
             stage_start sf/in#1
             write(in) sf/in#1
             commit sf/in#1
             flow_error sf/in#1
             subflow_exit sf#0
             commit sf#0
             run_failed __root__#0"
        )
    );
    let frame = report.snapshot().execution_tree.iter().next().unwrap().1;
    assert_eq!(frame.errors.get("subflowError"), Some(&Value::from("Error: broke")));
    let result = &report.snapshot().subflow_results["sf#0"];
    assert_eq!(result.tree_context.global_context.get("in"), Some(&Value::from("half")));
}

/// Proves ENG-35, ENG-112: break events at both levels, the propagated one before the merge-back.
#[tokio::test]
async fn propagated_break() {
    let stopper = Stage::new("in", |scope: Scope| async move { Ok(scope.stop("enough")?) });
    let inner = build(Chart::builder(stopper).then(idle("never")));
    let mount = Mount::of("sf", &inner).output(|_| Ok(Object::new())).propagate_break(true);
    let (report, told) = told(&build(Chart::builder(mount).then(idle("never-too"))), RunOptions::new()).await;
    assert_eq!(
        told[3..],
        lines(
            "stage_start sf/in#1
             stage_end sf/in#1
             commit sf/in#1
             stage_executed(linear) sf/in#1
             break sf/in#1
             break(propagated) sf#0
             commit sf#0
             subflow_exit sf#0
             commit(exit) sf#0
             run_end __root__#0"
        )
    );
    completed(&report);
}

/// Proves ENG-99 (for-each), ENG-42: the node's own commit follows its branches; nothing after it.
#[tokio::test]
async fn for_each() {
    let each = ForEach::new(
        "each",
        |scope: Scope| {
            scope.value("items")?;
            Ok(vec![1, 2])
        },
        |_: &i64, _| Chart::builder(Stage::new("in", |_: Scope| async { Ok("out") })).build(),
    )
    .max_branches(5)
    .into("results");
    let (report, told) = told(&build(Chart::builder(each).then(idle("after"))), RunOptions::new()).await;
    assert_eq!(
        told[1..],
        lines(
            "stage_start each#0
             read(items) each#0
             fork each#0
             stage_executed(fork) each#0
             subflow_entry each~0#1
             stage_executed(subflow-mount) each~0#1
             stage_start each~0/in#2
             stage_end each~0/in#2
             commit each~0/in#2
             stage_executed(linear) each~0/in#2
             subflow_exit each~0#1
             commit each~0#1
             commit(repeat) each~0#1
             subflow_entry each~1#3
             stage_executed(subflow-mount) each~1#3
             stage_start each~1/in#4
             stage_end each~1/in#4
             commit each~1/in#4
             stage_executed(linear) each~1/in#4
             subflow_exit each~1#3
             commit each~1#3
             commit(repeat) each~1#3
             write(results) each#0
             stage_end each#0
             commit each#0
             stage_start after#5
             stage_end after#5
             commit after#5
             stage_executed(linear) after#5
             run_end __root__#0"
        )
    );
    assert_eq!(state(&report)["results"], footprint::value!(["out", "out"]));
}

/// Proves ENG-99 (pause), ENG-126: the pausable stage and the interrupt, neither with an end of the run.
#[tokio::test]
async fn pauses() {
    let ask = Stage::pausable(
        "ask",
        |scope: Scope| async move {
            scope.set_value("asked", true)?;
            Ok(Step::Pause("sure?"))
        },
        |_: Scope, _: Value| async { Ok(()) },
    );
    let (report, lines_told) = told(&build(Chart::builder(ask)), RunOptions::new()).await;
    assert!(report.paused().is_some());
    assert_eq!(
        lines_told[1..],
        lines(
            "stage_start ask#0
             write(asked) ask#0
             stage_end ask#0
             scope_pause ask#0
             commit ask#0
             flow_pause ask#0"
        )
    );
    let interrupting = Stage::new("ask", |scope: Scope| async move {
        scope.set_value("asked", true)?;
        let _: Value = scope.interrupt(Ask::new("sure?")).await?;
        Ok(())
    });
    let (report, lines_told) = told(&build(Chart::builder(interrupting)), RunOptions::new()).await;
    assert!(report.paused().is_some());
    assert_eq!(
        lines_told[1..],
        lines(
            "stage_start ask#0
             write(asked) ask#0
             commit ask#0
             flow_pause ask#0"
        )
    );
}

/// Proves ENG-99 (paused mount, resumed leg), OBS-13: no exit and no commit of the mount; the next leg starts
/// a run, enters the mount again, and resumes under the resumed visit's own address.
#[tokio::test]
async fn paused_mount_and_resumed_leg() {
    let ask = Stage::pausable(
        "ask",
        |_: Scope| async { Ok(Step::Pause("sure?")) },
        |scope: Scope, answer: bool| async move { Ok(scope.set_value("answer", answer)?) },
    );
    let inner = build(Chart::builder(ask));
    let chart = build(
        Chart::builder(Mount::of("sf", &inner).output_keys([("answer", "answer")])).then(idle("after")),
    );
    let lines_recorder = Lines::new();
    let report = chart.run(RunOptions::new().observe(lines_recorder.clone())).await;
    assert_eq!(
        lines_recorder.all()[1..],
        lines(
            "subflow_entry sf#0
             stage_executed(subflow-mount) sf#0
             stage_start sf/ask#1
             stage_end sf/ask#1
             scope_pause sf/ask#1
             commit sf/ask#1
             flow_pause sf/ask#1"
        )
    );
    assert!(commits(&report).is_empty());
    lines_recorder.clear();
    let report = report.paused().unwrap().resume(true).unwrap().await;
    assert_eq!(
        lines_recorder.all(),
        lines(
            "run_start __root__#0
             subflow_entry sf#2
             stage_executed(subflow-mount) sf#2
             flow_resume sf/ask#3
             scope_resume sf/ask#3
             stage_start sf/ask#3
             write(answer) sf/ask#3
             stage_end sf/ask#3
             commit sf/ask#3
             stage_executed(linear) sf/ask#3
             commit sf#2
             subflow_exit sf#2
             commit(exit) sf#2
             stage_start after#4
             stage_end after#4
             commit after#4
             stage_executed(linear) after#4
             run_end __root__#0"
        )
    );
    assert_eq!(state(&report)["answer"], Value::from(true));
}

/// Proves ENG-99 (retry), ENG-120, OBS-14: a retry event per failed non-final attempt, stage start per attempt,
/// one address, one bundle, nothing of a discarded attempt in it.
#[tokio::test]
async fn retry() {
    let tries = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let flaky = Stage::new("flaky", move |scope: Scope| {
        let attempt = tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move {
            scope.set_value(if attempt < 2 { "discarded" } else { "kept" }, attempt)?;
            if attempt < 2 { Err(StageError::new("again")) } else { Ok(()) }
        }
    })
    .retry(Retry::attempts(3));
    let (report, told) = told(&build(Chart::builder(flaky)), RunOptions::new()).await;
    assert_eq!(
        told[1..],
        lines(
            "stage_start flaky#0
             write(discarded) flaky#0
             stage_retry flaky#0
             stage_start flaky#0
             write(discarded) flaky#0
             stage_retry flaky#0
             stage_start flaky#0
             write(kept) flaky#0
             stage_end flaky#0
             commit flaky#0
             stage_executed(linear) flaky#0
             run_end __root__#0"
        )
    );
    assert_eq!(commits(&report), ["flaky#0 [kept set]"]);
}

/// Proves OBS-14, ENG-120: an exhausted policy tells attempts − 1 retries and one error, a declined one none.
#[tokio::test]
async fn exhausted_and_declined_retries() {
    let count = |told: &[String], what: &str| told.iter().filter(|line| line.starts_with(what)).count();
    let chart = build(Chart::builder(failing("x").retry(Retry::attempts(3))));
    let (_, lines) = told(&chart, RunOptions::new()).await;
    assert_eq!((count(&lines, "stage_retry"), count(&lines, "flow_error")), (2, 1));
    let chart = build(Chart::builder(failing("x").retry(Retry::attempts(3).retry_on(|_| false))));
    let (_, lines) = told(&chart, RunOptions::new()).await;
    assert_eq!((count(&lines, "stage_retry"), count(&lines, "flow_error")), (0, 1));
    let chart = build(Chart::builder(failing("x").retry(Retry::attempts(3).retry_on(|_| panic!("no")))));
    let (_, lines) = told(&chart, RunOptions::new()).await;
    assert_eq!((count(&lines, "stage_retry"), count(&lines, "flow_error")), (0, 1));
}

/// Proves ENG-112: a stop is uniform; deciders, selectors and forks that stop run nothing further.
#[tokio::test]
async fn stops_of_every_kind() {
    async fn stop<T>(scope: Scope, value: T) -> Result<T, StageError> {
        scope.stop("enough")?;
        Ok(value)
    }
    let decider = Decider::new("d", |scope: Scope| stop(scope, "x")).branch(idle("x"));
    let (report, told_decider) =
        told(&build(Chart::builder(decider).then(idle("never"))), RunOptions::new()).await;
    assert_eq!(completed(&report), None);
    assert_eq!(
        told_decider[1..],
        lines(
            "stage_start d#0\nstage_end d#0\ncommit d#0\nstage_executed(decider) d#0\nbreak d#0\nrun_end __root__#0"
        )
    );
    let selector = Selector::new("s", |scope: Scope| stop(scope, ["x"])).branch(idle("x"));
    let (_, told_selector) =
        told(&build(Chart::builder(selector).then(idle("never"))), RunOptions::new()).await;
    assert_eq!(told_selector[4..], lines("stage_executed(selector) s#0\nbreak s#0\nrun_end __root__#0"));
    let fork = Stage::new("f", |scope: Scope| stop(scope, "out"));
    let chart = build(Chart::builder(fork).fork([idle("x")], FanOut::AllSettled));
    let (report, told_fork) = told(&chart, RunOptions::new()).await;
    assert_eq!(completed(&report), Some(Value::from("out")));
    assert_eq!(told_fork[4..], lines("stage_executed(linear) f#0\nbreak f#0\nrun_end __root__#0"));
}

/// Proves ENG-100, ENG-113, ENG-104: a loop edge tells `loop` instead of `next`; a branch that loops skips its
/// decider's own next for that pass.
#[tokio::test]
async fn loops() {
    let work = Stage::new("work", |scope: Scope| async move {
        let n = scope.value("n")?.and_then(|n| n.as_i64()).unwrap_or(0);
        Ok(scope.set_value("n", n + 1)?)
    });
    let check = Decider::new("check", |scope: Scope| async move {
        let n = scope.value("n")?.and_then(|n| n.as_i64()).unwrap_or(0);
        Ok(if n < 2 { "again" } else { "done" })
    })
    .branch(Branch::stage(idle("again")).loop_to("work"))
    .branch(idle("done"));
    let chart = build(Chart::builder(work).decide(check).then(idle("after")));
    let (report, told) = told(&chart, RunOptions::new()).await;
    let flow: Vec<_> = told
        .iter()
        .filter(|line| ["next", "loop", "decision", "stage_executed"].iter().any(|w| line.starts_with(w)))
        .cloned()
        .collect();
    assert_eq!(
        flow,
        lines(
            "stage_executed(linear) work#0
             next work#0
             decision(again) check#1
             stage_executed(decider) check#1
             stage_executed(linear) again#2
             loop(1) again#2
             stage_executed(linear) work#3
             next work#3
             decision(done) check#4
             stage_executed(decider) check#4
             stage_executed(linear) done#5
             next check#4
             stage_executed(linear) after#6"
        )
    );
    assert_eq!(
        tree(&report),
        [
            "work#0 -> check#1",
            "check#1 [again#2]",
            "again#2 -> work#3",
            "work#3 -> check#4",
            "check#4 -> after#6 [done#5]",
            "done#5",
            "after#6"
        ]
    );
}

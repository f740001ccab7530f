//! Pauses and resumes, in the same process and through JSON.

use std::sync::Arc;

use footprint::chart::{
    Branch, Chart, Decider, FanOut, ForEach, ForkChild, Mount, Next, Selector, Stage, Step,
};
use footprint::error::{RunError, StageError};
use footprint::observe::{EventCx, Hook, HookResult, Interest, Payload, Recorder};
use footprint::pause::{Ask, FlowchartCheckpoint, ResumeError};
use footprint::report::RunReport;
use footprint::scope::Scope;
use footprint::state::RedactionPolicy;
use footprint::value;
use footprint::value::Value;
use footprint::walk::RunOptions;

use super::support::*;

/// A pausable stage that writes the answer under its own id.
fn ask(id: &'static str) -> Stage {
    Stage::pausable(
        id,
        move |scope: Scope| async move {
            scope.set_value("asked", id)?;
            Ok(Step::Pause(id))
        },
        move |scope: Scope, answer: Value| async move { Ok(scope.set_value(id, answer)?) },
    )
}

/// An ordinary stage that asks twice from inside.
fn interrupting(id: &'static str) -> Stage {
    Stage::new(id, move |scope: Scope| async move {
        let first: Value = scope.interrupt(Ask::new("first")).await?;
        let second: Value = scope.interrupt(Ask::new("second").expects("number")).await?;
        scope.set_value(id, value!([(first), (second)]))?;
        Ok("interrupted")
    })
}

/// Answers every question with the next number, through JSON or in the process.
async fn answer_all(chart: &Chart, json: bool, options: impl Fn() -> RunOptions) -> RunReport {
    let mut report = chart.run(options()).await;
    let mut answer = 0;
    while let Some(paused) = report.paused() {
        answer += 1;
        assert!(answer < 20, "asks forever");
        assert_folds(&report);
        let next = if json {
            let text = paused.checkpoint().to_json();
            let checkpoint = FlowchartCheckpoint::from_json(&text).unwrap();
            assert_eq!(checkpoint.to_json(), text);
            chart.resume(checkpoint, answer, options()).unwrap()
        } else {
            paused.resume(answer).unwrap()
        };
        report = next.await;
    }
    assert_folds(&report);
    report
}

async fn both(chart: &Chart, expected: Value) {
    for json in [false, true] {
        let report = answer_all(chart, json, RunOptions::new).await;
        let mut found = report.state();
        found.remove("asked");
        assert_eq!(Value::Object(found), expected, "json: {json}, {:?}", report.outcome());
    }
}

/// Proves ENG-124, ENG-128, ENG-130, ENG-133: the chain goes on, addresses go on, nothing runs twice.
#[tokio::test]
async fn on_the_chain() {
    let count = Stage::new("before", |scope: Scope| async move {
        let n = scope.value("before")?.and_then(|n| n.as_i64()).unwrap_or(0);
        Ok(scope.set_value("before", n + 1)?)
    });
    let chart = build(Chart::builder(count).then(ask("q")).then(mark("after")));
    both(&chart, value!({ "before": 1, "q": 1, "after": true })).await;
    let report = answer_all(&chart, false, RunOptions::new).await;
    assert_eq!(
        commits(&report),
        ["before#0 [before set]", "q#1 [asked set]", "q#2 [q set]", "after#3 [after set]"]
    );
    assert_eq!(tree(&report), ["before#0 -> q#1", "q#1 -> q#2", "q#2 -> after#3", "after#3"]);
    let report = answer_all(&chart, true, RunOptions::new).await;
    assert_eq!(commits(&report), ["q#2 [q set]", "after#3 [after set]"]);
    assert_eq!(tree(&report), ["q#2 -> after#3", "after#3"]);
}

/// Proves ENG-124, ENG-125: an interrupted stage runs again from its top; several answers replay in call order;
/// the question cannot be swallowed.
#[tokio::test]
async fn interrupts() {
    let chart = build(Chart::builder(interrupting("q")).then(mark("after")));
    both(&chart, value!({ "q": [1, 2], "after": true })).await;
    let swallowing = Stage::new("q", |scope: Scope| async move {
        let asking = scope.interrupt::<Value>(Ask::new("?"));
        let answer = tokio::time::timeout(std::time::Duration::from_millis(1), asking).await;
        if let Ok(answer) = answer {
            scope.set_value("q", answer?)?;
        }
        Ok(())
    });
    both(&build(Chart::builder(swallowing)), value!({ "q": 1 })).await;
    // Asked from a task the stage spawned.
    let spawning = Stage::new("q", |scope: Scope| async move {
        let inner = scope.clone();
        let answer = tokio::spawn(async move { inner.interrupt::<Value>(Ask::new("?")).await }).await;
        Ok(scope.set_value("q", answer??)?)
    });
    both(&build(Chart::builder(spawning)), value!({ "q": 1 })).await;
    let decider = Decider::new("d", |scope: Scope| async move {
        let answer: i64 = scope.interrupt(Ask::new("which?")).await?;
        Ok(if answer == 1 { "one" } else { "two" })
    })
    .branch(mark("one"))
    .branch(mark("two"));
    both(&build(Chart::builder(decider).then(mark("after"))), value!({ "one": true, "after": true })).await;
}

/// Proves ENG-128, ENG-129: mounts on the path are entered again with their captured state, the outer stage
/// before them does not run again, merge-back and continuation follow.
#[tokio::test]
async fn inside_mounts() {
    let leaf = build(Chart::builder(mark("in1")).then(ask("q")).then(mark("in2")));
    let outer = |mount: Mount| {
        let mid = build(Chart::builder(mount).then(mark("mid")));
        build(
            Chart::builder(mark("before"))
                .mount(
                    Mount::of("sf", &mid)
                        .input(|view| Ok(object(value!({ "arg": (view.value("before").unwrap()) }))))
                        .output_keys([("got", "got"), ("mid", "mid")]),
                )
                .then(mark("after")),
        )
    };
    let keys = [("q", "got"), ("in1", "in1")];
    let expected = value!({ "before": true, "got": 1, "mid": true, "after": true });
    both(&outer(Mount::of("leaf", &leaf).output_keys(keys)), expected.clone()).await;
    let lazy = leaf.clone();
    both(&outer(Mount::lazy("leaf", move || lazy.clone()).output_keys(keys)), expected).await;
    let chart = outer(Mount::of("leaf", &leaf).output_keys(keys));
    let report = chart.run(RunOptions::new()).await;
    let checkpoint = report.paused().unwrap().checkpoint();
    assert_eq!(checkpoint.subflow_path, ["sf".into(), "sf/leaf".into()]);
    assert_eq!(checkpoint.subflow_states["sf/leaf"].get("in1"), Some(&value!(true)));
    let report = report.paused().unwrap().resume(1).unwrap().await;
    let result = &report.snapshot().subflow_results["sf/leaf"];
    let seed = result.tree_context.history.get(0).unwrap();
    assert_eq!(seed.runtime_stage_id, "sf/leaf#6");
    assert_eq!(report.snapshot().subflow_results.len(), 6);
}

/// Proves ENG-128, ENG-104: deciders with and without own continuation, branches that loop, asking again.
#[tokio::test]
async fn inside_branches() {
    let route = |id: &'static str| {
        Decider::new(id, |_: Scope| async { Ok("q") }).branch(ask("q")).branch(idle("other"))
    };
    both(&build(Chart::builder(route("d")).then(mark("after"))), value!({ "q": 1, "after": true })).await;
    both(&build(Chart::builder(route("d"))), value!({ "q": 1 })).await;
    let rounds = Stage::new("round", |scope: Scope| async move {
        let n = scope.value("round")?.and_then(|n| n.as_i64()).unwrap_or(0);
        Ok(scope.set_value("round", n + 1)?)
    });
    let again = Decider::new("again", |scope: Scope| async move {
        let n = scope.value("round")?.and_then(|n| n.as_i64()).unwrap_or(0);
        Ok(if n < 3 { "q" } else { "done" })
    })
    .branch(Branch::stage(ask("q")).loop_to("round"))
    .branch(mark("done"));
    let chart = build(Chart::builder(rounds).decide(again).then(mark("after")));
    both(&chart, value!({ "round": 3, "q": 2, "done": true, "after": true })).await;
}

fn forked(mode: FanOut) -> Chart {
    let inner = build(Chart::builder(ask("q")).then(mark("in")));
    build(
        Chart::builder(mark("before"))
            .fork(
                [
                    ForkChild::from(ask("one")),
                    mark("plain").into(),
                    Mount::of("sf", &inner).output_keys([("q", "from-sf")]).into(),
                    ask("two").into(),
                ],
                mode,
            )
            .then(Stage::new("after", |scope: Scope| async move {
                let n = scope.value("after")?.and_then(|n| n.as_i64()).unwrap_or(0);
                Ok(scope.set_value("after", n + 1)?)
            })),
    )
}

/// Proves ENG-109, ENG-131: siblings settle first; questions come one after the other in declaration order;
/// nothing runs again; the join runs once; branches keep their namespaces.
#[tokio::test]
async fn siblings() {
    for mode in [FanOut::AllSettled, FanOut::FailFast] {
        let chart = forked(mode);
        for json in [false, true] {
            let report = answer_all(&chart, json, RunOptions::new).await;
            assert_eq!(
                state(&report),
                value!({
                    "before": true,
                    "from-sf": 2,
                    "runs": {
                        "one": { "asked": "one", "one": 1 },
                        "plain": { "plain": true },
                        "two": { "asked": "two", "two": 3 }
                    },
                    "after": 1
                }),
                "json {json}"
            );
        }
    }
    let report = forked(FanOut::AllSettled).run(RunOptions::new()).await;
    let checkpoint = report.paused().unwrap().checkpoint();
    assert_eq!(&*checkpoint.paused_stage_id, "one");
    let queued: Vec<_> = checkpoint.pending_pauses.iter().map(|p| &*p.paused_stage_id).collect();
    assert_eq!(queued, ["sf/q", "two"]);
    assert_eq!(checkpoint.fan_outs["before"].settled.get("plain").unwrap()["isError"], value!(false));
}

/// Proves ENG-109: a failing sibling wins under fail-fast and is contained under all-settled.
#[tokio::test]
async fn siblings_that_fail() {
    let chart =
        |mode| build(Chart::builder(idle("a")).fork([ask("q"), failing("bad")], mode).then(mark("after")));
    let report = chart(FanOut::FailFast).run(RunOptions::new()).await;
    assert!(
        matches!(report.error(), Some(RunError::Stage { address, .. }) if address.to_string() == "bad#2")
    );
    for json in [false, true] {
        let report = answer_all(&chart(FanOut::AllSettled), json, RunOptions::new).await;
        assert_eq!(state(&report)["after"], value!(true));
    }
}

/// Proves ENG-110, ENG-131, ENG-114: the result map of a final fan-out is the same as without a pause.
#[tokio::test]
async fn result_maps_survive() {
    let valued = Stage::new("valued", |_: Scope| async { Ok("v") });
    let asks = Stage::pausable(
        "q",
        |_: Scope| async { Ok(Step::Pause("?")) },
        |_: Scope, answer: i64| async move { Ok(answer) },
    );
    let fork = build(
        Chart::builder(idle("a")).fork([asks.clone(), valued.clone(), failing("bad")], FanOut::AllSettled),
    );
    let select = build(Chart::builder(
        Selector::new("s", |_: Scope| async { Ok(["q", "valued"]) })
            .branch(asks)
            .branch(valued)
            .branch(idle("x")),
    ));
    for json in [false, true] {
        let report = answer_all(&fork, json, RunOptions::new).await;
        let map = completed(&report).unwrap();
        assert_eq!(map["q"], value!({ "id": "q", "result": 1, "isError": false }));
        assert_eq!(map["valued"]["result"], value!("v"));
        assert_eq!(map["bad"]["isError"], value!(true));
        let keys: Vec<_> = map.as_object().unwrap().keys().map(|k| k.to_string()).collect();
        assert_eq!(keys, ["q", "valued", "bad"]);
        let report = answer_all(&select, json, RunOptions::new).await;
        assert_eq!(completed(&report).unwrap()["valued"]["result"], value!("v"));
    }
}

/// Proves ENG-125, ENG-41: generated branches are made again from their recorded item; results keep item order.
#[tokio::test]
async fn inside_for_each() {
    let each = || {
        ForEach::new(
            "each",
            |_: Scope| Ok(vec!["x".to_owned(), "y".to_owned(), "z".to_owned()]),
            |item: &String, _| {
                let item = item.clone();
                let asks = item != "y";
                Chart::builder(Stage::pausable(
                    "q",
                    move |_: Scope| async move { Ok(if asks { Step::Pause("?") } else { Step::Continue }) },
                    |scope: Scope, answer: i64| async move { Ok(scope.set_value("answer", answer)?) },
                ))
                .then(Stage::new("end", move |scope: Scope| {
                    let item = item.clone();
                    async move { Ok(value!([(item), (scope.value("answer")?.unwrap_or_default())])) }
                }))
                .build()
            },
        )
        .max_branches(5)
        .into("results")
    };
    let chart = build(Chart::builder(mark("before")).for_each(each()).then(mark("after")));
    both(&chart, value!({ "before": true, "results": [["x", 1], ["y", null], ["z", 2]], "after": true }))
        .await;
    // The same inside a mount inside a fork.
    let inner = build(Chart::builder(each()));
    let chart = build(Chart::builder(mark("before")).fork(
        [ForkChild::from(Mount::of("sf", &inner).output_keys([("results", "r")])), ask("two").into()],
        FanOut::AllSettled,
    ));
    for json in [false, true] {
        let report = answer_all(&chart, json, RunOptions::new).await;
        assert_eq!(state(&report)["r"], value!([["x", 1], ["y", null], ["z", 2]]));
        assert_eq!(state(&report)["runs"]["two"]["two"], value!(3));
    }
}

/// Proves ENG-131, ENG-133: a question that waits in another branch does not bring back what a fan-out's memory was
/// when it was asked; every result given meanwhile stands, in the process and through JSON.
#[tokio::test]
async fn queued_questions_keep_the_results_of_others() {
    let asks =
        || ForEach::new("each", |_: Scope| Ok(vec![1_u8, 2, 3]), |_: &u8, _| build(Chart::builder(ask("q"))));
    let inner = || build(Chart::builder(asks().max_branches(3).into("results")));
    let out = |id: &'static str, key: &'static str| Mount::of(id, &inner()).output_keys([("results", key)]);
    let chart = build(Chart::builder(idle("start")).fork(
        [ForkChild::from(out("a", "fromA")), ForkChild::from(ask("b")), ForkChild::from(out("c", "fromC"))],
        FanOut::AllSettled,
    ));
    for json in [false, true] {
        let report = answer_all(&chart, json, RunOptions::new).await;
        let state = state(&report);
        for key in ["fromA", "fromC"] {
            let results = state.get(key).and_then(Value::as_array).cloned().unwrap();
            assert_eq!(results.len(), 3);
            assert!(results.iter().all(|result| !result.is_null()), "json {json}, {key}: {state}");
        }
        assert_folds(&report);
    }
}

/// Proves ENG-132, ENG-133: refusals name the segment, run nothing and consume nothing.
#[tokio::test]
async fn refused_resumes() {
    let inner = build(Chart::builder(ask("q")));
    let chart = build(Chart::builder(Mount::of("sf", &inner)));
    let report = chart.run(RunOptions::new()).await;
    let paused = report.paused().unwrap();
    let changed = build(Chart::builder(Mount::of("other", &inner)));
    let resume = |chart: &Chart, edit: &dyn Fn(&mut FlowchartCheckpoint)| {
        let mut checkpoint = paused.checkpoint().clone();
        edit(&mut checkpoint);
        chart.resume(checkpoint, 1, RunOptions::new()).unwrap_err()
    };
    assert!(matches!(resume(&changed, &|_| {}), ResumeError::UnknownMount { segment } if &*segment == "sf"));
    assert!(matches!(
        resume(&chart, &|c| c.paused_stage_id = "sf/gone".into()),
        ResumeError::UnknownStage { .. }
    ));
    assert!(matches!(
        resume(&chart, &|c| c.subflow_path = vec!["sf".into(), "elsewhere".into()]),
        ResumeError::Path { .. }
    ));
    let plain = build(Chart::builder(Mount::of("sf", &build(Chart::builder(idle("q"))))));
    assert!(matches!(resume(&plain, &|_| {}), ResumeError::NotResumable { .. }));
    assert!(matches!(
        resume(&chart, &|c| {
            let again = footprint::pause::PendingPause {
                paused_stage_id: c.paused_stage_id.clone(),
                subflow_path: c.subflow_path.clone(),
                subflow_states: c.subflow_states.clone(),
                pause_data: None,
                by_interrupt: false,
                paused_execution: None,
                interrupt_answers: Vec::new(),
                resumed_with: None,
            };
            c.pending_pauses.push(again);
        }),
        ResumeError::Path { .. }
    ));
    // Nothing was consumed; the second resume is refused.
    let run = paused.resume(1).unwrap();
    assert!(matches!(paused.resume(1), Err(ResumeError::AlreadyResumed)));
    completed(&run.await);
}

/// Proves ENG-125: a position no resume could find again is refused when the question is raised.
#[tokio::test]
async fn refused_questions() {
    let chain = Stage::new("plan", |_: Scope| async { Ok(Next::Chain(vec![ask("q")])) });
    let report = build(Chart::builder(chain)).run(RunOptions::new()).await;
    assert!(matches!(report.error(), Some(RunError::Stage { address, .. }) if address.to_string() == "q#1"));
    let pick = Selector::new("pick", |_: Scope| async { Ok(["again"]) })
        .branch(Branch::stage(idle("again")).loop_to("maybe"));
    let maybe = Stage::new("maybe", |scope: Scope| async move {
        if scope.commit_count() > 0 {
            let _: Value = scope.interrupt(Ask::new("?")).await?;
        }
        Ok(())
    });
    let report = build(Chart::builder(maybe).select(pick)).run(RunOptions::new()).await;
    let map = completed(&report);
    assert!(map.is_some_and(|map| map["again"]["isError"] == value!(true)), "{:?}", report.outcome());
}

/// Proves ENG-127: field-precise refusals, tolerance for older and malformed optional parts.
#[tokio::test]
async fn hostile_checkpoints() {
    let chart = forked(FanOut::AllSettled);
    let report = chart.run(RunOptions::new()).await;
    let good: Value = report.paused().unwrap().checkpoint().to_json().parse().unwrap();
    let edited = |key: &str, value: Option<Value>| {
        let mut fields = object(good.clone());
        match value {
            Some(value) => {
                fields.insert(key, value);
            }
            None => {
                fields.remove(key);
            }
        }
        FlowchartCheckpoint::from_json(&Value::Object(fields).to_string())
    };
    for (key, value) in [
        ("checkpointVersion", Some(value!(2))),
        ("checkpointVersion", Some(value!("1"))),
        ("sharedState", None),
        ("sharedState", Some(value!([]))),
        ("executionTree", None),
        ("executionTree", Some(value!("tree"))),
        ("pausedStageId", None),
        ("pausedStageId", Some(value!(""))),
        ("subflowPath", Some(value!("sf"))),
        ("subflowStates", Some(value!([]))),
        ("executionCount", Some(value!(-1))),
        ("visitCounts", Some(value!([1]))),
        ("pausedBy", Some(value!("magic"))),
        ("interruptAnswers", Some(value!({}))),
        ("pendingPauses", Some(value!({}))),
        ("fanOuts", Some(value!({ "x": 1 }))),
        ("pausedAt", Some(value!("now"))),
    ] {
        let error = edited(key, value.clone()).unwrap_err();
        assert!(error.path.starts_with(key), "{key} {value:?}: {error}");
    }
    let error = edited("subflowPath", Some(value!(["sf", 1]))).unwrap_err();
    assert_eq!(error.path, "subflowPath[1]");
    let error = edited("pendingPauses", Some(value!([{ "pausedStageId": "x" }]))).unwrap_err();
    assert_eq!(error.path, "pendingPauses[0].subflowPath");
    assert!(FlowchartCheckpoint::from_json("[]").is_err());
    assert!(FlowchartCheckpoint::from_json("{").is_err());
    for (key, value) in [
        ("checkpointVersion", None),
        ("pausedExecution", Some(value!("broken"))),
        ("continuationStageId", Some(value!("elsewhere"))),
        ("unknown", Some(value!({ "x": 1 }))),
        ("subflowResults", None),
    ] {
        edited(key, value).unwrap();
    }
    let limits = footprint::json::Limits { max_bytes: 64, ..Default::default() };
    assert!(FlowchartCheckpoint::from_json_with(&good.to_string(), limits).is_err());
}

/// Proves ENG-129: a missing capture enters that mount at its root.
#[tokio::test]
async fn missing_captures() {
    let inner = build(Chart::builder(mark("in")).then(ask("q")));
    let chart = build(Chart::builder(Mount::of("sf", &inner).output_keys([("in", "in"), ("q", "q")])));
    let report = chart.run(RunOptions::new()).await;
    let mut checkpoint = report.paused().unwrap().checkpoint().clone();
    checkpoint.subflow_states.clear();
    let report = chart.resume(checkpoint, 1, RunOptions::new()).unwrap().await;
    let paused = report.paused().unwrap();
    assert_eq!(paused.stage_id(), "sf/q");
    let report = paused.resume(7).unwrap().await;
    assert_eq!(state(&report), value!({ "in": true, "q": 7 }));
}

/// Proves ENG-133, OBS-39, ENG-14: new run id, `resumedFrom`, one log across legs, observers that go on.
#[tokio::test]
async fn legs() {
    #[derive(Default)]
    struct Resumes(std::sync::Mutex<Vec<Value>>);
    impl Recorder for Resumes {
        fn id(&self) -> &str {
            "resumes"
        }
        fn interest(&self) -> Interest {
            Interest::hooks([Hook::FlowResume, Hook::RunStart])
        }
        fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
            self.0.lock().unwrap().push(e.to_json(cx));
            Ok(())
        }
    }
    let chart = build(Chart::builder(ask("q")));
    let resumes = Arc::new(Resumes::default());
    let first = chart.run(RunOptions::new().observe(resumes.clone()).input(value!({ "a": 1 }))).await;
    let size = first.snapshot().commit_log.len();
    let second = first.paused().unwrap().resume(1).unwrap().await;
    assert_ne!(first.run_id(), second.run_id());
    assert_eq!(first.snapshot().commit_log.len(), size);
    assert_eq!(second.snapshot().commit_log.len(), size + 1);
    let events = resumes.0.lock().unwrap();
    assert_eq!(events.len(), 3);
    let context = &events[2]["traversalContext"];
    assert_eq!(context["resumedFrom"]["runtimeStageId"], value!("q#0"));
    assert_eq!(context["resumedFrom"]["runId"].as_str(), Some(first.run_id().as_str()));
    assert_eq!(context["runtimeStageId"], value!("q#1"));
    assert_eq!(context["loopIteration"], value!(1));
}

/// Proves ENG-90, ENG-93: the checkpoint holds real values, the pause event a served one.
#[tokio::test]
async fn questions_are_served_redacted() {
    #[derive(Default)]
    struct Pauses(std::sync::Mutex<String>);
    impl Recorder for Pauses {
        fn id(&self) -> &str {
            "pauses"
        }
        fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
            self.0.lock().unwrap().push_str(&e.to_json(cx).to_string());
            Ok(())
        }
    }
    let asks = Stage::pausable(
        "q",
        |_: Scope| async { Ok(Step::Pause(value!({ "pin": "SECRET", "text": "sure?" }))) },
        |_: Scope, _: Value| async { Ok(()) },
    );
    let pauses = Arc::new(Pauses::default());
    let options = RunOptions::new().observe(pauses.clone()).redaction(RedactionPolicy::new().keys(["pin"]));
    let report = build(Chart::builder(asks)).run(options).await;
    assert!(!pauses.0.lock().unwrap().contains("SECRET"));
    assert!(pauses.0.lock().unwrap().contains("sure?"));
    assert!(report.paused().unwrap().checkpoint().to_json().contains("SECRET"));
}

/// Proves ENG-131, OBS-13: a leg that ends on a queued question is closed by a pause event of its own.
#[tokio::test]
async fn every_leg_is_closed() {
    let lines_recorder = Lines::new();
    let chart = build(Chart::builder(idle("a")).fork([ask("one"), ask("two")], FanOut::AllSettled));
    let report = chart.run(RunOptions::new().observe(lines_recorder.clone())).await;
    lines_recorder.clear();
    let report = report.paused().unwrap().resume(1).unwrap().await;
    assert_eq!(report.paused().unwrap().stage_id(), "two");
    let told = lines_recorder.all();
    assert_eq!(told.first().unwrap(), "run_start __root__#0");
    assert_eq!(told.last().unwrap(), "flow_pause two#2");
    lines_recorder.clear();
    let report = report.paused().unwrap().resume(2).unwrap().await;
    assert_eq!(lines_recorder.all().last().unwrap(), "run_end __root__#0");
    assert_eq!(tree(&report), ["a#0 [one#1, two#2]", "one#1 -> one#3", "two#2 -> two#4", "one#3", "two#4"]);
}

/// Proves ENG-120: a pause is never retried, and errors of a resumed stage are.
#[tokio::test]
async fn retries_and_pauses() {
    let tries = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let stage = Stage::pausable(
        "q",
        |_: Scope| async { Ok(Step::Pause("?")) },
        move |scope: Scope, answer: i64| {
            let attempt = tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            async move {
                if attempt == 0 {
                    return Err(StageError::new("again"));
                }
                Ok(scope.set_value("q", answer)?)
            }
        },
    )
    .retry(footprint::chart::Retry::attempts(2));
    let report = answer_all(&build(Chart::builder(stage)), false, RunOptions::new).await;
    assert_eq!(state(&report), value!({ "q": 1 }));
}

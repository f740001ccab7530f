//! Random charts of all node kinds, with errors, stops and pauses.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::HashSet;

use footprint::chart::{Branch, Chart, Decider, FanOut, ForEach, ForkChild, Mount, Selector, Stage, Step};
use footprint::error::StageError;
use footprint::observe::{EventCx, HookResult, Payload, Recorder};
use footprint::pause::FlowchartCheckpoint;
use footprint::report::{Outcome, RunReport};
use footprint::scope::Scope;
use footprint::snapshot::{CommitLog, ExecutionTree};
use footprint::state::{CommitValues, Phase, RedactionPolicy, fold};
use footprint::value;
use footprint::value::{Object, Value};
use footprint::walk::RunOptions;
use proptest::prelude::*;

/// What a stage does, besides writing its own key.
#[derive(Clone, Debug)]
enum Act {
    Nothing,
    Yield(u8),
    Overwrite(u8, i64),
    Merge(u8, u8, i64),
    Push(u8, i64),
    Delete(u8),
    Fail,
    Stop,
    Ask,
}

/// A chart as data.
#[derive(Clone, Debug)]
enum Plan {
    Stage(Vec<Act>),
    Decider { pick: u8, branches: Vec<Vec<Act>>, loops: bool },
    Selector { picks: Vec<bool>, branches: Vec<Vec<Act>>, fail_fast: bool },
    Fork { children: Vec<Child>, fail_fast: bool },
    Mount { inner: Vec<Plan>, lazy: bool, propagate: bool },
    ForEach { items: u8, inner: Vec<Plan>, fail_fast: bool },
}

#[derive(Clone, Debug)]
enum Child {
    Stage(Vec<Act>),
    Mount(Vec<Plan>),
}

fn act(faults: bool) -> impl Strategy<Value = Act> {
    let faulty = u32::from(faults);
    prop_oneof![
        2 => Just(Act::Nothing),
        2 => (0..4u8).prop_map(Act::Yield),
        3 => (0..3u8, -5..5i64).prop_map(|(k, v)| Act::Overwrite(k, v)),
        2 => (0..3u8, 0..3u8, -5..5i64).prop_map(|(k, f, v)| Act::Merge(k, f, v)),
        2 => (0..3u8, -5..5i64).prop_map(|(k, v)| Act::Push(k, v)),
        1 => (0..3u8).prop_map(Act::Delete),
        faulty => Just(Act::Fail),
        1 => Just(Act::Stop),
        2 => Just(Act::Ask),
    ]
}

fn acts(faults: bool) -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(faults), 0..4)
}

fn plans(faults: bool, depth: u32) -> BoxedStrategy<Vec<Plan>> {
    let stage = acts(faults).prop_map(Plan::Stage);
    let decider = (any::<u8>(), prop::collection::vec(acts(faults), 1..3), any::<bool>())
        .prop_map(|(pick, branches, loops)| Plan::Decider { pick, branches, loops });
    let selector = prop::collection::vec(acts(faults), 1..4).prop_flat_map(move |branches| {
        (prop::collection::vec(any::<bool>(), branches.len()), Just(branches), Just(faults)).prop_flat_map(
            |(picks, branches, faults)| {
                prop_oneof![Just(false), Just(faults)].prop_map(move |fail_fast| Plan::Selector {
                    picks: picks.clone(),
                    branches: branches.clone(),
                    fail_fast,
                })
            },
        )
    });
    if depth == 0 {
        return prop::collection::vec(prop_oneof![3 => stage, 1 => decider, 1 => selector], 1..4).boxed();
    }
    let inner = plans(faults, depth - 1);
    let child = prop_oneof![
        3 => acts(faults).prop_map(Child::Stage),
        1 => inner.clone().prop_map(Child::Mount),
    ];
    let fork = (prop::collection::vec(child, 1..4), any::<bool>())
        .prop_map(move |(children, fast)| Plan::Fork { children, fail_fast: fast && faults });
    let mount = (inner.clone(), any::<bool>(), any::<bool>())
        .prop_map(|(inner, lazy, propagate)| Plan::Mount { inner, lazy, propagate });
    let for_each = (0..4u8, inner, any::<bool>()).prop_map(move |(items, inner, fast)| Plan::ForEach {
        items,
        inner,
        fail_fast: fast && faults,
    });
    let node = prop_oneof![4 => stage, 2 => decider, 1 => selector, 2 => fork, 2 => mount, 1 => for_each];
    prop::collection::vec(node, 1..5).boxed()
}

/// How questions are dealt with.
#[derive(Clone, Copy, PartialEq)]
enum Asking {
    /// The stage pauses; the answer comes with the resume.
    Pausing,
    /// The stage has its answer up front.
    UpFront,
}

/// The one answer a stage ever gets.
fn answer_of(stage: &str) -> i64 {
    stage.bytes().fold(7, |sum, byte| (sum * 31 + i64::from(byte)) % 1_000)
}

async fn perform(scope: &Scope, id: &str, acts: &[Act]) -> Result<(), StageError> {
    scope.set_value(&format!("did-{id}"), true)?;
    for act in acts {
        match act {
            Act::Nothing | Act::Ask => {}
            Act::Yield(times) => {
                for _ in 0..*times {
                    tokio::task::yield_now().await;
                }
            }
            Act::Overwrite(key, value) => {
                scope.value(&format!("{id}-k{key}"))?;
                scope.set_value(&format!("{id}-k{key}"), *value)?;
            }
            Act::Merge(key, field, value) => {
                let patch: Object = [(format!("f{field}").as_str(), value!(*value))].into_iter().collect();
                scope.update(&format!("{id}-k{key}"), Value::Object(patch))?;
            }
            Act::Push(key, value) => scope.extend_value(&format!("{id}-k{key}"), [*value])?,
            Act::Delete(key) => scope.delete(&format!("{id}-k{key}"))?,
            Act::Fail => return Err(StageError::new("random")),
            Act::Stop => scope.stop("random")?,
        }
    }
    Ok(())
}

fn stage(id: String, acts: Vec<Act>, asking: Asking) -> Stage {
    let answer_key = format!("answer-{id}");
    if !acts.iter().any(|act| matches!(act, Act::Ask)) {
        let name = id.clone();
        return Stage::new(id, move |scope: Scope| {
            let (name, acts) = (name.clone(), acts.clone());
            async move {
                perform(&scope, &name, &acts).await?;
                Ok(name)
            }
        });
    }
    // Stops belong to the answering half, so that both ways of asking stop at the same place.
    let (before, after): (Vec<Act>, Vec<Act>) = (Vec::new(), acts);
    let name = id.clone();
    match asking {
        Asking::Pausing => {
            let (first, second) = (name.clone(), name);
            Stage::pausable(
                id,
                move |scope: Scope| {
                    let (name, acts) = (first.clone(), before.clone());
                    async move {
                        perform(&scope, &name, &acts).await?;
                        Ok(Step::Pause("?"))
                    }
                },
                move |scope: Scope, answer: i64| {
                    let (name, acts, key) = (second.clone(), after.clone(), answer_key.clone());
                    async move {
                        perform(&scope, &name, &acts).await?;
                        scope.set_value(&key, answer)?;
                        Ok(name)
                    }
                },
            )
        }
        Asking::UpFront => Stage::new(id, move |scope: Scope| {
            let (name, acts, key) = (name.clone(), after.clone(), answer_key.clone());
            async move {
                perform(&scope, &name, &[]).await?;
                perform(&scope, &name, &acts).await?;
                let address = scope.address();
                scope.set_value(&key, answer_of(address.stage_id()))?;
                Ok(name)
            }
        }),
    }
}

fn mount(id: &str, inner: &[Plan], lazy: bool, asking: Asking) -> Mount {
    let chart = build(inner, asking);
    let key = format!("out-{id}");
    let mount = if lazy { Mount::lazy(id, move || chart.clone()) } else { Mount::of(id, &chart) };
    mount.input(|_| Ok([("seeded", value!({ "a": 1, "b": [1, 2] }))].into_iter().collect())).output(
        move |end| {
            let mut state = end.state.to_object();
            state.remove("seeded");
            Ok([(key.as_str(), value!([(Value::Object(state))]))].into_iter().collect())
        },
    )
}

fn build(plans: &[Plan], asking: Asking) -> Chart {
    let mut builder = Chart::builder(Stage::new("root", |_: Scope| async { Ok(()) }));
    for (at, plan) in plans.iter().enumerate() {
        let id = format!("n{at}");
        let sub = |n: usize| format!("n{at}c{n}");
        let mode = |fast: bool| if fast { FanOut::FailFast } else { FanOut::AllSettled };
        builder = match plan {
            Plan::Stage(acts) => builder.then(stage(id, acts.clone(), asking)),
            Plan::Decider { pick, branches, loops } => {
                let chosen = sub(usize::from(*pick) % branches.len());
                let key = format!("passes-{id}");
                let mut decider = Decider::new(id, move |scope: Scope| {
                    let (chosen, key) = (chosen.clone(), key.clone());
                    async move {
                        let passes = scope.value(&key)?.and_then(|n| n.as_i64()).unwrap_or(0) + 1;
                        scope.set_value(&key, passes)?;
                        Ok(if passes > 2 { "leave".to_owned() } else { chosen })
                    }
                });
                for (n, acts) in branches.iter().enumerate() {
                    let branch = Branch::stage(stage(sub(n), acts.clone(), asking));
                    decider = decider.branch(if *loops { branch.loop_to("root") } else { branch });
                }
                builder.decide(
                    decider
                        .branch(stage(format!("n{at}leave"), Vec::new(), asking))
                        .default_branch(format!("n{at}leave")),
                )
            }
            Plan::Selector { picks, branches, fail_fast } => {
                let chosen: Vec<String> =
                    picks.iter().enumerate().filter(|(_, pick)| **pick).map(|(n, _)| sub(n)).collect();
                let mut selector = Selector::new(id, move |_: Scope| {
                    let chosen = chosen.clone();
                    async move { Ok(chosen) }
                })
                .fan_out(mode(*fail_fast));
                for (n, acts) in branches.iter().enumerate() {
                    selector = selector.branch(stage(sub(n), acts.clone(), asking));
                }
                builder.select(selector)
            }
            Plan::Fork { children, fail_fast } => {
                let children: Vec<ForkChild> = children
                    .iter()
                    .enumerate()
                    .map(|(n, child)| match child {
                        Child::Stage(acts) => ForkChild::from(stage(sub(n), acts.clone(), asking)),
                        Child::Mount(inner) => ForkChild::from(mount(&sub(n), inner, n % 2 == 1, asking)),
                    })
                    .collect();
                builder.then(stage(id, Vec::new(), asking)).fork(children, mode(*fail_fast)).then(stage(
                    format!("n{at}join"),
                    Vec::new(),
                    asking,
                ))
            }
            Plan::Mount { inner, lazy, propagate } => {
                builder.mount(mount(&id, inner, *lazy, asking).propagate_break(*propagate))
            }
            Plan::ForEach { items, inner, fail_fast } => {
                let (items, inner) = (*items, inner.clone());
                builder.for_each(
                    ForEach::new(
                        id.clone(),
                        move |_: Scope| Ok((0..items).collect::<Vec<u8>>()),
                        move |_: &u8, _| build(&inner, asking),
                    )
                    .max_branches(3)
                    .into(format!("results-{id}").as_str())
                    .fan_out(mode(*fail_fast)),
                )
            }
        };
    }
    builder.build().unwrap()
}

fn check_log(base: Option<&Object>, log: &CommitLog, state: &Object, tree: &ExecutionTree) {
    let folded = fold(base.cloned().unwrap_or_default(), log.iter().map(|bundle| &**bundle));
    assert_eq!(folded, *state);
    let mut own = HashSet::new();
    for (at, bundle) in log.iter().enumerate() {
        assert_eq!(bundle.idx.0, at);
        let first = own.insert(bundle.runtime_stage_id.clone());
        assert!(first || matches!(bundle.phase, Some(Phase::Exit | Phase::Repeat)), "{bundle:?}");
        assert!(bundle.phase.is_none() || bundle.rows.is_empty());
    }
    let mut indices = HashSet::new();
    for (_, frame) in tree.iter() {
        assert!(indices.insert(frame.runtime_stage_id.index()), "{} twice", frame.runtime_stage_id);
        let left_open = frame.subflow_id.is_some();
        assert!(
            own.contains(&frame.runtime_stage_id) || frame.is_fork || left_open,
            "{} has no bundle",
            frame.runtime_stage_id
        );
    }
    let reached: HashSet<u32> = reachable(tree);
    assert_eq!(reached.len(), tree.len());
}

fn reachable(tree: &ExecutionTree) -> HashSet<u32> {
    let mut seen = HashSet::new();
    let mut waiting: Vec<_> = tree.root().into_iter().collect();
    while let Some(id) = waiting.pop() {
        if seen.insert(id.0)
            && let Some(frame) = tree.get(id)
        {
            waiting.extend(frame.next);
            waiting.extend(&frame.children);
        }
    }
    seen
}

/// The laws every record keeps, whatever happened.
fn check(report: &RunReport) {
    let snapshot = report.snapshot();
    check_log(
        snapshot.initial_state.as_ref(),
        &snapshot.commit_log,
        &snapshot.shared_state,
        &snapshot.execution_tree,
    );
    for result in snapshot.subflow_results.values() {
        let inner = &result.tree_context;
        check_log(inner.initial_state.as_ref(), &inner.history, &inner.global_context, &inner.stage_contexts);
    }
    let redacted = report.snapshot_redacted();
    assert!(redacted.initial_state.is_none());
}

/// Counts that every stage that began came to a commit, and that every leg is closed once.
#[derive(Default)]
struct Balance(std::sync::Mutex<(i64, i64)>);

impl Recorder for Balance {
    fn id(&self) -> &str {
        "balance"
    }
    fn on_event(&self, _: &EventCx<'_>, e: &Payload) -> HookResult {
        let mut balance = self.0.lock().unwrap();
        match e {
            Payload::RunStart(_) => balance.0 += 1,
            Payload::RunEnd(_) | Payload::RunFailed(_) => balance.1 += 1,
            _ => {}
        }
        Ok(())
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

async fn to_the_end(chart: &Chart, json: bool, options: impl Fn() -> RunOptions) -> RunReport {
    let mut report = chart.run(options()).await;
    for _ in 0..64 {
        check(&report);
        let Some(paused) = report.paused() else { return report };
        let answer = answer_of(paused.stage_id());
        let next = if json {
            let checkpoint = FlowchartCheckpoint::from_json(&paused.checkpoint().to_json()).unwrap();
            chart.resume(checkpoint, answer, options()).unwrap()
        } else {
            paused.resume(answer).unwrap()
        };
        report = next.await;
    }
    panic!("asks forever");
}

fn shown(report: &RunReport) -> (Value, String) {
    let outcome = match report.outcome() {
        Outcome::Completed(value) => format!("completed {value:?}"),
        Outcome::Failed(error) => format!("failed {}", error.structured().message),
        other => format!("{other:?}"),
    };
    (Value::Object(report.state()), outcome)
}

/// A thousand cases, or as many as `PROPTEST_CASES` says.
fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1_000);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    /// Proves ENG-3, ENG-4, ENG-5, ENG-6, ENG-70, ENG-94, OBS-13: for any chart, with errors, stops and pauses, in
    /// both encodings and under a policy: the log folds to the state at every level, addresses never repeat, what
    /// was executed is recorded and reachable, and every leg is closed at most once.
    #[test]
    fn records_keep_their_laws(plans in plans(true, 2), delta: bool, policy: bool) {
        let chart = build(&plans, Asking::Pausing);
        runtime().block_on(async {
            let balance = std::sync::Arc::new(Balance::default());
            let options = || {
                let mut options = RunOptions::new().observe(balance.clone());
                if delta {
                    options = options.commit_values(CommitValues::Delta);
                }
                if policy {
                    // Nothing is selected, so the mirror must equal the live state.
                    options = options.redaction(RedactionPolicy::new().keys(["not-there"]));
                }
                options
            };
            let report = to_the_end(&chart, false, options).await;
            if policy {
                assert_eq!(report.snapshot_redacted().shared_state, report.snapshot().shared_state);
            }
            let (starts, ends) = *balance.0.lock().unwrap();
            assert!(ends == 1 && starts >= 1, "{starts} {ends}");
            // The same again gives the same.
            let again = to_the_end(&chart, false, options).await;
            assert_eq!(shown(&report), shown(&again));
        });
    }

    /// Proves ENG-124, ENG-128, ENG-129, ENG-131, ENG-133 and the property of ENG §7: a run paused and resumed at
    /// every question equals the run with all answers up front, in the process and through JSON.
    #[test]
    fn pausing_changes_nothing(plans in plans(false, 2)) {
        let pausing = build(&plans, Asking::Pausing);
        let straight = build(&plans, Asking::UpFront);
        runtime().block_on(async {
            let expected = shown(&straight.run(RunOptions::new()).await);
            for json in [false, true] {
                let report = to_the_end(&pausing, json, RunOptions::new).await;
                let found = shown(&report);
                assert_eq!(found, expected, "json: {json}");
            }
        });
    }
}

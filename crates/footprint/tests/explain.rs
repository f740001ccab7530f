//! Explaining real runs: recorders, snapshot and queries together (OBS §17).
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use footprint::chart::{Branch, Chart, Decider, FanOut, Mount, Selector, Stage};
use footprint::decide::{Rule, decide, field, select};
use footprint::error::ScopeError;
use footprint::ids::CommitIdx;
use footprint::query::{
    ControlSource, Cursor, EdgeKind, KeyValue, LogParts, LogView, Move, Slice, SliceOptions, StateKey,
    TraceQuery,
};
use footprint::recorders::{
    CombinedNarrative, Composite, ControlDeps, Debug, InOut, Manifest, Metrics, NarrativeType, Quality,
    Topology,
};
use footprint::scope::Scope;
use footprint::snapshot::{OpenLimits, Snapshot};
use footprint::state::{CommitValues, Key, ListKey, RedactionPolicy, Tracking, WriteProvenance};
use footprint::value;
use footprint::value::Value;
use footprint::walk::RunOptions;

const SCORE: Key<i64> = Key::new("score");
const ROUND: Key<i64> = Key::new("round");
const HISTORY: ListKey<i64> = ListKey::new("history");

/// A loan chart: facts, a mounted check, a decider that loops for another look, and a final decision.
fn loan() -> Chart {
    let check = Chart::builder(
        Stage::new("rate", |s: Scope| async move {
            let dti: f64 = *s.get(Key::<f64>::new("dti"))?;
            s.set_value("grade", if dti < 0.5 { "good" } else { "bad" })?;
            Ok(())
        })
        .named("Rate")
        .describe("rates the burden"),
    )
    .build()
    .unwrap();
    let route = |s: Scope| async move {
        let rules = [
            Rule::when(field("score").lt(600), "look").label("Needs another look"),
            Rule::when(field("score").gte(600).field("grade").eq("good"), "approve").label("Good credit"),
        ];
        Ok(decide(&s, &rules, ("reject", "nothing fits"))?)
    };
    Chart::builder(Stage::new("facts", |s: Scope| async move {
        s.set(SCORE, 550)?;
        s.set(ROUND, 0)?;
        s.set_value("dti", 0.3)?;
        s.set_value("noise", "unrelated")?;
        Ok(())
    }))
    .mount(Mount::of("sf-check", &check).input_keys([("dti", "dti")]).output_keys([("grade", "grade")]))
    .then(Stage::new("gather", |s: Scope| async move {
        let (score, round) = (*s.get(SCORE)?, *s.get(ROUND)?);
        s.set(SCORE, score + 100 * round)?;
        s.set(ROUND, round + 1)?;
        Ok(())
    }))
    .decide(
        Decider::new("route", route)
            .named("Route")
            .branch(Branch::stage(Stage::new("look", |_: Scope| async { Ok(()) })).loop_to("gather"))
            .branch(Stage::new("approve", |s: Scope| async move {
                s.set_value("result", "yes")?;
                Ok(())
            }))
            .branch(Stage::new("reject", |s: Scope| async move {
                s.set_value("result", "no")?;
                Ok(())
            })),
    )
    .build()
    .unwrap()
}

fn key(name: &str) -> StateKey {
    StateKey::dotted(name).unwrap()
}

fn edges(slice: &Slice) -> Vec<String> {
    let mut edges: Vec<String> = slice
        .flatten()
        .iter()
        .flat_map(|node| {
            node.parent_edges.iter().map(|edge| {
                let to = &slice.get(edge.parent).unwrap().runtime_stage_id;
                let why = edge.key.as_deref().unwrap_or("-");
                let kind = if edge.kind == EdgeKind::Control { "control" } else { "data" };
                format!("{} -> {to} {kind} {why}", node.runtime_stage_id)
            })
        })
        .collect();
    edges.sort();
    edges
}

fn reopened(snapshot: &Snapshot) -> TraceQuery {
    let text = format!("{{\"events\":[],\"snapshot\":{}}}", snapshot.to_json());
    TraceQuery::open(text.as_bytes(), &OpenLimits::default()).unwrap()
}

/// Proves OBS-4, OBS-9, OBS-95, OBS-104, OBS-160, OBS-169, ENG-103: one run yields narrative, evidence and a slice that names the rule and its inputs;
/// reopened from JSON without the chart, the slice is the same.
#[tokio::test]
async fn a_decision_is_explained_live_and_from_the_stored_recording() {
    let control = Arc::new(ControlDeps::new());
    let narrative = Arc::new(CombinedNarrative::new());
    let report = loan().run(RunOptions::new().observe(control.clone()).observe(narrative.clone())).await;
    assert!(report.error().is_none());
    assert_eq!(report.state().get("result"), Some(&value!("yes")));

    let told: Vec<String> = narrative
        .entries()
        .iter()
        .filter(|e| e.kind == Some(NarrativeType::Condition))
        .map(|e| e.text.clone())
        .collect();
    assert_eq!(
        told,
        [
            "[Condition] rule 0 \"Needs another look\" held: score 550 lt 600 ✓ → look",
            "[Condition] rule 1 \"Good credit\" held: score 650 gte 600 ✓, grade \"good\" eq \"good\" ✓ → approve",
        ]
    );

    let live = TraceQuery::new(report.snapshot().clone());
    let options = SliceOptions::for_key();
    let explained = live.root().slice_for_key(&key("result"), None, &options).unwrap();
    let slice = explained.slice.as_ref().unwrap();
    assert_eq!(
        edges(slice),
        [
            "approve#8 -> route#7 control Good credit",
            // The first pass wrote the score it had read: no change, no edge.
            "gather#3 -> facts#0 data round",
            "gather#3 -> facts#0 data score",
            "gather#6 -> facts#0 data score",
            "gather#6 -> gather#3 data round",
            "gather#6 -> route#4 control Needs another look",
            "route#4 -> facts#0 data score",
            "route#7 -> gather#6 data score",
            "route#7 -> route#4 control Needs another look",
            "route#7 -> sf-check#1 data grade",
        ]
    );
    assert!(!explained.format().contains("noise ←"));
    assert!(explained.format().contains("decided \"Good credit\""), "{}", explained.format());

    let stored = reopened(report.snapshot());
    assert_eq!(stored.root().control_source(), ControlSource::Recorded);
    let again = stored.root().slice_for_key(&key("result"), None, &options).unwrap();
    assert_eq!(again, explained);
    assert_eq!(stored.narrative().unwrap().len(), narrative.len());
    // One join key: every entry of the story names a step the log or the tree knows.
    for entry in stored.narrative().unwrap() {
        let id = entry.runtime_stage_id.as_ref().unwrap();
        assert_eq!(stored.step(id).unwrap().runtime_stage_id, *id);
    }

    // A tool can go on inside the mount.
    let mount = slice.flatten().iter().find_map(|n| n.descend.clone()).unwrap();
    let inside = stored.subflow(&mount.mount.to_string()).unwrap();
    let inner = inside.view.slice_for_key(&key("grade"), None, &options).unwrap();
    let steps: Vec<&str> =
        inner.slice.as_ref().unwrap().flatten().iter().map(|n| n.runtime_stage_id.stage_id()).collect();
    assert_eq!(steps, ["sf-check/rate", "sf-check"]);
}

/// Proves OBS-140, OBS-168, OBS-170, ENG-148: ten thousand appends; each item names its step exactly.
#[tokio::test]
async fn ten_thousand_appends_have_their_births() {
    let chart = Chart::builder(Stage::new("seed", |s: Scope| async move {
        s.set(HISTORY, vec![])?;
        s.set(ROUND, 0)?;
        Ok(())
    }))
    .then(Stage::new("append", |s: Scope| async move {
        let round = *s.get(ROUND)?;
        s.push(HISTORY, round)?;
        s.set(ROUND, round + 1)?;
        if round == 9_999 {
            s.stop("enough")?;
        }
        Ok(())
    }))
    .loop_to("append")
    .build()
    .unwrap();
    let options = RunOptions::new()
        .commit_values(CommitValues::Delta)
        .read_tracking(Tracking::Summary)
        .write_tracking(Tracking::Summary)
        .write_provenance(WriteProvenance::ReadsPrefix)
        .max_iterations(20_000);
    let report = chart.run(options).await;
    let query = reopened(report.snapshot());
    let history = key("history");
    // The row's own value is a tail, not the value; the snapshot says so by its dial.
    assert_eq!(query.snapshot().commit_values, CommitValues::Delta);
    assert_eq!(query.root().log().get(9).unwrap().overwrite().get("history"), Some(&value!([8])));
    let birth = query.root().element_birth(&history, 7_312, None).unwrap();
    let born = birth.born.unwrap();
    assert_eq!(
        (born.runtime_stage_id.to_string(), birth.basis.word()),
        ("append#7313".to_owned(), "append-verb")
    );
    assert_eq!(birth.value, value!(7312));
    let births = query.root().array_births(&history, Some(CommitIdx(5))).births.unwrap();
    assert_eq!(births.len(), 5);
    let end = query.root().value_at(&history, CommitIdx(usize::MAX)).unwrap();
    assert_eq!(end.value.value().and_then(Value::as_array).map(|a| a.len()), Some(10_000));
    // Follow the item: what led to it, and only that.
    let before = Some(CommitIdx(born.commit_idx.0 + 1));
    let slice = query.root().slice_for_key(&history, before, &SliceOptions::for_key()).unwrap();
    assert_eq!(slice.writer.unwrap().commit_idx, born.commit_idx);
    assert_eq!(slice.slice.unwrap().truncated.map(|t| t.by_depth), Some(true));
}

/// Proves OBS-113, OBS-106, ENG-90: no served byte holds the secret, and the run still computes on it.
#[tokio::test]
async fn explanations_of_a_redacted_run_hold_no_secret() {
    let chart = Chart::builder(Stage::new("seed", |s: Scope| async move {
        s.set_value("ssn", "SECRET-1")?;
        s.set_value("person", value!({"name": "Ann", "pin": "SECRET-2"}))?;
        s.emit("secret.event", "SECRET-3")?;
        Ok(())
    }))
    .decide(
        Decider::new("route", |s: Scope| async move {
            let rules = [
                Rule::when(field("ssn").eq("SECRET-1").field("never").ne("SECRET-4"), "yes").label("Known"),
                Rule::test(|s| Ok::<_, ScopeError>(s.value("person")?.is_some()), "yes"),
            ];
            Ok(decide(&s, &rules, "no")?)
        })
        .branch(Stage::new("yes", |s: Scope| async move {
            let ssn = s.value("ssn")?.unwrap_or_default();
            s.set_value("length", ssn.as_str().map_or(0, str::len))?;
            Ok(())
        }))
        .branch(Stage::new("no", |_: Scope| async { Ok(()) })),
    )
    .build()
    .unwrap();
    let policy = RedactionPolicy::new()
        .keys(["ssn", "never"])
        .fields("person", ["pin"])
        .emit_patterns(["^secret"])
        .unwrap();
    let recorders = Composite::new(
        "all",
        [
            Arc::new(CombinedNarrative::new()) as Arc<dyn footprint::observe::Recorder>,
            Arc::new(Debug::new()),
            Arc::new(ControlDeps::new()),
            Arc::new(InOut::new()),
        ],
    );
    let options = RunOptions::new().redaction(policy).observe(Arc::new(recorders));
    let report = chart.run(options).await;
    assert!(report.error().is_none(), "{:?}", report.error());
    assert_eq!(report.state().get("length"), Some(&value!(8)));
    let served = report.snapshot_redacted().to_json();
    assert!(!served.contains("SECRET"), "{served}");
    assert!(served.contains("Known") && served.contains("REDACTED"));
    let query = reopened(report.snapshot_redacted());
    let at = query.root().value_at(&key("ssn"), CommitIdx(0)).unwrap();
    assert_eq!(at.value, KeyValue::Value(value!("REDACTED")));
    assert!(!at.partial.is_empty());
    let text = query.root().slice_for_key(&key("length"), None, &SliceOptions::for_key()).unwrap().format();
    assert!(text.contains("ssn") && !text.contains("SECRET"));
}

/// Proves OBS-94, OBS-150, ENG-83: a selector's branches, their namespaces and the join, with every built-in recorder attached.
#[tokio::test]
async fn parallel_branches_are_explained() {
    let branch = |id: &'static str| {
        Stage::new(id, move |s: Scope| async move {
            let n = s.value("n")?.and_then(|n| n.as_i64()).unwrap_or_default();
            s.set_value("out", n + 1)?;
            Ok(())
        })
    };
    let chart = Chart::builder(Stage::new("seed", |s: Scope| async move {
        s.set_value("n", 1)?;
        Ok(())
    }))
    .select(
        Selector::new("pick", |s: Scope| async move {
            let rules = [
                Rule::when(field("n").gte(1), "a").label("At least one"),
                Rule::when(field("n").lt(5), "b").label("Few"),
            ];
            Ok(select(&s, &rules))
        })
        .fan_out(FanOut::AllSettled)
        .branch(branch("a"))
        .branch(branch("b"))
        .branch(branch("c")),
    )
    .then(Stage::new("join", |s: Scope| async move {
        let a = s.branch("a").value("out")?.unwrap_or_default();
        s.set_value("sum", a)?;
        Ok(())
    }))
    .build()
    .unwrap();
    let control = Arc::new(ControlDeps::new());
    let options = RunOptions::new()
        .observe(control.clone())
        .observe(Arc::new(Topology::new()))
        .observe(Arc::new(Metrics::new()))
        .observe(Arc::new(Manifest::new()))
        .observe(Arc::new(Quality::new(|_, _| 1.0.into())))
        .write_provenance(WriteProvenance::ReadsPrefix);
    let report = chart.run(options).await;
    let rows: Vec<&str> = report.snapshot().recorders.iter().map(|r| &*r.name).collect();
    assert_eq!(rows, ["ControlDeps", "Topology", "Metrics", "Manifest", "Quality"]);
    let query = reopened(report.snapshot());
    let slice = query.root().slice_for_key(&key("runs.a.out"), None, &SliceOptions::for_key()).unwrap();
    let found = edges(slice.slice.as_ref().unwrap());
    assert_eq!(
        found,
        ["a#2 -> pick#1 control At least one", "a#2 -> seed#0 data n", "pick#1 -> seed#0 data n",]
    );
    let sum = query.root().slice_for_key(&key("sum"), None, &SliceOptions::for_key()).unwrap();
    assert!(
        edges(sum.slice.as_ref().unwrap()).iter().any(|e| e.starts_with("join#") && e.ends_with("data runs"))
    );
    // The cursor walks the same log.
    let parts = LogParts {
        log: query.root().log().clone(),
        initial: query.root().initial_state().cloned(),
        ..LogParts::default()
    };
    let mut cursor = Cursor::new(Arc::new(LogView::new(parts)));
    while cursor.forward() == Move::Moved {}
    assert_eq!(cursor.state(), &report.state());
}

/// Proves OBS-59: the run option records without a row, the attached recorder adds one.
#[tokio::test]
async fn narrative_as_option_and_as_recorder() {
    let report = loan().run(RunOptions::new().narrative(true)).await;
    assert!(!report.narrative_entries().is_empty());
    assert!(report.snapshot().recorders.is_empty());
    let query = TraceQuery::new(report.snapshot().clone());
    assert!(query.narrative().is_none() && query.overview().narrative_entries.is_none());
    assert_eq!(query.root().control_source(), ControlSource::Tree);
    let slice = query.root().slice_for_key(&key("result"), None, &SliceOptions::for_key()).unwrap();
    let found = edges(slice.slice.as_ref().unwrap());
    assert!(found.contains(&"approve#8 -> route#7 control -".to_owned()), "{found:#?}");
}

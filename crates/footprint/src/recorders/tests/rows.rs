use std::sync::Arc;

use super::*;
use crate::recorders::*;
use crate::value;
use crate::value::Object;

fn data(recorder: &dyn Recorder, play: &Player<'_>) -> Value {
    let row = recorder.snapshot(&play.run).unwrap();
    // Every row survives JSON.
    assert_eq!(row.data.to_string().parse::<Value>().unwrap(), row.data);
    row.data
}

/// Proves OBS-57, OBS-88, OBS-34.
#[test]
fn metrics_credit_the_step_of_each_event() {
    let metrics = Metrics::new();
    let play = Player::new("r", vec![&metrics]);
    let (a, b) = (at("a#0", "A"), at("b#1", "B"));
    // Two steps at once: nothing is credited to a "current" one.
    play.start(&a);
    play.start(&b);
    play.read(&a, "k", value!(1));
    play.write(&b, "k", value!(1));
    play.write(&a, "k", value!(1));
    play.now.set(1030);
    play.end(&a);
    play.commit(&a);
    play.fire(&b, ScopePauseEvent { pause_data: None });
    play.fire(&b, StageEndEvent { duration: Some(7) });
    play.stage(&at("a#2", "A"), "k");
    assert_eq!(
        data(&metrics, &play),
        value!({
            "numericField": "readCount", "grandTotal": 1, "totalDuration": 37, "totalReads": 1, "totalWrites": 3,
            "totalCommits": 2, "totalPauses": 1,
            "steps": {
                "a#0": {"stageName": "A", "readCount": 1, "writeCount": 1, "commitCount": 1, "pauseCount": 0, "duration": 30},
                "b#1": {"stageName": "B", "readCount": 0, "writeCount": 1, "commitCount": 0, "pauseCount": 1, "duration": 7},
                "a#2": {"stageName": "A", "readCount": 0, "writeCount": 1, "commitCount": 1, "pauseCount": 0, "duration": 0},
            },
        })
    );
    assert_eq!(metrics.by_stage(None)["A"].invocation_count, 2);
    let only = Metrics::with_id("metrics-2").stage_filter(|name| name == "B");
    let play = Player::new("r", vec![&only]);
    play.stage(&a, "k");
    play.stage(&b, "k");
    assert_eq!(only.steps(None).len(), 1);
}

/// Proves OBS-57, OBS-89.
#[test]
fn debug_keeps_one_steps_detail() {
    let (verbose, minimal) = (Debug::new(), Debug::with_id("debug-2").verbosity(Verbosity::Minimal));
    let play = Player::new("r", vec![&verbose, &minimal]);
    let a = at("a#0", "A");
    play.start(&a);
    play.write(&a, "k", value!("v"));
    play.fire(&a, ScopePauseEvent { pause_data: Some(value!({"q": 1})) });
    play.end(&a);
    play.fail(&a, "late");
    let types = |d: &Debug| -> Vec<String> {
        data(d, &play).as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(types(&verbose), ["stageStart", "write", "pause", "stageEnd", "error"]);
    assert_eq!(types(&minimal), ["pause", "error"]);
    let row = &data(&verbose, &play)[1];
    assert_eq!(
        *row,
        value!({"type": "write", "stageName": "A", "runtimeStageId": "a#0", "timestamp": 1000,
            "data": {"pipelineId": "", "key": "k", "value": "v", "operation": "set"}})
    );
    assert_eq!(verbose.step(None, &"a#0".into()).len(), 5);
    assert!(verbose.step(None, &"b#0".into()).is_empty());
}

/// Two subflows at once, one of them nested deeper: exits do not pop the wrong one.
///
/// Proves OBS-57, OBS-90, OBS-92.
#[test]
fn manifest_and_inout_follow_real_containment() {
    let (manifest, inout) = (Manifest::new(), InOut::new());
    let play = Player::new("r", vec![&manifest, &inout]);
    play.fire(&root(), RunStartEvent { payload: Some(value!({"who": "me"})) });
    let (one, two) = (at("one#1", "One").mount(), at("two#2", "Two").mount());
    let deep = at("one/deep#3", "Deep").mount();
    play.enter(&one, "One", Some(value!({"k": 1})));
    play.enter(&two, "Two", None);
    play.enter(&deep, "Deep", None);
    play.exit(&two, "Two", Some(value!({"r": 2})));
    play.exit(&deep, "Deep", None);
    assert_eq!(
        data(&manifest, &play),
        value!([
            {"subflowId": "one", "name": "One", "open": true, "children": [{"subflowId": "one/deep", "name": "Deep", "children": []}]},
            {"subflowId": "two", "name": "Two", "children": []},
        ])
    );
    play.exit(&one, "One", None);
    play.finish();
    let rows = data(&inout, &play);
    let told: Vec<String> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|r| format!("{} {} {}", r["phase"], r["runtimeStageId"], r["depth"]))
        .collect();
    let expected = [
        "\"entry\" \"__root__#0\" 0",
        "\"entry\" \"one#1\" 1",
        "\"entry\" \"two#2\" 1",
        "\"entry\" \"one/deep#3\" 2",
        "\"exit\" \"two#2\" 1",
        "\"exit\" \"one/deep#3\" 2",
        "\"exit\" \"one#1\" 1",
        "\"exit\" \"__root__#0\" 0",
    ];
    assert_eq!(told, expected);
    assert_eq!(
        rows[3],
        value!({"runtimeStageId": "one/deep#3", "subflowId": "one/deep", "localSubflowId": "deep", "subflowName": "Deep",
            "subflowPath": ["__root__", "one", "deep"], "depth": 2, "phase": "entry", "isRoot": false})
    );
    assert_eq!((&rows[0]["payload"], &rows[4]["payload"]), (&value!({"who": "me"}), &value!({"r": 2})));
    let registered = SubflowRegisteredEvent {
        subflow_id: "lazy".into(),
        name: "Lazy".into(),
        description: None,
        spec_structure: Some(value!({"id": "in"})),
    };
    play.fire(&root(), registered);
    assert_eq!(manifest.spec(None, "lazy"), Some(value!({"id": "in"})));
}

/// Proves OBS-57, OBS-91.
#[test]
fn quality_scores_are_clamped_and_averaged() {
    let quality = Quality::new(|_, facts| match &*facts.stage_name {
        "Bad" => QualityScore { score: -3.0, factors: vec!["empty".into()] },
        "Odd" => f64::NAN.into(),
        _ => (facts.keys_read.len() as f64).into(),
    });
    let play = Player::new("r", vec![&quality]);
    assert_eq!(quality.overall(None), 1.0);
    let good = at("good#0", "Good");
    play.start(&good);
    play.read(&good, "k", value!(1));
    play.read(&good, "k", value!(1));
    play.read(&good, "l", value!(1));
    play.end(&good);
    play.stage(&at("bad#1", "Bad"), "x");
    let odd = at("odd#2", "Odd");
    play.start(&odd);
    let failed = play.fire(&odd, StageEndEvent { duration: None });
    assert_eq!(failed, ["quality score of odd#2 is not a finite number"]);
    assert_eq!((quality.overall(None), quality.steps(None).len()), (0.5, 2));
    assert_eq!(quality.lowest(None).unwrap().0, "bad#1");
    assert_eq!(quality.score_up_to(None, &|id| id.stage_id() == "good"), 1.0);
    let row = data(&quality, &play);
    assert_eq!(row["lowestStep"], value!("bad#1"));
    assert_eq!(
        row["steps"]["good#0"],
        value!({"stageName": "Good", "stageId": "good", "score": 1, "factors": [], "keysRead": ["k", "l"], "keysWritten": []})
    );
}

/// Fails in every hook, one way or the other.
struct Broken(bool);

impl Recorder for Broken {
    fn id(&self) -> &str {
        "broken"
    }
    fn on_event(&self, _: &EventCx<'_>, _: &Payload) -> HookResult {
        assert!(self.0, "broken");
        Err(RecorderError::new("refused"))
    }
    fn snapshot(&self, _: &RunId) -> Option<RecorderBundle> {
        panic!("no row")
    }
}

/// Proves OBS-41.
#[test]
fn a_composite_isolates_its_children() {
    let all = Composite::new(
        "all",
        [
            Arc::new(Broken(false)) as Arc<dyn Recorder>,
            Arc::new(Metrics::new()),
            Arc::new(Broken(true)),
            Arc::new(Manifest::new()),
        ],
    );
    assert_eq!(all.interest(), Interest::ALL);
    let narrow = Composite::new("narrow", [Arc::new(Manifest::new()) as Arc<dyn Recorder>]);
    assert!(!narrow.interest().contains(Hook::Read));
    let play = Player::new("r", vec![&all]);
    let failed = play.fire(&at("a#0", "A"), ReadEvent { key: None, value: None, redacted: false });
    assert_eq!(failed, ["broken: panic: broken; broken: refused"]);
    assert_eq!(all.get::<Metrics>().unwrap().steps(None)[0].reads, 1);
    assert!(all.get::<Quality>().is_none());
    let row = data(&all, &play);
    let names: Vec<&str> =
        row["children"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Metrics", "Manifest"]);
    assert_eq!(row["children"][0]["preferredOperation"], value!("aggregate"));
}

/// Two runs of one shared recorder, interleaved: rows never mix.
///
/// Proves OBS-35, OBS-54, OBS-55.
#[test]
fn shared_recorders_key_by_run() {
    let (metrics, narrative) = (Metrics::new(), CombinedNarrative::new());
    let one = Player::new("one", vec![&metrics, &narrative]);
    let two = Player::new("two", vec![&metrics, &narrative]);
    one.start(&at("a#0", "A"));
    two.stage(&at("a#0", "A"), "k");
    one.stage(&at("b#1", "B"), "k");
    two.finish();
    let before = metrics.snapshot(&one.run).unwrap().data;
    one.stage(&at("c#2", "C"), "k");
    // A row that was handed out does not change.
    assert_eq!(before["steps"].as_object().map(Object::len), Some(2));
    assert_eq!(metrics.steps(Some(&two.run)).len(), 1);
    assert_eq!(metrics.steps(Some(&one.run)).len(), 3);
    assert_eq!(narrative.entries_of(&two.run).len(), 2);
    assert!(metrics.snapshot(&RunId::new("three")).is_none());
    for i in 0..200 {
        let play = Player::new(&format!("run-{i}"), vec![&metrics]);
        play.stage(&at("a#0", "A"), "k");
        play.finish();
    }
    // Old closed runs are forgotten, open ones never.
    assert!(metrics.snapshot(&RunId::new("run-0")).is_none());
    assert!(metrics.snapshot(&one.run).is_some());
    assert!(metrics.snapshot(&RunId::new("run-199")).is_some());
}

/// Proves OBS-26, OBS-38.
#[test]
fn ids_are_numbered_within_a_template() {
    assert_eq!(free_id("metrics", []), "metrics-1");
    assert_eq!(free_id("metrics", ["metrics-1", "debug-1", "metrics-3"]), "metrics-2");
    let defaults: [&dyn Recorder; 7] = [
        &CombinedNarrative::new(),
        &Manifest::new(),
        &Metrics::new(),
        &Debug::new(),
        &InOut::new(),
        &Topology::new(),
        &ControlDeps::new(),
    ];
    let ids = defaults.map(|r| r.id().to_owned());
    assert_eq!(
        ids,
        ["combined-narrative", "manifest", "metrics-1", "debug-1", "inout-1", "topology-1", "control-deps-1"]
    );
    assert_eq!(Quality::new(|_, _| 1.0.into()).id(), "quality-1");
    // None of them depends on the hop event, which not every step fires.
    assert!(defaults.iter().all(|r| !r.interest().contains(Hook::Next)));
}

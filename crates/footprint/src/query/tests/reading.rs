use crate::ids::CommitIdx;
use crate::query::*;
use crate::snapshot::*;
use crate::value;

/// A recording in the reference's older form: `history` for the log, seeds without address, no phase, dials, initial state or run id; a mount
/// that ran twice, kept under its path and its addresses.
const OLD: &str = r#"{"events": [{"type": "x"}], "structure": {"id": "seed"}, "snapshot": {
  "sharedState": {"n": 2, "out": 2},
  "executionTree": {"id": "seed", "runtimeStageId": "seed#0", "name": "Seed", "isDecider": false, "isFork": false, "logs": {}, "errors": {},
    "metrics": {}, "evals": {}, "stageReads": {}, "future": {"kept": [1, 2.5]},
    "next": {"id": "sf", "runtimeStageId": "sf#1", "name": "Sub", "subflowId": "sf", "stageReads": {"n": 1},
      "next": {"id": "sf", "runtimeStageId": "sf#3", "name": "Sub", "subflowId": "sf",
        "errors": {"stageExecutionError": "Error: late"}}}},
  "history": [
    {"idx": 0, "stage": "Seed", "stageId": "seed", "runtimeStageId": "seed#0", "trace": [{"path": "n", "verb": "set"}],
     "overwrite": {"n": 2}, "updates": {}, "redactedPaths": []},
    {"idx": 1, "stage": "Seed", "stageId": "seed", "runtimeStageId": "seed#0", "trace": [{"path": "out", "verb": "set"}],
     "overwrite": {"out": 2}, "updates": {}, "redactedPaths": [], "untrackedSources": ["args"], "note": "merge-back under the step before"},
    "damaged",
    {"idx": 7, "stage": "Sub", "stageId": "sf", "runtimeStageId": "sf#3", "trace": [], "overwrite": {}, "updates": {}, "redactedPaths": []}],
  "subflowResults": {
    "sf": {"subflowId": "sf", "subflowName": "Sub", "parentStageId": "Sub", "treeContext": {"globalContext": {"k": 2},
      "stageContexts": {"id": "sf/in", "runtimeStageId": "sf/in#4", "name": "sf/In"},
      "history": [{"idx": 0, "stage": "In", "stageId": "sf", "runtimeStageId": "", "trace": [{"path": "k", "verb": "set"}],
        "overwrite": {"k": 2}, "updates": {}, "redactedPaths": []},
       {"idx": 1, "stage": "In", "stageId": "sf/in", "runtimeStageId": "sf/in#4", "trace": [], "overwrite": {}, "updates": {}}]}},
    "sf#3": {"subflowId": "sf", "subflowName": "Sub", "parentStageId": "Sub", "treeContext": {"globalContext": {"k": 2},
      "stageContexts": {"id": "sf/in", "runtimeStageId": "sf/in#4", "name": "sf/In"},
      "history": [{"idx": 0, "stage": "In", "stageId": "sf", "runtimeStageId": "", "trace": [{"path": "k", "verb": "set"}],
        "overwrite": {"k": 2}, "updates": {}, "redactedPaths": []},
       {"idx": 1, "stage": "In", "stageId": "sf/in", "runtimeStageId": "sf/in#4", "trace": [], "overwrite": {}, "updates": {}}]}},
    "sf#1": {"subflowId": "sf", "subflowName": "Sub", "parentStageId": "Sub", "treeContext": {"globalContext": {"k": 1},
      "stageContexts": {"id": "sf/in", "runtimeStageId": "sf/in#2", "name": "sf/In"},
      "history": [{"idx": 0, "stage": "In", "stageId": "sf/in", "runtimeStageId": "sf/in#2", "trace": [{"path": "k", "verb": "set"}],
        "overwrite": {"k": 1}, "updates": {}, "redactedPaths": []}]}}},
  "recorders": [{"id": "odd", "name": "Odd", "data": [1], "unknown": true},
    {"id": "n", "name": "Story", "data": [{"type": "stage", "text": "Seed ran", "depth": 0, "runtimeStageId": "seed#0"}]}]}}"#;

fn open() -> TraceQuery {
    TraceQuery::open(OLD.as_bytes(), &OpenLimits::default()).unwrap()
}

/// Proves OBS-182, OBS-183, OBS-184, OBS-185, OBS-196, ENG-141, ENG-160, ENG-161.
#[test]
fn older_recordings_open_and_say_what_they_lack() {
    let query = open();
    let root = query.root();
    assert_eq!(root.len(), 4);
    assert_eq!(root.basis(), Basis::LogOnly);
    assert_eq!(query.snapshot().write_provenance.as_str(), "off");
    let state = root.state_at(Some(CommitIdx(9))).to_value();
    assert_eq!(state["state"], value!({"n": 2, "out": 2}));
    assert_eq!(state["skipped"][0]["index"], value!(2));
    assert_eq!(state["throughCommitIdx"], value!(3));
    let overview = query.overview();
    assert_eq!((overview.commits, overview.steps, overview.frames, overview.misnumbered), (4, 2, 3, 1));
    assert_eq!(overview.subflow_executions, 2);
    assert_eq!(overview.narrative_entries, Some(1));
    assert_eq!(overview.errors, [("sf#3".into(), "Error: late".to_owned())]);
    assert_eq!(overview.to_value()["control"], value!("unavailable"));
    let codes: Vec<NoteCode> = overview.notes.iter().map(|n| n.code).collect();
    assert_eq!(codes, [NoteCode::LogOnly, NoteCode::LogGap, NoteCode::ControlUnavailable]);
}

/// Proves OBS-182, OBS-188, ENG-142.
#[test]
fn subflows_by_address_and_by_path() {
    let query = open();
    let last = query.subflow("sf").unwrap();
    assert_eq!((last.executions, last.notes[0].code), (2, NoteCode::LastExecution));
    let third = query.subflow("sf#3").unwrap();
    assert!(third.notes.is_empty());
    // Both keys of one execution share one view.
    assert!(std::sync::Arc::ptr_eq(&last.view, &third.view));
    let key = StateKey::key("k").unwrap();
    let at = |q: &SubflowView| q.view.value_at(&key, CommitIdx(0)).unwrap().value.value().cloned();
    assert_eq!(at(&query.subflow("sf#1").unwrap()), Some(value!(1)));
    assert_eq!(at(&third), Some(value!(2)));
    assert_eq!(third.view.address().drill_path, ["sf".into()]);
    // A seed without address is a step of its own, reached by slices, and never joined with another.
    let slice = third.view.slice_for_key(&key, None, &SliceOptions::for_key()).unwrap();
    assert_eq!(slice.to_value()["writerId"], value!("commit 0"));
    let unknown = query.subflow("nope").unwrap_err();
    assert_eq!(unknown.to_string(), "no subflow `nope` in the recording; there are: sf");
    assert_eq!(query.snapshot().subflow_paths().collect::<Vec<_>>(), [&crate::value::Str::from("sf")]);
    assert_eq!(
        query.snapshot().subtree("sf#1").unwrap().tree_context.global_context.get("k"),
        Some(&value!(1))
    );
    assert!(query.snapshot().subtree("sf").is_some());
    // Only numbered entries stored: the path means the one with the highest number.
    let mut snapshot = query.snapshot().clone();
    snapshot.subflow_results.shift_remove("sf");
    let trimmed = TraceQuery::new(snapshot);
    assert_eq!(at(&trimmed.subflow("sf").unwrap()), Some(value!(2)));
}

/// Proves OBS-169, OBS-202.
#[test]
fn a_step_with_everything_known_about_it() {
    let query = open();
    let seed = query.step(&"seed#0".into()).unwrap();
    assert_eq!(seed.commits, [CommitIdx(0), CommitIdx(1)]);
    assert_eq!(seed.writes.iter().map(|w| w.path.to_string()).collect::<Vec<_>>(), ["n", "out"]);
    assert_eq!(seed.next, Some("sf#1".into()));
    assert_eq!(seed.narrative[0].text, "Seed ran");
    assert_eq!(seed.untracked.words().collect::<Vec<_>>(), ["args"]);
    assert!(seed.notes.iter().any(|n| n.code == NoteCode::IncompleteSources));
    assert_eq!(seed.to_value()["incompleteSources"], value!(["args"]));
    // A mount without a commit still has its frame.
    let mount = query.step(&"sf#1".into()).unwrap();
    assert_eq!((mount.commits.len(), mount.subflow.as_deref()), (0, Some("sf")));
    assert_eq!(mount.reads[0].0, "n".into());
    assert_eq!(mount.parent, Some("seed#0".into()));
    let failing = query.step(&"sf#3".into()).unwrap();
    assert_eq!(failing.to_value()["errors"], value!({"stageExecutionError": "Error: late"}));
    // Steps inside subflows are found by their address.
    assert_eq!(query.step(&"sf/in#2".into()).unwrap().stage_name, "In".into());
    assert!(matches!(query.step(&"sf/in#99".into()), Err(QueryError::StepNotInLog { .. })));
    let mut cursor = Cursor::new(std::sync::Arc::new(LogView::new(LogParts {
        log: query.root().log().clone(),
        ..LogParts::default()
    })));
    cursor.to_step(&"sf#3".into());
    assert_eq!(cursor.drill(&query).unwrap().stops().len(), 4);
}

/// Proves OBS-202.
#[test]
fn search_finds_names_keys_values_and_narrative() {
    let query = open();
    let found = |q: &SearchQuery| -> Vec<(&'static str, String)> {
        query.search(q).hits.iter().map(|h| (h.kind.word(), h.preview.clone())).collect()
    };
    assert_eq!(
        found(&SearchQuery::text("seed")),
        [("name", "Seed".into()), ("name", "seed".into()), ("narrative", "Seed ran".to_owned())]
    );
    assert_eq!(found(&SearchQuery::key("out")), [("key", "set out".to_owned())]);
    assert_eq!(found(&SearchQuery::text("2"))[0], ("value", "n: 2".to_owned()));
    let one = SearchQuery { limit: 1, ..SearchQuery::text("seed") };
    assert!(query.search(&one).more);
    assert_eq!(query.search(&one).hits[0].to_value()["where"], value!("name"));
    assert!(query.search(&SearchQuery::text("zzz")).hits.is_empty());
}

/// Proves OBS-186, ENG-145.
#[test]
fn what_is_not_understood_survives_a_round_trip() {
    let recording = Recording::open(OLD.as_bytes(), &OpenLimits::default()).unwrap();
    assert_eq!(recording.beside("structure"), Some(r#"{"id": "seed"}"#));
    let mut text = String::new();
    write_recording(&recording, &mut text);
    for kept in [
        "\"future\":{\"kept\":[1,2.5]}",
        "\"damaged\"",
        "\"unknown\":true",
        "merge-back under",
        "\"type\": \"x\"",
    ] {
        assert!(text.contains(kept), "{kept}");
    }
    // Once in our form, reading and writing are inverse.
    let again = Recording::open(text.as_bytes(), &OpenLimits::default()).unwrap();
    let mut twice = String::new();
    write_recording(&again, &mut twice);
    assert_eq!(text, twice);
}

/// Proves OBS-179, OBS-187.
#[test]
fn what_cannot_be_opened_says_why() {
    let open =
        |text: &str| TraceQuery::open(text.as_bytes(), &OpenLimits::default()).map(|_| ()).unwrap_err();
    for text in ["{}", "[]", "3", r#"{"snapshot": null}"#, r#"{"snapshot": []}"#] {
        assert_eq!(open(text), OpenRecordingError::NoSnapshot, "{text}");
    }
    let parts = |parts: &[&'static str]| OpenRecordingError::MissingPart { parts: parts.to_vec() };
    assert_eq!(open(r#"{"snapshot": {}}"#), parts(&["commitLog", "executionTree"]));
    assert_eq!(open(r#"{"snapshot": {"commitLog": {}, "executionTree": {}}}"#), parts(&["commitLog"]));
    assert_eq!(
        open(r#"{"snapshot": {"commitLog": [{}], "executionTree": null}}"#),
        parts(&["executionTree"])
    );
    // A run that never started has neither commits nor frames, and says so.
    assert!(
        Snapshot::from_json(r#"{"commitLog": [], "executionTree": null}"#).unwrap().execution_tree.is_empty()
    );
    assert!(open(r#"{"snapshot": {}}"#).to_string().contains("before the run starts"));
    assert!(matches!(open("{\"snapshot\": "), OpenRecordingError::Json(_)));
    let limited =
        |limits: OpenLimits| TraceQuery::open(OLD.as_bytes(), &limits).map(|_| ()).unwrap_err().to_string();
    assert!(limited(OpenLimits { max_bytes: 10, ..OpenLimits::default() }).contains("max_bytes 10"));
    assert!(limited(OpenLimits { max_commits: 5, ..OpenLimits::default() }).contains("max_commits 5"));
    let deep = format!("{}1{}", "[".repeat(1600), "]".repeat(1600));
    let text = format!(
        r#"{{"snapshot": {{"commitLog": [], "executionTree": {{}}, "sharedState": {{"x": {deep}}}}}}}"#
    );
    assert!(matches!(open(&text), OpenRecordingError::RecordingTooLarge { .. }));
}

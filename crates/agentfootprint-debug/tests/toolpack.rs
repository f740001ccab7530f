//! The trace toolpack over a small recording written by hand, over generated ones, and over the conformance folder.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    clippy::print_stderr
)]

use std::path::{Path, PathBuf};

use agentfootprint_debug::toolpack::{
    InnerRun, MAX_ANSWER, TRACE_TOOL_NAMES, ToolOutcome, TraceTools, call_trace_tool, context_errors,
};
use agentfootprint_record::recording::{OpenRecording, Recording};
use footprint::value::{Value, utf16};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn fixture() -> Json {
    serde_json::from_str(include_str!("fixtures/support.json")).unwrap()
}

fn open(recording: &Json) -> OpenRecording {
    Recording::open(recording.to_string().as_bytes()).unwrap()
}

fn ask(recording: &Json, tool: &str, args: Json) -> String {
    call_trace_tool(&open(recording), tool, &Value::from(args)).unwrap()
}

fn assert_has(answer: &str, parts: &[&str]) {
    for part in parts {
        assert!(answer.contains(part), "no `{part}` in:\n{answer}");
    }
}

/// Proves REC-85.
#[test]
fn the_overview_says_what_happened_and_what_the_record_lacks() {
    let answer = ask(&fixture(), "run_overview", json!({}));
    insta::assert_snapshot!("run_overview", answer);
    let mut bare = fixture();
    bare.as_object_mut().unwrap().remove("events");
    bare["snapshot"].as_object_mut().unwrap().remove("initialState");
    let answer = ask(&bare, "run_overview", json!({}));
    assert_has(&answer, &["Status: unknown: there are no events", "⚠ no events", "⚠ no initial state"]);
}

#[test]
fn every_tool_answers_the_worked_example() {
    let recording = fixture();
    for (name, tool, args) in [
        ("find_context_errors", "find_context_errors", json!({})),
        ("find_in_trace", "find_in_trace", json!({ "query": "a-1001", "maxHits": 4 })),
        ("trace_node", "trace_node", json!({ "runtimeStageId": "tool-calls#5" })),
        ("trace_node_mount", "trace_node", json!({ "runtimeStageId": "sf-messages#6" })),
        ("trace_slice", "trace_slice", json!({ "runtimeStageId": "final#10" })),
        ("backtrack", "backtrack", json!({ "variable": "finalContent" })),
        ("backtrack_element", "backtrack", json!({ "variable": "history", "element": 2 })),
        ("who_wrote", "who_wrote", json!({ "key": "llmLatestContent" })),
        ("get_value", "get_value", json!({ "runtimeStageId": "call-llm#3", "key": "llmLatestContent" })),
        ("inspect_tool_call", "inspect_tool_call", json!({ "toolCallId": "t1" })),
        ("inspect_tool_run", "inspect_tool_run", json!({ "toolCallId": "t1" })),
        ("read_narrative", "read_narrative", json!({ "offset": 1, "maxLines": 2 })),
    ] {
        insta::assert_snapshot!(name, ask(&recording, tool, args));
    }
}

/// Proves REC-86.
#[test]
fn a_wrong_id_key_or_range_is_answered_with_a_correction() {
    let recording = fixture();
    for (tool, args, parts) in [
        (
            "trace_node",
            json!({ "runtimeStageId": "tool-calls#6" }),
            vec!["There is no step `tool-calls#6`", "tool-calls#5"],
        ),
        ("trace_slice", json!({ "runtimeStageId": "nope" }), vec!["There is no step `nope`"]),
        ("trace_slice", json!({ "runtimeStageId": "final#10", "key": "finalContnt" }), vec!["finalContent"]),
        ("backtrack", json!({ "variable": "histry" }), vec!["No step wrote a key `histry`", "history"]),
        ("backtrack", json!({ "variable": "history", "element": 9 }), vec!["3 elements", "0 to 2"]),
        ("backtrack", json!({ "variable": "iteration", "element": 0 }), vec!["not a list"]),
        ("backtrack", json!({ "variable": "iteration", "before": "x#1" }), vec!["There is no step `x#1`"]),
        ("who_wrote", json!({ "key": "iterations" }), vec!["iteration"]),
        ("who_wrote", json!({ "key": "iteration", "beforeStageId": "zzz" }), vec!["There is no step"]),
        ("get_value", json!({ "runtimeStageId": "seed#1", "key": "iteration" }), vec!["seed#0"]),
        ("get_value", json!({ "runtimeStageId": "seed#0", "key": "iter" }), vec!["iteration"]),
        ("get_value", json!({ "runtimeStageId": "seed#0", "key": "." }), vec!["No step wrote a key `.`"]),
        (
            "get_value",
            json!({ "runtimeStageId": "seed#0", "key": "finalContent" }),
            vec!["had not been written yet"],
        ),
        (
            "inspect_tool_call",
            json!({ "toolCallId": "t2" }),
            vec!["There is no tool call `t2`", "t1 (get_order)"],
        ),
        ("inspect_tool_run", json!({ "toolCallId": "t9" }), vec!["t1 (get_order)"]),
        ("read_narrative", json!({ "offset": 40 }), vec!["4 lines"]),
    ] {
        assert_has(&ask(&recording, tool, args), &parts);
    }
}

/// Proves REC-87.
#[test]
fn only_arguments_that_do_not_fit_the_schema_are_refused() {
    let opened = open(&fixture());
    let tools = TraceTools::new(opened);
    for (tool, args, said) in [
        ("who_wrote", json!({}), "`key` is missing"),
        ("who_wrote", json!({ "key": 3 }), "`key` is number, not a string"),
        (
            "who_wrote",
            json!({ "key": "a", "extra": 1 }),
            "`extra` is not an argument; it takes key, beforeStageId",
        ),
        ("run_overview", json!({ "x": 1 }), "it takes nothing"),
        ("find_in_trace", json!({ "query": "a" }), "`query` has 1 characters; it takes 2 to 200"),
        (
            "get_value",
            json!({ "runtimeStageId": "seed#0", "key": "a", "maxChars": 9000 }),
            "`maxChars` is 9000; it takes 50 to 8000",
        ),
        ("trace_slice", json!({ "runtimeStageId": "a", "maxNodes": 1 }), "it takes 2 to 100"),
        ("trace_slice", json!({ "runtimeStageId": "a", "maxDepth": 1.5 }), "not a whole number"),
        ("run_overview", json!([]), "the arguments are array, not an object"),
    ] {
        let refused = tools.call(tool, &Value::from(args)).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let refused = tools.call("rm", &Value::Null).unwrap_err().to_string();
    assert!(refused.contains("there is no trace tool `rm`; there are run_overview"));
    for spec in tools.specs() {
        let schema = spec.input_schema.to_json();
        assert_eq!(schema["additionalProperties"], json!(false), "{}", spec.name);
    }
    let node = tools.specs().into_iter().find(|spec| spec.name == "trace_node").unwrap();
    let offered = node.input_schema.to_json()["properties"]["runtimeStageId"]["enum"].clone();
    assert!(offered.as_array().unwrap().contains(&json!("sf-messages/compose#7")));
    let long = TraceTools::new(generated(60, 4, ""));
    let node = long.specs().into_iter().find(|spec| spec.name == "trace_node").unwrap();
    assert!(node.input_schema.to_json()["properties"]["runtimeStageId"].get("enum").is_none());
}

/// Proves REC-93.
#[test]
fn one_list_of_names_and_read_narrative_only_with_a_narrative() {
    let tools = TraceTools::new(open(&fixture()));
    let names: Vec<_> = tools.specs().iter().map(|spec| spec.name).collect();
    assert_eq!(names, TRACE_TOOL_NAMES);
    let mut untold = fixture();
    untold["snapshot"]["recorders"] = json!([]);
    let names: Vec<_> = TraceTools::new(open(&untold)).specs().iter().map(|spec| spec.name).collect();
    assert_eq!(names, TRACE_TOOL_NAMES[..10]);
    assert_has(&ask(&untold, "read_narrative", json!({})), &["no narrative"]);
}

/// Proves REC-90.
#[test]
fn a_tool_call_shows_what_was_proposed_what_ran_and_how_it_ended() {
    let answer = ask(&fixture(), "inspect_tool_call", json!({ "toolCallId": "t1" }));
    assert_has(
        &answer,
        &[
            "Call `t1` of get_order: ok, 2 ms",
            r#"proposed by the model: {"order":"a-1001"}"#,
            r#"what ran:              {"order":"A-1001"}"#,
        ],
    );
    let outcome = |change: &dyn Fn(&mut Vec<Json>)| {
        let mut recording = fixture();
        change(recording["events"].as_array_mut().unwrap());
        ask(&recording, "inspect_tool_call", json!({ "toolCallId": "t1" }))
    };
    let end = |events: &[Json]| {
        events.iter().position(|event| event["type"] == "agentfootprint.stream.tool_end").unwrap()
    };
    assert_has(
        &outcome(&|events| {
            let at = end(events);
            events[at]["payload"]["error"] = json!(true);
        }),
        &["get_order: error"],
    );
    assert_has(
        &outcome(&|events| {
            let at = end(events);
            events.remove(at);
        }),
        &["get_order: unknown", "⚠ no event says how it ended"],
    );
    assert_has(
        &outcome(&|events| {
            let at = end(events);
            events[at]["type"] = json!("agentfootprint.permission.check");
            events[at]["payload"] = json!({ "capability": "tool_call", "actor": "agent", "target": "get_order", "result": "deny", "rationale": "no orders" });
        }),
        &["get_order: denied", "no orders"],
    );
    assert_has(
        &outcome(&|events| {
            let at = end(events);
            events[at]["type"] = json!("agentfootprint.pause.request");
            events[at]["payload"] = json!({ "reason": "asked", "questionPayload": { "toolCallId": "t1" } });
        }),
        &["get_order: paused"],
    );
}

/// Proves REC-91, REC-99, REC-100.
#[test]
fn an_inner_run_is_asked_the_narrowest_question() {
    let inner = InnerRun {
        tool_call_id: "t1".into(),
        tool_name: "get_order".into(),
        outcome: ToolOutcome::Ok,
        recording: Some(open(&fixture())),
        problem: None,
    };
    let tools = TraceTools::new(open(&fixture())).with_inner_runs(vec![inner], 2);
    let ask = |args: Json| tools.call("inspect_tool_run", &Value::from(args)).unwrap();
    assert_has(
        &ask(json!({ "toolCallId": "t1" })),
        &["Inside the run of get_order", "Status: completed", "2 older inner runs were dropped"],
    );
    assert_has(&ask(json!({ "toolCallId": "t1", "key": "iteration" })), &["was written 2 times"]);
    assert_has(
        &ask(json!({ "toolCallId": "t1", "key": "iteration", "runtimeStageId": "seed#0" })),
        &["as of seed#0"],
    );
    assert_has(&ask(json!({ "toolCallId": "t1", "runtimeStageId": "seed#0" })), &["seed#0 `Seed`"]);
    assert_has(
        &ask(json!({ "toolCallId": "t1", "variable": "iteration", "key": "history" })),
        &["Why `iteration`"],
    );
    assert_has(
        &ask(json!({ "toolCallId": "t1", "find": "delivered", "variable": "iteration" })),
        &["occurs in"],
    );
    assert_has(&ask(json!({ "toolCallId": "t0" })), &["There is no tool call"]);
}

/// Proves REC-92.
#[test]
fn a_step_inside_a_mount_is_found_with_or_without_its_path() {
    let recording = fixture();
    let answer = ask(&recording, "trace_node", json!({ "runtimeStageId": "sf-messages/compose#7" }));
    assert_has(&answer, &["inside sf-messages#6", "history: handed in by the mount"]);
    // An older file names inner steps without their path: the mount that had begun by then is searched.
    let mut bare = fixture();
    for key in ["sf-messages", "sf-messages#1", "sf-messages#6"] {
        let context = &mut bare["snapshot"]["subflowResults"][key]["treeContext"];
        let text = context.to_string().replace("sf-messages/compose", "compose");
        *context = serde_json::from_str(&text).unwrap();
    }
    let answer = ask(&bare, "trace_node", json!({ "runtimeStageId": "sf-messages/compose#7" }));
    assert_has(&answer, &["inside sf-messages#6"]);
}

/// Proves REC-89, EVD-490, EVD-491.
#[test]
fn silence_is_never_taken_for_a_clean_bill() {
    let row = |check: &str, checked: u64, findings: u64| json!({ "check": check, "seam": "wire", "checked": checked, "findings": findings, "notApplicable": 1, "unreachable": 0, "synthetic": 0 });
    let finding = |kind: &str, advisory: bool| {
        json!({
            "type": "agentfootprint.integrity.context_error",
            "payload": { "kind": kind, "seam": "write", "subjects": [{ "kind": "key", "id": "iteration" }], "witnesses": [], "message": "two things", "advisory": advisory },
            "meta": fixture()["events"][0]["meta"].clone()
        })
    };
    let with = |rows: Option<Json>, findings: Vec<Json>| {
        let mut recording = fixture();
        let events = recording["events"].as_array_mut().unwrap();
        let mut disposition = events.pop().unwrap();
        if let Some(rows) = rows {
            disposition["payload"]["rows"] = rows;
            events.push(disposition);
        }
        events.extend(findings);
        recording
    };
    let headline = |recording: &Json, kind: Option<&str>| context_errors(&open(recording), kind).headline;
    let none = with(None, vec![]);
    assert!(headline(&none, Some("duplicate-execution")).starts_with("Unanswerable"));
    assert!(headline(&none, Some("made-up")).starts_with("Unanswerable"));
    let mut eventless = fixture();
    eventless.as_object_mut().unwrap().remove("events");
    assert!(headline(&eventless, None).starts_with("No evidence: the recording has no events"));
    assert!(headline(&none, None).starts_with("No evidence: the events carry no integrity event"));
    assert!(
        headline(&with(Some(json!([row("empty-lookup", 2, 1)])), vec![]), None)
            .starts_with("Evidence is missing")
    );
    let other = with(Some(json!([row("empty-lookup", 2, 0)])), vec![finding("missing-column", false)]);
    assert!(headline(&other, Some("empty-lookup")).contains("findings of other kinds: missing-column"));
    assert!(
        headline(&with(None, vec![finding("missing-column", false)]), Some("missing-column"))
            .starts_with("1 defects")
    );
    assert!(headline(&with(Some(json!([])), vec![]), None).starts_with("Nothing was registered"));
    assert!(
        headline(&with(Some(json!([row("empty-lookup", 0, 0)])), vec![]), None)
            .starts_with("Nothing was checked")
    );
    let partial = with(Some(json!([row("empty-lookup", 1, 0), row("missing-column", 0, 0)])), vec![]);
    assert!(
        headline(&partial, None).contains("coverage partial")
            && headline(&partial, None).contains("missing-column@wire")
    );
    assert!(
        headline(&with(Some(json!([row("empty-lookup", 1, 0)])), vec![]), None)
            .starts_with("None filed: all 1 checks looked")
    );
    let found = with(
        Some(json!([row("missing-column", 3, 2)])),
        vec![finding("missing-column", false), finding("missing-column", true)],
    );
    assert!(headline(&found, None).starts_with("1 defects, apart from these 1 advisories"));
    let answer = ask(&found, "find_context_errors", json!({ "kind": "missing-column" }));
    assert_has(
        &answer,
        &[
            "subject key iteration, last written by tool-calls#5",
            "filed at a step that is not in this record",
            "ran 4×",
        ],
    );
}

/// Proves REC-85.
#[test]
fn a_redacted_value_is_in_no_answer() {
    let secret = "sk-live-7f3a9c";
    let mut recording = fixture();
    recording["snapshot"]["sharedState"]["apiKey"] = json!(secret);
    recording["snapshot"]["initialState"]["apiKey"] = json!(secret);
    recording["events"][1]["payload"]["userPrompt"] = json!(format!("my key is {secret}"));
    recording["snapshot"]["recorders"][0]["data"][0]["text"] = json!(format!("Seed saw {secret}"));
    recording["snapshot"]["commitLog"][4]["overwrite"]["lastToolResult"]["result"] = json!(secret);
    let tools = TraceTools::new(open(&recording));
    let mut asked = 0;
    for (tool, args) in questions(tools.opened(), secret) {
        let answer = tools.call(tool, &Value::from(args)).unwrap();
        // A correction and the echo of a search quote the question itself.
        let quoted = answer.lines().next().unwrap_or_default().contains(secret);
        assert!(
            !answer.contains(secret) || (quoted && answer.matches(secret).count() == 1),
            "{tool}: {answer}"
        );
        asked += 1;
    }
    assert!(asked > 100);
    assert_has(
        &tools
            .call("get_value", &Value::from(json!({ "runtimeStageId": "seed#0", "key": "apiKey" })))
            .unwrap(),
        &["a redaction policy hid"],
    );
}

/// Every tool with every step and every key.
fn questions(opened: &OpenRecording, words: &str) -> Vec<(&'static str, Json)> {
    let mut steps: Vec<String> = opened
        .recording()
        .snapshot
        .execution_tree
        .iter()
        .map(|(_, frame)| frame.runtime_stage_id.to_string())
        .take(40)
        .collect();
    steps.push("nowhere#1".to_owned());
    let mut keys: Vec<String> =
        opened.recording().snapshot.shared_state.keys().map(ToString::to_string).take(20).collect();
    keys.push("no.such".to_owned());
    let mut asked: Vec<(&'static str, Json)> = vec![
        ("run_overview", json!({})),
        ("find_context_errors", json!({ "limit": 25 })),
        ("find_in_trace", json!({ "query": words, "maxHits": 25 })),
        ("read_narrative", json!({ "maxLines": 200 })),
        ("inspect_tool_call", json!({ "toolCallId": "t1" })),
        ("inspect_tool_run", json!({ "toolCallId": "t1" })),
    ];
    for step in &steps {
        asked.push(("trace_node", json!({ "runtimeStageId": step })));
        asked.push(("trace_slice", json!({ "runtimeStageId": step, "maxNodes": 100, "maxDepth": 20 })));
        for key in &keys {
            asked.push(("get_value", json!({ "runtimeStageId": step, "key": key, "maxChars": 8000 })));
        }
    }
    for key in &keys {
        asked.push(("who_wrote", json!({ "key": key })));
        asked.push(("backtrack", json!({ "variable": key, "maxNodes": 100, "maxDepth": 20 })));
        asked.push(("backtrack", json!({ "variable": key, "element": 0 })));
    }
    asked
}

/// A run of many steps, each of which reads and writes: `steps` long, with `keys` keys and values of this text.
fn generated(steps: usize, keys: usize, filling: &str) -> OpenRecording {
    // Text, because the tree nests as deep as the run is long.
    let mut tree = String::new();
    let mut log = Vec::new();
    for at in 0..steps {
        let (stage, key, read) = (at % 7, at % keys, (at + 1) % keys);
        let next = if at + 1 < steps { r#","next":"# } else { "" };
        tree.push_str(&format!(
            r#"{{"id":"s{stage}","runtimeStageId":"s{stage}#{at}","name":"S","stageReads":{{"k{read}":1}}{next}"#
        ));
        log.push(json!({ "idx": at, "stage": "S", "stageId": format!("s{stage}"), "runtimeStageId": format!("s{stage}#{at}"),
            "trace": [{ "path": format!("k{key}"), "verb": "set" }], "overwrite": { format!("k{key}"): format!("{filling}{at}") },
            "updates": {}, "redactedPaths": [] }));
    }
    tree.push_str(&"}".repeat(steps));
    let text = format!(
        r#"{{"snapshot":{{"sharedState":{{"k0":0,"k1":0}},"initialState":{{}},"executionTree":{tree},"commitLog":{}}},"events":[]}}"#,
        Json::from(log)
    );
    Recording::open(text.as_bytes()).unwrap()
}

fn assert_bounded(opened: OpenRecording, words: &str) {
    let asked = questions(&opened, words);
    let tools = TraceTools::new(opened);
    for (tool, args) in asked {
        let answer = tools.call(tool, &Value::from(args)).unwrap();
        assert!(utf16::len(&answer) <= MAX_ANSWER, "{tool} answers {} characters", utf16::len(&answer));
        assert!(!answer.chars().any(|c| c.is_control() && c != '\n'), "{tool} has control characters");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]
    /// Proves REC-85, REC-88.
    #[test]
    fn every_answer_is_bounded(steps in 1usize..40, keys in 1usize..6, filling in "\\PC{0,40}|[\u{1}-\u{1f}\u{202a}-\u{202e}]{0,200}") {
        assert_bounded(generated(steps, keys, &filling.repeat(40)), "ab");
    }
}

/// Proves REC-88.
#[test]
fn long_runs_and_large_values_stay_bounded() {
    let big = "\u{1b}[31m\u{202e}x".repeat(150_000);
    let mut recording = fixture();
    recording["snapshot"]["commitLog"][4]["overwrite"]["lastToolResult"]["result"] = json!(big);
    recording["snapshot"]["commitLog"][2]["overwrite"]["llmLatestContent"] = json!("y".repeat(1 << 20));
    recording["events"][1]["payload"]["userPrompt"] = json!(big);
    assert_bounded(open(&recording), "31m");
    let long = TraceTools::new(generated(10_000, 3, "v"));
    for (tool, args) in [
        ("run_overview", json!({})),
        ("who_wrote", json!({ "key": "k1" })),
        ("trace_slice", json!({ "runtimeStageId": "s3#9999", "maxDepth": 20, "maxNodes": 100 })),
        ("backtrack", json!({ "variable": "k2", "maxDepth": 20, "maxNodes": 100 })),
        ("trace_node", json!({ "runtimeStageId": "nope#5000" })),
        ("find_in_trace", json!({ "query": "v99", "maxHits": 25 })),
    ] {
        let answer = long.call(tool, &Value::from(args)).unwrap();
        assert!(utf16::len(&answer) <= MAX_ANSWER, "{tool}");
    }
    assert_has(
        &long.call("find_in_trace", &Value::from(json!({ "query": "v9" }))).unwrap(),
        &["⚠ only the first 1500 writes"],
    );
    assert_has(&long.call("who_wrote", &Value::from(json!({ "key": "k1" }))).unwrap(), &["writers between"]);
}

#[test]
fn the_conformance_folder_can_be_asked_everything() {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden");
    if !root.is_dir() {
        eprintln!("skipped: {} is not there", root.display());
        return;
    }
    let mut pending = vec![root];
    let mut files = 0;
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.file_name().is_some_and(|name| name == "recording.json") {
                files += 1;
                let opened = Recording::open(&std::fs::read(&path).unwrap()).unwrap();
                let tools = TraceTools::new(opened);
                let steps: Vec<String> = tools
                    .opened()
                    .recording()
                    .snapshot
                    .execution_tree
                    .iter()
                    .map(|(_, frame)| frame.runtime_stage_id.to_string())
                    .filter(|id| !id.is_empty())
                    .collect();
                if steps.is_empty() {
                    continue;
                }
                let last = steps.last().cloned().unwrap_or_default();
                let overview = tools.call("run_overview", &Value::Null).unwrap();
                assert!(overview.starts_with("Status: "), "{}", path.display());
                for step in [&steps[0], &last] {
                    let node =
                        tools.call("trace_node", &Value::from(json!({ "runtimeStageId": step }))).unwrap();
                    assert!(node.starts_with(step.as_str()), "{}: {node}", path.display());
                }
                let keys = tools.query().overview().keys;
                for key in keys.iter().take(10) {
                    let answer =
                        tools.call("backtrack", &Value::from(json!({ "variable": &**key }))).unwrap();
                    assert!(answer.starts_with("Why `"), "{}: {answer}", path.display());
                    let answer = tools
                        .call("get_value", &Value::from(json!({ "runtimeStageId": last, "key": &**key })))
                        .unwrap();
                    assert!(utf16::len(&answer) <= MAX_ANSWER);
                }
            }
        }
    }
    assert!(files > 0, "the folder holds no recording.json");
}

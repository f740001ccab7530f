//! Each code of the validation table, by a fixture changed in one place; and diff, diagrams and passes over the same fixture.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use agentfootprint_debug::mermaid::MermaidView;
use agentfootprint_debug::{diff, mermaid, validate};
use agentfootprint_record::recording::{OpenRecording, Recording};
use serde_json::{Value as Json, json};

fn fixture() -> Json {
    serde_json::from_str(include_str!("fixtures/support.json")).unwrap()
}

fn open(recording: &Json) -> OpenRecording {
    Recording::open(recording.to_string().as_bytes()).unwrap()
}

fn envelope() -> Json {
    json!({ "format": "agentfootprint.recording.v1", "producer": { "agentfootprintVersion": "1", "footprintjsVersion": "1" },
        "run": { "runId": "run-1796042715000-1", "startedAt": "2026-11-30T12:45:15.000Z", "complete": true, "droppedEvents": 0, "firstRetainedEventIndex": 0 },
        "privacy": { "mode": "full", "policyId": "agentfootprint.privacy.full.v1" }, "recording": fixture() })
}

fn codes(file: &str) -> Vec<(&'static str, &'static str)> {
    validate::bytes(file.as_bytes())
        .findings
        .iter()
        .map(|finding| (finding.code, finding.severity.word()))
        .collect()
}

#[test]
fn the_fixture_is_sound() {
    assert_eq!(codes(&fixture().to_string()), []);
    assert_eq!(codes(&envelope().to_string()), []);
}

/// All codes of REC-161 but `receipt-mismatch`.
#[test]
fn every_code_is_found_in_a_recording_with_that_fault() {
    let event = |name: &str| {
        let full = format!("agentfootprint.{name}");
        fixture()["events"]
            .as_array()
            .unwrap()
            .iter()
            .position(|event| event["type"] == full.as_str())
            .unwrap()
    };
    let cases: Vec<(&str, &str, Box<dyn Fn(&mut Json)>)> = vec![
        (
            "missing-part",
            "error",
            Box::new(|r| {
                r.as_object_mut().unwrap().remove("snapshot");
            }),
        ),
        (
            "missing-part",
            "error",
            Box::new(|r| {
                r["snapshot"].as_object_mut().unwrap().remove("commitLog");
            }),
        ),
        (
            "missing-part",
            "error",
            Box::new(|r| {
                r["snapshot"].as_object_mut().unwrap().remove("executionTree");
            }),
        ),
        ("commit-idx", "error", Box::new(|r| r["snapshot"]["commitLog"][3]["idx"] = json!(7))),
        (
            "step-id",
            "error",
            Box::new(|r| r["snapshot"]["commitLog"][3]["runtimeStageId"] = json!("no-number")),
        ),
        (
            "step-id",
            "error",
            Box::new(|r| r["snapshot"]["executionTree"]["next"]["runtimeStageId"] = json!("seed#0")),
        ),
        (
            "orphan-commit",
            "warn",
            Box::new(|r| r["snapshot"]["commitLog"][3]["runtimeStageId"] = json!("elsewhere#4")),
        ),
        (
            "boundary-pair",
            "warn",
            Box::new(|r| {
                r["snapshot"]["recorders"][1]["data"].as_array_mut().unwrap().remove(2);
            }),
        ),
        (
            "boundary-pair",
            "warn",
            Box::new(|r| {
                r["snapshot"]["recorders"][1]["data"].as_array_mut().unwrap().remove(1);
            }),
        ),
        (
            "commit-axis-flat",
            "warn",
            Box::new(|r| {
                r["snapshot"]["recorders"][1]["data"]
                    .as_array_mut()
                    .unwrap()
                    .iter_mut()
                    .for_each(|row| row["commitIdxBefore"] = json!(0))
            }),
        ),
        (
            "commit-axis-back",
            "error",
            Box::new(|r| r["snapshot"]["recorders"][1]["data"][5]["commitIdxBefore"] = json!(1)),
        ),
        (
            "llm-pair",
            "warn",
            Box::new(move |r| {
                r["events"].as_array_mut().unwrap().remove(event("stream.llm_end"));
            }),
        ),
        (
            "tool-pair",
            "warn",
            Box::new(move |r| {
                r["events"].as_array_mut().unwrap().remove(event("stream.tool_end"));
            }),
        ),
        (
            "tool-pair",
            "warn",
            Box::new(move |r| r["events"][event("stream.tool_end")]["payload"]["toolCallId"] = json!("t9")),
        ),
        (
            "event-step",
            "warn",
            Box::new(move |r| {
                r["events"][event("stream.tool_end")]["meta"]["runtimeStageId"] = json!("elsewhere#5")
            }),
        ),
        ("run-facts", "error", Box::new(|r| r["events"][3]["meta"]["runId"] = json!("run-1-2"))),
        (
            "tokens-sum",
            "warn",
            Box::new(move |r| {
                r["events"][event("agent.turn_end")]["payload"]["totalInputTokens"] = json!(61)
            }),
        ),
        ("delta-fold", "error", Box::new(|r| r["snapshot"]["sharedState"]["iteration"] = json!(3))),
        (
            "structure-missing",
            "warn",
            Box::new(|r| {
                r.as_object_mut().unwrap().remove("structure");
            }),
        ),
        ("structure-mismatch", "warn", Box::new(|r| r["structure"]["id"] = json!("other"))),
        (
            "no-fold-base",
            "info",
            Box::new(|r| {
                r["snapshot"].as_object_mut().unwrap().remove("initialState");
            }),
        ),
        ("redacted-leak", "error", Box::new(|r| r["snapshot"]["sharedState"]["apiKey"] = json!("sk-1"))),
        (
            "redacted-leak",
            "error",
            Box::new(|r| r["snapshot"]["commitLog"][0]["overwrite"]["apiKey"] = json!("sk-1")),
        ),
        (
            "redacted-leak",
            "error",
            Box::new(|r| r["events"][2]["payload"]["deep"] = json!([{ "apiKey": "sk-1" }])),
        ),
        (
            "redacted-leak",
            "error",
            Box::new(|r| {
                r["snapshot"]["recorders"][1]["data"][0]["payload"] = json!({ "apiKey": { "v": "sk-1" } })
            }),
        ),
        (
            "redacted-leak",
            "error",
            Box::new(|r| {
                let inner = &mut r["snapshot"]["subflowResults"]["sf-messages#1"]["treeContext"];
                inner["history"][0]["trace"] = json!([{ "path": "apiKey", "verb": "set" }]);
                inner["history"][0]["overwrite"] = json!({ "apiKey": "sk-1" });
            }),
        ),
        ("unknown-event", "info", Box::new(|r| r["events"][2]["type"] = json!("agentfootprint.new.thing"))),
        ("unknown-key", "info", Box::new(|r| r["later"] = json!(1))),
        ("unknown-key", "info", Box::new(|r| r["snapshot"]["later"] = json!(1))),
    ];
    for (at, (code, severity, change)) in cases.iter().enumerate() {
        let mut changed = fixture();
        change(&mut changed);
        let found = codes(&changed.to_string());
        assert!(found.contains(&(*code, *severity)), "case {at}: no {code} in {found:?}");
    }
    let sealed: Vec<(&str, Box<dyn Fn(&mut Json)>)> = vec![
        ("privacy", Box::new(|e| e["privacy"]["mode"] = json!("redacted"))),
        ("dropped-mismatch", Box::new(|e| e["run"]["firstRetainedEventIndex"] = json!(4))),
        (
            "dropped-mismatch",
            Box::new(|e| {
                e["recording"]["events"].as_array_mut().unwrap().remove(1);
            }),
        ),
        (
            "complete-mismatch",
            Box::new(|e| {
                e["recording"]["events"]
                    .as_array_mut()
                    .unwrap()
                    .retain(|event| event["type"] != "agentfootprint.agent.turn_end");
                e["recording"]["snapshot"]["recorders"][1]["data"].as_array_mut().unwrap().pop();
            }),
        ),
    ];
    for (code, change) in sealed {
        let mut changed = envelope();
        change(&mut changed);
        let found = codes(&changed.to_string());
        assert!(found.contains(&(code, "error")), "no {code} in {found:?}");
    }
    let mut newer = envelope();
    newer["later"] = json!(1);
    assert_eq!(codes(&newer.to_string()), [("unknown-key", "info")]);
    assert_eq!(codes("{"), [("parse", "error")]);
    assert_eq!(codes(r#"{"format":"agentfootprint.recording.v9","recording":{}}"#), [("format", "error")]);
}

/// Proves REC-162.
#[test]
fn a_diff_names_the_first_place_where_two_runs_part() {
    let again = fixture()
        .to_string()
        .replace("run-1796042715000", "run-1796099999999")
        .replace("\"t1\"", "\"call-x9\"")
        .replace("\"durationMs\":3", "\"durationMs\":30");
    let same = diff(&open(&fixture()), &Recording::open(again.as_bytes()).unwrap());
    assert!(same.is_empty(), "{same}");
    let changed = |change: &dyn Fn(&mut Json)| {
        let mut other = fixture();
        change(&mut other);
        diff(&open(&fixture()), &open(&other))
    };
    let prompt = changed(&|r| {
        r["events"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .filter(|event| event["payload"]["slot"] == "system-prompt")
            .for_each(|event| event["payload"]["rawContent"] = json!("Returns: customers have 14 days."))
    });
    let first = prompt.first.as_ref().unwrap();
    assert_eq!(
        (first.pass, first.milestone, first.a_step.as_deref()),
        (1, "served context", Some("call-llm#3"))
    );
    assert_eq!(first.difference.what, "system-prompt instructions/returns");
    let result = changed(&|r| {
        r["events"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .filter(|event| event["type"] == "agentfootprint.stream.tool_end")
            .for_each(|event| event["payload"]["result"]["status"] = json!("lost"))
    });
    let first = result.first.as_ref().unwrap();
    assert_eq!(
        (first.pass, first.milestone, first.b_step.as_deref()),
        (1, "tool result", Some("tool-calls#5"))
    );
    let extra = changed(&|r| {
        let events = r["events"].as_array_mut().unwrap();
        let more: Vec<Json> =
            events.iter().filter(|event| event["meta"]["runtimeStageId"] == "call-llm#8").cloned().collect();
        events.extend(more.into_iter().map(|mut event| {
            event["meta"]["runtimeStageId"] = json!("call-llm#12");
            event
        }));
    });
    let first = extra.first.as_ref().unwrap();
    assert_eq!(
        (first.pass, first.milestone, first.a_step.as_deref(), first.b_step.as_deref()),
        (3, "number of passes", None, Some("call-llm#12"))
    );
    let model = changed(&|r| {
        r["events"][0]["payload"]["llm"]["model"] = json!("mock-2");
        r["snapshot"]["sharedState"]["iteration"] = json!(9);
        let last = r["events"].as_array().unwrap().len() - 2;
        r["events"][last]["payload"]["finalContent"] = json!("No.");
    });
    assert_eq!(
        (model.configuration.len(), model.state.len(), model.answer.is_some(), model.first.is_none()),
        (1, 1, true, true)
    );
    assert!(model.to_string().contains("end state:\n  iteration\n    - 2\n    + 9"));
    assert_eq!(model.to_value()["equal"], false);
}

#[test]
fn diagrams_of_the_chart_the_run_and_the_calls() {
    let opened = open(&fixture());
    let draw = |view, collapse| mermaid(opened.recording(), view, collapse).unwrap();
    insta::assert_snapshot!("mermaid_structure", draw(MermaidView::Structure, false));
    insta::assert_snapshot!("mermaid_run", draw(MermaidView::Run, true));
    insta::assert_snapshot!("mermaid_steps", draw(MermaidView::Steps, false));
    let mut hostile = fixture();
    hostile["structure"]["name"] = json!("\"]; click seed \"javascript:alert(1)\"\n\u{1b}[31m<b>");
    let text = mermaid(open(&hostile).recording(), MermaidView::Structure, false).unwrap();
    assert!(!text.contains("<b>") && !text.contains('\u{1b}') && text.contains("#quot;]; click seed"));
    let mut bare = fixture();
    bare.as_object_mut().unwrap().remove("structure");
    bare.as_object_mut().unwrap().remove("events");
    for view in [MermaidView::Structure, MermaidView::Steps] {
        assert!(mermaid(open(&bare).recording(), view, false).is_err());
    }
}

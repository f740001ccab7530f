//! Bug reports: exactly what was agreed to, the same bytes twice, everything left out counted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    clippy::print_stderr
)]

use agentfootprint_debug::report::{
    BugReportError, ReportOptions, ReportSource, describe_bug_report, export_bug_report, open_bug_report,
};
use agentfootprint_record::recording::{OpenRecording, Recording};
use serde_json::{Value as Json, json};

const NOW: i64 = 1_796_042_715_718;

fn fixture() -> OpenRecording {
    Recording::open(include_bytes!("fixtures/support.json")).unwrap()
}

/// Proves REC-135, REC-136, REC-138.
#[test]
fn a_report_holds_exactly_the_units_that_were_agreed_to() {
    let secret = include_str!("fixtures/support.json").replace("Let me look.", "canary-7f3a");
    let source = ReportSource::of(fixture()).and(Recording::open(secret.as_bytes()).unwrap());
    let units: Vec<String> = describe_bug_report(&source).into_iter().map(|unit| unit.id).collect();
    assert_eq!(units, ["conv-1", "conv-2", "file-conversation", "file-narrative", "file-environment"]);
    let options =
        ReportOptions::new("  The *refund* is wrong — again ", NOW).include(["conv-1", "file-conversation"]);
    let report = export_bug_report(&source, &options).unwrap();
    assert_eq!(report.name, "2026-11-30-the-refund-is-wrong-again.zip");
    assert_eq!(export_bug_report(&source, &options).unwrap(), report, "the same input makes the same bytes");
    assert!(!report.bytes.windows(11).any(|part| part == b"canary-7f3a"));
    let manifest: Json = serde_json::from_str(&report.manifest.to_string()).unwrap();
    assert_eq!(manifest["manifestVersion"], 2);
    assert_eq!(manifest["files"], json!(["conversations/conv-1.json", "conversation.json"]));
    assert_eq!(
        manifest["excluded"],
        json!({ "conversations": 1, "files": 2, "events": fixture().recording().events().len(), "turns": 1, "unitIds": ["conv-2", "file-narrative", "file-environment"] })
    );
    assert_eq!(manifest["counts"]["turns"], 1);
    assert_eq!(manifest["redactedKeys"], json!(["apiKey"]));
    assert_eq!(manifest["notes"][0], "conv-1: the facts of its run are not known, so it has no envelope");
    let opened = open_bug_report(&report.bytes).unwrap().unwrap();
    assert_eq!(opened.len(), 1);
    assert_eq!(opened[0].1.recording().to_json(), fixture().recording().to_json());
    assert!(open_bug_report(b"PK\x03\x04").is_none());
}

/// Proves REC-134.
#[test]
fn what_cannot_be_sent_is_refused_before_anything_is_made() {
    let source = ReportSource::of(fixture());
    let export = |title: &str, include: &[&str]| {
        export_bug_report(&source, &ReportOptions::new(title, NOW).include(include.to_vec()))
    };
    assert_eq!(export(" ", &["conv-1"]), Err(BugReportError::BlankTitle));
    assert!(
        export("t", &["conv-2"])
            .unwrap_err()
            .to_string()
            .contains("no unit `conv-2`; there are conv-1, file-conversation")
    );
    assert!(
        export("t", &["file-narrative"]).unwrap_err().to_string().contains("include at least one of conv-1")
    );
    assert!(export("t", &["conv-1"]).is_ok());
}

/// Another program opens the archive: python's own reader.
#[test]
fn the_archive_opens_elsewhere() {
    let options = ReportOptions::new("t", NOW).include([
        "conv-1",
        "file-conversation",
        "file-narrative",
        "file-environment",
    ]);
    let report = export_bug_report(&ReportSource::of(fixture()), &options).unwrap();
    let path = std::env::temp_dir().join(format!("agentfootprint-report-{}.zip", std::process::id()));
    std::fs::write(&path, &report.bytes).unwrap();
    let tested = std::process::Command::new("python3").args(["-m", "zipfile", "-t"]).arg(&path).output();
    std::fs::remove_file(&path).unwrap();
    match tested {
        Ok(tested) => assert!(
            tested.status.success() && String::from_utf8_lossy(&tested.stdout).contains("Done testing")
        ),
        Err(_) => eprintln!("skipped: python3 is not installed"),
    }
}

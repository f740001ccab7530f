//! The audit chain: made from a recording, verified, and broken in every way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use agentfootprint_debug::audit::{
    AuditExporter, AuditOptions, AuditVerdict, PayloadMode, verify_audit_bundle, verify_audit_bundles,
};
use agentfootprint_record::recording::{RecordedEvent, Recording};
use agentfootprint_record::text::{canonical_json, sha256_hex};
use footprint::value::Value;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn events() -> Vec<RecordedEvent> {
    let opened = Recording::open(include_bytes!("fixtures/support.json")).unwrap();
    opened.recording().events().to_vec()
}

fn exporter(options: AuditOptions) -> AuditExporter {
    let mut exporter = AuditExporter::new(options);
    events().iter().for_each(|event| exporter.record(event));
    exporter
}

fn bundle() -> Json {
    serde_json::from_str(&exporter(AuditOptions::default()).drain(1_796_042_715_718).to_json()).unwrap()
}

fn verify(bundle: &Json) -> AuditVerdict {
    verify_audit_bundle(bundle.to_string().as_bytes())
}

fn rehash(record: &mut Json) {
    record.as_object_mut().unwrap().remove("hash");
    let hash = sha256_hex(canonical_json(&Value::from(record.clone())).as_bytes());
    record["hash"] = json!(hash);
}

/// Proves REC-75, REC-77, REC-79.
#[test]
fn a_chain_starts_with_the_genesis_of_its_run() {
    let bundle = bundle();
    let verdict = verify(&bundle);
    assert!(verdict.valid, "{verdict:?}");
    assert_eq!(verdict.records_checked, events().len() as u64 + 1);
    assert_eq!(bundle["header"]["exportedAt"], "2026-11-30T12:45:15.718Z");
    assert_eq!(bundle["records"][0]["eventType"], "audit.genesis");
    assert_eq!(
        bundle["records"][0]["payload"],
        json!({ "runId": "run-1796042715000-1", "library": { "name": "agentfootprint", "version": env!("CARGO_PKG_VERSION") }, "payloadMode": "bounded" })
    );
    assert_eq!(bundle["records"][2]["payload"]["userPrompt"], "[29 chars]");
    assert_eq!(bundle["records"][2]["timestamp"], json!(1_796_042_715_001_u64));
    assert!(bundle["records"][2]["meta"].get("wallClockMs").is_none());
    let token = RecordedEvent::from(Value::from(
        json!({ "type": "agentfootprint.stream.token", "payload": { "content": "Y" }, "meta": {} }),
    ));
    let mut quiet = exporter(AuditOptions::default());
    quiet.record(&token);
    let mut loud = exporter(AuditOptions {
        include_token_events: true,
        payload_mode: PayloadMode::Full,
        ..AuditOptions::default()
    });
    loud.record(&token);
    assert!(!quiet.drain(0).to_json().contains("unattributed"));
    let loud = loud.drain(0).to_json();
    assert!(loud.contains("unattributed") && loud.contains(r#""content":"Y""#));
    assert!(verify_audit_bundle(loud.as_bytes()).valid);
}

/// Proves REC-80.
#[test]
fn every_kind_of_tampering_is_named() {
    let check = |change: &dyn Fn(&mut Json), at: Option<u64>, says: &str| {
        let mut changed = bundle();
        change(&mut changed);
        let verdict = verify(&changed);
        assert!(!verdict.valid);
        assert_eq!(verdict.broken_at, at, "{verdict:?}");
        assert!(verdict.reason.as_ref().unwrap().contains(says), "{verdict:?}");
    };
    let records = |bundle: &mut Json| bundle["records"].as_array_mut().unwrap().clone();
    check(&|b| b["records"][5]["payload"]["source"] = json!("changed"), Some(5), "record 5 was edited");
    check(&|b| b["records"][5]["timestamp"] = json!(1), Some(5), "record 5 was edited");
    check(
        &|b| {
            b["records"][5]["payload"]["x"] = json!(1);
            rehash(&mut b["records"][5]);
        },
        Some(6),
        "record 5 was re-hashed",
    );
    check(
        &|b| {
            let mut all = records(b);
            all.remove(5);
            b["header"]["recordCount"] = json!(all.len());
            b["records"] = json!(all);
        },
        Some(5),
        "record 5 was removed",
    );
    check(
        &|b| {
            let mut all = records(b);
            all.swap(5, 8);
            b["records"] = json!(all);
        },
        Some(5),
        "record 5 was reordered: record 8",
    );
    check(
        &|b| {
            let mut all = records(b);
            all.remove(0);
            b["records"] = json!(all);
        },
        None,
        "header.recordCount",
    );
    check(
        &|b| {
            let mut all = records(b);
            all.remove(0);
            b["header"]["recordCount"] = json!(all.len());
            b["header"]["firstSeq"] = json!(1);
            b["records"] = json!(all);
        },
        Some(1),
        "the head was removed",
    );
    check(
        &|b| {
            let mut all = records(b);
            all.pop();
            b["header"]["recordCount"] = json!(all.len());
            let end = all.len();
            b["records"] = json!(all);
            assert!(end > 10);
        },
        Some(events().len() as u64),
        "the tail was removed",
    );
    check(
        &|b| {
            let last = b["records"].as_array().unwrap().len() - 1;
            b["records"][last]["payload"] = json!({});
            rehash(&mut b["records"][last]);
        },
        Some(events().len() as u64 + 1),
        "the last record was re-hashed",
    );
    check(&|b| b["header"]["recordCount"] = json!(3), None, "header.recordCount says 3");
    check(&|b| b["header"]["chainHead"] = json!("abc"), None, "chainHead is no SHA-256");
    check(
        &|b| b["header"]["format"] = json!("agentfootprint.audit/2"),
        None,
        "header.format is `agentfootprint.audit/2`; this version verifies",
    );
    check(&|b| b["records"][3]["seq"] = json!("3"), Some(3), "no sequence number");
    check(
        &|b| {
            b.as_object_mut().unwrap().remove("records");
        },
        None,
        "no `records`",
    );
    check(
        &|b| {
            b.as_object_mut().unwrap().remove("header");
        },
        None,
        "not an audit bundle",
    );
    assert!(verify_audit_bundle(b"{").reason.unwrap().starts_with("not JSON"));
    assert!(!verify_audit_bundles([]).valid);
}

/// Proves REC-76.
#[test]
fn segments_continue_one_chain() {
    let mut exporter = exporter(AuditOptions::default());
    let first = exporter.drain(1);
    events().iter().take(4).for_each(|event| exporter.record(event));
    let second = exporter.drain(2);
    let (first, second_text) = (first.to_json(), second.to_json());
    let verdict = verify_audit_bundles([first.as_bytes(), second_text.as_bytes()]);
    assert!(verdict.valid, "{verdict:?}");
    assert_eq!(verdict.final_hash.as_deref(), Some(second.final_hash()));
    assert!(verify_audit_bundle(second_text.as_bytes()).valid, "a later segment stands on its own");
    let swapped = verify_audit_bundles([second_text.as_bytes(), first.as_bytes()]);
    assert!(swapped.reason.unwrap().contains("segment 2: it does not continue"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    /// Proves REC-80, REC-81.
    #[test]
    fn a_changed_byte_never_panics_and_never_verifies_as_another_chain(at in 0usize..100_000, byte in any::<u8>()) {
        let whole = exporter(AuditOptions::default()).drain(1);
        let mut text = whole.to_json().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        let verdict = verify_audit_bundle(&text);
        if verdict.valid {
            prop_assert_eq!(verdict.final_hash.as_deref(), Some(whole.final_hash()));
        }
        let cut = verify_audit_bundle(&text[..at]);
        prop_assert!(!cut.valid);
    }
}

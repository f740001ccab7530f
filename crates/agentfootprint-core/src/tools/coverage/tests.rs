//! Minting, reading, and the two together.

use footprint::value;
use footprint::value::Value;
use proptest::prelude::*;

use super::*;
use crate::tools::ToolResultStatus;

fn item(what: &str) -> CoverageItem {
    what.into()
}

/// Proves EVD-101, EVD-103: the shapes, key by key, in the wire's order; the notes are constants.
#[test]
fn the_shapes_are_exact() {
    let nothing = absent("  open pick tickets on dock d4 ")
        .checked("WMS live table")
        .not_checked(("archived tickets", " older than 30 days "))
        .cannot_cover("site south", "bound to one site")
        .try_instead("ask for another dock")
        .build()
        .unwrap();
    let expected = format!(
        r#"{{"af_absent":true,"outcome":"nothing_found","looked_for":"open pick tickets on dock d4","checked":[{{"what":"WMS live table"}}],"not_checked":[{{"what":"archived tickets","why":"older than 30 days"}}],"cannot_cover":[{{"what":"site south","why":"bound to one site"}}],"retry_returns_the_same":true,"try_instead":"ask for another dock","note":{}}}"#,
        value!(ABSENCE_NOTE)
    );
    assert_eq!(nothing.to_value().to_string(), expected);
    let bare = absent("x").checked("y").try_instead("  ").build().unwrap();
    assert_eq!(bare.try_instead(), None, "a blank suggestion is dropped");
    assert_eq!(
        bare.to_value().to_string(),
        format!(
            r#"{{"af_absent":true,"outcome":"nothing_found","looked_for":"x","checked":[{{"what":"y"}}],"retry_returns_the_same":true,"note":{}}}"#,
            value!(ABSENCE_NOTE)
        )
    );
    let counted = coverage(412).not_checked("aisle 7").build().unwrap();
    assert_eq!(
        counted.to_value().to_string(),
        format!(
            r#"{{"af_coverage":{{"not_checked":[{{"what":"aisle 7"}}],"note":{}}},"result":412}}"#,
            value!(COVERAGE_NOTE)
        )
    );
    assert_eq!((counted.result(), counted.lists().not_checked.len()), (&value!(412), 1));
    // What the notes must say.
    for (note, words) in [
        (
            ABSENCE_NOTE,
            ["succeeded", "nothing else stands in", "same arguments", "`checked`", "different question"],
        ),
        (COVERAGE_NOTE, ["`checked`", "no evidence", "`not_checked`", "no repetition", "answer"]),
        (
            SEMANTICS_NOTE,
            ["`is_counter`", "`measured_at`", "`age_seconds`", "`not_covered`", "not looked at"],
        ),
    ] {
        for word in words {
            assert!(note.contains(word), "{word}: {note}");
        }
    }
}

/// Proves EVD-101, EVD-102: every refusal, with the function, the place and what would satisfy it.
#[test]
fn what_cannot_be_minted_is_refused_by_place() {
    let refused = |built: Result<Absence, CoverageError>| built.unwrap_err().to_string();
    assert_eq!(
        refused(absent(" ").checked("x").build()),
        "absent(): what was looked for is blank; say what the call searched for"
    );
    assert_eq!(
        refused(absent("x").not_checked("y").build()),
        "absent(): `checked` is empty; name the ground the call looked at. A tool that could not look has not found nothing: \
         it returns an error instead"
    );
    assert_eq!(
        refused(absent("x").checked("y").checked(" ").build()),
        "absent(): `checked[1]` is blank; name the ground in words"
    );
    assert_eq!(
        refused(absent("x").checked("y").not_checked(("z", "")).build()),
        "absent(): the `why` of `not_checked[0]` is blank; give the reason in words, or leave it out"
    );
    assert_eq!(
        refused(absent("x").checked("y").cannot_cover("z", " ").build()),
        "absent(): the `why` of `cannot_cover[0]` is blank; give the reason in words"
    );
    let foreign = CoverageLists { cannot_cover: vec![("a", "b").into(), item("z")], ..Default::default() };
    assert_eq!(
        refused(absent("x").checked("y").lists(foreign.clone()).build()),
        "absent(): `cannot_cover[1]` has no `why`; say why no call to this tool reaches it"
    );
    let refused = |built: Result<Covered, CoverageError>| built.unwrap_err().to_string();
    assert_eq!(
        refused(coverage(1).build()),
        "coverage(): `checked`, `not_checked` and `cannot_cover` are all empty; add an entry to one of them, or return the \
         result without coverage"
    );
    assert_eq!(
        refused(coverage(1).lists(foreign).build()),
        "coverage(): `cannot_cover[1]` has no `why`; say why no call to this tool reaches it"
    );
    assert_eq!(
        refused(coverage(1).not_checked("\n").build()),
        "coverage(): `not_checked[0]` is blank; name the ground in words"
    );
    let no_json = std::collections::HashMap::from([((1, 2), 3)]);
    let text = refused(coverage(no_json).checked("x").build());
    assert!(text.starts_with("coverage(): the result is not JSON: "), "{text}");
}

/// Proves EVD-110, EVD-112: only the exact shape counts; entries that are no items are skipped.
#[test]
fn recognition_is_exact() {
    for value in [
        value!({ "af_absent": 1, "checked": [{ "what": "x" }] }),
        value!({ "af_absent": "true", "checked": [{ "what": "x" }] }),
        value!({ "af_absent": false, "checked": [{ "what": "x" }] }),
        value!({ "af_absent": true, "checked": [] }),
        value!({ "af_absent": true, "checked": { "what": "x" } }),
        value!({ "af_absent": true }),
        value!([{ "af_absent": true, "checked": [{ "what": "x" }] }]),
        value!("{\"af_absent\":true,\"checked\":[{\"what\":\"x\"}]}"),
        value!({ "rows": { "af_absent": true, "checked": [{ "what": "x" }] } }),
        value!({ "af_coverage": [], "result": 1 }),
        value!({ "af_coverage": null, "result": 1 }),
        value!({ "af_coverage": { "checked": [{ "what": "x" }] } }),
        Value::Null,
    ] {
        assert_eq!(read_coverage(&value), None, "{value}");
        assert_eq!(absence_evidence_projection(&value), None);
    }
    let mixed = value!({ "af_absent": true, "looked_for": 7, "more": 1, "checked": [
        { "what": " north " }, { "what": "east", "why": null, "seen": 3 }, { "what": "" }, { "what": "x", "why": " " },
        { "what": "x", "why": 1 }, "south", null, ["x"] ] });
    let read = read_absence(&mixed).unwrap();
    assert_eq!(read.lists.checked, [item("north"), item("east")]);
    assert_eq!(read.looked_for, None);
    let bare = value!({ "af_coverage": {}, "result": null });
    let read = read_ledger(&bare).unwrap();
    assert!(read.facts.lists.is_empty() && read.result == &Value::Null);
}

/// Proves EVD-125: an absence under a ledger is a second fact; evidence is the lists and nothing else.
#[test]
fn a_ledger_around_an_absence_is_two_facts() {
    let inner = absent("lot 7").checked("north").try_instead("ask for lot 8").build().unwrap();
    let outer =
        coverage(&inner).checked("north").cannot_cover("south", "no access").build().unwrap().to_value();
    let reading = read_coverage(&outer).unwrap();
    assert_eq!(reading.status, Some(ToolResultStatus::Absent));
    let kinds: Vec<CoverageKind> = reading.declared.iter().map(|facts| facts.kind).collect();
    assert_eq!(kinds, [CoverageKind::Ledger, CoverageKind::Absence]);
    assert_eq!(reading.declared[1].looked_for.as_deref(), Some("lot 7"));
    assert_eq!(
        absence_evidence_projection(&outer),
        Some(
            value!({ "checked": [{ "what": "north" }], "cannot_cover": [{ "what": "south", "why": "no access" }] })
        )
    );
    let alone = absence_evidence_projection(&inner.to_value()).unwrap();
    assert_eq!(alone, value!({ "checked": [{ "what": "north" }] }));
    let ledger = coverage(3).checked("north").build().unwrap().to_value();
    assert_eq!(read_coverage(&ledger).unwrap().status, None);
    assert_eq!(absence_evidence_projection(&ledger), None, "a ledger is evidence as it stands");
    // Deeper is data.
    let deep = coverage(value!({ "rows": (inner.to_value()) })).checked("north").build().unwrap().to_value();
    assert_eq!(read_coverage(&deep).unwrap().declared.len(), 1);
}

/// 50 000 equal entries fold into one, by hashing.
#[test]
fn folding_is_linear() {
    let many = CoverageLists { checked: vec![item("x"); 50_000], ..Default::default() };
    assert_eq!(CoverageLists::folded([many.clone(), many]).checked, [item("x")]);
}

fn words() -> impl Strategy<Value = String> {
    "[ ]?[a-zé\u{1F600}\"\\\\]{1,6}[ ]?"
}

fn items() -> impl Strategy<Value = Vec<(String, Option<String>)>> {
    proptest::collection::vec((words(), proptest::option::of(words())), 0..4)
}

fn list_of(items: &[(String, Option<String>)]) -> Vec<CoverageItem> {
    items
        .iter()
        .map(|(what, why)| match why {
            Some(why) => CoverageItem::from((what.as_str(), why.as_str())),
            None => CoverageItem::from(what.as_str()),
        })
        .collect()
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    let keys = prop_oneof![
        Just("af_absent".to_owned()),
        Just("af_coverage".to_owned()),
        Just("result".to_owned()),
        Just("checked".to_owned()),
        Just("what".to_owned()),
        Just("why".to_owned()),
        "[a-z]{1,3}",
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|list| Value::Array(list.into_iter().collect())),
            proptest::collection::vec((keys.clone(), inner), 0..5).prop_map(|members| {
                let mut out = footprint::value::Object::new();
                out.extend(members);
                Value::Object(out)
            }),
        ]
    })
}

proptest! {
    /// Proves EVD-110: what is minted reads back, trimmed; reading changes nothing.
    #[test]
    fn what_is_minted_reads_back(what in words(), checked in items(), open in items(), closed in items()) {
        let closed: Vec<_> = closed.into_iter().map(|(what, why)| (what, Some(why.unwrap_or_else(|| "because".to_owned())))).collect();
        let lists = CoverageLists {
            checked: list_of(&checked), not_checked: list_of(&open), cannot_cover: list_of(&closed),
        };
        let minted = absent(what.as_str()).checked("ground").lists(lists.clone()).build().unwrap();
        let value = minted.to_value();
        let read = read_absence(&value).unwrap();
        prop_assert_eq!(&read.lists, minted.lists());
        prop_assert_eq!(read.looked_for.as_deref(), Some(what.trim()));
        prop_assert!(read.lists.checked.iter().all(|item| &*item.what == item.what.trim()));
        let covered = coverage(&minted).lists(lists.clone()).not_checked("rest").build().unwrap();
        let value = covered.to_value();
        let ledger = read_ledger(&value).unwrap();
        prop_assert_eq!(&ledger.facts.lists, covered.lists());
        prop_assert_eq!(ledger.result, &minted.to_value());
    }

    /// The readers are total, and what they read is what the marker says.
    #[test]
    fn readers_take_any_json(value in json()) {
        let reading = read_coverage(&value);
        prop_assert_eq!(&reading, &read_coverage(&value));
        let marked = value.get("af_absent") == Some(&value!(true)) || value.get("af_coverage").is_some();
        prop_assert!(reading.is_none() || marked);
        prop_assert!(reading.is_none_or(|reading| !reading.declared.is_empty()));
        let _ = absence_evidence_projection(&value);
    }
}

/// Proves TOOL-117, EVD-104: the files are what the constants say, byte for byte.
#[test]
fn the_canonical_notes_are_current() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = canonical_notes();
    for file in [here.join("canonical-notes.json"), here.join("../../canonical-notes.json")] {
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(kept, made, "{} is not current; run `cargo xtask notes`", file.display());
    }
    let parsed: Value = serde_json::from_str(&made).unwrap();
    let keys = |at: &str| {
        parsed.get(at).unwrap().as_object().unwrap().keys().map(|key| key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(keys("notes"), ["ABSENCE_NOTE", "COVERAGE_NOTE", "SEMANTICS_NOTE"]);
    assert_eq!(keys("markers"), ["ABSENCE_MARKER", "COVERAGE_MARKER", "SEMANTICS_MARKER"]);
    assert_eq!(keys("headings"), ["COVERAGE_BLOCK_HEADING"]);
    assert_eq!(
        parsed.get("markers").unwrap().to_string(),
        r#"{"ABSENCE_MARKER":"af_absent","COVERAGE_MARKER":"af_coverage","SEMANTICS_MARKER":"af_semantics"}"#
    );
}

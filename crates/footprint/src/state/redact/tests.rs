use super::*;
use crate::state::tests::{Level, merge, push, set, shown};
use crate::state::{CommitValues, StagedOp, Staging};
use crate::value;

fn rule() -> RedactionRule {
    let policy = RedactionPolicy::new()
        .keys(["ssn"])
        .patterns(["^secret"])
        .unwrap()
        .fields("user", ["card.no", "phones.*.n"])
        .fields("history", ["*.content"])
        .emit_patterns(["^billing\\."])
        .unwrap()
        .diagnostic_keys(["token"])
        .diagnostic_patterns(["_key$"])
        .unwrap()
        .diagnostic_fields("request", ["auth"]);
    RedactionRule::new(policy)
}

fn user() -> Value {
    value!({ "name": "Ann", "card": { "no": "4111", "exp": 27 }, "phones": [{ "n": 1 }, { "n": 2, "t": "home" }] })
}

fn user_shown(mark: &str) -> Value {
    value!({ "name": "Ann", "card": { "no": mark, "exp": 27 }, "phones": [{ "n": mark }, { "n": mark, "t": "home" }] })
}

/// Proves ENG-91.
#[test]
fn a_pattern_that_is_none_is_refused_by_name() {
    let error = RedactionPolicy::new().patterns(["ok", "("]).unwrap_err();
    assert_eq!(error.pattern, "(");
    assert!(error.to_string().starts_with("invalid redaction pattern \"(\""));
    assert!(RedactionPolicy::new().emit_patterns(["["]).is_err());
    assert!(RedactionPolicy::new().diagnostic_patterns(["*"]).is_err());
}

/// Proves ENG-92: what is served.
#[test]
fn serving_replaces_by_key_pattern_field_and_mark() {
    let rule = rule();
    let mut marks = Marks::default();
    marks.mark(Path::key("pin"));
    marks.mark(Path::dotted("doc.body"));
    let redaction = Redaction::new(Some(&rule), &marks);
    for (path, value, shown) in [
        ("ssn", value!("1"), value!("[REDACTED]")),
        ("secretToken", value!({ "v": 1 }), value!("[REDACTED]")),
        ("pin", value!(1234), value!("[REDACTED]")),
        ("pin.digits", value!(1), value!("[REDACTED]")),
        ("doc", value!({ "body": "b", "title": "t" }), value!({ "body": "[REDACTED]", "title": "t" })),
        ("user", user(), user_shown("[REDACTED]")),
        ("user.card", value!({ "no": 1, "exp": 2 }), value!({ "no": "[REDACTED]", "exp": 2 })),
        ("user.card.no", value!("4111"), value!("[REDACTED]")),
        ("user.card.no.last", value!("1"), value!("[REDACTED]")),
        ("name", value!({ "ssn": 1 }), value!({ "ssn": 1 })),
        ("runs.c1.ssn", value!(1), value!("[REDACTED]")),
        ("runs.c1", value!({ "ssn": 1, "x": 2 }), value!({ "ssn": "[REDACTED]", "x": 2 })),
        (
            "runs",
            value!({ "c": { "user": { "card": { "no": 1 } }, "runs": { "i": { "pin": 1 } }, "x": [] } }),
            value!({ "c": { "user": { "card": { "no": "[REDACTED]" } }, "runs": { "i": { "pin": "[REDACTED]" } }, "x": [] } }),
        ),
    ] {
        let served = redaction.serve(&Path::dotted(path), &value);
        assert_eq!(served.value, shown, "{path}");
        assert_eq!(served.redacted, shown != value, "{path}");
        assert_eq!(served.whole, shown == "[REDACTED]", "{path}");
    }
}

/// Proves ENG-91.
#[test]
fn a_mark_holds_until_its_key_is_deleted_and_the_policy_selects_on() {
    let rule = rule();
    let mut marks = Marks::default();
    marks.mark(Path::key("pin"));
    marks.mark(Path::dotted("pin.a"));
    marks.mark(Path::key("ssn"));
    assert!(Redaction::new(Some(&rule), &marks).selects_key("pin"));
    marks.clear(&Path::key("pin"));
    marks.clear(&Path::key("ssn"));
    assert!(marks.is_empty());
    let redaction = Redaction::new(Some(&rule), &marks);
    assert!(!redaction.selects_key("pin"));
    assert!(redaction.selects_key("ssn"));
}

/// Proves ENG-92, ENG-93, ENG-94.
#[test]
fn log_and_mirror_hold_placeholders_and_the_live_state_real_values() {
    for dial in [CommitValues::Full, CommitValues::Delta] {
        let mut level = Level::new(value!({ "ssn": "seeded", "n": 1 }), dial, Some(rule()));
        assert_eq!(level.mirror.to_string(), r#"{"ssn":"REDACTED","n":1}"#);
        level.step([
            set("ssn", value!("123")),
            set("user", user()),
            set("history", value!([{ "content": "a" }])),
        ]);
        level.step([merge("ssn", value!({ "deep": 1 })), merge("user", value!({ "card": { "no": "42" } }))]);
        level.step([
            push("history", value!([{ "content": "b", "role": "u" }])),
            set("user.card.no", value!("43")),
        ]);
        let log: String = level.log.iter().map(|bundle| bundle.to_value().to_string()).collect();
        for secret in ["123", "4111", "\"42\"", "43", "\"a\"", "\"b\"", "deep", "seeded"] {
            assert!(!log.contains(secret), "{secret} in {log}");
        }
        assert_eq!(level.state.walk(&["user", "card", "no"]), Some(&value!("43")));
        assert_eq!(level.state.walk(&["history", "1", "content"]), Some(&value!("b")));
        assert_eq!(level.mirror.get("user"), Some(&user_shown("REDACTED")));
        assert_eq!(
            level.mirror.get("history"),
            Some(&value!([{ "content": "REDACTED" }, { "content": "REDACTED", "role": "u" }]))
        );
        assert_eq!(level.mirror, crate::state::fold(level.mirror_base.clone(), &level.log));
        let paths: Vec<String> = level.log[0].redacted_paths.iter().map(Path::to_string).collect();
        assert_eq!(paths, ["ssn", "user.card.no", "user.phones.0.n", "user.phones.1.n", "history.0.content"]);
    }
}

/// Proves ENG-75: a tail cannot be matched against a mark below a position, so the list is written whole.
#[test]
fn a_list_with_a_field_below_a_position_is_written_whole() {
    let mut level =
        Level::new(value!({ "history": [{ "content": "a" }] }), CommitValues::Delta, Some(rule()));
    level.step([push("history", value!([{ "content": "b" }]))]);
    assert_eq!(shown(&level.log[0].rows), [r#"set history [{"content":"REDACTED"},{"content":"REDACTED"}]"#]);
}

/// Proves ENG-73, ENG-93: the tail of a redacted list is one placeholder.
#[test]
fn a_redacted_tail_is_a_placeholder_that_folds_do_not_spread() {
    let mut level = Level::new(value!({ "secretList": [1] }), CommitValues::Delta, Some(rule()));
    level.step([push("secretList", value!([2]))]);
    assert_eq!(shown(&level.log[0].rows), ["append secretList \"REDACTED\""]);
    assert_eq!(level.mirror.to_string(), r#"{"secretList":"REDACTED"}"#);
    assert_eq!(level.state.to_string(), r#"{"secretList":[1,2]}"#);
}

/// Proves ENG-91: without a policy a stage's mark still redacts, and a mark taken back by a delete in the same
/// visit uncovers nothing that was written before it.
#[test]
fn marks_redact_without_a_policy_and_through_a_delete() {
    let mut level = Level::new(value!({ "k": 0 }), CommitValues::Full, None);
    let mut staging = Staging::default();
    level.marks.mark(Path::key("k"));
    staging.set(&level.state, "k", value!("pw"));
    staging.note_mark(Path::key("k"));
    level.marks.clear(&Path::key("k"));
    staging.delete(&level.state, "k");
    assert_eq!(shown(&level.commit(&staging).rows), ["delete k null", "delete k null"]);
    level.marks.mark(Path::key("m"));
    level.step([set("m", value!("pw"))]);
    assert_eq!(shown(&level.log[1].rows), ["set m \"REDACTED\""]);
}

/// Proves ENG-93, OBS-113.
#[test]
fn boundary_payloads_are_judged_by_name_at_every_depth() {
    let rule = rule();
    let marks = Marks::default();
    let redaction = Redaction::new(Some(&rule), &marks);
    let payload =
        value!({ "order": { "ssn": 1, "list": [{ "secretX": [1], "ok": 1 }] }, "user": user(), "n": [1] });
    assert_eq!(
        redaction.serve_payload(&payload),
        value!({
            "order": { "ssn": "[REDACTED]", "list": [{ "secretX": "[REDACTED]", "ok": 1 }] },
            "user": user_shown("[REDACTED]"), "n": [1],
        })
    );
    assert!(redaction.serve_payload(&value!({ "a": [1] })).is_object());
    assert_eq!(redaction.serve_emit("billing.charged", &value!({ "x": 1 })), value!("[REDACTED]"));
    assert_eq!(redaction.serve_emit("shop.x", &value!({ "ssn": 1 })), value!({ "ssn": "[REDACTED]" }));
}

/// Proves ENG-93, OBS-113.
#[test]
fn diagnostics_are_judged_by_their_name() {
    let rule = rule();
    let marks = Marks::default();
    let redaction = Redaction::new(Some(&rule), &marks);
    for name in ["ssn", "secretX", "token", "api_key"] {
        assert_eq!(redaction.serve_diagnostic(name, &value!(1)), value!("[REDACTED]"), "{name}");
    }
    assert_eq!(
        redaction.serve_diagnostic("request", &value!({ "auth": "x", "url": "u" })),
        value!({ "auth": "[REDACTED]", "url": "u" })
    );
    assert_eq!(redaction.serve_diagnostic("latency", &value!(3)), value!(3));
}

/// Proves ENG-93: a shared node reachable by two paths is decided per path.
#[test]
fn shared_nodes_are_decided_per_path() {
    let policy = RedactionPolicy::new().fields("pair", ["left.v"]);
    let rule = RedactionRule::new(policy);
    let marks = Marks::default();
    let shared = value!({ "v": 1 });
    let pair = value!({ "left": shared.clone(), "right": shared });
    let served = Redaction::new(Some(&rule), &marks).serve(&Path::key("pair"), &pair).value;
    assert_eq!(served, value!({ "left": { "v": "[REDACTED]" }, "right": { "v": 1 } }));
}

/// Proves ENG-93.
#[test]
fn a_walk_over_a_million_places_serves_the_whole_value_redacted() {
    // 2^20 places in 20 nodes.
    let wide = (0..20).fold(value!(1), |inner, _| value!([inner.clone(), inner]));
    let rule = rule();
    let marks = Marks::default();
    let redaction = Redaction::new(Some(&rule), &marks);
    assert_eq!(redaction.serve_payload(&wide), value!("[REDACTED]"));
}

/// Proves ENG-94: with nothing to redact nothing is copied.
#[test]
fn clear_values_stay_the_same_nodes() {
    let rule = rule();
    let marks = Marks::default();
    let redaction = Redaction::new(Some(&rule), &marks);
    let value = value!({ "card": { "exp": 1 }, "list": [[1], [2]] });
    assert!(redaction.serve(&Path::key("user"), &value).value.ptr_eq(&value));
    assert!(redaction.serve(&Path::key("other"), &value).value.ptr_eq(&value));
    assert!(redaction.serve_payload(&value).ptr_eq(&value));
    assert!(Redaction::new(None, &marks).is_idle());
    assert!(!redaction.is_idle());
}

/// Proves ENG-95.
#[test]
fn a_mapper_that_read_a_secret_passes_its_redaction_on() {
    let rule = rule();
    let marks = Marks::default();
    let redaction = Redaction::new(Some(&rule), &marks);
    let read = |path: &str, value: Value| MapperRead { path: Path::dotted(path), value };
    let produced = value!({ "who": user(), "copy": "123", "name": "Ann", "last": "3", "tags": ["x"] });
    let produced = produced.as_object().unwrap();
    let clean = [read("name", value!("Ann")), read("tags", value!(["x"]))];
    assert!(redaction.tainted(&clean, produced).is_empty());
    let reads: Vec<MapperRead> =
        clean.into_iter().chain([read("ssn", value!("123")), read("user", user())]).collect();
    let tainted: Vec<String> = redaction.tainted(&reads, produced).iter().map(Path::to_string).collect();
    assert_eq!(tainted, ["who.card.no", "who.phones.0.n", "who.phones.1.n", "copy", "last"]);
}

/// Proves ENG-96.
#[test]
fn the_report_names_and_never_shows() {
    let mut level = Level::new(value!({}), CommitValues::Full, Some(rule()));
    level.marks.mark(Path::dotted("doc.body"));
    level.step([
        StagedOp::Set { path: Path::key("secretToken"), value: value!("tok-1") },
        StagedOp::Set { path: Path::key("ssn"), value: value!("1") },
    ]);
    let report = Redaction::new(level.rule.as_ref(), &level.marks).report();
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        serde_json::json!({
            "redactedKeys": ["ssn", "doc", "secretToken"],
            "fieldRedactions": { "user": ["card.no", "phones.*.n"], "history": ["*.content"] },
            "patterns": ["^secret"],
        })
    );
}

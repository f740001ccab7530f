use super::*;
use crate::json::JsonReader;
use crate::value;
use crate::verbs::Verb;

fn read(text: &str) -> Result<Bundle, Gap> {
    Bundle::from_value(&text.parse().unwrap(), CommitIdx(7))
}

const EXAMPLE: &str = concat!(
    r#"{"idx":7,"stage":"Append","stageId":"append","runtimeStageId":"append#9","#,
    r#""trace":[{"path":"history","verb":"append","readKeys":["i"]},{"path":"cfg\u001fmode","verb":"set"}],"#,
    r#""overwrite":{"history":[{"role":"user"}],"cfg":{"mode":"fast"}},"updates":{},"redactedPaths":[],"#,
    r#""untrackedSources":["args"],"tags":["milestone:append"]}"#
);

/// Proves ENG-70, ENG-73, OBS-7.
#[test]
fn the_documented_bundle_reads_and_writes_unchanged() {
    let bundle = read(EXAMPLE).unwrap();
    assert_eq!(bundle.idx, CommitIdx(7));
    assert_eq!(bundle.runtime_stage_id, "append#9");
    assert_eq!(
        shown(&bundle.rows),
        [r#"append history [{"role":"user"}] after ["i"]"#, "set cfg.mode \"fast\""]
    );
    assert_eq!(bundle.untracked, Untracked::ARGS);
    assert_eq!(bundle.tags.as_deref(), Some(&["milestone:append".into()][..]));
    assert_eq!(bundle.to_value().to_string(), EXAMPLE);
    assert_eq!(serde_json::to_string(&bundle).unwrap(), EXAMPLE);
}

/// Proves ENG-70.
#[test]
fn continuation_bundles_carry_their_phase() {
    for (word, phase) in [("exit", Phase::Exit), ("repeat", Phase::Repeat)] {
        let mut bundle = Bundle::empty(CommitIdx(0), "S", "s", RuntimeStageId::parse("s#1"));
        bundle.phase = Some(phase);
        let value = bundle.to_value();
        assert_eq!(value["phase"], word);
        assert_eq!(Bundle::from_value(&value, CommitIdx(0)).unwrap(), bundle);
        assert!(bundle.is_empty());
    }
}

/// Proves ENG-76, ENG-160.
#[test]
fn a_set_row_without_value_is_a_delete() {
    let bundle = read(
        r#"{"trace":[{"path":"long","verb":"set"},{"path":"nothing","verb":"set"}],"overwrite":{"nothing":null}}"#,
    )
    .unwrap();
    assert_eq!(shown(&bundle.rows), ["delete long null", "set nothing null"]);
}

/// Proves ENG-160: older bundles lack fields; unknown ones survive a rewrite.
#[test]
fn missing_fields_are_filled_and_unknown_fields_kept() {
    let bundle = read(r#"{"stageId":"s","runtimeStageId":"","trace":[],"futureField":{"x":[1]}}"#).unwrap();
    assert_eq!(bundle.idx, CommitIdx(7));
    assert!(!bundle.runtime_stage_id.has_index());
    assert_eq!(bundle.to_value()["futureField"], value!({ "x": [1] }));
    assert_eq!(bundle.to_value()["runtimeStageId"], "");
    let later = concat!(
        r#"{"idx":0,"stage":"S","stageId":"s","runtimeStageId":"s#0","trace":[{"path":"a","verb":"set","why":"x"}],"#,
        r#""overwrite":{"a":1},"updates":{},"redactedPaths":[],"untrackedSources":["env","clock"],"phase":"late"}"#
    );
    let bundle = read(later).unwrap();
    assert_eq!((bundle.untracked, bundle.phase), (Untracked::ENV, None));
    assert_eq!(bundle.to_value(), later.parse::<Value>().unwrap());
}

/// Proves ENG-74, ENG-161.
#[test]
fn what_cannot_be_read_is_a_gap_with_a_reason() {
    for (text, part) in [
        ("[]", "object"),
        (r#"{"trace":{}}"#, "`trace`"),
        (r#"{"trace":[{"verb":"set"}]}"#, "path"),
        (r#"{"trace":[{"path":"","verb":"set"}]}"#, "empty path"),
        (r#"{"trace":[{"path":"a"}]}"#, "no verb"),
        (r#"{"trace":[{"path":"a","verb":"replace"}],"overwrite":{"a":1}}"#, "unknown verb \"replace\" at a"),
        (r#"{"trace":[{"path":"a","verb":"merge"}]}"#, "no value"),
        (r#"{"trace":[{"path":"a","verb":"append"}]}"#, "no value"),
        (r#"{"overwrite":1}"#, "`overwrite`"),
        (r#"{"stage":1}"#, "`stage`"),
    ] {
        let gap = read(text).unwrap_err();
        assert_eq!(gap.index, CommitIdx(7));
        assert!(gap.reason.contains(part), "{text}: {}", gap.reason);
    }
}

/// Proves ENG-161: a bundle that is too deep leaves the reader behind it.
#[test]
fn a_bundle_that_is_too_deep_is_a_gap_and_the_next_one_reads() {
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    let text = format!(r#"[{{"overwrite":{{"a":{deep}}}}},{EXAMPLE}]"#);
    let mut reader = JsonReader::new(text.as_bytes());
    reader.begin_array().unwrap();
    let mut seen = Vec::new();
    while reader.next_item().unwrap() {
        seen.push(Bundle::read(&mut reader, CommitIdx(seen.len())).unwrap());
    }
    reader.finish().unwrap();
    assert!(seen[0].as_ref().is_err_and(|gap| gap.reason.contains("deeper")));
    assert_eq!(seen[1].as_ref().unwrap().idx, CommitIdx(7));
}

/// Proves ENG-73: accumulated deltas are replayed once, not once per row.
#[test]
fn repeated_merge_rows_of_a_path_replay_their_delta_once() {
    let bundle = read(
        r#"{"trace":[{"path":"o","verb":"merge"},{"path":"o","verb":"merge"}],"updates":{"o":{"l":[{"a":1},{"a":2}]}}}"#,
    )
    .unwrap();
    let state = fold(Object::new(), [&bundle]);
    assert_eq!(Value::Object(state), value!({ "o": { "l": [{ "a": 1 }, { "a": 2 }] } }));
    let with_set = read(
        r#"{"trace":[{"path":"o","verb":"merge"},{"path":"o","verb":"set"},{"path":"o","verb":"merge"}],
            "overwrite":{"o":{"x":1}},"updates":{"o":{"y":2}}}"#,
    )
    .unwrap();
    assert!(with_set.rows.iter().all(|row| !row.is_echo()));
    assert_eq!(Value::Object(fold(Object::new(), [&with_set])), value!({ "o": { "x": 1, "y": 2 } }));
    assert_eq!(with_set.rows[0].verb, Verb::Merge);
}

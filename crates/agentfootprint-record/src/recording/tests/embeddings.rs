use proptest::prelude::*;

use super::*;

/// Proves REC-10: what is an embedding, and what is not.
#[test]
fn which_entries_are_summarised() {
    let summary = |value: Value| summarise_embeddings(&value).to_string();
    assert_eq!(summary(value!({ "embedding": [1, 2, 2] })), r#"{"embedding":{"dims":3,"norm":3}}"#);
    assert_eq!(summary(value!({ "embedding": [0.1, 0.2] })), r#"{"embedding":{"dims":2,"norm":0.2236}}"#);
    assert_eq!(
        summary(value!({ "embeddings": [[3, 4], [], ["x"], { "embedding": [1] }] })),
        r#"{"embeddings":[{"dims":2,"norm":5},[],["x"],{"embedding":{"dims":1,"norm":1}}]}"#
    );
    for untouched in [
        value!({ "embedding": [] }),
        value!({ "embedding": [1, "x"] }),
        value!({ "embedding": "text" }),
        value!({ "vector": [1, 2] }),
        value!([[1, 2]]),
    ] {
        assert!(summarise_embeddings(&untouched).ptr_eq(&untouched), "{untouched}");
    }
}

/// Proves REC-10: state, commits, mounts, rows and events are summarised; the original is not.
#[test]
fn a_recording_is_summarised_everywhere() {
    let vector = "[3.0,4.0,0.0,0.0]";
    let text = text()
        .replace(r#""sharedState":{"n":2}"#, &format!(r#""sharedState":{{"chunk":{{"embedding":{vector}}}}}"#))
        .replace(r#""path":"n""#, r#""path":"embedding""#)
        .replace(r#""overwrite":{"n":1}"#, &format!(r#""overwrite":{{"embedding":{vector}}}"#))
        .replace(r#""logs":{}"#, &format!(r#""logs":{{"a":{{"embeddings":[{vector}]}}}}"#))
        .replace(r#"{"commitIdxBefore":0}"#, &format!(r#"{{"commitIdxBefore":0,"payload":{{"embedding":{vector}}}}}"#))
        .replace(r#""any":[1]"#, &format!(r#""embedding":{vector}"#))
        .replace(
            r#""initialState":{}"#,
            &format!(
                r#""initialState":{{}},"subflowResults":{{"sf":{{"subflowId":"sf","subflowName":"S","treeContext":{{"globalContext":{{"embedding":{vector}}},"stageContexts":{{"id":"x","runtimeStageId":"sf/x#1","name":"X"}},"history":[]}},"parentStageId":"sf"}}}}"#
            ),
        );
    let original = Recording::open(text.as_bytes()).unwrap().into_recording();
    let before = original.to_json();
    assert_eq!(before.matches("[3,4,0,0]").count(), 6);
    let summarised = original.clone().with_embeddings_summarised();
    let after = summarised.to_json();
    assert!(!after.contains("[3,4,0,0]"), "{after}");
    assert_eq!(after.matches(r#"{"dims":4,"norm":5}"#).count(), 6);
    assert_eq!(original.to_json(), before);
    assert_eq!(summarised.with_embeddings_summarised().to_json(), after);
}

proptest! {
    /// Proves REC-10: idempotent, and no vector is left.
    #[test]
    fn summarising_is_idempotent(value in crate::tests::json(), vector in prop::collection::vec(-1e3..1e3_f64, 1..5)) {
        let holder = value!({ "a": [value], "embedding": vector.clone(), "embeddings": [vector] });
        let once = summarise_embeddings(&holder);
        prop_assert_eq!(summarise_embeddings(&once).to_string(), once.to_string());
        prop_assert!(once["embedding"]["dims"].as_u64().is_some());
    }
}

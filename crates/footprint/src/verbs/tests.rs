use proptest::prelude::*;

use super::*;
use crate::value;
use crate::value::tests::{any_key, any_value};

fn path(text: &str) -> Vec<Str> {
    text.split('.').map(Str::from).collect()
}

fn after(mut state: Value, at: &str, verb: Verb, value: Value) -> Value {
    let Value::Object(object) = &mut state else { panic!("state is an object") };
    apply(object, &path(at), verb, &value);
    state
}

/// Proves ENG-73.
#[test]
fn set_replaces_and_makes_the_containers_on_its_way() {
    let state = value!({ "a": 1, "list": [1, { "x": 1 }] });
    assert_eq!(after(state.clone(), "a", Verb::Set, value!(2))["a"], value!(2));
    assert_eq!(after(state.clone(), "b.c", Verb::Set, value!(2))["b"], value!({ "c": 2 }));
    assert_eq!(after(state.clone(), "a.c", Verb::Set, value!(2))["a"], value!({ "c": 2 }));
    assert_eq!(after(state.clone(), "list.1.x", Verb::Set, value!(2))["list"], value!([1, { "x": 2 }]));
    assert_eq!(after(state.clone(), "list.2", Verb::Set, value!(2))["list"], value!([1, { "x": 1 }, 2]));
    assert_eq!(
        after(state, "list.x", Verb::Set, value!(2))["list"],
        value!({ "0": 1, "1": { "x": 1 }, "x": 2 })
    );
}

/// Proves ENG-73.
#[test]
fn merge_follows_its_table() {
    let merge = |current: Value, delta: Value| merged(Some(&current), &delta);
    assert_eq!(
        merge(value!({ "a": { "x": 1 } }), value!({ "a": { "y": 2 } })),
        value!({ "a": { "x": 1, "y": 2 } })
    );
    assert_eq!(merge(value!(5), value!({ "a": 1 })), value!({ "a": 1 }));
    assert_eq!(merge(value!(null), value!({ "a": 1 })), value!({ "a": 1 }));
    assert_eq!(merge(value!([7, 8]), value!({ "1": 9, "x": 1 })), value!({ "0": 7, "1": 9, "x": 1 }));
    assert_eq!(merge(value!([1, 2]), value!([])), value!([]));
    assert_eq!(merge(value!({ "a": 1 }), value!([])), value!([]));
    assert_eq!(merge(value!([1, 1, 2]), value!([2, 3, 3])), value!([1, 2, 3]));
    assert_eq!(
        merge(value!(["a", null, true]), value!([null, 1, "1", true])),
        value!(["a", null, true, 1, "1"])
    );
    assert_eq!(merge(value!([{ "a": 1 }]), value!([{ "a": 1 }])), value!([{ "a": 1 }, { "a": 1 }]));
    assert_eq!(merge(value!([1]), value!([1.0, 1.5, 1.5])), value!([1, 1.5]));
    assert_eq!(merge(value!("x"), value!([1, 1])), value!([1, 1]));
    assert_eq!(merge(value!({ "a": 1 }), value!(null)), value!(null));
    assert_eq!(merge(value!({ "a": 1 }), value!({})), value!({ "a": 1 }));
    assert_eq!(merged(None, &value!({ "a": [1, 1] })), value!({ "a": [1, 1] }));
}

/// Proves ENG-73.
#[test]
fn append_concatenates_and_a_redacted_tail_replaces_instead_of_being_spread() {
    let state = value!({ "list": [1], "text": "x" });
    assert_eq!(after(state.clone(), "list", Verb::Append, value!([1, 2]))["list"], value!([1, 1, 2]));
    assert_eq!(after(state.clone(), "list", Verb::Append, value!("REDACTED"))["list"], value!("REDACTED"));
    assert_eq!(after(state.clone(), "text", Verb::Append, value!([1]))["text"], value!([1]));
    assert_eq!(after(state, "new", Verb::Append, value!([1]))["new"], value!([1]));
}

/// Proves ENG-73.
#[test]
fn delete_removes_and_does_nothing_below_what_is_missing() {
    let state = value!({ "a": { "b": 1, "c": 2 }, "list": [1, 2], "s": 1 });
    assert_eq!(after(state.clone(), "a", Verb::Delete, Value::Null), value!({ "list": [1, 2], "s": 1 }));
    assert_eq!(after(state.clone(), "a.b", Verb::Delete, Value::Null)["a"], value!({ "c": 2 }));
    for nothing in ["x", "x.y", "a.x.y", "s.x", "list.5", "list.x"] {
        assert_eq!(after(state.clone(), nothing, Verb::Delete, Value::Null), state, "{nothing}");
    }
    assert_eq!(after(state, "list.0", Verb::Delete, Value::Null)["list"], value!([null, 2]));
}

/// Proves ENG-74.
#[test]
fn an_unknown_verb_is_refused_by_name() {
    let error = "replace".parse::<Verb>().unwrap_err();
    assert_eq!(error.to_string(), "unknown verb \"replace\"");
    let placed = UnknownVerb { path: Some("a.b".into()), commit: Some(crate::ids::CommitIdx(3)), ..error };
    assert_eq!(placed.to_string(), "unknown verb \"replace\" at path a.b in commit 3");
    for verb in [Verb::Set, Verb::Merge, Verb::Append, Verb::Delete] {
        assert_eq!(verb.to_string().parse(), Ok(verb));
        assert_eq!(serde_json::to_value(verb).unwrap(), verb.as_str());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Proves ENG-73: merging the same delta twice changes nothing more, unless lists of containers meet.
    #[test]
    fn merging_is_idempotent_without_containers_in_lists(current in any_value(), delta in any_value()) {
        fn lists_containers(value: &Value) -> bool {
            match value {
                Value::Array(items) => items.iter().any(Value::is_container),
                Value::Object(entries) => entries.values().any(lists_containers),
                _ => false,
            }
        }
        prop_assume!(!lists_containers(&delta));
        let once = merged(Some(&current), &delta);
        // A list that replaced something else keeps its own duplicates until it meets itself.
        let twice = merged(Some(&once), &delta);
        prop_assert_eq!(merged(Some(&twice), &delta), twice);
    }

    /// Proves ENG-73.
    #[test]
    fn merging_an_object_keeps_every_key_it_does_not_name(
        current in any_value(), key in any_key(), change in any_value(),
    ) {
        let delta: Value = Value::Object([(key.clone(), change)].into_iter().collect());
        let next = merged(Some(&current), &delta);
        if let Value::Object(before) = &current {
            for (name, value) in before.iter().filter(|(name, _)| **name != key) {
                prop_assert!(next.get(name).is_some_and(|kept| kept.ptr_eq(value)));
            }
        }
    }

    /// Proves ENG-2, ENG-73.
    #[test]
    fn a_verb_changes_nothing_beside_its_path_and_never_the_old_version(
        state in prop::collection::vec((any_key(), any_value()), 0..5),
        at in prop::collection::vec(any_key(), 1..4),
        verb in prop_oneof![Just(Verb::Set), Just(Verb::Merge), Just(Verb::Append), Just(Verb::Delete)],
        value in any_value(),
    ) {
        let before: Object = state.into_iter().collect();
        let text = before.to_string();
        let mut next = before.clone();
        apply(&mut next, &at, verb, &value);
        prop_assert_eq!(before.to_string(), text);
        for (key, value) in before.iter().filter(|(key, _)| **key != at[0]) {
            prop_assert!(next.get(key).is_some_and(|kept| kept.ptr_eq(value)));
        }
        match verb {
            Verb::Set => prop_assert_eq!(next.walk(&at), Some(&value)),
            Verb::Delete => {
                let gone = next.walk(&at);
                prop_assert!(gone.is_none_or(Value::is_null));
            }
            Verb::Merge => prop_assert_eq!(next.walk(&at), Some(&merged(before.walk(&at), &value))),
            Verb::Append => {
                if let (Some(Value::Array(old)), Value::Array(tail)) = (before.walk(&at), &value) {
                    let mut all = old.clone();
                    all.extend(tail.iter().cloned());
                    prop_assert_eq!(next.walk(&at), Some(&Value::Array(all)));
                }
            }
        }
    }
}

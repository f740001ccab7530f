use super::*;
use proptest::prelude::*;

use crate::state::first_seed;
use crate::value;

fn ops(mapped: Value, mode: ArrayMergeMode, parent: Value) -> Vec<String> {
    let mapped = mapped.as_object().cloned().unwrap();
    merge_back(&mapped, mode, |key| parent.get(key).cloned()).iter().map(StagedOp::to_string).collect()
}

/// Proves ENG-33.
#[test]
fn a_merge_back_sets_scalars_joins_lists_and_lays_objects_over() {
    let parent = value!({ "l": [1], "o": { "l": [1], "o": { "x": 1 }, "s": 1, "keep": 1 }, "s": 1 });
    let mapped = value!({
        "s": null, "l": [2], "new": [3], "e": {},
        "o": { "l": [2], "o": { "y": 2 }, "s": 2, "n": { "z": [1] } },
    });
    let nested = [r#"set o.l [1,2]"#, r#"set o.o {"x":1,"y":2}"#, "set o.s 2", r#"set o.n {"z":[1]}"#]
        .map(String::from);
    let mut concat = vec!["set s null".to_owned(), "set l [1,2]".into(), "set new [3]".into()];
    concat.extend(nested.clone());
    assert_eq!(ops(mapped.clone(), ArrayMergeMode::Concat, parent.clone()), concat);
    let mut replace = vec!["set s null".to_owned(), "set l [2]".into(), "set new [3]".into()];
    replace.extend(nested);
    assert_eq!(ops(mapped, ArrayMergeMode::Replace, parent), replace);
}

/// Proves ENG-31.
#[test]
fn a_seed_spreads_objects_one_level() {
    let mapped =
        value!({ "amount": 30, "cfg": { "c": "EUR", "flags": { "t": true } }, "tags": ["t"], "empty": {} });
    let shown: Vec<String> = seed_ops(mapped.as_object().unwrap()).iter().map(StagedOp::to_string).collect();
    assert_eq!(
        shown,
        ["set amount 30", "set cfg.c \"EUR\"", "set cfg.flags {\"t\":true}", "set tags [\"t\"]"]
    );
    let mut level = Level::new(value!({}), CommitValues::Delta, None);
    level.step(seed_ops(mapped.as_object().unwrap()));
    // An object without entries has nothing to spread; the arguments still have it.
    let mut seeded = mapped.as_object().cloned().unwrap();
    seeded.remove("empty");
    assert_eq!(level.state, seeded);
}

proptest! {
    /// Proves ENG-31: the short way of a first seed records and makes what staging it does.
    #[test]
    fn a_first_seed_is_what_its_operations_come_to(mapped in mapped()) {
        for dial in [CommitValues::Full, CommitValues::Delta] {
            let mut level = Level::new(value!({}), dial, None);
            level.step(seed_ops(&mapped));
            let (rows, state) = first_seed(&mapped);
            prop_assert_eq!(&level.state, &state);
            let staged = level.log.iter().flat_map(|bundle| bundle.rows.iter()).collect::<Vec<_>>();
            prop_assert_eq!(staged, rows.iter().collect::<Vec<_>>());
        }
    }
}

fn mapped() -> impl Strategy<Value = Object> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| Value::Array(items.into_iter().collect())),
            prop::collection::vec(("[a-e]{0,2}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    });
    prop::collection::vec(("[a-e]{1,2}", value), 0..20).prop_map(|entries| entries.into_iter().collect())
}

/// Proves ENG-80.
#[test]
fn initial_values_lie_over_defaults() {
    let defaults = value!({ "a": { "x": 1, "y": [1] }, "b": 1, "d": 1 });
    let initial = value!({ "a": { "y": [2], "z": 3 }, "b": { "n": 1 } });
    let both = starting_state(defaults.as_object(), initial.as_object());
    assert_eq!(Value::Object(both), value!({ "a": { "x": 1, "y": [2], "z": 3 }, "b": { "n": 1 }, "d": 1 }));
    assert!(starting_state(None, None).is_empty());
    assert!(starting_state(None, initial.as_object()).ptr_eq(initial.as_object().unwrap()));
}

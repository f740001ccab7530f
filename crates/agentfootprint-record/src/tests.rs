//! What several test modules share: arbitrary JSON, and the same JSON in another key order.

use footprint::value::{Object, Value};
use proptest::prelude::*;

/// Any JSON of a few levels.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z]{60,90}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Object>())),
        ]
    })
}

/// The same value with the entries of every object in another order.
pub(crate) fn shuffled(value: &Value, seed: u64) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(|item| shuffled(item, seed)).collect()),
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| crate::text::fnv1a_32(&format!("{seed}{key}")));
            Value::Object(
                entries.into_iter().map(|(key, value)| (key.clone(), shuffled(value, seed))).collect(),
            )
        }
        scalar => scalar.clone(),
    }
}

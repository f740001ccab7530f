//! How mapped values cross the boundary of a mount (ENG-31, ENG-33), and how a run's first state is made.

use serde::{Deserialize, Serialize};

use super::bundle::Row;
use super::path::Path;
use super::staging::StagedOp;
use crate::value::{Array, Object, Value};
use crate::verbs::Verb;

/// What a returned list does to the list that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrayMergeMode {
    /// It follows it.
    #[default]
    Concat,
    /// It replaces it. Right for mounts a loop passes again and again.
    Replace,
}

/// The operations of a merge-back: what the mount's frame stages for the keys its output mapper returned.
///
/// `existing` answers with the value the mount's parent level sees under a key at this moment.
///
/// ```
/// use footprint::state::{merge_back, ArrayMergeMode, StagedOp};
/// use footprint::value;
/// let parent = value!({ "events": ["start"], "receipt": { "shop": "x" } });
/// let mapped = value!({ "events": ["auth"], "receipt": { "no": 1 }, "paid": true });
/// let ops = merge_back(mapped.as_object().unwrap(), ArrayMergeMode::Concat, |key| parent.get(key).cloned());
/// let shown: Vec<String> = ops.iter().map(StagedOp::to_string).collect();
/// assert_eq!(shown, [r#"set events ["start","auth"]"#, "set receipt.no 1", "set paid true"]);
/// ```
pub fn merge_back(
    mapped: &Object,
    mode: ArrayMergeMode,
    existing: impl Fn(&str) -> Option<Value>,
) -> Vec<StagedOp> {
    let mut ops = Vec::with_capacity(mapped.len());
    for (key, value) in mapped {
        let path = Path::key(key.clone());
        match value {
            Value::Array(list) => {
                let value = match (mode, existing(key)) {
                    (ArrayMergeMode::Concat, Some(Value::Array(before))) => concat(&before, list),
                    _ => list.clone(),
                };
                ops.push(StagedOp::Set { path, value: value.into() });
            }
            Value::Object(entries) => {
                let before = existing(key);
                for (name, value) in entries {
                    let nested = before.as_ref().and_then(|before| before.get(name));
                    let value = match (value, nested) {
                        (Value::Array(list), Some(Value::Array(before))) => concat(before, list).into(),
                        (Value::Object(over), Some(Value::Object(before))) => overlaid(before, over).into(),
                        (value, _) => value.clone(),
                    };
                    ops.push(StagedOp::Set { path: path.child(name.clone()), value });
                }
            }
            scalar => ops.push(StagedOp::Set { path, value: scalar.clone() }),
        }
    }
    ops
}

fn concat(before: &Array, list: &Array) -> Array {
    let mut both = before.clone();
    both.extend(list.iter().cloned());
    both
}

fn overlaid(before: &Object, over: &Object) -> Object {
    let mut both = before.clone();
    both.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    both
}

/// The operations of a subflow's seed: an object spreads one level (so an empty one writes nothing), everything
/// else lands whole.
pub fn seed_ops(mapped: &Object) -> Vec<StagedOp> {
    let mut ops = Vec::with_capacity(mapped.len());
    for (key, value) in mapped {
        let path = Path::key(key.clone());
        match value {
            Value::Object(entries) => {
                for (name, value) in entries {
                    ops.push(StagedOp::Set { path: path.child(name.clone()), value: value.clone() });
                }
            }
            whole => ops.push(StagedOp::Set { path, value: whole.clone() }),
        }
    }
    ops
}

/// What [`seed_ops`] come to on a level that holds nothing yet and redacts nothing: the rows, and the state they make. Every
/// path is new there and none lies above another, so there is no net change to find and nothing to check.
pub(crate) fn first_seed(mapped: &Object) -> (Box<[Row]>, Object) {
    let row = |op| match op {
        StagedOp::Set { path, value } => Some(Row::new(path, Verb::Set, value)),
        _ => None,
    };
    let rows = seed_ops(mapped).into_iter().filter_map(row).collect();
    let is_empty = |value: &Value| matches!(value, Value::Object(entries) if entries.is_empty());
    let state = if mapped.values().any(is_empty) {
        let kept = mapped.iter().filter(|(_, value)| !is_empty(value));
        kept.map(|(key, value)| (key.clone(), value.clone())).collect()
    } else {
        mapped.clone()
    };
    (rows, state)
}

/// A run's first state: defaults under initial values. Initial values win; objects merge deeply, lists do
/// not (ENG-80).
pub fn starting_state(defaults: Option<&Object>, initial: Option<&Object>) -> Object {
    match (defaults, initial) {
        (None, None) => Object::new(),
        (Some(only), None) | (None, Some(only)) => only.clone(),
        (Some(defaults), Some(initial)) => deep_over(defaults, initial),
    }
}

fn deep_over(below: &Object, over: &Object) -> Object {
    let mut both = below.clone();
    for (key, value) in over {
        let value = match (below.get(key), value) {
            (Some(Value::Object(below)), Value::Object(over)) => Value::Object(deep_over(below, over)),
            (_, value) => value.clone(),
        };
        both.insert(key.clone(), value);
    }
    both
}

//! The four verbs, and the one interpreter that replays them.
//!
//! Live state, folds of the log, key queries and the redacted mirror all go through [`apply`], so they cannot
//! disagree about what a row means.
//!
//! | verb | replay |
//! |---|---|
//! | [`Set`](Verb::Set) | the value replaces |
//! | [`Merge`](Verb::Merge) | deep union, see [`merged`] |
//! | [`Append`](Verb::Append) | the value's items follow the current ones; without two arrays the value replaces |
//! | [`Delete`](Verb::Delete) | the key goes; nothing happens when something above it is missing |
//!
//! ```
//! use footprint::value;
//! use footprint::value::{Object, Str};
//! use footprint::verbs::{apply, Verb};
//!
//! let mut state = Object::new();
//! let path: Vec<Str> = vec!["history".into()];
//! apply(&mut state, &path, Verb::Set, &value!([1]));
//! apply(&mut state, &path, Verb::Append, &value!([2, 3]));
//! assert_eq!(state.get("history"), Some(&value!([1, 2, 3])));
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::value::{Array, Object, Str, Value, list_position};

/// What one row of a commit does at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// The value replaces whatever was there.
    Set,
    /// Deep union with what was there.
    Merge,
    /// Items are added to a list.
    Append,
    /// The key is removed.
    Delete,
}

impl Verb {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Merge => "merge",
            Self::Append => "append",
            Self::Delete => "delete",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A recorded word that is none of the four verbs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown verb {verb:?}{}{}", Place(" at path ", .path), Place(" in commit ", .commit))]
pub struct UnknownVerb {
    /// The word.
    pub verb: String,
    /// The row's path, where known.
    pub path: Option<String>,
    /// The commit's position, where known.
    pub commit: Option<crate::ids::CommitIdx>,
}

struct Place<'a, T>(&'static str, &'a Option<T>);

impl<T: fmt::Display> fmt::Display for Place<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(place) => write!(f, "{}{place}", self.0),
            None => Ok(()),
        }
    }
}

impl FromStr for Verb {
    type Err = UnknownVerb;

    fn from_str(word: &str) -> Result<Self, UnknownVerb> {
        match word {
            "set" => Ok(Self::Set),
            "merge" => Ok(Self::Merge),
            "append" => Ok(Self::Append),
            "delete" => Ok(Self::Delete),
            other => Err(UnknownVerb { verb: other.to_owned(), path: None, commit: None }),
        }
    }
}

/// Replays one verb on a state. `value` is ignored by `delete`.
pub fn apply(state: &mut Object, path: &[Str], verb: Verb, value: &Value) {
    match verb {
        Verb::Set => set_at(state, path, value.clone()),
        Verb::Merge => {
            let next = merged(state.walk(path), value);
            set_at(state, path, next);
        }
        Verb::Append => append_at(state, path, value),
        Verb::Delete => {
            delete_at(state, path);
        }
    }
}

fn append_at(state: &mut Object, path: &[Str], tail: &Value) {
    match (state.walk(path), tail) {
        (Some(Value::Array(current)), Value::Array(tail)) => {
            let mut list = current.clone();
            // The state's own reference goes first, so that a list nobody else holds grows in place.
            set_at(state, path, Value::Null);
            list.extend(tail.iter().cloned());
            set_at(state, path, Value::Array(list));
        }
        _ => set_at(state, path, tail.clone()),
    }
}

/// Puts a value at a path. Missing containers are made; a scalar in the way is replaced by an object.
///
/// Segments are keys in objects. In a list a decimal segment up to its length is a position; any other
/// segment turns the list into an object of its positions, as the merge verb does.
pub fn set_at(state: &mut Object, path: &[Str], value: Value) {
    match path {
        [] => {}
        [key] => {
            state.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            let child = take_child(state, key);
            let next = set_in(child, rest, value);
            state.insert(key.clone(), next);
        }
    }
}

/// Moves a container child out, leaving its place, so that an unshared child is edited in place.
fn take_child(state: &mut Object, key: &Str) -> Value {
    match state.get(key) {
        Some(child) if child.is_container() => state.insert(key.clone(), Value::Null).unwrap_or_default(),
        _ => Value::Null,
    }
}

fn set_in(current: Value, path: &[Str], value: Value) -> Value {
    let Some((segment, rest)) = path.split_first() else { return value };
    match current {
        Value::Array(mut list) => match list_position(segment) {
            Some(at) if at <= list.len() => {
                let child = list.get(at).cloned().unwrap_or_default();
                let next = set_in(child, rest, value);
                if at == list.len() {
                    list.push(next);
                } else {
                    list.set(at, next);
                }
                Value::Array(list)
            }
            _ => {
                let mut object = positions(&list);
                set_at(&mut object, path, value);
                Value::Object(object)
            }
        },
        Value::Object(mut object) => {
            set_at(&mut object, path, value);
            Value::Object(object)
        }
        _ => {
            let mut object = Object::new();
            set_at(&mut object, path, value);
            Value::Object(object)
        }
    }
}

/// Removes what is at a path; `false` when there is nothing. A removed list item leaves `null`.
pub fn delete_at(state: &mut Object, path: &[Str]) -> bool {
    if state.walk(path).is_none() {
        return false;
    }
    match path {
        [] => false,
        [key] => state.remove(key).is_some(),
        [key, rest @ ..] => {
            let child = take_child(state, key);
            let next = delete_in(child, rest);
            state.insert(key.clone(), next);
            true
        }
    }
}

fn delete_in(current: Value, path: &[Str]) -> Value {
    let Some((segment, rest)) = path.split_first() else { return Value::Null };
    match current {
        Value::Object(mut object) => {
            delete_at(&mut object, path);
            Value::Object(object)
        }
        Value::Array(mut list) => {
            if let Some(at) = list_position(segment)
                && let Some(child) = list.get(at).cloned()
            {
                list.set(at, delete_in(child, rest));
            }
            Value::Array(list)
        }
        other => other,
    }
}

/// The merge verb: what `current` becomes under `delta`.
///
/// - objects recurse; onto a scalar or nothing they replace; onto a list they merge with its positions
/// - `[]` clears; other lists unite onto a list and replace anything else. In a union scalars keep their first
///   occurrence over the whole result, containers are never equal to one another
/// - scalars and `null` replace
///
/// ```
/// use footprint::value;
/// use footprint::verbs::merged;
/// let current = value!({ "a": { "x": 1 }, "tags": ["t", "t"] });
/// let next = merged(Some(&current), &value!({ "a": { "y": 2 }, "tags": ["t", "u"] }));
/// assert_eq!(next, value!({ "a": { "x": 1, "y": 2 }, "tags": ["t", "u"] }));
/// ```
pub fn merged(current: Option<&Value>, delta: &Value) -> Value {
    match (current, delta) {
        (Some(Value::Object(current)), Value::Object(delta)) => Value::Object(merged_objects(current, delta)),
        (Some(Value::Array(current)), Value::Object(delta)) => {
            Value::Object(merged_objects(&positions(current), delta))
        }
        (Some(Value::Array(current)), Value::Array(delta)) if !delta.is_empty() => {
            Value::Array(union(current, delta))
        }
        (_, delta) => delta.clone(),
    }
}

fn merged_objects(current: &Object, delta: &Object) -> Object {
    let mut next = current.clone();
    for (key, change) in delta {
        let value = merged(current.get(key), change);
        next.insert(key.clone(), value);
    }
    next
}

/// The list's items under their positions as keys.
fn positions(list: &Array) -> Object {
    list.iter().enumerate().map(|(at, item)| (at.to_string(), item.clone())).collect()
}

fn union(current: &Array, delta: &Array) -> Array {
    let mut result: Vec<Value> = Vec::with_capacity(current.len() + delta.len());
    let mut seen = SeenScalars::default();
    for item in current.iter().chain(delta) {
        if item.is_container() || seen.first(item) {
            result.push(item.clone());
        }
    }
    result.into()
}

/// The scalars of a union so far; text, where the numbers are, is looked up by hash.
#[derive(Default)]
struct SeenScalars<'a> {
    texts: std::collections::HashSet<&'a str>,
    integers: std::collections::HashSet<i64>,
    others: Vec<&'a Value>,
}

impl<'a> SeenScalars<'a> {
    fn first(&mut self, item: &'a Value) -> bool {
        match (item, item.as_i64()) {
            (Value::String(text), _) => self.texts.insert(text),
            (_, Some(integer)) => self.integers.insert(integer),
            _ if self.others.contains(&item) => false,
            _ => {
                self.others.push(item);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! What a redaction policy hid, and keeping it hidden (REC-85).

use footprint::query::StateKey;
use footprint::snapshot::{CommitLog, Snapshot};
use footprint::state::{Path, PathRelation};
use footprint::value::{Array, Object, Value};

/// What stands for a hidden value.
pub(super) const PLACEHOLDER: &str = "[redacted]";
/// Shorter texts occur by chance everywhere.
const SHORTEST_SECRET: usize = 4;
const MOST_SECRETS: usize = 256;
const MOST_VISITS: usize = 4096;

/// Paths hidden in some commit, and the texts that stand under them where a recording kept them elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    paths: Vec<Path>,
    secrets: Vec<String>,
}

impl Hidden {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut hidden = Self::default();
        hidden.add_log(&snapshot.commit_log);
        for result in snapshot.subflow_results.values() {
            hidden.add_log(&result.tree_context.history);
        }
        if hidden.paths.is_empty() {
            return hidden;
        }
        let mut states: Vec<&Object> = vec![&snapshot.shared_state];
        states.extend(&snapshot.initial_state);
        for result in snapshot.subflow_results.values() {
            states.push(&result.tree_context.global_context);
            states.extend(&result.tree_context.initial_state);
        }
        let mut secrets = Vec::new();
        for state in states {
            for path in &hidden.paths {
                if let Some(value) = state.walk(path.segments()) {
                    texts(value, &mut secrets);
                }
            }
        }
        // Longer ones first, so that a text that contains another is replaced whole.
        secrets.sort_by_key(|text: &String| std::cmp::Reverse(text.len()));
        secrets.dedup();
        secrets.truncate(MOST_SECRETS);
        hidden.secrets = secrets;
        hidden
    }

    fn add_log(&mut self, log: &CommitLog) {
        for path in log.iter().flat_map(|bundle| bundle.redacted_paths.iter()) {
            if !self.paths.contains(path) {
                self.paths.push(path.clone());
            }
        }
    }

    pub(super) fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The value with hidden parts replaced.
    pub(super) fn mask(&self, key: &StateKey, value: &Value) -> Value {
        self.mask_path(key.as_path(), value)
    }

    pub(super) fn mask_path(&self, at: &Path, value: &Value) -> Value {
        let mut shown = value.clone();
        for path in &self.paths {
            if path.is_prefix_of(at) {
                return Value::from(PLACEHOLDER);
            }
            if path.relation_to(at) != PathRelation::Apart && at.is_prefix_of(path) {
                let below = path.segments().get(at.len()..).unwrap_or_default();
                shown = replaced(&shown, below);
            }
        }
        shown
    }

    /// The text without hidden texts.
    pub(super) fn scrub(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), PLACEHOLDER);
            }
        }
        text
    }
}

/// Texts of a value that are worth hiding; looks at a bounded part, with an explicit stack.
fn texts(value: &Value, out: &mut Vec<String>) {
    let mut pending = vec![value];
    let mut visits = 0;
    while let Some(value) = pending.pop() {
        visits += 1;
        if visits > MOST_VISITS {
            return;
        }
        match value {
            Value::String(text)
                if text.chars().count() >= SHORTEST_SECRET
                    && !text.contains("REDACTED")
                    && **text != *PLACEHOLDER =>
            {
                out.push(text.to_string());
            }
            Value::Number(number) if number.to_string().len() >= SHORTEST_SECRET => {
                out.push(number.to_string())
            }
            Value::Array(items) => pending.extend(items.iter()),
            Value::Object(members) => pending.extend(members.values()),
            _ => {}
        }
    }
}

/// The value with what stands at a path replaced. As deep as the path is long.
fn replaced<S: AsRef<str>>(value: &Value, path: &[S]) -> Value {
    let Some((segment, rest)) = path.split_first() else { return Value::from(PLACEHOLDER) };
    match value {
        Value::Object(members) => {
            let mut members = members.clone();
            if let Some(inner) = members.get(segment.as_ref()) {
                let inner = replaced(inner, rest);
                members.insert(segment.as_ref(), inner);
            }
            Value::Object(members)
        }
        Value::Array(items) => {
            let mut items: Array = items.clone();
            if let Some((at, inner)) =
                segment.as_ref().parse().ok().and_then(|at: usize| Some((at, items.get(at)?.clone())))
            {
                items.set(at, replaced(&inner, rest));
            }
            Value::Array(items)
        }
        other => other.clone(),
    }
}

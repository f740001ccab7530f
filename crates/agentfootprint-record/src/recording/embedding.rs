use std::sync::Arc;

use footprint::snapshot::{ExecutionTree, RecorderRow, Snapshot, SubflowResult};
use footprint::state::{Bundle, Row};
use footprint::value::{Array, Number, Object, Str, Value};

use super::{RecordedEvent, Recording};

/// Replaces embedding vectors by their size and norm (REC-10): any entry named `embedding` whose value is a
/// list of numbers becomes `{"dims":n,"norm":x}`, and so does each vector in an entry named `embeddings`.
///
/// Nobody reads the floats, and they are most of a retrieval's bytes. Idempotent; what holds no vector is
/// shared, not copied.
///
/// ```
/// use agentfootprint_record::recording::summarise_embeddings;
/// use footprint::value;
/// let chunk = value!({ "text": "refunds", "embedding": [3.0, 4.0] });
/// assert_eq!(
///     summarise_embeddings(&chunk).to_string(),
///     r#"{"text":"refunds","embedding":{"dims":2,"norm":5}}"#
/// );
/// ```
#[must_use]
pub fn summarise_embeddings(value: &Value) -> Value {
    changed(value).unwrap_or_else(|| value.clone())
}

/// The summarised value, or `None` when there is nothing to summarise. Values nest at most 512 levels, so
/// this may recurse.
fn changed(value: &Value) -> Option<Value> {
    match value {
        Value::Array(items) => changed_items(items).map(Value::Array),
        Value::Object(object) => changed_entries(object).map(Value::Object),
        _ => None,
    }
}

fn changed_items(items: &Array) -> Option<Array> {
    let mut result: Option<Array> = None;
    for (at, item) in items.iter().enumerate() {
        if let Some(new) = changed(item) {
            result.get_or_insert_with(|| items.clone()).set(at, new);
        }
    }
    result
}

fn changed_entries(object: &Object) -> Option<Object> {
    let mut result: Option<Object> = None;
    for (key, value) in object {
        if let Some(new) = changed_entry(key, value) {
            result.get_or_insert_with(|| object.clone()).insert(key.clone(), new);
        }
    }
    result
}

fn changed_entry(key: &str, value: &Value) -> Option<Value> {
    let summary = match key {
        "embedding" => summary_of(value),
        "embeddings" => summaries_of(value),
        _ => None,
    };
    summary.or_else(|| changed(value))
}

fn summaries_of(value: &Value) -> Option<Value> {
    let Value::Array(vectors) = value else { return None };
    let mut result: Option<Array> = None;
    for (at, vector) in vectors.iter().enumerate() {
        if let Some(summary) = summary_of(vector).or_else(|| changed(vector)) {
            result.get_or_insert_with(|| vectors.clone()).set(at, summary);
        }
    }
    result.map(Value::Array)
}

/// `{"dims":n,"norm":x}` of a non-empty list of numbers, the norm rounded to four decimals.
fn summary_of(value: &Value) -> Option<Value> {
    let Value::Array(numbers) = value else { return None };
    if numbers.is_empty() {
        return None;
    }
    let squares = numbers.iter().try_fold(0.0, |sum, number| {
        let number = number.as_number().map(Number::as_f64)?;
        Some(sum + number * number)
    })?;
    let norm = (f64::sqrt(squares) * 10_000.0).round() / 10_000.0;
    let mut summary = Object::new();
    summary.insert("dims", Value::from(numbers.len()));
    summary.insert("norm", Value::from(norm));
    Some(Value::Object(summary))
}

impl Recording {
    /// The recording with every embedding vector summarised (REC-10): state, commits, tree, mounts, recorder
    /// rows and events. The run it was taken from is not touched.
    #[must_use]
    pub fn with_embeddings_summarised(mut self) -> Self {
        summarise_snapshot(&mut self.snapshot);
        for event in self.events.iter_mut().flatten() {
            if let Some(new) = changed(&event.to_value()) {
                *event = RecordedEvent::from(new);
            }
        }
        self
    }
}

fn summarise_snapshot(snapshot: &mut Snapshot) {
    summarise_object(&mut snapshot.shared_state);
    if let Some(initial) = &mut snapshot.initial_state {
        summarise_object(initial);
    }
    summarise_tree(&mut snapshot.execution_tree);
    if let Some(log) = summarised_log(snapshot.commit_log.iter(), snapshot.commit_log.gaps().is_empty()) {
        snapshot.commit_log = log.into();
    }
    let results: Vec<(Str, Arc<SubflowResult>)> =
        snapshot.subflow_results.iter().map(|(key, result)| (key.clone(), result.clone())).collect();
    let mut done: Vec<(Arc<SubflowResult>, Arc<SubflowResult>)> = Vec::new();
    for (key, result) in results {
        // Every execution stands there under two keys, often as one shared node: it is summarised once.
        let new = match done.iter().find(|(old, _)| Arc::ptr_eq(old, &result)) {
            Some((_, new)) => new.clone(),
            None => {
                let new = Arc::new(summarised_subflow(&result));
                done.push((result, new.clone()));
                new
            }
        };
        snapshot.subflow_results.insert(key, new);
    }
    snapshot.recorders.iter_mut().for_each(summarise_row);
}

fn summarise_object(object: &mut Object) {
    if let Some(new) = changed_entries(object) {
        *object = new;
    }
}

fn summarise_row(row: &mut RecorderRow) {
    if let Some(new) = changed(&row.data) {
        row.data = new;
    }
}

fn summarised_subflow(result: &SubflowResult) -> SubflowResult {
    let mut result = result.clone();
    let inner = &mut result.tree_context;
    summarise_object(&mut inner.global_context);
    if let Some(initial) = &mut inner.initial_state {
        summarise_object(initial);
    }
    summarise_tree(&mut inner.stage_contexts);
    if let Some(log) = summarised_log(inner.history.iter(), inner.history.gaps().is_empty()) {
        inner.history = log.into();
    }
    result
}

fn summarise_tree(tree: &mut ExecutionTree) {
    let holders: Vec<_> = tree
        .iter()
        .filter(|(_, frame)| {
            [&frame.stage_reads, &frame.stage_writes]
                .into_iter()
                .flatten()
                .any(|bag| changed_entries(bag).is_some())
                || [&frame.logs, &frame.errors, &frame.metrics, &frame.evals]
                    .into_iter()
                    .any(|bag| changed_entries(bag).is_some())
        })
        .map(|(id, _)| id)
        .collect();
    for id in holders {
        let Some(frame) = tree.get_mut(id) else { continue };
        for bag in [&mut frame.stage_reads, &mut frame.stage_writes].into_iter().flatten() {
            summarise_object(bag);
        }
        for bag in [&mut frame.logs, &mut frame.errors, &mut frame.metrics, &mut frame.evals] {
            summarise_object(bag);
        }
    }
}

/// The log with its vectors summarised; `None` when it holds none. A log with unreadable rows stays as read:
/// rebuilding it would lose their places.
fn summarised_log<'a>(
    bundles: impl Iterator<Item = &'a Arc<Bundle>>,
    whole: bool,
) -> Option<Vec<Arc<Bundle>>> {
    if !whole {
        return None;
    }
    let mut any = false;
    let log = bundles
        .map(|bundle| match summarised_bundle(bundle) {
            Some(new) => {
                any = true;
                Arc::new(new)
            }
            None => bundle.clone(),
        })
        .collect();
    any.then_some(log)
}

fn summarised_bundle(bundle: &Bundle) -> Option<Bundle> {
    let of = |row: &Row| {
        let key = row.path.last().map_or("", |key| key);
        changed_entry(key, &row.value)
    };
    if !bundle.rows.iter().any(|row| of(row).is_some()) {
        return None;
    }
    let mut new = bundle.clone();
    for row in &mut new.rows {
        if let Some(value) = of(row) {
            row.value = value;
        }
    }
    Some(new)
}

//! Recorders a scenario attaches, and the heads of the rows they must leave in the snapshot.

use std::sync::Arc;

use footprint::observe::Recorder;
use footprint::recorders::{CombinedNarrative, Debug, InOut, Manifest, Metrics};
use serde_json::{Value, json};

use crate::golden::matcher::{Difference, difference};

/// The recorders `executor.recorders` names, under the ids the data have.
pub(crate) fn recorders(executor: &Value) -> Result<Vec<Arc<dyn Recorder>>, String> {
    let words = executor.get("recorders").and_then(Value::as_array).into_iter().flatten();
    let mut made: Vec<Arc<dyn Recorder>> = Vec::new();
    for word in words.filter_map(Value::as_str) {
        match word {
            "narrative" => made.push(Arc::new(CombinedNarrative::new())),
            "metrics" => made.push(Arc::new(Metrics::with_id("metrics"))),
            "debug" => made.push(Arc::new(Debug::with_id("debug"))),
            "manifest" => made.push(Arc::new(Manifest::new())),
            "inout" => made.push(Arc::new(InOut::with_id("inout-1"))),
            other => return Err(format!("no recorder {other}")),
        }
    }
    Ok(made)
}

/// Every recorded row has one of ours: same id, name and operation, and data with the same fields.
pub(crate) fn compare(recorded: &Value, ours: &Value, out: &mut Vec<Difference>) {
    let rows = |snapshot: &Value| -> Vec<Value> {
        snapshot.get("recorders").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let found = rows(ours);
    for wanted in rows(recorded) {
        let at = format!("recorders.{}", wanted.get("id").and_then(Value::as_str).unwrap_or_default());
        let Some(row) = found.iter().find(|row| row.get("id") == wanted.get("id")) else {
            let ids: Vec<_> = found.iter().map(|row| row.get("id")).collect();
            out.push(difference(&at, &json!("a row"), &json!(ids)));
            continue;
        };
        for field in ["name", "preferredOperation"] {
            if wanted.get(field) != row.get(field) {
                out.push(difference(
                    &format!("{at}.{field}"),
                    &json!(wanted.get(field)),
                    &json!(row.get(field)),
                ));
            }
        }
        // Ours may have more fields, as debug entries have (OBS §5).
        let (theirs, mine) = (fields(wanted.get("data")), fields(row.get("data")));
        if theirs.iter().any(|field| !mine.contains(field)) {
            out.push(difference(&format!("{at}.data"), &json!(theirs), &json!(mine)));
        }
    }
}

/// The fields of an object, or of the first entry of a list (`[0]` stands before them).
fn fields(data: Option<&Value>) -> Vec<String> {
    let names = |value: &Value, before: &str| -> Vec<String> {
        value.as_object().into_iter().flatten().map(|(key, _)| format!("{before}{key}")).collect()
    };
    match data {
        Some(Value::Array(entries)) => entries.first().map(|first| names(first, "[0].")).unwrap_or_default(),
        Some(object) => names(object, ""),
        None => Vec::new(),
    }
}

//! The recorded form of a bundle: `trace` says what happened where, `overwrite` and `updates` hold the values.

use std::collections::HashSet;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::bundle::{Bundle, Gap, Phase, Row, Untracked};
use super::path::Path;
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::json::{JsonError, JsonErrorKind, JsonReader};
use crate::value::{Array, Object, Str, Value};
use crate::verbs::{Verb, set_at};

/// Fields this module owns; everything else is kept in [`Bundle::extra`].
const FIELDS: [&str; 11] = [
    "idx",
    "stage",
    "stageId",
    "runtimeStageId",
    "trace",
    "overwrite",
    "updates",
    "redactedPaths",
    "untrackedSources",
    "tags",
    "phase",
];

/// The same for one row.
const ROW_FIELDS: [&str; 3] = ["path", "verb", "readKeys"];

fn unknown_fields(value: &Value, known: &[&str]) -> Object {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| !known.contains(&&***name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

impl Bundle {
    /// The values of `set` and `append` rows at their paths.
    pub fn overwrite(&self) -> Object {
        self.values_of(|verb| matches!(verb, Verb::Set | Verb::Append))
    }

    /// The deltas of `merge` rows at their paths.
    pub fn updates(&self) -> Object {
        self.values_of(|verb| verb == Verb::Merge)
    }

    fn values_of(&self, wanted: impl Fn(Verb) -> bool) -> Object {
        let mut values = Object::new();
        for row in self.rows.iter().filter(|row| wanted(row.verb) && !row.echo) {
            set_at(&mut values, row.path.segments(), row.value.clone());
        }
        values
    }

    /// Gives every row the value it has after a trip through the recorded form, where rows of one path share
    /// one place and a value below another row's value is part of it.
    pub(super) fn settle_rows(rows: &mut [Row]) {
        let nested = rows.iter().any(|row| row.path.len() > 1);
        // Rows of distinct root keys have their places to themselves.
        if !nested && !has_repeats(rows) {
            return;
        }
        let mut overwrite = Object::new();
        let mut updates = Object::new();
        for row in rows.iter().filter(|row| !row.echo) {
            match row.verb {
                Verb::Set | Verb::Append => set_at(&mut overwrite, row.path.segments(), row.value.clone()),
                Verb::Merge => set_at(&mut updates, row.path.segments(), row.value.clone()),
                Verb::Delete => {}
            }
        }
        for row in rows.iter_mut().filter(|row| row.verb != Verb::Delete && !row.echo) {
            let source = if row.verb == Verb::Merge { &updates } else { &overwrite };
            match source.walk(row.path.segments()) {
                Some(value) => row.value = value.clone(),
                // A later row of a path above took the place: recorded, this is a row without a value.
                None => (row.verb, row.value) = (Verb::Delete, Value::Null),
            }
        }
    }

    /// The recorded form.
    pub fn to_value(&self) -> Value {
        let mut fields: Vec<(Str, Value)> = Vec::with_capacity(FIELDS.len());
        self.each_field(|name, value| fields.push((name.into(), value)));
        Value::Object(fields.into_iter().collect())
    }

    fn each_field(&self, mut field: impl FnMut(&str, Value)) {
        field("idx", self.idx.0.into());
        field("stage", self.stage.clone().into());
        field("stageId", self.stage_id.clone().into());
        field("runtimeStageId", self.runtime_stage_id.to_string().into());
        field("trace", self.rows.iter().map(trace_row).collect());
        field("overwrite", self.overwrite().into());
        field("updates", self.updates().into());
        field("redactedPaths", self.redacted_paths.iter().map(Path::wire).collect());
        if !self.untracked.is_empty() && !self.extra.contains_key("untrackedSources") {
            field("untrackedSources", self.untracked.words().collect());
        }
        if let Some(tags) = &self.tags {
            field("tags", Value::Array(tags.iter().cloned().collect()));
        }
        if let Some(phase) = self.phase {
            field("phase", phase.as_str().into());
        }
        for (name, value) in &self.extra {
            field(name, value.clone());
        }
    }

    /// Reads the recorded form, of ours and of older recordings. `index` is its position in the log; it
    /// stands in for a missing `idx` and names the gap.
    ///
    /// A `set` row without a value at its path is a delete (ENG-76). Unknown fields are kept.
    pub fn from_value(value: &Value, index: CommitIdx) -> Result<Self, Gap> {
        let gap = |reason: String| Gap { index, reason };
        let Value::Object(fields) = value else {
            return Err(gap(format!("expected an object, found {}", value.kind())));
        };
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(Str::from("")),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(gap(format!("`{name}` must be text, found {}", other.kind()))),
        };
        let object = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(Object::new()),
            Some(Value::Object(object)) => Ok(object.clone()),
            Some(other) => Err(gap(format!("`{name}` must be an object, found {}", other.kind()))),
        };
        let list = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(Array::new()),
            Some(Value::Array(list)) => Ok(list.clone()),
            Some(other) => Err(gap(format!("`{name}` must be a list, found {}", other.kind()))),
        };
        let (overwrite, updates) = (object("overwrite")?, object("updates")?);
        let mut rows = Vec::new();
        for row in &list("trace")? {
            rows.push(read_row(row, &overwrite, &updates).map_err(gap)?);
        }
        mark_echoes(&mut rows);
        let mut extra = unknown_fields(value, &FIELDS);
        let mut untracked = Untracked::NONE;
        for word in &list("untrackedSources")? {
            match word.as_str().and_then(Untracked::from_word) {
                Some(source) => untracked.add(source),
                // A source of a later version: the list is kept as it is.
                None => {
                    extra.insert("untrackedSources", list("untrackedSources")?.into());
                }
            }
        }
        let phase = match fields.get("phase") {
            None | Some(Value::Null) => None,
            Some(word) => {
                let known = [Phase::Exit, Phase::Repeat].into_iter().find(|phase| *word == phase.as_str());
                if known.is_none() {
                    extra.insert("phase", word.clone());
                }
                known
            }
        };
        let tags = list("tags")?;
        Ok(Self {
            idx: CommitIdx(fields.get("idx").and_then(Value::as_u64).map_or(index.0, |idx| idx as usize)),
            stage: text("stage")?,
            stage_id: text("stageId")?,
            runtime_stage_id: RuntimeStageId::parse(&text("runtimeStageId")?),
            rows: rows.into(),
            redacted_paths: list("redactedPaths")?
                .iter()
                .filter_map(Value::as_str)
                .map(Path::from_wire)
                .collect(),
            untracked,
            tags: (!tags.is_empty()).then(|| tags.iter().filter_map(Value::as_shared_str).cloned().collect()),
            phase,
            extra,
        })
    }

    /// Reads the next bundle of a JSON text. A text that is not JSON is an error of the whole document; a
    /// bundle that cannot be understood is a [`Gap`], and the reader stands behind it.
    pub fn read(reader: &mut JsonReader<'_>, index: CommitIdx) -> Result<Result<Self, Gap>, JsonError> {
        let outside = reader.depth();
        match reader.read_value() {
            Ok(value) => Ok(Self::from_value(&value, index)),
            Err(JsonError { kind: kind @ JsonErrorKind::TooDeep { .. }, .. }) => {
                // Too deep for a value, not for the document: step over it.
                reader.skip_out(outside)?;
                Ok(Err(Gap { index, reason: kind.to_string() }))
            }
            Err(error) => Err(error),
        }
    }
}

fn has_repeats(rows: &[Row]) -> bool {
    /// Up to this many rows comparing is cheaper than hashing.
    const FEW: usize = 8;
    if rows.len() <= FEW {
        let later = |at: usize| rows.get(at + 1..).unwrap_or_default();
        return rows.iter().enumerate().any(|(at, row)| later(at).iter().any(|other| other.path == row.path));
    }
    let mut seen = HashSet::with_capacity(rows.len());
    rows.iter().any(|row| !seen.insert(&row.path))
}

fn trace_row(row: &Row) -> Value {
    let fields = [
        Some(("path", Value::from(row.path.wire()))),
        Some(("verb", row.verb.as_str().into())),
        row.read_keys.as_ref().map(|keys| ("readKeys", Value::Array(keys.iter().cloned().collect()))),
    ];
    let unknown =
        row.extra.iter().flat_map(|extra| extra.iter()).map(|(name, value)| (&**name, value.clone()));
    Value::Object(fields.into_iter().flatten().chain(unknown).collect())
}

fn read_row(row: &Value, overwrite: &Object, updates: &Object) -> Result<Row, String> {
    let Some(path) = row.get("path").and_then(Value::as_str) else {
        return Err("a row without path".to_owned());
    };
    let path = Path::from_wire(path);
    if path.is_empty() {
        return Err("a row with an empty path".to_owned());
    }
    let Some(word) = row.get("verb").and_then(Value::as_str) else {
        return Err(format!("the row at {path} has no verb"));
    };
    let verb: Verb = word.parse().map_err(|_| format!("unknown verb {word:?} at {path}"))?;
    let source = if verb == Verb::Merge { updates } else { overwrite };
    let value = source.walk(path.segments());
    let (verb, value) = match (verb, value) {
        (Verb::Set, None) | (Verb::Delete, _) => (Verb::Delete, Value::Null),
        (Verb::Merge | Verb::Append, None) => return Err(format!("no value for the {verb} row at {path}")),
        (verb, Some(value)) => (verb, value.clone()),
    };
    let read_keys = row
        .get("readKeys")
        .and_then(Value::as_array)
        .map(|keys| keys.iter().filter_map(Value::as_shared_str).cloned().collect());
    let unknown = unknown_fields(row, &ROW_FIELDS);
    let extra = (!unknown.is_empty()).then(|| Box::new(unknown));
    Ok(Row { path, verb, value, read_keys, echo: false, extra })
}

/// Marks merge rows whose path an earlier merge row of the bundle covers, with nothing in between that
/// could have undone it: their accumulated delta is replayed once.
pub(super) fn mark_echoes(rows: &mut [Row]) {
    let merges = rows.iter().filter(|row| row.verb == Verb::Merge).count();
    if merges < 2 {
        return;
    }
    let mut merged: HashSet<Path> = HashSet::new();
    for row in rows {
        if row.verb == Verb::Merge {
            row.echo = !merged.insert(row.path.clone());
        } else {
            merged.retain(|path| !path.is_prefix_of(&row.path) && !row.path.is_prefix_of(path));
        }
    }
}

/// The recorded form of ENG 5.3.
impl Serialize for Bundle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut result = Ok(());
        self.each_field(|name, value| {
            if result.is_ok() {
                result = map.serialize_entry(name, &value);
            }
        });
        result?;
        map.end()
    }
}

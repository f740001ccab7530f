//! Reading a recording back: leniently, once, into typed rows, without recursion (OBS §12, ENG §12).

use std::collections::HashMap;
use std::sync::Arc;

use super::read_tree::read_tree;
use super::{
    CommitLog, LogAddress, PreferredOperation, RecorderFailure, RecorderRow, Snapshot, SubflowContext,
    SubflowResult,
};
use crate::ids::{CommitIdx, RuntimeStageId};
use crate::json::{JsonError, JsonErrorKind, JsonReader, Limits, TokenKind};
use crate::state::{Bundle, CommitValues, WriteProvenance};
use crate::value::{Object, Str, Value};

/// What may be opened at most (OBS-187). The execution tree's own depth is bounded by the step count only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenLimits {
    /// Bytes of text.
    pub max_bytes: usize,
    /// Commits, all logs together.
    pub max_commits: usize,
    /// Bytes of plain JSON that a packed recording may stand for. Nothing of that size is ever made; but whoever walks
    /// through all of it walks that far.
    pub max_expanded_bytes: u64,
}

impl Default for OpenLimits {
    fn default() -> Self {
        Self { max_bytes: 512 << 20, max_commits: 5_000_000, max_expanded_bytes: 1 << 40 }
    }
}

/// Why a recording could not be opened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenRecordingError {
    /// There is no snapshot object.
    #[error("no `snapshot` object: a recording is made by attaching the recorder before the run starts")]
    NoSnapshot,
    /// The snapshot lacks what every question needs.
    #[error("the snapshot has no usable {}: a recording is made by attaching the recorder before the run starts", parts.join(" and no usable "))]
    MissingPart {
        /// The missing parts.
        parts: Vec<&'static str>,
    },
    /// Larger than the limits.
    #[error("the recording exceeds {limit}: {actual}")]
    RecordingTooLarge {
        /// The limit, by name and value.
        limit: String,
        /// What was found.
        actual: String,
    },
    /// The text is not JSON.
    #[error("the recording is not JSON: {0}")]
    Json(JsonError),
}

impl From<JsonError> for OpenRecordingError {
    fn from(error: JsonError) -> Self {
        match error.kind {
            JsonErrorKind::TooLong { limit } => Self::RecordingTooLarge {
                limit: format!("max_bytes {limit}"),
                actual: format!("more than {limit} bytes"),
            },
            JsonErrorKind::ExpandsTooMuch { limit } => Self::RecordingTooLarge {
                limit: format!("max_expanded_bytes {limit}"),
                actual: format!("its values stand for more than {limit} bytes of JSON"),
            },
            JsonErrorKind::TooDeep { limit } => Self::RecordingTooLarge {
                limit: format!("max_value_depth {limit}"),
                actual: format!("a deeper value at byte {}", error.offset),
            },
            _ => Self::Json(error),
        }
    }
}

/// A recording: the snapshot, and what stands beside it, kept verbatim.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The record of the run.
    pub snapshot: Snapshot,
    /// Other members of the recording object (`events`, `structure`, …) as JSON text, in order.
    pub beside: Vec<(Str, Str)>,
}

impl Recording {
    /// Opens `{snapshot, …}`.
    ///
    /// # Errors
    /// [`OpenRecordingError`] names what is missing or too large. It never opens an empty bag that answers "nothing happened".
    pub fn open(text: &[u8], limits: &OpenLimits) -> Result<Self, OpenRecordingError> {
        let mut reader = Reader::new(text, limits);
        if reader.json.peek()? != TokenKind::Object {
            return Err(OpenRecordingError::NoSnapshot);
        }
        let mut snapshot = None;
        let mut beside = Vec::new();
        reader.json.begin_object()?;
        while let Some(key) = reader.json.next_key()? {
            if &*key == "snapshot" && reader.json.peek()? == TokenKind::Object {
                snapshot = Some(reader.snapshot()?);
            } else {
                let key = Str::from(key);
                let raw = reader.json.next_raw()?;
                reader.json.skip_value()?;
                beside.push((key, Str::from(String::from_utf8_lossy(raw.text()))));
            }
        }
        reader.json.finish()?;
        let snapshot = snapshot.ok_or(OpenRecordingError::NoSnapshot)?;
        Ok(Self { snapshot, beside })
    }

    /// The JSON text of a member beside the snapshot.
    pub fn beside(&self, key: &str) -> Option<&str> {
        self.beside.iter().find(|(k, _)| **k == *key).map(|(_, raw)| &**raw)
    }
}

/// Reads a bare snapshot.
///
/// # Errors
/// [`OpenRecordingError`] names what is missing or too large.
pub fn read_snapshot(text: &[u8], limits: &OpenLimits) -> Result<Snapshot, OpenRecordingError> {
    let mut reader = Reader::new(text, limits);
    let snapshot = reader.bare()?;
    reader.json.finish()?;
    Ok(snapshot)
}

/// Reads the snapshot that comes next in a text, which may be one whose parts are shared.
///
/// # Errors
/// As [`read_snapshot`].
pub fn read_snapshot_from(json: JsonReader<'_>, limits: &OpenLimits) -> Result<Snapshot, OpenRecordingError> {
    Reader::over(json, limits).bare()
}

impl Snapshot {
    /// Reads a bare snapshot with default limits.
    ///
    /// # Errors
    /// [`OpenRecordingError`] names what is missing or too large.
    pub fn from_json(text: &str) -> Result<Self, OpenRecordingError> {
        read_snapshot(text.as_bytes(), &OpenLimits::default())
    }
}

/// A field of a record that did not have the expected type is kept as it stood.
pub(super) fn keep(extra: &mut Object, key: &str, value: Value) {
    extra.insert(key, value);
}

struct Reader<'a> {
    json: JsonReader<'a>,
    commits_left: usize,
    max_commits: usize,
    gap_filler: Arc<Bundle>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8], limits: &OpenLimits) -> Self {
        let json_limits = Limits { max_bytes: limits.max_bytes, ..Limits::default() };
        Self::over(JsonReader::with_limits(text, json_limits), limits)
    }

    fn over(json: JsonReader<'a>, limits: &OpenLimits) -> Self {
        Self {
            json,
            commits_left: limits.max_commits,
            max_commits: limits.max_commits,
            gap_filler: Arc::new(Bundle::empty(CommitIdx(0), "", "", RuntimeStageId::parse(""))),
        }
    }

    fn bare(&mut self) -> Result<Snapshot, OpenRecordingError> {
        if self.json.peek()? != TokenKind::Object {
            return Err(OpenRecordingError::NoSnapshot);
        }
        self.snapshot()
    }

    fn snapshot(&mut self) -> Result<Snapshot, OpenRecordingError> {
        let mut out = Snapshot::default();
        let (mut log, mut tree) = (false, false);
        let mut no_frame = false;
        self.json.begin_object()?;
        while let Some(key) = self.json.next_key()? {
            match (&*key, self.json.peek()?) {
                ("executionTree", TokenKind::Object) => {
                    out.execution_tree = read_tree(&mut self.json)?;
                    tree = true;
                }
                // A run that never started has no frame; with commits it would be a damaged recording.
                ("executionTree", TokenKind::Null) => {
                    self.json.read_null()?;
                    no_frame = true;
                }
                ("commitLog", TokenKind::Array) | ("history", TokenKind::Array) => {
                    out.commit_log = self.log()?;
                    log = true;
                }
                ("subflowResults", TokenKind::Object) => self.subflows(&mut out)?,
                ("recorders", TokenKind::Array) => out.recorders = self.rows()?,
                ("recorderFailures", TokenKind::Array) => {
                    let value = self.json.read_value()?;
                    match failures(&value) {
                        Some(list) => out.recorder_failures = list,
                        None => keep(&mut out.extra, &key, value),
                    }
                }
                _ => {
                    let value = self.json.read_value()?;
                    snapshot_field(&mut out, &key, value);
                }
            }
        }
        tree |= no_frame && log && out.commit_log.is_empty();
        let missing = [("commitLog", log), ("executionTree", tree)];
        let parts: Vec<_> = missing.into_iter().filter(|(_, there)| !there).map(|(part, _)| part).collect();
        if parts.is_empty() { Ok(out) } else { Err(OpenRecordingError::MissingPart { parts }) }
    }

    fn log(&mut self) -> Result<CommitLog, OpenRecordingError> {
        let mut log = CommitLog::new();
        self.json.begin_array()?;
        while self.json.next_item()? {
            self.commits_left = self.commits_left.checked_sub(1).ok_or_else(|| {
                let max = self.max_commits;
                OpenRecordingError::RecordingTooLarge {
                    limit: format!("max_commits {max}"),
                    actual: format!("more than {max} commits"),
                }
            })?;
            let row = self.json.read_value()?;
            match Bundle::from_value(&row, CommitIdx(log.len())) {
                Ok(bundle) => log.push(Arc::new(bundle)),
                Err(gap) => log.push_gap(gap.reason, row, Arc::clone(&self.gap_filler)),
            }
        }
        Ok(log)
    }

    /// Every execution stands there twice, under its path and under its address: equal text is read once and shared.
    fn subflows(&mut self, out: &mut Snapshot) -> Result<(), OpenRecordingError> {
        let mut seen: HashMap<(&'a [u8], bool), Arc<SubflowResult>> = HashMap::new();
        self.json.begin_object()?;
        while let Some(key) = self.json.next_key()? {
            let key = Str::from(key);
            let raw = self.json.next_raw()?;
            let place = (raw.text(), raw.is_literal());
            if let Some(shared) = seen.get(&place) {
                self.json.skip_value()?;
                out.subflow_results.insert(key, Arc::clone(shared));
                continue;
            }
            let result = Arc::new(self.subflow()?);
            seen.insert(place, Arc::clone(&result));
            out.subflow_results.insert(key, result);
        }
        Ok(())
    }

    fn subflow(&mut self) -> Result<SubflowResult, OpenRecordingError> {
        let mut out = SubflowResult::default();
        if self.json.peek()? != TokenKind::Object {
            keep(&mut out.extra, "unreadable", self.json.read_value()?);
            return Ok(out);
        }
        self.json.begin_object()?;
        while let Some(key) = self.json.next_key()? {
            match (&*key, self.json.peek()?) {
                ("treeContext", TokenKind::Object) => out.tree_context = self.context()?,
                ("pipelineStructure", TokenKind::Object) => {
                    let raw = self.json.next_raw()?;
                    match self.json.again(&raw).read_value() {
                        Ok(structure) => out.pipeline_structure = Some(structure),
                        Err(_) => {
                            let text = self.json.text_of(&raw)?;
                            out.pipeline_structure_text = Some(Str::from(String::from_utf8_lossy(&text)));
                        }
                    }
                    self.json.skip_value()?;
                }
                _ => match (&*key, self.json.read_value()?) {
                    ("subflowId", Value::String(text)) => out.subflow_id = text,
                    ("subflowName", Value::String(text)) => out.subflow_name = text,
                    ("parentStageId", Value::String(text)) => out.parent_stage_id = text,
                    (_, value) => keep(&mut out.extra, &key, value),
                },
            }
        }
        Ok(out)
    }

    fn context(&mut self) -> Result<SubflowContext, OpenRecordingError> {
        let mut out = SubflowContext::default();
        self.json.begin_object()?;
        while let Some(key) = self.json.next_key()? {
            match (&*key, self.json.peek()?) {
                ("stageContexts" | "executionTree", TokenKind::Object) => {
                    out.stage_contexts = read_tree(&mut self.json)?;
                }
                ("stageContexts", TokenKind::Null) => self.json.read_null()?,
                ("history" | "commitLog", TokenKind::Array) => out.history = self.log()?,
                _ => match (&*key, self.json.read_value()?) {
                    ("globalContext", Value::Object(state)) => out.global_context = state,
                    ("initialState", Value::Object(state)) => out.initial_state = Some(state),
                    ("logAddress", value) => match address(&value) {
                        Some(address) => out.log_address = Some(address),
                        None => keep(&mut out.extra, &key, value),
                    },
                    (_, value) => keep(&mut out.extra, &key, value),
                },
            }
        }
        Ok(out)
    }

    fn rows(&mut self) -> Result<Vec<RecorderRow>, OpenRecordingError> {
        let mut rows = Vec::new();
        self.json.begin_array()?;
        while self.json.next_item()? {
            rows.push(recorder_row(self.json.read_value()?));
        }
        Ok(rows)
    }
}

fn snapshot_field(out: &mut Snapshot, key: &str, value: Value) {
    match (key, value) {
        ("runId", Value::String(text)) => out.run_id = Some(text),
        ("sharedState", Value::Object(state)) => out.shared_state = state,
        ("initialState", Value::Object(state)) => out.initial_state = Some(state),
        ("runLabel", Value::String(text)) => out.run_label = Some(text),
        ("observerStats", value) => out.observer_stats = Some(value),
        ("commitValues", value) => match value.as_str().map(str::parse::<CommitValues>) {
            Some(Ok(dial)) => out.commit_values = dial,
            _ => keep(&mut out.extra, key, value),
        },
        ("writeProvenance", value) => match value.as_str().map(str::parse::<WriteProvenance>) {
            Some(Ok(dial)) => out.write_provenance = dial,
            _ => keep(&mut out.extra, key, value),
        },
        ("logAddress", value) => match address(&value) {
            Some(address) => out.log_address = Some(address),
            None => keep(&mut out.extra, key, value),
        },
        (_, value) => keep(&mut out.extra, key, value),
    }
}

fn address(value: &Value) -> Option<LogAddress> {
    let path = value.get("drillPath")?.as_array()?;
    Some(LogAddress {
        log_run_id: value.get("logRunId")?.as_shared_str()?.clone(),
        drill_path: path.iter().map(|v| v.as_shared_str().cloned()).collect::<Option<_>>()?,
    })
}

fn failures(value: &Value) -> Option<Vec<RecorderFailure>> {
    let failure = |v: &Value| {
        let text = |key: &str| v.get(key)?.as_shared_str().cloned();
        Some(RecorderFailure {
            id: text("id")?,
            hook: text("hook")?,
            count: v.get("count")?.as_u64()?,
            first_message: text("firstMessage")?,
        })
    };
    value.as_array()?.iter().map(failure).collect()
}

fn recorder_row(value: Value) -> RecorderRow {
    let mut row = RecorderRow {
        id: "".into(),
        name: "".into(),
        description: None,
        preferred_operation: None,
        data: Value::Null,
        meta: None,
        extra: Object::new(),
    };
    let Value::Object(fields) = value else {
        row.data = value;
        return row;
    };
    for (key, value) in fields.iter() {
        match (&**key, value) {
            ("id", Value::String(text)) => row.id = text.clone(),
            ("name", Value::String(text)) => row.name = text.clone(),
            ("description", Value::String(text)) => row.description = Some(text.clone()),
            ("data", data) => row.data = data.clone(),
            ("meta", meta) => row.meta = Some(meta.clone()),
            ("preferredOperation", Value::String(word)) if PreferredOperation::parse(word).is_some() => {
                row.preferred_operation = PreferredOperation::parse(word);
            }
            _ => keep(&mut row.extra, key, value.clone()),
        }
    }
    row
}

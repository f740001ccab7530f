//! The checkpoint's text form: written in field order, version first, and read field by field (ENG-127).
//!
//! Checkpoints are untrusted input. Reading never recurses over the tree, refuses by field, and what follows
//! a resume comes from the chart alone. Values of the reference's sanitising markers are ordinary values.

use std::fmt::Display;
use std::sync::Arc;

use indexmap::IndexMap;

use super::checkpoint::{CHECKPOINT_VERSION, FlowchartCheckpoint, PausedExecution, PendingPause};
use super::record::FanOutMemory;
use crate::json::{JsonReader, JsonWriter, Limits, TokenKind};
use crate::snapshot::read_tree::read_tree;
use crate::snapshot::{ExecutionTree, Snapshot, SubflowResult, read_snapshot, write_snapshot};
use crate::state::Path;
use crate::value::{Array, Object, Str, Value};

/// A checkpoint that cannot be read, named to the field.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("checkpoint field `{path}`: {what}")]
pub struct InvalidCheckpoint {
    /// Dotted path of the field; empty for the whole text.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
}

type Read<T> = Result<T, InvalidCheckpoint>;

fn refuse<T>(path: impl Into<String>, what: impl Into<String>) -> Read<T> {
    Err(InvalidCheckpoint { path: path.into(), what: what.into() })
}

impl FlowchartCheckpoint {
    /// The checkpoint as JSON text.
    ///
    /// ```
    /// use footprint::pause::FlowchartCheckpoint;
    /// let mut checkpoint = FlowchartCheckpoint::default();
    /// checkpoint.paused_stage_id = "ask".into();
    /// let text = checkpoint.to_json();
    /// assert!(text.starts_with(r#"{"checkpointVersion":1,"#));
    /// assert!(text.contains(r#""pausedStageId":"ask""#));
    /// ```
    pub fn to_json(&self) -> String {
        // Room for a small one; most of a large one is its state and its tree.
        let mut text = String::with_capacity(2048);
        let mut out = JsonWriter::new(&mut text);
        out.begin_object();
        out.key("checkpointVersion");
        out.uint(CHECKPOINT_VERSION);
        let mut put = |key: &str, value: Value| {
            out.key(key);
            out.value(&value);
        };
        put("sharedState", Value::Object(self.shared_state.clone()));
        put("pausedStageId", Value::from(self.paused_stage_id.clone()));
        if let Some(at) = &self.paused_execution {
            put("pausedExecution", execution(at));
        }
        put("subflowPath", strings(&self.subflow_path));
        if let Some(data) = &self.pause_data {
            put("pauseData", data.clone());
        }
        put("subflowStates", objects(&self.subflow_states));
        if let Some(count) = self.execution_count {
            put("executionCount", Value::from(count));
        }
        let visits: Object =
            self.visit_counts.iter().map(|(id, count)| (id.clone(), Value::from(*count))).collect();
        put("visitCounts", Value::Object(visits));
        if let Some(invoker) = &self.invoker_stage_id {
            put("invokerStageId", Value::from(invoker.clone()));
        }
        if !self.pending_pauses.is_empty() {
            put("pendingPauses", Value::Array(self.pending_pauses.iter().map(pending).collect()));
        }
        if self.by_interrupt {
            put("pausedBy", Value::from("interrupt"));
        }
        if !self.interrupt_answers.is_empty() {
            put("interruptAnswers", Value::Array(self.interrupt_answers.iter().cloned().collect()));
        }
        if let Some(answer) = &self.resumed_with {
            put("resumedWith", answer.clone());
        }
        put("pausedAt", Value::from(self.paused_at));
        if !self.dispatched_by.is_empty() {
            let by: Object =
                self.dispatched_by.iter().map(|(id, at)| (id.clone(), Value::from(at.clone()))).collect();
            put("dispatchedBy", Value::Object(by));
        }
        if !self.fan_outs.is_empty() {
            let fans: Object = self.fan_outs.iter().map(|(id, fan)| (id.clone(), memory(fan))).collect();
            put("fanOuts", Value::Object(fans));
        }
        if !self.redaction_marks.is_empty() {
            put(
                "redactionMarks",
                Value::Array(self.redaction_marks.iter().map(|m| strings(m.segments())).collect()),
            );
        }
        out.key("executionTree");
        self.execution_tree.write(&mut out);
        if let Some(results) = self.subflow_results_json() {
            out.key("subflowResults");
            out.raw(&results);
        }
        out.end_object();
        text
    }

    /// The finished mounts as JSON text, written the way a snapshot writes them.
    fn subflow_results_json(&self) -> Option<String> {
        if self.subflow_results.is_empty() {
            return None;
        }
        let carrier = Snapshot { subflow_results: self.subflow_results.clone(), ..Snapshot::default() };
        let mut text = String::new();
        write_snapshot(&carrier, &mut text);
        member(text.as_bytes(), "subflowResults").map(str::to_owned)
    }

    /// Reads a checkpoint without limits on size and depth.
    ///
    /// # Errors
    /// [`InvalidCheckpoint`] names the first field that cannot be read.
    pub fn from_json(text: &str) -> Result<Self, InvalidCheckpoint> {
        Self::from_json_with(text, Limits::default())
    }

    /// Reads a checkpoint within limits; checkpoints from outside deserve some.
    ///
    /// # Errors
    /// [`InvalidCheckpoint`] names the first field that cannot be read.
    pub fn from_json_with(text: &str, limits: Limits) -> Result<Self, InvalidCheckpoint> {
        let mut fields = Fields::default();
        fields.read(text, limits)?;
        fields.checkpoint()
    }
}

/// The members that are read as plain values.
const MEMBERS: [&str; 18] = [
    "checkpointVersion",
    "sharedState",
    "pausedStageId",
    "pausedExecution",
    "subflowPath",
    "pauseData",
    "subflowStates",
    "executionCount",
    "visitCounts",
    "invokerStageId",
    "pendingPauses",
    "pausedBy",
    "interruptAnswers",
    "resumedWith",
    "pausedAt",
    "dispatchedBy",
    "fanOuts",
    "redactionMarks",
];

/// Members of the text.
#[derive(Default)]
struct Fields<'a> {
    /// The known ones; a member that stands there twice counts as it stands last.
    values: Vec<(&'static str, Value)>,
    tree: Option<ExecutionTree>,
    results: Option<&'a str>,
}

impl<'a> Fields<'a> {
    fn read(&mut self, text: &'a str, limits: Limits) -> Read<()> {
        let bad = |error: crate::json::JsonError| InvalidCheckpoint {
            path: String::new(),
            what: error.to_string(),
        };
        let mut json = JsonReader::with_limits(text.as_bytes(), limits);
        if json.peek().map_err(bad)? != TokenKind::Object {
            return refuse("", "is not an object");
        }
        json.begin_object().map_err(bad)?;
        while let Some(key) = json.next_key().map_err(bad)? {
            let at = |error: crate::json::JsonError| InvalidCheckpoint {
                path: key.to_string(),
                what: error.to_string(),
            };
            let kind = json.peek().map_err(at)?;
            match &*key {
                "executionTree" | "subflowResults" if kind == TokenKind::Null => {
                    json.read_null().map_err(at)?
                }
                "executionTree" | "subflowResults" if kind != TokenKind::Object => {
                    return refuse(&*key, "is not an object");
                }
                "executionTree" => self.tree = Some(read_tree(&mut json).map_err(at)?),
                "subflowResults" => {
                    let start = json.offset();
                    json.skip_value().map_err(at)?;
                    self.results = Some(text.get(start..json.offset()).unwrap_or_default().trim());
                }
                _ => {
                    let value = json.read_value().map_err(at)?;
                    let Some(name) = MEMBERS.iter().find(|name| ***name == *key) else { continue };
                    match self.values.iter_mut().find(|(known, _)| known == name) {
                        Some((_, known)) => *known = value,
                        None => self.values.push((name, value)),
                    }
                }
            }
        }
        json.finish().map_err(bad)
    }

    fn given(&mut self, key: &str) -> Option<Value> {
        let at = self.values.iter().position(|(known, _)| *known == key)?;
        Some(self.values.swap_remove(at).1)
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        self.given(key).filter(|value| !value.is_null())
    }

    fn required(&mut self, key: &str) -> Read<Value> {
        self.take(key).map_or_else(|| refuse(key, "is missing"), Ok)
    }

    fn checkpoint(mut self) -> Read<FlowchartCheckpoint> {
        // The one upcaster: version 0 has no version field and none of the later optional fields.
        match self.take("checkpointVersion") {
            None => {}
            Some(version) if version.as_u64() == Some(CHECKPOINT_VERSION) || version.as_u64() == Some(0) => {}
            Some(_) => return refuse("checkpointVersion", "is a version this engine does not know"),
        }
        let (tree, results) = self.records()?;
        let mut out = FlowchartCheckpoint {
            shared_state: object(self.required("sharedState")?, "sharedState")?,
            execution_tree: tree,
            paused_stage_id: text(self.required("pausedStageId")?, "pausedStageId")?,
            paused_execution: self.take("pausedExecution").and_then(|value| read_execution(&value)),
            subflow_path: texts(self.required("subflowPath")?, "subflowPath")?,
            pause_data: self.given("pauseData"),
            subflow_states: states(self.take("subflowStates"), "subflowStates")?,
            subflow_results: results,
            ..FlowchartCheckpoint::default()
        };
        if out.paused_stage_id.is_empty() {
            return refuse("pausedStageId", "is empty");
        }
        if let Some(count) = self.take("executionCount") {
            out.execution_count = Some(count_of(&count, "executionCount")?);
        }
        for (id, count) in
            &self.take("visitCounts").map_or(Ok(Object::new()), |v| object(v, "visitCounts"))?
        {
            out.visit_counts.insert(id.clone(), count_of(count, format_args!("visitCounts.{id}"))?);
        }
        out.invoker_stage_id = self.take("invokerStageId").map(|v| text(v, "invokerStageId")).transpose()?;
        out.by_interrupt = by_interrupt(self.take("pausedBy"), "pausedBy")?;
        out.interrupt_answers = values(self.take("interruptAnswers"), "interruptAnswers")?;
        out.resumed_with = self.given("resumedWith");
        if let Some(at) = self.take("pausedAt") {
            match at.as_f64() {
                Some(at) if at >= 0.0 => out.paused_at = at as u64,
                _ => return refuse("pausedAt", "is not a time"),
            }
        }
        for (at, value) in values(self.take("pendingPauses"), "pendingPauses")?.into_iter().enumerate() {
            out.pending_pauses.push(read_pending(value, &format!("pendingPauses[{at}]"))?);
        }
        for (id, address) in
            &self.take("dispatchedBy").map_or(Ok(Object::new()), |v| object(v, "dispatchedBy"))?
        {
            out.dispatched_by.insert(id.clone(), text(address.clone(), format_args!("dispatchedBy.{id}"))?);
        }
        for (id, fan) in &self.take("fanOuts").map_or(Ok(Object::new()), |v| object(v, "fanOuts"))? {
            out.fan_outs.insert(id.clone(), read_memory(fan, &format!("fanOuts.{id}"))?);
        }
        for (at, mark) in values(self.take("redactionMarks"), "redactionMarks")?.into_iter().enumerate() {
            out.redaction_marks.push(Path::new(texts(mark, &format!("redactionMarks[{at}]"))?));
        }
        Ok(out)
    }

    /// Tree and finished mounts; those are read by the snapshot's own reader.
    fn records(&mut self) -> Read<(ExecutionTree, IndexMap<Str, Arc<SubflowResult>>)> {
        let Some(tree) = self.tree.take() else { return refuse("executionTree", "is missing") };
        let Some(results) = self.results else { return Ok((tree, IndexMap::new())) };
        let carrier = format!(r#"{{"executionTree":null,"commitLog":[],"subflowResults":{results}}}"#);
        match read_snapshot(carrier.as_bytes(), &crate::snapshot::OpenLimits::default()) {
            Ok(snapshot) => Ok((tree, snapshot.subflow_results)),
            Err(error) => refuse("subflowResults", error.to_string()),
        }
    }
}

/// The text of one member of an object.
fn member<'a>(text: &'a [u8], wanted: &str) -> Option<&'a str> {
    let mut json = JsonReader::new(text);
    json.begin_object().ok()?;
    while let Some(key) = json.next_key().ok()? {
        let found = *key == *wanted;
        json.peek().ok()?;
        let start = json.offset();
        json.skip_value().ok()?;
        if found {
            return std::str::from_utf8(text.get(start..json.offset())?).ok().map(str::trim);
        }
    }
    None
}

fn execution(at: &PausedExecution) -> Value {
    let mut out = Object::new();
    out.insert("runId", Value::from(at.run_id.clone()));
    out.insert("runtimeStageId", Value::from(at.runtime_stage_id.clone()));
    Value::Object(out)
}

fn strings(texts: &[Str]) -> Value {
    Value::Array(texts.iter().map(|text| Value::from(text.clone())).collect::<Array>())
}

fn objects(map: &IndexMap<Str, Object>) -> Value {
    Value::Object(map.iter().map(|(key, state)| (key.clone(), Value::Object(state.clone()))).collect())
}

fn pending(pause: &PendingPause) -> Value {
    let mut out = Object::new();
    out.insert("pausedStageId", Value::from(pause.paused_stage_id.clone()));
    out.insert("subflowPath", strings(&pause.subflow_path));
    out.insert("subflowStates", objects(&pause.subflow_states));
    if let Some(data) = &pause.pause_data {
        out.insert("pauseData", data.clone());
    }
    if pause.by_interrupt {
        out.insert("pausedBy", Value::from("interrupt"));
    }
    if let Some(at) = &pause.paused_execution {
        out.insert("pausedExecution", execution(at));
    }
    if !pause.interrupt_answers.is_empty() {
        out.insert("interruptAnswers", Value::Array(pause.interrupt_answers.iter().cloned().collect()));
    }
    if let Some(answer) = &pause.resumed_with {
        out.insert("resumedWith", answer.clone());
    }
    Value::Object(out)
}

fn memory(fan: &FanOutMemory) -> Value {
    let mut out = Object::new();
    out.insert("branches", Value::Array(fan.branches.clone()));
    out.insert("settled", Value::Object(fan.settled.clone()));
    Value::Object(out)
}

fn object(value: Value, path: impl Display) -> Read<Object> {
    match value {
        Value::Object(object) => Ok(object),
        other => refuse(path.to_string(), format!("is {}, not an object", other.kind())),
    }
}

fn text(value: Value, path: impl Display) -> Read<Str> {
    match value {
        Value::String(text) => Ok(text),
        other => refuse(path.to_string(), format!("is {}, not a string", other.kind())),
    }
}

fn texts(value: Value, path: &str) -> Read<Vec<Str>> {
    let Value::Array(items) = value else { return refuse(path, format!("is {}, not a list", value.kind())) };
    items.iter().enumerate().map(|(at, item)| text(item.clone(), format_args!("{path}[{at}]"))).collect()
}

fn values(value: Option<Value>, path: &str) -> Read<Vec<Value>> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.iter().cloned().collect()),
        Some(other) => refuse(path, format!("is {}, not a list", other.kind())),
    }
}

fn states(value: Option<Value>, path: &str) -> Read<IndexMap<Str, Object>> {
    let Some(value) = value else { return Ok(IndexMap::new()) };
    let mut out = IndexMap::new();
    for (key, state) in &object(value, path)? {
        out.insert(key.clone(), object(state.clone(), format_args!("{path}.{key}"))?);
    }
    Ok(out)
}

/// The largest integer every reader of JSON keeps. Counting goes on from what a checkpoint says, and must not reach the end of numbers.
const MAX_COUNT: u64 = 1 << 53;

fn count_of(value: &Value, path: impl Display) -> Read<u64> {
    match value.as_u64() {
        Some(count) if count <= MAX_COUNT => Ok(count),
        Some(_) => refuse(path.to_string(), format!("is more than {MAX_COUNT}, which no run counts to")),
        None => refuse(path.to_string(), "is not a count"),
    }
}

fn by_interrupt(value: Option<Value>, path: &str) -> Read<bool> {
    match value.as_ref().map(Value::as_str) {
        None => Ok(false),
        Some(Some("interrupt")) => Ok(true),
        Some(_) => refuse(path, "is not `interrupt`"),
    }
}

/// A malformed link is dropped: it never plans anything.
fn read_execution(value: &Value) -> Option<PausedExecution> {
    Some(PausedExecution {
        run_id: value.get("runId")?.as_shared_str()?.clone(),
        runtime_stage_id: value.get("runtimeStageId")?.as_shared_str()?.clone(),
    })
}

fn read_pending(value: Value, path: &str) -> Read<PendingPause> {
    let at = |field: &str| format!("{path}.{field}");
    let fields = object(value, path)?;
    let get = |field: &str| fields.get(field).filter(|value| !value.is_null()).cloned();
    let required = |field: &str| get(field).map_or_else(|| refuse(at(field), "is missing"), Ok);
    let id = text(required("pausedStageId")?, at("pausedStageId"))?;
    if id.is_empty() {
        return refuse(at("pausedStageId"), "is empty");
    }
    Ok(PendingPause {
        paused_stage_id: id,
        subflow_path: texts(required("subflowPath")?, &at("subflowPath"))?,
        subflow_states: states(get("subflowStates"), &at("subflowStates"))?,
        pause_data: fields.get("pauseData").cloned(),
        by_interrupt: by_interrupt(get("pausedBy"), &at("pausedBy"))?,
        paused_execution: get("pausedExecution").and_then(|value| read_execution(&value)),
        interrupt_answers: values(get("interruptAnswers"), &at("interruptAnswers"))?,
        resumed_with: fields.get("resumedWith").cloned(),
    })
}

fn read_memory(value: &Value, path: &str) -> Read<FanOutMemory> {
    let fields = object(value.clone(), path)?;
    let branches = match fields.get("branches") {
        Some(Value::Array(branches)) => branches.clone(),
        _ => return refuse(format!("{path}.branches"), "is not a list"),
    };
    let settled = match fields.get("settled") {
        Some(Value::Object(settled)) => settled.clone(),
        _ => return refuse(format!("{path}.settled"), "is not an object"),
    };
    Ok(FanOutMemory { branches, settled })
}

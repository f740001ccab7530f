//! Writing a snapshot as JSON, without recursion (ENG-145, ENG-164).

use super::{
    CommitLog, ExecutionTree, FrameRecord, LogAddress, NodeId, RecorderRow, Recording, Snapshot,
    SubflowResult,
};
use crate::json::{JsonSink, JsonWriter};
use crate::value::{Object, Str, Value};

/// Writes a snapshot as JSON text (ENG §9).
pub fn write_snapshot<S: JsonSink>(snapshot: &Snapshot, sink: S) {
    snapshot_into(&mut JsonWriter::new(sink), snapshot);
}

/// Writes a recording: the snapshot, then whatever stood beside it, verbatim.
pub fn write_recording<S: JsonSink>(recording: &Recording, sink: S) {
    let mut out = JsonWriter::new(sink);
    out.begin_object();
    out.key("snapshot");
    snapshot_into(&mut out, &recording.snapshot);
    for (key, raw) in &recording.beside {
        out.key(key);
        out.raw(raw);
    }
    out.end_object();
}

impl Snapshot {
    /// The snapshot as JSON text.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        write_snapshot(self, &mut text);
        text
    }
}

impl ExecutionTree {
    /// The tree as JSON text; `null` for an empty tree.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        tree_into(&mut JsonWriter::new(&mut text), self);
        text
    }

    /// Writes the tree where the writer expects a value; `null` for an empty tree.
    pub fn write<S: JsonSink>(&self, out: &mut JsonWriter<S>) {
        tree_into(out, self);
    }
}

fn snapshot_into<S: JsonSink>(out: &mut JsonWriter<S>, snapshot: &Snapshot) {
    out.begin_object();
    text_opt(out, "runId", snapshot.run_id.as_ref());
    object(out, "sharedState", &snapshot.shared_state);
    if let Some(initial) = &snapshot.initial_state {
        object(out, "initialState", initial);
    }
    out.key("executionTree");
    tree_into(out, &snapshot.execution_tree);
    out.key("commitLog");
    log_into(out, &snapshot.commit_log);
    out.key("commitValues");
    out.string(snapshot.commit_values.as_str());
    out.key("writeProvenance");
    out.string(snapshot.write_provenance.as_str());
    if !snapshot.subflow_results.is_empty() {
        out.key("subflowResults");
        out.begin_object();
        for (key, result) in &snapshot.subflow_results {
            out.key(key);
            subflow_into(out, result);
        }
        out.end_object();
    }
    if !snapshot.recorders.is_empty() {
        out.key("recorders");
        out.begin_array();
        snapshot.recorders.iter().for_each(|row| row_into(out, row));
        out.end_array();
    }
    if let Some(stats) = &snapshot.observer_stats {
        out.key("observerStats");
        out.value(stats);
    }
    if !snapshot.recorder_failures.is_empty() {
        out.key("recorderFailures");
        out.begin_array();
        for failure in &snapshot.recorder_failures {
            out.begin_object();
            text(out, "id", &failure.id);
            text(out, "hook", &failure.hook);
            out.key("count");
            out.uint(failure.count);
            text(out, "firstMessage", &failure.first_message);
            out.end_object();
        }
        out.end_array();
    }
    text_opt(out, "runLabel", snapshot.run_label.as_ref());
    if let Some(address) = &snapshot.log_address {
        out.key("logAddress");
        address_into(out, address);
    }
    entries(out, &snapshot.extra);
    out.end_object();
}

fn subflow_into<S: JsonSink>(out: &mut JsonWriter<S>, result: &SubflowResult) {
    let inner = &result.tree_context;
    out.begin_object();
    text(out, "subflowId", &result.subflow_id);
    text(out, "subflowName", &result.subflow_name);
    out.key("treeContext");
    out.begin_object();
    object(out, "globalContext", &inner.global_context);
    out.key("stageContexts");
    tree_into(out, &inner.stage_contexts);
    out.key("history");
    log_into(out, &inner.history);
    if let Some(initial) = &inner.initial_state {
        object(out, "initialState", initial);
    }
    if let Some(address) = &inner.log_address {
        out.key("logAddress");
        address_into(out, address);
    }
    entries(out, &inner.extra);
    out.end_object();
    text(out, "parentStageId", &result.parent_stage_id);
    if let Some(structure) = &result.pipeline_structure {
        out.key("pipelineStructure");
        out.value(structure);
    } else if let Some(text) = &result.pipeline_structure_text {
        out.key("pipelineStructure");
        out.raw(text);
    }
    entries(out, &result.extra);
    out.end_object();
}

fn row_into<S: JsonSink>(out: &mut JsonWriter<S>, row: &RecorderRow) {
    out.begin_object();
    text(out, "id", &row.id);
    text(out, "name", &row.name);
    text_opt(out, "description", row.description.as_ref());
    if let Some(operation) = row.preferred_operation {
        out.key("preferredOperation");
        out.string(operation.word());
    }
    if let Some(meta) = &row.meta {
        out.key("meta");
        out.value(meta);
    }
    out.key("data");
    out.value(&row.data);
    entries(out, &row.extra);
    out.end_object();
}

fn log_into<S: JsonSink>(out: &mut JsonWriter<S>, log: &CommitLog) {
    let mut gaps = log.gaps().iter().peekable();
    out.begin_array();
    for (index, bundle) in log.iter().enumerate() {
        match gaps.next_if(|gap| gap.index == index) {
            Some(gap) => out.value(&gap.raw),
            None => out.value(&bundle.to_value()),
        }
    }
    out.end_array();
}

fn address_into<S: JsonSink>(out: &mut JsonWriter<S>, address: &LogAddress) {
    out.begin_object();
    text(out, "logRunId", &address.log_run_id);
    out.key("drillPath");
    out.begin_array();
    address.drill_path.iter().for_each(|mount| out.string(mount));
    out.end_array();
    out.end_object();
}

/// What is still to be written of a tree.
enum Todo {
    Frame(NodeId),
    Key(&'static str),
    BeginArray,
    EndArray,
    EndObject,
}

fn tree_into<S: JsonSink>(out: &mut JsonWriter<S>, tree: &ExecutionTree) {
    let Some(root) = tree.root() else { return out.null() };
    // A frame is written once, whatever a malformed arena says.
    let mut written = vec![false; tree.len()];
    let mut claim = |id: NodeId| {
        let fresh = written.get_mut(id.0 as usize);
        fresh.is_some_and(|w| !std::mem::replace(w, true))
    };
    claim(root);
    let mut todo = vec![Todo::Frame(root)];
    while let Some(step) = todo.pop() {
        match step {
            Todo::Key(key) => out.key(key),
            Todo::BeginArray => out.begin_array(),
            Todo::EndArray => out.end_array(),
            Todo::EndObject => out.end_object(),
            Todo::Frame(id) => {
                let Some(frame) = tree.get(id) else {
                    out.null();
                    continue;
                };
                out.begin_object();
                frame_into(out, frame);
                todo.push(Todo::EndObject);
                let children: Vec<NodeId> = frame.children.iter().copied().filter(|c| claim(*c)).collect();
                if !children.is_empty() {
                    todo.push(Todo::EndArray);
                    todo.extend(children.into_iter().rev().map(Todo::Frame));
                    todo.push(Todo::BeginArray);
                    todo.push(Todo::Key("children"));
                }
                if let Some(next) = frame.next.filter(|n| claim(*n)) {
                    todo.push(Todo::Frame(next));
                    todo.push(Todo::Key("next"));
                }
            }
        }
    }
}

fn frame_into<S: JsonSink>(out: &mut JsonWriter<S>, frame: &FrameRecord) {
    text(out, "id", &frame.id);
    // A frame of a run that never started has no address.
    if !frame.runtime_stage_id.stage_id().is_empty() {
        out.key("runtimeStageId");
        out.text(&frame.runtime_stage_id);
    }
    text(out, "name", &frame.name);
    out.key("isDecider");
    out.bool(frame.is_decider);
    out.key("isFork");
    out.bool(frame.is_fork);
    object(out, "logs", &frame.logs);
    object(out, "errors", &frame.errors);
    object(out, "metrics", &frame.metrics);
    object(out, "evals", &frame.evals);
    text_opt(out, "description", frame.description.as_ref());
    text_opt(out, "subflowId", frame.subflow_id.as_ref());
    if let Some(reads) = &frame.stage_reads {
        object(out, "stageReads", reads);
    }
    if let Some(writes) = &frame.stage_writes {
        object(out, "stageWrites", writes);
    }
    if !frame.flow_messages.is_empty() {
        out.key("flowMessages");
        out.begin_array();
        frame.flow_messages.iter().for_each(|message| out.value(message));
        out.end_array();
    }
    entries(out, &frame.extra);
}

fn text<S: JsonSink>(out: &mut JsonWriter<S>, key: &str, value: &Str) {
    out.key(key);
    out.string(value);
}

fn text_opt<S: JsonSink>(out: &mut JsonWriter<S>, key: &str, value: Option<&Str>) {
    value.into_iter().for_each(|v| text(out, key, v));
}

fn object<S: JsonSink>(out: &mut JsonWriter<S>, key: &str, value: &Object) {
    out.key(key);
    out.value(&Value::Object(value.clone()));
}

fn entries<S: JsonSink>(out: &mut JsonWriter<S>, extra: &Object) {
    for (key, value) in extra.iter() {
        out.key(key);
        out.value(value);
    }
}

//! Reading the nested form of an execution tree into an arena, with an explicit stack (OBS-204).

use super::read::keep;
use super::{ExecutionTree, FrameRecord, NodeId};
use crate::ids::{ParsedAddress, RuntimeStageId};
use crate::json::{JsonError, JsonReader, TokenKind};
use crate::value::Value;

enum Open {
    Frame(NodeId),
    Children(NodeId),
}

/// Reads a tree whose root object comes next.
pub(crate) fn read_tree(json: &mut JsonReader<'_>) -> Result<ExecutionTree, JsonError> {
    let mut frames = Vec::new();
    let mut open = vec![Open::Frame(begin(json, &mut frames)?)];
    while let Some(top) = open.last() {
        match *top {
            Open::Frame(id) => match json.next_key()? {
                None => {
                    open.pop();
                }
                Some(key) => match (&*key, json.peek()?) {
                    ("next", TokenKind::Object) => {
                        let next = begin(json, &mut frames)?;
                        if let Some(frame) = frames.get_mut(id.0 as usize) {
                            frame.next = Some(next);
                        }
                        open.push(Open::Frame(next));
                    }
                    ("children", TokenKind::Array) => {
                        json.begin_array()?;
                        open.push(Open::Children(id));
                    }
                    // What pointers stand for is counted where whole values are read.
                    (_, TokenKind::String) if !json.follows_pointers() => {
                        let text = json.read_string()?;
                        if let Some(frame) = frames.get_mut(id.0 as usize) {
                            text_field(json, frame, &key, &text);
                        }
                    }
                    _ => {
                        let value = json.read_value()?;
                        if let Some(frame) = frames.get_mut(id.0 as usize) {
                            field(json, frame, &key, value);
                        }
                    }
                },
            },
            Open::Children(id) => {
                if !json.next_item()? {
                    open.pop();
                } else if json.peek()? == TokenKind::Object {
                    let child = begin(json, &mut frames)?;
                    if let Some(frame) = frames.get_mut(id.0 as usize) {
                        frame.children.push(child);
                    }
                    open.push(Open::Frame(child));
                } else {
                    json.skip_value()?; // no frame: contributes nothing
                }
            }
        }
    }
    Ok(frames.into_iter().collect())
}

fn begin(json: &mut JsonReader<'_>, frames: &mut Vec<FrameRecord>) -> Result<NodeId, JsonError> {
    json.begin_object()?;
    let empty = json.share_key("");
    let id = NodeId(u32::try_from(frames.len()).unwrap_or(u32::MAX));
    frames.push(FrameRecord::new(empty.clone(), empty.clone(), RuntimeStageId::without_index(empty)));
    Ok(id)
}

fn text_field(json: &mut JsonReader<'_>, frame: &mut FrameRecord, key: &str, text: &str) {
    match key {
        "id" => frame.id = json.share_key(text),
        "name" => frame.name = json.share_key(text),
        "runtimeStageId" => frame.runtime_stage_id = address(json, text),
        "description" => frame.description = Some(text.into()),
        "subflowId" => frame.subflow_id = Some(json.share_key(text)),
        _ => keep(&mut frame.extra, key, Value::from(text)),
    }
}

fn field(json: &mut JsonReader<'_>, frame: &mut FrameRecord, key: &str, value: Value) {
    match (key, value) {
        ("description", Value::String(text)) => frame.description = Some(text),
        (_, Value::String(text)) => text_field(json, frame, key, &text),
        ("isDecider", Value::Bool(flag)) => frame.is_decider = flag,
        ("isFork", Value::Bool(flag)) => frame.is_fork = flag,
        ("logs", Value::Object(bag)) => frame.logs = bag,
        ("errors", Value::Object(bag)) => frame.errors = bag,
        ("metrics", Value::Object(bag)) => frame.metrics = bag,
        ("evals", Value::Object(bag)) => frame.evals = bag,
        ("stageReads", Value::Object(reads)) => frame.stage_reads = Some(reads),
        ("stageWrites", Value::Object(writes)) => frame.stage_writes = Some(writes),
        ("flowMessages", Value::Array(messages)) => {
            frame.flow_messages = messages.iter().cloned().collect();
        }
        (_, value) => keep(&mut frame.extra, key, value),
    }
}

/// An address whose stage id shares its text with the other visits of the stage.
fn address(json: &mut JsonReader<'_>, text: &str) -> RuntimeStageId {
    let parsed = ParsedAddress::of(text);
    match parsed.index {
        Some(index) => RuntimeStageId::new(json.share_key(parsed.stage_id), index),
        None => RuntimeStageId::parse(text),
    }
}

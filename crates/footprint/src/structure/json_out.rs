//! A structure as JSON text, written with an explicit stack (ENG-48).

use crate::json::{JsonSink, JsonWriter};
use crate::structure::{Structure, StructureNode, StructureRef};
use crate::value::{Str, Value, ValueError};

impl Structure {
    /// The structure as compact JSON.
    pub fn to_json(&self) -> String {
        let mut writer = JsonWriter::new(String::new());
        self.write_to(&mut writer);
        writer.into_sink()
    }

    /// Writes the structure as the next value of a larger text.
    pub fn write_to<S: JsonSink>(&self, writer: &mut JsonWriter<S>) {
        self.root().write_to(writer);
    }

    /// The structure as a value, for structures that nest no deeper than values may.
    ///
    /// # Errors
    /// [`ValueError`] when the chain is longer than a value may nest; use [`Structure::to_json`] there.
    pub fn to_value(&self) -> Result<Value, ValueError> {
        self.to_json().parse()
    }
}

/// What is still to be written.
enum Step<'a> {
    Node(StructureRef<'a>),
    /// A key and the node under it.
    Under(&'static str, StructureRef<'a>),
    Children(StructureRef<'a>),
    CloseObject,
    CloseArray,
}

impl StructureRef<'_> {
    /// Writes this node and everything below and after it as the next value of a larger text.
    pub fn write_to<S: JsonSink>(self, writer: &mut JsonWriter<S>) {
        let mut waiting = vec![Step::Node(self)];
        while let Some(step) = waiting.pop() {
            match step {
                Step::Under(key, node) => {
                    writer.key(key);
                    waiting.push(Step::Node(node));
                }
                Step::Node(node) => {
                    writer.begin_object();
                    write_fields(writer, node.node());
                    waiting.push(Step::CloseObject);
                    waiting.extend(node.next().map(|next| Step::Under("next", next)));
                    waiting.extend(node.subflow().map(|inner| Step::Under("subflowStructure", inner)));
                    if node.has_children() {
                        waiting.push(Step::Children(node));
                    }
                }
                Step::Children(node) => {
                    writer.key("children");
                    writer.begin_array();
                    waiting.push(Step::CloseArray);
                    waiting.extend(node.children().rev().map(Step::Node));
                }
                Step::CloseObject => writer.end_object(),
                Step::CloseArray => writer.end_array(),
            }
        }
    }
}

fn write_fields<S: JsonSink>(writer: &mut JsonWriter<S>, node: &StructureNode) {
    text(writer, "name", Some(&node.name));
    text(writer, "id", Some(&node.id));
    writer.key("type");
    writer.string(node.node_type.as_str());
    text(writer, "description", node.description.as_ref());
    text(writer, "icon", node.icon.as_ref());
    texts(writer, "tags", node.tags.as_deref());
    number(writer, "retryAttempts", node.retry_attempts);
    flag(writer, "hasDecider", node.has_decider);
    flag(writer, "hasSelector", node.has_selector);
    texts(writer, "branchIds", node.branch_ids.as_deref());
    text(writer, "defaultBranch", node.default_branch.as_ref());
    flag(writer, "isStreaming", node.is_streaming);
    text(writer, "streamId", node.stream_id.as_ref());
    flag(writer, "isPausable", node.is_pausable);
    flag(writer, "isParallelChild", node.is_parallel_child);
    text(writer, "parallelGroupId", node.parallel_group_id.as_ref());
    flag(writer, "isSubflowRoot", node.is_subflow_root);
    text(writer, "subflowId", node.subflow_id.as_ref());
    text(writer, "subflowName", node.subflow_name.as_ref());
    flag(writer, "isLazy", node.is_lazy);
    text(writer, "convergeAt", node.converge_at.as_ref());
    flag(writer, "isDynamicParallel", node.is_dynamic_parallel);
    text(writer, "loopTarget", node.loop_target.as_ref());
    flag(writer, "isLoopReference", node.is_loop_reference);
    number(writer, "iterationCount", node.iteration_count);
    for (key, value) in node.extra.iter() {
        writer.key(key);
        writer.value(value);
    }
}

fn text<S: JsonSink>(writer: &mut JsonWriter<S>, key: &str, value: Option<&Str>) {
    if let Some(value) = value {
        writer.key(key);
        writer.string(value);
    }
}

fn texts<S: JsonSink>(writer: &mut JsonWriter<S>, key: &str, values: Option<&[Str]>) {
    if let Some(values) = values {
        writer.key(key);
        writer.begin_array();
        for value in values {
            writer.string(value);
        }
        writer.end_array();
    }
}

fn flag<S: JsonSink>(writer: &mut JsonWriter<S>, key: &str, value: bool) {
    if value {
        writer.key(key);
        writer.bool(true);
    }
}

fn number<S: JsonSink>(writer: &mut JsonWriter<S>, key: &str, value: Option<u64>) {
    if let Some(value) = value {
        writer.key(key);
        writer.uint(value);
    }
}

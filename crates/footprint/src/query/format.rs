//! Slices as JSON and as text (OBS-172, OBS-173). Both are linear in the slice: shared steps are named, never repeated.

use std::fmt::Write as _;

use super::notes::notes_value;
use super::{EdgeKind, KeyMissing, KeySlice, Slice, SliceNode, SliceNodeId, Truncated};
use crate::state::Untracked;
use crate::value::{Object, Str, Value};

/// Keys a line of text shows before it counts.
const KEYS_SHOWN: usize = 12;

fn sources(untracked: Untracked) -> Value {
    Value::Array(untracked.words().map(Value::from).collect())
}

fn truncated_value(truncated: Truncated) -> Value {
    let mut out = Object::new();
    out.insert("byDepth", truncated.by_depth.into());
    out.insert("byNodes", truncated.by_nodes.into());
    Value::Object(out)
}

/// Node names of the JSON form: the step's address; one without an address is named by its commit.
fn node_name(node: &SliceNode) -> String {
    if node.runtime_stage_id.stage_id().is_empty() {
        format!("commit {}", node.commit_idx)
    } else {
        node.runtime_stage_id.to_string()
    }
}

impl Slice {
    fn put(&self, out: &mut Object) {
        if let Some(root) = self.root() {
            out.insert("writerId", node_name(root).into());
        }
        let nodes = self.nodes.iter().map(|node| {
            let mut row = Object::new();
            row.insert("stageId", Value::from(&node.stage_id));
            row.insert("stageName", Value::from(&node.stage_name));
            row.insert("keysWritten", Value::Array(node.keys_written.iter().map(Value::from).collect()));
            row.insert("depth", node.depth.into());
            if !node.incomplete_sources.is_empty() {
                row.insert("incompleteSources", sources(node.incomplete_sources));
            }
            if let Some(descend) = &node.descend {
                let mut inner = Object::new();
                inner.insert("mount", descend.mount.to_string().into());
                inner.insert("subflowId", Value::from(&descend.subflow_id));
                row.insert("descend", Value::Object(inner));
            }
            (Str::from(node_name(node)), Value::Object(row))
        });
        out.insert("nodes", Value::Object(nodes.collect()));
        let edges = self.nodes.iter().flat_map(|node| {
            node.parent_edges.iter().filter_map(|edge| {
                let mut row = Object::new();
                row.insert("from", node_name(node).into());
                row.insert("to", node_name(self.get(edge.parent)?).into());
                row.insert("kind", edge.kind.word().into());
                if let Some(key) = &edge.key {
                    row.insert("key", Value::from(key));
                }
                if (edge.weight - 1.0).abs() > f64::EPSILON {
                    row.insert("weight", edge.weight.into());
                }
                Some(Value::Object(row))
            })
        });
        out.insert("edges", Value::Array(edges.collect()));
        if let Some(truncated) = self.truncated {
            out.insert("truncated", truncated_value(truncated));
        }
    }

    /// The JSON object `{writerId, nodes, edges, truncated?, notes?}`; `from` depends on `to`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        self.put(&mut out);
        if !self.notes.is_empty() {
            out.insert("notes", notes_value(&self.notes));
        }
        Value::Object(out)
    }

    /// The JSON text of [`Slice::to_value`].
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    /// The slice for people: one line per step, indented by discovery; a shared step is printed once and referred to afterwards.
    pub fn format(&self) -> String {
        let mut out = String::new();
        self.format_into(&mut out);
        self.warnings_into(&mut out);
        out
    }

    fn format_into(&self, out: &mut String) {
        let mut printed = vec![false; self.nodes.len()];
        // Depth-first with an explicit stack; a step shows below the first that needs it.
        let mut pending: Vec<(SliceNodeId, usize, String)> = Vec::new();
        if !self.nodes.is_empty() {
            pending.push((SliceNodeId(0), 0, String::new()));
        }
        while let Some((id, indent, how)) = pending.pop() {
            let Some(node) = self.get(id) else { continue };
            let _ = write!(out, "{:width$}", "", width = 2 * indent.min(40));
            out.push_str(&how);
            let again = printed.get_mut(id.0 as usize).is_none_or(|p| std::mem::replace(p, true));
            if again {
                let _ = writeln!(out, "{} (see above)", node_name(node));
                continue;
            }
            let _ = writeln!(out, "{}", node_line(node));
            for parent in node.parents.iter().rev() {
                pending.push((*parent, indent + 1, link_text(node, *parent)));
            }
        }
    }

    fn warnings_into(&self, out: &mut String) {
        for note in &self.notes {
            let _ = writeln!(out, "! {}: {}", note.code, note.detail);
        }
    }
}

/// `← total, rate · decided "Good credit" ×0.5 `: why a step is needed.
fn link_text(node: &SliceNode, parent: SliceNodeId) -> String {
    let edges = || node.parent_edges.iter().filter(|e| e.parent == parent);
    let keys: Vec<&str> =
        edges().filter(|e| e.kind == EdgeKind::Data).filter_map(|e| e.key.as_deref()).collect();
    let mut text = String::from("← ");
    text.push_str(&shown(&keys));
    if let Some(control) = edges().find(|e| e.kind == EdgeKind::Control) {
        if !keys.is_empty() {
            text.push_str(" · ");
        }
        match &control.key {
            Some(label) => {
                let _ = write!(text, "decided \"{label}\"");
            }
            None => text.push_str("decided"),
        }
    }
    if let Some(weighed) = edges().find(|e| (e.weight - 1.0).abs() > f64::EPSILON) {
        let _ = write!(text, " ×{}", weighed.weight);
    }
    text.push_str(": ");
    text
}

fn node_line(node: &SliceNode) -> String {
    let mut line = format!("{} ({})", node.stage_name, node_name(node));
    let keys: Vec<&str> = node.keys_written.iter().map(|k| &**k).collect();
    if !keys.is_empty() {
        let _ = write!(line, " wrote {}", shown(&keys));
    }
    if !node.incomplete_sources.is_empty() {
        let words: Vec<&str> = node.incomplete_sources.words().collect();
        let _ = write!(line, " [also used untracked: {}]", words.join(", "));
    }
    if let Some(descend) = &node.descend {
        let _ = write!(line, " [subflow {}: look inside at {}]", descend.subflow_id, descend.mount);
    }
    line
}

fn shown(keys: &[&str]) -> String {
    let mut text = keys.get(..KEYS_SHOWN).unwrap_or(keys).join(", ");
    if keys.len() > KEYS_SHOWN {
        let _ = write!(text, " and {} more", keys.len() - KEYS_SHOWN);
    }
    text
}

impl KeySlice {
    /// The JSON object `{key, before?, missing?, keysReadKind, readsCoverage?, writerId?, nodes?, edges?, truncated?, notes?}`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("key", self.key.to_string().into());
        if let Some(before) = self.before {
            out.insert("before", before.0.into());
        }
        if let Some(missing) = self.missing {
            out.insert("missing", missing.word().into());
        }
        out.insert("keysReadKind", self.keys_read_kind.into());
        if let Some(coverage) = self.reads_coverage {
            let mut row = Object::new();
            row.insert("steps", coverage.steps.into());
            row.insert("stepsWithReads", coverage.steps_with_reads.into());
            out.insert("readsCoverage", Value::Object(row));
        }
        if let Some(slice) = &self.slice {
            slice.put(&mut out);
        }
        if !self.notes.is_empty() {
            out.insert("notes", notes_value(&self.notes));
        }
        Value::Object(out)
    }

    /// The JSON text of [`KeySlice::to_value`].
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    /// The slice for people and language models: a header, one line per step, one warning line per note.
    pub fn format(&self) -> String {
        let mut out = format!("Why `{}`", self.key);
        if let Some(before) = self.before {
            let _ = write!(out, " before commit {before}");
        }
        match &self.writer {
            Some(writer) => {
                let _ =
                    write!(out, ": last written at commit {} by {}", writer.commit_idx, writer.stage_name);
            }
            None => out.push_str(match self.missing {
                Some(KeyMissing::EmptyLog) => ": nothing was committed",
                _ => ": no commit wrote it (initial state, run input or code outside state)",
            }),
        }
        let _ = write!(out, " (reads from: {}", self.keys_read_kind);
        if let Some(coverage) = self.reads_coverage {
            let _ = write!(out, ", {} of {} steps", coverage.steps_with_reads, coverage.steps);
        }
        out.push_str(")\n");
        match &self.slice {
            Some(slice) => {
                slice.format_into(&mut out);
                slice.warnings_into(&mut out);
            }
            None => {
                for note in &self.notes {
                    let _ = writeln!(out, "! {}: {}", note.code, note.detail);
                }
            }
        }
        out
    }
}

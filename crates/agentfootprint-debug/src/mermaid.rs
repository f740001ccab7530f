//! A recording as a Mermaid diagram.

use std::collections::HashMap;
use std::fmt::Write as _;

use agentfootprint_record::conventions::{StageRole, stage_role};
use agentfootprint_record::recording::Recording;
use footprint::structure::{StructureRef, mermaid_id, mermaid_label};
use indexmap::IndexMap;

use crate::loops::passes;
use crate::plain::excerpt;

/// Nodes of a diagram at most; a larger chart is cut, and says so.
const MAX_NODES: usize = 2000;
/// Characters of a label.
const LABEL: usize = 80;

/// What is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MermaidView {
    /// The chart.
    #[default]
    Structure,
    /// The chart with what ran, and how often.
    Run,
    /// Who asked whom: a sequence diagram of the model and tool calls.
    Steps,
}

/// Why there is no diagram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MermaidError {
    /// The chart is not in the recording.
    #[error("the recording has no structure, so the chart cannot be drawn; `steps` needs events only")]
    NoStructure,
    /// The events are not in the recording.
    #[error("the recording has no events, so no steps can be drawn; `structure` needs the chart only")]
    NoEvents,
}

/// Draws a recording. With `collapse`, machinery of the framework is left out and its neighbours are joined.
///
/// # Errors
/// [`MermaidError`] names the part the recording lacks.
pub fn mermaid(recording: &Recording, view: MermaidView, collapse: bool) -> Result<String, MermaidError> {
    match view {
        MermaidView::Steps => steps(recording),
        MermaidView::Structure => chart(recording, None, collapse),
        MermaidView::Run => {
            let mut times: HashMap<String, usize> = HashMap::new();
            for (_, frame) in recording.snapshot.execution_tree.iter() {
                *times.entry(frame.id.to_string()).or_default() += 1;
            }
            chart(recording, Some(&times), collapse)
        }
    }
}

struct Chart<'a> {
    times: Option<&'a HashMap<String, usize>>,
    collapse: bool,
    nodes: IndexMap<String, String>,
    edges: Vec<(String, String)>,
    ran: Vec<String>,
    cut: bool,
}

fn chart(
    recording: &Recording,
    times: Option<&HashMap<String, usize>>,
    collapse: bool,
) -> Result<String, MermaidError> {
    let structure = recording.structure.as_ref().ok_or(MermaidError::NoStructure)?;
    let mut chart =
        Chart { times, collapse, nodes: IndexMap::new(), edges: Vec::new(), ran: Vec::new(), cut: false };
    chart.walk(structure.root());
    let mut out = String::from("flowchart TD\n");
    for (id, label) in &chart.nodes {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{id}[\"{label}\"]");
    }
    for (from, to) in &chart.edges {
        if chart.nodes.contains_key(from) && chart.nodes.contains_key(to) {
            let _ = writeln!(out, "{from} --> {to}");
        }
    }
    if !chart.ran.is_empty() {
        let _ = writeln!(out, "classDef ran stroke-width:3px\nclass {} ran", chart.ran.join(","));
    }
    if chart.cut {
        let _ = writeln!(out, "%% cut after {MAX_NODES} nodes");
    }
    Ok(out)
}

impl Chart<'_> {
    fn walk(&mut self, root: StructureRef<'_>) {
        // (the drawn node an edge comes from, the node)
        let mut waiting: Vec<(Option<String>, StructureRef<'_>)> = vec![(None, root)];
        while let Some((from, node)) = waiting.pop() {
            let id = mermaid_id(&node.id);
            let hidden = self.collapse && stage_role(&node.id) == StageRole::Plumbing && !node.has_children();
            let known = self.nodes.contains_key(&id);
            if node.is_loop_reference || known {
                let target = node.loop_target.as_ref().map_or(id, |target| mermaid_id(target));
                self.edges.extend(from.map(|from| (from, target)));
                continue;
            }
            let mut source = from.clone();
            if !hidden {
                if self.nodes.len() >= MAX_NODES {
                    self.cut = true;
                    return;
                }
                self.edges.extend(from.map(|from| (from, id.clone())));
                let label = self.label(&node);
                self.nodes.insert(id.clone(), label);
                source = Some(id.clone());
            }
            if let Some(target) =
                node.loop_target.as_ref().filter(|_| !node.next().is_some_and(|next| next.is_loop_reference))
            {
                self.edges.extend(source.clone().map(|from| (from, mermaid_id(target))));
            }
            waiting.extend(node.next().map(|next| (source.clone(), next)));
            waiting.extend(node.children().rev().map(|child| (source.clone(), child)));
        }
    }

    fn label(&mut self, node: &StructureRef<'_>) -> String {
        let name = mermaid_label(&excerpt(&node.name, LABEL));
        match self.times {
            None => name,
            Some(times) => match times.get(&*node.id).copied().unwrap_or_default() {
                0 => format!("{name} (not run)"),
                count => {
                    self.ran.push(mermaid_id(&node.id));
                    if count > 1 { format!("{name} ×{count}") } else { name }
                }
            },
        }
    }
}

/// `;` ends a message in a sequence diagram.
fn message(text: &str) -> String {
    excerpt(text, LABEL).split(';').map(mermaid_label).collect::<Vec<_>>().join("#59;")
}

fn steps(recording: &Recording) -> Result<String, MermaidError> {
    if recording.events.is_none() {
        return Err(MermaidError::NoEvents);
    }
    let mut tools: IndexMap<String, String> = IndexMap::new();
    let mut lines: Vec<String> = Vec::new();
    let mut asker = "user".to_owned();
    let all = passes(recording);
    for pass in &all {
        lines.push(format!(
            "{asker}->>llm: pass {}, {} messages",
            pass.number,
            pass.messages.unwrap_or_default()
        ));
        "user".clone_into(&mut asker);
        for call in &pass.tools {
            let number = tools.len() + 1;
            let id = tools.entry(call.name.clone()).or_insert_with(|| format!("t{number}")).clone();
            lines.push(format!("llm->>{id}: {}", message(&call.args.to_string())));
            let result = call.result.as_ref().map_or_else(
                || "(no result)".to_owned(),
                |result| result.as_str().map_or_else(|| result.to_string(), str::to_owned),
            );
            lines.push(format!("{id}-->>llm: {}", message(&result)));
        }
        if pass.tools.is_empty()
            && let Some(output) = &pass.output
        {
            lines.push(format!("llm-->>user: {}", message(output)));
        } else {
            // The tools' results are what the next call is asked with.
            "llm".clone_into(&mut asker);
        }
        if lines.len() > MAX_NODES {
            lines.push(format!("%% cut after pass {} of {}", pass.number, all.len()));
            break;
        }
    }
    let mut out = String::from("sequenceDiagram\nparticipant user\nparticipant llm as model\n");
    for (name, id) in &tools {
        let _ = writeln!(out, "participant {id} as {}", message(name));
    }
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    Ok(out)
}

//! A structure from JSON text, read with an explicit stack (ENG-48). Unknown fields, and known ones in an unknown form, are kept.

use crate::json::{JsonError, JsonReader, Limits, TokenKind};
use crate::structure::{NodeType, Structure, StructureBuilder, StructureNode, StructureNodeId};
use crate::value::{Str, Value};

/// Why a text is no structure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StructureError {
    /// It is not JSON, or not of the shape of a structure.
    #[error("not a structure: {0}")]
    Json(#[from] JsonError),
    /// A node has neither an id nor a name.
    #[error("a structure node that ends at byte {offset} has neither an id nor a name")]
    NoId {
        /// Byte offset of the end of the node.
        offset: usize,
    },
}

impl Structure {
    /// Reads a structure, however long its chain is.
    ///
    /// # Errors
    /// [`StructureReadError`](crate::structure::StructureReadError) when the text is no structure.
    pub fn from_json(text: impl AsRef<[u8]>) -> Result<Structure, StructureError> {
        Structure::from_json_with(text, Limits::default())
    }

    /// Reads a structure from a text that is not trusted.
    ///
    /// # Errors
    /// As [`Structure::from_json`], and when a limit is passed.
    pub fn from_json_with(text: impl AsRef<[u8]>, limits: Limits) -> Result<Structure, StructureError> {
        let mut reader = JsonReader::with_limits(text.as_ref(), limits);
        let structure = Structure::read_from(&mut reader)?;
        reader.finish()?;
        Ok(structure)
    }

    /// Reads a structure that is the next value of a larger text.
    ///
    /// # Errors
    /// As [`Structure::from_json`].
    pub fn read_from(reader: &mut JsonReader<'_>) -> Result<Structure, StructureError> {
        let mut builder = StructureBuilder::new();
        reader.begin_object()?;
        let mut open = vec![Open { id: builder.add(StructureNode::default()), in_children: false }];
        while let Some(top) = open.last_mut() {
            let id = top.id;
            if top.in_children {
                if reader.next_item()? {
                    reader.begin_object()?;
                    let child = builder.add(StructureNode::default());
                    builder.add_child(id, child);
                    open.push(Open { id: child, in_children: false });
                } else {
                    top.in_children = false;
                }
                continue;
            }
            let Some(key) = reader.next_key()? else {
                close(&mut builder, id, reader.offset())?;
                open.pop();
                continue;
            };
            match (&*key, reader.peek()?) {
                ("next", TokenKind::Object) => {
                    reader.begin_object()?;
                    let next = builder.add(StructureNode::default());
                    builder.set_next(id, next);
                    open.push(Open { id: next, in_children: false });
                }
                ("subflowStructure", TokenKind::Object) => {
                    reader.begin_object()?;
                    let inner = builder.add(StructureNode::default());
                    builder.set_subflow_root(id, inner);
                    open.push(Open { id: inner, in_children: false });
                }
                ("children", TokenKind::Array) => {
                    reader.begin_array()?;
                    builder.open_children(id);
                    top.in_children = true;
                }
                ("next" | "subflowStructure" | "children", TokenKind::Null) => reader.read_null()?,
                (_, kind) => {
                    let key = reader.share_key(&key);
                    if let Some(node) = builder.node_mut(id) {
                        field(node, key, kind, reader)?;
                    }
                }
            }
        }
        Ok(builder.finish_or_empty())
    }
}

/// An object that is being read.
struct Open {
    id: StructureNodeId,
    /// Between two items of its `children`.
    in_children: bool,
}

fn close(builder: &mut StructureBuilder, id: StructureNodeId, offset: usize) -> Result<(), StructureError> {
    let Some(node) = builder.node_mut(id) else { return Ok(()) };
    match (node.id.is_empty(), node.name.is_empty()) {
        (true, true) => return Err(StructureError::NoId { offset }),
        (true, false) => node.id = node.name.clone(),
        (false, true) => node.name = node.id.clone(),
        (false, false) => {}
    }
    Ok(())
}

/// Reads one field that is no link. `null` means absent; a form that is not the known one is kept as it is.
fn field(
    node: &mut StructureNode,
    key: Str,
    kind: TokenKind,
    reader: &mut JsonReader<'_>,
) -> Result<(), JsonError> {
    if kind == TokenKind::Null && KNOWN.contains(&&*key) {
        return reader.read_null();
    }
    let value = reader.read_value()?;
    if !known(node, &key, &value) {
        node.extra.insert(key, value);
    }
    Ok(())
}

const KNOWN: &[&str] = &[
    "name",
    "id",
    "type",
    "description",
    "icon",
    "tags",
    "retryAttempts",
    "hasDecider",
    "hasSelector",
    "branchIds",
    "defaultBranch",
    "isStreaming",
    "streamId",
    "isPausable",
    "isParallelChild",
    "parallelGroupId",
    "isSubflowRoot",
    "subflowId",
    "subflowName",
    "isLazy",
    "convergeAt",
    "isDynamicParallel",
    "loopTarget",
    "isLoopReference",
    "iterationCount",
];

/// Whether the value went into a field. A `false` flag says no more than an absent one, and is taken too.
fn known(node: &mut StructureNode, key: &str, value: &Value) -> bool {
    if let Some(slot) = text_slot(node, key) {
        let text = value.as_shared_str();
        if text.is_some() {
            *slot = text.cloned();
        }
        return text.is_some();
    }
    if let Some(slot) = flag_slot(node, key) {
        let flag = value.as_bool();
        *slot = flag.unwrap_or(*slot);
        return flag.is_some();
    }
    match key {
        "name" => value.as_shared_str().map(|text| node.name = text.clone()).is_some(),
        "id" => value.as_shared_str().map(|text| node.id = text.clone()).is_some(),
        "type" => value.as_shared_str().map(|text| node.node_type = NodeType::of(text)).is_some(),
        "tags" => texts(value).map(|texts| node.tags = Some(texts)).is_some(),
        "branchIds" => texts(value).map(|texts| node.branch_ids = Some(texts)).is_some(),
        "retryAttempts" => value.as_u64().map(|number| node.retry_attempts = Some(number)).is_some(),
        "iterationCount" => value.as_u64().map(|number| node.iteration_count = Some(number)).is_some(),
        _ => false,
    }
}

fn text_slot<'a>(node: &'a mut StructureNode, key: &str) -> Option<&'a mut Option<Str>> {
    Some(match key {
        "description" => &mut node.description,
        "icon" => &mut node.icon,
        "defaultBranch" => &mut node.default_branch,
        "streamId" => &mut node.stream_id,
        "parallelGroupId" => &mut node.parallel_group_id,
        "subflowId" => &mut node.subflow_id,
        "subflowName" => &mut node.subflow_name,
        "convergeAt" => &mut node.converge_at,
        "loopTarget" => &mut node.loop_target,
        _ => return None,
    })
}

fn flag_slot<'a>(node: &'a mut StructureNode, key: &str) -> Option<&'a mut bool> {
    Some(match key {
        "hasDecider" => &mut node.has_decider,
        "hasSelector" => &mut node.has_selector,
        "isStreaming" => &mut node.is_streaming,
        "isPausable" => &mut node.is_pausable,
        "isParallelChild" => &mut node.is_parallel_child,
        "isSubflowRoot" => &mut node.is_subflow_root,
        "isLazy" => &mut node.is_lazy,
        "isDynamicParallel" => &mut node.is_dynamic_parallel,
        "isLoopReference" => &mut node.is_loop_reference,
        _ => return None,
    })
}

fn texts(value: &Value) -> Option<Vec<Str>> {
    value.as_array()?.iter().map(|item| item.as_shared_str().cloned()).collect()
}

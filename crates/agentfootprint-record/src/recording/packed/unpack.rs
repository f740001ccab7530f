use super::document::{Document, Node, NodeId};
use super::{ESC_KEY, PACKED_FORMAT, PACKED_FORMAT_FAMILY, PackedRecordingError, REF_KEY};

/// One step of resolving references; `via` is the reference last followed.
enum Step {
    Enter(NodeId, Option<usize>),
    Finish(NodeId),
}

/// What is known about a node of the packed text.
#[derive(Clone, Copy)]
enum Known {
    Nothing,
    /// On the path from the root to the node being resolved.
    Open,
    Resolved(NodeId),
}

/// What a node of the packed text stands for.
enum Meaning {
    Reference(usize),
    Literal(NodeId),
    Itself,
}

impl Document {
    /// The document with every reference resolved, and the node of the recording in it. A document that is
    /// not packed is its own recording.
    pub(in crate::recording) fn unpacked(mut self) -> Result<(Self, NodeId), PackedRecordingError> {
        let root = self.root();
        let members = self.members(root).unwrap_or_default();
        let member = |name: &str| members.iter().find(|(key, _)| **key == *name).map(|(_, id)| *id);
        let format = member("format").and_then(|id| self.as_str(id)).cloned();
        let Some(format) = format.filter(|format| format.starts_with(PACKED_FORMAT_FAMILY)) else {
            return Ok((self, root));
        };
        if &*format != PACKED_FORMAT {
            return Err(PackedRecordingError::UnknownFormat { format: format.to_string() });
        }
        let values = member("values")
            .and_then(|id| self.items(id))
            .ok_or(PackedRecordingError::MissingPart { part: "values" })?
            .to_vec();
        let recording = member("recording").ok_or(PackedRecordingError::MissingPart { part: "recording" })?;
        let resolved = self.resolve(recording, &values)?;
        self.set_root(resolved);
        Ok((self, resolved))
    }

    fn resolve(&mut self, root: NodeId, values: &[NodeId]) -> Result<NodeId, PackedRecordingError> {
        // Nodes made while resolving are new; only those of the packed text are ever asked for.
        let mut known = vec![Known::Nothing; self.len()];
        let mut steps = vec![Step::Enter(root, None)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(id, via) => {
                    match at(&known, id) {
                        Known::Resolved(_) => continue,
                        Known::Open => {
                            return Err(PackedRecordingError::ContainsItself { index: via.unwrap_or(0) });
                        }
                        Known::Nothing => {}
                    }
                    match self.meaning(id, values)? {
                        Meaning::Literal(content) => set(&mut known, id, Known::Resolved(content)),
                        Meaning::Reference(index) => {
                            set(&mut known, id, Known::Open);
                            steps.push(Step::Finish(id));
                            steps.extend(values.get(index).map(|value| Step::Enter(*value, Some(index))));
                        }
                        Meaning::Itself => {
                            set(&mut known, id, Known::Open);
                            steps.push(Step::Finish(id));
                            steps.extend(self.children(id).map(|child| Step::Enter(child, via)));
                        }
                    }
                }
                Step::Finish(id) => {
                    let resolved = self.finish(id, values, &known)?;
                    set(&mut known, id, Known::Resolved(resolved));
                }
            }
        }
        Ok(resolved(&known, root))
    }

    /// Builds what a node stands for, once its children (or its target) are resolved.
    fn finish(
        &mut self,
        id: NodeId,
        values: &[NodeId],
        known: &[Known],
    ) -> Result<NodeId, PackedRecordingError> {
        if let Meaning::Reference(index) = self.meaning(id, values)? {
            return Ok(values.get(index).map_or(id, |value| resolved(known, *value)));
        }
        let rebuilt = match self.node(id) {
            Some(Node::Array(items)) => {
                Node::Array(items.iter().map(|item| resolved(known, *item)).collect())
            }
            Some(Node::Object(entries)) => {
                Node::Object(entries.iter().map(|(key, value)| (*key, resolved(known, *value))).collect())
            }
            _ => return Ok(id),
        };
        Ok(self.intern(rebuilt))
    }

    fn meaning(&self, id: NodeId, values: &[NodeId]) -> Result<Meaning, PackedRecordingError> {
        let Some(Node::Object(entries)) = self.node(id) else { return Ok(Meaning::Itself) };
        let [(key, content)] = &**entries else { return Ok(Meaning::Itself) };
        match self.as_str(*key).map(|key| &**key) {
            Some(ESC_KEY) => Ok(Meaning::Literal(*content)),
            Some(REF_KEY) => {
                let text = match self.node(*content) {
                    Some(Node::Literal(text)) => text.to_string(),
                    _ => self.text(*content),
                };
                match text.parse::<usize>() {
                    Ok(index) if index < values.len() => Ok(Meaning::Reference(index)),
                    _ => Err(PackedRecordingError::OutOfRange { index: text, count: values.len() }),
                }
            }
            _ => Ok(Meaning::Itself),
        }
    }
}

fn at(known: &[Known], id: NodeId) -> Known {
    known.get(id.index()).copied().unwrap_or(Known::Resolved(id))
}

fn set(known: &mut [Known], id: NodeId, what: Known) {
    if let Some(slot) = known.get_mut(id.index()) {
        *slot = what;
    }
}

fn resolved(known: &[Known], id: NodeId) -> NodeId {
    match at(known, id) {
        Known::Resolved(resolved) => resolved,
        Known::Open | Known::Nothing => id,
    }
}

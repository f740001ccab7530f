use std::sync::OnceLock;

use footprint::json::{JsonReader, JsonWriter, Token};
use footprint::value::{Array, MAX_DEPTH, Object, Str, Value};
use indexmap::IndexSet;

use crate::recording::RecordingError;
use crate::recording::open::json_error;
use crate::text::utf16_len;

/// A node of a [`Document`]; its children always have smaller ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::recording) struct NodeId(u32);

impl NodeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One distinct JSON value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// `null`, a boolean or a number, as its JSON text.
    Literal(Box<str>),
    String(Str),
    Array(Box<[NodeId]>),
    /// Keys are string nodes.
    Object(Box<[(NodeId, NodeId)]>),
}

/// JSON as a graph in which equal values (key order included) are one node.
#[derive(Debug)]
pub(in crate::recording) struct Document {
    nodes: IndexSet<Node>,
    root: NodeId,
    /// Every node as a value, made when first asked for; `None` for nodes nested too deep to be one.
    values: OnceLock<Vec<Option<Value>>>,
}

impl Document {
    /// Reads JSON text; nesting costs memory, never stack.
    pub(in crate::recording) fn parse(text: &[u8]) -> Result<Self, RecordingError> {
        enum Open {
            Array(Vec<NodeId>),
            Object(Vec<(NodeId, NodeId)>, Option<NodeId>),
        }
        let mut document = Self { nodes: IndexSet::new(), root: NodeId(0), values: OnceLock::new() };
        let mut reader = JsonReader::new(text);
        let mut open: Vec<Open> = Vec::new();
        loop {
            let node = match reader.next_token().map_err(json_error)? {
                Token::BeginArray => {
                    open.push(Open::Array(Vec::new()));
                    continue;
                }
                Token::BeginObject => {
                    open.push(Open::Object(Vec::new(), None));
                    continue;
                }
                Token::Key(name) => {
                    let key = document.intern(Node::String(name.into()));
                    if let Some(Open::Object(_, pending)) = open.last_mut() {
                        *pending = Some(key);
                    }
                    continue;
                }
                Token::EndArray | Token::EndObject => match open.pop() {
                    Some(Open::Array(items)) => Node::Array(items.into()),
                    Some(Open::Object(entries, _)) => Node::Object(entries.into()),
                    None => break,
                },
                Token::Null => Node::Literal("null".into()),
                Token::Bool(flag) => Node::Literal(if flag { "true" } else { "false" }.into()),
                Token::Number(number) => Node::Literal(number.to_string().into()),
                Token::String(text) => Node::String(text.into()),
                Token::End => break,
            };
            let id = document.intern(node);
            match open.last_mut() {
                None => {
                    document.root = id;
                    break;
                }
                Some(Open::Array(items)) => items.push(id),
                Some(Open::Object(entries, pending)) => {
                    if let Some(key) = pending.take() {
                        entries.push((key, id));
                    }
                }
            }
        }
        reader.finish().map_err(json_error)?;
        Ok(document)
    }

    pub(super) fn intern(&mut self, node: Node) -> NodeId {
        let (at, _) = self.nodes.insert_full(node);
        NodeId(u32::try_from(at).unwrap_or(u32::MAX))
    }

    pub(super) fn root(&self) -> NodeId {
        self.root
    }

    pub(super) fn set_root(&mut self, root: NodeId) {
        self.root = root;
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get_index(id.index())
    }

    pub(super) fn as_str(&self, id: NodeId) -> Option<&Str> {
        match self.node(id) {
            Some(Node::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The children of a node, without the keys.
    pub(super) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let (items, entries): (&[NodeId], &[(NodeId, NodeId)]) = match self.node(id) {
            Some(Node::Array(items)) => (items, &[]),
            Some(Node::Object(entries)) => (&[], entries),
            _ => (&[], &[]),
        };
        items.iter().copied().chain(entries.iter().map(|(_, value)| *value))
    }

    /// The members of an object; `None` for anything else.
    pub(in crate::recording) fn members(&self, id: NodeId) -> Option<Vec<(Str, NodeId)>> {
        match self.node(id)? {
            Node::Object(entries) => entries
                .iter()
                .map(|(key, value)| self.as_str(*key).map(|key| (key.clone(), *value)))
                .collect(),
            _ => None,
        }
    }

    /// The items of a list; `None` for anything else.
    pub(in crate::recording) fn items(&self, id: NodeId) -> Option<&[NodeId]> {
        match self.node(id)? {
            Node::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The value of a node; equal nodes share one. `None` when it nests deeper than values may.
    pub(in crate::recording) fn value(&self, id: NodeId) -> Option<Value> {
        self.values.get_or_init(|| self.make_values()).get(id.index())?.clone()
    }

    fn make_values(&self) -> Vec<Option<Value>> {
        let mut values: Vec<Option<Value>> = Vec::with_capacity(self.len());
        for node in &self.nodes {
            // Children come before their parents, so everything a node needs is there.
            let made = |id: &NodeId| values.get(id.index()).cloned().flatten();
            let value = match node {
                Node::Literal(text) => text.parse().ok(),
                Node::String(text) => Some(Value::String(text.clone())),
                Node::Array(items) => items.iter().map(made).collect::<Option<Array>>().map(Value::Array),
                Node::Object(entries) => entries
                    .iter()
                    .map(|(key, value)| Some((self.as_str(*key)?.clone(), made(value)?)))
                    .collect::<Option<Object>>()
                    .map(Value::Object),
            };
            values.push(value.filter(|value| value.depth() <= MAX_DEPTH));
        }
        values
    }

    /// The length of every node's JSON text: in UTF-16 units, and in bytes.
    pub(super) fn text_lengths(&self) -> Vec<Lengths> {
        let mut lengths: Vec<Lengths> = Vec::with_capacity(self.len());
        for node in &self.nodes {
            let of = |id: &NodeId| lengths.get(id.index()).copied().unwrap_or_default();
            lengths.push(match node {
                Node::Literal(text) => Lengths::of(text),
                Node::String(text) => {
                    let mut written = String::new();
                    JsonWriter::new(&mut written).string(text);
                    Lengths::of(&written)
                }
                // Brackets, and one comma fewer than there are items.
                Node::Array(items) => Lengths::container(items.len()).plus(items.iter().map(of)),
                Node::Object(entries) => Lengths::container(entries.len())
                    .plus(entries.iter().map(|(key, value)| Lengths::of(":").plus([of(key), of(value)]))),
            });
        }
        lengths
    }

    /// The JSON text of a node.
    pub(in crate::recording) fn text(&self, id: NodeId) -> String {
        let mut text = String::new();
        super::write::literal(self, id, &mut JsonWriter::new(&mut text));
        text
    }

    /// The bytes the JSON text of a node takes; known before it is written.
    pub(in crate::recording) fn text_bytes(&self, id: NodeId) -> u64 {
        self.text_lengths().get(id.index()).map_or(0, |lengths| lengths.bytes)
    }
}

/// How long a JSON text is; saturates, because a small packed file can stand for an astronomically large one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lengths {
    pub(super) units: u64,
    pub(super) bytes: u64,
}

impl Lengths {
    fn of(text: &str) -> Self {
        Self { units: utf16_len(text) as u64, bytes: text.len() as u64 }
    }

    fn container(entries: usize) -> Self {
        let around = 2 + (entries as u64).saturating_sub(1);
        Self { units: around, bytes: around }
    }

    fn plus(self, others: impl IntoIterator<Item = Self>) -> Self {
        others.into_iter().fold(self, |sum, other| Self {
            units: sum.units.saturating_add(other.units),
            bytes: sum.bytes.saturating_add(other.bytes),
        })
    }
}

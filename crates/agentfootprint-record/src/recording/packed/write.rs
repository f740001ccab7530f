use footprint::json::{JsonSink, JsonWriter};

use super::document::{Document, Node, NodeId};
use super::{ESC_KEY, MIN_POOLED_CHARS, PACKED_FORMAT, REF_KEY};

/// How a node is to be written.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// As it is, whatever its keys look like.
    Literal,
    /// With references in place of pooled values.
    Packed,
    /// A pooled value where it is defined: itself, with references inside.
    Definition,
}

enum Step {
    Node(NodeId, Form),
    Key(NodeId),
    EndArray,
    EndObject,
}

/// Writes a node as it is.
pub(super) fn literal<S: JsonSink>(document: &Document, id: NodeId, out: &mut JsonWriter<S>) {
    write(document, &[], id, Form::Literal, out);
}

/// The packed form of a whole document (REC-15).
pub(super) fn packed(document: &Document) -> String {
    let places = places(document);
    let mut text = String::new();
    let mut out = JsonWriter::new(&mut text);
    out.begin_object();
    out.key("format");
    out.string(PACKED_FORMAT);
    out.key("values");
    out.begin_array();
    for id in document.ids().filter(|id| place(&places, *id).is_some()) {
        write(document, &places, id, Form::Definition, &mut out);
    }
    out.end_array();
    out.key("recording");
    write(document, &places, document.root(), Form::Packed, &mut out);
    out.end_object();
    text
}

/// The place of each pooled node in `values` (REC-16): whatever occurs at least twice and is long enough.
fn places(document: &Document) -> Vec<Option<u64>> {
    let mut occurrences = vec![0_u64; document.len()];
    if let Some(root) = occurrences.get_mut(document.root().index()) {
        *root = 1;
    }
    // Parents come after their children, so each node's count is complete when it is handed down.
    for id in document.ids().rev() {
        let count = occurrences.get(id.index()).copied().unwrap_or(0);
        if count == 0 || needs_escape(document, id) {
            continue; // an escaped object is written out literally wherever it stands
        }
        for child in document.children(id) {
            if let Some(times) = occurrences.get_mut(child.index()) {
                *times = times.saturating_add(count);
            }
        }
    }
    let mut next = 0..;
    occurrences
        .iter()
        .zip(document.text_lengths())
        .zip(document.ids())
        .map(|((times, lengths), id)| {
            let poolable = !matches!(document.node(id), Some(Node::Literal(_)) | None);
            let pooled = poolable && *times >= 2 && lengths.units >= MIN_POOLED_CHARS;
            if pooled { next.next() } else { None }
        })
        .collect()
}

fn place(places: &[Option<u64>], id: NodeId) -> Option<u64> {
    places.get(id.index()).copied().flatten()
}

fn needs_escape(document: &Document, id: NodeId) -> bool {
    let Some(Node::Object(entries)) = document.node(id) else { return false };
    entries
        .iter()
        .any(|(key, _)| document.as_str(*key).is_some_and(|key| matches!(&**key, REF_KEY | ESC_KEY)))
}

fn write<S: JsonSink>(
    document: &Document,
    places: &[Option<u64>],
    id: NodeId,
    form: Form,
    out: &mut JsonWriter<S>,
) {
    let mut steps = vec![Step::Node(id, form)];
    while let Some(step) = steps.pop() {
        match step {
            Step::EndArray => out.end_array(),
            Step::EndObject => out.end_object(),
            Step::Key(key) => out.key(document.as_str(key).map_or("", |key| key)),
            Step::Node(id, form) => {
                if let (Form::Packed, Some(place)) = (form, place(places, id)) {
                    out.begin_object();
                    out.key(REF_KEY);
                    out.uint(place);
                    out.end_object();
                } else if form != Form::Literal && needs_escape(document, id) {
                    out.begin_object();
                    out.key(ESC_KEY);
                    steps.push(Step::EndObject);
                    steps.push(Step::Node(id, Form::Literal));
                } else {
                    open(document, id, form, out, &mut steps);
                }
            }
        }
    }
}

fn open<S: JsonSink>(
    document: &Document,
    id: NodeId,
    form: Form,
    out: &mut JsonWriter<S>,
    steps: &mut Vec<Step>,
) {
    let inside = if form == Form::Literal { Form::Literal } else { Form::Packed };
    match document.node(id) {
        Some(Node::Literal(text)) => out.raw(text),
        Some(Node::String(text)) => out.string(text),
        Some(Node::Array(items)) => {
            out.begin_array();
            steps.push(Step::EndArray);
            steps.extend(items.iter().rev().map(|item| Step::Node(*item, inside)));
        }
        Some(Node::Object(entries)) => {
            out.begin_object();
            steps.push(Step::EndObject);
            for (key, value) in entries.iter().rev() {
                steps.push(Step::Node(*value, inside));
                steps.push(Step::Key(*key));
            }
        }
        None => out.null(),
    }
}

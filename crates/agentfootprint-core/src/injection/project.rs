//! The plain-data projection of an active injection, and how it is sorted into slots (CTX-30, CTX-33).

use agentfootprint_record::events::words::Word as _;
use footprint::value::{Array, Object, Str, Value};

use super::shape::{InjectedMessage, ProjectionView, Retrieval};

/// Builds the projection of one injection. Tool code is resolved later, by name.
pub(crate) fn project(injection: &ProjectionView<'_>, rendered: Option<&str>) -> Value {
    let mut shape = Object::new();
    shape.insert("id", Value::from(injection.id.clone()));
    shape.insert("flavor", Value::from(injection.flavor.word()));
    if let Some(description) = injection.description {
        shape.insert("description", Value::from(description.clone()));
    }
    if let Some(mode) = injection.meta.surface_mode {
        shape.insert("surfaceMode", Value::from(mode.word()));
    }
    if injection.meta.auto_activate {
        shape.insert("autoActivate", Value::from("currentSkill"));
    }
    if let Some(cache) = &injection.meta.cache {
        shape.insert("cache", Value::from(cache.word()));
    }
    if let Some(retrieval) = injection.meta.retrieval {
        shape.insert("retrieval", retrieval_value(retrieval));
    }
    let mut inject = Object::new();
    match rendered {
        Some(text) => {
            inject.insert("systemPrompt", Value::from(text));
        }
        None => {
            if let Some(text) = &injection.content.system_prompt {
                inject.insert("systemPrompt", Value::from(text.clone()));
            }
        }
    }
    if !injection.content.messages.is_empty() {
        let messages: Array = injection.content.messages.iter().map(message_value).collect();
        inject.insert("messages", Value::from(messages));
    }
    if !injection.content.tools.is_empty() {
        let tools: Array = injection
            .content
            .tools
            .iter()
            .map(|tool| {
                Value::from(Object::from_iter([
                    (Str::from("schema"), tool.schema().recorded().clone()),
                    (Str::from("injectionId"), Value::from(injection.id.clone())),
                ]))
            })
            .collect();
        inject.insert("tools", Value::from(tools));
    }
    shape.insert("inject", Value::from(inject));
    Value::from(shape)
}

fn message_value(message: &InjectedMessage) -> Value {
    Value::from(Object::from_iter([
        (Str::from("role"), Value::from(message.role.word())),
        (Str::from("content"), Value::from(message.content.clone())),
    ]))
}

fn retrieval_value(retrieval: Retrieval) -> Value {
    let mut shape = Object::new();
    shape.insert("score", Value::from(retrieval.score));
    shape.insert("rank", Value::from(retrieval.rank));
    if let Some(threshold) = retrieval.threshold {
        shape.insert("threshold", Value::from(threshold));
    }
    Value::from(shape)
}

/// Read access to a projected injection: what the slots, the cache decision and delivery look at.
#[derive(Clone, Copy, Debug)]
pub struct ActiveInjection<'a>(&'a Value);

impl<'a> ActiveInjection<'a> {
    /// Looks at one entry of `activeInjections`.
    pub fn new(value: &'a Value) -> Self {
        Self(value)
    }

    /// The injection's id.
    pub fn id(&self) -> &'a str {
        self.text("id").unwrap_or_default()
    }

    /// The flavour word.
    pub fn flavor(&self) -> &'a str {
        self.text("flavor").unwrap_or("custom")
    }

    /// The description.
    pub fn description(&self) -> Option<&'a str> {
        self.text("description")
    }

    /// The cache policy word.
    pub fn cache(&self) -> Option<&'a str> {
        self.text("cache")
    }

    /// How a retrieved piece was ranked.
    pub fn retrieval(&self) -> Option<&'a Value> {
        self.0.get("retrieval")
    }

    /// The system text this piece contributes: none for a skill that is served by `read_skill` alone.
    pub fn served_system_text(&self) -> Option<&'a str> {
        let text = self
            .0
            .walk(&["inject", "systemPrompt"])
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())?;
        let tool_only = self.flavor() == "skill" && self.text("surfaceMode") == Some("tool-only");
        (!tool_only).then_some(text)
    }

    /// The declared messages.
    pub fn messages(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.list("messages")
    }

    /// The declared tools: `{schema, injectionId}`.
    pub fn tools(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.list("tools")
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).and_then(Value::as_str)
    }

    fn list(&self, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.0.walk(&["inject", key]).and_then(Value::as_array).into_iter().flat_map(Array::iter)
    }
}

/// The three slots an active set is sorted into.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BySlot {
    /// Pieces with system text to serve.
    pub system_prompt: Array,
    /// Pieces with messages.
    pub messages: Array,
    /// Pieces with tools.
    pub tools: Array,
}

impl BySlot {
    /// The recorded shape.
    pub fn to_value(&self) -> Value {
        Value::from(Object::from_iter([
            (Str::from("systemPrompt"), Value::from(self.system_prompt.clone())),
            (Str::from("messages"), Value::from(self.messages.clone())),
            (Str::from("tools"), Value::from(self.tools.clone())),
        ]))
    }
}

/// Sorts active injections by slot with the filters the slots themselves use (CTX-30, AGT-60).
///
/// `entry` makes the `{id, source, reason}` entry of one piece.
pub fn route_active(active: &Array, mut entry: impl FnMut(ActiveInjection<'_>) -> Value) -> BySlot {
    let mut slots = BySlot::default();
    for value in active.iter() {
        let piece = ActiveInjection::new(value);
        let (system, messages, tools) = (
            piece.served_system_text().is_some(),
            piece.messages().next().is_some(),
            piece.tools().next().is_some(),
        );
        if !(system || messages || tools) {
            continue;
        }
        let entry = entry(piece);
        if system {
            slots.system_prompt.push(entry.clone());
        }
        if messages {
            slots.messages.push(entry.clone());
        }
        if tools {
            slots.tools.push(entry);
        }
    }
    slots
}

/// What changed in one slot, by id, as sets: `{added, removed, kept}` of ids.
pub fn diff(before: &Array, now: &Array) -> Value {
    let ids = |list: &Array| -> Vec<Str> {
        let mut seen: Vec<Str> = Vec::new();
        for entry in list.iter() {
            if let Some(id) = entry.get("id").and_then(Value::as_str)
                && !seen.iter().any(|known| &**known == id)
            {
                seen.push(id.into());
            }
        }
        seen
    };
    let (before, now) = (ids(before), ids(now));
    let pick = |from: &[Str], other: &[Str], in_other: bool| -> Array {
        from.iter().filter(|id| other.contains(id) == in_other).map(|id| Value::from(id.clone())).collect()
    };
    Value::from(Object::from_iter([
        (Str::from("added"), Value::from(pick(&now, &before, false))),
        (Str::from("removed"), Value::from(pick(&before, &now, false))),
        (Str::from("kept"), Value::from(pick(&now, &before, true))),
    ]))
}

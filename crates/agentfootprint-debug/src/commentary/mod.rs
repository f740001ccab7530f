//! A sentence per event, for readers who are not engineers (REC §5.3).
//!
//! | file | idea |
//! |---|---|
//! | `key` | which sentence an event is told with, or that it is passed over |
//! | `texts` | the English texts, and how a map of texts is composed and checked |
//! | `values` | what a sentence may say: names, sizes, percentages — no ids, payloads or token counts |
//!
//! ```
//! use agentfootprint_debug::commentary::Commentary;
//! use agentfootprint_record::events::payload::StreamToolStart;
//! use agentfootprint_record::events::{Event, EventMeta, Moment, RunFacts};
//! use footprint::value;
//!
//! let meta = EventMeta::build(Some("step-billing/tool-calls#9".into()), Moment::default(), &RunFacts::new("run-1-1", ["Sequence:desk"]));
//! let event = Event::new(StreamToolStart::new("invoice", "t1", value!({ "number": 7 })), meta);
//! assert_eq!(Commentary::new("Desk").tell(&event).as_deref(), Some("billing uses invoice."));
//! ```

mod key;
#[cfg(test)]
mod tests;
mod texts;
mod values;

use std::collections::HashMap;

use agentfootprint_record::conventions::{ids, is_agent_internal, is_reserved_subflow_segment};
use agentfootprint_record::events::payload::StreamLlmStart;
use agentfootprint_record::events::{AgentEvent, Event, EventMeta};

pub use key::{CommentaryKey, commentary_key};
pub use texts::{
    TemplateCatalogError, Validate, commentary_keys, compose_messages, default_messages, validate_messages,
};

use crate::live::{Templates, render};

/// Tells events in sentences. The texts are a value of its own: two hosts may speak two languages at once.
#[derive(Clone, Debug)]
pub struct Commentary {
    app_name: String,
    messages: Templates,
    /// What the tools of the last request say of themselves.
    descriptions: HashMap<String, String>,
}

impl Commentary {
    /// Speaks English of an app of this name.
    #[must_use]
    pub fn new(app_name: impl Into<String>) -> Self {
        Self { app_name: app_name.into(), messages: default_messages(), descriptions: HashMap::new() }
    }

    /// Speaks with these texts instead.
    ///
    /// # Errors
    /// [`TemplateCatalogError`] naming every key they lack; [`compose_messages`] fills them up with the defaults.
    pub fn with_messages(mut self, messages: Templates, label: &str) -> Result<Self, TemplateCatalogError> {
        validate_messages(&messages, commentary_keys(), Validate::named(label))?;
        self.messages = messages;
        Ok(self)
    }

    /// Takes note of what tools say of themselves, then tells the event: for whoever follows a run from its start.
    pub fn follow(&mut self, event: &Event) -> Option<String> {
        if let Some(start) = event.of::<StreamLlmStart>() {
            for tool in start.tools.iter().flatten() {
                if let Some(description) = &tool.description {
                    self.descriptions.insert(tool.name.to_string(), description.to_string());
                }
            }
        }
        self.tell(event)
    }

    /// The sentence of an event; `None` when it is passed over or there are no words for it.
    #[must_use]
    pub fn tell(&self, event: &Event) -> Option<String> {
        let CommentaryKey::Key(key) = commentary_key(&event.kind) else { return None };
        let mut key = key;
        let mut values = values::of(&event.kind);
        if let AgentEvent::StreamToolStart(start) = &event.kind {
            // One sentence of the description: the rest is written for the model.
            let description =
                self.descriptions.get(&*start.tool_name).map(|text| values::first_sentence(text));
            key = if description.is_some() { "stream.tool_start.desc" } else { "stream.tool_start.noDesc" };
            values.extend(description.map(|text| ("toolDescription", text)));
        }
        for (place, fragment) in values::fragments(&event.kind) {
            let text = self.text(fragment, &values);
            values.insert(place, text);
        }
        values.insert("speaker", speaker(&event.meta, &self.app_name));
        values.insert("appName", self.app_name.clone());
        Some(self.text(key, &values))
    }

    fn text(&self, key: &str, values: &values::Values) -> String {
        let template = self.messages.get(key).map_or("", String::as_str);
        render(template, |name| values.get(name).map(String::as_str))
    }
}

/// Who speaks: the innermost runner of the caller, else the app (REC-58).
///
/// ```
/// use agentfootprint_debug::commentary::speaker;
/// use agentfootprint_record::events::{EventMeta, Moment, RunFacts};
/// let at = |step: &str| EventMeta::build(Some(step.into()), Moment::default(), &RunFacts::new("run-1-1", ["Agent:a"]));
/// assert_eq!(speaker(&at("step-billing/sf-tools/compose#3"), "Desk"), "billing");
/// assert_eq!(speaker(&at("final/prepare-final#3"), "Desk"), "Desk");
/// ```
#[must_use]
pub fn speaker(meta: &EventMeta, app_name: &str) -> String {
    meta.subflow_path()
        .filter(|part| !is_reserved_subflow_segment(part) && !is_agent_internal(part))
        .last()
        .map(|part| part.strip_prefix(ids::SEQUENCE_STEP_PREFIX).unwrap_or(part))
        .unwrap_or(app_name)
        .to_owned()
}

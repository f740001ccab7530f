use std::sync::Arc;

use agentfootprint_record::message::{Message, Messages, ProviderMessages, Role};
use footprint::value::{Str, Value};
use serde::{Deserialize, Serialize};

/// What a model is asked. Cloning shares everything large.
///
/// ```
/// use agentfootprint_core::llm::{LlmRequest, ToolSchema};
/// use footprint::value;
///
/// let request = LlmRequest::new("small-1")
///     .system("Be brief.")
///     .user("What day is it?")
///     .tool(ToolSchema::new("today", "The current day", value!({ "type": "object" })));
/// assert_eq!(request.system_prompt().as_deref(), Some("Be brief."));
/// assert_eq!(request.last_user_text(), Some("What day is it?"));
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LlmRequest {
    /// The parts of the system prompt, in order; a cache boundary can fall between two of them.
    pub system_segments: Arc<[SystemSegment]>,
    /// The messages. Providers see them through [`LlmRequest::messages`], without the framework's own fields.
    history: Messages,
    /// The tools offered, in order.
    pub tools: Arc<[ToolSchema]>,
    /// The vendor's model id, or the adapter's shorthand.
    pub model: Str,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Limit of the answer, in tokens.
    pub max_tokens: Option<u64>,
    /// Sequences that end the answer.
    pub stop: Arc<[Str]>,
    /// The wish to think; the adapter maps it to what the model takes.
    pub thinking: Option<Thinking>,
    /// Forces one tool.
    pub tool_choice: Option<ToolChoice>,
    /// The form the endpoint must give the text of its answer.
    pub output_schema: Option<OutputSchema>,
    /// Where the stable prefix ends, placed by the cache strategy.
    pub cache_markers: Vec<CacheMarker>,
}

/// One part of the system prompt. The segments of a request, joined, are its system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemSegment {
    /// Who wrote it (an injection id, or `base`).
    pub source: Str,
    /// The text, with its separator from the part before.
    pub text: Str,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSchema {
    /// The name.
    pub name: Str,
    /// What it does.
    pub description: Str,
    /// JSON schema of its arguments.
    pub input_schema: Value,
}

impl ToolSchema {
    /// A tool.
    pub fn new(name: impl Into<Str>, description: impl Into<Str>, input_schema: Value) -> Self {
        ToolSchema { name: name.into(), description: description.into(), input_schema }
    }
}

/// The form of an answer's text, for endpoints that hold the model to a JSON schema while it writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputSchema {
    /// What the form is called: letters, digits, `_` and `-`, at most 64.
    pub name: Str,
    /// The JSON schema.
    pub schema: Value,
}

impl OutputSchema {
    /// A form. Characters a name cannot have become `_`, and what is longer than a name can be is cut.
    ///
    /// ```
    /// use agentfootprint_core::llm::OutputSchema;
    /// let form = OutputSchema::new("weather report", footprint::value!({ "type": "object" }));
    /// assert_eq!(&*form.name, "weather_report");
    /// ```
    pub fn new(name: &str, schema: Value) -> Self {
        let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
        OutputSchema { name: name.chars().map(fits).take(64).collect::<String>().into(), schema }
    }

    /// Whether the schema leaves nothing open: every object in it lists all of its properties as required and allows no
    /// other. Endpoints that guarantee a form ask for that.
    pub fn is_closed(&self) -> bool {
        let mut waiting = vec![&self.schema];
        while let Some(schema) = waiting.pop() {
            match schema {
                Value::Array(items) => waiting.extend(items.iter()),
                Value::Object(fields) => {
                    if let Some(Value::Object(properties)) = fields.get("properties") {
                        let required = fields.get("required").and_then(Value::as_array);
                        let is_required = |name: &str| {
                            required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
                        };
                        let is_shut = fields.get("additionalProperties") == Some(&Value::Bool(false));
                        if !is_shut || !properties.keys().all(|name| is_required(name)) {
                            return false;
                        }
                    }
                    waiting.extend(fields.values());
                }
                _ => {}
            }
        }
        true
    }
}

/// The wish to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// How many tokens it may take.
    pub budget: u64,
}

/// What the model must do with the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// Call this one.
    Tool {
        /// The tool's name.
        name: Str,
    },
}

/// A request part a cache marker belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheField {
    /// The system segments.
    System,
    /// The tools.
    Tools,
    /// The messages.
    Messages,
}

/// How long a cached prefix should live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheTtl {
    /// The vendor's ordinary time.
    #[default]
    Short,
    /// The vendor's longer time.
    Long,
}

/// The end of a stable prefix: everything up to and including `boundary_index` of `field` may be cached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheMarker {
    /// Which part.
    pub field: CacheField,
    /// Index into that part, as the request has it.
    pub boundary_index: usize,
    /// How long.
    pub ttl: CacheTtl,
    /// Why here.
    pub reason: String,
}

impl LlmRequest {
    /// A request to `model` with nothing in it yet.
    pub fn new(model: impl Into<Str>) -> Self {
        LlmRequest { model: model.into(), ..LlmRequest::default() }
    }

    /// Sets the system prompt as one segment.
    #[must_use]
    pub fn system(mut self, text: impl Into<Str>) -> Self {
        let text = text.into();
        self.system_segments = if text.is_empty() {
            Arc::default()
        } else {
            Arc::new([SystemSegment { source: "base".into(), text }])
        };
        self
    }

    /// Sets the segments of the system prompt.
    #[must_use]
    pub fn with_system_segments(mut self, segments: impl Into<Arc<[SystemSegment]>>) -> Self {
        self.system_segments = segments.into();
        self
    }

    /// Replaces the messages: a shared view, nothing is copied.
    #[must_use]
    pub fn with_messages(mut self, messages: Messages) -> Self {
        self.history = messages;
        self
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.history.push(&message);
        self
    }

    /// Adds a user message.
    #[must_use]
    pub fn user(self, text: impl Into<Str>) -> Self {
        self.message(Message::user(text))
    }

    /// Replaces the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl Into<Arc<[ToolSchema]>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: ToolSchema) -> Self {
        self.tools = self.tools.iter().cloned().chain([tool]).collect();
        self
    }

    /// The system prompt: the segments, joined. `None` when it is empty.
    pub fn system_prompt(&self) -> Option<Str> {
        match &*self.system_segments {
            [] => None,
            [only] => (!only.text.is_empty()).then(|| only.text.clone()),
            many => {
                let joined: String = many.iter().map(|segment| &*segment.text).collect();
                (!joined.is_empty()).then(|| joined.into())
            }
        }
    }

    /// The messages as a provider may see them: positions are those of the conversation, and the fields that are
    /// only the framework's business do not exist.
    pub fn messages(&self) -> ProviderMessages {
        self.history.for_provider()
    }

    /// The text of the last user message.
    pub fn last_user_text(&self) -> Option<&str> {
        self.history.iter().rev().find(|message| message.is(&Role::User)).map(|message| message.content())
    }

    /// Calls `visit` with every text of the conversation: system prompt, contents, and the texts inside tool
    /// arguments.
    pub fn for_each_text(&self, visit: &mut dyn FnMut(&str)) {
        self.system_segments.iter().for_each(|segment| visit(&segment.text));
        for message in self.history.iter() {
            visit(message.content());
            for call in message.raw_tool_calls().into_iter().flat_map(|calls| calls.iter()) {
                if let Some(args) = call.get("args") {
                    visit_texts(args, visit);
                }
            }
        }
    }
}

fn visit_texts(value: &Value, visit: &mut dyn FnMut(&str)) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => visit(text),
            Value::Array(items) => open.extend(items.iter()),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
}

/// The recorded form: what was asked, without cancellation, without segments, without framework-only fields.
impl Serialize for LlmRequest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Recorded<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            system_prompt: Option<Str>,
            messages: ProviderMessages,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            tools: &'a [ToolSchema],
            model: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            temperature: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            max_tokens: Option<u64>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            stop: &'a [Str],
            #[serde(skip_serializing_if = "Option::is_none")]
            thinking: Option<Thinking>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tool_choice: Option<&'a ToolChoice>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            cache_markers: &'a [CacheMarker],
        }
        Recorded {
            system_prompt: self.system_prompt(),
            messages: self.messages(),
            tools: &self.tools,
            model: &self.model,
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            stop: &self.stop,
            thinking: self.thinking,
            tool_choice: self.tool_choice.as_ref(),
            cache_markers: &self.cache_markers,
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    /// Proves LLM-1, LLM-2.
    #[test]
    fn framework_only_fields_never_reach_a_provider_and_unknown_ones_survive() {
        let mut history = Messages::new();
        history.push_value(value!({
            "role": "user", "content": "hi", "ephemeral": true, "fromTheFuture": 1,
            "injectedBy": {"injectionId": "i", "flavor": "fact", "iteration": 1}, "frame": "wrap-up"
        }));
        let request = LlmRequest::new("m").with_messages(history);
        let json = serde_json::to_value(&request).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "messages": [{"role": "user", "content": "hi", "ephemeral": true, "fromTheFuture": 1}], "model": "m"
            })
        );
    }

    /// What is unset is omitted.
    #[test]
    fn a_full_request_serialises_its_parts_and_an_empty_one_omits_them() {
        let mut request = LlmRequest::new("m")
            .system("Be brief.")
            .tool(ToolSchema::new("t", "d", value!({"type": "object"})))
            .user("hi");
        request.tool_choice = Some(ToolChoice::Tool { name: "t".into() });
        request.thinking = Some(Thinking { budget: 2048 });
        request.max_tokens = Some(10);
        let json = serde_json::to_value(&request).unwrap();
        assert_eq!(json["systemPrompt"], "Be brief.");
        assert_eq!(json["tools"][0]["inputSchema"]["type"], "object");
        assert_eq!(json["toolChoice"], serde_json::json!({"type": "tool", "name": "t"}));
        assert_eq!(json["thinking"]["budget"], 2048);
        assert_eq!(json["maxTokens"], 10);
        let bare = serde_json::to_value(LlmRequest::new("m").system("")).unwrap();
        assert_eq!(bare, serde_json::json!({"messages": [], "model": "m"}));
    }

    #[test]
    fn segments_join_to_the_system_prompt() {
        let segment = |text: &str| SystemSegment { source: "s".into(), text: text.into() };
        let request = LlmRequest::new("m").with_system_segments([segment("a"), segment("\n\nb")]);
        assert_eq!(request.system_prompt().as_deref(), Some("a\n\nb"));
        let mut texts = Vec::new();
        request.for_each_text(&mut |text| texts.push(text.to_owned()));
        assert_eq!(texts.concat(), "a\n\nb");
    }
}

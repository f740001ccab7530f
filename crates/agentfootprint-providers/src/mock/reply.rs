use agentfootprint_core::llm::{LlmError, StopReason, Usage, WireManifest};
use agentfootprint_record::message::ToolCall;
use footprint::value::{Object, Str, Value};
use serde::{Deserialize, Serialize};

use super::words::words;

/// One scripted reply.
///
/// ```
/// use agentfootprint_core::llm::{LlmError, Usage};
/// use agentfootprint_providers::mock::{MockChunk, MockReply};
/// use footprint::value;
///
/// let text: MockReply = "Hello.".into();
/// let call = MockReply::tool_call("t1", "lookup", value!({ "id": 7 })).with_content("Let me see.");
/// let metered = MockReply::from("Done.").with_usage(Usage::new(12, 1).with_cache_read(900));
/// let failure: MockReply = LlmError::foreign("ServiceError", "slow down").with_status(429).into();
/// let broken = MockReply::chunks([MockChunk::text("Hel"), MockChunk::text("lo")])
///     .failing_after(1, LlmError::foreign("ServiceError", "socket hang up"));
/// # let _ = (text, call, metered, failure, broken);
/// ```
#[derive(Debug, Clone)]
pub struct MockReply {
    response: MockResponse,
    /// The pieces to stream; none = the words of the content.
    chunks: Option<Vec<MockChunk>>,
    failure: Option<(usize, LlmError)>,
}

/// A response of which only some parts are given; the mock fills in the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MockResponse {
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// The counts.
    pub usage: MockUsage,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The response id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_ref: Option<String>,
    /// The thinking, as the wire would have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_thinking: Option<Value>,
    /// What was really sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_manifest: Option<WireManifest>,
}

/// Counts to report, field by field; an absent one is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MockUsage {
    /// Fresh prompt tokens.
    pub input: Option<u64>,
    /// Completion tokens.
    pub output: Option<u64>,
    /// Prompt tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Prompt tokens written to a cache.
    pub cache_write: Option<u64>,
    /// Reasoning tokens.
    pub thinking: Option<u64>,
}

/// One streamed piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MockChunk {
    /// Text.
    Text(String),
    /// Thinking.
    Thinking(String),
}

impl MockChunk {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        MockChunk::Text(text.into())
    }

    /// A piece of thinking.
    pub fn thinking(text: impl Into<String>) -> Self {
        MockChunk::Thinking(text.into())
    }
}

impl MockReply {
    /// A reply with these parts.
    pub fn response(response: MockResponse) -> Self {
        MockReply { response, chunks: None, failure: None }
    }

    /// A reply that asks for one tool.
    pub fn tool_call(id: impl Into<Str>, name: impl Into<Str>, args: Value) -> Self {
        let args = args.as_object().cloned().unwrap_or_default();
        MockReply::tool_calls([(id, name, args)])
    }

    /// A reply that asks for several tools at once.
    pub fn tool_calls<I: Into<Str>, N: Into<Str>>(calls: impl IntoIterator<Item = (I, N, Object)>) -> Self {
        let tool_calls = calls.into_iter().map(|(id, name, args)| ToolCall::new(id, name, args)).collect();
        MockReply::response(MockResponse { tool_calls, ..MockResponse::default() })
    }

    /// A reply streamed in exactly these pieces; its content is their text.
    pub fn chunks(chunks: impl IntoIterator<Item = MockChunk>) -> Self {
        let chunks: Vec<MockChunk> = chunks.into_iter().collect();
        let texts = chunks.iter().filter_map(|chunk| match chunk {
            MockChunk::Text(text) => Some(text.as_str()),
            MockChunk::Thinking(_) => None,
        });
        let content = Some(texts.collect());
        let response = MockResponse { content, ..MockResponse::default() };
        MockReply { response, chunks: Some(chunks), failure: None }
    }

    /// Sets the text.
    #[must_use]
    pub fn with_content(mut self, content: impl Into<String>) -> Self {
        self.response.content = Some(content.into());
        self
    }

    /// Sets the counts.
    #[must_use]
    pub fn with_usage(mut self, usage: impl Into<MockUsage>) -> Self {
        self.response.usage = usage.into();
        self
    }

    /// Sets the stop reason.
    #[must_use]
    pub fn with_stop_reason(mut self, reason: impl Into<StopReason>) -> Self {
        self.response.stop_reason = Some(reason.into());
        self
    }

    /// Sets the raw thinking.
    #[must_use]
    pub fn with_raw_thinking(mut self, raw: Value) -> Self {
        self.response.raw_thinking = Some(raw);
        self
    }

    /// Sets the manifest, for rehearsing a wire that sends something else than it was given.
    #[must_use]
    pub fn with_wire_manifest<N: Into<Str>>(mut self, tool_names: impl IntoIterator<Item = N>) -> Self {
        let tool_names = tool_names.into_iter().map(Into::into).collect();
        self.response.wire_manifest = Some(WireManifest { tool_names });
        self
    }

    /// Fails after `chunks` streamed pieces (0 = before anything). A complete call fails in any case.
    #[must_use]
    pub fn failing_after(mut self, chunks: usize, error: LlmError) -> Self {
        self.failure = Some((chunks, error));
        self
    }

    /// Takes the reply apart for delivery.
    pub(super) fn deliver(self) -> Delivery {
        let MockReply { response, chunks, failure } = self;
        let text = response.content.as_deref().unwrap_or_default();
        let mut pieces = chunks.unwrap_or_else(|| words(text).map(MockChunk::text).collect());
        pieces.retain(
            |piece| !matches!(piece, MockChunk::Text(text) | MockChunk::Thinking(text) if text.is_empty()),
        );
        let failure = failure.map(|(after, error)| {
            pieces.truncate(after);
            error
        });
        Delivery { response, pieces, failure }
    }
}

/// A reply, ready to be handed out.
pub(super) struct Delivery {
    pub(super) response: MockResponse,
    pub(super) pieces: Vec<MockChunk>,
    pub(super) failure: Option<LlmError>,
}

impl From<&str> for MockReply {
    fn from(text: &str) -> Self {
        MockReply::response(MockResponse { content: Some(text.to_owned()), ..MockResponse::default() })
    }
}

impl From<String> for MockReply {
    fn from(text: String) -> Self {
        MockReply::response(MockResponse { content: Some(text), ..MockResponse::default() })
    }
}

impl From<MockResponse> for MockReply {
    fn from(response: MockResponse) -> Self {
        MockReply::response(response)
    }
}

impl From<LlmError> for MockReply {
    fn from(error: LlmError) -> Self {
        MockReply { response: MockResponse::default(), chunks: None, failure: Some((0, error)) }
    }
}

impl From<Usage> for MockUsage {
    fn from(usage: Usage) -> Self {
        MockUsage {
            input: Some(usage.input),
            output: Some(usage.output),
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            thinking: usage.thinking,
        }
    }
}

impl MockUsage {
    /// This, with the gaps filled from `base`.
    pub(super) fn over(self, base: Usage) -> Usage {
        let mut usage = Usage::new(self.input.unwrap_or(base.input), self.output.unwrap_or(base.output));
        usage.cache_read = self.cache_read.or(base.cache_read);
        usage.cache_write = self.cache_write.or(base.cache_write);
        usage.thinking = self.thinking.or(base.thinking);
        usage
    }
}

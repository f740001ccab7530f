//! A provider without a network: scripted, deterministic, quick.
//!
//! The mock declares everything the port can declare (every role, forced tools, thinking, streaming), so that
//! every path of an agent can be rehearsed without a key. Clones share one script and one position in it.
//!
//! | what is answered | how |
//! |---|---|
//! | a script, one reply per request | [`Mock::replies`] |
//! | the same reply always | [`Mock::always`] |
//! | whatever a function makes of the request | [`Mock::respond`] |
//! | `echo: <last user text>` | [`Mock::new`] |

mod reply;
mod script;
#[cfg(test)]
mod tests;
mod thinking;
mod words;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentfootprint_core::llm::{
    CallCx, Capabilities, LlmChunk, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, LlmStream,
    RoleSet, ServedBy, StopReason, Usage, WireManifest,
};
use agentfootprint_record::text::utf16_len;
use async_trait::async_trait;
use futures_util::{StreamExt, stream};

pub use reply::{MockChunk, MockReply, MockResponse, MockUsage};
pub use script::ScriptMode;
pub use thinking::{MockThinking, raw_summary, raw_thinking};

use reply::Delivery;
use script::Cursor;

/// The mock provider.
///
/// ```
/// use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest, StopReason};
/// use agentfootprint_providers::mock::{Mock, MockReply};
/// use footprint::value;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mock = Mock::replies([
///     MockReply::tool_call("t1", "get_order", value!({ "orderId": "A-1001" })),
///     MockReply::from("It is on its way."),
/// ]);
/// let request = LlmRequest::new("mock-1").user("Where is my order?");
/// let first = mock.complete(&request, &CallCx::detached()).await?;
/// assert_eq!(first.stop_reason, StopReason::ToolUse);
/// let second = mock.complete(&request, &CallCx::detached()).await?;
/// assert_eq!(second.content, "It is on its way.");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Mock {
    name: String,
    source: Source,
    usage: MockUsage,
    thinking: Wait,
    chunk_delay: Wait,
    streams: bool,
    cursor: Arc<Cursor>,
    captured: Option<MockRequests>,
}

#[derive(Clone)]
enum Source {
    Script(Arc<[MockReply]>),
    Always(Box<MockReply>),
    Respond(Arc<dyn Fn(&LlmRequest) -> MockReply + Send + Sync>),
    Echo,
}

/// A wait between two bounds, both included; equal bounds are a fixed wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Wait {
    low: u64,
    high: u64,
}

impl Mock {
    /// Answers `echo: <last user text>`.
    pub fn new() -> Self {
        Mock {
            name: "mock".to_owned(),
            source: Source::Echo,
            usage: MockUsage::default(),
            thinking: Wait::default(),
            chunk_delay: Wait::default(),
            streams: true,
            cursor: Arc::default(),
            captured: None,
        }
    }

    /// Answers one reply per request, in order. A request beyond the last reply fails loudly.
    pub fn replies<R: Into<MockReply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Mock { source: Source::Script(replies.into_iter().map(Into::into).collect()), ..Mock::new() }
    }

    /// Answers every request with the same reply.
    pub fn always(reply: impl Into<MockReply>) -> Self {
        Mock { source: Source::Always(Box::new(reply.into())), ..Mock::new() }
    }

    /// Answers what a function makes of the request.
    pub fn respond<R: Into<MockReply>>(respond: impl Fn(&LlmRequest) -> R + Send + Sync + 'static) -> Self {
        Mock { source: Source::Respond(Arc::new(move |request| respond(request).into())), ..Mock::new() }
    }

    /// An echoing mock as slow as a real model: 3 to 8 seconds of thinking, 30 to 80 milliseconds between words.
    pub fn realistic() -> Self {
        Mock::new().with_thinking_ms(3000, 8000).with_chunk_delay_ms(30, 80)
    }

    /// Renames the provider.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets counts to report instead of the ones computed from the texts, field by field.
    #[must_use]
    pub fn with_usage(mut self, usage: impl Into<MockUsage>) -> Self {
        self.usage = usage.into();
        self
    }

    /// Waits this long, drawn between the bounds, before anything is answered.
    #[must_use]
    pub fn with_thinking_ms(mut self, low: u64, high: u64) -> Self {
        self.thinking = Wait { low, high };
        self
    }

    /// Waits this long, drawn between the bounds, before every streamed piece.
    #[must_use]
    pub fn with_chunk_delay_ms(mut self, low: u64, high: u64) -> Self {
        self.chunk_delay = Wait { low, high };
        self
    }

    /// Answers whole only.
    #[must_use]
    pub fn without_streaming(mut self) -> Self {
        self.streams = false;
        self
    }

    /// Whether all runs share one position in the script (the default), or each run starts it anew.
    #[must_use]
    pub fn with_script_mode(mut self, mode: ScriptMode) -> Self {
        self.cursor = Arc::new(Cursor::new(mode));
        self
    }

    /// Keeps every request; read them from the returned handle. For tests: what is kept is never dropped.
    #[must_use]
    pub fn capturing(mut self) -> (Self, MockRequests) {
        let requests = MockRequests::default();
        self.captured = Some(requests.clone());
        (self, requests)
    }

    /// Starts the script anew.
    pub fn reset_replies(&self) {
        self.cursor.reset();
    }

    fn reply_to(&self, request: &LlmRequest, cx: &CallCx) -> Result<MockReply, LlmError> {
        if let Some(captured) = &self.captured {
            captured.keep(request);
        }
        match &self.source {
            Source::Script(replies) => {
                let at = self.cursor.advance(cx.run_id());
                replies.get(at).cloned().ok_or_else(|| self.exhausted(replies.len(), at + 1))
            }
            Source::Always(reply) => Ok((**reply).clone()),
            Source::Respond(respond) => Ok(respond(request)),
            Source::Echo => {
                Ok(MockReply::from(format!("echo: {}", request.last_user_text().unwrap_or_default())))
            }
        }
    }

    fn exhausted(&self, scripted: usize, request: usize) -> LlmError {
        let message = format!(
            "provider `{}` has {scripted} scripted replies and was asked for reply number {request}; script one more \
             reply, call reset_replies() between conversations, or use ScriptMode::PerRun when several runs share the \
             provider",
            self.name
        );
        LlmError::new(LlmErrorKind::ScriptExhausted { scripted, request }, self.name.clone(), message)
    }

    /// Fills in what a reply leaves open.
    fn complete_reply(&self, reply: MockResponse, request: &LlmRequest) -> LlmResponse {
        let content = reply.content.unwrap_or_default();
        let usual = if reply.tool_calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
        let stop_reason = reply.stop_reason.unwrap_or(usual);
        let system = request.system_prompt().map_or(0, |system| utf16_len(&system));
        let sent: usize = request.messages().iter().map(|message| utf16_len(message.content())).sum();
        let computed = Usage::new(quarter(sent + system), quarter(utf16_len(&content)));
        LlmResponse {
            usage: reply.usage.over(self.usage.over(computed)),
            content,
            tool_calls: reply.tool_calls,
            stop_reason,
            provider_ref: reply.provider_ref,
            raw_thinking: reply.raw_thinking,
            wire_manifest: Some(reply.wire_manifest.unwrap_or_else(|| WireManifest {
                tool_names: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            })),
            served_by: Some(ServedBy { provider: self.name.clone(), model: request.model.to_string() }),
        }
    }

    async fn wait(&self, wait: Wait, cx: &CallCx) -> Result<(), LlmError> {
        pause(wait, cx, &self.name).await
    }
}

/// Sleeps unless cancelled; also the one place that notices a cancellation.
async fn pause(wait: Wait, cx: &CallCx, name: &str) -> Result<(), LlmError> {
    let aborted = || LlmError::aborted(name.to_owned());
    if wait.high == 0 {
        return if cx.is_cancelled() { Err(aborted()) } else { Ok(()) };
    }
    let wait = Duration::from_millis(cx.rng().between(wait.low, wait.high));
    tokio::select! {
        biased;
        () = cx.cancelled() => Err(aborted()),
        () = tokio::time::sleep(wait) => Ok(()),
    }
}

/// A quarter of the characters, rounded up: the mock's idea of a token.
fn quarter(chars: usize) -> u64 {
    chars.div_ceil(4) as u64
}

impl Default for Mock {
    fn default() -> Self {
        Mock::new()
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock")
            .field("name", &self.name)
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl LlmProvider for Mock {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities::default()
            .carrying(RoleSet::ALL)
            .with_forced_tool_choice(true)
            .with_output_schema(true)
            .with_thinking_handler(Arc::new(MockThinking))
            .with_streams(self.streams)
    }

    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let reply = self.reply_to(request, cx)?;
        self.wait(self.thinking, cx).await?;
        match reply.deliver() {
            Delivery { failure: Some(error), .. } => Err(error),
            Delivery { response, .. } => Ok(self.complete_reply(response, request)),
        }
    }

    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        if !self.streams {
            return None;
        }
        Some(self.open(request, cx).await)
    }
}

impl Mock {
    async fn open(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmStream, LlmError> {
        let reply = self.reply_to(request, cx)?;
        self.wait(self.thinking, cx).await?;
        let Delivery { response, pieces, failure } = reply.deliver();
        let mut items: VecDeque<Result<LlmChunk, LlmError>> = VecDeque::new();
        let (mut texts, mut thoughts) = (0, 0);
        for piece in pieces {
            items.push_back(Ok(match piece {
                MockChunk::Text(content) => {
                    texts += 1;
                    LlmChunk::Text { token_index: texts - 1, content }
                }
                MockChunk::Thinking(delta) => {
                    thoughts += 1;
                    LlmChunk::Thinking { token_index: thoughts - 1, delta }
                }
            }));
        }
        let last = match failure {
            Some(error) if items.is_empty() => return Err(error),
            Some(error) => Err(error.after_delivery()),
            None => Ok(LlmChunk::done(texts, self.complete_reply(response, request))),
        };
        items.push_back(last);
        let (delay, cx, name) = (self.chunk_delay, cx.clone(), self.name.clone());
        let chunks = stream::unfold(items, move |mut items| {
            let (cx, name) = (cx.clone(), name.clone());
            async move {
                let item = items.pop_front()?;
                // The closing item comes at once, like the end of a real stream.
                let delay = if items.is_empty() { Wait::default() } else { delay };
                match pause(delay, &cx, &name).await {
                    Ok(()) => Some((item, items)),
                    Err(aborted) => Some((Err(aborted), VecDeque::new())),
                }
            }
        });
        Ok(Box::pin(chunks.fuse()))
    }
}

/// The requests a capturing mock was handed, in order.
#[derive(Clone, Default)]
pub struct MockRequests(Arc<Mutex<Vec<LlmRequest>>>);

impl MockRequests {
    fn keep(&self, request: &LlmRequest) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    }

    /// All requests so far.
    pub fn all(&self) -> Vec<LlmRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many requests were made so far.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether no request was made yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last request.
    pub fn last(&self) -> Option<LlmRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }
}

impl fmt::Debug for MockRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MockRequests({})", self.len())
    }
}

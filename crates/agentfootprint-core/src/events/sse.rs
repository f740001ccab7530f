//! Events as server-sent events (REC-82): one frame per event, written by hand because that is all the format is.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use agentfootprint_record::events::{AgentEvent, Event, Pattern};
use futures_core::Stream;
use tokio::time::{Instant, Sleep};

use super::stream::{EventStream, StreamItem};

/// What a frame holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SseFormat {
    /// The whole event.
    #[default]
    Full,
    /// The text of tokens, and nothing of any other event.
    Text,
}

/// How a stream of events is written.
#[derive(Clone, Debug, Default)]
pub struct SseOptions {
    filter: Option<Pattern>,
    format: SseFormat,
    event_name: Option<String>,
    heartbeat: Option<Duration>,
}

impl SseOptions {
    /// Every event, whole, under its own name, without a heartbeat.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes only events of this pattern.
    #[must_use]
    pub fn filter(mut self, pattern: Pattern) -> Self {
        self.filter = Some(pattern);
        self
    }

    /// What a frame holds.
    #[must_use]
    pub fn format(mut self, format: SseFormat) -> Self {
        self.format = format;
        self
    }

    /// Writes every frame under this name. A name with a line break is cut at it: it would be another field.
    #[must_use]
    pub fn event_name(mut self, name: impl Into<String>) -> Self {
        let name: String = name.into();
        self.event_name = Some(name.lines().next().unwrap_or_default().to_owned());
        self
    }

    /// Writes a comment whenever nothing was written for this long; zero switches it off.
    #[must_use]
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.heartbeat = (!every.is_zero()).then_some(every);
        self
    }
}

/// One event as a frame; `None` when the options leave it out.
///
/// ```
/// use agentfootprint_core::events::{SseFormat, SseOptions, encode_sse};
/// use agentfootprint_record::events::payload::StreamToken;
/// use agentfootprint_record::events::{Event, EventMeta};
/// let event = Event::new(StreamToken::new(1_u64, 0_u64, "two\nlines"), EventMeta::consumer(0));
/// let text = SseOptions::new().format(SseFormat::Text);
/// assert_eq!(
///     encode_sse(&event, &text).as_deref(),
///     Some("event: agentfootprint.stream.token\ndata: two\ndata: lines\n\n")
/// );
/// ```
pub fn encode_sse(event: &Event, options: &SseOptions) -> Option<String> {
    if options.filter.as_ref().is_some_and(|pattern| !pattern.matches(&event.kind)) {
        return None;
    }
    let data = match (options.format, &event.kind) {
        (SseFormat::Full, _) => event.to_value().to_string(),
        (SseFormat::Text, AgentEvent::StreamToken(token)) => token.content.to_string(),
        (SseFormat::Text, _) => return None,
    };
    let name = options.event_name.as_deref().unwrap_or_else(|| event.name_str());
    let mut frame = format!("event: {name}\n");
    // A line break inside the data would end the field: each line is a field of its own.
    for line in data.split('\n') {
        frame.push_str("data: ");
        frame.push_str(line.trim_end_matches('\r'));
        frame.push('\n');
    }
    frame.push('\n');
    Some(frame)
}

/// The comment of a heartbeat.
const PING: &str = ": ping\n\n";

/// A stream of events as frames. It ends with its events: for a run's own stream, when the run settles — with its answer, its
/// failure or its pause. Events a slow reader lost are counted in a comment.
pub fn to_sse(events: EventStream, options: SseOptions) -> SseStream {
    let wait = options.heartbeat.map(|every| Box::pin(tokio::time::sleep(every)));
    SseStream { events, options, wait }
}

/// Frames; see [`to_sse`].
pub struct SseStream {
    events: EventStream,
    options: SseOptions,
    wait: Option<Pin<Box<Sleep>>>,
}

impl SseStream {
    fn rest(&mut self) {
        if let (Some(wait), Some(every)) = (&mut self.wait, self.options.heartbeat) {
            wait.as_mut().reset(Instant::now() + every);
        }
    }
}

impl Stream for SseStream {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        loop {
            match Pin::new(&mut self.events).poll_next(cx) {
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(StreamItem::Gap(lost))) => {
                    self.rest();
                    return Poll::Ready(Some(format!(": {lost} events were lost\n\n")));
                }
                Poll::Ready(Some(StreamItem::Event(event))) => {
                    if let Some(frame) = encode_sse(&event, &self.options) {
                        self.rest();
                        return Poll::Ready(Some(frame));
                    }
                }
                Poll::Pending => break,
            }
        }
        let beats = self.wait.as_mut().is_some_and(|wait| wait.as_mut().poll(cx).is_ready());
        if beats {
            self.rest();
            return Poll::Ready(Some(PING.to_owned()));
        }
        Poll::Pending
    }
}

impl std::fmt::Debug for SseStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SseStream").field("options", &self.options).finish_non_exhaustive()
    }
}

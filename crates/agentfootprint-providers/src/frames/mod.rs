//! Cutting a byte stream into frames: pure, push-style, bounded.
//!
//! A [`Framer`] is fed whatever the transport delivers, in whatever pieces, and gives out whole frames. The frames
//! depend on the bytes alone and never on where the pieces were cut, not even inside a UTF-8 sequence or a CRLF.
//! Each framer reads every byte once and buffers at most one frame, up to its bound: a server that never ends a
//! line costs a bounded amount of memory and linear time.
//!
//! | framer | wires |
//! |---|---|
//! | [`SseFramer`] | `text/event-stream`: OpenAI, Anthropic |
//! | [`SseOrJsonFramer`] | either of event stream and a growing JSON list: Gemini |
//! | [`NdjsonFramer`] | one JSON document per line: Ollama |
#![cfg_attr(
    feature = "bedrock",
    doc = "| [`EventStreamFramer`] | `application/vnd.amazon.eventstream`: Bedrock |"
)]

#[cfg(feature = "bedrock")]
pub(crate) mod event_stream;
mod ndjson;
mod sse;
mod sse_or_json;

#[cfg(feature = "bedrock")]
pub use event_stream::EventStreamFramer;
pub use ndjson::NdjsonFramer;
pub use sse::SseFramer;
pub use sse_or_json::SseOrJsonFramer;

/// One frame of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The frame's type, when the wire names one (`event:` of SSE); empty otherwise.
    pub event: String,
    /// The payload.
    pub data: String,
}

/// Why a byte stream cannot be cut into frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// One frame is larger than the bound.
    #[error("one frame is larger than {limit} bytes")]
    TooLarge {
        /// The bound in bytes.
        limit: usize,
    },
    /// A frame is not UTF-8.
    #[error("a frame is not valid UTF-8")]
    NotUtf8,
    /// A binary frame's structure is damaged.
    #[error("a frame is damaged: {what}")]
    Damaged {
        /// Which part.
        what: &'static str,
    },
}

/// Cuts bytes into frames.
pub trait Framer: Send {
    /// Takes the next bytes; whole frames are appended to `out`.
    ///
    /// # Errors
    /// When the bytes cannot belong to this framing.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameError>;

    /// The stream ended: gives out a last frame whose terminator is missing.
    ///
    /// # Errors
    /// When the rest cannot be a frame.
    fn finish(&mut self, out: &mut Vec<Frame>) -> Result<(), FrameError>;
}

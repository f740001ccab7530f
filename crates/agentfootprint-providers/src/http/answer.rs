//! From the bytes of a streamed answer to chunks. Pure: no clock, no socket, no await.

use agentfootprint_core::llm::{LlmChunk, LlmError, LlmErrorKind, LlmResponse};

use super::Scene;
use crate::frames::{Frame, FrameError, Framer};
use crate::wire_json;

/// A piece of an answer that may be shown at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Thinking(String),
}

/// Puts one wire's frames together.
pub(crate) trait Assembler: Send + 'static {
    /// Takes the next frame; what may be shown is appended to `out`.
    fn push(&mut self, frame: &Frame, out: &mut Vec<Piece>) -> Result<(), LlmError>;
    /// The wire has said that nothing follows.
    fn is_closed(&self) -> bool;
    /// The wire's terminal evidence has been seen: the answer is whole even if the connection breaks now.
    fn has_evidence(&self) -> bool;
    /// The answer. Called once, after evidence.
    fn finish(&mut self) -> Result<LlmResponse, LlmError>;
    /// The endpoint answered a stream request with one plain body.
    fn plain_body(&self, body: &[u8]) -> LlmError;
}

/// Whether an answer can start with a plain body instead of a stream, to be told apart by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sniffing {
    /// A body that starts with `{`, `[` or `<` is not a stream (SSE).
    PlainBody,
    /// A body that starts with `<` is a page; the framer reads any JSON.
    #[allow(dead_code, reason = "used by the adapter whose framer reads any JSON")]
    PlainPage,
    /// Frames start like bodies do (NDJSON, binary).
    #[allow(dead_code, reason = "used by the adapters whose frames start like bodies")]
    Off,
}

enum Mode {
    /// Only white space so far.
    Undecided,
    Frames,
    Plain(Vec<u8>),
}

/// Framing, assembling and numbering of one streamed answer.
pub(crate) struct AnswerMachine<A> {
    framer: Box<dyn Framer>,
    assembler: A,
    sniffing: Sniffing,
    mode: Mode,
    max_body: usize,
    scene: Scene,
    texts: u64,
    thoughts: u64,
    frames: Vec<Frame>,
    pieces: Vec<Piece>,
}

impl<A: Assembler> AnswerMachine<A> {
    pub(crate) fn new(
        framer: Box<dyn Framer>,
        assembler: A,
        sniffing: Sniffing,
        max_body: usize,
        scene: Scene,
    ) -> Self {
        let mode = match sniffing {
            Sniffing::PlainBody | Sniffing::PlainPage => Mode::Undecided,
            Sniffing::Off => Mode::Frames,
        };
        AnswerMachine {
            framer,
            assembler,
            sniffing,
            mode,
            max_body,
            scene,
            texts: 0,
            thoughts: 0,
            frames: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// Takes the next bytes. True when the wire has said that nothing follows.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<LlmChunk>) -> Result<bool, LlmError> {
        if matches!(self.mode, Mode::Undecided) {
            self.mode = match wire_json::first_byte(bytes) {
                None => Mode::Undecided,
                Some(b'<') => Mode::Plain(Vec::new()),
                Some(b'{' | b'[') if self.sniffing == Sniffing::PlainBody => Mode::Plain(Vec::new()),
                Some(_) => Mode::Frames,
            };
        }
        if let Mode::Plain(body) = &mut self.mode {
            if body.len() + bytes.len() > self.max_body {
                return Err(self.too_large(self.max_body));
            }
            body.extend_from_slice(bytes);
            return Ok(false);
        }
        let framed = self.framer.push(bytes, &mut self.frames);
        self.assemble(out)?;
        framed.map_err(|error| self.bad_frame(&error))?;
        Ok(self.assembler.is_closed())
    }

    /// The bytes ended. `broken` says how, when the connection did not end by itself.
    pub(crate) fn end(
        &mut self,
        broken: Option<LlmError>,
        out: &mut Vec<LlmChunk>,
    ) -> Result<LlmChunk, LlmError> {
        if let (Mode::Plain(body), None) = (&self.mode, &broken) {
            return Err(self.assembler.plain_body(body));
        }
        // A rest that cannot be read is what a cut looks like; the missing evidence below reports it.
        let rest_is_whole = self.framer.finish(&mut self.frames).is_ok();
        let rest = self.assemble(out);
        if self.assembler.has_evidence() {
            return self.done();
        }
        match (broken, rest) {
            (Some(error), _) => Err(self.marked(error)),
            // In-band errors are reports, not cuts.
            (None, Err(error)) if rest_is_whole && !matches!(error.kind, LlmErrorKind::UnreadableFrame) => {
                Err(error)
            }
            (None, _) => Err(self.incomplete()),
        }
    }

    /// The answer, after the wire has closed it.
    pub(crate) fn done(&mut self) -> Result<LlmChunk, LlmError> {
        if !self.assembler.has_evidence() {
            return Err(self.incomplete());
        }
        let response = self.assembler.finish()?;
        Ok(LlmChunk::done(self.texts, response))
    }

    fn assemble(&mut self, out: &mut Vec<LlmChunk>) -> Result<(), LlmError> {
        let frames = std::mem::take(&mut self.frames);
        let mut failed = None;
        for frame in &frames {
            if self.assembler.is_closed() {
                break;
            }
            if let Err(error) = self.assembler.push(frame, &mut self.pieces) {
                failed = Some(error);
                break;
            }
        }
        for piece in self.pieces.drain(..) {
            out.push(match piece {
                Piece::Text(content) => {
                    self.texts += 1;
                    LlmChunk::Text { token_index: self.texts - 1, content }
                }
                Piece::Thinking(delta) => {
                    self.thoughts += 1;
                    LlmChunk::Thinking { token_index: self.thoughts - 1, delta }
                }
            });
        }
        failed.map_or(Ok(()), |error| Err(self.marked(error)))
    }

    fn delivered(&self) -> bool {
        self.texts + self.thoughts > 0
    }

    fn marked(&self, error: LlmError) -> LlmError {
        if self.delivered() { error.after_delivery() } else { error }
    }

    fn incomplete(&self) -> LlmError {
        let delivered = self.delivered();
        let so_far = if delivered {
            "after part of the answer was delivered"
        } else {
            "before anything was delivered"
        };
        let message = format!(
            "the stream from {} ended {so_far}, without saying that the answer is complete",
            self.scene.door()
        );
        self.scene.error(LlmErrorKind::StreamIncomplete { delivered }, message)
    }

    fn bad_frame(&self, error: &FrameError) -> LlmError {
        match error {
            FrameError::TooLarge { limit } => self.too_large(*limit),
            other => {
                let message = format!("the stream from {} cannot be read: {other}", self.scene.door());
                self.scene.error(LlmErrorKind::UnreadableFrame, message)
            }
        }
    }

    fn too_large(&self, limit: usize) -> LlmError {
        let message = format!(
            "the answer from {} is larger than {limit} bytes; raise the bound with .bounds(…) if that is expected",
            self.scene.door()
        );
        self.scene.error(LlmErrorKind::ResponseTooLarge { limit: limit as u64 }, message)
    }
}

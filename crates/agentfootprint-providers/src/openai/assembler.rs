use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse};
use serde_json::Value as Json;

use super::gather::{Gathered, Misshapen, Shape};
use super::refusal::{kind_in_stream, read_json};
use super::response::{reported_error, response};
use crate::finish::Finish;
use crate::frames::Frame;
use crate::http::{Assembler, HeaderMap, Piece, describe_body};
use crate::stream_json::{self, Told};
use crate::wire_json;

/// Fields that every chunk repeats and nothing here reads.
const UNREAD: [&str; 5] = ["created", "model", "system_fingerprint", "service_tier", "obfuscation"];

/// Puts the frames of one streamed completion together. `data: [DONE]` closes the stream; a `finish_reason` is the
/// evidence that the answer is whole, and a missing `[DONE]` after it is fine.
pub(super) struct ChatAssembler {
    gathered: Gathered,
    closed: bool,
    finish: Finish,
}

impl ChatAssembler {
    pub(super) fn new(finish: Finish) -> Self {
        ChatAssembler { gathered: Gathered::default(), closed: false, finish }
    }

    fn unreadable(&self, what: &str) -> LlmError {
        let scene = &self.finish.scene;
        scene.error(
            LlmErrorKind::UnreadableFrame,
            format!("a frame of the stream from {} cannot be read: {what}", scene.door()),
        )
    }
}

impl Assembler for ChatAssembler {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Piece>) -> Result<(), LlmError> {
        let json = match stream_json::read(frame, &UNREAD).map_err(|what| self.unreadable(&what))? {
            Told::Nothing => return Ok(()),
            Told::Farewell => {
                self.closed = true;
                return Ok(());
            }
            Told::Words(words) => return Err(self.in_band_error(words)),
            Told::Json(json) => json,
        };
        if let Some(error) = reported_error(&json).or_else(|| (frame.event == "error").then(|| json.clone()))
        {
            return Err(self.in_band_error(error));
        }
        self.gathered.take(&json, Shape::Frame, out).map_err(|Misshapen(what)| self.unreadable(what))
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn has_evidence(&self) -> bool {
        self.gathered.finish_reason.is_some()
    }

    fn finish(&mut self) -> Result<LlmResponse, LlmError> {
        response(&self.finish, std::mem::take(&mut self.gathered))
    }

    fn plain_body(&self, body: &[u8]) -> LlmError {
        let scene = &self.finish.scene;
        let json: Option<Json> = wire_json::parse(body).ok();
        if let Some(error) = json.as_ref().and_then(reported_error) {
            return self.in_band_error(error);
        }
        let door = scene.door();
        let what = describe_body(&Default::default(), body);
        let is_page = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'<');
        let message = if is_page {
            format!("{door} answered with {what} instead of a stream; {}", scene.identity().address_hint)
        } else {
            format!(
                "{door} ignored `stream` and answered with one plain body ({what}); the answer was billed but is not \
                 used. Switch streaming off for this endpoint with .streaming(false)"
            )
        };
        scene.error(LlmErrorKind::UnreadableResponse, message)
    }
}

impl ChatAssembler {
    /// An error the endpoint put into the stream, or into one plain body.
    fn in_band_error(&self, json: Json) -> LlmError {
        let (scene, read) = (&self.finish.scene, read_json(json));
        match read.status {
            Some(400..=599) => scene.error_in_success(&HeaderMap::new(), b"", read),
            _ => scene.in_band_error(kind_in_stream(&read), read),
        }
    }
}

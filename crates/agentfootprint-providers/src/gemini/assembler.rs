use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse};
use serde_json::Value as Json;

use super::gather::{Gathered, Misshapen};
use super::refusal::read_json;
use super::response::{is_error, response};
use crate::finish::Finish;
use crate::frames::Frame;
use crate::http::{Assembler, HeaderMap, Piece, describe_body};
use crate::wire_json;

/// Puts the chunks of one streamed answer together. The wire never closes a stream: text may follow a finish reason when
/// the answer has several rounds, so the end of the bytes is the end, and a reason before it is the evidence.
pub(super) struct ChunkAssembler {
    gathered: Gathered,
    finish: Finish,
}

impl ChunkAssembler {
    pub(super) fn new(finish: Finish) -> Self {
        ChunkAssembler { gathered: Gathered::default(), finish }
    }

    fn unreadable(&self, what: &str) -> LlmError {
        let scene = &self.finish.scene;
        scene.error(
            LlmErrorKind::UnreadableFrame,
            format!("a frame of the stream from {} cannot be read: {what}", scene.door()),
        )
    }

    /// An error in the stream; it states its status like a refusal does.
    fn in_band_error(&self, json: Json) -> LlmError {
        let (scene, read) = (&self.finish.scene, read_json(json));
        match read.status {
            Some(400..=599) => scene.error_in_success(&HeaderMap::new(), b"", read),
            _ => scene.in_band_error(LlmErrorKind::StreamBroken { delivered: false }, read),
        }
    }
}

impl Assembler for ChunkAssembler {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Piece>) -> Result<(), LlmError> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(()); // a keep-alive, or the farewell of a proxy
        }
        let json: Json = wire_json::parse(data.as_bytes())
            .map_err(|error| self.unreadable(&format!("damaged JSON at column {}", error.column())))?;
        if is_error(&json) {
            return Err(self.in_band_error(json));
        }
        if !json.is_object() {
            return Err(self.unreadable("it is not a JSON object"));
        }
        self.gathered.take(&json, out).map_err(|Misshapen(what)| self.unreadable(what))
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn has_evidence(&self) -> bool {
        self.gathered.is_whole()
    }

    fn finish(&mut self) -> Result<LlmResponse, LlmError> {
        response(&self.finish, std::mem::take(&mut self.gathered))
    }

    fn plain_body(&self, body: &[u8]) -> LlmError {
        let scene = &self.finish.scene;
        let what = describe_body(&HeaderMap::new(), body);
        let message = format!(
            "{} answered with {what} instead of a stream; {}",
            scene.door(),
            scene.identity().address_hint
        );
        scene.error(LlmErrorKind::UnreadableResponse, message)
    }
}

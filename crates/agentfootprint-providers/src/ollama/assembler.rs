use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse};
use serde_json::Value as Json;

use super::gather::{Gathered, Misshapen};
use super::refusal::read_json;
use crate::finish::Finish;
use crate::frames::Frame;
use crate::http::{Assembler, Piece, describe_body};
use crate::wire_json;

/// Puts the lines of one streamed answer together. `done: true` is the evidence that it is whole.
pub(super) struct OllamaAssembler {
    gathered: Gathered,
    finish: Finish,
    started: bool,
}

impl OllamaAssembler {
    pub(super) fn new(finish: Finish) -> Self {
        OllamaAssembler { gathered: Gathered::default(), finish, started: false }
    }
}

impl Assembler for OllamaAssembler {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Piece>) -> Result<(), LlmError> {
        let first = !std::mem::replace(&mut self.started, true);
        if first && frame.data.starts_with('<') {
            return Err(self.plain_body(frame.data.as_bytes()));
        }
        let json: Json = wire_json::parse(frame.data.as_bytes()).map_err(|error| {
            self.finish.unreadable_frame(&format!("damaged JSON at column {}", error.column()))
        })?;
        if !json.is_object() {
            return Err(self.finish.unreadable_frame("it is not a JSON object"));
        }
        if json.get("error").is_some_and(|error| !error.is_null()) {
            let broken = LlmErrorKind::StreamBroken { delivered: false };
            return Err(self.finish.scene.in_band_error(broken, read_json(json)));
        }
        self.gathered.take(&json, out).map_err(|Misshapen(what)| self.finish.unreadable_frame(what))
    }

    fn is_closed(&self) -> bool {
        self.gathered.is_done()
    }

    fn has_evidence(&self) -> bool {
        self.gathered.is_done()
    }

    fn finish(&mut self) -> Result<LlmResponse, LlmError> {
        std::mem::take(&mut self.gathered).response(&self.finish)
    }

    fn plain_body(&self, body: &[u8]) -> LlmError {
        self.finish.unreadable_answer(&describe_body(&Default::default(), body))
    }
}

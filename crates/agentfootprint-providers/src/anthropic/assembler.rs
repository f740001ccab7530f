use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse};
use serde_json::Value as Json;

use super::gather::{Gathered, Misshapen};
use super::refusal::{kind_in_stream, read_json};
use super::response::{is_error, response};
use crate::finish::Finish;
use crate::frames::Frame;
use crate::http::{Assembler, Piece, describe_body};
use crate::stream_json::{self, Told};
use crate::wire_json;

/// Puts the events of one streamed message together. `message_stop` closes the stream; it, or a stop reason before
/// it, is the evidence that the answer is whole.
pub(super) struct MessageAssembler {
    gathered: Gathered,
    closed: bool,
    finish: Finish,
}

impl MessageAssembler {
    pub(super) fn new(finish: Finish) -> Self {
        MessageAssembler { gathered: Gathered::default(), closed: false, finish }
    }

    fn unreadable(&self, what: &str) -> LlmError {
        let scene = &self.finish.scene;
        scene.error(
            LlmErrorKind::UnreadableFrame,
            format!("a frame of the stream from {} cannot be read: {what}", scene.door()),
        )
    }

    fn in_band_error(&self, json: Json) -> LlmError {
        let read = read_json(json);
        self.finish.scene.in_band_error(kind_in_stream(&read), read)
    }

    fn take(&mut self, event: &str, json: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        // Every event of a block says which; a proxy that leaves it out has one block at a time.
        let index = json.get("index").and_then(Json::as_u64).unwrap_or(0);
        match event {
            "message_start" => {
                let message = json.get("message").ok_or(Misshapen("`message_start` has no message"))?;
                self.gathered.start(message);
                Ok(())
            }
            "content_block_start" => {
                let block = json.get("content_block").ok_or(Misshapen("a block starts without a block"))?;
                self.gathered.start_block(index, block, out)
            }
            "content_block_delta" => {
                let delta = json.get("delta").ok_or(Misshapen("a delta event has no delta"))?;
                self.gathered.extend_block(index, delta, out)
            }
            "content_block_stop" => {
                self.gathered.stop_block(index);
                Ok(())
            }
            "message_delta" => self.gathered.end(json),
            "message_stop" => {
                self.closed = true;
                Ok(())
            }
            _ => Ok(()), // `ping`, and events this version does not know
        }
    }
}

impl Assembler for MessageAssembler {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Piece>) -> Result<(), LlmError> {
        let json = match stream_json::read(frame, &[]).map_err(|what| self.unreadable(&what))? {
            Told::Nothing | Told::Farewell => return Ok(()), // proxies that speak both wires say farewell
            Told::Words(words) => return Err(self.in_band_error(words)),
            Told::Json(json) => json,
        };
        if frame.event == "error" || is_error(&json) {
            return Err(self.in_band_error(json));
        }
        let event = json.get("type").and_then(Json::as_str).unwrap_or(&frame.event);
        self.take(event, &json, out).map_err(|Misshapen(what)| self.unreadable(what))
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn has_evidence(&self) -> bool {
        self.closed || self.gathered.stop_reason.is_some()
    }

    fn finish(&mut self) -> Result<LlmResponse, LlmError> {
        response(&self.finish, std::mem::take(&mut self.gathered))
    }

    fn plain_body(&self, body: &[u8]) -> LlmError {
        let scene = &self.finish.scene;
        if let Some(json) = wire_json::parse(body).ok().filter(is_error) {
            return self.in_band_error(json);
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

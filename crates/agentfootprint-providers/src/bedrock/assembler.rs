use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse};
use serde_json::Value as Json;

use super::gather::{Gathered, Misshapen};
use super::refusal::{kind_of, read_json};
use crate::finish::Finish;
use crate::frames::Frame;
use crate::http::{Assembler, Piece, Refusal, describe_body};
use crate::wire_json;

/// Puts the events of one ConverseStream together. `messageStop` is the evidence that the answer is whole; the
/// `metadata` after it brings the counts and ends the stream.
pub(super) struct ConverseAssembler {
    gathered: Gathered,
    request_id: Option<String>,
    finish: Finish,
}

impl ConverseAssembler {
    pub(super) fn new(finish: Finish, request_id: Option<String>) -> Self {
        ConverseAssembler { gathered: Gathered::default(), request_id, finish }
    }

    /// An exception inside the stream means what the same one means as a status.
    fn exception(&self, name: &str, data: &str) -> LlmError {
        let mut read = match serde_json::from_str::<Json>(data) {
            Ok(json) if json.is_object() => read_json(json),
            _ => {
                Refusal { sentence: (!data.trim().is_empty()).then(|| data.to_owned()), ..Refusal::default() }
            }
        };
        read.code = Some(name.to_owned());
        let kind = kind_of(name).unwrap_or(LlmErrorKind::StreamBroken { delivered: false });
        self.finish.scene.in_band_error(kind, read)
    }
}

impl Assembler for ConverseAssembler {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Piece>) -> Result<(), LlmError> {
        if let Some(name) = frame.event.strip_prefix("exception:").or(frame.event.strip_prefix("error:")) {
            return Err(self.exception(name, &frame.data));
        }
        if frame.data.trim().is_empty() {
            return Ok(());
        }
        let json: Json = wire_json::parse(frame.data.as_bytes()).map_err(|error| {
            self.finish.unreadable_frame(&format!("damaged JSON at column {}", error.column()))
        })?;
        if !json.is_object() {
            return Err(self.finish.unreadable_frame("it is not a JSON object"));
        }
        self.gathered
            .event(&frame.event, &json, out)
            .map_err(|Misshapen(what)| self.finish.unreadable_frame(what))
    }

    fn is_closed(&self) -> bool {
        self.gathered.is_closed()
    }

    fn has_evidence(&self) -> bool {
        self.gathered.is_stopped()
    }

    fn finish(&mut self) -> Result<LlmResponse, LlmError> {
        std::mem::take(&mut self.gathered).response(&self.finish, self.request_id.take())
    }

    fn plain_body(&self, body: &[u8]) -> LlmError {
        self.finish.unreadable_answer(&format!(
            "{} where a stream was asked for",
            describe_body(&Default::default(), body)
        ))
    }
}

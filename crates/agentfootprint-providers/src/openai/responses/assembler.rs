use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse};
use serde_json::Value as Json;

use super::super::refusal::read_json;
use super::items::{Misshapen, failure, kind_of, response, text_of};
use crate::finish::Finish;
use crate::frames::Frame;
use crate::http::{Assembler, Piece, describe_body};
use crate::stream_json::{self, Told};
use crate::wire_json;

/// Puts the events of one streamed answer together. `response.completed` and `response.incomplete` bring the whole
/// answer and are the evidence that it is one.
pub(super) struct ResponsesAssembler {
    content: String,
    /// Finished items by their place, for servers whose last event does not repeat them.
    items: Vec<(u64, Json)>,
    last: Option<Json>,
    finish: Finish,
}

impl ResponsesAssembler {
    pub(super) fn new(finish: Finish) -> Self {
        ResponsesAssembler { content: String::new(), items: Vec::new(), last: None, finish }
    }

    fn event(&mut self, kind: &str, json: &Json, out: &mut Vec<Piece>) -> Result<(), Misshapen> {
        let delta = || match json.get("delta") {
            Some(Json::String(text)) => Ok(text.as_str()),
            _ => Err(Misshapen("a delta is not a string")),
        };
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => self.say(delta()?, out),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let thought = delta()?;
                if !thought.is_empty() {
                    out.push(Piece::Thinking(thought.to_owned()));
                }
            }
            "response.output_item.done" => {
                let index =
                    json.get("output_index").and_then(Json::as_u64).unwrap_or(self.items.len() as u64);
                let item = json.get("item").filter(|item| item.is_object());
                self.items.push((index, item.ok_or(Misshapen("an item is not an object"))?.clone()));
            }
            "response.completed" | "response.incomplete" => {
                let last = json.get("response").filter(|response| response.is_object());
                let last = last.ok_or(Misshapen("the last event holds no response"))?.clone();
                let (text, _) = text_of(&self.all_items(&last));
                // What was not streamed before is handed on now.
                if let Some(rest) = text.strip_prefix(self.content.as_str()) {
                    self.say(rest, out);
                }
                self.last = Some(last);
            }
            _ => {}
        }
        Ok(())
    }

    fn say(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !text.is_empty() {
            self.content.push_str(text);
            out.push(Piece::Text(text.to_owned()));
        }
    }

    fn all_items(&self, last: &Json) -> Vec<Json> {
        match last.get("output").and_then(Json::as_array).filter(|items| !items.is_empty()) {
            Some(items) => items.clone(),
            None => {
                let mut items = self.items.clone();
                items.sort_by_key(|(index, _)| *index);
                items.into_iter().map(|(_, item)| item).collect()
            }
        }
    }
}

impl Assembler for ResponsesAssembler {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Piece>) -> Result<(), LlmError> {
        let json = match stream_json::read(frame, &[]) {
            Ok(Told::Nothing | Told::Farewell) => return Ok(()),
            Ok(Told::Words(json) | Told::Json(json)) => json,
            Err(what) => return Err(self.finish.unreadable_frame(&what)),
        };
        let broken = LlmErrorKind::StreamBroken { delivered: false };
        let kind = json.get("type").and_then(Json::as_str).unwrap_or(&frame.event);
        if kind == "error" || (kind.is_empty() && json.get("error").is_some_and(|error| !error.is_null())) {
            let read = read_json(json);
            let kind = kind_of(read.code.as_deref()).unwrap_or(broken);
            return Err(self.finish.scene.in_band_error(kind, read));
        }
        if kind == "response.failed" {
            let response = json.get("response").unwrap_or(&Json::Null);
            let failed = failure(response, broken.clone(), &self.finish);
            return Err(failed.unwrap_or_else(|| self.finish.scene.in_band_error(broken, read_json(json))));
        }
        let kind = kind.to_owned();
        self.event(&kind, &json, out).map_err(|Misshapen(what)| self.finish.unreadable_frame(what))
    }

    fn is_closed(&self) -> bool {
        self.last.is_some()
    }

    fn has_evidence(&self) -> bool {
        self.last.is_some()
    }

    fn finish(&mut self) -> Result<LlmResponse, LlmError> {
        let last = self.last.take().unwrap_or(Json::Null);
        response(&last, &self.all_items(&last), std::mem::take(&mut self.content), &self.finish)
    }

    fn plain_body(&self, body: &[u8]) -> LlmError {
        if let Ok(json) = wire_json::parse(body) {
            let broken = LlmErrorKind::StreamBroken { delivered: false };
            if let Some(error) = failure(&json, broken, &self.finish) {
                return error;
            }
        }
        self.finish.unreadable_answer(&format!(
            "{} where a stream was asked for",
            describe_body(&Default::default(), body)
        ))
    }
}

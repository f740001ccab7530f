//! Shows the steps of a run while they happen.

use std::sync::Mutex;

use agentfootprint::debug::plain;
use agentfootprint::events::{AgentEvent, Event};
use agentfootprint::footprint::value::Value;

use crate::out::say;

/// Prints events as they come; tokens run on in one line.
#[derive(Default)]
pub(crate) struct Live {
    in_line: Mutex<bool>,
}

impl Live {
    pub(crate) fn show(&self, event: &Event) {
        let at = event.meta.runtime_stage_id.to_string();
        let payload = || event.kind.payload();
        match &event.kind {
            AgentEvent::StreamToken(token) => self.token(&token.content),
            AgentEvent::ContextInjected(piece)
                if piece.source_id.is_some() && !matches!(word(&payload(), "slot").as_str(), "tools") =>
            {
                let payload = payload();
                self.line(
                    &at,
                    &format!(
                        "context  {} {}: {}",
                        word(&payload, "source"),
                        word(&payload, "sourceId"),
                        word(&payload, "contentSummary")
                    ),
                );
            }
            AgentEvent::StreamLlmStart(_) => {
                let payload = payload();
                self.line(
                    &at,
                    &format!("model    {} {} is asked", word(&payload, "provider"), word(&payload, "model")),
                );
            }
            AgentEvent::StreamToolStart(_) => {
                let payload = payload();
                let args = payload.get("args").map(ToString::to_string).unwrap_or_default();
                self.line(&at, &format!("tool     {} {args}", word(&payload, "toolName")));
            }
            AgentEvent::StreamToolEnd(_) => {
                let result = payload()
                    .get("result")
                    .map(|result| result.as_str().map_or_else(|| result.to_string(), str::to_owned));
                self.line(&at, &format!("result   {}", result.unwrap_or_else(|| "(nothing)".to_owned())));
            }
            AgentEvent::AgentRouteDecided(_) => {
                self.line(&at, &format!("route    {}", word(&payload(), "chosen")))
            }
            AgentEvent::ErrorFatal(_) => self.line(&at, &format!("failed   {}", word(&payload(), "error"))),
            _ => {}
        }
    }

    fn token(&self, text: &str) {
        let mut in_line = self.in_line.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !*in_line {
            say("                                   │ ");
        }
        *in_line = true;
        say(text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "\u{fffd}"));
    }

    fn line(&self, at: &str, text: &str) {
        let mut in_line = self.in_line.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if std::mem::take(&mut *in_line) {
            say("\n");
        }
        say(format!("{at:<34} {}\n", plain(text)));
    }

    /// Ends a line of tokens.
    pub(crate) fn end(&self) {
        let mut in_line = self.in_line.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if std::mem::take(&mut *in_line) {
            say("\n");
        }
    }
}

fn word(payload: &Value, key: &str) -> String {
    payload.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

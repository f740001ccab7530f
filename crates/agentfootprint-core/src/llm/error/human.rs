//! Sentences for people who run an agent and did not write it. Each says what to do next.
//!
//! Typed errors are dispatched on their kind. Only foreign errors are read word by word, in an order in which a
//! general word ("quota", "permission") is never reached before the status has had its say.

use std::sync::LazyLock;

use regex::Regex;

use super::{LlmError, LlmErrorKind};

const UNREACHABLE: &str = "The AI service could not be reached. Check the network connection and the address in the provider settings, then try again.";
const KEY_REJECTED: &str =
    "The AI service rejected the access key. Check or replace the key in the settings.";
const BUSY: &str = "The AI service is busy or the usage limit is reached. Wait a moment and try again.";
const TOO_SLOW: &str = "The AI service took too long to answer. Try again, or ask for something simpler.";
const VENDOR_PROBLEM: &str = "The AI service has a problem of its own right now. Try again later.";
const REJECTED: &str =
    "The AI service rejected the request. Check that the model name is right and available to this account.";
const TOO_LONG: &str = "The conversation is too long for this AI model. Start a new conversation or shorten it; sending the same again will fail again.";

pub(super) fn human_message(error: &LlmError) -> String {
    match &error.kind {
        LlmErrorKind::Network | LlmErrorKind::OllamaUnavailable { .. } => UNREACHABLE.to_owned(),
        LlmErrorKind::NoCredential | LlmErrorKind::Auth => KEY_REJECTED.to_owned(),
        LlmErrorKind::RateLimited | LlmErrorKind::CircuitOpen { .. } => BUSY.to_owned(),
        LlmErrorKind::Timeout { .. } => TOO_SLOW.to_owned(),
        LlmErrorKind::Transient
        | LlmErrorKind::StreamBroken { .. }
        | LlmErrorKind::StreamIncomplete { .. } => VENDOR_PROBLEM.to_owned(),
        LlmErrorKind::ContextWindowExceeded { .. } => TOO_LONG.to_owned(),
        LlmErrorKind::InvalidRequest | LlmErrorKind::ModelNotFound => REJECTED.to_owned(),
        LlmErrorKind::Foreign { .. } if error.gives_context_overflow() => TOO_LONG.to_owned(),
        LlmErrorKind::Foreign { .. } => humanise_text(error.status, error.message()),
        _ => framed(&error.to_string()),
    }
}

static WORDS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (
            r"(?i)fetch failed|connection error|ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|socket hang up|error sending request",
            UNREACHABLE,
        ),
        (r"(?i)\b401\b|\b403\b|unauthori[sz]ed|forbidden|invalid api key|authentication", KEY_REJECTED),
        (r"(?i)\b429\b|rate.?limit|too many requests|quota", BUSY),
        (r"(?i)timed? ?out|ETIMEDOUT|deadline", TOO_SLOW),
        (r"(?i)\b5\d\d\b|internal server error|bad gateway|service unavailable|overloaded", VENDOR_PROBLEM),
        (r"(?i)\b400\b|\b404\b|bad request|model.{0,40}(?:not found|does not exist|unknown)", REJECTED),
    ]
    .into_iter()
    .filter_map(|(pattern, sentence)| Some((Regex::new(pattern).ok()?, sentence)))
    .collect()
});

/// The sentence for an error known only by a status and a text.
///
/// ```
/// use agentfootprint_core::llm::humanise_text;
///
/// assert!(humanise_text(None, "getaddrinfo ENOTFOUND api.example").contains("could not be reached"));
/// assert!(humanise_text(Some(400), "quota field is not allowed").contains("model name"));
/// ```
pub fn humanise_text(status: Option<u16>, text: &str) -> String {
    match status {
        Some(401 | 403) => return KEY_REJECTED.to_owned(),
        Some(429) => return BUSY.to_owned(),
        Some(408) => return TOO_SLOW.to_owned(),
        Some(400..=499) => return REJECTED.to_owned(),
        Some(500..=599) => return VENDOR_PROBLEM.to_owned(),
        _ => {}
    }
    let found = WORDS.iter().find(|(pattern, _)| pattern.is_match(text));
    found.map_or_else(|| framed(text), |(_, sentence)| (*sentence).to_owned())
}

fn framed(text: &str) -> String {
    format!("The call to the AI service failed: {text}")
}

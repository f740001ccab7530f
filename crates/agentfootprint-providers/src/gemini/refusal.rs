use std::time::Duration;

use serde_json::Value as Json;

use crate::http::Refusal;
use crate::wire_json;

/// Reads an error body of Google's services: `{error: {code, status, message, details}}`, in a list where it streams.
pub(super) fn read_refusal(_status: u16, body: &[u8]) -> Refusal {
    match wire_json::parse(body) {
        Ok(json) if json.is_object() || json.is_array() => read_json(json),
        _ => Refusal::default(),
    }
}

pub(super) fn read_json(json: Json) -> Refusal {
    let top = json.get(0).unwrap_or(&json);
    let error = top.get("error").unwrap_or(top);
    let details = || error.get("details").and_then(Json::as_array).into_iter().flatten();
    let word = error.get("status").and_then(Json::as_str).map(str::to_owned);
    let status = error.get("code").and_then(Json::as_u64).and_then(|code| u16::try_from(code).ok());
    // A wrong key is a 400 here; only the details tell.
    let rejected_key =
        details().any(|detail| detail.get("reason").and_then(Json::as_str) == Some("API_KEY_INVALID"));
    let wait = details().find_map(|detail| seconds(detail.get("retryDelay")?.as_str()?));
    let read = Refusal::of_json(json);
    let unknown_model = status == Some(404)
        && read
            .sentence
            .as_deref()
            .is_some_and(|sentence| sentence.contains("models/") || sentence.contains("Publisher Model"));
    Refusal { code: word, unknown_model, rejected_key, wait, status, ..read }
}

/// A duration as these services write it: `13s`, `1.5s`.
fn seconds(text: &str) -> Option<Duration> {
    let amount: f64 = text.trim().strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(amount).ok()
}

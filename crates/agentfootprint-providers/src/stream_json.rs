//! What a frame of an event stream holds, for the wires that put JSON into events.

use serde_json::Value as Json;

use crate::frames::Frame;
use crate::wire_json;

/// What a frame says.
#[derive(Debug, PartialEq)]
pub(crate) enum Told {
    /// A keep-alive.
    Nothing,
    /// `[DONE]`.
    Farewell,
    /// An event named `error` with bare words in it, as some servers send.
    Words(Json),
    /// A JSON object; in an event named `error` any JSON.
    Json(Json),
}

/// Reads a frame, without the fields named in `unread` at its top. What comes back instead says what is wrong with it, never what
/// stood there.
pub(crate) fn read(frame: &Frame, unread: &[&str]) -> Result<Told, String> {
    let data = frame.data.trim();
    match data {
        "" => return Ok(Told::Nothing),
        "[DONE]" => return Ok(Told::Farewell),
        _ => {}
    }
    let is_error = frame.event == "error";
    match wire_json::parse_without(data.as_bytes(), unread) {
        Ok(json) if json.is_object() || is_error => Ok(Told::Json(json)),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(_) if is_error => Ok(Told::Words(Json::from(data))),
        Err(error) => Err(format!("damaged JSON at column {}", error.column())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn frames_say_one_of_five_things() {
        let frame = |event: &str, data: &str| {
            read(&Frame { event: event.to_owned(), data: data.to_owned() }, &["created"])
        };
        assert_eq!(frame("", "  "), Ok(Told::Nothing));
        assert_eq!(frame("error", "[DONE]"), Ok(Told::Farewell));
        assert_eq!(frame("", r#"{"created": 1, "id": "x"}"#), Ok(Told::Json(json!({"id": "x"}))));
        assert_eq!(frame("error", r#"["x"]"#), Ok(Told::Json(json!(["x"]))));
        assert_eq!(frame("error", "overloaded"), Ok(Told::Words(json!("overloaded"))));
        assert_eq!(frame("", r#"["x"]"#), Err("it is not a JSON object".to_owned()));
        assert_eq!(frame("", r#"{"created": tru}"#), Err("damaged JSON at column 16".to_owned()));
    }
}

//! Reading the arguments of a tool call from the JSON text a wire carries.

use agentfootprint_core::llm::StopReason;
use agentfootprint_record::text::utf16_len;
use footprint::value::{Object, Value};

/// What to do with a finished tool call whose arguments are not a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MalformedArgs {
    /// Hand the call on with empty arguments and the parser's sentence; the dispatcher answers it without running
    /// anything, so that the model can repair itself.
    #[default]
    ReturnWithError,
    /// Fail the call with a typed error.
    Refuse,
}

/// Why arguments could not be read: a sentence that never quotes them, and their length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadableArgs {
    pub(crate) sentence: String,
    pub(crate) length: usize,
}

/// Reads arguments; no text at all means no arguments.
pub(crate) fn read_tool_args(text: &str, stop: &StopReason) -> Result<Object, UnreadableArgs> {
    if text.trim().is_empty() {
        return Ok(Object::new());
    }
    // A parser's *syntax* errors name a place and an expectation and quote nothing.
    let sentence = match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => match Value::from(value) {
            Value::Object(args) => return Ok(args),
            other => format!("the arguments are {} instead of an object", article(other.kind().as_str())),
        },
        Err(error) => format!("the arguments are not JSON: {error}"),
    };
    let sentence = if *stop == StopReason::MaxTokens {
        format!("{sentence}; they were cut by the output limit, raise max_tokens")
    } else {
        sentence
    };
    Err(UnreadableArgs { sentence, length: utf16_len(text) })
}

fn article(kind: &str) -> String {
    match kind {
        "array" => "an array".to_owned(),
        "null" => "null".to_owned(),
        other => format!("a {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Object, UnreadableArgs> {
        read_tool_args(text, &StopReason::ToolUse)
    }

    /// Proves LLM-4, LLM-16.
    #[test]
    fn objects_keep_their_order_and_nothing_means_nothing() {
        let args = read(r#"{"z":1,"a":{"y":2,"b":3}}"#).unwrap();
        assert_eq!(Value::Object(args).to_string(), r#"{"z":1,"a":{"y":2,"b":3}}"#);
        assert!(read("").unwrap().is_empty());
        assert!(read(" \n").unwrap().is_empty());
    }

    /// Proves LLM-16.
    #[test]
    fn what_is_not_an_object_is_described_and_not_quoted() {
        for (text, word) in
            [("[1]", "an array"), ("\"canary\"", "a string"), ("null", "null"), ("{\"canary\":", "EOF")]
        {
            let error = read(text).unwrap_err();
            assert!(error.sentence.contains(word), "{}", error.sentence);
            assert!(!error.sentence.contains("canary"));
            assert_eq!(error.length, text.len());
        }
        let cut = read_tool_args("{\"a\": \"é", &StopReason::MaxTokens).unwrap_err();
        assert!(cut.sentence.contains("max_tokens"));
        assert_eq!(cut.length, 8);
    }
}

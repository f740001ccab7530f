//! Why a model stopped.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why the model stopped: five words of ours, and every other word in the vendor's own spelling.
///
/// A vendor's reason that has no exact counterpart is never folded onto the nearest word.
///
/// ```
/// use agentfootprint_core::llm::StopReason;
///
/// assert_eq!(StopReason::from("max_tokens"), StopReason::MaxTokens);
/// assert_eq!(StopReason::from("pause_turn").as_str(), "pause_turn");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum StopReason {
    /// The model finished its turn.
    #[default]
    Stop,
    /// The model asks for tool calls.
    ToolUse,
    /// The output limit cut the answer.
    MaxTokens,
    /// A stop sequence of the request was produced.
    StopSequence,
    /// The vendor withheld or cut the answer.
    ContentFilter,
    /// Any other reason, as the vendor spells it.
    Other(String),
}

impl StopReason {
    /// The recorded word.
    pub fn as_str(&self) -> &str {
        match self {
            StopReason::Stop => "stop",
            StopReason::ToolUse => "tool_use",
            StopReason::MaxTokens => "max_tokens",
            StopReason::StopSequence => "stop_sequence",
            StopReason::ContentFilter => "content_filter",
            StopReason::Other(word) => word,
        }
    }
}

impl From<&str> for StopReason {
    fn from(word: &str) -> Self {
        match word {
            "stop" => StopReason::Stop,
            "tool_use" => StopReason::ToolUse,
            "max_tokens" => StopReason::MaxTokens,
            "stop_sequence" => StopReason::StopSequence,
            "content_filter" => StopReason::ContentFilter,
            other => StopReason::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for StopReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for StopReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(StopReason::from(word.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-24.
    #[test]
    fn unknown_words_pass_through_and_known_words_round_trip() {
        for word in [
            "stop",
            "tool_use",
            "max_tokens",
            "stop_sequence",
            "content_filter",
            "refusal",
            "MALFORMED_FUNCTION_CALL",
        ] {
            let reason: StopReason = serde_json::from_value(serde_json::json!(word)).unwrap();
            assert_eq!(serde_json::to_value(&reason).unwrap(), word);
            assert_eq!(reason.to_string(), word);
        }
        assert_eq!(StopReason::from("end_turn"), StopReason::Other("end_turn".into()));
    }
}

use serde::{Deserialize, Serialize};

use super::LlmResponse;

/// One item of a streamed answer.
///
/// Text and thinking count their own pieces from 0. Tool calls are never surfaced in pieces; they are on
/// [`LlmChunk::Done`], whose response is authoritative and whose `content` is the concatenation of all text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "ChunkJson", try_from = "ChunkJson")]
pub enum LlmChunk {
    /// A piece of the answer; never empty.
    Text {
        /// Number of the piece.
        token_index: u64,
        /// The piece.
        content: String,
    },
    /// A piece of the model's thinking; never empty.
    Thinking {
        /// Number of the piece.
        token_index: u64,
        /// The piece.
        delta: String,
    },
    /// The answer is complete.
    Done {
        /// How many text pieces came before.
        token_index: u64,
        /// The whole answer.
        response: Box<LlmResponse>,
    },
}

impl LlmChunk {
    /// The last chunk of a stream.
    pub fn done(token_index: u64, response: LlmResponse) -> Self {
        LlmChunk::Done { token_index, response: Box::new(response) }
    }
}

/// The JSON form: one flat object, told apart by `done` and `thinkingDelta`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChunkJson {
    token_index: u64,
    content: String,
    done: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thinking_delta: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<Box<LlmResponse>>,
}

impl From<LlmChunk> for ChunkJson {
    fn from(chunk: LlmChunk) -> Self {
        let flat = |token_index| ChunkJson {
            token_index,
            content: String::new(),
            done: false,
            thinking_delta: None,
            response: None,
        };
        match chunk {
            LlmChunk::Text { token_index, content } => ChunkJson { content, ..flat(token_index) },
            LlmChunk::Thinking { token_index, delta } => {
                ChunkJson { thinking_delta: Some(delta), ..flat(token_index) }
            }
            LlmChunk::Done { token_index, response } => {
                ChunkJson { done: true, response: Some(response), ..flat(token_index) }
            }
        }
    }
}

impl TryFrom<ChunkJson> for LlmChunk {
    type Error = &'static str;

    fn try_from(flat: ChunkJson) -> Result<Self, Self::Error> {
        let token_index = flat.token_index;
        match (flat.done, flat.thinking_delta, flat.response) {
            (true, _, Some(response)) => Ok(LlmChunk::Done { token_index, response }),
            (true, _, None) => Err("a chunk with done: true carries no response"),
            (false, Some(delta), _) => Ok(LlmChunk::Thinking { token_index, delta }),
            (false, None, _) => Ok(LlmChunk::Text { token_index, content: flat.content }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-10.
    #[test]
    fn the_json_form_round_trips() {
        let chunks = [
            (
                LlmChunk::Text { token_index: 3, content: " hi".into() },
                serde_json::json!({"tokenIndex": 3, "content": " hi", "done": false}),
            ),
            (
                LlmChunk::Thinking { token_index: 0, delta: "hm".into() },
                serde_json::json!({"tokenIndex": 0, "content": "", "done": false, "thinkingDelta": "hm"}),
            ),
        ];
        for (chunk, json) in chunks {
            assert_eq!(serde_json::to_value(&chunk).unwrap(), json);
            assert_eq!(serde_json::from_value::<LlmChunk>(json).unwrap(), chunk);
        }
        let answer = LlmResponse {
            content: "hi".into(),
            usage: crate::llm::Usage::new(1, 1),
            ..LlmResponse::default()
        };
        let done = LlmChunk::done(1, answer);
        let json = serde_json::to_value(&done).unwrap();
        assert_eq!(json["response"]["content"], "hi");
        assert_eq!(serde_json::from_value::<LlmChunk>(json).unwrap(), done);
        let lost = serde_json::json!({"tokenIndex": 0, "content": "", "done": true});
        assert!(serde_json::from_value::<LlmChunk>(lost).is_err());
    }
}

//! The bridge, against a rig model of our own and against rig's own OpenAI client.

mod answers;
mod http;
mod model;
mod refusals;
mod requests;

use agentfootprint_core::llm::{CallCx, LlmChunk, LlmError, LlmProvider, LlmRequest, LlmResponse};
use rig_core::completion::{FinishReason, Usage};

use self::model::{Say, Scripted};
use super::*;
use crate::testing::{KEY, answer_of, assert_clean, read_stream};

fn request() -> LlmRequest {
    LlmRequest::new("rig").user("hi")
}

/// The last frame of an ordinary answer.
fn end(reason: FinishReason) -> Say {
    Say::End(Some(reason), Usage::new().input_tokens(10).output_tokens(4).total_tokens(14))
}

async fn complete(says: Vec<Say>) -> Result<LlmResponse, LlmError> {
    let model = Scripted::new(says);
    Rig::new(model.model())
        .redact(KEY)
        .complete(&request(), &CallCx::detached())
        .await
        .inspect_err(assert_clean)
}

async fn stream(says: Vec<Say>) -> (Vec<LlmChunk>, Option<LlmError>) {
    let model = Scripted::new(says);
    let read = read_stream(&Rig::new(model.model()).redact(KEY), &request(), &CallCx::detached()).await;
    read.1.iter().for_each(assert_clean);
    read
}

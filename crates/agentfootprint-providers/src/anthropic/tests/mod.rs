mod answers;
mod bad_input;
mod fixtures;
mod requests;
mod settings;

use std::sync::Arc;

use agentfootprint_core::llm::{CallCx, LlmChunk, LlmError, LlmProvider, LlmRequest, LlmResponse};
use serde_json::Value as Json;

use super::{Anthropic, AnthropicBuilder};
use crate::http::testing::{Answer, Scripted};
use crate::testing::{KEY, answer_of, read_stream};

const MODEL: &str = "claude-sonnet-4-5";

fn request() -> LlmRequest {
    LlmRequest::new(MODEL).user("hi")
}

/// The official endpoint, answered by a script.
fn builder(answers: impl IntoIterator<Item = Answer>) -> (AnthropicBuilder, Arc<Scripted>) {
    let exchange = Scripted::new(answers);
    (Anthropic::builder().key(KEY).exchange(exchange.clone()), exchange)
}

fn official(answers: impl IntoIterator<Item = Answer>) -> Anthropic {
    builder(answers).0.build().unwrap()
}

async fn complete(answer: Answer) -> Result<LlmResponse, LlmError> {
    official([answer]).complete(&request(), &CallCx::detached()).await
}

async fn stream(answer: Answer) -> (Vec<LlmChunk>, Option<LlmError>) {
    read_stream(&official([answer]), &request(), &CallCx::detached()).await
}

/// The body sent for a request.
async fn sent_by(builder: AnthropicBuilder, exchange: &Scripted, request: &LlmRequest) -> Json {
    builder.build().unwrap().complete(request, &CallCx::detached()).await.unwrap();
    exchange.sent_json(0)
}

async fn sent(request: &LlmRequest) -> Json {
    let (builder, exchange) = builder([Answer::ok(fixtures::hello().to_string())]);
    sent_by(builder, &exchange, request).await
}

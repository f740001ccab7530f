mod answers;
mod azure;
mod fixtures;
mod refusals;
mod requests;
mod secrecy;
mod transport;

use std::sync::Arc;

use agentfootprint_core::llm::{CallCx, LlmChunk, LlmError, LlmProvider, LlmRequest, LlmResponse};
use futures_util::StreamExt;

use super::assembler::ChatAssembler;
use super::{OpenAi, OpenAiBuilder};
use crate::finish::Finish;
use crate::frames::SseFramer;
use crate::http::testing::{Answer, Scripted};
use crate::http::{AnswerMachine, Scene, Sniffing};
use crate::key::Redactor;

pub(super) const KEY: &str = "canary-key-5d1f";

pub(super) fn request() -> LlmRequest {
    LlmRequest::new("gpt-4o-mini").user("hi")
}

/// The official endpoint, answered by a script.
pub(super) fn builder(answers: impl IntoIterator<Item = Answer>) -> (OpenAiBuilder, Arc<Scripted>) {
    let exchange = Scripted::new(answers);
    (OpenAi::builder().key(KEY).exchange(exchange.clone()), exchange)
}

pub(super) fn official(answers: impl IntoIterator<Item = Answer>) -> OpenAi {
    builder(answers).0.build().unwrap()
}

pub(super) async fn complete(answer: Answer) -> Result<LlmResponse, LlmError> {
    official([answer]).complete(&request(), &CallCx::detached()).await
}

/// The pure end of the adapter, without a transport.
pub(super) fn finish() -> Finish {
    let provider = official([]);
    let scene = Scene::new(
        &provider.identity,
        "gpt-4o-mini",
        &provider.url("gpt-4o-mini"),
        Redactor::default(),
        &request(),
    );
    Finish {
        scene,
        tool_names: None,
        malformed_args: provider.malformed_args,
        provider: provider.name.clone(),
        ids: provider.ids.clone(),
    }
}

/// The pure way from bytes to chunks.
pub(super) fn machine(finish: &Finish) -> AnswerMachine<ChatAssembler> {
    let framer = Box::new(SseFramer::new(1 << 20));
    AnswerMachine::new(
        framer,
        ChatAssembler::new(finish.clone()),
        Sniffing::PlainBody,
        1 << 20,
        finish.scene.clone(),
    )
}

/// All chunks, and the error that ended them if one did.
pub(super) async fn stream(answer: Answer) -> (Vec<LlmChunk>, Option<LlmError>) {
    read_stream(&official([answer]), &CallCx::detached()).await
}

pub(super) async fn read_stream(provider: &OpenAi, cx: &CallCx) -> (Vec<LlmChunk>, Option<LlmError>) {
    let mut chunks = Vec::new();
    let mut stream = match provider.stream(&request(), cx).await.expect("it streams") {
        Ok(stream) => stream,
        Err(error) => return (chunks, Some(error)),
    };
    while let Some(next) = stream.next().await {
        match next {
            Ok(chunk) => chunks.push(chunk),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error ends the stream");
                return (chunks, Some(error));
            }
        }
    }
    assert!(stream.next().await.is_none());
    (chunks, None)
}

/// Checks the contract of a well-formed stream and returns its answer.
pub(super) fn answer_of(chunks: &[LlmChunk]) -> LlmResponse {
    let (last, before) = chunks.split_last().expect("at least Done");
    let LlmChunk::Done { response, token_index } = last else { panic!("the last chunk is Done") };
    let mut text = String::new();
    let (mut texts, mut thoughts) = (0, 0);
    for chunk in before {
        match chunk {
            LlmChunk::Text { token_index, content } => {
                assert!(!content.is_empty());
                assert_eq!(*token_index, texts);
                texts += 1;
                text.push_str(content);
            }
            LlmChunk::Thinking { token_index, delta } => {
                assert!(!delta.is_empty());
                assert_eq!(*token_index, thoughts);
                thoughts += 1;
            }
            LlmChunk::Done { .. } => panic!("exactly one Done"),
        }
    }
    assert_eq!(text, response.content);
    assert_eq!(*token_index, texts);
    (**response).clone()
}

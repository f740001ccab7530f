mod answers;
mod azure;
mod bad_input;
mod fixtures;
mod local;
mod peculiar;
mod refusals;
mod requests;
mod secrecy;
mod transport;

use std::sync::Arc;

use agentfootprint_core::llm::{CallCx, LlmChunk, LlmError, LlmProvider, LlmRequest, LlmResponse};

use super::assembler::ChatAssembler;
use super::{OpenAi, OpenAiBuilder};
use crate::finish::Finish;
use crate::frames::SseFramer;
use crate::http::testing::{Answer, Scripted};
use crate::http::{AnswerMachine, Scene, Sniffing};
use crate::key::Redactor;

pub(super) use crate::testing::{KEY, answer_of, assert_clean, now};

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
    crate::testing::read_stream(provider, &request(), cx).await
}

//! What the tests of every adapter share.

#[cfg(any(
    feature = "anthropic",
    feature = "gemini",
    feature = "openai",
    feature = "ollama",
    feature = "bedrock"
))]
pub(crate) mod bad_input;

use std::error::Error;
use std::sync::LazyLock;

use agentfootprint_core::llm::{CallCx, LlmChunk, LlmError, LlmProvider, LlmRequest, LlmResponse};
use futures_util::{FutureExt, StreamExt};
use tokio::runtime::Runtime;

/// The key of every test. It must appear nowhere but in its header.
pub(crate) const KEY: &str = "canary-key-5d1f";

/// Runs what never has to wait, where deadlines can be set.
pub(crate) fn now<T>(work: impl Future<Output = T>) -> T {
    static CLOCK: LazyLock<Runtime> =
        LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap());
    let _inside = CLOCK.enter();
    work.now_or_never().expect("nothing to wait for")
}

/// All chunks, and the error that ended them if one did.
pub(crate) async fn read_stream(
    provider: &dyn LlmProvider,
    request: &LlmRequest,
    cx: &CallCx,
) -> (Vec<LlmChunk>, Option<LlmError>) {
    let mut chunks = Vec::new();
    let mut stream = match provider.stream(request, cx).await.expect("it streams") {
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
pub(crate) fn answer_of(chunks: &[LlmChunk]) -> LlmResponse {
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

/// Every text of an error holds no key.
pub(crate) fn assert_clean(error: &LlmError) {
    let mut shown = format!("{error}\n{error:?}\n{error:#?}\n{}", error.human_message());
    let mut source = error.source();
    while let Some(inner) = source {
        shown.push_str(&format!("\n{inner}\n{inner:?}"));
        source = inner.source();
    }
    assert!(!shown.contains(KEY), "{shown}");
}

use std::pin::Pin;

use agentfootprint_core::llm::{CallCx, LlmChunk, LlmError, LlmProvider, LlmRequest, LlmResponse, LlmStream};
use futures_util::{StreamExt, stream};

/// A stream that has begun: its first item is there, so nothing that failed before it was ever handed on.
pub(super) struct Begun {
    first: Option<LlmChunk>,
    rest: LlmStream,
}

impl Begun {
    pub(super) fn into_stream(self) -> LlmStream {
        let Begun { first, rest } = self;
        Box::pin(stream::iter(first.map(Ok)).chain(rest))
    }
}

/// Opens a stream up to its first chunk; `None` when the provider does not stream.
pub(super) async fn begin(
    provider: &dyn LlmProvider,
    request: &LlmRequest,
    cx: &CallCx,
) -> Option<Result<Begun, LlmError>> {
    let mut rest = match provider.stream(request, cx).await? {
        Ok(stream) => stream,
        Err(error) => return Some(Err(error)),
    };
    Some(match rest.next().await {
        Some(Ok(first)) => Ok(Begun { first: Some(first), rest }),
        Some(Err(error)) => Err(error),
        None => Ok(Begun { first: None, rest }),
    })
}

/// A whole answer as a stream.
pub(super) fn as_stream(response: LlmResponse) -> LlmStream {
    let text = (!response.content.is_empty())
        .then(|| LlmChunk::Text { token_index: 0, content: response.content.clone() });
    let count = u64::from(text.is_some());
    let chunks: Vec<Result<LlmChunk, LlmError>> =
        text.into_iter().chain([LlmChunk::done(count, response)]).map(Ok).collect();
    Box::pin(stream::iter(chunks))
}

/// A stream whose final response passes through `change`.
pub(super) fn map_response(
    stream: LlmStream,
    change: impl Fn(LlmResponse) -> LlmResponse + Send + 'static,
) -> LlmStream {
    let changed: Pin<Box<_>> = Box::pin(stream.map(move |item| {
        item.map(|chunk| match chunk {
            LlmChunk::Done { token_index, response } => LlmChunk::done(token_index, change(*response)),
            other => other,
        })
    }));
    changed
}

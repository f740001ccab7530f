//! What all providers of a scenario were asked, in one order.

use std::sync::{Arc, Mutex, PoisonError};

use agentfootprint_core::llm::{
    CallCx, LlmDecorator, LlmError, LlmProvider, LlmRequest, LlmResponse, LlmStream,
};
use async_trait::async_trait;
use serde_json::Value;

use crate::golden::agent;

/// The requests of a scenario. Clones share them.
#[derive(Clone, Default)]
pub(in crate::golden) struct Log(Arc<Mutex<Vec<Value>>>);

impl Log {
    /// The provider with its requests kept under `by`.
    pub(in crate::golden) fn watch(&self, by: &str, inner: impl LlmProvider) -> Watched {
        Watched { inner: Arc::new(inner), by: by.to_owned(), log: self.clone() }
    }

    pub(in crate::golden) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(in crate::golden) fn since(&self, from: usize) -> Vec<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().skip(from).cloned().collect()
    }

    fn note(&self, by: &str, request: &LlmRequest) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(agent::request(request, by));
    }
}

/// A provider whose requests are kept.
pub(in crate::golden) struct Watched {
    inner: Arc<dyn LlmProvider>,
    by: String,
    log: Log,
}

#[async_trait]
impl LlmDecorator for Watched {
    fn inner(&self) -> &dyn LlmProvider {
        &*self.inner
    }

    async fn call(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        self.log.note(&self.by, request);
        self.inner.complete(request, cx).await
    }

    async fn call_streaming(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        let answered = self.inner.stream(request, cx).await;
        if answered.is_some() {
            self.log.note(&self.by, request);
        }
        answered
    }
}

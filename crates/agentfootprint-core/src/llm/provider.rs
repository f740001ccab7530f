use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_core::Stream;

use super::{CallCx, Capabilities, LlmChunk, LlmError, LlmRequest, LlmResponse};

/// What [`LlmProvider::stream`] yields: text and thinking as they arrive, then exactly one
/// [`LlmChunk::Done`], then the end. An error ends the stream. Dropping it closes the connection.
pub type LlmStream = Pin<Box<dyn Stream<Item = Result<LlmChunk, LlmError>> + Send>>;

/// One way to reach a model.
///
/// An adapter adds nothing the model would read and removes nothing from it: a request that does not fit is
/// refused with an error a person can act on. It makes one attempt per call; retrying is a decorator's business.
///
/// A provider of your own needs three methods:
///
/// ```
/// use agentfootprint_core::llm::*;
///
/// struct Shout;
///
/// #[async_trait::async_trait]
/// impl LlmProvider for Shout {
///     fn name(&self) -> &str { "shout" }
///     fn capabilities(&self, _model: &str) -> Capabilities { Capabilities::default() }
///     async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
///         if cx.is_cancelled() {
///             return Err(LlmError::aborted("shout"));
///         }
///         let said = request.last_user_text().unwrap_or_default();
///         Ok(LlmResponse::text(said.to_uppercase()))
///     }
/// }
/// ```
#[async_trait]
pub trait LlmProvider: Send + Sync + 'static {
    /// The recorded name: a label for people, never a key for decisions.
    fn name(&self) -> &str;

    /// What this provider can do with `model`. Required, so that a wrapper decides instead of inheriting by luck.
    fn capabilities(&self, model: &str) -> Capabilities;

    /// Asks for the whole answer at once.
    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError>;

    /// Asks for the answer piece by piece; `None` = this provider does not stream.
    async fn stream(&self, _request: &LlmRequest, _cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        None
    }
}

#[async_trait]
impl<P: LlmProvider + ?Sized> LlmProvider for Arc<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        (**self).capabilities(model)
    }

    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        (**self).complete(request, cx).await
    }

    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        (**self).stream(request, cx).await
    }
}

/// The short way to write a decorator: name what is wrapped, override what changes, and everything else —
/// capabilities, streaming, reports, cancellation — is forwarded.
///
/// ```
/// use std::sync::Arc;
/// use agentfootprint_core::llm::*;
///
/// /// Counts nothing, changes nothing, renames.
/// struct Renamed { inner: Arc<dyn LlmProvider>, name: String }
///
/// #[async_trait::async_trait]
/// impl LlmDecorator for Renamed {
///     fn inner(&self) -> &dyn LlmProvider { &*self.inner }
///     fn name(&self) -> &str { &self.name }
/// }
///
/// fn use_it(inner: Arc<dyn LlmProvider>) -> Arc<dyn LlmProvider> {
///     Arc::new(Renamed { inner, name: "mine".into() })
/// }
/// ```
#[async_trait]
pub trait LlmDecorator: Send + Sync + 'static {
    /// What is wrapped.
    fn inner(&self) -> &dyn LlmProvider;

    /// See [`LlmProvider::name`].
    fn name(&self) -> &str {
        self.inner().name()
    }

    /// See [`LlmProvider::capabilities`].
    fn capabilities(&self, model: &str) -> Capabilities {
        self.inner().capabilities(model)
    }

    /// See [`LlmProvider::complete`].
    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        self.inner().complete(request, cx).await
    }

    /// See [`LlmProvider::stream`].
    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        self.inner().stream(request, cx).await
    }
}

#[async_trait]
impl<D: LlmDecorator> LlmProvider for D {
    fn name(&self) -> &str {
        LlmDecorator::name(self)
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        LlmDecorator::capabilities(self, model)
    }

    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        LlmDecorator::complete(self, request, cx).await
    }

    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        LlmDecorator::stream(self, request, cx).await
    }
}

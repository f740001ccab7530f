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

    /// Identity of the object: two handles of one provider answer the same. Only pointers to providers need to change it.
    fn instance(&self) -> *const () {
        std::ptr::from_ref(self).cast()
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

    fn instance(&self) -> *const () {
        (**self).instance()
    }
}

/// The short way to write a decorator: name what is wrapped, override what changes, and everything else —
/// capabilities, streaming, reports, cancellation — is forwarded. Whatever implements this is an [`LlmProvider`]; the
/// methods have names of their own so that calling one never is ambiguous.
///
/// ```
/// use std::sync::Arc;
/// use agentfootprint_core::llm::*;
///
/// /// Changes the name and nothing else.
/// struct Renamed { inner: Arc<dyn LlmProvider>, name: String }
///
/// #[async_trait::async_trait]
/// impl LlmDecorator for Renamed {
///     fn inner(&self) -> &dyn LlmProvider { &*self.inner }
///     fn label(&self) -> &str { &self.name }
/// }
///
/// fn rename(inner: Arc<dyn LlmProvider>) -> Arc<dyn LlmProvider> {
///     Arc::new(Renamed { inner, name: "mine".into() })
/// }
/// ```
#[async_trait]
pub trait LlmDecorator: Send + Sync + 'static {
    /// What is wrapped.
    fn inner(&self) -> &dyn LlmProvider;

    /// The name; see [`LlmProvider::name`].
    fn label(&self) -> &str {
        self.inner().name()
    }

    /// The declarations; see [`LlmProvider::capabilities`].
    fn declare(&self, model: &str) -> Capabilities {
        self.inner().capabilities(model)
    }

    /// A whole answer; see [`LlmProvider::complete`].
    async fn call(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        self.inner().complete(request, cx).await
    }

    /// A streamed answer; see [`LlmProvider::stream`].
    async fn call_streaming(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        self.inner().stream(request, cx).await
    }
}

#[async_trait]
impl<D: LlmDecorator> LlmProvider for D {
    fn name(&self) -> &str {
        self.label()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.declare(model)
    }

    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        self.call(request, cx).await
    }

    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        self.call_streaming(request, cx).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::llm::{CollectedReports, PromptCaching, ResilienceReport, RoleSet, ThinkingMode};

    struct Leaf(Mutex<Vec<Option<String>>>);

    #[async_trait]
    impl LlmProvider for Leaf {
        fn name(&self) -> &str {
            "leaf"
        }
        fn capabilities(&self, _model: &str) -> Capabilities {
            Capabilities::default()
                .carrying(RoleSet::ALL)
                .with_forced_tool_choice(true)
                .with_prompt_caching(PromptCaching::Automatic { reports_usage: true })
                .with_thinking_mode(ThinkingMode::Adaptive)
                .with_streams(true)
        }
        async fn complete(&self, _request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
            self.0.lock().unwrap().push(cx.run_id().map(str::to_owned));
            cx.report(&ResilienceReport::FellBack {
                primary: "a".into(),
                fallback: "b".into(),
                reason: "c".into(),
            });
            if cx.is_cancelled() { Err(LlmError::aborted("leaf")) } else { Ok(LlmResponse::text("ok")) }
        }
        async fn stream(&self, _request: &LlmRequest, _cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
            Some(Err(LlmError::aborted("leaf")))
        }
    }

    struct Wrapper(Arc<dyn LlmProvider>);
    #[async_trait]
    impl LlmDecorator for Wrapper {
        fn inner(&self) -> &dyn LlmProvider {
            &*self.0
        }
        fn label(&self) -> &str {
            "wrapped"
        }
    }

    /// Proves LLM-5.
    #[tokio::test]
    async fn a_decorator_forwards_what_it_does_not_change() {
        let wrapped: Arc<dyn LlmProvider> =
            Arc::new(Wrapper(Arc::new(Wrapper(Arc::new(Leaf(Mutex::default()))))));
        assert_eq!(wrapped.name(), "wrapped");
        let declared = format!("{:?}", wrapped.capabilities("m"));
        assert_eq!(declared, format!("{:?}", Leaf(Mutex::default()).capabilities("m")));
        let reports = Arc::new(CollectedReports::default());
        let cx = CallCx::detached().with_reports(reports.clone()).with_run_id("r1");
        assert_eq!(wrapped.complete(&LlmRequest::new("m"), &cx).await.unwrap().content, "ok");
        assert_eq!(reports.take().len(), 1);
        assert!(wrapped.stream(&LlmRequest::new("m"), &cx).await.unwrap().is_err());
        cx.cancel_token().cancel();
        assert!(wrapped.complete(&LlmRequest::new("m"), &cx).await.is_err());
    }
}

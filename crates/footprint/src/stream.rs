//! Token streams of streaming stages (ENG-135). Nothing of a stream enters the record.

use std::sync::{Arc, Mutex, PoisonError};

use crate::value::Str;

/// Listens to the tokens of streaming stages; a run option.
///
/// Every retry attempt opens a stream of its own, and every stream that was opened is closed by exactly one
/// of `on_end` and `on_abort`.
#[allow(unused_variables)]
pub trait StreamHandler: Send + Sync + 'static {
    /// An attempt of a streaming stage begins.
    fn on_start(&self, stream_id: &str) {}
    /// One token.
    fn on_token(&self, stream_id: &str, token: &str) {}
    /// The attempt's function returned; `full_text` is all its tokens.
    fn on_end(&self, stream_id: &str, full_text: &str) {}
    /// The attempt failed or was cancelled after `so_far`.
    fn on_abort(&self, stream_id: &str, so_far: &str) {}
}

/// One open stream; text is kept only when a handler listens.
pub(crate) struct OpenStream {
    id: Str,
    handler: Arc<dyn StreamHandler>,
    text: Mutex<String>,
}

impl OpenStream {
    pub(crate) fn open(id: Str, handler: Arc<dyn StreamHandler>) -> Arc<Self> {
        contained(|| handler.on_start(&id));
        Arc::new(Self { id, handler, text: Mutex::new(String::new()) })
    }

    fn send(&self, token: &str) {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).push_str(token);
        contained(|| self.handler.on_token(&self.id, token));
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.text.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn end(&self) {
        let text = self.take();
        contained(|| self.handler.on_end(&self.id, &text));
    }

    pub(crate) fn abort(&self) {
        let text = self.take();
        contained(|| self.handler.on_abort(&self.id, &text));
    }
}

/// A handler is an observer: its panic changes nothing (ENG-7).
fn contained(call: impl FnOnce()) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err() {
        tracing::warn!(target: "footprint", "a stream handler panicked");
    }
}

/// Sends the tokens of one streaming stage; silent when nobody listens or the stage does not stream.
///
/// ```
/// # use footprint::scope::Scope;
/// # use footprint::error::StageError;
/// async fn draft(scope: Scope) -> Result<(), StageError> {
///     let tokens = scope.tokens();
///     tokens.send("Tea ");
///     tokens.send("is hot");
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct TokenSink(pub(crate) Option<Arc<OpenStream>>);

impl TokenSink {
    /// Sends one token.
    pub fn send(&self, token: &str) {
        if let Some(stream) = &self.0 {
            stream.send(token);
        }
    }

    /// Whether anybody listens; use it to skip work.
    pub fn is_listened(&self) -> bool {
        self.0.is_some()
    }
}

impl std::fmt::Debug for TokenSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenSink").field("listened", &self.is_listened()).finish()
    }
}

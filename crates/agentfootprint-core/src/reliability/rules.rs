//! What a rule is: a condition over the scope, a decision, and what goes with it.

use std::borrow::Cow;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::scope::ReliabilityScope;
use crate::injection::BoxError;

/// What a rule before the call can decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pre {
    /// The call is made; no later rule is asked.
    Continue,
    /// The run ends here, before anything is sent.
    FailFast,
}

/// What a rule after the call can decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Post {
    /// The answer is taken as it is.
    Ok,
    /// The same provider is asked again.
    Retry,
    /// The next provider of the list is asked.
    RetryOther,
    /// The fallback answers.
    Fallback,
    /// The run ends here.
    FailFast,
}

impl Post {
    /// The recorded word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Retry => "retry",
            Self::RetryOther => "retry-other",
            Self::Fallback => "fallback",
            Self::FailFast => "fail-fast",
        }
    }
}

/// How long to wait before asking again, when the failure itself states no wait. No wait is longer than ten seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    first: Duration,
    factor: f64,
}

/// The longest wait of the gate.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl Backoff {
    /// The same wait every time.
    pub const fn fixed(wait: Duration) -> Self {
        Self { first: wait, factor: 1.0 }
    }

    /// `first`, and twice as long each further time.
    pub const fn doubling(first: Duration) -> Self {
        Self { first, factor: 2.0 }
    }

    /// The wait after pass number `attempt`, from 1.
    ///
    /// ```
    /// use agentfootprint_core::reliability::Backoff;
    /// use std::time::Duration;
    /// let backoff = Backoff::doubling(Duration::from_millis(500));
    /// assert_eq!(backoff.after(1), Duration::from_millis(500));
    /// assert_eq!(backoff.after(3), Duration::from_secs(2));
    /// assert_eq!(backoff.after(40), Duration::from_secs(10));
    /// ```
    pub fn after(&self, attempt: u32) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.first.as_secs_f64() * self.factor.powi(exponent);
        Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
    }
}

type When = Arc<dyn Fn(&ReliabilityScope<'_>) -> bool + Send + Sync>;
type Asking = Arc<
    dyn Fn(&ReliabilityScope<'_>) -> Pin<Box<dyn Future<Output = Result<String, BoxError>> + Send>>
        + Send
        + Sync,
>;

/// What the model is told before it is asked again.
#[derive(Clone)]
pub(super) enum Feedback {
    Text(String),
    Asking(Asking),
}

/// A rule. Rules are asked in their order; the first that matches decides. A condition that panics does not match.
#[derive(Clone)]
#[must_use]
pub struct Rule<D> {
    when: When,
    pub(super) then: D,
    pub(super) kind: Cow<'static, str>,
    pub(super) label: Option<String>,
    pub(super) feedback: Option<Feedback>,
    pub(super) backoff: Option<Backoff>,
}

impl<D: Copy> Rule<D> {
    /// When `when` holds, `then` happens. `kind` is the stable id under which a failure is recorded; left empty it is the
    /// phase's own word.
    pub fn when(
        when: impl Fn(&ReliabilityScope<'_>) -> bool + Send + Sync + 'static,
        then: D,
        kind: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { when: Arc::new(when), then, kind: kind.into(), label: None, feedback: None, backoff: None }
    }

    /// What the rule is, for people.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Whether the rule matches; `Err` = its condition panicked.
    pub(super) fn matches(&self, scope: &ReliabilityScope<'_>) -> Result<bool, ()> {
        std::panic::catch_unwind(AssertUnwindSafe(|| (self.when)(scope))).map_err(drop)
    }
}

impl Rule<Post> {
    /// Tells the model this before it is asked again. The turn belongs to this request only and never enters the conversation.
    pub fn feedback(mut self, text: impl Into<String>) -> Self {
        self.feedback = Some(Feedback::Text(text.into()));
        self
    }

    /// Like [`feedback`](Self::feedback), from what the rule sees. When it fails the model is asked for valid JSON in general.
    pub fn feedback_with<F, Fut>(mut self, feedback: F) -> Self
    where
        F: Fn(&ReliabilityScope<'_>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, BoxError>> + Send + 'static,
    {
        self.feedback = Some(Feedback::Asking(Arc::new(move |scope| Box::pin(feedback(scope)))));
        self
    }

    /// Waits before the next attempt, unless the failure states a wait of its own.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = Some(backoff);
        self
    }
}

/// What is asked when a feedback function fails.
pub(super) const GENERIC_FEEDBACK: &str = "The last answer could not be used. Answer again with valid JSON of the declared form and with nothing else.";

impl Feedback {
    /// The text. A function that fails or panics falls back to the general one.
    pub(super) async fn text(&self, scope: &ReliabilityScope<'_>) -> String {
        let asking = match self {
            Self::Text(text) => return text.clone(),
            Self::Asking(asking) => asking,
        };
        let asked = std::panic::catch_unwind(AssertUnwindSafe(|| asking(scope)));
        let answered = match asked {
            Ok(future) => AssertUnwindSafe(future).catch_unwind().await,
            Err(panic) => Err(panic),
        };
        match answered {
            Ok(Ok(text)) => text,
            Ok(Err(_)) | Err(_) => GENERIC_FEEDBACK.to_owned(),
        }
    }
}

impl<D: fmt::Debug> fmt::Debug for Rule<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("then", &self.then)
            .field("kind", &self.kind)
            .field("label", &self.label)
            .field("feedback", &self.feedback.is_some())
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}

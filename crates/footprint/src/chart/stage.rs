//! Stages and their retry policy.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::chart::func::{pausable_fn, resume_fn, stage_fn};
use crate::chart::{Body, IntoStepOutput, Step};
use crate::error::StageError;
use crate::scope::Scope;
use crate::value::Str;

/// What every node value carries besides its function: id, name and other texts.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) id: Str,
    pub(crate) name: Option<Str>,
    pub(crate) description: Option<Str>,
    pub(crate) icon: Option<Str>,
    pub(crate) tags: Vec<Str>,
}

impl Label {
    pub(crate) fn new(id: impl Into<Str>) -> Label {
        Label { id: id.into(), name: None, description: None, icon: None, tags: Vec::new() }
    }
}

/// The builder methods every node value has.
macro_rules! label_methods {
    () => {
        /// A free display name; the default is the id.
        #[must_use]
        pub fn named(mut self, name: impl Into<$crate::value::Str>) -> Self {
            self.label.name = Some(name.into());
            self
        }

        /// What this node is for; shown in descriptions, drawings and events.
        #[must_use]
        pub fn describe(mut self, description: impl Into<$crate::value::Str>) -> Self {
            self.label.description = Some(description.into());
            self
        }

        /// An icon name for viewers; the engine does not read it.
        #[must_use]
        pub fn icon(mut self, icon: impl Into<$crate::value::Str>) -> Self {
            self.label.icon = Some(icon.into());
            self
        }

        /// A name for this node that queries can rely on (ENG-25). Call it once per tag.
        #[must_use]
        pub fn tag(mut self, tag: impl Into<$crate::value::Str>) -> Self {
            self.label.tags.push(tag.into());
            self
        }

        /// The id this node was declared with.
        pub fn id(&self) -> &str {
            &self.label.id
        }
    };
}
pub(crate) use label_methods;

/// One node that runs a function.
///
/// ```
/// use footprint::chart::{Retry, Stage};
/// use footprint::scope::Scope;
///
/// let stage = Stage::new("score", |_: Scope| async { Ok(()) })
///     .named("Score")
///     .describe("rates the order")
///     .retry(Retry::attempts(3))
///     .tag("milestone:score");
/// assert_eq!(stage.id(), "score");
/// ```
#[derive(Clone)]
pub struct Stage {
    pub(crate) label: Label,
    pub(crate) body: StageBody,
    pub(crate) retry: Option<Retry>,
}

/// A stage's function before names are settled: the stream id defaults to the name.
#[derive(Clone)]
pub(crate) enum StageBody {
    Ready(Body),
    Streaming { run: crate::chart::StageFn, stream_id: Option<Str> },
}

impl Stage {
    label_methods!();

    /// A plain stage.
    pub fn new<F, Fut, T>(id: impl Into<Str>, run: F) -> Stage
    where
        F: Fn(Scope) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, StageError>> + Send + 'static,
        T: IntoStepOutput,
    {
        Stage::with_body(id, StageBody::Ready(Body::Plain { run: stage_fn(run) }))
    }

    /// A stage that sends tokens through `scope.tokens()`. Its stream id is its name unless [`Stage::stream_id`] sets one.
    ///
    /// ```
    /// use footprint::chart::Stage;
    /// use footprint::scope::Scope;
    ///
    /// let draft = Stage::streaming("draft", |scope: Scope| async move {
    ///     scope.tokens().send("Tea ");
    ///     scope.tokens().send("is hot");
    ///     Ok(())
    /// })
    /// .stream_id("answer");
    /// assert_eq!(draft.id(), "draft");
    /// ```
    pub fn streaming<F, Fut, T>(id: impl Into<Str>, run: F) -> Stage
    where
        F: Fn(Scope) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, StageError>> + Send + 'static,
        T: IntoStepOutput,
    {
        Stage::with_body(id, StageBody::Streaming { run: stage_fn(run), stream_id: None })
    }

    /// A stage that may pause the run: `ask` answers [`Step::Pause`] with the question, `answer` runs when the run is resumed.
    ///
    /// ```
    /// use footprint::chart::{Stage, Step};
    /// use footprint::scope::Scope;
    ///
    /// let approve = Stage::pausable(
    ///     "approve",
    ///     |_: Scope| async { Ok(Step::Pause("Pay 4200?")) },
    ///     |scope: Scope, yes: bool| async move {
    ///         scope.set_value("approved", yes)?;
    ///         Ok(())
    ///     },
    /// );
    /// assert_eq!(approve.id(), "approve");
    /// ```
    pub fn pausable<F, Fut, P, G, GFut, A, T>(id: impl Into<Str>, ask: F, answer: G) -> Stage
    where
        F: Fn(Scope) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Step<P>, StageError>> + Send + 'static,
        P: Serialize + 'static,
        G: Fn(Scope, A) -> GFut + Send + Sync + 'static,
        GFut: Future<Output = Result<T, StageError>> + Send + 'static,
        A: DeserializeOwned + 'static,
        T: IntoStepOutput,
    {
        Stage::with_body(
            id,
            StageBody::Ready(Body::Pausable { run: pausable_fn(ask), resume: resume_fn(answer) }),
        )
    }

    pub(crate) fn with_body(id: impl Into<Str>, body: StageBody) -> Stage {
        Stage { label: Label::new(id), body, retry: None }
    }

    /// Names the token stream of a streaming stage; other stages ignore it.
    #[must_use]
    pub fn stream_id(mut self, id: impl Into<Str>) -> Stage {
        if let StageBody::Streaming { stream_id, .. } = &mut self.body {
            *stream_id = Some(id.into());
        }
        self
    }

    /// Runs the function again when it fails.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Stage {
        self.retry = Some(retry);
        self
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("id", &self.label.id).finish_non_exhaustive()
    }
}

/// How often a failing function is run again, and when (ENG-26).
///
/// ```
/// use std::time::Duration;
/// use footprint::chart::Retry;
///
/// let retry = Retry::attempts(4).backoff(|failed| Duration::from_millis(100 << (failed - 1)));
/// assert_eq!(retry.max_attempts(), 4);
/// assert_eq!(retry.delay_after(3), Duration::from_millis(400));
/// ```
#[derive(Clone)]
pub struct Retry {
    attempts: u32,
    backoff: Backoff,
    retry_on: Option<RetryOn>,
}

type RetryOn = Arc<dyn Fn(&StageError) -> bool + Send + Sync>;

#[derive(Clone)]
enum Backoff {
    None,
    Fixed(Duration),
    Computed(Arc<dyn Fn(u32) -> Duration + Send + Sync>),
}

impl Retry {
    /// At most `attempts` attempts in all; 1 means no retry, 0 is refused by `build()`.
    pub fn attempts(attempts: u32) -> Retry {
        Retry { attempts, backoff: Backoff::None, retry_on: None }
    }

    /// Waits the same time after every failed attempt.
    #[must_use]
    pub fn fixed(mut self, delay: Duration) -> Retry {
        self.backoff = Backoff::Fixed(delay);
        self
    }

    /// Waits as long as `delay` says after failed attempt n (counted from 1).
    #[must_use]
    pub fn backoff(mut self, delay: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Retry {
        self.backoff = Backoff::Computed(Arc::new(delay));
        self
    }

    /// Retries only the errors this predicate accepts.
    #[must_use]
    pub fn retry_on(mut self, accept: impl Fn(&StageError) -> bool + Send + Sync + 'static) -> Retry {
        self.retry_on = Some(Arc::new(accept));
        self
    }

    /// Attempts in all.
    pub fn max_attempts(&self) -> u32 {
        self.attempts
    }

    /// The wait after failed attempt `failed` (counted from 1). Runs author code.
    pub fn delay_after(&self, failed: u32) -> Duration {
        match &self.backoff {
            Backoff::None => Duration::ZERO,
            Backoff::Fixed(delay) => *delay,
            Backoff::Computed(delay) => delay(failed),
        }
    }

    /// Whether this error may be retried. Runs author code.
    pub fn accepts(&self, error: &StageError) -> bool {
        self.retry_on.as_ref().is_none_or(|accept| accept(error))
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").field("attempts", &self.attempts).finish_non_exhaustive()
    }
}

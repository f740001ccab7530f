//! What a caller says about one run (ENG-154). A reused `RunOptions` is a run template.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, SystemClock};
use crate::detach::Detacher;
use crate::env::{Env, Extensions};
use crate::error::StageError;
use crate::ids::{DefaultRunIds, RunIdSource};
use crate::observe::{AsyncRecorder, Delivery, InvalidQueueOption, ObserverQueueConfig, Recorder, RunMeta};
use crate::observe::{interest_of, name_of, wish_of};
use crate::state::{CommitValues, RUNS_KEY, RedactionPolicy, Tracking, WriteProvenance};
use crate::stream::StreamHandler;
use crate::value::{Object, Str, Value};

/// How much the engine looks after the author.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diagnostics {
    /// Nothing beyond what rules require.
    #[default]
    Off,
    /// Looks for likely mistakes; findings are in `report.warnings()` and in `tracing`.
    Dev,
}

/// Run options that cannot work together. Nothing runs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A limit below 1.
    #[error("run option `{option}` must be at least 1")]
    LimitTooSmall {
        /// The option's name.
        option: &'static str,
    },
    /// An observer that wants no hook.
    #[error("observer `{id}` observes nothing: its interest is empty")]
    RecorderObservesNothing {
        /// The observer's id.
        id: Str,
    },
    /// A queue setting that cannot work.
    #[error(transparent)]
    InvalidQueueOption(#[from] InvalidQueueOption),
    /// Queue settings although nobody is told through a queue.
    #[error("observer queue options were given, but no observer is deferred")]
    QueueOptionsWithoutDeferred,
    /// The input or another given value cannot be represented.
    #[error("run option `{option}`: {reason}")]
    Unrepresentable {
        /// The option's name.
        option: &'static str,
        /// Why.
        reason: String,
    },
}

type Throttle = Arc<dyn Fn(&StageError) -> bool + Send + Sync>;
type Factory = Arc<dyn Fn(&RunMeta<'_>) -> Box<dyn Recorder> + Send + Sync>;

/// One way an observer gets into a run.
#[derive(Clone)]
pub(crate) enum Attachment {
    Shared(Arc<dyn Recorder>, Option<Delivery>),
    PerRun(Factory, Option<Delivery>),
    Async(Arc<dyn AsyncRecorder>),
}

/// Everything a run can be told. All options have defaults; methods chain.
///
/// ```
/// use footprint::value;
/// use footprint::walk::RunOptions;
/// use std::time::Duration;
/// let options = RunOptions::new()
///     .input(value!({ "orderId": "A-17" }))
///     .max_iterations(50)
///     .timeout(Duration::from_secs(30))
///     .label("turn-4");
/// ```
#[derive(Clone)]
pub struct RunOptions {
    pub(crate) input: Option<Value>,
    pub(crate) initial: Option<Object>,
    pub(crate) defaults: Option<Object>,
    pub(crate) env: Env,
    pub(crate) extensions: Extensions,
    pub(crate) cancel: Option<CancellationToken>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_depth: usize,
    pub(crate) max_iterations: u64,
    pub(crate) read_tracking: Tracking,
    pub(crate) write_tracking: Tracking,
    pub(crate) commit_values: CommitValues,
    pub(crate) write_provenance: WriteProvenance,
    pub(crate) redaction: Option<RedactionPolicy>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) delivery: Delivery,
    pub(crate) queue: Option<ObserverQueueConfig>,
    pub(crate) stream: Option<Arc<dyn StreamHandler>>,
    pub(crate) throttle: Option<Throttle>,
    pub(crate) detacher: Option<Detacher>,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) run_ids: Arc<dyn RunIdSource>,
    pub(crate) label: Option<Str>,
    pub(crate) narrative: bool,
    pub(crate) refused: Option<OptionsError>,
}

/// What options begin with; made once, as most runs keep them.
static CLOCK: LazyLock<Arc<dyn Clock>> = LazyLock::new(|| Arc::new(SystemClock::new()));
static RUN_IDS: LazyLock<Arc<dyn RunIdSource>> = LazyLock::new(|| Arc::new(DefaultRunIds));

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            input: None,
            initial: None,
            defaults: None,
            env: Env::default(),
            extensions: Extensions::default(),
            cancel: None,
            timeout: None,
            max_depth: 500,
            max_iterations: 1000,
            read_tracking: Tracking::Full,
            write_tracking: Tracking::Full,
            commit_values: CommitValues::Full,
            write_provenance: WriteProvenance::Off,
            redaction: None,
            attachments: Vec::new(),
            delivery: Delivery::Inline,
            queue: None,
            stream: None,
            throttle: None,
            detacher: None,
            diagnostics: Diagnostics::Off,
            clock: CLOCK.clone(),
            run_ids: RUN_IDS.clone(),
            label: None,
            narrative: false,
            refused: None,
        }
    }
}

impl RunOptions {
    /// Default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// The run's input: read-only arguments of the top chart, validated by its contract.
    #[must_use]
    pub fn input(mut self, input: impl Serialize) -> Self {
        match Value::from_serialize(&input) {
            Ok(value) => self.input = Some(value),
            Err(error) => {
                self.refuse(OptionsError::Unrepresentable { option: "input", reason: error.to_string() })
            }
        }
        self
    }

    /// State the run starts from; wins over [`RunOptions::defaults`].
    #[must_use]
    pub fn initial(mut self, state: Object) -> Self {
        self.refuse_deep("initial", &state);
        self.initial = Some(state);
        self
    }

    /// State for keys that [`RunOptions::initial`] does not give; objects merge deeply, arrays do not.
    #[must_use]
    pub fn defaults(mut self, state: Object) -> Self {
        self.refuse_deep("defaults", &state);
        self.defaults = Some(state);
        self
    }

    /// The closed record of facts stages may read.
    #[must_use]
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Adds one value to the run's environment, by type (ENG-169). Stages of every mount read it with
    /// `scope.env().get::<T>()`. It is not state and enters no record.
    #[must_use]
    pub fn extend<T: Any + Send + Sync>(mut self, value: Arc<T>) -> Self {
        self.extensions.insert(value);
        self
    }

    /// Cancels the run when the token is cancelled.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Fails the run when it takes longer; counted from after input validation, also on resume.
    #[must_use]
    pub fn timeout(mut self, budget: Duration) -> Self {
        self.timeout = Some(budget);
        self
    }

    /// How deep mounts, fan-outs and returning deciders may nest along one path (default 500).
    #[must_use]
    pub fn max_depth(mut self, limit: usize) -> Self {
        self.max_depth = limit;
        self
    }

    /// How often one loop target may be looped to per entry of its chart (default 1000).
    #[must_use]
    pub fn max_iterations(mut self, limit: u64) -> Self {
        self.max_iterations = limit;
        self
    }

    /// What the tree keeps of reads.
    #[must_use]
    pub fn read_tracking(mut self, dial: Tracking) -> Self {
        self.read_tracking = dial;
        self
    }

    /// What the tree and the commit hook keep of writes.
    #[must_use]
    pub fn write_tracking(mut self, dial: Tracking) -> Self {
        self.write_tracking = dial;
        self
    }

    /// How commits are encoded; lossless either way.
    #[must_use]
    pub fn commit_values(mut self, dial: CommitValues) -> Self {
        self.commit_values = dial;
        self
    }

    /// Whether rows say which keys were read before the write.
    #[must_use]
    pub fn write_provenance(mut self, dial: WriteProvenance) -> Self {
        self.write_provenance = dial;
        self
    }

    /// What must never be served (ENG-90).
    #[must_use]
    pub fn redaction(mut self, policy: RedactionPolicy) -> Self {
        self.redaction = Some(policy);
        self
    }

    /// Attaches an observer. The same id replaces an earlier one.
    #[must_use]
    pub fn observe(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.attachments.push(Attachment::Shared(recorder, None));
        self
    }

    /// Attaches an observer with a delivery tier; its own wish still wins.
    #[must_use]
    pub fn observe_with(mut self, recorder: Arc<dyn Recorder>, delivery: Delivery) -> Self {
        self.attachments.push(Attachment::Shared(recorder, Some(delivery)));
        self
    }

    /// Attaches an observer that is made anew for every run; reach it with `report.recorder::<T>(id)`.
    #[must_use]
    pub fn observe_per_run(
        mut self,
        make: impl Fn(&RunMeta<'_>) -> Box<dyn Recorder> + Send + Sync + 'static,
    ) -> Self {
        self.attachments.push(Attachment::PerRun(Arc::new(make), None));
        self
    }

    /// Attaches an asynchronous observer; always deferred.
    #[must_use]
    pub fn observe_async(mut self, recorder: Arc<dyn AsyncRecorder>) -> Self {
        self.attachments.push(Attachment::Async(recorder));
        self
    }

    /// The delivery tier of observers that do not say otherwise.
    #[must_use]
    pub fn default_delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Settings of the deferred tier's queue.
    #[must_use]
    pub fn observer_queue(mut self, config: ObserverQueueConfig) -> Self {
        self.queue = Some(config);
        self
    }

    /// Listens to streaming stages.
    #[must_use]
    pub fn stream(mut self, handler: Arc<dyn StreamHandler>) -> Self {
        self.stream = Some(handler);
        self
    }

    /// Names failures of parallel children that are throttling; adds an event, changes nothing else.
    #[must_use]
    pub fn throttle(mut self, classify: impl Fn(&StageError) -> bool + Send + Sync + 'static) -> Self {
        self.throttle = Some(Arc::new(classify));
        self
    }

    /// Registers detached children, so that they can be flushed before the process ends (ENG-46).
    #[must_use]
    pub fn detacher(mut self, detacher: Detacher) -> Self {
        self.detacher = Some(detacher);
        self
    }

    /// Turns findings about likely mistakes on.
    #[must_use]
    pub fn diagnostics(mut self, diagnostics: Diagnostics) -> Self {
        self.diagnostics = diagnostics;
        self
    }

    /// Injects the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Injects the source of run ids.
    #[must_use]
    pub fn run_ids(mut self, source: Arc<dyn RunIdSource>) -> Self {
        self.run_ids = source;
        self
    }

    /// Copied to `snapshot.runLabel`, unread by the engine (ENG-170).
    #[must_use]
    pub fn label(mut self, label: impl Into<Str>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Records the combined narrative for `report.narrative_entries()`, without adding a snapshot row.
    #[must_use]
    pub fn narrative(mut self, on: bool) -> Self {
        self.narrative = on;
        self
    }

    /// A value no stage could write must not be there from the start either: the record could not be read back. Branch
    /// namespaces of an earlier run hold values deeper by their own names, which a reader allows for (ENG-164).
    fn refuse_deep(&mut self, option: &'static str, state: &Object) {
        for (key, value) in state {
            if &**key != RUNS_KEY
                && let Err(error) = value.check_depth()
            {
                self.refuse(OptionsError::Unrepresentable {
                    option,
                    reason: format!("key `{key}`: {error}"),
                });
                return;
            }
        }
    }

    fn refuse(&mut self, error: OptionsError) {
        self.refused.get_or_insert(error);
    }

    /// Refuses options that cannot work.
    pub fn check(&self) -> Result<(), OptionsError> {
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        if self.max_depth == 0 {
            return Err(OptionsError::LimitTooSmall { option: "max_depth" });
        }
        if self.max_iterations == 0 {
            return Err(OptionsError::LimitTooSmall { option: "max_iterations" });
        }
        let mut deferred = self.delivery == Delivery::Deferred;
        for attachment in &self.attachments {
            match attachment {
                Attachment::Shared(recorder, delivery) => {
                    if interest_of(|| recorder.interest()).is_empty() {
                        let id = name_of(|| recorder.id().into());
                        return Err(OptionsError::RecorderObservesNothing { id });
                    }
                    deferred |= wish_of(&**recorder).or(*delivery) == Some(Delivery::Deferred);
                }
                Attachment::PerRun(_, delivery) => deferred |= *delivery == Some(Delivery::Deferred),
                Attachment::Async(recorder) => {
                    if interest_of(|| recorder.interest()).is_empty() {
                        let id = name_of(|| recorder.id().into());
                        return Err(OptionsError::RecorderObservesNothing { id });
                    }
                    deferred = true;
                }
            }
        }
        if let Some(config) = &self.queue {
            config.check()?;
            if !deferred && !self.attachments.iter().any(|a| matches!(a, Attachment::PerRun(..))) {
                return Err(OptionsError::QueueOptionsWithoutDeferred);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("label", &self.label)
            .field("max_depth", &self.max_depth)
            .field("max_iterations", &self.max_iterations)
            .field("timeout", &self.timeout)
            .field("observers", &self.attachments.len())
            .finish_non_exhaustive()
    }
}

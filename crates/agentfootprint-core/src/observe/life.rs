//! Who holds a strategy, whether it was stopped, and how often it failed (REC-68, REC-70).

use std::fmt;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::run::lock;

/// One failure of a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrategyFailure {
    /// The strategy's name.
    pub strategy: String,
    /// What went wrong.
    pub error: String,
    /// The how many-th failure of this strategy it is, from 1.
    pub count: u64,
}

impl fmt::Display for StrategyFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "agentfootprint: the strategy `{}` failed ({} so far): {}",
            self.strategy, self.count, self.error
        )
    }
}

type ErrorSink = dyn Fn(&StrategyFailure) + Send + Sync;

enum Told {
    /// Failures 1, 2, 4, 8, … only.
    Throttled(Mutex<Box<dyn Write + Send>>),
    /// Each of them.
    All(Box<ErrorSink>),
}

/// What a strategy instance knows of itself. Each [`Strategy`](super::Strategy) owns one, so that runners which share the
/// instance share it too: whoever lets go last stops the strategy, once.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use agentfootprint_core::observe::StrategyLife;
///
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let sink = Arc::clone(&seen);
/// let life = StrategyLife::new().on_error(move |failure| sink.lock().unwrap().push(failure.count));
/// life.fail("vendor", "away");
/// life.fail("vendor", "still away");
/// assert_eq!((life.failures(), seen.lock().unwrap().clone()), (2, vec![1, 2]));
/// ```
pub struct StrategyLife {
    holds: Mutex<Holds>,
    failures: AtomicU64,
    told: Told,
}

#[derive(Default)]
struct Holds {
    count: usize,
    stopped: bool,
}

impl Default for StrategyLife {
    fn default() -> Self {
        Self::new()
    }
}

impl StrategyLife {
    /// Nobody holds it yet; failures 1, 2, 4, 8, … go to the standard error output.
    #[must_use]
    pub fn new() -> Self {
        Self::writing_to(std::io::stderr())
    }

    /// Writes failures 1, 2, 4, 8, … there in place of the standard error output, one line each.
    #[must_use]
    pub fn writing_to(out: impl Write + Send + 'static) -> Self {
        Self {
            holds: Mutex::default(),
            failures: AtomicU64::new(0),
            told: Told::Throttled(Mutex::new(Box::new(out))),
        }
    }

    /// Tells every failure to a function in place of the standard error output.
    #[must_use]
    pub fn on_error(mut self, sink: impl Fn(&StrategyFailure) + Send + Sync + 'static) -> Self {
        self.told = Told::All(Box::new(sink));
        self
    }

    /// Counts a failure and tells of it. Sinks call this for what they could not ship: it is dropped, never queued again.
    pub fn fail(&self, strategy: &str, error: impl fmt::Display) {
        let count = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if matches!(self.told, Told::Throttled(_)) && !count.is_power_of_two() {
            return;
        }
        let failure = StrategyFailure { strategy: strategy.to_owned(), error: error.to_string(), count };
        // Nothing can be done about a failure to tell of a failure.
        let _ = catch_unwind(AssertUnwindSafe(|| match &self.told {
            Told::Throttled(out) => {
                let _ = writeln!(lock(out), "{failure}");
            }
            Told::All(sink) => sink(&failure),
        }));
    }

    /// How often the strategy failed so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Whether the strategy was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        lock(&self.holds).stopped
    }

    pub(super) fn acquire(&self) {
        lock(&self.holds).count += 1;
    }

    pub(super) fn release(&self) {
        let mut holds = lock(&self.holds);
        holds.count = holds.count.saturating_sub(1);
    }

    /// Whether the strategy is due to be stopped: nobody holds it and nobody stopped it before.
    pub(super) fn claim_stop(&self) -> bool {
        let mut holds = lock(&self.holds);
        let due = holds.count == 0 && !holds.stopped;
        holds.stopped |= due;
        due
    }
}

impl fmt::Debug for StrategyLife {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holds = lock(&self.holds);
        f.debug_struct("StrategyLife")
            .field("holds", &holds.count)
            .field("stopped", &holds.stopped)
            .field("failures", &self.failures())
            .finish()
    }
}

/// One runner's hold of a strategy; letting go of it never stops the strategy by itself.
pub(super) struct Hold {
    strategy: Arc<dyn super::Strategy>,
    held: Mutex<bool>,
}

impl Hold {
    pub(super) fn of(strategy: Arc<dyn super::Strategy>) -> Self {
        strategy.life().acquire();
        Self { strategy, held: Mutex::new(true) }
    }

    pub(super) fn strategy(&self) -> &Arc<dyn super::Strategy> {
        &self.strategy
    }

    pub(super) fn release(&self) {
        if std::mem::take(&mut *lock(&self.held)) {
            self.strategy.life().release();
        }
    }

    /// Lets go, and stops the strategy when nobody else holds it. True when it was stopped here.
    pub(super) fn stop(&self) -> bool {
        self.release();
        if !self.strategy.life().claim_stop() {
            return false;
        }
        if catch_unwind(AssertUnwindSafe(|| self.strategy.stop())).is_err() {
            self.strategy.life().fail(self.strategy.name(), "it panicked while it was stopped");
        }
        true
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}

//! State kept per run (OBS-34, OBS-35, OBS-39).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;

use crate::ids::RunId;
use crate::observe::{LegKind, RunLeg};
use crate::value::{Object, Str, Value};

/// How many runs a shared recorder remembers; the oldest closed ones go first.
const REMEMBERED: usize = 64;

#[derive(Clone, Debug, Default)]
struct Slot<S> {
    state: S,
    resumed_from: Option<Str>,
    closed: bool,
}

/// One state per run. A resumed leg goes on with a copy of the paused leg's state, so the paused leg stays as it was.
#[derive(Debug)]
pub(super) struct PerRun<S> {
    runs: Mutex<IndexMap<RunId, Arc<Mutex<Slot<S>>>>>,
}

impl<S> Default for PerRun<S> {
    fn default() -> Self {
        Self { runs: Mutex::default() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Default + Clone> PerRun<S> {
    /// A leg begins: fresh state, or what the paused leg left.
    pub(super) fn leg(&self, leg: &RunLeg<'_>) {
        let mut runs = lock(&self.runs);
        let slot = match leg.kind {
            LegKind::Resumed { previous_run_id } => {
                let previous = runs.get(&RunId::new(previous_run_id.clone())).map(|s| lock(s).clone());
                match previous {
                    Some(slot) => Slot { closed: false, ..slot },
                    None => Slot { resumed_from: Some(previous_run_id.clone()), ..Slot::default() },
                }
            }
            LegKind::Fresh => Slot::default(),
        };
        if runs.len() >= REMEMBERED
            && let Some(at) = runs.values().position(|s| lock(s).closed)
        {
            runs.shift_remove_index(at);
        }
        runs.insert(leg.run_id.clone(), Arc::new(Mutex::new(slot)));
    }

    /// The run is over or paused; its state may be forgotten when room is needed.
    pub(super) fn close(&self, run: &RunId) {
        if let Some(slot) = lock(&self.runs).get(run) {
            lock(slot).closed = true;
        }
    }

    /// Works on a run's state, making it if the run is not known yet.
    pub(super) fn with<R>(&self, run: &RunId, work: impl FnOnce(&mut S) -> R) -> R {
        let slot = {
            let mut runs = lock(&self.runs);
            // Most often it is the newest run, which needs no search.
            let newest = runs.last().filter(|(known, _)| *known == run).map(|(_, slot)| slot);
            match newest.or_else(|| runs.get(run)) {
                Some(slot) => Arc::clone(slot),
                None => Arc::clone(runs.entry(run.clone()).or_default()),
            }
        };
        let mut slot = lock(&slot);
        work(&mut slot.state)
    }

    /// Looks at the state of a run, or of the newest run.
    pub(super) fn read<R>(&self, run: Option<&RunId>, look: impl FnOnce(&S) -> R) -> Option<R> {
        let slot = {
            let runs = lock(&self.runs);
            let slot = match run {
                Some(run) => runs.get(run),
                None => runs.last().map(|(_, slot)| slot),
            };
            Arc::clone(slot?)
        };
        let slot = lock(&slot);
        Some(look(&slot.state))
    }

    /// `meta` of a row: says when the recorder saw only the legs after a pause in another process.
    pub(super) fn meta(&self, run: &RunId) -> Option<Object> {
        let slot = Arc::clone(lock(&self.runs).get(run)?);
        let previous = lock(&slot).resumed_from.clone()?;
        Some(Object::from_iter([(Str::from("resumedFrom"), Value::from(previous))]))
    }
}

/// Generates `close` calls for the three ways a leg ends.
macro_rules! close_on_end {
    ($field:ident) => {
        fn on_run_end(
            &self,
            cx: &$crate::observe::EventCx<'_>,
            _e: &$crate::observe::RunEndEvent,
        ) -> $crate::observe::HookResult {
            self.$field.close(cx.run_id);
            Ok(())
        }
        fn on_run_failed(
            &self,
            cx: &$crate::observe::EventCx<'_>,
            _e: &$crate::observe::RunFailedEvent,
        ) -> $crate::observe::HookResult {
            self.$field.close(cx.run_id);
            Ok(())
        }
        fn on_flow_pause(
            &self,
            cx: &$crate::observe::EventCx<'_>,
            _e: &$crate::observe::FlowPauseEvent,
        ) -> $crate::observe::HookResult {
            self.$field.close(cx.run_id);
            Ok(())
        }
    };
}
pub(super) use close_on_end;

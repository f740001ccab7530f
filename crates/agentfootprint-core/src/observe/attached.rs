//! What belongs to a runner and watches all its runs.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use footprint::observe::Recorder;
use footprint::value::Str;

use super::channel::Channel;
use super::end::Ending;
use super::life::Hold;
use crate::run::{RunProbe, RunWiring, lock};

type Factory = Arc<dyn Fn(&Str) -> Arc<dyn Recorder> + Send + Sync>;
type Wire = Arc<dyn Fn(&mut RunWiring<'_>) + Send + Sync>;

/// The observers of a runner. Its own type of runner answers one; clones are the same.
#[derive(Clone, Default)]
pub struct Observers(Arc<Inner>);

#[derive(Default)]
pub(super) struct Inner {
    state: Mutex<State>,
    pub(super) ending: Ending,
}

/// A strategy as one runner has it: its hold, and the way events take to it.
#[derive(Clone)]
pub(super) struct Enlisted {
    pub(super) hold: Arc<Hold>,
    pub(super) channel: Arc<Channel>,
}

#[derive(Default)]
struct State {
    next: u64,
    shared: Vec<(u64, Arc<dyn Recorder>)>,
    factories: Vec<(u64, Factory)>,
    wires: Vec<(u64, Wire)>,
    strategies: Vec<(u64, Enlisted)>,
    /// Runs whose observers may still have something to deliver.
    runs: Vec<RunProbe>,
}

impl Observers {
    /// A runner's observers: none yet.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(recorders: Vec<Arc<dyn Recorder>>) -> Self {
        let observers = Self::default();
        for recorder in recorders {
            observers.attach(recorder).keep();
        }
        observers
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Observes every later run with one recorder; it keys what it keeps by run. Attaching an id again replaces what was
    /// attached under it (AGT-6).
    pub fn attach(&self, recorder: Arc<dyn Recorder>) -> Attachment {
        self.add(|state, key| {
            state.shared.retain(|(_, known)| known.id() != recorder.id());
            state.shared.push((key, recorder));
        })
    }

    /// Observes every later run with a recorder of its own, made from the run's id.
    pub fn attach_per_run(
        &self,
        make: impl Fn(&Str) -> Arc<dyn Recorder> + Send + Sync + 'static,
    ) -> Attachment {
        self.add(|state, key| state.factories.push((key, Arc::new(make))))
    }

    pub(super) fn wire(&self, wire: impl Fn(&mut RunWiring<'_>) + Send + Sync + 'static) -> Attachment {
        self.add(|state, key| state.wires.push((key, Arc::new(wire))))
    }

    pub(super) fn enlist(&self, enlisted: Enlisted) -> Attachment {
        self.add(|state, key| state.strategies.push((key, enlisted)))
    }

    fn add(&self, add: impl FnOnce(&mut State, u64)) -> Attachment {
        let mut state = lock(&self.0.state);
        state.next += 1;
        let key = state.next;
        add(&mut state, key);
        Attachment { inner: Arc::downgrade(&self.0), key, active: true }
    }

    /// The recorders of a new run.
    pub(crate) fn recorders(&self, run_id: &Str) -> Vec<Arc<dyn Recorder>> {
        let (shared, factories) = {
            let state = lock(&self.0.state);
            (state.shared.clone(), state.factories.clone())
        };
        let made = factories.iter().map(|(_, make)| make(run_id));
        shared.iter().map(|(_, recorder)| Arc::clone(recorder)).chain(made).collect()
    }

    /// Connects what needs all three connections to a new run.
    pub(crate) fn connect(&self, wiring: &mut RunWiring<'_>) {
        let wires = lock(&self.0.state).wires.clone();
        wires.iter().for_each(|(_, wire)| wire(wiring));
    }

    /// A run that may leave something undelivered is kept until it has nothing left.
    pub(crate) fn keep(&self, probe: RunProbe) {
        lock(&self.0.state).runs.push(probe);
    }

    pub(super) fn take_runs(&self) -> Vec<RunProbe> {
        std::mem::take(&mut lock(&self.0.state).runs)
    }

    /// What is enlisted, in the order of enabling.
    pub(super) fn enlisted(&self) -> Vec<Enlisted> {
        lock(&self.0.state).strategies.iter().map(|(_, enlisted)| enlisted.clone()).collect()
    }

    /// The channels of each strategy, in the order of enabling.
    pub(super) fn channels(&self) -> Vec<Vec<Arc<Channel>>> {
        let mut out: Vec<Vec<Arc<Channel>>> = Vec::new();
        for Enlisted { channel, .. } in self.enlisted() {
            let same = |known: &&mut Vec<Arc<Channel>>| {
                known.first().is_some_and(|first| Arc::ptr_eq(first.strategy(), channel.strategy()))
            };
            match out.iter_mut().find(same) {
                Some(known) => known.push(channel),
                None => out.push(vec![channel]),
            }
        }
        out
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.0.state);
        f.debug_struct("Observers")
            .field("recorders", &(state.shared.len() + state.factories.len()))
            .field("strategies", &state.strategies.len())
            .finish_non_exhaustive()
    }
}

/// What was attached; dropping it detaches it from later runs.
#[must_use = "dropping an attachment detaches at once; `keep` it for the runner's life"]
pub struct Attachment {
    inner: Weak<Inner>,
    key: u64,
    active: bool,
}

impl Attachment {
    /// Detaches now. Runs under way keep what they began with.
    pub fn detach(self) {
        drop(self);
    }

    /// Keeps it attached for as long as the runner lives.
    pub fn keep(mut self) {
        self.active = false;
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if !self.active {
            return;
        }
        let Some(inner) = self.inner.upgrade() else { return };
        let mut state = lock(&inner.state);
        let key = self.key;
        state.shared.retain(|(known, _)| *known != key);
        state.factories.retain(|(known, _)| *known != key);
        state.wires.retain(|(known, _)| *known != key);
        state.strategies.retain(|(known, _)| *known != key);
    }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attachment")
    }
}

/// Keeps a run for its runner's observers while something of it is undelivered.
pub(crate) struct Keeping {
    pub(crate) observers: Observers,
    pub(crate) probe: RunProbe,
}

impl Keeping {
    /// The run is over: what its deferred observers have not seen yet is drained later.
    pub(crate) async fn over(self) {
        if self.probe.drain(std::time::Duration::ZERO).await.pending > 0 {
            self.observers.keep(self.probe);
        }
    }
}

//! The sink of one run: what stages say goes to the runner's hub and to the run's own, in one order (EVT-4, EVT-14).

use agentfootprint_record::events::{AgentEvent, Event, EventMeta, EventName};

use super::hub::{EventHub, dispatch};

/// Both hubs of a run. Cloning shares them.
#[derive(Clone, Debug)]
pub(crate) struct RunEvents {
    runner: EventHub,
    run: EventHub,
}

impl RunEvents {
    /// The sink of a new run of the runner with this hub.
    pub(crate) fn of(runner: &EventHub) -> Self {
        Self { runner: runner.clone(), run: runner.for_run() }
    }

    /// The run's own hub.
    pub(crate) fn hub(&self) -> &EventHub {
        &self.run
    }

    /// Whether anybody listens to events of this name.
    pub(crate) fn interested(&self, name: EventName) -> bool {
        self.run.interested(name) || self.runner.interested(name)
    }

    /// Says an event.
    pub(crate) fn dispatch(&self, kind: AgentEvent, meta: EventMeta) {
        dispatch(&[&self.runner, &self.run], Event { kind, meta });
    }
}

//! The one producer of recordings (REC-2).

use std::fmt;
use std::sync::{Arc, OnceLock};

use agentfootprint_record::events::Pattern;
use agentfootprint_record::recording::{Recording, RecordingError};
use footprint::recorders::{ControlDeps, ControlMode};
use footprint::structure::Structure;

use super::boundary::BoundaryRecorder;
use super::options::RecordOptions;
use super::tail::EventTail;
use crate::events::Subscription;
use crate::run::{RunOptions, RunProbe, RunRecord, RunWiring, lock};

/// What a run leaves behind so far. Cheap to clone; usable while the run goes on and after it.
#[derive(Clone)]
pub struct RecordingHandle(Arc<Inner>);

struct Inner {
    options: RecordOptions,
    structure: Structure,
    tail: Arc<EventTail>,
    connected: OnceLock<Connected>,
}

struct Connected {
    probe: RunProbe,
    boundary: Arc<BoundaryRecorder>,
    listening: std::sync::Mutex<Option<Subscription>>,
}

impl RecordingHandle {
    pub(crate) fn new(options: RecordOptions, structure: Structure) -> Self {
        let tail = Arc::new(EventTail::new(options.max_events));
        Self(Arc::new(Inner { options, structure, tail, connected: OnceLock::new() }))
    }

    /// Attaches the event tail, the boundary recorder and the control dependencies to the run that these options will start.
    pub(crate) fn attach(&self, options: RunOptions) -> RunOptions {
        let handle = self.clone();
        options.wire(move |wiring| handle.connect(wiring))
    }

    /// The same for one run that is being made.
    pub(crate) fn connect(&self, wiring: &mut RunWiring<'_>) {
        let inner = &self.0;
        let tail = Arc::clone(&inner.tail);
        let listening = wiring.events().on_shared(Pattern::All, Arc::new(move |event| tail.push(event)));
        let boundary = BoundaryRecorder::connect(wiring, inner.options.boundary_detail);
        wiring.observe(Arc::new(ControlDeps::new().mode(ControlMode::Lean)));
        let connected = Connected {
            probe: wiring.probe().clone(),
            boundary,
            listening: std::sync::Mutex::new(Some(listening)),
        };
        // A handle belongs to one run: declared options are started once.
        let _ = inner.connected.set(connected);
    }

    /// The recording so far, detached: it shares nothing that the run still changes.
    ///
    /// # Errors
    /// [`RecordingError::Unavailable`] when the run never reached the engine.
    pub fn to_recording(&self) -> Result<Recording, RecordingError> {
        let snapshot = self.0.connected.get().and_then(|connected| connected.probe.recorded());
        let snapshot = snapshot.ok_or_else(|| RecordingError::Unavailable {
            reason: "the run has not reached its first stage".to_owned(),
        })?;
        Ok(self.made(Recording::new(snapshot, self.0.tail.events(), self.0.structure.clone())))
    }

    pub(crate) fn of_finished(&self, record: &RunRecord) -> Recording {
        self.made(Recording::new(record.recorded().clone(), self.0.tail.events(), self.0.structure.clone()))
    }

    fn made(&self, recording: Recording) -> Recording {
        if self.0.options.record_embeddings { recording } else { recording.with_embeddings_summarised() }
    }

    /// The boundary recorder of the run, once it has started.
    #[must_use]
    pub fn boundary(&self) -> Option<&BoundaryRecorder> {
        self.0.connected.get().map(|connected| &*connected.boundary)
    }

    /// Events kept.
    #[must_use]
    pub fn event_count(&self) -> usize {
        self.0.tail.len()
    }

    /// Events that left to make room.
    #[must_use]
    pub fn dropped_events(&self) -> u64 {
        self.0.tail.dropped()
    }

    /// Index, in the run, of the first event still kept.
    #[must_use]
    pub fn first_retained_event_index(&self) -> u64 {
        self.dropped_events()
    }

    /// Stops keeping events. What is kept stays.
    pub fn stop(&self) {
        if let Some(connected) = self.0.connected.get() {
            drop(lock(&connected.listening).take());
        }
    }
}

/// The recording of a bare chart that ran inside a tool, as a reader without the right to its secrets may see it. It has no
/// events: nobody said any.
pub(crate) fn recording_of_chart(report: &footprint::report::RunReport) -> Recording {
    Recording::new(report.snapshot_redacted().clone(), Vec::new(), report.runtime_structure())
}

impl fmt::Debug for RecordingHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingHandle")
            .field("events", &self.event_count())
            .field("dropped", &self.dropped_events())
            .finish_non_exhaustive()
    }
}

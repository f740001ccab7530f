//! Recording a run: the event tail, the boundary recorder, and the one producer that joins them with the snapshot (REC §1).
//!
//! | file | idea |
//! |---|---|
//! | `options` | how much is kept |
//! | `tail` | the last events of a run |
//! | `boundary`, `rows` | when each boundary was crossed, on the commit axis |
//! | `producer` | attaches both before the first stage and makes the recording |
//! | `run` | a recorded run: its answer beside its evidence |
//!
//! Nothing else assembles a recording (REC-2). What is attached belongs to one run (REC-3), so an agent records any number of
//! runs at once.

mod boundary;
mod options;
mod producer;
mod rows;
mod run;
mod tail;

pub use boundary::BoundaryRecorder;
pub use options::{BoundaryDetail, RecordOptions};
pub use producer::RecordingHandle;
pub(crate) use producer::recording_of_chart;
pub use run::{RecordBuilder, RecordedRun, SaveError};

//! stub
mod run_id;
pub use run_id::{EngineRunId, EventRunId};

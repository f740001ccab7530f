//! Where runs are watched from outside: sinks for everything an agent or a composition says.
//!
//! A sink is a strategy ([`agentfootprint_core::observe`]): it is given by instance, told events inside the run, buffers them, and
//! ships them on its own time. It never slows a run, never changes one, and never fails one.
//!
//! | module | sink | feature |
//! |---|---|---|
//! | [`console`] | one JSON line per event | |
//! | [`mod@file`] | NDJSON with one rotated generation | |
//! | [`log`] | `tracing` events, and [`log::attach_logging`] | |
//! | [`cost`] | what calls cost, kept in memory | |
//! | `otel` | spans of the GenAI semantic conventions | `otel`, `otlp` |
//! | `cloudwatch` | CloudWatch logs and AgentCore, over an injected client | `cloudwatch` |
//! | `xray` | X-Ray segments, over an injected client | `xray` |
//!
//! **What leaves the process.** The console, file and log sinks and CloudWatch ship events as they are, with the words of people,
//! models and tools in them; a tier limits volume, not content. The OpenTelemetry sink and, unless told otherwise, X-Ray ship
//! structure only: names, counts, times.

mod batch;
#[cfg(feature = "cloudwatch")]
pub mod cloudwatch;
pub mod console;
pub mod cost;
pub mod file;
pub mod log;
#[cfg(feature = "otel")]
pub mod otel;
#[cfg(feature = "xray")]
pub mod xray;

pub use agentfootprint_core::observe::SinkConfigError;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock whose holder may have panicked: what it guards is complete after every single step.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

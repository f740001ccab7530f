//! What one run owns: every per-run value that is not chart state (AGT §3).
//!
//! A [`RunContext`] is created per run and travels through the engine's typed environment (ENG-169), so it reaches
//! every mount at every depth and is never state. Stage code does not touch it directly: it works on a [`StageCx`],
//! which binds the engine scope, the run, the agent's immutable definition and the agent's turn in this run.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentfootprint_record::events::{AgentEvent, EventMeta, EventName};
use footprint::{Scope, StageError, Str, Value};
use tokio_util::sync::CancellationToken;

use super::effects::{Effects, IdSource};
use super::identity::{MemoryIdentity, RunIdentity};
use super::integrity::IntegrityLedger;
use crate::agent::AgentCore;
use crate::events::EventSink;

/// Locks without caring about poison: the guarded data is always left in a valid state.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

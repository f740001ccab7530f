//! What a scope method refuses.

use crate::ids::RuntimeStageId;
use crate::value::Str;

/// Why a scope method refused. Every variant names the stage, and the key where there is one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// The key has no value in the stage's view.
    #[error("stage `{stage}`: state has no key `{key}`; use `try_get` where absence is expected")]
    Missing {
        /// Stage that asked.
        stage: Str,
        /// Key that was asked for.
        key: Str,
    },
    /// The value under the key is of another shape.
    #[error("stage `{stage}`: key `{key}` holds {found}, which is not {expected}")]
    TypeMismatch {
        /// Stage that asked.
        stage: Str,
        /// Key that was asked for.
        key: Str,
        /// The type that was asked for.
        expected: String,
        /// The kind that is there.
        found: String,
    },
    /// The value cannot be represented in state.
    #[error("stage `{stage}`: the value for key `{key}` cannot be stored: {reason}")]
    NotSerializable {
        /// Stage that wrote.
        stage: Str,
        /// Key that was written.
        key: Str,
        /// Why.
        reason: String,
    },
    /// The key is a read-only argument of this level.
    #[error("stage `{stage}`: key `{key}` is a read-only argument of this chart; cannot {op} it")]
    ReadOnlyKey {
        /// Stage that wrote.
        stage: Str,
        /// Key that was written.
        key: Str,
        /// `set`, `update`, `delete` or `append`.
        op: &'static str,
    },
    /// The key is reserved by the engine.
    #[error("stage `{stage}`: key `{key}` is reserved")]
    ReservedKey {
        /// Stage that wrote.
        stage: Str,
        /// Key that was written.
        key: Str,
    },
    /// The key is not a legal key.
    #[error("stage `{stage}`: `{key}` is not a legal key: {reason}")]
    InvalidKey {
        /// Stage that asked.
        stage: Str,
        /// Key that was given.
        key: Str,
        /// Why.
        reason: String,
    },
    /// The stage is over; its handle only answers reads.
    #[error("stage `{stage}` ({runtime_stage_id}) is over: its scope no longer accepts writes")]
    FrameClosed {
        /// Stage of the handle.
        stage: Str,
        /// Address of the visit.
        runtime_stage_id: RuntimeStageId,
    },
}

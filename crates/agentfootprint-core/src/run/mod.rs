//! Starting runs, and what comes out of them (AGT §2–5).
//!
//! `agent.run("…")` answers a [`RunBuilder`]; awaiting it drives the run to its end and yields a [`RunReport`] —
//! also when the run fails, because a failed run is the one somebody wants explained. [`RunBuilder::start`] yields a
//! [`RunHandle`] instead, for whoever wants to watch.

mod ask_fault;
mod builder;
mod checkpoint;
pub(crate) mod context;
mod effects;
mod error;
mod handle;
mod identity;
mod input;
mod integrity;
pub(crate) mod launch;
mod options;
mod report;
mod runner;
mod state;
mod tracker;
mod turn;

pub use ask_fault::AskComponentFault;
pub use builder::RunBuilder;
pub use checkpoint::{AgentRunCheckpoint, CHECKPOINT_VERSION, FailurePhase, FailurePoint};
pub use context::{DurabilityBarrier, RunContext};
pub use effects::{
    Direct, EffectDone, EffectFailure, EffectFn, EffectKind, EffectOutcome, EffectRecord, EffectSpec,
    Effects, IdSource, ProcessIds, Reexecution, SequentialIds,
};
pub use error::{DeliveryError, NoConversationReason, RunError, RunRefusal};
pub use handle::{RunHandle, RunProbe, RunRemote};
pub use identity::{IdentitySource, RunIdentity};
pub use input::RunInput;
pub use integrity::{CheckCounts, Disposition, IntegrityCheck, IntegrityLedger};
pub use options::{RunOptions, RunWiring};
pub use report::{AnswerError, PauseOutcome, RunFailure, RunOutcome, RunRecord, RunReport};
pub use runner::{ChartRunner, RunNeeds, Runner, Translated, UiGroup, UiTranslator, translated};

pub(crate) use context::{CANCELLED, StageCx, cancelled, lock, millis, mount_prefix, run_of};
pub(crate) use effects::{Journaled, Performed, Trail, Which, perform, said};
pub(crate) use identity::identity_value;
pub(crate) use input::{Restored, StartMaterial};
pub(crate) use state::message;

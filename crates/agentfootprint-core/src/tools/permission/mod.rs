//! Permissions: who may call what, decided outside the agent and fail-closed (TOOL §7).

mod policy;
mod port;
mod sequence;

pub use self::policy::{PermissionPolicy, PolicyError, PolicyRules};
pub use self::port::skill_of_target;
pub use self::port::{
    CallSequence, CheckError, PermissionChecker, PermissionDecision, PermissionRequest, PermissionVerdict,
    SequenceCall,
};
pub use self::sequence::SequencePolicy;

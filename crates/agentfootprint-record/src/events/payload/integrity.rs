use footprint::value::{Str, Value};

use crate::events::record::record;
use crate::events::shared::{Assertion, SubjectRef};
use crate::events::words::{ContextErrorKind, IntegrityPosture, Seam};

record! {
    /// A check found a contradiction.
    pub struct IntegrityContextError {
        req kind: ContextErrorKind,
        req seam: Seam,
        req subjects: Vec<SubjectRef>,
        req witnesses: Vec<Assertion>,
        opt predicate: Str as name,
        opt epoch: i64,
        flag synthetic,
        flag advisory,
        req message: Str,
        opt iteration: u64,
    }

    /// What one check did over a leg.
    pub struct DispositionRow {
        req check: Str as name,
        req seam: Seam,
        req checked: u64,
        req findings: u64,
        req not_applicable = "notApplicable": u64,
        req unreachable: u64,
        opt last_fired_at = "lastFiredAt": u64,
        req synthetic: u64,
    }

    /// What the checks of a leg did; exactly one per leg (EVT-40).
    pub struct IntegrityDisposition {
        req posture: IntegrityPosture,
        req work_existed = "workExisted": bool,
        req rows: Vec<DispositionRow>,
    }

    /// An argument's value was grounded by a value the host verified.
    pub struct IntegrityExternalGroundUsed {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req path: Str,
        req value: Value,
        req source: Str,
        req iteration: u64,
    }
}

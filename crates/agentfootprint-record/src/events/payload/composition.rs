use footprint::value::{Str, Value};

use crate::events::record::record;
use crate::events::words::{
    BranchStatus, CompositionKind, CompositionStatus, IterationExitReason, MergeStrategy,
};

record! {
    /// A composition started.
    pub struct CompositionEnter {
        req kind: CompositionKind,
        req id: Str as id,
        req name: Str as name,
        req child_count = "childCount": u64,
    }

    /// A composition ended.
    pub struct CompositionExit {
        req kind: CompositionKind,
        req id: Str as id,
        opt name: Str as name,
        req status: CompositionStatus,
        req duration_ms = "durationMs": u64,
    }

    /// A branch of a Parallel, as declared.
    pub struct BranchRef {
        req id: Str as id,
        req name: Str as name,
    }

    /// A Parallel started its branches.
    pub struct CompositionForkStart {
        req parent_id = "parentId": Str as id,
        req branches: Vec<BranchRef>,
    }

    /// A branch of a Parallel ended.
    pub struct CompositionBranchComplete {
        req parent_id = "parentId": Str as id,
        req branch_id = "branchId": Str as id,
        req status: BranchStatus,
        req duration_ms = "durationMs": u64,
    }

    /// A Parallel merged its branches.
    pub struct CompositionMergeEnd {
        req parent_id = "parentId": Str as id,
        req strategy: MergeStrategy,
        /// At most 80 UTF-16 units.
        req result_summary = "resultSummary": Str,
        req merged_branch_count = "mergedBranchCount": u64,
        req total_branch_count = "totalBranchCount": u64,
    }

    /// A Conditional or router chose.
    pub struct CompositionRouteDecided {
        req conditional_id = "conditionalId": Str as id,
        req chosen: Str as id,
        opt rationale: Str,
        opt evidence: Value,
    }

    /// A pass of a Loop began.
    pub struct CompositionIterationStart {
        req loop_id = "loopId": Str as id,
        req iteration: u64,
    }

    /// A pass of a Loop ended.
    pub struct CompositionIterationExit {
        req loop_id = "loopId": Str as id,
        req iteration: u64,
        req reason: IterationExitReason,
    }
}

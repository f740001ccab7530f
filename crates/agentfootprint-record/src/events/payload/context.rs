use footprint::value::Str;
use indexmap::IndexMap;

use crate::events::record::record;
use crate::events::shared::{GuardRecord, Witness};
use crate::events::words::{
    BudgetUnit, ContextLifetime, ContextRecency, ContextRole, ContextSlot, ContextSource, CursorBy,
    EvictionReason, PlanAction, SkipReason,
};

record! {
    /// What an injection spent of its budget.
    pub struct BudgetSpent {
        req tokens: u64,
        req fraction_of_cap = "fractionOfCap": f64,
    }

    /// A piece of context was injected: the payload of the event **and** the record a slot writes to state
    /// (CTX-38, `InjectionRecord`).
    pub struct ContextInjected {
        /// At most 80 UTF-16 units.
        req content_summary = "contentSummary": Str,
        req content_hash = "contentHash": Str as id,
        opt raw_content = "rawContent": Str,
        req slot: ContextSlot,
        opt as_role = "asRole": ContextRole,
        opt as_recency = "asRecency": ContextRecency,
        opt position: u64,
        opt section_tag = "sectionTag": Str as name,
        req source: ContextSource,
        opt source_id = "sourceId": Str as id,
        opt upstream_ref = "upstreamRef": Str as id,
        req reason: Str,
        opt retrieval_score = "retrievalScore": f64,
        opt rank_position = "rankPosition": u64,
        opt threshold: f64,
        opt budget_spent = "budgetSpent": BudgetSpent,
        opt expires_after = "expiresAfter": ContextLifetime,
    }

    /// The window removed content.
    pub struct ContextEvicted {
        req slot: ContextSlot,
        req content_hash = "contentHash": Str as id,
        req reason: EvictionReason,
        req survival_ms = "survivalMs": u64,
    }

    /// The budget of a slot; the headroom is negative when it is exceeded.
    pub struct SlotBudget {
        req cap: u64,
        req used: u64,
        req headroom_chars = "headroomChars": i64,
    }

    /// What one source takes of a slot.
    pub struct SourceShare {
        req chars: u64,
        req count: u64,
    }

    /// A slot was composed: the payload of the event and the record a slot writes to state (CTX-40).
    pub struct ContextSlotComposed {
        req slot: ContextSlot,
        req iteration: u64,
        req budget: SlotBudget,
        req source_breakdown = "sourceBreakdown": IndexMap<ContextSource, SourceShare>,
        opt ordering_strategy = "orderingStrategy": Str as name,
        req dropped_count = "droppedCount": u64,
        req dropped_summaries = "droppedSummaries": Vec<Str>,
    }

    /// A budget is exceeded.
    pub struct ContextBudgetPressure {
        req slot: ContextSlot,
        req overflow_by = "overflowBy": u64,
        req plan_action = "planAction": PlanAction,
        req unit: BudgetUnit,
        req cap: u64,
        req projected: u64,
    }

    /// An injection that was not judged active, for a reason worth saying.
    pub struct SkippedInjection {
        req id: Str as id,
        req reason: SkipReason,
        opt error: Str,
    }

    /// A skill as listed.
    pub struct SkillEntry {
        req id: Str as id,
        req description: Str,
    }

    /// One branch on the way down a skill tree.
    pub struct RoutePathStep {
        req label: Str as name,
        req branch: Str as name,
    }

    /// Where an active graph skill was declared: build-time provenance, not the cause of a hop.
    pub struct RoutingEntry {
        req injection_id = "injectionId": Str as id,
        req flavor: Str as name,
        req via: Str as name,
        opt path: Vec<RoutePathStep>,
        opt label: Str as name,
        opt from: Str as id,
        opt trigger_kind = "triggerKind": Str as name,
        opt tools: Vec<Str> as name,
    }

    /// How the skill cursor moved on this pass.
    pub struct CursorMove {
        opt from: Str as id,
        opt to: Str as id,
        req by: CursorBy,
        opt offered: Vec<Str> as id,
        opt declined_offer = "declinedOffer": bool,
        opt witness: Witness,
        opt guard: GuardRecord,
        opt guards_closed = "guardsClosed": Vec<GuardRecord>,
        opt reachable: Vec<Str> as id,
    }

    /// Triggers were evaluated, once per pass.
    pub struct ContextEvaluated {
        req iteration: u64,
        req active_count = "activeCount": u64,
        req skipped_count = "skippedCount": u64,
        req evaluated_total = "evaluatedTotal": u64,
        req active_ids = "activeIds": Vec<Str> as id,
        req skipped_details = "skippedDetails": Vec<SkippedInjection>,
        req trigger_kind_counts = "triggerKindCounts": IndexMap<Str, u64>,
        req skill_catalog = "skillCatalog": Vec<SkillEntry>,
        opt routing: Vec<RoutingEntry>,
        opt cursor_move = "cursorMove": CursorMove,
        opt superseded_ids = "supersededIds": Vec<Str> as id,
    }
}

/// One piece a slot writes to state: the payload of `context.injected` (CTX-38).
pub type InjectionRecord = ContextInjected;
/// What a slot writes about its composition: the payload of `context.slot_composed` (CTX-40).
pub type SlotComposition = ContextSlotComposed;

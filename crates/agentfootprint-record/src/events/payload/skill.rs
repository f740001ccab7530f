use footprint::value::{Str, Value};

use crate::events::record::record;
use crate::events::shared::{ProviderModel, StepRef, Witness};
use crate::events::words::{
    DroppedResumeReason, EngagedBy, GatePosture, ProposalSource, SkillActivation, SkillRejection,
    StepSkipPolicy, TurnRoutedBy, UnfinishedAction,
};

record! {
    /// A skill became active.
    pub struct SkillActivated {
        req skill_id = "skillId": Str as id,
        req reason: SkillActivation,
        opt injected_tools = "injectedTools": Vec<Str> as name,
        opt injected_system_prompt_chars = "injectedSystemPromptChars": u64,
    }

    /// A skill is no longer active.
    pub struct SkillDeactivated {
        req skill_id = "skillId": Str as id,
        req reason: Str,
    }

    /// A node of the declared graph.
    pub struct GraphNode {
        req id: Str as id,
        req kind: Str as name,
        opt description: Str,
        opt label: Str as name,
    }

    /// A condition of a declared guard.
    pub struct DeclaredCondition {
        req key: Str as name,
        req op: Str as name,
        /// A string, number, boolean, null, or a list of them.
        req value: Value,
    }

    /// A declared guard.
    pub struct DeclaredGuard {
        req conditions: Vec<DeclaredCondition>,
    }

    /// An edge of the declared graph.
    pub struct GraphEdge {
        /// `null` for an entry.
        req from: Option<Str> as id,
        req to: Str as id,
        req kind: Str as name,
        opt label: Str as name,
        opt guard: DeclaredGuard,
    }

    /// The skill graph of this leg.
    pub struct SkillGraphDeclared {
        req nodes: Vec<GraphNode>,
        req edges: Vec<GraphEdge>,
    }

    /// A skill request was refused.
    pub struct SkillRejected {
        /// What the model asked for; need not exist.
        req requested_id = "requestedId": Str as content,
        opt current_skill_id = "currentSkillId": Str as id,
        req allowed: Vec<Str> as id,
        req iteration: u64,
        opt posture: GatePosture,
        opt reason: SkillRejection,
    }

    /// A declared edge won over a volunteered move.
    pub struct SkillRerouteSuperseded {
        req volunteered_id = "volunteeredId": Str as id,
        opt won_id = "wonId": Str as id,
        opt from_skill_id = "fromSkillId": Str as id,
        req iteration: u64,
        opt source: ProposalSource,
    }

    /// One claim to the next skill.
    pub struct RouteClaim {
        opt tool_call_id = "toolCallId": Str as id,
        req tool_name = "toolName": Str as name,
        req target: Str as id,
    }

    /// Several edges or proposals spoke in one batch.
    pub struct SkillRouteConflict {
        req iteration: u64,
        opt from_skill_id = "fromSkillId": Str as id,
        req winner: RouteClaim,
        req losers: Vec<RouteClaim>,
        opt source: ProposalSource,
    }

    /// One score of the entry routing.
    pub struct SkillScore {
        req id: Str as id,
        req score: f64,
        req relevance: f64,
    }

    /// The second of the entry routing.
    pub struct RunnerUp {
        req id: Str as id,
        req gap: f64,
    }

    /// The policy the entry routing applied.
    pub struct RoutePolicy {
        req near_tie_margin = "nearTieMargin": f64,
        req menu_size = "menuSize": u64,
        opt floor: f64,
    }

    /// A restored cursor that could not be taken up.
    pub struct DroppedResume {
        req id: Str as id,
        req reason: DroppedResumeReason,
    }

    /// The model that decided an entry.
    pub struct EntryDecider {
        req provider: Str as name,
        opt model: Str as name,
        opt picked: Str as id,
    }

    /// The skill a turn starts in was chosen.
    pub struct SkillTurnRouted {
        req by: TurnRoutedBy,
        opt from: Str as id,
        opt to: Str as id,
        opt scorer: Str as name,
        opt scores: Vec<SkillScore>,
        opt runner_up = "runnerUp": RunnerUp,
        opt decisive: bool,
        opt witness: Witness,
        opt offered: Vec<Str> as id,
        opt stay_offered = "stayOffered": bool,
        req policy: RoutePolicy,
        opt window: u64,
        opt dropped_resume = "droppedResume": DroppedResume,
        opt decider: EntryDecider,
    }

    /// A step's tool landed.
    pub struct SkillStepAdvanced {
        req skill_id = "skillId": Str as id,
        req step: StepRef,
        req iteration: u64,
        opt tool_call_id = "toolCallId": Str as id,
        flag completed,
    }

    /// A step was skipped with a reason.
    pub struct SkillStepSkipped {
        req skill_id = "skillId": Str as id,
        req step: StepRef,
        req reason: Str,
        req policy: StepSkipPolicy,
        req iteration: u64,
        opt tool_call_id = "toolCallId": Str as id,
    }

    /// A step still open.
    pub struct OpenStep {
        req index: u64,
        req tool: Str as name,
        req note: Str,
    }

    /// The model answered with steps open.
    pub struct SkillStepsUnfinished {
        req skill_id = "skillId": Str as id,
        req remaining: Vec<OpenStep>,
        req total: u64,
        req action: UnfinishedAction,
        req iteration: u64,
    }

    /// A provider and, when it differs, a model.
    pub struct EscalationTarget {
        req provider: Str as name,
        opt model: Str as name,
    }

    /// The brain was replaced after refusals.
    pub struct SkillEscalated {
        req iteration: u64,
        req after_refusals = "afterRefusals": u64,
        req refusals: u64,
        req from: ProviderModel,
        req to: EscalationTarget,
    }

    /// A mounted map is engaged.
    pub struct MapEngaged {
        req map_id = "mapId": Str as id,
        req iteration: u64,
        req by: EngagedBy,
        opt witness: Str,
        flag reengaged,
        flag upgraded,
        opt founded_by = "foundedBy": EngagedBy,
        flag tenant_changed = "tenantChanged",
        opt at: Str,
    }

    /// A mounted map is parked.
    pub struct MapParked {
        req map_id = "mapId": Str as id,
        req iteration: u64,
        req by: EngagedBy,
        req idle_calls = "idleCalls": u64,
        opt witness: Str,
    }
}

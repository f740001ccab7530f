//! Which sentence an event is told with.

use agentfootprint_record::events::AgentEvent as E;
use agentfootprint_record::events::payload::{
    ContextEvaluated, ContextInjected, SkillRouteConflict, SkillTurnRouted, ToolsEffect, ToolsResultRefused,
};
use agentfootprint_record::events::words::{
    ArtifactOp, ArtifactVia, CompositionKind, ContextSource, CursorBy, EffectKind, EffectOutcome,
    ExpiryReason, GatePosture, LimitAction, RepeatMode, TurnRoutedBy,
};

/// What becomes of an event in a commentary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommentaryKey {
    /// It is told, with the text of this key.
    Key(&'static str),
    /// It is known and passed over on purpose.
    Skip,
    /// The commentary has no words for it: the host decides.
    Unknown,
}

use CommentaryKey::{Key, Skip, Unknown};

/// The key of an event. It knows every event of the registry by name, so that a new one is a decision and no oversight (REC-56).
///
/// ```
/// use agentfootprint_debug::commentary::{CommentaryKey, commentary_key};
/// use agentfootprint_record::events::payload::{AgentIterationStart, StreamLlmStart};
/// let call = |iteration| StreamLlmStart::new(iteration, "mock", "m", 0, 1, 0).into();
/// assert_eq!(commentary_key(&call(1)), CommentaryKey::Key("stream.llm_start.iter1"));
/// assert_eq!(commentary_key(&call(2)), CommentaryKey::Key("stream.llm_start.iterN"));
/// assert_eq!(commentary_key(&AgentIterationStart::new(0, 1).into()), CommentaryKey::Skip);
/// ```
#[must_use]
pub fn commentary_key(event: &E) -> CommentaryKey {
    match event {
        E::AgentTurnStart(_) => Key("agent.turn_start"),
        E::StreamLlmStart(start) if start.iteration <= 1 => Key("stream.llm_start.iter1"),
        E::StreamLlmStart(_) => Key("stream.llm_start.iterN"),
        E::StreamLlmEnd(end) if end.tool_call_count > 0 => Key("stream.llm_end.tools"),
        E::StreamLlmEnd(_) => Key("stream.llm_end.terminal"),
        E::StreamToken(_) => Key("stream.token.partial"),
        E::StreamThinkingDelta(_) | E::StreamThinkingEnd(_) => Key("stream.thinking"),
        E::StreamToolStart(_) => Key("stream.tool_start"),
        E::StreamToolProgress(_) => Key("stream.tool_progress"),
        E::StreamToolEnd(_) => Key("stream.tool_end"),
        E::ContextInjected(piece) => injected(piece),
        E::ContextEvaluated(pass) => evaluated(pass),
        E::SkillActivated(_) => Key("skill.activated"),
        E::SkillDeactivated(_) => Key("skill.deactivated"),
        E::SkillEscalated(_) => Key("skill.escalated"),
        E::SkillTurnRouted(routed) => turn_routed(routed),
        E::SkillRouteConflict(conflict) => route_conflict(conflict),
        E::SkillRejected(rejected) if rejected.posture == Some(GatePosture::Rails) => {
            Key("skill.rejected.rails")
        }
        E::SkillRejected(_) => Key("skill.rejected.guard"),
        E::ToolsEffect(effect) => tool_effect(effect),
        E::ToolsResultRefused(refused) => result_refused(refused),
        E::ToolsRepeatedCall(call) if call.mode == Some(RepeatMode::Arguments) => {
            Key("tools.repeated_call.argsOnly")
        }
        E::ToolsRepeatedCall(_) => Key("tools.repeated_call"),
        E::ArtifactsMinted(_) => Key("artifacts.minted"),
        E::ArtifactsPresented(_) => Key("artifacts.presented"),
        E::ArtifactsResolved(read) => match read.via {
            ArtifactVia::Head => Key("artifacts.resolved.head"),
            ArtifactVia::Get => Key("artifacts.resolved.get"),
            ArtifactVia::Other(_) => Unknown,
        },
        E::ArtifactsRefused(refused) if refused.op == ArtifactOp::Dispatch => {
            Key("artifacts.refused.dispatch")
        }
        E::ArtifactsRefused(_) => Key("artifacts.refused"),
        E::ArtifactsExpired(expired) if expired.reason == ExpiryReason::Ttl => {
            Key("artifacts.expired.noticed")
        }
        E::ArtifactsExpired(_) => Key("artifacts.expired"),
        E::CompositionForkStart(_) => Key("composition.fork_start"),
        E::CompositionMergeEnd(_) => Key("composition.merge_end"),
        E::CompositionEnter(enter) => Key(match enter.kind {
            CompositionKind::Sequence => "composition.enter.Sequence",
            CompositionKind::Parallel => "composition.enter.Parallel",
            CompositionKind::Conditional => "composition.enter.Conditional",
            CompositionKind::Loop => "composition.enter.Loop",
            CompositionKind::Other(_) => "composition.enter.Generic",
        }),
        E::CompositionExit(_) => Key("composition.exit"),
        E::AgentHandoff(_) => Key("composition.handoff"),
        E::PauseRequest(_) => Key("pause.request"),
        E::PauseResume(_) => Key("pause.resume"),
        E::CostLimitHit(hit) => Key(match hit.action {
            LimitAction::Abort => "cost.limit_hit.stopped",
            LimitAction::Warn | LimitAction::Degrade => "cost.limit_hit.continued",
            LimitAction::Other(_) => "cost.limit_hit",
        }),
        E::AgentTurnEnd(_)
        | E::AgentIterationStart(_)
        | E::AgentIterationEnd(_)
        | E::AgentRouteDecided(_)
        | E::CompositionRouteDecided(_)
        | E::CompositionIterationStart(_)
        | E::CompositionIterationExit(_)
        | E::ContextSlotComposed(_)
        | E::ContextEvicted(_)
        | E::ContextBudgetPressure(_) => Skip,
        E::CompositionBranchComplete(_)
        | E::AgentOutputSchemaValidationFailed(_)
        | E::AgentOutputSchemaRetry(_)
        | E::AgentOutputContractUnmet(_)
        | E::AgentEvidenceChecked(_)
        | E::AgentRunConfigured(_)
        | E::AgentThinkingParseFailed(_)
        | E::AgentBudgetExhausted(_)
        | E::AgentGroundingNudged(_)
        | E::MemoryStrategyApplied(_)
        | E::MemoryAttached(_)
        | E::MemoryRetrieved(_)
        | E::MemoryDetached(_)
        | E::MemoryWritten(_)
        | E::ToolsOffered(_)
        | E::ToolsActivated(_)
        | E::ToolsDeactivated(_)
        | E::ToolsDiscoveryStarted(_)
        | E::ToolsDiscoveryCompleted(_)
        | E::ToolsDiscoveryFailed(_)
        | E::ToolsShadowed(_)
        | E::ToolsClaimSwallowed(_)
        | E::ToolsAnsweredOffWire(_)
        | E::ToolsSessionStarted(_)
        | E::ToolsSessionReused(_)
        | E::ToolsSessionClosed(_)
        | E::ToolsSessionCloseFailed(_)
        | E::ToolsAbsent(_)
        | E::ToolsCoverageDeclared(_)
        | E::ToolsSemanticsDeclared(_)
        | E::ToolsCodeRun(_)
        | E::SkillGraphDeclared(_)
        | E::SkillRerouteSuperseded(_)
        | E::SkillStepAdvanced(_)
        | E::SkillStepSkipped(_)
        | E::SkillStepsUnfinished(_)
        | E::MapEngaged(_)
        | E::MapParked(_)
        | E::IntegrityContextError(_)
        | E::IntegrityDisposition(_)
        | E::IntegrityExternalGroundUsed(_)
        | E::ValidationArgsInvalid(_)
        | E::PermissionCheck(_)
        | E::PermissionGateOpened(_)
        | E::PermissionGateClosed(_)
        | E::PermissionHalt(_)
        | E::CredentialRequested(_)
        | E::CredentialAcquired(_)
        | E::CredentialAuthorizationRequired(_)
        | E::CredentialFailed(_)
        | E::RiskFlagged(_)
        | E::FallbackTriggered(_)
        | E::CostTick(_)
        | E::EvalScore(_)
        | E::EvalThresholdCrossed(_)
        | E::ErrorRetried(_)
        | E::ErrorRecovered(_)
        | E::ErrorFatal(_)
        | E::ErrorCircuitChanged(_)
        | E::ReliabilityFailFast(_)
        | E::ReliabilityRetried(_)
        | E::ReliabilityRecovered(_)
        | E::ResilienceOutputFallbackTriggered(_)
        | E::ResilienceOutputCannedUsed(_)
        | E::CheckinRequest(_)
        | E::CheckinDecision(_)
        | E::MiddlewareDecision(_)
        | E::EmbeddingGenerated(_)
        | E::FindingsDeclared(_)
        | E::FindingsStanding(_)
        | E::FindingsJudged(_)
        | E::FindingsJudgeFailed(_)
        | E::FindingsContingent(_)
        | E::ToolChoicePicked(_)
        | E::ToolChoiceOutcome(_)
        | E::ToolChoiceFailed(_)
        | E::OntologyServed(_)
        | E::Unknown(_) => Unknown,
    }
}

fn injected(piece: &ContextInjected) -> CommentaryKey {
    match piece.source {
        ContextSource::Rag => Key("context.injected.rag"),
        ContextSource::Skill => Key("context.injected.skill"),
        ContextSource::Memory => Key("context.injected.memory"),
        ContextSource::Instructions if piece.reason.contains("tool-return") => {
            Key("context.injected.instructions.onToolReturn")
        }
        ContextSource::Instructions if piece.reason.contains("always") => {
            Key("context.injected.instructions.alwaysOn")
        }
        ContextSource::Instructions => Key("context.injected.instructions"),
        ContextSource::Steering => Key("context.injected.instructions.alwaysOn"),
        ContextSource::Fact
        | ContextSource::Custom
        | ContextSource::EvidenceRecovery
        | ContextSource::Findings
        | ContextSource::Ontology => Key("context.injected.custom"),
        ContextSource::User
        | ContextSource::ToolResult
        | ContextSource::Assistant
        | ContextSource::Base
        | ContextSource::Registry => Skip,
        ContextSource::Other(_) => Unknown,
    }
}

fn evaluated(pass: &ContextEvaluated) -> CommentaryKey {
    let Some(moved) = &pass.cursor_move else { return Unknown };
    match (&moved.by, &moved.offered, &moved.to) {
        (_, _, _) if moved.declined_offer == Some(true) => Key("context.model_pick.stay"),
        (CursorBy::ModelPick, Some(offered), Some(to)) if offered.contains(to) => {
            Key("context.model_pick.menu")
        }
        (CursorBy::ModelPick, Some(_), Some(_)) => Key("context.model_pick.offMenu"),
        (CursorBy::ModelPick, _, _) => Key("context.model_pick"),
        (CursorBy::Entry, _, _) if moved.witness.is_some() => Key("context.entry_witness"),
        (CursorBy::Entry, _, _) => Key("context.routed.default"),
        (CursorBy::Route, _, _) if moved.guard.is_some() || moved.witness.is_some() => {
            Key("context.routed.matched")
        }
        (CursorBy::Route, _, _) => Key("context.routed"),
        (
            CursorBy::ToolProposal
            | CursorBy::Intent
            | CursorBy::Continuity
            | CursorBy::Decider
            | CursorBy::Stay
            | CursorBy::None
            | CursorBy::Other(_),
            _,
            _,
        ) => Unknown,
    }
}

fn turn_routed(routed: &SkillTurnRouted) -> CommentaryKey {
    if routed.dropped_resume.is_some() {
        return Key("skill.turn_routed.dropped");
    }
    let scores = routed.scores.as_ref().map_or(0, Vec::len);
    let near_tie = routed.decisive == Some(false);
    match routed.by {
        TurnRoutedBy::Continuity if near_tie => Key("skill.turn_routed.continuity.nearTie"),
        TurnRoutedBy::Continuity => Key("skill.turn_routed.continuity"),
        TurnRoutedBy::Intent if scores > 1 => Key("skill.turn_routed.intent.scored"),
        TurnRoutedBy::Intent if scores == 1 => Key("skill.turn_routed.intent.scoredSolo"),
        TurnRoutedBy::Intent => Key("skill.turn_routed.intent"),
        TurnRoutedBy::Entry if routed.witness.is_some() => Key("skill.turn_routed.entry.witness"),
        TurnRoutedBy::Entry => Key("skill.turn_routed.entry"),
        TurnRoutedBy::Menu => Key("skill.turn_routed.menu"),
        TurnRoutedBy::Decider => Key("skill.turn_routed.decider"),
        // Rails route by what was scored; without scores nothing was there to route by.
        TurnRoutedBy::None if scores > 0 && near_tie => Key("skill.turn_routed.none.rails.nearTie"),
        TurnRoutedBy::None if scores > 0 => Key("skill.turn_routed.none.rails.unmatched"),
        TurnRoutedBy::None if routed.scorer.is_some() => Key("skill.turn_routed.none.rails"),
        TurnRoutedBy::None => Key("skill.turn_routed.none"),
        TurnRoutedBy::Other(_) => Unknown,
    }
}

fn route_conflict(conflict: &SkillRouteConflict) -> CommentaryKey {
    Key(match conflict.losers.len() {
        0 => "skill.route_conflict",
        1 => "skill.route_conflict.suppressedOne",
        _ => "skill.route_conflict.suppressedMany",
    })
}

fn tool_effect(effect: &ToolsEffect) -> CommentaryKey {
    match (&effect.kind, &effect.outcome) {
        (EffectKind::ProposeTransition, EffectOutcome::Accepted) => Key("tools.effect.transition.accepted"),
        (EffectKind::ProposeTransition, EffectOutcome::Refused) => Key("tools.effect.transition.refused"),
        (EffectKind::ProposeTransition, EffectOutcome::Superseded) => {
            Key("tools.effect.transition.superseded")
        }
        (EffectKind::RequireInstruction, EffectOutcome::Accepted) => Key("tools.effect.instruction.accepted"),
        (EffectKind::RequireInstruction, EffectOutcome::Refused | EffectOutcome::Superseded) => {
            Key("tools.effect.instruction.refused")
        }
        (EffectKind::Other(_), _) | (_, EffectOutcome::Other(_)) => Unknown,
    }
}

fn result_refused(refused: &ToolsResultRefused) -> CommentaryKey {
    Key(match refused.narrow_by.as_ref().map_or(0, Vec::len) {
        0 => "tools.result_refused",
        1 => "tools.result_refused.narrowOne",
        _ => "tools.result_refused.narrowMany",
    })
}

//! The flow-only narrative (OBS-85).

use indexmap::IndexMap;

use super::narrative::{
    BreakText, DecisionText, Direction, ErrorText, ForkText, LoopText, NarrativeType, PauseText, ResumeText,
    RetryText, SelectedText, StageText, SubflowText, text,
};
use super::per_run::PerRun;
use super::strategy::{LoopStrategy, LoopTeller};
use crate::ids::{RunId, RuntimeStageId};
use crate::observe::*;
use crate::value::Str;

/// One sentence, with the step it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSentence {
    /// What it tells.
    pub kind: NarrativeType,
    /// The words.
    pub text: String,
    /// The step's address.
    pub runtime_stage_id: RuntimeStageId,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    sentences: Vec<FlowSentence>,
    stages: IndexMap<Str, u32>,
    loops: Option<LoopTeller>,
}

/// Tells which way a run went, one sentence per thing that happened, without reads and writes. A [`LoopStrategy`] says how loops are told.
///
/// ```
/// use footprint::observe::Recorder;
/// use footprint::recorders::{FlowNarrative, LoopStrategy};
/// let narrative = FlowNarrative::with_strategy(LoopStrategy::rle());
/// assert_eq!(narrative.id(), "narrative-rle");
/// ```
#[derive(Debug)]
pub struct FlowNarrative {
    id: Str,
    strategy: LoopStrategy,
    runs: PerRun<Flow>,
}

impl Default for FlowNarrative {
    fn default() -> Self {
        Self::with_strategy(LoopStrategy::all())
    }
}

impl FlowNarrative {
    /// Tells every pass, under the id `narrative`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells loops by this strategy, under its default id.
    pub fn with_strategy(strategy: LoopStrategy) -> Self {
        Self { id: strategy.default_id().into(), strategy, runs: PerRun::default() }
    }

    /// Under another id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Str>) -> Self {
        self.id = id.into();
        self
    }

    /// The sentences of a run (`None` = the newest), loop summaries last.
    pub fn text(&self, run: Option<&RunId>) -> Vec<String> {
        let told = |flow: &Flow| {
            let summaries = flow.loops.iter().flat_map(LoopTeller::summaries);
            flow.sentences.iter().map(|s| s.text.clone()).chain(summaries).collect()
        };
        self.runs.read(run, told).unwrap_or_default()
    }

    /// The sentences with their steps, without loop summaries.
    pub fn sentences(&self, run: Option<&RunId>) -> Vec<FlowSentence> {
        self.runs.read(run, |flow| flow.sentences.clone()).unwrap_or_default()
    }

    /// The side list of the `separate` strategy.
    pub fn loop_sentences(&self, run: Option<&RunId>) -> Vec<String> {
        self.teller(run, |t| t.aside().to_vec())
    }

    /// Passes per loop target.
    pub fn loop_counts(&self, run: Option<&RunId>) -> IndexMap<Str, u64> {
        self.teller(run, |t| t.counts().clone())
    }

    /// How many passes were not told one by one.
    pub fn suppressed_count(&self, run: Option<&RunId>) -> u64 {
        self.teller(run, LoopTeller::suppressed)
    }

    fn teller<R: Default>(&self, run: Option<&RunId>, look: impl FnOnce(&LoopTeller) -> R) -> R {
        self.runs.read(run, |flow| flow.loops.as_ref().map(look)).flatten().unwrap_or_default()
    }

    fn say(&self, cx: &EventCx<'_>, kind: NarrativeType, text: String) -> HookResult {
        let runtime_stage_id = cx.traversal.runtime_stage_id.clone();
        self.runs.with(cx.run_id, |f| f.sentences.push(FlowSentence { kind, text, runtime_stage_id }));
        Ok(())
    }
}

impl Recorder for FlowNarrative {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        Interest::hooks([
            Hook::StageExecuted,
            Hook::Decision,
            Hook::Fork,
            Hook::Selected,
            Hook::SubflowEntry,
            Hook::SubflowExit,
            Hook::Loop,
            Hook::Break,
            Hook::Error,
            Hook::StageRetry,
            Hook::FlowPause,
            Hook::FlowResume,
            Hook::RunEnd,
            Hook::RunFailed,
        ])
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        Ok(())
    }

    fn on_stage_executed(&self, cx: &EventCx<'_>, e: &StageExecutedEvent) -> HookResult {
        if e.stage_type != StageType::Linear {
            return Ok(());
        }
        let flow = cx.traversal.runtime_stage_id.subflow_path().unwrap_or("");
        let number = self.runs.with(cx.run_id, |f| {
            let number = f.stages.entry(flow.into()).or_default();
            *number += 1;
            *number
        });
        let facts = StageText {
            name: &e.stage_name,
            description: e.description.as_deref(),
            number,
            pass: cx.traversal.loop_iteration,
            numbered: false,
        };
        self.say(cx, NarrativeType::Stage, text::stage(&facts))
    }

    fn on_decision(&self, cx: &EventCx<'_>, e: &DecisionEvent) -> HookResult {
        let evidence = e.evidence.as_deref();
        let facts = DecisionText {
            decider: &e.decider,
            chosen: &e.chosen,
            fell_back: e.fell_back,
            description: e.description.as_deref(),
            rationale: e.rationale.as_deref(),
            evidence,
        };
        self.say(cx, NarrativeType::Condition, text::decision(&facts))
    }

    fn on_fork(&self, cx: &EventCx<'_>, e: &ForkEvent) -> HookResult {
        let facts = ForkText { parent: &e.parent, children: &e.children };
        self.say(cx, NarrativeType::Fork, text::fork(&facts))
    }

    fn on_selected(&self, cx: &EventCx<'_>, e: &SelectedEvent) -> HookResult {
        let evidence = e.evidence.as_deref();
        let facts = SelectedText { parent: &e.parent, selected: &e.selected, total: e.total, evidence };
        self.say(cx, NarrativeType::Selector, text::selected(&facts))
    }

    fn on_subflow_entry(&self, cx: &EventCx<'_>, e: &SubflowEntryEvent) -> HookResult {
        if let Some(path) = &e.subflow_id {
            self.runs.with(cx.run_id, |f| f.stages.swap_remove(path));
        }
        let direction = Direction::Entry;
        let facts = SubflowText { name: &e.name, description: e.description.as_deref(), direction };
        self.say(cx, NarrativeType::Subflow, text::subflow(&facts))
    }

    fn on_subflow_exit(&self, cx: &EventCx<'_>, e: &SubflowExitEvent) -> HookResult {
        let facts = SubflowText { name: &e.name, description: None, direction: Direction::Exit };
        self.say(cx, NarrativeType::Subflow, text::subflow(&facts))
    }

    fn on_loop(&self, cx: &EventCx<'_>, e: &LoopEvent) -> HookResult {
        let description = e.description.as_deref();
        let sentence = text::back_edge(&LoopText { target: &e.target, description, iteration: e.iteration });
        let told = self.runs.with(cx.run_id, |f| {
            let teller = f.loops.get_or_insert_with(|| self.strategy.start());
            teller.pass(&e.target, e.iteration, sentence)
        });
        told.map_or(Ok(()), |text| self.say(cx, NarrativeType::Loop, text))
    }

    fn on_break(&self, cx: &EventCx<'_>, e: &BreakEvent) -> HookResult {
        let facts = BreakText {
            stage: &e.stage_name,
            reason: e.reason.as_deref(),
            from_subflow: e.propagated_from_subflow.as_deref(),
        };
        self.say(cx, NarrativeType::Break, text::stopped(&facts))
    }

    fn on_flow_error(&self, cx: &EventCx<'_>, e: &ErrorEvent) -> HookResult {
        let facts = ErrorText { stage: &e.stage_name, message: &e.message, error: &e.structured_error };
        self.say(cx, NarrativeType::Error, text::error(&facts))
    }

    fn on_stage_retry(&self, cx: &EventCx<'_>, e: &StageRetryEvent) -> HookResult {
        let facts = RetryText {
            stage: &e.stage_name,
            attempt: e.attempt,
            max_attempts: e.max_attempts,
            message: &e.message,
            delay_ms: e.delay_ms,
        };
        self.say(cx, NarrativeType::Retry, text::retry(&facts))
    }

    fn on_flow_resume(&self, cx: &EventCx<'_>, e: &FlowResumeEvent) -> HookResult {
        let facts = ResumeText { stage: &e.stage_name, has_input: e.has_input };
        self.say(cx, NarrativeType::Resume, text::resume(&facts))
    }

    fn on_flow_pause(&self, cx: &EventCx<'_>, e: &FlowPauseEvent) -> HookResult {
        let facts = PauseText { stage: &e.stage_name, data: e.pause_data.as_ref() };
        self.say(cx, NarrativeType::Pause, text::pause(&facts))?;
        self.runs.close(cx.run_id);
        Ok(())
    }

    fn on_run_end(&self, cx: &EventCx<'_>, _e: &RunEndEvent) -> HookResult {
        self.runs.close(cx.run_id);
        Ok(())
    }

    fn on_run_failed(&self, cx: &EventCx<'_>, _e: &RunFailedEvent) -> HookResult {
        self.runs.close(cx.run_id);
        Ok(())
    }
}

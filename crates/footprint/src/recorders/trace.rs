//! The run as `tracing` spans and events (OBS-137, OBS-138).

use std::collections::HashMap;

use tracing::{Level, Span, enabled, span};

use super::per_run::PerRun;
use crate::ids::{RunId, RuntimeStageId};
use crate::observe::*;
use crate::value::summary::{PREVIEW, summarise};
use crate::value::{Str, Value};

/// Open spans of one run.
#[derive(Clone, Debug, Default)]
struct Spans {
    run: Option<Span>,
    /// Mounts, by mount path and by the mount's address.
    subflows: HashMap<Str, Span>,
    steps: HashMap<RuntimeStageId, Span>,
}

impl Spans {
    fn parent_of(&self, cx: &EventCx<'_>) -> Option<&Span> {
        let path = cx.traversal.runtime_stage_id.subflow_path();
        path.and_then(|p| self.subflows.get(p)).or(self.run.as_ref())
    }
}

/// Maps a run to spans: run → subflow → step, by containment and never by what happens to be the current span, so that parallel branches
/// nest correctly. What happens inside a step becomes events of its span; values appear as summaries only.
///
/// `interest()` is computed from what the subscriber enables at the start of a run.
#[derive(Debug)]
pub struct TracingRecorder {
    id: Str,
    runs: PerRun<Spans>,
}

impl Default for TracingRecorder {
    fn default() -> Self {
        Self { id: "tracing".into(), runs: PerRun::default() }
    }
}

const TARGET: &str = "footprint";

macro_rules! on_step {
    ($self:ident, $cx:ident, $level:expr, $($fields:tt)+) => {{
        let span = $self.step_span($cx);
        tracing::event!(target: TARGET, parent: &span, $level, $($fields)+);
        Ok(())
    }};
}

impl TracingRecorder {
    /// Under the id `tracing`.
    pub fn new() -> Self {
        Self::default()
    }

    /// The span of a step of a running run, for instrumenting what the step awaits.
    pub fn span_of(&self, run: &RunId, step: &RuntimeStageId) -> Option<Span> {
        self.runs.read(Some(run), |spans| spans.steps.get(step).cloned()).flatten()
    }

    fn step_span(&self, cx: &EventCx<'_>) -> Span {
        let step = cx.traversal;
        self.runs.with(cx.run_id, |spans| {
            if let Some(span) = spans.steps.get(&step.runtime_stage_id) {
                return span.clone();
            }
            let parent = spans.parent_of(cx).and_then(Span::id);
            let span = span!(
                target: TARGET, parent: parent, Level::INFO, "footprint.stage",
                stage = &*step.stage_name,
                runtime_stage_id = %step.runtime_stage_id,
                stage_type = tracing::field::Empty,
                loop_iteration = step.loop_iteration,
            );
            spans.steps.insert(step.runtime_stage_id.clone(), span.clone());
            span
        })
    }

    fn close_step(&self, cx: &EventCx<'_>) {
        self.runs.with(cx.run_id, |spans| spans.steps.remove(&cx.traversal.runtime_stage_id));
    }

    fn end(&self, cx: &EventCx<'_>) {
        self.runs.with(cx.run_id, |spans| *spans = Spans::default());
        self.runs.close(cx.run_id);
    }
}

fn short(value: Option<&Value>) -> String {
    summarise(value, PREVIEW)
}

impl Recorder for TracingRecorder {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        let mut hooks = Interest::NONE;
        if enabled!(target: TARGET, Level::ERROR) {
            hooks |= Interest::hooks([Hook::Error, Hook::RunFailed, Hook::RunStart, Hook::RunEnd]);
        }
        if enabled!(target: TARGET, Level::INFO) {
            hooks |= Interest::hooks([
                Hook::StageStart,
                Hook::StageExecuted,
                Hook::Decision,
                Hook::Selected,
                Hook::SubflowEntry,
                Hook::SubflowExit,
                Hook::Loop,
                Hook::Break,
                Hook::StageRetry,
                Hook::FlowPause,
                Hook::FlowResume,
                Hook::Emit,
            ]);
        }
        if enabled!(target: TARGET, Level::TRACE) {
            hooks |= Interest::hooks([Hook::Read, Hook::Write]);
        }
        hooks
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        let label = leg.label;
        let span =
            span!(target: TARGET, parent: None, Level::INFO, "footprint.run", run_id = %leg.run_id, label);
        self.runs.with(leg.run_id, |spans| spans.run = Some(span));
        Ok(())
    }

    fn on_read(&self, cx: &EventCx<'_>, e: &ReadEvent) -> HookResult {
        on_step!(self, cx, Level::TRACE, key = e.key.as_deref(), value = short(e.value.as_ref()), "read")
    }

    fn on_write(&self, cx: &EventCx<'_>, e: &WriteEvent) -> HookResult {
        let (key, operation) = (&*e.key, e.operation.as_str());
        on_step!(self, cx, Level::TRACE, key, operation, value = short(e.value.as_ref()), "write")
    }

    fn on_stage_start(&self, cx: &EventCx<'_>, _e: &StageStartEvent) -> HookResult {
        self.step_span(cx);
        Ok(())
    }

    fn on_stage_executed(&self, cx: &EventCx<'_>, e: &StageExecutedEvent) -> HookResult {
        if e.stage_type == StageType::SubflowMount {
            return Ok(());
        }
        self.step_span(cx).record("stage_type", e.stage_type.as_str());
        self.close_step(cx);
        Ok(())
    }

    fn on_decision(&self, cx: &EventCx<'_>, e: &DecisionEvent) -> HookResult {
        on_step!(self, cx, Level::INFO, chosen = &*e.chosen, rationale = e.rationale.as_deref(), "decision")
    }

    fn on_selected(&self, cx: &EventCx<'_>, e: &SelectedEvent) -> HookResult {
        on_step!(self, cx, Level::INFO, selected = e.selected.join(", "), total = e.total, "selection")
    }

    fn on_subflow_entry(&self, cx: &EventCx<'_>, e: &SubflowEntryEvent) -> HookResult {
        let path = e.subflow_id.as_ref().unwrap_or(&cx.traversal.stage_id).clone();
        self.runs.with(cx.run_id, |spans| {
            let parent = spans.parent_of(cx).and_then(Span::id);
            let span = span!(
                target: TARGET, parent: parent, Level::INFO, "footprint.subflow",
                subflow = &*e.name,
                runtime_stage_id = %cx.traversal.runtime_stage_id,
            );
            spans.subflows.insert(path, span.clone());
            spans.steps.insert(cx.traversal.runtime_stage_id.clone(), span);
        });
        Ok(())
    }

    fn on_subflow_exit(&self, cx: &EventCx<'_>, e: &SubflowExitEvent) -> HookResult {
        let path = e.subflow_id.as_ref().unwrap_or(&cx.traversal.stage_id);
        self.runs.with(cx.run_id, |spans| spans.subflows.remove(path));
        self.close_step(cx);
        Ok(())
    }

    fn on_loop(&self, cx: &EventCx<'_>, e: &LoopEvent) -> HookResult {
        on_step!(self, cx, Level::INFO, target_stage = &*e.target, iteration = e.iteration, "loop")
    }

    fn on_break(&self, cx: &EventCx<'_>, e: &BreakEvent) -> HookResult {
        on_step!(self, cx, Level::INFO, reason = e.reason.as_deref(), "break")
    }

    fn on_stage_retry(&self, cx: &EventCx<'_>, e: &StageRetryEvent) -> HookResult {
        let (attempt, max_attempts, delay_ms) = (e.attempt, e.max_attempts, e.delay_ms);
        on_step!(self, cx, Level::WARN, attempt, max_attempts, delay_ms, message = &*e.message)
    }

    fn on_flow_pause(&self, cx: &EventCx<'_>, e: &FlowPauseEvent) -> HookResult {
        let span = self.step_span(cx);
        let asked = short(e.pause_data.as_ref());
        tracing::event!(target: TARGET, parent: &span, Level::INFO, asked, "pause");
        self.end(cx);
        Ok(())
    }

    fn on_flow_resume(&self, cx: &EventCx<'_>, e: &FlowResumeEvent) -> HookResult {
        on_step!(self, cx, Level::INFO, has_input = e.has_input, "resume")
    }

    fn on_emit(&self, cx: &EventCx<'_>, e: &EmitEvent) -> HookResult {
        on_step!(self, cx, Level::INFO, name = &*e.name, payload = short(Some(&e.payload)), "emit")
    }

    fn on_flow_error(&self, cx: &EventCx<'_>, e: &ErrorEvent) -> HookResult {
        let span = self.step_span(cx);
        let error = e.structured_error.to_value();
        tracing::event!(target: TARGET, parent: &span, Level::ERROR, %error, "{}", e.message);
        self.close_step(cx);
        Ok(())
    }

    fn on_run_failed(&self, cx: &EventCx<'_>, e: &RunFailedEvent) -> HookResult {
        let error = e.structured_error.to_value();
        let parent = self.runs.read(Some(cx.run_id), |s| s.run.as_ref().and_then(Span::id)).flatten();
        tracing::event!(target: TARGET, parent: parent, Level::ERROR, %error, "run failed");
        self.end(cx);
        Ok(())
    }

    fn on_run_end(&self, cx: &EventCx<'_>, _e: &RunEndEvent) -> HookResult {
        self.end(cx);
        Ok(())
    }
}

//! What the combined narrative does at each hook.

use std::sync::Arc;

use super::combined::CombinedNarrative;
use super::render::*;
use super::row::{Row, Said, Words};
use super::{Direction, NarrativeType, text};
use crate::ids::RunId;
use crate::observe::*;
use crate::snapshot::PreferredOperation;
use crate::value::{Str, Value};

impl Recorder for CombinedNarrative {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        Interest::hooks([
            Hook::Read,
            Hook::Write,
            Hook::Commit,
            Hook::StageStart,
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
            Hook::Emit,
        ])
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        Ok(())
    }

    fn on_read(&self, cx: &EventCx<'_>, e: &ReadEvent) -> HookResult {
        self.op(cx, OpKind::Read, e.key.as_ref(), e.value.as_ref());
        Ok(())
    }

    fn on_write(&self, cx: &EventCx<'_>, e: &WriteEvent) -> HookResult {
        let kind = match e.operation {
            WriteOp::Set => OpKind::Write,
            WriteOp::Update => OpKind::Update,
            WriteOp::Delete => OpKind::Delete,
        };
        self.op(cx, kind, Some(&e.key), e.value.as_ref());
        Ok(())
    }

    fn on_emit(&self, cx: &EventCx<'_>, e: &EmitEvent) -> HookResult {
        let summary = self.summary(Some(&e.payload));
        self.buffer(cx, NarrativeType::Emit, |_| {
            let facts = EmitText { name: &e.name, summary: summary.as_deref(), payload: &e.payload };
            let text = self.words(|r| r.render_emit(cx, &facts), || text::emit(&facts))?;
            Some(Words { text, raw: Some(e.payload.clone()), ..Words::default() })
        });
        Ok(())
    }

    fn on_stage_retry(&self, cx: &EventCx<'_>, e: &StageRetryEvent) -> HookResult {
        self.buffer(cx, NarrativeType::Retry, |_| {
            let facts = RetryText {
                stage: &e.stage_name,
                attempt: e.attempt,
                max_attempts: e.max_attempts,
                message: &e.message,
                delay_ms: e.delay_ms,
            };
            let text = self.words(|r| r.render_retry(cx, &facts), || text::retry(&facts))?;
            Some(Words { text, ..Words::default() })
        });
        Ok(())
    }

    fn on_stage_start(&self, cx: &EventCx<'_>, _e: &StageStartEvent) -> HookResult {
        self.runs.with(cx.run_id, |story| story.step(&cx.traversal.runtime_stage_id).started = true);
        Ok(())
    }

    fn on_stage_executed(&self, cx: &EventCx<'_>, e: &StageExecutedEvent) -> HookResult {
        if e.stage_type == StageType::Linear {
            self.speak(cx, e.description.as_ref());
        }
        Ok(())
    }

    fn on_commit(&self, cx: &EventCx<'_>, _e: &CommitEvent) -> HookResult {
        // Only what a step did after its headline: a for-each writes its results after its branches, a mount merges back.
        self.runs.with(cx.run_id, |story| {
            let id = &cx.traversal.runtime_stage_id;
            if story.steps.get(id).is_some_and(|s| s.headed && !s.buffered.is_empty()) {
                story.flush(id);
            }
        });
        Ok(())
    }

    fn on_decision(&self, cx: &EventCx<'_>, e: &DecisionEvent) -> HookResult {
        self.speak(cx, e.description.as_ref());
        let evidence = e.evidence.as_deref();
        let facts = DecisionText {
            decider: &e.decider,
            chosen: &e.chosen,
            fell_back: e.fell_back,
            description: e.description.as_deref(),
            rationale: e.rationale.as_deref(),
            evidence,
        };
        let kind = NarrativeType::Condition;
        self.tell(cx, kind, |r| r.render_decision(cx, &facts), || text::decision(&facts));
        Ok(())
    }

    fn on_selected(&self, cx: &EventCx<'_>, e: &SelectedEvent) -> HookResult {
        self.speak(cx, None);
        let evidence = e.evidence.as_deref();
        let facts = SelectedText { parent: &e.parent, selected: &e.selected, total: e.total, evidence };
        let kind = NarrativeType::Selector;
        self.tell(cx, kind, |r| r.render_selected(cx, &facts), || text::selected(&facts));
        Ok(())
    }

    fn on_fork(&self, cx: &EventCx<'_>, e: &ForkEvent) -> HookResult {
        self.speak(cx, None);
        let facts = ForkText { parent: &e.parent, children: &e.children };
        self.tell(cx, NarrativeType::Fork, |r| r.render_fork(cx, &facts), || text::fork(&facts));
        Ok(())
    }

    fn on_subflow_entry(&self, cx: &EventCx<'_>, e: &SubflowEntryEvent) -> HookResult {
        if let Some(path) = &e.subflow_id {
            self.runs.with(cx.run_id, |story| story.headlines.remove(path));
        }
        self.headed(cx);
        let direction = Direction::Entry;
        let facts = SubflowText { name: &e.name, description: e.description.as_deref(), direction };
        let words = self.words(|r| r.render_subflow(cx, &facts), || text::subflow(&facts));
        let inputs = e.mapped_input.as_ref().and_then(Value::as_object);
        let inputs: Vec<Row> = inputs
            .iter()
            .flat_map(|inputs| inputs.iter())
            .filter_map(|(key, value)| self.mapped_input(cx, key, value))
            .collect();
        self.runs.with(cx.run_id, |story| {
            if let Some(text) = words {
                story.entries.push(passage(cx, text, direction));
            }
            inputs.into_iter().for_each(|input| story.entries.push(input));
            story.flush(&cx.traversal.runtime_stage_id);
        });
        Ok(())
    }

    fn on_subflow_exit(&self, cx: &EventCx<'_>, e: &SubflowExitEvent) -> HookResult {
        let direction = Direction::Exit;
        let facts = SubflowText { name: &e.name, description: None, direction };
        let words = self.words(|r| r.render_subflow(cx, &facts), || text::subflow(&facts));
        self.runs.with(cx.run_id, |story| {
            story.flush(&cx.traversal.runtime_stage_id);
            if let Some(text) = words {
                story.entries.push(passage(cx, text, direction));
            }
        });
        Ok(())
    }

    fn on_loop(&self, cx: &EventCx<'_>, e: &LoopEvent) -> HookResult {
        if self.is_plain() {
            let (target, description) = (e.target.clone(), e.description.clone());
            self.push(cx, NarrativeType::Loop, Said::Loop { target, description, iteration: e.iteration });
            return Ok(());
        }
        let description = e.description.as_deref();
        let facts = LoopText { target: &e.target, description, iteration: e.iteration };
        self.tell(cx, NarrativeType::Loop, |r| r.render_loop(cx, &facts), || text::back_edge(&facts));
        Ok(())
    }

    fn on_break(&self, cx: &EventCx<'_>, e: &BreakEvent) -> HookResult {
        let facts = BreakText {
            stage: &e.stage_name,
            reason: e.reason.as_deref(),
            from_subflow: e.propagated_from_subflow.as_deref(),
        };
        self.tell(cx, NarrativeType::Break, |r| r.render_break(cx, &facts), || text::stopped(&facts));
        Ok(())
    }

    fn on_flow_error(&self, cx: &EventCx<'_>, e: &ErrorEvent) -> HookResult {
        self.speak(cx, None);
        let facts = ErrorText { stage: &e.stage_name, message: &e.message, error: &e.structured_error };
        self.tell(cx, NarrativeType::Error, |r| r.render_error(cx, &facts), || text::error(&facts));
        Ok(())
    }

    fn on_flow_pause(&self, cx: &EventCx<'_>, e: &FlowPauseEvent) -> HookResult {
        self.speak(cx, None);
        let facts = PauseText { stage: &e.stage_name, data: e.pause_data.as_ref() };
        self.tell(cx, NarrativeType::Pause, |r| r.render_pause(cx, &facts), || text::pause(&facts));
        self.finish(cx);
        Ok(())
    }

    fn on_flow_resume(&self, cx: &EventCx<'_>, e: &FlowResumeEvent) -> HookResult {
        let facts = ResumeText { stage: &e.stage_name, has_input: e.has_input };
        self.tell(cx, NarrativeType::Resume, |r| r.render_resume(cx, &facts), || text::resume(&facts));
        Ok(())
    }

    fn on_run_end(&self, cx: &EventCx<'_>, _e: &RunEndEvent) -> HookResult {
        self.finish(cx);
        Ok(())
    }

    fn on_run_failed(&self, cx: &EventCx<'_>, _e: &RunFailedEvent) -> HookResult {
        self.finish(cx);
        Ok(())
    }

    fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
        let data = self.runs.read(Some(run), |story| {
            let rows = story.entries.iter();
            Value::Array(rows.map(|row| row.entry(&self.options).to_value()).collect())
        })?;
        let mut meta = self.runs.meta(run).unwrap_or_default();
        if self.renderer_failures() > 0 {
            meta.insert("rendererFailures", Value::from(self.renderer_failures()));
        }
        Some(RecorderBundle {
            name: "Narrative".into(),
            description: Some("The run in words: data and control flow in one order".into()),
            preferred_operation: Some(PreferredOperation::Translate),
            data,
            meta: (!meta.is_empty()).then_some(Value::Object(meta)),
        })
    }
}

impl CombinedNarrative {
    fn mapped_input(&self, cx: &EventCx<'_>, key: &Str, value: &Value) -> Option<Row> {
        let summary = self.summary(Some(value));
        let facts = OpText {
            kind: OpKind::Input,
            key: Some(key),
            summary: summary.as_deref(),
            value: Some(value),
            number: None,
            numbered: self.options.include_step_numbers,
        };
        let text = self.words(|r| r.render_op(cx, &facts), || text::op(&facts))?;
        let words = Words { text, key: Some(key.clone()), raw: Some(value.clone()), ..Words::default() };
        let said = Said::Words(Box::new(words));
        Some(Row { place: Arc::clone(cx.place), kind: NarrativeType::Step, said })
    }
}

/// A subflow is entered or left.
fn passage(cx: &EventCx<'_>, text: String, direction: Direction) -> Row {
    let said = Said::Words(Box::new(Words { text, direction: Some(direction), ..Words::default() }));
    Row { place: Arc::clone(cx.place), kind: NarrativeType::Subflow, said }
}

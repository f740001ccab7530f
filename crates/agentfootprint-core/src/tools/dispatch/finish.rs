//! Steps 13 to 30: from an outcome to what the record holds and what the model reads.

use agentfootprint_record::events::payload::{
    StreamToolEnd, ToolsEffect, ToolsRepeatedCall, ToolsResultRefused,
};
use agentfootprint_record::events::shared::NotDispatched;
use agentfootprint_record::events::words::{EffectOutcome, RepeatMode, ToolResultStatus, Word as _};
use agentfootprint_record::text::utf16_len;
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};

use super::artifacts;
use super::batch::{Batch, tool_message};
use super::call::{Attempt, Call};
use super::coverage;
use super::gates::call_context;
use super::permission::Halt;
use super::repeat::Landings;
use super::size;
use super::teardown;
use super::verdict::Verdict;
use crate::run::StageCx;
use crate::tools::coverage::read_coverage;
use crate::tools::declare::RepeatedWhen;
use crate::tools::envelope::{EnvelopeReading, ToolEffect, ToolEnvelope, read_envelope};
use crate::tools::middleware::{Ledger, ToolResultContext, walk_result};
use crate::tools::output::{ToolOutput, render};
use crate::tools::texts;

/// What a call came to, before anything looked at it.
pub(super) struct Outcome {
    value: Option<Value>,
    verdict: Verdict,
    status: Option<ToolResultStatus>,
    effects: Vec<ToolEffect>,
    /// The recogniser may look at it: plain JSON a handler returned.
    foreign: bool,
    pub(super) halt: Option<Halt>,
}

impl Outcome {
    /// A text the framework or a failing tool wrote.
    pub(super) fn text(verdict: Verdict, text: impl Into<Str>) -> Self {
        Self {
            value: Some(Value::from(text.into())),
            verdict,
            status: None,
            effects: Vec::new(),
            foreign: false,
            halt: None,
        }
    }

    /// The text the model would read.
    pub(super) fn into_text(self) -> Str {
        render(self.value.as_ref())
    }

    /// What a handler returned.
    pub(super) fn returned(output: ToolOutput) -> Self {
        let outcome = |value, foreign| Self {
            value,
            verdict: Verdict::Ran,
            status: None,
            effects: Vec::new(),
            foreign,
            halt: None,
        };
        match output {
            ToolOutput::None => outcome(None, false),
            ToolOutput::Text(text) => outcome(Some(Value::from(text)), false),
            ToolOutput::Json(value) => outcome(Some(value), true),
            ToolOutput::Absent(absence) => outcome(Some(absence.to_value()), false),
            ToolOutput::Covered(covered) => outcome(Some(covered.to_value()), false),
            ToolOutput::Envelope(envelope) => {
                let mut out = outcome(None, false);
                out.open(envelope);
                out
            }
        }
    }

    /// A person's answer, which is the result.
    pub(super) fn human(answer: Value) -> Self {
        Self {
            value: Some(answer),
            verdict: Verdict::Human,
            status: None,
            effects: Vec::new(),
            foreign: false,
            halt: None,
        }
    }

    fn open(&mut self, envelope: ToolEnvelope) {
        self.value = Some(envelope.content);
        self.status = envelope.status;
        self.effects = envelope.effects;
    }

    /// Step 14.
    fn recognise(&mut self, cx: &StageCx, tool: &str) {
        let Some(value) = self.value.as_ref().filter(|_| self.foreign) else { return };
        match read_envelope(value) {
            EnvelopeReading::Envelope(envelope) => self.open(envelope),
            EnvelopeReading::NearMiss => cx.warn_once("tool-envelope-near-miss", || {
                format!("`{tool}` returned {{content, status}} without `effects`; it is taken as plain data")
            }),
            EnvelopeReading::Data => {}
        }
    }

    /// Step 15: what the result says of its coverage is on the record before anything measures or replaces it. A status the
    /// tool declared stands. Only a handler's result is read: never a person's answer, never a text.
    fn cover(&mut self, batch: &Batch, call: &Call) -> Result<(), StageError> {
        let Some(value) = self.value.as_ref().filter(|_| self.verdict == Verdict::Ran) else { return Ok(()) };
        let Some(reading) = read_coverage(value) else { return Ok(()) };
        coverage::declare(batch, call, &reading)?;
        self.status = self.status.take().or(reading.status);
        Ok(())
    }

    /// Step 19: the ceiling is measured on what the model would now read.
    fn ceiling(&mut self, batch: &Batch, attempt: &Attempt) {
        let Some(ceiling) = attempt.resolved.tool().and_then(|tool| tool.declared().result_ceiling.as_ref())
        else {
            return;
        };
        if self.verdict != Verdict::Ran {
            return;
        }
        let size = utf16_len(&render(self.value.as_ref()));
        if size <= ceiling.max_chars {
            return;
        }
        let (call, declared) = (&attempt.call, self.status.clone());
        batch.cx.emit(|| {
            let mut event = ToolsResultRefused::new(
                call.name.clone(),
                call.id.clone(),
                batch.iteration,
                size,
                ceiling.max_chars,
            );
            event.narrow_by = ceiling.narrow_by.clone();
            event.declared_status = declared;
            event
        });
        let text = texts::over_ceiling(&call.name, size, ceiling.max_chars, ceiling.narrow_by.as_deref());
        self.value = Some(Value::from(text));
        self.verdict = Verdict::CeilingRefused;
    }
}

/// A finished call: the only thing a batch can land. Nothing but this file makes one.
pub(super) struct Delivered {
    call: Call,
    text: Str,
    verdict: Verdict,
    status: Option<ToolResultStatus>,
    /// Length of the tool's own text, when the library appended something.
    tool_chars: Option<usize>,
    not_dispatched: Option<NotDispatched>,
}

/// Runs a settled outcome through the rest of the pipeline.
pub(super) async fn finish(
    batch: &Batch,
    attempt: &Attempt,
    mut outcome: Outcome,
) -> Result<Delivered, StageError> {
    let (cx, call) = (&batch.cx, &attempt.call);
    outcome.recognise(cx, &call.name);
    outcome.cover(batch, call)?;
    outcome.ceiling(batch, attempt);
    if outcome.verdict.ran() {
        teardown::settle(batch, attempt).await;
    }
    let presents = artifacts::presents(cx, attempt);
    if presents && outcome.verdict == Verdict::Ran {
        outcome = artifacts::present(batch, attempt).await?;
    }
    let verdict = outcome.verdict;
    let raw = outcome.value.clone();
    let model = after_chain(batch, attempt, &outcome).await?;
    let (raw, model) = if verdict.placeable() && !presents {
        artifacts::place(batch, attempt, raw, model).await?
    } else {
        (raw, model)
    };
    let cap =
        cx.agent.options.max_tool_result_chars.map(|chars| usize::try_from(chars).unwrap_or(usize::MAX));
    let (raw, model) = (size::cap(raw, cap), size::cap(model, cap));
    let status = verdict.forced_status().or(outcome.status);
    let took = cx.now_ms().saturating_sub(attempt.started_ms);
    cx.emit(|| {
        let mut event = StreamToolEnd::new(call.id.clone(), took);
        event.result = raw;
        event.error = verdict.is_error().then_some(true);
        event.status = status.clone();
        event
    });
    let own = render(model.as_ref());
    let mut notes = String::new();
    if verdict.effective() && attempt.door.effects {
        judge_effects(batch, call, &outcome.effects, &mut notes);
    }
    if verdict.repeatable() && attempt.door.repeat_note && cx.agent.options.repeated_call_nudge {
        note_repetition(batch, attempt, &own, &mut notes);
    }
    let (text, tool_chars) = if notes.is_empty() {
        (own, None)
    } else {
        (Str::from(format!("{own}{notes}")), Some(utf16_len(&own)))
    };
    Ok(Delivered { call: call.clone(), text, verdict, status, tool_chars, not_dispatched: None })
}

/// Step 22: what the model reads, as the after-chain leaves it. The record keeps what the tool returned.
async fn after_chain(
    batch: &Batch,
    attempt: &Attempt,
    outcome: &Outcome,
) -> Result<Option<Value>, StageError> {
    let cx = &batch.cx;
    let links = &cx.agent.tooling.tool_middleware;
    if !outcome.verdict.walks_after_chain() || links.is_empty() {
        return Ok(outcome.value.clone());
    }
    let seen = ToolResultContext {
        call: call_context(cx, batch, attempt, attempt.delivered.clone()),
        result: outcome.value.clone(),
        error: outcome.verdict.is_error(),
    };
    let walk = cx.unless_cancelled(walk_result(Some(cx), links, seen)).await?;
    Ledger::file(cx, walk.rows)?;
    Ok(walk.result)
}

/// Step 28. Without a skill graph and without leases nothing can be granted; each effect is refused by name.
fn judge_effects(batch: &Batch, call: &Call, effects: &[ToolEffect], notes: &mut String) {
    for effect in effects {
        let why = match effect {
            ToolEffect::Malformed { fault, .. } => *fault,
            ToolEffect::ProposeTransition { .. } => "no skill graph is mounted",
            ToolEffect::RequireInstruction { .. } => "this agent serves no leased instructions",
        };
        let kind = effect.kind();
        batch.cx.emit(|| {
            let mut event =
                ToolsEffect::new(kind.clone(), EffectOutcome::Refused, call.name.clone(), batch.iteration);
            event.tool_call_id = Some(call.id.clone());
            event.refusal_reason = Some(why.into());
            match effect {
                ToolEffect::ProposeTransition { target_skill_id, reason } => {
                    event.target_skill_id = Some(target_skill_id.clone());
                    event.reason = reason.clone();
                }
                ToolEffect::RequireInstruction { instruction_id, lease } => {
                    event.instruction_id = Some(instruction_id.clone());
                    event.delivery_lease = Some(lease.clone());
                }
                ToolEffect::Malformed { .. } => {}
            }
            event
        });
        notes.push_str(&texts::effect_refused(kind.word(), why));
    }
}

/// Step 29.
fn note_repetition(batch: &Batch, attempt: &Attempt, delivered: &str, notes: &mut String) {
    let call = &attempt.call;
    let when = attempt.resolved.tool().map(|tool| tool.declared().repeated_when).unwrap_or_default();
    let landings = batch.cx.turn.of::<Landings>();
    let Some(repetition) = landings.count(&call.name, &attempt.spoken, delivered, when) else { return };
    notes.push_str(&match when {
        RepeatedWhen::CallAndResult => texts::repeated_call(&call.name, repetition.occurrences),
        RepeatedWhen::Arguments => texts::repeated_arguments(&call.name, repetition.occurrences),
    });
    // The event follows `tool_end`; the note itself is in the message.
    batch.cx.emit(|| {
        let mut event = ToolsRepeatedCall::new(
            call.name.clone(),
            call.id.clone(),
            batch.iteration,
            repetition.occurrences,
            repetition.args_fingerprint,
            repetition.result_fingerprint,
        );
        event.mode = (when == RepeatedWhen::Arguments).then_some(RepeatMode::Arguments);
        event
    });
}

impl Delivered {
    /// A call that was never dispatched because its batch stopped at another one.
    pub(super) fn not_dispatched(call: &Call, stopped_at: &Call, pair: &NotDispatched) -> Self {
        Self {
            call: call.clone(),
            text: texts::not_dispatched(&stopped_at.name).into(),
            verdict: Verdict::NotDispatched,
            status: None,
            tool_chars: None,
            not_dispatched: Some(pair.clone()),
        }
    }

    /// What the model reads.
    pub(super) fn text(&self) -> &Str {
        &self.text
    }

    /// The tool message, with the marks of who wrote it.
    pub(super) fn message(&self) -> Value {
        let mut out = tool_message(&self.call, self.text.clone());
        if let Some(origin) = self.verdict.origin() {
            out.insert("resultOrigin", Value::from(origin.word()));
        }
        if let Some(reason) = self.verdict.reason() {
            out.insert("resultReason", Value::from(reason.word()));
        }
        if let Some(pair) = &self.not_dispatched {
            use agentfootprint_record::events::field::Field as _;
            out.insert("notDispatched", pair.to_value());
        }
        if let Some(chars) = self.tool_chars {
            out.insert("toolChars", Value::from(chars));
        }
        Value::Object(out)
    }

    /// `lastToolResult`.
    pub(super) fn last_result(&self) -> Value {
        let mut out = Object::new();
        out.insert("toolName", Value::from(self.call.name.clone()));
        out.insert("result", Value::from(self.text.clone()));
        self.with_status(out)
    }

    /// The row of `toolResults`.
    pub(super) fn result_row(&self) -> Value {
        let mut out = Object::new();
        out.insert("toolName", Value::from(self.call.name.clone()));
        out.insert("result", Value::from(self.text.clone()));
        out.insert("toolCallId", Value::from(self.call.id.clone()));
        self.with_status(out)
    }

    fn with_status(&self, mut out: Object) -> Value {
        if let Some(status) = &self.status {
            out.insert("status", Value::from(status.word()));
        }
        Value::Object(out)
    }
}

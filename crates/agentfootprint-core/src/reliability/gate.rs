//! The passes of one visit: call, judge, and what the rules want next (LLM-121…127).

use std::collections::BTreeMap;
use std::time::Duration;

use agentfootprint_record::conventions::{Frame, state};
use agentfootprint_record::events::payload::{
    AgentOutputSchemaValidationFailed, ReliabilityRecovered, ReliabilityRetried,
};
use agentfootprint_record::events::words::{RecoveredVia, ReliabilityPhase, RetryAction};
use agentfootprint_record::message::{Message, Role};
use footprint::error::StageError;
use footprint::value::{Str, Value};

use super::config::{Delivery, Entry, FallbackFn, Gate};
use super::fail_fast::{Cause, GiveUp, kinds};
use super::rules::{LONGEST_WAIT, Post, Pre, Rule};
use super::scope::{ReliabilityScope, ValidationFailure};
use crate::agent::cache::Prepared;
use crate::agent::output::judge;
use crate::agent::request::Assembled;
use crate::agent::stages::ask::{Asked, Attempt, Pieces, ask};
use crate::agent::stages::call_llm::{Answered, Sent, bill_rejected, llm_failed, prepare};
use crate::llm::{CircuitState, CostTick, ErrorKind, LlmError, LlmErrorKind, LlmRequest, LlmResponse};
use crate::run::{EffectKind, EffectOutcome, Journaled, Reexecution, StageCx, millis};

/// The most passes of one visit.
pub(super) const MAX_PASSES: u32 = 50;

/// Makes a model call under the gate's rules. `None` = the gate gave up, and filed why.
pub(crate) async fn guarded(
    cx: &StageCx,
    gate: &Gate,
    iteration: u32,
    assembled: &Assembled,
    prepared: Prepared,
) -> Result<Option<Answered>, StageError> {
    let mut passes = Passes {
        cx,
        gate,
        iteration,
        assembled,
        prepared: Some(prepared),
        base: assembled.request.clone(),
        at: 0,
        attempt: 0,
        calls: BTreeMap::new(),
        invalid: Vec::new(),
        failures: 0,
        last_failure: ErrorKind::Ok,
        via: RecoveredVia::Retry,
    };
    passes.run().await
}

/// Everything of one visit; nothing of it outlives the visit.
struct Passes<'a> {
    cx: &'a StageCx,
    gate: &'a Gate,
    iteration: u32,
    assembled: &'a Assembled,
    /// The request of the first pass, on which the receipt was made.
    prepared: Option<Prepared>,
    /// What is asked, with the feedback so far, before an entry's model and markers.
    base: LlmRequest,
    at: usize,
    attempt: u32,
    calls: BTreeMap<Str, u32>,
    invalid: Vec<ValidationFailure>,
    failures: u64,
    last_failure: ErrorKind,
    via: RecoveredVia,
}

/// What a pass came to. Everything in it is of this pass alone.
struct Pass {
    sent: Sent,
    response: Option<LlmResponse>,
    error: Option<LlmError>,
    kind: ErrorKind,
    invalid: Option<ValidationFailure>,
    latency: Duration,
    stated_wait: Option<Duration>,
    pieces: Pieces,
}

impl Pass {
    fn failed(sent: Sent, error: LlmError) -> Self {
        Self {
            sent,
            kind: error.gate_kind(),
            stated_wait: error.retry_after,
            error: Some(error),
            response: None,
            invalid: None,
            latency: Duration::ZERO,
            pieces: Pieces::default(),
        }
    }

    fn cause(&self, withheld: bool) -> Option<Cause> {
        if let Some(error) = &self.error {
            return Some(Cause { name: error.record_name().into(), message: error.to_string().into() });
        }
        let invalid = self.invalid.as_ref()?;
        let message = if withheld { WITHHELD.into() } else { invalid.message.as_str().into() };
        Some(Cause { name: "OutputSchemaError".into(), message })
    }
}

/// What is said of an invalid answer whose text an output policy still has to pass.
const WITHHELD: &str = "the answer does not have the declared form";

/// What a rule sees besides the pass.
struct Facts {
    breakers: BTreeMap<Str, CircuitState>,
    cost: Option<f64>,
    input: u64,
    output: u64,
}

impl<'a> Passes<'a> {
    async fn run(&mut self) -> Result<Option<Answered>, StageError> {
        let mut ready = None;
        let mut last = None;
        while self.attempt < MAX_PASSES {
            self.attempt += 1;
            self.not_cancelled().await?;
            let mut pass = match ready.take() {
                Some(pass) => pass,
                None => {
                    if let Some(rule) = self.stopped_before()? {
                        return self.give_up_before(&rule);
                    }
                    self.call().await?
                }
            };
            self.note(&pass);
            let facts = self.facts(Some(&pass))?;
            let rule = first_match(self.cx, &self.gate.post, &self.scope(&facts, Some(&pass))).cloned();
            let wanted = match &rule {
                Some(rule) => rule.then,
                None if pass.error.is_some() => Post::FailFast,
                None => Post::Ok,
            };
            if wanted == Post::Ok {
                return match pass.response.take() {
                    Some(response) => self.accept(response, pass).map(Some),
                    None => self.give_up(kinds::NO_RESPONSE, rule.as_ref().and_then(label), &pass),
                };
            }
            if let Some(response) = &pass.response {
                bill_rejected(self.cx, response, &pass.sent)?;
            }
            if wanted == Post::FailFast {
                let own = rule.as_ref().map(|rule| &*rule.kind).filter(|kind| !kind.is_empty());
                let kind = own.unwrap_or(pass.kind.as_str());
                return self.give_up(kind, rule.as_ref().and_then(label), &pass);
            }
            if pass.pieces.were_delivered() {
                let label =
                    format!("`{}` was wanted after a part of the answer was delivered", wanted.as_str());
                return self.give_up(kinds::MID_STREAM, Some(label.into()), &pass);
            }
            let Some(rule) = rule else { continue };
            match wanted {
                Post::Fallback => {
                    let Some(fallback) = &self.gate.fallback else {
                        return self.give_up(kinds::NO_FALLBACK, label(&rule), &pass);
                    };
                    self.via = RecoveredVia::Fallback;
                    let answer = self.fall_back(fallback, &pass).await?;
                    match answer {
                        Ok(response) => return self.accept(response, pass).map(Some),
                        // It is judged like any other failure, without another call.
                        Err(error) => ready = Some(Pass::failed(pass.sent, error)),
                    }
                }
                _ => {
                    let from = self.entry_name();
                    if wanted == Post::RetryOther {
                        if self.at + 1 >= self.gate.entries.len() {
                            return self.give_up(kinds::NO_MORE_PROVIDERS, label(&rule), &pass);
                        }
                        self.at += 1;
                    }
                    self.again(&rule, &pass, &facts, from).await?;
                    last = Some(pass);
                }
            }
        }
        let spent = ready.or(last);
        let label = format!("no outcome after {MAX_PASSES} passes");
        match &spent {
            Some(pass) => self.give_up(kinds::MAX_LOOP, Some(label.into()), pass),
            None => Ok(None),
        }
    }

    /// Ends the stage when the run was cancelled: no rule is asked, nothing is said.
    async fn not_cancelled(&self) -> Result<(), StageError> {
        self.cx.unless_cancelled(async {}).await
    }

    fn entry(&self) -> Result<&'a Entry, StageError> {
        self.gate.entries.get(self.at).ok_or_else(|| StageError::new("the gate has no provider to ask"))
    }

    fn entry_name(&self) -> Str {
        self.gate.entries.get(self.at).map(|entry| entry.name.clone()).unwrap_or_default()
    }

    fn facts(&self, pass: Option<&Pass>) -> Result<Facts, StageError> {
        let received = pass.and_then(|pass| Some((pass, pass.response.as_ref()?)));
        let (input, output) =
            received.map_or((0, 0), |(_, response)| (response.usage.input, response.usage.output));
        let cost = match &self.cx.agent.options.pricing {
            Some(table) => {
                let this = received.map_or(0.0, |(pass, response)| {
                    CostTick::of(&**table, pass.sent.bill(response).1, &response.usage).usd
                });
                Some(self.cx.amount(state::CUM_ESTIMATED_USD)? + this)
            }
            None => None,
        };
        Ok(Facts {
            breakers: self.gate.breaker.as_ref().map(|(_, store)| store.states()).unwrap_or_default(),
            cost,
            input: self.cx.count(state::TOTAL_INPUT_TOKENS)?.saturating_add(input),
            output: self.cx.count(state::TOTAL_OUTPUT_TOKENS)?.saturating_add(output),
        })
    }

    fn scope<'s>(&'s self, facts: &'s Facts, pass: Option<&'s Pass>) -> ReliabilityScope<'s> {
        ReliabilityScope {
            request: pass.map_or(&self.base, |pass| &pass.sent.request),
            providers_count: self.gate.entries.len(),
            has_fallback: self.gate.fallback.is_some(),
            attempt: self.attempt,
            provider_idx: self.at,
            current_provider: self.gate.entries.get(self.at).map_or("", |entry| &entry.name),
            can_switch_provider: self.at + 1 < self.gate.entries.len(),
            response: pass.and_then(|pass| pass.response.as_ref()),
            error: pass.and_then(|pass| pass.error.as_ref()),
            error_kind: pass.map_or(ErrorKind::Ok, |pass| pass.kind),
            latency_ms: pass.map_or(0, |pass| millis(pass.latency)),
            validation_error: pass.and_then(|pass| pass.invalid.as_ref()),
            validation_error_history: &self.invalid,
            attempts_per_provider: &self.calls,
            breaker_states: &facts.breakers,
            cumulative_cost_usd: facts.cost,
            cumulative_input_tokens: facts.input,
            cumulative_output_tokens: facts.output,
        }
    }

    /// The rule that ends the run before the call, if one does.
    fn stopped_before(&self) -> Result<Option<Rule<Pre>>, StageError> {
        if self.gate.pre.is_empty() {
            return Ok(None);
        }
        let facts = self.facts(None)?;
        let rule = first_match(self.cx, &self.gate.pre, &self.scope(&facts, None));
        Ok(rule.filter(|rule| rule.then == Pre::FailFast).cloned())
    }

    /// One real call, unless the breaker rejects it.
    async fn call(&mut self) -> Result<Pass, StageError> {
        let entry = self.entry()?;
        let prepared = match self.prepared.take() {
            Some(prepared) => prepared,
            None => {
                let request = entry.request(&self.base);
                prepare(self.cx, self.iteration, self.assembled, &*entry.strategy, request).await
            }
        };
        let sent = Sent::to(&entry.name, prepared);
        let now = || self.cx.now_ms();
        let admitted = match &self.gate.breaker {
            Some((config, store)) => match store.admit(&entry.name, config, now()) {
                Ok(admitted) => Some(admitted),
                Err(open) => return Ok(Pass::failed(sent, open)),
            },
            None => None,
        };
        let began = self.cx.run.clock.monotonic();
        let attempt = Attempt {
            iteration: self.iteration,
            number: self.attempt,
            provider: &entry.provider,
            request: &sent.request,
            hold: self.gate.delivery == Delivery::Hold,
        };
        let Asked { answer, kind, stated_wait, pieces } = ask(self.cx, &attempt).await?;
        self.not_cancelled().await?;
        let latency = self.cx.run.clock.monotonic().saturating_sub(began);
        if let (Some(admitted), Some((config, _))) = (admitted, &self.gate.breaker) {
            admitted.book(answer.as_ref().err(), config, now());
        }
        *self.calls.entry(entry.name.clone()).or_default() += 1;
        let (response, error) = match answer {
            Ok(response) => (Some(response), None),
            Err(error) if error.kind == LlmErrorKind::Aborted => return Err(llm_failed(error)),
            Err(error) => (None, Some(error)),
        };
        let invalid = response.as_ref().and_then(|response| self.validated(response));
        let kind = if invalid.is_some() { ErrorKind::SchemaFail } else { kind };
        Ok(Pass { sent, response, error, kind, invalid, latency, stated_wait, pieces })
    }

    /// Judges an answer without tool calls, and says what is wrong before any rule is asked.
    fn validated(&self, response: &LlmResponse) -> Option<ValidationFailure> {
        let output = self.cx.agent.output.as_ref().filter(|_| response.tool_calls.is_empty())?;
        let failure = judge(&*output.contract, &Str::from(response.content.as_str())).err()?;
        let withheld = self.withholds();
        self.cx.emit(|| {
            let message = if withheld { WITHHELD } else { &failure.message };
            let said = AgentOutputSchemaValidationFailed::new(
                message,
                failure.stage.clone(),
                u64::from(self.attempt),
                self.invalid.len() as u64,
            );
            if withheld {
                said.draft_withheld(true)
            } else {
                said.path(failure.path.as_deref().map(Str::from)).raw_output(Some(failure.raw_output.clone()))
            }
        });
        Some(ValidationFailure {
            message: failure.message,
            path: failure.path,
            stage: failure.stage,
            raw_output: failure.raw_output,
        })
    }

    /// Whether a draft is kept from events: message middleware judges what goes out, and a draft was not judged.
    fn withholds(&self) -> bool {
        !self.cx.agent.tooling.message_middleware.is_empty() || self.cx.agent.withholds_drafts()
    }

    fn note(&mut self, pass: &Pass) {
        if pass.kind != ErrorKind::Ok {
            self.failures += 1;
            self.last_failure = pass.kind;
        }
        self.invalid.extend(pass.invalid.clone());
    }

    /// Says the retry, tells the model why, and waits.
    async fn again(
        &mut self,
        rule: &Rule<Post>,
        pass: &Pass,
        facts: &Facts,
        from: Str,
    ) -> Result<(), StageError> {
        let switches = rule.then == Post::RetryOther;
        self.via = if switches { RecoveredVia::RetryOther } else { RecoveredVia::Retry };
        self.cx.emit(|| {
            let action = if switches { RetryAction::RetryOther } else { RetryAction::Retry };
            let message = pass.cause(self.withholds()).map(|cause| cause.message);
            ReliabilityRetried::new(
                u64::from(self.attempt),
                action,
                pass.kind.as_str(),
                &from,
                self.entry_name(),
            )
            .error_message(message)
        });
        if let Some(feedback) = &rule.feedback {
            let text = self.cx.unless_cancelled(feedback.text(&self.scope(facts, Some(pass)))).await?;
            let mut turn = Message::framed(Role::User, Frame::ReliabilityFeedback, text);
            turn.ephemeral = Some(true);
            self.base = self.base.clone().message(turn);
        }
        let scheduled = || rule.backoff.map(|backoff| backoff.after(self.attempt));
        let wait = pass.stated_wait.or_else(scheduled).unwrap_or_default().min(LONGEST_WAIT);
        if wait.is_zero() {
            return Ok(());
        }
        let sleep = async {
            tokio::time::sleep(wait).await;
            Waited
        };
        let input = || Value::from(millis(wait));
        let slept = self.cx.effect(EffectKind::Timer, WAIT, Reexecution::Idempotent, &input, sleep);
        self.cx.unless_cancelled(slept).await.map(|Waited| ())
    }

    async fn fall_back(
        &self,
        fallback: &FallbackFn,
        pass: &Pass,
    ) -> Result<Result<LlmResponse, LlmError>, StageError> {
        let request = &pass.sent.request;
        let input = || serde_json::to_value(request).map(Value::from).unwrap_or_default();
        let work = fallback(request.clone(), pass.error.clone());
        let asked = self.cx.effect(EffectKind::Llm, FALLBACK, Reexecution::AtLeastOnce, &input, work);
        let answer = self.cx.unless_cancelled(asked).await?;
        self.not_cancelled().await?;
        match answer {
            Err(error) if error.kind == LlmErrorKind::Aborted => Err(llm_failed(error)),
            answer => Ok(answer),
        }
    }

    fn accept(&self, response: LlmResponse, mut pass: Pass) -> Result<Answered, StageError> {
        pass.pieces.release(self.cx);
        let fell_back = self.via == RecoveredVia::Fallback;
        let earlier = match pass.kind {
            // An answer that a rule takes although it fails is no recovery from itself.
            kind if kind != ErrorKind::Ok && !fell_back => 0,
            _ => self.failures,
        };
        if earlier > 0 {
            self.cx.emit(|| {
                ReliabilityRecovered::new(
                    u64::from(self.attempt),
                    self.via.clone(),
                    earlier,
                    self.last_failure.as_str(),
                )
            });
        }
        Ok(Answered { response, sent: pass.sent })
    }

    fn give_up(&self, kind: &str, label: Option<Str>, pass: &Pass) -> Result<Option<Answered>, StageError> {
        GiveUp {
            phase: ReliabilityPhase::PostDecide,
            kind: kind.into(),
            label,
            attempt: self.attempt,
            provider: self.entry_name(),
            error_kind: pass.kind,
            cause: pass.cause(self.withholds()),
        }
        .file(self.cx)?;
        Ok(None)
    }

    fn give_up_before(&self, rule: &Rule<Pre>) -> Result<Option<Answered>, StageError> {
        let kind = if rule.kind.is_empty() { kinds::PRE_CHECK } else { &rule.kind };
        GiveUp {
            phase: ReliabilityPhase::PreCheck,
            kind: kind.into(),
            label: label(rule),
            attempt: self.attempt,
            provider: self.entry_name(),
            error_kind: ErrorKind::Ok,
            cause: None,
        }
        .file(self.cx)?;
        Ok(None)
    }
}

/// The first rule that matches; one whose condition panics does not.
fn first_match<'r, D: Copy>(
    cx: &StageCx,
    rules: &'r [Rule<D>],
    scope: &ReliabilityScope<'_>,
) -> Option<&'r Rule<D>> {
    rules.iter().find(|rule| {
        rule.matches(scope).unwrap_or_else(|()| {
            let kind = &rule.kind;
            cx.warn_once("reliability-rule-panicked", || {
                format!("the condition of the reliability rule `{kind}` panicked; it counts as no match")
            });
            false
        })
    })
}

fn label<D>(rule: &Rule<D>) -> Option<Str> {
    rule.label.as_deref().map(Str::from)
}

const WAIT: &str = "reliability-wait";
const FALLBACK: &str = "reliability-fallback";

/// A wait that is over.
struct Waited;

impl Journaled for Waited {
    fn to_outcome(&self) -> EffectOutcome {
        EffectOutcome::Ok(Value::default())
    }

    fn from_outcome(_: EffectOutcome) -> Self {
        Self
    }
}

//! What one run owns: every per-run value that is not chart state (AGT §3).
//!
//! A [`RunContext`] is created per run and travels through the engine's typed environment (ENG-169), so it reaches
//! every mount at every depth and is never state. Stage code does not use it directly: it works on a [`StageCx`],
//! which binds the engine's scope, the run, the agent's immutable definition and the agent's turn in this run.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::events::{AgentEvent, EventMeta, EventName, Moment, Payload, RunFacts};
use footprint::clock::Clock;
use footprint::error::StageError;
use footprint::ids::RuntimeStageId;
use footprint::scope::Scope;
use footprint::value::{Object, Str, Value};
use tokio_util::sync::CancellationToken;

use super::effects::{
    self, EffectKind, EffectOutcome, Effects, Journaled, Performed, Reexecution, Trail, Which,
};
use super::identity::RunIdentity;
use super::input::StartMaterial;
use super::integrity::{Disposition, IntegrityCheck, IntegrityLedger};
use super::turn::AgentTurn;
use crate::agent::AgentCore;
use crate::events::RunEvents;
use crate::tools::OutstandingConsent;

/// Locks without caring about poison: what the runtime guards is valid between any two statements.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A hook that is awaited once per batch before any tool (HOST-66).
pub type DurabilityBarrier =
    Arc<dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = Result<(), StageError>> + Send>> + Send + Sync>;

/// Everything of one run (one leg) that is not state.
pub struct RunContext {
    pub(crate) run_id: Str,
    pub(crate) turn_id: Str,
    pub(crate) started: std::time::Duration,
    /// What stands in the meta of each event.
    pub(crate) facts: RunFacts,
    pub(crate) identity: RunIdentity,
    pub(crate) cancel: CancellationToken,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) effects: Arc<dyn Effects>,
    pub(crate) events: RunEvents,
    pub(crate) barrier: Option<DurabilityBarrier>,
    /// Whether recordings of the run hold the redacted mirror.
    pub(crate) redacts: bool,
    pub(crate) start: StartMaterial,
    pub(crate) integrity: Mutex<IntegrityLedger>,
    pub(crate) ordinals: AtomicU64,
    /// Consents a person still has to give; a run may not end quietly on one (TOOL-53).
    pub(crate) consent: OutstandingConsent,
    /// The compositions that are under way in this run.
    pub(crate) compositions: crate::compose::Compositions,
    turns: Mutex<HashMap<Str, Arc<AgentTurn>>>,
}

/// The parts a run context starts from.
pub(crate) struct RunParts {
    pub(crate) run_id: Str,
    pub(crate) turn_id: Str,
    pub(crate) facts: RunFacts,
    pub(crate) identity: RunIdentity,
    pub(crate) cancel: CancellationToken,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) effects: Arc<dyn Effects>,
    pub(crate) events: RunEvents,
    pub(crate) barrier: Option<DurabilityBarrier>,
    pub(crate) redacts: bool,
    pub(crate) start: StartMaterial,
    pub(crate) integrity: IntegrityLedger,
}

impl RunContext {
    pub(crate) fn new(parts: RunParts) -> Self {
        let started = parts.clock.monotonic();
        Self {
            run_id: parts.run_id,
            turn_id: parts.turn_id,
            started,
            facts: parts.facts,
            identity: parts.identity,
            cancel: parts.cancel,
            clock: parts.clock,
            effects: parts.effects,
            events: parts.events,
            barrier: parts.barrier,
            redacts: parts.redacts,
            start: parts.start,
            integrity: Mutex::new(parts.integrity),
            ordinals: AtomicU64::new(0),
            consent: OutstandingConsent::default(),
            compositions: crate::compose::Compositions::default(),
            turns: Mutex::new(HashMap::new()),
        }
    }

    /// The run's id: `meta.runId` on every event.
    pub fn run_id(&self) -> &Str {
        &self.run_id
    }

    /// The turn's stable id across legs.
    pub fn turn_id(&self) -> &Str {
        &self.turn_id
    }

    /// The session, when one was named.
    pub fn session_id(&self) -> Option<&Str> {
        self.facts.session_id.as_ref()
    }

    /// Who the run acts for, and how that was found.
    pub fn identity(&self) -> &RunIdentity {
        &self.identity
    }

    /// The run's cancellation token.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// The run's clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Unix milliseconds now, by the run's clock.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Milliseconds since the leg began.
    pub fn offset_ms(&self) -> u64 {
        millis(self.clock.monotonic().saturating_sub(self.started))
    }

    /// Files one encounter of an integrity check.
    pub(crate) fn note_integrity(&self, check: IntegrityCheck, disposition: Disposition) {
        lock(&self.integrity).note(check, disposition);
    }

    /// The first effect of a leg: what a journal knows it by. With a direct port there is nothing to do.
    pub(crate) async fn begin_leg(&self) {
        if self.effects.is_direct() {
            return;
        }
        let step = RuntimeStageId::parse(LEG_SEED);
        let which = Which {
            ordinal: self.next_ordinal(),
            kind: EffectKind::LegSeed,
            name: self.facts.composition_path.first().map_or("", |owner| owner),
            step: &step,
            policy: Reexecution::Idempotent,
        };
        let input = || Value::from(self.run_id.clone());
        let seed = async { LegSeed { turn_id: self.turn_id.clone(), started_ms: self.now_ms() } };
        let _ = effects::perform(&*self.effects, which, &input, &Trail::default(), seed).await;
    }

    /// The agent's turn mounted at `prefix` (`""` at the root), created on first use.
    pub(crate) fn turn(&self, prefix: &str) -> Arc<AgentTurn> {
        let mut turns = lock(&self.turns);
        if let Some(turn) = turns.get(prefix) {
            return Arc::clone(turn);
        }
        let turn = Arc::new(AgentTurn::new(prefix));
        turns.insert(Str::from(prefix), Arc::clone(&turn));
        turn
    }

    /// A fresh turn at `prefix`: an agent mounted in a loop begins anew at each `seed`.
    pub(crate) fn begin_turn(&self, prefix: &str) -> Arc<AgentTurn> {
        let turn = Arc::new(AgentTurn::new(prefix));
        lock(&self.turns).insert(Str::from(prefix), Arc::clone(&turn));
        turn
    }

    /// The meta of an event said at `step` (EVT-1).
    pub(crate) fn meta(&self, step: RuntimeStageId) -> EventMeta {
        let at = Moment { wall_clock_ms: self.now_ms(), run_offset_ms: self.offset_ms() };
        EventMeta::build(Some(step), at, &self.facts)
    }

    /// Says something at a visit. Nothing is built when nobody listens.
    pub(crate) fn say<P: Payload>(&self, step: &RuntimeStageId, build: impl FnOnce() -> P) {
        if self.events.interested(P::NAME) {
            self.events.dispatch(build().into(), self.meta(step.clone()));
        }
    }

    /// Says something at a pseudo step (EVT-2). Nothing is built when nobody listens.
    pub(crate) fn say_at<P: Payload>(&self, step: &str, build: impl FnOnce() -> P) {
        if self.events.interested(P::NAME) {
            self.events.dispatch(build().into(), self.meta(RuntimeStageId::parse(step)));
        }
    }

    /// Says again what an effect said when it was performed.
    pub(crate) fn say_again(&self, step: &RuntimeStageId, fact: &Value) {
        if let Some(event) = effects::said_before(fact)
            && event.name().is_some_and(|name| self.events.interested(name))
        {
            self.events.dispatch(event, self.meta(step.clone()));
        }
    }

    /// Says an event that is already built at a pseudo step.
    pub(crate) fn tell_at(&self, step: &str, event: AgentEvent) {
        if event.name().is_some_and(|name| self.events.interested(name)) {
            self.events.dispatch(event, self.meta(RuntimeStageId::parse(step)));
        }
    }

    /// The next effect's position in the run.
    pub(crate) fn next_ordinal(&self) -> u64 {
        self.ordinals.fetch_add(1, Ordering::Relaxed)
    }
}

/// The pseudo step of a leg's beginning.
const LEG_SEED: &str = "leg-seed#0";

/// What a journal keeps of the beginning of a leg. Run id and clock come from the port itself, so nothing is read back.
struct LegSeed {
    turn_id: Str,
    started_ms: u64,
}

impl Journaled for LegSeed {
    fn to_outcome(&self) -> EffectOutcome {
        let mut out = Object::new();
        out.insert("turnId", Value::from(self.turn_id.clone()));
        out.insert("startedMs", Value::from(self.started_ms));
        EffectOutcome::Ok(Value::from(out))
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        let value = match outcome {
            EffectOutcome::Ok(value) => value,
            EffectOutcome::Err(_) => Value::default(),
        };
        Self {
            turn_id: value.get("turnId").and_then(Value::as_shared_str).cloned().unwrap_or_default(),
            started_ms: value.get("startedMs").and_then(Value::as_u64).unwrap_or_default(),
        }
    }
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}

pub(crate) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What a stage of an agent's chart works on: the engine's scope, the run, the agent, and the agent's turn in it.
///
/// It is cheap to clone and lives no longer than the visit. Nothing of it may be kept by a stage closure (AGT-15).
#[derive(Clone)]
pub(crate) struct StageCx {
    pub(crate) scope: Scope,
    pub(crate) run: Arc<RunContext>,
    pub(crate) agent: Arc<AgentCore>,
    pub(crate) turn: Arc<AgentTurn>,
    /// Set inside the work of an effect: what is said there is part of its trail, and what is done there is part of the effect.
    inside: Option<Trail>,
}

impl StageCx {
    /// The visit as seen from inside an effect's work.
    pub(crate) fn inside(&self, trail: &Trail) -> Self {
        Self { inside: Some(trail.clone()), ..self.clone() }
    }

    /// Binds a visit. `local_path` is the stage's path inside the agent's own chart, for instance
    /// `sf-messages/compose`; what the address has in front of it is where the agent is mounted.
    pub(crate) fn bind(scope: Scope, agent: &Arc<AgentCore>, local_path: &str) -> Result<Self, StageError> {
        let run = run_of(&scope)?;
        let turn = run.turn(mount_prefix(&scope.address(), local_path));
        Ok(Self { scope, run, agent: Arc::clone(agent), turn, inside: None })
    }

    /// The same, for `seed`: the agent's turn begins here.
    pub(crate) fn begin(scope: Scope, agent: &Arc<AgentCore>, local_path: &str) -> Result<Self, StageError> {
        let run = run_of(&scope)?;
        let turn = run.begin_turn(mount_prefix(&scope.address(), local_path));
        Ok(Self { scope, run, agent: Arc::clone(agent), turn, inside: None })
    }

    /// The visit's address.
    pub(crate) fn address(&self) -> RuntimeStageId {
        self.scope.address()
    }

    /// Whether anybody listens to events of this name: one cheap check (EVT-6).
    pub(crate) fn wants(&self, name: EventName) -> bool {
        self.run.events.interested(name)
    }

    /// Says something. The payload is only built when somebody listens; everything else a stage does must not depend
    /// on it.
    pub(crate) fn emit<P: Payload>(&self, build: impl FnOnce() -> P) {
        let wanted = self.wants(P::NAME);
        if let Some(trail) = self.inside.as_ref().filter(|trail| trail.is_kept()) {
            let event: AgentEvent = build().into();
            trail.note(|| effects::said(&event));
            if wanted {
                self.dispatch(event);
            }
        } else if wanted {
            self.dispatch(build().into());
        }
    }

    /// Says again what an effect said when it was performed.
    pub(crate) fn say_again(&self, fact: &Value) {
        self.run.say_again(&self.address(), fact);
    }

    /// Says an event that is already built.
    pub(crate) fn dispatch(&self, event: AgentEvent) {
        self.run.events.dispatch(event, self.run.meta(self.address()));
    }

    /// Performs an effect through the run's port.
    pub(crate) async fn effect<T: Journaled>(
        &self,
        kind: EffectKind,
        name: &str,
        policy: Reexecution,
        input: &(dyn Fn() -> Value + Send + Sync),
        work: impl Future<Output = T> + Send,
    ) -> T {
        self.trailed(kind, name, policy, input, &Trail::default(), work).await.value
    }

    /// Performs an effect that leaves a trail; when it was answered from a journal, the trail comes back to be told again.
    pub(crate) async fn trailed<T: Journaled>(
        &self,
        kind: EffectKind,
        name: &str,
        policy: Reexecution,
        input: &(dyn Fn() -> Value + Send + Sync),
        trail: &Trail,
        work: impl Future<Output = T> + Send,
    ) -> Performed<T> {
        if self.inside.is_some() {
            return Performed { value: work.await, replayed: None };
        }
        let address = self.address();
        let which = Which { ordinal: self.run.next_ordinal(), kind, name, step: &address, policy };
        effects::perform(&*self.run.effects, which, input, trail, work).await
    }

    /// A trail for the next effect.
    pub(crate) fn trail(&self) -> Trail {
        Trail::of(&*self.run.effects)
    }

    /// Unix milliseconds now.
    pub(crate) fn now_ms(&self) -> u64 {
        self.run.now_ms()
    }

    /// What the turn starts from: the run's input, or for a mounted agent the message its composition handed in.
    pub(crate) fn turn_start(&self) -> StartMaterial {
        if self.turn.prefix().is_empty() {
            return self.run.start.clone();
        }
        let message = self.scope.args_value().get("message").and_then(Value::as_shared_str).cloned();
        StartMaterial::fresh(message.unwrap_or_default())
    }

    /// The identity somebody named, for tools (AGT-23).
    pub(crate) fn explicit_identity(&self) -> Option<&MemoryIdentity> {
        self.run.identity.explicit()
    }

    /// Awaits `work` unless the run is cancelled first (AGT-17).
    pub(crate) async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, StageError> {
        tokio::select! {
            biased;
            () = self.run.cancel.cancelled() => Err(cancelled()),
            done = work => Ok(done),
        }
    }

    /// Warns once per run and key, for people; never part of the record.
    pub(crate) fn warn_once(&self, key: &'static str, message: impl FnOnce() -> String) {
        if self.turn.first_warning(key) {
            tracing::warn!(target: "agentfootprint", run_id = %self.run.run_id, "{}", message());
        }
    }
}

/// The error a stage ends with when its run was cancelled; outcome resolution recognises it.
pub(crate) fn cancelled() -> StageError {
    StageError::named(CANCELLED, "the run was cancelled")
}

/// The recorded name of a cancellation.
pub(crate) const CANCELLED: &str = "Cancelled";

/// The run a scope belongs to.
pub(crate) fn run_of(scope: &Scope) -> Result<Arc<RunContext>, StageError> {
    scope
        .env()
        .get::<RunContext>()
        .ok_or_else(|| StageError::new("this chart was started outside an agent run: it has no run context"))
}

/// What an address has in front of `local_path`: where the agent is mounted, `""` at the root.
pub(crate) fn mount_prefix<'a>(address: &'a RuntimeStageId, local_path: &str) -> &'a str {
    let stage = address.stage_id();
    stage.strip_suffix(local_path).map_or(stage, |prefix| prefix.trim_end_matches('/'))
}

//! The one port through which a run touches what it cannot recompute (HOST-118).
//!
//! Model calls, tool calls, permission and middleware consults, store reads, timers: each of them goes through the
//! run's [`Effects`], in the fixed order the stages make them. [`Direct`] — the default — just calls. A durable engine
//! puts a journal behind the same trait without touching a stage: on replay it answers from its record instead.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentfootprint_record::events::AgentEvent;
use async_trait::async_trait;
use footprint::clock::{Clock, SystemClock};
use footprint::ids::{DefaultRunIds, RunId, RunIdSource as _, RuntimeStageId};
use footprint::value::{Object, Str, Value};
use sha2::{Digest as _, Sha256};

/// What kind of outside an effect touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EffectKind {
    /// Start of a leg.
    LegSeed,
    /// The per-run configuration hook.
    Configure,
    /// One model call.
    Llm,
    /// One tool.
    Tool,
    /// One permission consult.
    Permission,
    /// One middleware consult.
    Middleware,
    /// A check-in predicate.
    CheckIn,
    /// An evidence assembler.
    Evidence,
    /// A memory port call.
    Memory,
    /// An embedding.
    Embed,
    /// A search.
    Search,
    /// A classifier call.
    Classify,
    /// A tool provider's list.
    ToolList,
    /// One vending of a credential: its facts, never the credential.
    Credential,
    /// An artifact store call.
    Artifact,
    /// A validation of an answer.
    Validate,
    /// A wait.
    Timer,
}

impl EffectKind {
    /// The recorded word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LegSeed => "leg-seed",
            Self::Configure => "configure",
            Self::Llm => "llm",
            Self::Tool => "tool",
            Self::Permission => "permission",
            Self::Middleware => "middleware",
            Self::CheckIn => "check-in predicate",
            Self::Evidence => "evidence assembler",
            Self::Memory => "memory",
            Self::Embed => "embed",
            Self::Search => "search",
            Self::Classify => "classify",
            Self::ToolList => "tool-list",
            Self::Credential => "credential",
            Self::Artifact => "artifact",
            Self::Validate => "answer validation",
            Self::Timer => "timer",
        }
    }
}

/// What may be done with an effect that was in flight at a crash (HOST-123).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reexecution {
    /// Running it again changes nothing.
    Idempotent,
    /// It may run again under the same key.
    #[default]
    AtLeastOnce,
    /// It must not run again; the outcome is then stated as unknown.
    AtMostOnce,
    /// Like at most once, but a person is asked.
    AskOnDoubt,
}

/// One effect about to happen.
pub struct EffectSpec<'a> {
    /// Position in the run, from 0; the order of effects is part of what a journal compares.
    pub ordinal: u64,
    /// What it touches.
    pub kind: EffectKind,
    /// The model, tool, checker … it goes to.
    pub name: Cow<'a, str>,
    /// The visit it belongs to.
    pub step: &'a RuntimeStageId,
    /// What may be done with it after a crash.
    pub policy: Reexecution,
    input: &'a (dyn Fn() -> Value + Send + Sync),
}

impl EffectSpec<'_> {
    /// The input, built on demand: the default port never asks for it.
    pub fn input(&self) -> Value {
        (self.input)()
    }

    /// SHA-256 over the canonical JSON of the input.
    pub fn input_digest(&self) -> [u8; 32] {
        Sha256::digest(agentfootprint_record::text::canonical_json(&self.input()).as_bytes()).into()
    }
}

impl fmt::Debug for EffectSpec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EffectSpec")
            .field("ordinal", &self.ordinal)
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("step", &self.step.to_string())
            .finish_non_exhaustive()
    }
}

/// What an effect came to. A business failure is an outcome, not a failure of the port (HOST-119).
#[derive(Clone, Debug, PartialEq)]
pub enum EffectOutcome {
    /// It answered.
    Ok(Value),
    /// It failed.
    Err(EffectFailure),
}

/// A recorded failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectFailure {
    /// The class a policy looks at.
    pub class: Str,
    /// The error's stable code.
    pub code: Option<Str>,
    /// Its text.
    pub message: Str,
    /// Whether calling again may help.
    pub retryable: bool,
}

/// One journal entry.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectRecord {
    /// When it began, Unix milliseconds.
    pub started_ms: u64,
    /// When it ended.
    pub ended_ms: u64,
    /// What it came to.
    pub outcome: EffectOutcome,
    /// What happened on the way and is told again on replay: chunk lengths, progress, emitted facts.
    pub trail: Vec<Value>,
}

/// What the work of an effect leaves: how it ended, and what happened on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectDone {
    /// What it came to.
    pub outcome: EffectOutcome,
    /// What a replay tells again.
    pub trail: Vec<Value>,
}

/// The work of an effect, as the port sees it.
pub type EffectFn<'a> = Pin<Box<dyn Future<Output = EffectDone> + Send + 'a>>;

/// Where effects happen: whatever a run cannot recompute goes through here, in the fixed order its stages make it. [`Direct`] just
/// calls; a durable engine puts a journal behind the same trait.
#[async_trait]
pub trait Effects: Send + Sync + 'static {
    /// Performs an effect, or answers from a journal.
    async fn perform<'a>(&self, spec: EffectSpec<'a>, work: EffectFn<'a>) -> EffectRecord;

    /// The run's clock.
    fn clock(&self) -> Arc<dyn Clock>;

    /// Where the run's ids come from.
    fn ids(&self) -> Arc<dyn IdSource>;

    /// True when this port only calls: the runtime then skips building inputs and encoding outcomes.
    fn is_direct(&self) -> bool {
        false
    }
}

/// Where ids come from; injected, so that a scripted run is identical twice.
pub trait IdSource: Send + Sync + 'static {
    /// The id of a new leg that starts at `now_ms`.
    fn run_id(&self, now_ms: u64) -> Str;

    /// The id of a new turn.
    fn turn_id(&self, now_ms: u64) -> Str;

    /// The engine's id of a walk; the engine's own process-wide source by default.
    fn walk_id(&self, _now_ms: u64) -> RunId {
        DefaultRunIds.next_run_id()
    }
}

/// `run-<ms>-<sequence>`, the sequence monotonic per process (AGT-3).
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessIds;

impl IdSource for ProcessIds {
    fn run_id(&self, now_ms: u64) -> Str {
        // The sequence is the process's own; it holds nothing of any run.
        static SEQUENCE: AtomicU64 = AtomicU64::new(1);
        format!("run-{now_ms}-{}", SEQUENCE.fetch_add(1, Ordering::Relaxed)).into()
    }

    fn turn_id(&self, now_ms: u64) -> Str {
        static SEQUENCE: AtomicU64 = AtomicU64::new(1);
        format!("turn-{now_ms}-{}", SEQUENCE.fetch_add(1, Ordering::Relaxed)).into()
    }
}

/// Ids counted from 1 per source: for reproducible runs.
///
/// ```
/// use agentfootprint_core::run::{IdSource, SequentialIds};
/// let ids = SequentialIds::default();
/// assert_eq!(&*ids.run_id(5), "run-5-1");
/// assert_eq!(&*ids.run_id(5), "run-5-2");
/// ```
#[derive(Debug, Default)]
pub struct SequentialIds {
    runs: AtomicU64,
    turns: AtomicU64,
    walks: AtomicU64,
}

impl IdSource for SequentialIds {
    fn run_id(&self, now_ms: u64) -> Str {
        format!("run-{now_ms}-{}", self.runs.fetch_add(1, Ordering::Relaxed) + 1).into()
    }

    fn turn_id(&self, now_ms: u64) -> Str {
        format!("turn-{now_ms}-{}", self.turns.fetch_add(1, Ordering::Relaxed) + 1).into()
    }

    fn walk_id(&self, now_ms: u64) -> RunId {
        RunId::from_parts(now_ms, self.walks.fetch_add(1, Ordering::Relaxed))
    }
}

/// The default port: it just calls.
#[derive(Clone)]
pub struct Direct {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl Direct {
    /// The system's clock and process-wide ids.
    pub fn new() -> Self {
        Self { clock: Arc::new(SystemClock::new()), ids: Arc::new(ProcessIds) }
    }

    /// Another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Another id source.
    #[must_use]
    pub fn with_ids(mut self, ids: Arc<dyn IdSource>) -> Self {
        self.ids = ids;
        self
    }
}

impl Default for Direct {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Direct")
    }
}

#[async_trait]
impl Effects for Direct {
    async fn perform<'a>(&self, _spec: EffectSpec<'a>, work: EffectFn<'a>) -> EffectRecord {
        let started_ms = self.clock.now_ms();
        let EffectDone { outcome, trail } = work.await;
        EffectRecord { started_ms, ended_ms: self.clock.now_ms(), outcome, trail }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    fn ids(&self) -> Arc<dyn IdSource> {
        Arc::clone(&self.ids)
    }

    fn is_direct(&self) -> bool {
        true
    }
}

/// A result that can be written to a journal and read back.
pub(crate) trait Journaled: Sized + Send {
    /// The journal form.
    fn to_outcome(&self) -> EffectOutcome;
    /// Back from the journal form.
    fn from_outcome(outcome: EffectOutcome) -> Self;
}

/// Which effect it is, without its input.
pub(crate) struct Which<'a> {
    pub(crate) ordinal: u64,
    pub(crate) kind: EffectKind,
    pub(crate) name: &'a str,
    pub(crate) step: &'a RuntimeStageId,
    pub(crate) policy: Reexecution,
}

/// Where work notes what happens on its way. With a direct port nothing is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail(Option<Arc<Mutex<Vec<Value>>>>);

impl Trail {
    /// A trail that is kept unless the port only calls.
    pub(crate) fn of(effects: &dyn Effects) -> Self {
        Self((!effects.is_direct()).then(Arc::default))
    }

    /// Notes a fact; it is built only when it is kept.
    pub(crate) fn note(&self, fact: impl FnOnce() -> Value) {
        if let Some(kept) = &self.0 {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(fact());
        }
    }

    /// Whether anything noted is kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    fn taken(&self) -> Vec<Value> {
        let kept = self.0.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
    }
}

const EVENT: &str = "event";
const PAYLOAD: &str = "payload";

/// An event as a fact of a trail.
pub(crate) fn said(event: &AgentEvent) -> Value {
    let mut out = Object::new();
    out.insert(EVENT, Value::from(event.name_str()));
    out.insert(PAYLOAD, event.payload());
    Value::from(out)
}

/// The event a fact of a trail is.
pub(crate) fn said_before(fact: &Value) -> Option<AgentEvent> {
    let name = fact.get(EVENT).and_then(Value::as_shared_str)?;
    Some(AgentEvent::read_any(name, &fact.get(PAYLOAD).cloned().unwrap_or_default()))
}

/// The value of an effect and, when a port answered without doing the work, what it has to tell again.
pub(crate) struct Performed<T> {
    pub(crate) value: T,
    pub(crate) replayed: Option<Vec<Value>>,
}

/// Performs `work` through `effects`. With a direct port nothing is boxed, built or encoded.
pub(crate) async fn perform<T: Journaled>(
    effects: &dyn Effects,
    which: Which<'_>,
    input: &(dyn Fn() -> Value + Send + Sync),
    trail: &Trail,
    work: impl Future<Output = T> + Send,
) -> Performed<T> {
    if effects.is_direct() {
        return Performed { value: work.await, replayed: None };
    }
    let mut kept = None;
    let slot = &mut kept;
    let boxed: EffectFn<'_> = Box::pin(async move {
        let result = work.await;
        let done = EffectDone { outcome: result.to_outcome(), trail: trail.taken() };
        *slot = Some(result);
        done
    });
    let Which { ordinal, kind, name, step, policy } = which;
    let spec = EffectSpec { ordinal, kind, name: Cow::Borrowed(name), step, policy, input };
    let record = effects.perform(spec, boxed).await;
    // When the work ran here, its own result is kept: decoding what was just encoded could only lose detail.
    match kept {
        Some(value) => Performed { value, replayed: None },
        None => Performed { value: T::from_outcome(record.outcome), replayed: Some(record.trail) },
    }
}

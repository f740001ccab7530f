//! OpenTelemetry: every run as a tree of spans after the GenAI semantic conventions (REC-73, REC-74).
//!
//! ```text
//! invoke_agent support
//! ├── iteration:1
//! │   ├── chat claude-sonnet
//! │   └── execute_tool get_order
//! └── iteration:2
//!     └── chat claude-sonnet
//! ```
//!
//! An agent inside a composition has a span of its own between the root and its iterations. Only structure leaves: names, counts,
//! ids, times, never what people, models or tools said, and no message of an error.

mod bounds;
mod decisions;
#[cfg(feature = "otlp")]
pub mod otlp;
mod tree;

use std::collections::HashMap;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use agentfootprint_core::injection::BoxError;
use agentfootprint_core::observe::{
    ObservabilityStrategy, SinkConfigError, Strategy, StrategyCapabilities, StrategyLife,
};
use agentfootprint_record::events::{AgentEvent, Domain, Event, EventName, Pattern};
use async_trait::async_trait;
use footprint::value::{Str, Value};
use opentelemetry::global::{BoxedTracer, ObjectSafeTracer};

use self::bounds::{flat, structure, word};
use self::tree::{Starter, Tree};
use crate::lock;

/// Runs whose spans may be open at once; beyond, the oldest is closed: its run was dropped without a word.
const MAX_RUNS: usize = 4096;

/// The meta fields of events that have a place in the spans. The others are for joining events with commits.
pub const PLACED_META: [&str; 10] = [
    "wallClockMs",
    "runtimeStageId",
    "subflowPath",
    "compositionPath",
    "runId",
    "iterIndex",
    "traceId",
    "spanId",
    "principal",
    "tenant",
];

/// The meta fields of events that have none.
pub const UNPLACED_META: [&str; 4] = ["runOffsetMs", "turnIndex", "correlationId", "sessionId"];

/// How runs become spans.
#[derive(Clone, Debug)]
pub struct OtelOptions {
    service_name: String,
    gen_ai_span_names: bool,
    explainability: bool,
}

impl OtelOptions {
    /// Plain span names, with explaining span events.
    pub fn new(service_name: impl Into<String>) -> Self {
        Self { service_name: service_name.into(), gen_ai_span_names: false, explainability: true }
    }

    /// Names spans as the conventions do: `invoke_agent support`, `chat model`, `execute_tool name`.
    #[must_use]
    pub fn gen_ai_span_names(mut self, on: bool) -> Self {
        self.gen_ai_span_names = on;
        self
    }

    /// Whether routes, refusals, permissions, credentials and the like become span events.
    #[must_use]
    pub fn explainability(mut self, on: bool) -> Self {
        self.explainability = on;
        self
    }
}

/// What ships the spans of a tracer: a provider, asked when the sink is flushed and stopped.
///
/// Implemented for the provider of `opentelemetry_sdk` behind feature `otlp`, and by whoever owns another; called by
/// [`OtelSink`].
#[async_trait]
pub trait SpanShipper: Send + Sync + 'static {
    /// Ships the spans that have ended.
    ///
    /// # Errors
    /// What could not be shipped.
    async fn flush(&self) -> Result<(), BoxError>;

    /// Ends it.
    fn stop(&self) {}
}

/// Makes spans of runs, through any OpenTelemetry tracer.
///
/// ```
/// use agentfootprint_telemetry::otel::{OtelOptions, OtelSink};
/// // The global tracer: whatever the process has installed.
/// let sink = OtelSink::new(OtelOptions::new("support"), opentelemetry::global::tracer("agentfootprint"))?;
/// # let _ = sink;
/// # Ok::<(), agentfootprint_telemetry::SinkConfigError>(())
/// ```
pub struct OtelSink {
    tracer: BoxedTracer,
    options: OtelOptions,
    runs: Mutex<Runs>,
    shipper: Option<Box<dyn SpanShipper>>,
    life: StrategyLife,
}

#[derive(Default)]
struct Runs {
    open: HashMap<Str, Tree>,
    order: VecDeque<Str>,
}

impl Runs {
    fn open(&mut self, run_id: &Str, tree: Tree) -> Option<Tree> {
        self.open.insert(run_id.clone(), tree);
        self.order.push_back(run_id.clone());
        if self.open.len() <= MAX_RUNS {
            return None;
        }
        let oldest = self.order.pop_front()?;
        self.open.remove(&oldest)
    }

    fn close(&mut self, run_id: &Str) -> Option<Tree> {
        self.order.retain(|known| known != run_id);
        self.open.remove(run_id)
    }
}

impl OtelSink {
    /// Makes spans with this tracer. Its provider stays yours: flush and shut it down yourself, or give it to
    /// [`shipped_by`](Self::shipped_by).
    ///
    /// # Errors
    /// [`SinkConfigError`] when the service name is blank.
    pub fn new(
        options: OtelOptions,
        tracer: impl ObjectSafeTracer + Send + Sync + 'static,
    ) -> Result<Self, SinkConfigError> {
        if options.service_name.trim().is_empty() {
            return Err(SinkConfigError::new("service_name", "blank", "the name of the service"));
        }
        Ok(Self {
            tracer: BoxedTracer::new(Box::new(tracer)),
            options,
            runs: Mutex::default(),
            shipper: None,
            life: StrategyLife::new(),
        })
    }

    /// Also flushes and stops what ships the spans.
    #[must_use]
    pub fn shipped_by(mut self, shipper: impl SpanShipper) -> Self {
        self.shipper = Some(Box::new(shipper));
        self
    }

    /// Tells its failures where `life` says.
    #[must_use]
    pub fn with_life(mut self, life: StrategyLife) -> Self {
        self.life = life;
        self
    }

    fn explain(&self, tree: &Tree, event: &Event) {
        if !self.options.explainability {
            return;
        }
        match &event.kind {
            AgentEvent::ContextEvaluated(_) => {
                let structure = event.structure();
                let routing =
                    structure.as_object().and_then(|fields| fields.get("routing")).and_then(Value::as_array);
                for entry in routing.into_iter().flat_map(|entries| entries.iter()) {
                    tree.note_as("agentfootprint.skill.routing", event, flat("skill", entry));
                }
            }
            AgentEvent::CompositionRouteDecided(route) => {
                tree.note(event, structure(event));
                if route.evidence.is_some() {
                    let chosen = word("agentfootprint.decision.chosen", &route.chosen);
                    tree.note_as("agentfootprint.decision.evidence", event, vec![chosen]);
                }
            }
            AgentEvent::AgentRouteDecided(_)
            | AgentEvent::SkillActivated(_)
            | AgentEvent::ValidationArgsInvalid(_)
            | AgentEvent::PermissionCheck(_)
            | AgentEvent::PermissionHalt(_)
            | AgentEvent::CredentialRequested(_)
            | AgentEvent::CredentialAcquired(_)
            | AgentEvent::CredentialAuthorizationRequired(_)
            | AgentEvent::CredentialFailed(_)
            | AgentEvent::ErrorFatal(_) => tree.note(event, structure(event)),
            _ => {}
        }
    }

    /// True when the run is over.
    fn apply(&self, tree: &mut Tree, starter: &Starter<'_>, event: &Event) -> bool {
        tree.saw(event);
        self.explain(tree, event);
        match &event.kind {
            AgentEvent::AgentTurnStart(turn) => tree.turn_start(starter, event, turn),
            AgentEvent::AgentTurnEnd(turn) => return tree.turn_end(event, turn),
            AgentEvent::AgentIterationStart(start) => tree.iteration_start(starter, event, start),
            AgentEvent::AgentIterationEnd(end) => tree.iteration_end(event, end),
            AgentEvent::StreamLlmStart(start) => tree.llm_start(starter, event, start),
            AgentEvent::StreamLlmEnd(end) => return tree.llm_end(event, end),
            AgentEvent::StreamToolStart(start) => tree.tool_start(starter, event, start),
            AgentEvent::StreamToolEnd(end) => tree.tool_end(event, end),
            AgentEvent::CompositionEnter(_) => tree.entered(),
            AgentEvent::CompositionExit(exit) => return tree.left(exit),
            AgentEvent::CostTick(tick) => tree.cost(event, tick),
            AgentEvent::ErrorFatal(_) => {
                tree.fail();
                return true;
            }
            AgentEvent::PauseRequest(_) => return true,
            _ => {}
        }
        false
    }
}

/// Whether a run may begin with this event; what comes late from a run that is over opens nothing.
fn opens(event: &Event) -> bool {
    matches!(
        event.kind,
        AgentEvent::AgentRunConfigured(_)
            | AgentEvent::AgentTurnStart(_)
            | AgentEvent::CompositionEnter(_)
            | AgentEvent::StreamLlmStart(_)
            | AgentEvent::PauseResume(_)
    )
}

impl fmt::Debug for OtelSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtelSink")
            .field("options", &self.options)
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Strategy for OtelSink {
    fn name(&self) -> &str {
        "otel"
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    fn relevant_event_types(&self) -> Vec<Pattern> {
        let domains = [
            Domain::Composition,
            Domain::Agent,
            Domain::Skill,
            Domain::Validation,
            Domain::Permission,
            Domain::Credential,
        ];
        let events = [
            EventName::StreamLlmStart,
            EventName::StreamLlmEnd,
            EventName::StreamToolStart,
            EventName::StreamToolEnd,
            EventName::ContextEvaluated,
            EventName::CostTick,
            EventName::ErrorFatal,
            EventName::PauseRequest,
            EventName::PauseResume,
        ];
        domains.map(Pattern::Domain).into_iter().chain(events.map(Pattern::Event)).collect()
    }

    fn capabilities(&self) -> StrategyCapabilities {
        StrategyCapabilities::TRACES
    }

    async fn flush(&self) -> Result<(), BoxError> {
        match &self.shipper {
            Some(shipper) => shipper.flush().await,
            None => Ok(()),
        }
    }

    /// Ends the spans of runs that are still open, then what ships them.
    fn stop(&self) {
        let open = std::mem::take(&mut *lock(&self.runs)).open;
        open.into_values().for_each(Tree::close);
        if let Some(shipper) = &self.shipper {
            shipper.stop();
        }
    }
}

impl ObservabilityStrategy for OtelSink {
    fn export_event(&self, event: &Arc<Event>) {
        let run_id = event.meta.run_id.as_shared();
        let starter = Starter { tracer: &self.tracer, options: &self.options };
        let mut runs = lock(&self.runs);
        let mut evicted = None;
        if !runs.open.contains_key(run_id) {
            if !opens(event) {
                return;
            }
            evicted = runs.open(run_id, Tree::open(&starter, event));
        }
        let Some(tree) = runs.open.get_mut(run_id) else { return };
        if self.apply(tree, &starter, event)
            && let Some(over) = runs.close(run_id)
        {
            over.close();
        }
        if let Some(evicted) = evicted {
            evicted.close();
        }
    }
}

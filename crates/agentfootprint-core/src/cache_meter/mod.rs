//! What prompt caching did in a run: what was read from the cache, what was not, what the gate decided and what it saved.
//!
//! The meter only listens. It emits no events, changes no request, and never takes a number that nobody measured for a zero.
//!
//! ```
//! use agentfootprint_core::agent::Agent;
//! use agentfootprint_core::llm::*;
//! use agentfootprint_core::run::{RunOptions, Runner};
//!
//! # struct Model;
//! # #[async_trait::async_trait]
//! # impl LlmProvider for Model {
//! #     fn name(&self) -> &str { "model" }
//! #     fn capabilities(&self, _: &str) -> Capabilities {
//! #         Capabilities::default().with_prompt_caching(PromptCaching::Automatic { reports_usage: true })
//! #     }
//! #     async fn complete(&self, _: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> {
//! #         Ok(LlmResponse { usage: Usage::new(100, 5).with_cache_read(300), ..LlmResponse::text("hi") })
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = Agent::builder(Model, "m-1").build()?;
//! let meter = agent.cache_meter();
//! agent.run("hello").options(meter.attach(RunOptions::new())).await;
//! assert_eq!(meter.summary().hit_rate.known_value(), Some(&0.75));
//! # Ok(()) }
//! ```

mod claim;
mod row;
mod summary;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use agentfootprint_record::conventions::{ids, local_segment};
use agentfootprint_record::events::payload::{StreamLlmEnd, StreamLlmStart};
use agentfootprint_record::events::{Event, EventName, Pattern, Payload as _};
use footprint::observe::{DecisionEvent, EventCx, Hook, HookResult, Interest, Recorder};
use footprint::value::{Str, Value};

pub use claim::Claim;
pub use row::{CacheRow, CacheTokens};
pub use summary::CacheSummary;

use crate::agent::{Agent, CacheStrategy};
use crate::llm::{PricingTable, Usage};
use crate::run::{RunOptions, lock};

/// Listens to a run and keeps one row per model call. Clones share their rows.
#[derive(Clone)]
pub struct CacheMeter(Arc<Inner>);

struct Inner {
    strategy: Arc<dyn CacheStrategy>,
    pricing: Option<Arc<dyn PricingTable>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The last decision of the gate of each chart level.
    gates: HashMap<Str, (Str, Option<Str>)>,
    /// The model of the call that is going on at each level.
    models: HashMap<Str, Str>,
    rows: Vec<CacheRow>,
}

impl Agent {
    /// A meter for runs of this agent: it reads what this agent's cache strategy reads, and knows its prices.
    #[must_use]
    pub fn cache_meter(&self) -> CacheMeter {
        let core = self.core();
        CacheMeter::new(Arc::clone(&core.cache_strategy), core.options.pricing.clone())
    }
}

impl CacheMeter {
    /// A meter that reads usage as `strategy` does. Without prices every amount is a known zero that says so.
    #[must_use]
    pub fn new(strategy: Arc<dyn CacheStrategy>, pricing: Option<Arc<dyn PricingTable>>) -> Self {
        CacheMeter(Arc::new(Inner { strategy, pricing, seen: Mutex::default() }))
    }

    /// The options of a run that this meter listens to. Attached to several runs it adds them up.
    #[must_use]
    pub fn attach(&self, options: RunOptions) -> RunOptions {
        let inner = Arc::clone(&self.0);
        options.wire(move |wiring| {
            let listening = Arc::clone(&inner);
            wiring
                .events()
                .on_shared(Pattern::All, Arc::new(move |event: &Arc<Event>| listening.hear(event)))
                .keep();
            wiring.observe(Arc::new(GateWatch(Arc::clone(&inner))));
        })
    }

    /// The rows so far.
    #[must_use]
    pub fn rows(&self) -> Vec<CacheRow> {
        lock(&self.0.seen).rows.clone()
    }

    /// The numbers so far.
    #[must_use]
    pub fn summary(&self) -> CacheSummary {
        CacheSummary::of(self.rows())
    }
}

impl Inner {
    fn hear(&self, event: &Event) {
        let level = Str::from(event.meta.runtime_stage_id.subflow_path().unwrap_or_default());
        match event.name() {
            Some(EventName::StreamLlmStart) => {
                if let Some(start) = StreamLlmStart::of(&event.kind) {
                    lock(&self.seen).models.insert(level, start.model.clone());
                }
            }
            Some(EventName::StreamLlmEnd) => {
                if let Some(end) = StreamLlmEnd::of(&event.kind) {
                    self.file(&level, end);
                }
            }
            _ => {}
        }
    }

    fn file(&self, level: &Str, end: &StreamLlmEnd) {
        let mut usage = Usage::new(end.usage.input, end.usage.output);
        usage.cache_read = end.usage.cache_read;
        usage.cache_write = end.usage.cache_write;
        usage.thinking = end.usage.thinking;
        // An answer without usage is recorded as 0/0 and nothing else.
        let usage = Some(usage).filter(|usage| *usage != Usage::new(0, 0));
        let metrics = row::read(self.strategy.extract_metrics(usage.as_ref()), usage.as_ref());
        let mut seen = lock(&self.seen);
        let model = match &end.served_by {
            Some(by) => by.model.clone(),
            None => seen.models.get(level).cloned().unwrap_or_default(),
        };
        let (dollars_spent, dollars_saved_vs_no_cache) =
            row::price(self.pricing.as_deref(), &model, usage.as_ref(), &metrics);
        let (branch, rule) = seen.gates.get(level).cloned().unwrap_or(("none".into(), None));
        seen.rows.push(CacheRow {
            iteration: end.iteration,
            branch: branch.to_string(),
            rule: rule.map(|rule| rule.to_string()),
            metrics,
            dollars_spent,
            dollars_saved_vs_no_cache,
        });
    }
}

/// Hears what the gate decides. The gate is known by its own id, however deep it is mounted.
struct GateWatch(Arc<Inner>);

impl Recorder for GateWatch {
    fn id(&self) -> &str {
        "cache-meter-gate"
    }

    fn interest(&self) -> Interest {
        Interest::of(Hook::Decision)
    }

    fn on_decision(&self, cx: &EventCx<'_>, e: &DecisionEvent) -> HookResult {
        let step = &cx.traversal.runtime_stage_id;
        if local_segment(step.local_id()) != ids::CACHE_GATE {
            return Ok(());
        }
        // The level of the call is the one that mounts the cache subflow.
        let path = step.subflow_path().unwrap_or_default();
        let level = path.rsplit_once('/').map_or("", |(level, _)| level);
        let rule = e.evidence.as_ref().and_then(|evidence| evidence.winner()?.label.clone());
        lock(&self.0.seen).gates.insert(Str::from(level), (e.chosen_id.clone(), rule));
        Ok(())
    }
}

/// The summary as JSON, for reports.
impl From<&CacheSummary> for Value {
    fn from(summary: &CacheSummary) -> Self {
        serde_json::to_value(summary).map(Value::from).unwrap_or_default()
    }
}

impl fmt::Debug for CacheMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheMeter").field("rows", &lock(&self.0.seen).rows.len()).finish_non_exhaustive()
    }
}

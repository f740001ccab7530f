//! Runs as X-Ray segments, over a client that is given (REC-72).
//!
//! A run is a segment of the service; its iterations, model calls and tool calls are subsegments, each shipped when it ends. Without
//! `include_payloads` they hold structure only.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_core::injection::BoxError;
use agentfootprint_core::observe::{
    ObservabilityStrategy, SampleRate, SinkConfigError, Strategy, StrategyCapabilities, StrategyLife,
};
use agentfootprint_record::events::words::CompositionStatus;
use agentfootprint_record::events::{AgentEvent, Domain, Event, EventName, Pattern};
use async_trait::async_trait;
use footprint::value::{Object, Str, Value};
use sha2::{Digest as _, Sha256};

use crate::batch::{Batcher, Entry, Limits, Transport};
use crate::lock;

/// Runs that may be open at once; beyond, the quietest is closed: it was dropped without a word.
const MAX_RUNS: usize = 4096;

/// The one operation of X-Ray that is used. Implemented over a vendor's client by whoever has one, called by [`XRaySink`] off the
/// run.
#[async_trait]
pub trait SegmentsClient: Send + Sync + 'static {
    /// `PutTraceSegments`: each document is the JSON of one segment.
    ///
    /// # Errors
    /// What was not taken.
    async fn put_trace_segments(&self, documents: Vec<String>) -> Result<(), BoxError>;
}

/// How runs become segments.
#[derive(Clone, Debug)]
pub struct XRayOptions {
    service_name: String,
    sample: SampleRate,
    batch: usize,
    include_payloads: bool,
}

impl XRayOptions {
    /// Every run, 25 segments at once, no payloads.
    pub fn new(service_name: impl Into<String>) -> Self {
        Self {
            service_name: service_name.into(),
            sample: SampleRate::ALL,
            batch: 25,
            include_payloads: false,
        }
    }

    /// A share of runs.
    #[must_use]
    pub fn sample(mut self, rate: SampleRate) -> Self {
        self.sample = rate;
        self
    }

    /// This many segments at once.
    #[must_use]
    pub fn batch(mut self, segments: NonZeroUsize) -> Self {
        self.batch = segments.get();
        self
    }

    /// Adds prompts, answers, arguments and results as metadata: the words of people, models and tools leave the process.
    #[must_use]
    pub fn include_payloads(mut self, on: bool) -> Self {
        self.include_payloads = on;
        self
    }
}

/// Makes segments of runs.
pub struct XRaySink {
    options: XRayOptions,
    runs: Mutex<HashMap<Str, Run>>,
    batcher: Batcher,
    life: Arc<StrategyLife>,
}

struct Run {
    trace_id: String,
    root: Segment,
    made: u64,
    iterations: HashMap<(String, u64), Segment>,
    calls: HashMap<String, Segment>,
    tools: HashMap<(String, String), Segment>,
    /// Where agents are mounted, by their turns.
    agents: Vec<String>,
    depth: usize,
    last_ms: u64,
}

struct Segment {
    id: String,
    parent: Option<String>,
    name: String,
    start_ms: u64,
    fault: bool,
    annotations: Object,
    metadata: Object,
}

impl XRaySink {
    /// Ships through a client.
    ///
    /// # Errors
    /// [`SinkConfigError`] when the service name is blank.
    pub fn new(options: XRayOptions, client: Arc<dyn SegmentsClient>) -> Result<Self, SinkConfigError> {
        if options.service_name.trim().is_empty() {
            return Err(SinkConfigError::new("service_name", "blank", "the name of the service"));
        }
        let life = Arc::new(StrategyLife::new());
        let limits = Limits {
            entries: options.batch,
            bytes: 512 * 1024,
            interval: Duration::from_millis(1000),
            overhead: 1,
        };
        let batcher = Batcher::new("xray", Arc::clone(&life), limits, Box::new(Puts(client)));
        Ok(Self { options, runs: Mutex::default(), batcher, life })
    }

    fn ship(&self, trace_id: &str, segment: Segment, end_ms: u64) {
        let seconds = |ms: u64| Value::from(ms as f64 / 1000.0);
        let mut document = Object::new();
        document.insert("name", Value::from(safe(&segment.name)));
        document.insert("id", Value::from(segment.id));
        document.insert("trace_id", Value::from(trace_id));
        if let Some(parent) = segment.parent {
            document.insert("parent_id", Value::from(parent));
            document.insert("type", Value::from("subsegment"));
        }
        document.insert("start_time", seconds(segment.start_ms));
        document.insert("end_time", seconds(end_ms));
        if segment.fault {
            document.insert("fault", Value::from(true));
        }
        if !segment.annotations.is_empty() {
            document.insert("annotations", Value::Object(segment.annotations));
        }
        if self.options.include_payloads && !segment.metadata.is_empty() {
            let mut under = Object::new();
            under.insert("agentfootprint", Value::Object(segment.metadata));
            document.insert("metadata", Value::Object(under));
        }
        self.batcher.put(Entry { at_ms: end_ms, text: Value::Object(document).to_string() });
    }

    fn close(&self, run: Run) {
        let at = run.last_ms;
        let calls = run.calls.into_values().chain(run.tools.into_values());
        for segment in calls.chain(run.iterations.into_values()).chain([run.root]) {
            self.ship(&run.trace_id, segment, at);
        }
    }

    /// True when the run is over.
    fn apply(&self, run: &mut Run, event: &Event) -> bool {
        let at = event.meta.wall_clock_ms;
        run.last_ms = run.last_ms.max(at);
        let agent = run.agent_of(event);
        let step = event.meta.runtime_stage_id.to_string();
        match &event.kind {
            AgentEvent::AgentTurnStart(turn) => {
                run.agents.push(path_of(event));
                run.root.metadata.insert("userPrompt", Value::from(turn.user_prompt.clone()));
            }
            AgentEvent::AgentTurnEnd(turn) => {
                run.root.metadata.insert("finalContent", Value::from(turn.final_content.clone()));
                return run.depth == 0 && agent.is_empty();
            }
            AgentEvent::AgentIterationStart(start) => {
                let parent = run.root.id.clone();
                let segment = run.segment(event, format!("iteration:{}", start.iter_index), parent);
                if let Some(old) = run.iterations.insert((agent, start.iter_index), segment) {
                    self.ship(&run.trace_id, old, at);
                }
            }
            AgentEvent::AgentIterationEnd(end) => {
                if let Some(segment) = run.iterations.remove(&(agent, end.iter_index)) {
                    self.ship(&run.trace_id, segment, at);
                }
            }
            AgentEvent::StreamLlmStart(start) => {
                let parent = run.parent(&agent, Some(start.iteration));
                let mut segment = run.segment(event, "llm".to_owned(), parent);
                segment.annotations.insert("model", Value::from(start.model.clone()));
                segment.annotations.insert("provider", Value::from(start.provider.clone()));
                if let Some(old) = run.calls.insert(step, segment) {
                    self.ship(&run.trace_id, old, at);
                }
            }
            AgentEvent::StreamLlmEnd(end) => {
                if let Some(mut segment) = run.calls.remove(&step) {
                    segment.annotations.insert("inputTokens", Value::from(end.usage.input));
                    segment.annotations.insert("outputTokens", Value::from(end.usage.output));
                    segment.metadata.insert("content", Value::from(end.content.clone()));
                    self.ship(&run.trace_id, segment, at);
                }
                return event
                    .meta
                    .composition_path
                    .first()
                    .is_some_and(|owner| owner.starts_with("LLMCall:"));
            }
            AgentEvent::StreamToolStart(start) => {
                let parent = run.parent(&agent, event.meta.iter_index);
                let mut segment = run.segment(event, format!("tool:{}", start.tool_name), parent);
                segment.metadata.insert("args", start.args.clone());
                if let Some(old) = run.tools.insert((agent, start.tool_call_id.to_string()), segment) {
                    self.ship(&run.trace_id, old, at);
                }
            }
            AgentEvent::StreamToolEnd(end) => {
                if let Some(mut segment) = run.tools.remove(&(agent, end.tool_call_id.to_string())) {
                    segment.fault = end.error == Some(true);
                    if let Some(result) = &end.result {
                        segment.metadata.insert("result", result.clone());
                    }
                    self.ship(&run.trace_id, segment, at);
                }
            }
            AgentEvent::CostTick(tick) => {
                run.root.annotations.insert("cumulativeCostUsd", Value::from(tick.cumulative.estimated_usd));
            }
            AgentEvent::CompositionEnter(_) => run.depth += 1,
            AgentEvent::CompositionExit(exit) => {
                run.depth = run.depth.saturating_sub(1);
                let agent_owns =
                    event.meta.composition_path.first().is_some_and(|owner| owner.starts_with("Agent:"));
                // One that failed is not over: its `error.fatal` is still to come.
                return run.depth == 0 && !agent_owns && exit.status != CompositionStatus::Err;
            }
            AgentEvent::ErrorFatal(fatal) => {
                run.root.fault = true;
                run.root.annotations.insert("errorStage", Value::from(fatal.stage.clone()));
                run.root.annotations.insert("errorScope", Value::from(fatal.scope.clone()));
                return true;
            }
            AgentEvent::PauseRequest(_) => return true,
            _ => {}
        }
        false
    }
}

impl Run {
    fn begin(event: &Event, service: &str) -> Self {
        let run_id = event.meta.run_id.as_str();
        let at = event.meta.wall_clock_ms;
        let root = Segment {
            id: hex(run_id, "segment 0", 16),
            parent: None,
            name: service.to_owned(),
            start_ms: at,
            fault: false,
            annotations: Object::new(),
            metadata: Object::new(),
        };
        let mut run = Self {
            trace_id: format!("1-{:08x}-{}", at / 1000, hex(run_id, "trace", 24)),
            root,
            made: 0,
            iterations: HashMap::new(),
            calls: HashMap::new(),
            tools: HashMap::new(),
            agents: Vec::new(),
            depth: 0,
            last_ms: at,
        };
        run.root.annotations.insert("runId", Value::from(run_id));
        run
    }

    fn segment(&mut self, event: &Event, name: String, parent: String) -> Segment {
        self.made += 1;
        Segment {
            id: hex(event.meta.run_id.as_str(), &format!("segment {}", self.made), 16),
            parent: Some(parent),
            name,
            start_ms: event.meta.wall_clock_ms,
            fault: false,
            annotations: Object::new(),
            metadata: Object::new(),
        }
    }

    /// The mount of the innermost agent the event was said in.
    fn agent_of(&self, event: &Event) -> String {
        let path = path_of(event);
        let inside =
            |agent: &&String| agent.is_empty() || path == **agent || path.starts_with(&format!("{agent}/"));
        self.agents.iter().filter(inside).max_by_key(|agent| agent.len()).cloned().unwrap_or_default()
    }

    /// The iteration of that index, by index and not the topmost; else the latest open one; else the run.
    fn parent(&self, agent: &str, index: Option<u64>) -> String {
        let of_agent = || self.iterations.iter().filter(|((of, _), _)| of == agent);
        let named = of_agent().find(|((_, at), _)| Some(*at) == index);
        let latest = || of_agent().max_by_key(|((_, at), _)| *at);
        named.or_else(latest).map_or_else(|| self.root.id.clone(), |(_, segment)| segment.id.clone())
    }
}

fn path_of(event: &Event) -> String {
    event.meta.subflow_path().collect::<Vec<_>>().join("/")
}

/// Ids follow from the run's id, so that they are the same whoever computes them.
fn hex(run_id: &str, what: &str, digits: usize) -> String {
    let digest = Sha256::digest(format!("{run_id}\n{what}").as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().chars().take(digits).collect()
}

/// The service takes some letters in names, and 200 of them.
fn safe(name: &str) -> String {
    let kept =
        |letter: char| if letter.is_alphanumeric() || " _.:/%&#=+-@".contains(letter) { letter } else { '_' };
    name.chars().map(kept).take(200).collect()
}

impl fmt::Debug for XRaySink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XRaySink")
            .field("options", &self.options)
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Strategy for XRaySink {
    fn name(&self) -> &str {
        "xray"
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    fn relevant_event_types(&self) -> Vec<Pattern> {
        let events = [
            EventName::StreamLlmStart,
            EventName::StreamLlmEnd,
            EventName::StreamToolStart,
            EventName::StreamToolEnd,
            EventName::CostTick,
            EventName::ErrorFatal,
            EventName::PauseRequest,
            EventName::PauseResume,
        ];
        let domains = [Domain::Agent, Domain::Composition].map(Pattern::Domain);
        domains.into_iter().chain(events.map(Pattern::Event)).collect()
    }

    fn capabilities(&self) -> StrategyCapabilities {
        StrategyCapabilities::TRACES
    }

    async fn flush(&self) -> Result<(), BoxError> {
        self.batcher.flush().await
    }

    /// Closes the runs that are still open; a flush afterwards ships them.
    fn stop(&self) {
        let open = std::mem::take(&mut *lock(&self.runs));
        open.into_values().for_each(|run| self.close(run));
    }
}

impl ObservabilityStrategy for XRaySink {
    fn export_event(&self, event: &Arc<Event>) {
        if !self.options.sample.takes(event.meta.run_id.as_str()) {
            return;
        }
        let run_id = event.meta.run_id.as_shared();
        let mut runs = lock(&self.runs);
        if !runs.contains_key(run_id) {
            let opens = matches!(
                event.kind,
                AgentEvent::AgentRunConfigured(_)
                    | AgentEvent::AgentTurnStart(_)
                    | AgentEvent::CompositionEnter(_)
                    | AgentEvent::StreamLlmStart(_)
                    | AgentEvent::PauseResume(_)
            );
            if !opens {
                return;
            }
            if runs.len() >= MAX_RUNS {
                let quietest = runs.iter().min_by_key(|(_, run)| run.last_ms).map(|(id, _)| id.clone());
                if let Some(gone) = quietest.and_then(|id| runs.remove(&id)) {
                    self.close(gone);
                }
            }
            runs.insert(run_id.clone(), Run::begin(event, &self.options.service_name));
        }
        let Some(run) = runs.get_mut(run_id) else { return };
        if self.apply(run, event)
            && let Some(over) = runs.remove(run_id)
        {
            self.close(over);
        }
    }
}

struct Puts(Arc<dyn SegmentsClient>);

#[async_trait]
impl Transport for Puts {
    async fn ship(&self, batch: Vec<Entry>) -> Result<(), BoxError> {
        self.0.put_trace_segments(batch.into_iter().map(|entry| entry.text).collect()).await
    }
}

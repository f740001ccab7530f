//! Log lines: what a run says, a line per event, through `tracing` or a function (REC-61).

use std::fmt;
use std::sync::Arc;

use agentfootprint_core::events::Subscription;
use agentfootprint_core::observe::{
    ObservabilityStrategy, SinkConfigError, Strategy, StrategyCapabilities, StrategyLife,
};
use agentfootprint_core::run::Runner;
use agentfootprint_record::events::{Domain, Event, EventName, Pattern};

type Format = Arc<dyn Fn(&Event) -> String + Send + Sync>;
type Lines = Arc<dyn Fn(&str) + Send + Sync>;

/// What is logged, how, and where to.
///
/// ```
/// use agentfootprint_telemetry::log::LoggingOptions;
/// let options = LoggingOptions::new().domains(["agent", "stream"]).format(|event| event.name_str().to_owned());
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct LoggingOptions {
    domains: Option<Vec<String>>,
    format: Format,
    sink: Option<Lines>,
}

impl Default for LoggingOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl LoggingOptions {
    /// The domains `context` and `stream`, as [`default_line`], through `tracing`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            domains: Some(vec!["context".into(), "stream".into()]),
            format: Arc::new(default_line),
            sink: None,
        }
    }

    /// These domains; they are looked up when the logging is attached.
    #[must_use]
    pub fn domains<S: Into<String>>(mut self, domains: impl IntoIterator<Item = S>) -> Self {
        self.domains = Some(domains.into_iter().map(Into::into).collect());
        self
    }

    /// Every event, consumers' own included.
    #[must_use]
    pub fn all_domains(mut self) -> Self {
        self.domains = None;
        self
    }

    /// How a line reads.
    #[must_use]
    pub fn format(mut self, format: impl Fn(&Event) -> String + Send + Sync + 'static) -> Self {
        self.format = Arc::new(format);
        self
    }

    /// Where lines go in place of `tracing`. It is called inside the run.
    #[must_use]
    pub fn sink(mut self, sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    fn patterns(&self) -> Result<Vec<Pattern>, SinkConfigError> {
        let Some(domains) = &self.domains else { return Ok(vec![Pattern::All]) };
        let mut out = Vec::new();
        for word in domains {
            let known = Domain::parse(word).ok_or_else(|| {
                let known = Domain::ALL.map(Domain::as_str).join(", ");
                SinkConfigError::new("domains", format!("`{word}`"), format!("the domains are {known}"))
            })?;
            if !out.contains(&Pattern::Domain(known)) {
                out.push(Pattern::Domain(known));
            }
        }
        Ok(out)
    }
}

impl fmt::Debug for LoggingOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoggingOptions").field("domains", &self.domains).finish_non_exhaustive()
    }
}

/// `[domain.action]` and the payload, compact. It holds whatever the event holds: prompts, arguments, results.
#[must_use]
pub fn default_line(event: &Event) -> String {
    let name = event.name_str();
    format!("[{}] {}", name.strip_prefix("agentfootprint.").unwrap_or(name), event.kind.payload())
}

/// Logs what every later run of a runner says, until the guard is dropped.
///
/// # Errors
/// [`SinkConfigError`] when a domain does not exist; it lists those that do.
pub fn attach_logging<R: Runner>(runner: &R, options: LoggingOptions) -> Result<Logging, SinkConfigError> {
    let patterns = options.patterns()?;
    let heard = patterns.into_iter().map(|pattern| {
        let (format, sink) = (Arc::clone(&options.format), options.sink.clone());
        let listener = move |event: &Arc<Event>| match &sink {
            Some(sink) => sink(&format(event)),
            None => trace(event, || format(event)),
        };
        runner.events().on_shared(pattern, Arc::new(listener))
    });
    Ok(Logging(heard.collect()))
}

/// Logging that is attached; dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the logging at once; `keep` it for the runner's life"]
pub struct Logging(Vec<Subscription>);

impl Logging {
    /// Ends it now.
    pub fn detach(self) {
        drop(self);
    }

    /// Keeps it for as long as the runner lives.
    pub fn keep(self) {
        self.0.into_iter().for_each(Subscription::keep);
    }
}

/// Every event as a `tracing` event: target `agentfootprint::<domain>`, the event's meta as fields, no payload.
///
/// Failures of runs are errors, tokens are traces, everything else is information.
#[derive(Debug, Default)]
pub struct TracingSink {
    life: StrategyLife,
}

impl TracingSink {
    /// Through whatever subscriber `tracing` has.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Strategy for TracingSink {
    fn name(&self) -> &str {
        "tracing"
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    fn capabilities(&self) -> StrategyCapabilities {
        StrategyCapabilities::LOGS
    }
}

impl ObservabilityStrategy for TracingSink {
    fn export_event(&self, event: &Arc<Event>) {
        trace(event, || event.name_str().to_owned());
    }
}

/// A `tracing` event needs its target at compile time: one call site per domain and level.
macro_rules! at_domain {
    ($level:ident, $event:ident, $line:ident; $($domain:ident $target:literal)+) => {
        match $event.name().map(EventName::domain) {
            $( Some(Domain::$domain) => say!($level, concat!("agentfootprint::", $target), $event, $line), )+
            None => say!($level, "agentfootprint::custom", $event, $line),
        }
    };
}

macro_rules! say {
    ($level:ident, $target:expr, $event:ident, $line:ident) => {{
        let meta = &$event.meta;
        tracing::event!(
            target: $target,
            tracing::Level::$level,
            event = $event.name_str(),
            run_id = meta.run_id.as_str(),
            runtime_stage_id = %meta.runtime_stage_id,
            composition_path = %meta.composition_path.join("/"),
            wall_clock_ms = meta.wall_clock_ms,
            run_offset_ms = meta.run_offset_ms,
            turn_index = meta.turn_index,
            iter_index = meta.iter_index,
            trace_id = meta.trace_id.as_deref(),
            span_id = meta.span_id.as_deref(),
            correlation_id = meta.correlation_id.as_deref(),
            session_id = meta.session_id.as_deref(),
            principal = meta.principal.as_deref(),
            tenant = meta.tenant.as_deref(),
            "{}",
            $line()
        )
    }};
}

macro_rules! by_domain {
    ($level:ident, $event:ident, $line:ident) => {
        at_domain!($level, $event, $line;
            Composition "composition" Agent "agent" Stream "stream" Context "context" Memory "memory" Tools "tools"
            Skill "skill" Map "map" Integrity "integrity" Validation "validation" Permission "permission"
            Credential "credential" Risk "risk" Fallback "fallback" Cost "cost" Eval "eval" Error "error"
            Reliability "reliability" Resilience "resilience" Pause "pause" Checkin "checkin"
            Middleware "middleware" Embedding "embedding" Artifacts "artifacts" Findings "findings"
            ToolChoice "tool_choice" Ontology "ontology")
    };
}

fn trace(event: &Event, line: impl Fn() -> String) {
    match event.name() {
        Some(EventName::ErrorFatal) => by_domain!(ERROR, event, line),
        Some(EventName::StreamToken | EventName::StreamThinkingDelta) => by_domain!(TRACE, event, line),
        _ => by_domain!(INFO, event, line),
    }
}

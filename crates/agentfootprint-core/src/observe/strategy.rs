//! The ports of what is shipped elsewhere (REC §6): what an exporter, a bill or a viewer is told.

use std::sync::Arc;

use agentfootprint_record::events::{Event, Pattern, payload};
use async_trait::async_trait;
use footprint::value::Str;

use super::life::StrategyLife;
use crate::injection::BoxError;
use crate::record::{BoundaryRecorder, RecordingHandle};

/// What every strategy has: a name, and how it is emptied and ended.
///
/// A strategy is told things inside a run: it buffers, it never waits, and a panic in it changes nothing of the run.
#[async_trait]
pub trait Strategy: Send + Sync + 'static {
    /// Its name, for reports.
    fn name(&self) -> &str;

    /// Who holds this instance and how it fares: a field of the strategy, made with [`StrategyLife::new`].
    fn life(&self) -> &StrategyLife;

    /// The events it has a use for; it is told no others.
    fn relevant_event_types(&self) -> Vec<Pattern> {
        vec![Pattern::All]
    }

    /// What it produces.
    fn capabilities(&self) -> StrategyCapabilities {
        StrategyCapabilities::default()
    }

    /// Ships what is buffered.
    ///
    /// # Errors
    /// What could not be shipped. It is dropped and counted, never queued again; a shutdown reports it and goes on.
    async fn flush(&self) -> Result<(), BoxError> {
        Ok(())
    }

    /// Ends it. Called once at most, when the last runner that holds it lets go.
    fn stop(&self) {}
}

/// What a strategy produces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrategyCapabilities {
    /// The events themselves.
    pub events: bool,
    /// Log lines.
    pub logs: bool,
    /// Spans.
    pub traces: bool,
    /// Numbers over time.
    pub metrics: bool,
}

impl StrategyCapabilities {
    /// The events themselves.
    pub const EVENTS: Self = Self { events: true, logs: false, traces: false, metrics: false };
    /// Log lines.
    pub const LOGS: Self = Self { events: false, logs: true, traces: false, metrics: false };
    /// Spans.
    pub const TRACES: Self = Self { events: false, logs: false, traces: true, metrics: false };
    /// Numbers over time.
    pub const METRICS: Self = Self { events: false, logs: false, traces: false, metrics: true };

    /// What either of two produces.
    ///
    /// ```
    /// use agentfootprint_core::observe::StrategyCapabilities;
    /// let both = StrategyCapabilities::LOGS.or(StrategyCapabilities::TRACES);
    /// assert!(both.logs && both.traces && !both.metrics);
    /// ```
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            events: self.events || other.events,
            logs: self.logs || other.logs,
            traces: self.traces || other.traces,
            metrics: self.metrics || other.metrics,
        }
    }
}

/// Takes the events of runs.
pub trait ObservabilityStrategy: Strategy {
    /// Takes one event, inside the run: it buffers and returns.
    fn export_event(&self, event: &Arc<Event>);
}

/// What one priced model call cost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CostTick {
    /// The run.
    pub run_id: Str,
    /// The model.
    pub model: Str,
    /// Who served it.
    pub provider: Option<Str>,
    /// Tokens of this call that were read.
    pub recent_input_tokens: u64,
    /// Tokens of this call that were written.
    pub recent_output_tokens: u64,
    /// What this call cost, in US dollars.
    pub recent_cost_usd: f64,
    /// Tokens read by the run so far.
    pub cumulative_input_tokens: u64,
    /// Tokens written by the run so far.
    pub cumulative_output_tokens: u64,
    /// What the run has cost so far, in US dollars.
    pub cumulative_cost_usd: f64,
    /// Which iteration of its agent made the call, from 1.
    pub iteration: Option<u64>,
    /// The visit that made the call.
    pub runtime_stage_id: String,
}

impl CostTick {
    /// Reads the event of a priced call.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        use agentfootprint_record::events::Payload as _;
        let tick = payload::CostTick::of(&event.kind)?;
        Some(Self {
            run_id: event.meta.run_id.as_str().into(),
            model: tick.model.clone(),
            provider: tick.provider.clone(),
            recent_input_tokens: tick.tokens_input,
            recent_output_tokens: tick.tokens_output,
            recent_cost_usd: tick.estimated_usd,
            cumulative_input_tokens: tick.cumulative.tokens_input,
            cumulative_output_tokens: tick.cumulative.tokens_output,
            cumulative_cost_usd: tick.cumulative.estimated_usd,
            iteration: event.meta.iter_index,
            runtime_stage_id: event.meta.runtime_stage_id.to_string(),
        })
    }
}

/// Takes what each priced call cost.
pub trait CostStrategy: Strategy {
    /// Takes one tick.
    fn record_cost(&self, tick: &CostTick);
}

/// Draws runs from their boundaries.
pub trait FlowchartStrategy: Strategy {
    /// A run begins; its boundaries fill while it goes on and can be read at any time.
    fn run_started(&self, run_id: &Str, boundaries: Arc<BoundaryRecorder>);
}

/// Looks at the recordings of runs, without sending them anywhere.
pub trait RecordingStrategy: Strategy {
    /// A run begins; its recording can be read while it goes on and afterwards.
    fn run_recorded(&self, run_id: &Str, recording: RecordingHandle);
}

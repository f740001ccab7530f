//! What calls cost, kept in memory.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use agentfootprint_core::observe::{CostStrategy, CostTick, Strategy, StrategyCapabilities, StrategyLife};
use agentfootprint_record::events::{EventName, Pattern};

use crate::lock;

/// Keeps the last ticks of whatever runs of whatever runners.
///
/// ```
/// use std::num::NonZeroUsize;
/// use agentfootprint_telemetry::cost::InMemoryCost;
/// let bill = InMemoryCost::new(NonZeroUsize::new(1_000).unwrap());
/// assert_eq!((bill.count(), bill.ticks().len()), (0, 0));
/// ```
#[derive(Debug)]
pub struct InMemoryCost {
    max_ticks: NonZeroUsize,
    kept: Mutex<Kept>,
    life: StrategyLife,
}

#[derive(Debug, Default)]
struct Kept {
    ticks: VecDeque<CostTick>,
    count: u64,
}

impl InMemoryCost {
    /// Keeps at most this many ticks; the oldest leave first.
    #[must_use]
    pub fn new(max_ticks: NonZeroUsize) -> Self {
        Self { max_ticks, kept: Mutex::default(), life: StrategyLife::new() }
    }

    /// The ticks that are kept, oldest first.
    #[must_use]
    pub fn ticks(&self) -> Vec<CostTick> {
        lock(&self.kept).ticks.iter().cloned().collect()
    }

    /// How many ticks there were so far, kept or not.
    #[must_use]
    pub fn count(&self) -> u64 {
        lock(&self.kept).count
    }

    /// The ticks that came after the count was this, as far as they are kept.
    #[must_use]
    pub fn since(&self, count: u64) -> Vec<CostTick> {
        let kept = lock(&self.kept);
        let first = kept.count - kept.ticks.len() as u64;
        let skip = usize::try_from(count.saturating_sub(first)).unwrap_or(usize::MAX);
        kept.ticks.iter().skip(skip).cloned().collect()
    }

    /// Forgets all ticks and begins to count anew.
    pub fn clear(&self) {
        *lock(&self.kept) = Kept::default();
    }
}

impl Strategy for InMemoryCost {
    fn name(&self) -> &str {
        "in-memory-cost"
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    fn relevant_event_types(&self) -> Vec<Pattern> {
        vec![Pattern::Event(EventName::CostTick)]
    }

    fn capabilities(&self) -> StrategyCapabilities {
        StrategyCapabilities::METRICS
    }
}

impl CostStrategy for InMemoryCost {
    fn record_cost(&self, tick: &CostTick) {
        let mut kept = lock(&self.kept);
        kept.count += 1;
        if kept.ticks.len() >= self.max_ticks.get() {
            kept.ticks.pop_front();
        }
        kept.ticks.push_back(tick.clone());
    }
}

//! What a strategy decided at one visit.

use agentfootprint_record::message::Message;
use footprint::value::{Object, Str, Value};

use super::fold::FoldDraft;
use super::plan::RemovalPlan;
use crate::llm::Usage;

/// What a strategy did: made from a [`RemovalPlan`], so window, origins, evictions and record cannot disagree.
#[derive(Debug)]
pub struct WindowOutcome {
    pub(super) plan: RemovalPlan,
    pub(super) replacement: Option<Message>,
    pub(super) fields: Object,
    pub(super) pressure: Option<Pressure>,
    pub(super) billed: Option<Billed>,
    pub(super) fold: Option<FoldDraft>,
}

/// A strategy with a budget compared it with a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pressure {
    pub(super) cap: u64,
    pub(super) measured: u64,
    pub(super) summarizes: bool,
}

/// A call the strategy made.
#[derive(Clone, Debug)]
pub(super) struct Billed {
    pub(super) provider: Str,
    pub(super) model: Str,
    pub(super) usage: Usage,
}

impl WindowOutcome {
    pub(super) fn of(plan: RemovalPlan, replacement: Option<Message>) -> Self {
        Self { plan, replacement, fields: Object::new(), pressure: None, billed: None, fold: None }
    }

    /// Adds a field of the strategy's own to the record of this visit.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name, value.into());
        self
    }

    /// Says that a budget in tokens was compared with a measurement; the run's events report it as pressure.
    #[must_use]
    pub fn budget(mut self, cap: u64, measured: u64) -> Self {
        self.pressure = Some(Pressure { cap, measured, summarizes: false });
        self.field("measuredTokens", measured)
            .field("thresholdTokens", cap)
            .field("overBudget", measured > cap)
    }

    pub(super) fn summarizing(mut self) -> Self {
        if let Some(pressure) = &mut self.pressure {
            pressure.summarizes = true;
        }
        self
    }

    pub(super) fn billed(mut self, billed: Billed) -> Self {
        self.billed = Some(billed);
        self
    }

    pub(super) fn folding(mut self, draft: FoldDraft) -> Self {
        self.fold = Some(draft);
        self
    }

    /// Whether messages leave.
    #[must_use]
    pub fn removes(&self) -> bool {
        self.plan.span.is_some()
    }
}

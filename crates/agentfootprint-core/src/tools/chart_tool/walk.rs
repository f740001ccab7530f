//! What every tool that walks a chart shares: who observes, what is redacted, which records are kept (TOOL-78, TOOL-79).

use std::sync::Arc;

use footprint::chart::Chart;
use footprint::observe::Recorder;
use footprint::report::{Outcome, RunReport};
use footprint::snapshot::Snapshot;
use footprint::state::RedactionPolicy;
use footprint::value::Value;
use footprint::walk::RunOptions;

use super::{InnerChartPaused, InnerRunStore};
use crate::tools::context::ToolContext;
use crate::tools::declare::ToolDefProblem;
use crate::tools::failure::ToolFailure;

/// How many records a tool keeps unless it says otherwise.
const KEEP: usize = 20;

/// The dials, as declared.
#[derive(Default)]
pub(in crate::tools) struct WalkDials {
    pub(in crate::tools) recorders: Vec<Arc<dyn Recorder>>,
    pub(in crate::tools) keep: bool,
    pub(in crate::tools) limit: Option<usize>,
    pub(in crate::tools) redact: Option<RedactionPolicy>,
}

impl WalkDials {
    /// What is wrong with the dials and the description.
    pub(in crate::tools) fn problems(&self, description: &str) -> Vec<ToolDefProblem> {
        let mut problems = Vec::new();
        let mut note =
            |field, found: &str, fix| problems.push(ToolDefProblem::new(field, found.to_owned(), fix));
        if description.trim().is_empty() {
            note("description", "blank text", "say what the procedure is for");
        }
        if self.limit.is_some() && !self.keep {
            note("keepRecordLimit", "a limit without `keep_record`", "keep records or drop the limit");
        }
        if self.limit == Some(0) {
            note("keepRecordLimit", "0", "keep at least one record");
        }
        problems
    }

    /// The walk they describe.
    pub(in crate::tools) fn armed(self) -> ChartWalk {
        let store = self.keep.then(|| Arc::new(InnerRunStore::new(self.limit.unwrap_or(KEEP))));
        ChartWalk { recorders: self.recorders, redact: self.redact, store }
    }
}

/// Walks charts for one tool.
pub(in crate::tools) struct ChartWalk {
    recorders: Vec<Arc<dyn Recorder>>,
    redact: Option<RedactionPolicy>,
    store: Option<Arc<InnerRunStore>>,
}

impl ChartWalk {
    /// Where records are kept, when they are.
    pub(in crate::tools) fn store(&self) -> Option<&Arc<InnerRunStore>> {
        self.store.as_ref()
    }

    /// Walks a chart with the call's arguments. The record is filed however the walk ends, before anybody reads it: what a reader
    /// fails at is the moment its record is wanted.
    pub(in crate::tools) async fn run(
        &self,
        chart: &Chart,
        args: Value,
        ctx: &ToolContext,
        more: impl FnOnce(RunOptions) -> RunOptions,
    ) -> RunReport {
        let mut options = more(RunOptions::new().input(args).cancel(ctx.cancel().child_token()));
        if self.store.is_some() {
            options = options.narrative(true);
        }
        for recorder in &self.recorders {
            options = options.observe(Arc::clone(recorder));
        }
        if let Some(policy) = &self.redact {
            options = options.redaction(policy.clone());
        }
        let report = chart.run(options).await;
        if let Some(store) = &self.store {
            store.file(ctx, &report, self.redact.is_some());
        }
        report
    }

    /// The failure of a walk that did not come to its end.
    pub(in crate::tools) fn completed(
        &self,
        report: &RunReport,
        ctx: &ToolContext,
    ) -> Result<(), ToolFailure> {
        match report.outcome() {
            Outcome::Completed(_) => Ok(()),
            Outcome::Paused(paused) => {
                let checkpoint = Box::new(paused.checkpoint().clone());
                Err(InnerChartPaused { tool: ctx.tool_name().to_owned(), checkpoint }.into())
            }
            Outcome::Failed(error) => Err(ToolFailure::from(error.clone())),
            _ => Err(ToolFailure::message("the procedure ended in an unknown way")),
        }
    }

    /// What may be seen of the walk: with a redaction policy its redacted mirror.
    pub(in crate::tools) fn seen<'a>(&self, report: &'a RunReport) -> &'a Snapshot {
        if self.redact.is_some() { report.snapshot_redacted() } else { report.snapshot() }
    }
}

//! A flowchart as a tool (TOOL §13): each call is a walk of its own, and its record can be kept and inspected.

mod records;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use footprint::chart::Chart;
use footprint::observe::Recorder;
use footprint::pause::FlowchartCheckpoint;
use footprint::report::{Outcome, RunReport};
use footprint::state::RedactionPolicy;
use footprint::value::{Object, Str, Value};
use footprint::walk::RunOptions;
use thiserror::Error;

pub use self::records::{InnerOutcome, InnerRunRecord, InnerRunStore};
use super::context::ToolContext;
use super::declare::{ToolDefError, ToolDefProblem};
use super::failure::ToolFailure;
use super::output::ToolOutput;
use super::tool::{IntoTool, Tool, ToolHandler};

/// How many records a tool keeps unless it says otherwise.
const KEEP: usize = 20;

type Mapper = dyn Fn(&Object, &[String]) -> Result<ToolOutput, String> + Send + Sync;

/// Declares a flowchart as a tool; see [`flowchart_as_tool`].
pub struct FlowchartTool {
    name: Str,
    description: Str,
    chart: Chart,
    input_schema: Option<Value>,
    mapper: Option<Arc<Mapper>>,
    recorders: Vec<Arc<dyn Recorder>>,
    keep: bool,
    limit: Option<usize>,
    redact: Option<RedactionPolicy>,
}

/// A tool whose every call walks `chart` afresh, with the call's arguments as its input. The model reads the final state as JSON,
/// unless a mapper says otherwise.
///
/// ```
/// use agentfootprint_core::tools::{IntoTool as _, flowchart_as_tool};
/// use footprint::prelude::*;
/// let chart = Chart::builder(Stage::new("seed", |s: Scope| async move { Ok(s.set_value("sum", footprint::value!(3))?) })).build()?;
/// let tool = flowchart_as_tool("add", "Adds.", chart).keep_record().into_tool()?;
/// assert_eq!(tool.name(), "add");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn flowchart_as_tool(name: impl Into<Str>, description: impl Into<Str>, chart: Chart) -> FlowchartTool {
    FlowchartTool {
        name: name.into(),
        description: description.into(),
        chart,
        input_schema: None,
        mapper: None,
        recorders: Vec::new(),
        keep: false,
        limit: None,
        redact: None,
    }
}

impl FlowchartTool {
    /// JSON Schema of the arguments.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<Value>) -> Self {
        self.input_schema = Some(schema.into());
        self
    }

    /// Makes the result from the final values and the narrative. An error is what the model reads, marked as the mapper's.
    #[must_use]
    pub fn map_result(
        mut self,
        mapper: impl Fn(&Object, &[String]) -> Result<ToolOutput, String> + Send + Sync + 'static,
    ) -> Self {
        self.mapper = Some(Arc::new(mapper));
        self
    }

    /// Observes every walk.
    #[must_use]
    pub fn watch(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorders.push(recorder);
        self
    }

    /// Keeps the records of the latest calls; 20 of them.
    #[must_use]
    pub fn keep_record(mut self) -> Self {
        self.keep = true;
        self
    }

    /// Keeps another number of records.
    #[must_use]
    pub fn keep_record_limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Redacts the state: what is kept and what the model reads by default is the redacted mirror.
    #[must_use]
    pub fn redact(mut self, policy: RedactionPolicy) -> Self {
        self.redact = Some(policy);
        self
    }

    fn problems(&self) -> Vec<ToolDefProblem> {
        let mut problems = Vec::new();
        let mut note =
            |field, found: &str, fix| problems.push(ToolDefProblem::new(field, found.to_owned(), fix));
        if self.description.trim().is_empty() {
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
}

impl IntoTool for FlowchartTool {
    fn into_tool(self) -> Result<Tool, ToolDefError> {
        let problems = self.problems();
        let store = self.keep.then(|| Arc::new(InnerRunStore::new(self.limit.unwrap_or(KEEP))));
        let mut builder =
            Tool::builder(self.name).description(self.description).declarations(Default::default(), problems);
        if let Some(store) = &store {
            builder = builder.extension(Arc::clone(store));
        }
        let handler = Walks {
            chart: self.chart,
            mapper: self.mapper,
            recorders: self.recorders,
            redact: self.redact,
            store,
        };
        match self.input_schema {
            Some(schema) => builder.input_schema(schema).handle_with(handler).build(),
            None => builder.handle_with(handler).build(),
        }
    }
}

/// A chart inside a tool asked a person, which a tool's own walk cannot pass on.
#[derive(Clone, Debug, Error)]
#[error(
    "the procedure of `{tool}` paused inside the tool; a question of a tool's own chart is not passed on"
)]
pub struct InnerChartPaused {
    /// The tool.
    pub tool: String,
    /// Where the chart stands.
    pub checkpoint: Box<FlowchartCheckpoint>,
}

struct Walks {
    chart: Chart,
    mapper: Option<Arc<Mapper>>,
    recorders: Vec<Arc<dyn Recorder>>,
    redact: Option<RedactionPolicy>,
    store: Option<Arc<InnerRunStore>>,
}

#[async_trait]
impl ToolHandler for Walks {
    async fn execute(&self, args: Value, ctx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let report = self.chart.run(self.options(args, ctx)).await;
        // Filed on every exit and before the mapper: a mapper's own failure is the moment its record is wanted.
        if let Some(store) = &self.store {
            store.file(ctx, &report, self.redact.is_some());
        }
        match report.outcome() {
            Outcome::Completed(_) => self.result(&report),
            Outcome::Paused(paused) => {
                let checkpoint = Box::new(paused.checkpoint().clone());
                Err(InnerChartPaused { tool: ctx.tool_name().to_owned(), checkpoint }.into())
            }
            Outcome::Failed(error) => Err(ToolFailure::from(error.clone())),
            _ => Err(ToolFailure::message("the procedure ended in an unknown way")),
        }
    }
}

impl Walks {
    fn options(&self, args: Value, ctx: &ToolContext) -> RunOptions {
        let mut options = RunOptions::new()
            .input(args)
            .cancel(ctx.cancel().child_token())
            .narrative(self.mapper.is_some() || self.store.is_some());
        for recorder in &self.recorders {
            options = options.observe(Arc::clone(recorder));
        }
        match &self.redact {
            Some(policy) => options.redaction(policy.clone()),
            None => options,
        }
    }

    fn result(&self, report: &RunReport) -> Result<ToolOutput, ToolFailure> {
        let Some(mapper) = &self.mapper else {
            let snapshot = if self.redact.is_some() { report.snapshot_redacted() } else { report.snapshot() };
            return Ok(ToolOutput::Json(Value::from(snapshot.shared_state.clone())));
        };
        let told: Vec<String> = report.narrative_entries().into_iter().map(|entry| entry.text).collect();
        let mapped = catch_unwind(AssertUnwindSafe(|| mapper(&report.state(), &told)));
        Ok(match mapped {
            Ok(Ok(output)) => output,
            Ok(Err(reason)) => ToolOutput::text(format!("[mapper-error: {reason}]")),
            Err(_) => ToolOutput::text("[mapper-error: it panicked]"),
        })
    }
}

//! A flowchart as a tool (TOOL §13): each call is a walk of its own, and its record can be kept and inspected.

mod records;
mod walk;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use footprint::chart::Chart;
use footprint::observe::Recorder;
use footprint::pause::FlowchartCheckpoint;
use footprint::report::RunReport;
use footprint::state::RedactionPolicy;
use footprint::value::{Object, Str, Value};
use thiserror::Error;

pub use self::records::{InnerOutcome, InnerRunRecord, InnerRunStore};
pub(super) use self::walk::{ChartWalk, WalkDials};
use super::context::ToolContext;
use super::declare::ToolDefError;
use super::failure::ToolFailure;
use super::output::ToolOutput;
use super::tool::{IntoTool, Tool, ToolHandler};

type Mapper = dyn Fn(&Object, &[String]) -> Result<ToolOutput, String> + Send + Sync;

/// Declares a flowchart as a tool; see [`flowchart_as_tool`].
pub struct FlowchartTool {
    name: Str,
    description: Str,
    chart: Chart,
    input_schema: Option<Value>,
    mapper: Option<Arc<Mapper>>,
    walk: WalkDials,
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
        walk: WalkDials::default(),
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
        self.walk.recorders.push(recorder);
        self
    }

    /// Keeps the records of the latest calls; 20 of them.
    #[must_use]
    pub fn keep_record(mut self) -> Self {
        self.walk.keep = true;
        self
    }

    /// Keeps another number of records.
    #[must_use]
    pub fn keep_record_limit(mut self, limit: usize) -> Self {
        self.walk.limit = Some(limit);
        self
    }

    /// Redacts the state: what is kept and what the model reads by default is the redacted mirror.
    #[must_use]
    pub fn redact(mut self, policy: RedactionPolicy) -> Self {
        self.walk.redact = Some(policy);
        self
    }
}

impl IntoTool for FlowchartTool {
    fn into_tool(self) -> Result<Tool, ToolDefError> {
        let problems = self.walk.problems(&self.description);
        let mut builder = Tool::builder(self.name).description(self.description).faulty(problems);
        let walk = self.walk.armed();
        if let Some(store) = walk.store() {
            builder = builder.extension(Arc::clone(store));
        }
        let handler = Walks { chart: self.chart, mapper: self.mapper, walk };
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
    walk: ChartWalk,
}

#[async_trait]
impl ToolHandler for Walks {
    async fn execute(&self, args: Value, ctx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let told = self.mapper.is_some();
        let report = self.walk.run(&self.chart, args, ctx, |options| options.narrative(told)).await;
        self.walk.completed(&report, ctx)?;
        Ok(self.result(&report))
    }
}

impl Walks {
    fn result(&self, report: &RunReport) -> ToolOutput {
        let Some(mapper) = &self.mapper else {
            return ToolOutput::Json(Value::from(self.walk.seen(report).shared_state.clone()));
        };
        let told: Vec<String> = report.narrative_entries().into_iter().map(|entry| entry.text).collect();
        let mapped = catch_unwind(AssertUnwindSafe(|| mapper(&report.state(), &told)));
        match mapped {
            Ok(Ok(output)) => output,
            Ok(Err(reason)) => ToolOutput::text(format!("[mapper-error: {reason}]")),
            Err(_) => ToolOutput::text("[mapper-error: it panicked]"),
        }
    }
}

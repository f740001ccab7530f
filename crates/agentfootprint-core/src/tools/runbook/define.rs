//! From a declaration to a tool: what is refused, and what runs (TOOL-88).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use footprint::chart::Chart;
use footprint::observe::Delivery;
use footprint::recorders::{CombinedNarrative, NarrativeOptions};
use footprint::report::{Outcome, RunReport};
use footprint::value::{Str, Value};

use super::answer::{Answer, rules_sentence};
use super::calls::{InnerResults, absence_behind, watched};
use super::meanings::{Decisions, meanings_of};
use super::rows::RowSet;
use super::walk::{self, Walked};
use super::{Dials, Procedure, RunbookTool};
use crate::record::recording_of_chart;
use crate::tools::chart_tool::ChartWalk;
use crate::tools::context::ToolContext;
use crate::tools::declare::{ToolDefError, ToolDefProblem};
use crate::tools::dispatch_door::ToolDispatch;
use crate::tools::failure::ToolFailure;
use crate::tools::output::ToolOutput;
use crate::tools::tool::{IntoTool, Tool, ToolHandler};

/// What a call meets while the procedure is only being read.
const PROBED: &str = "the runbook is being defined; its procedure is called once with a dispatch that has no tools, to read its \
     contract, so call tools only from inside its stages";
/// What a call meets at a door without other tools.
const NO_TOOLS: &str = "this call was made where no other tool can be reached";

impl Dials {
    fn problems(&self) -> Vec<ToolDefProblem> {
        let mut problems = Vec::new();
        let mut note =
            |field, found: &str, fix| problems.push(ToolDefProblem::new(field, found.to_owned(), fix));
        let blank = |text: &Str| text.trim().is_empty();
        if let Some(rules) = &self.rules {
            if blank(&rules.name) {
                note("rules.name", "a blank text", "name the rules, or leave them out");
            }
            if blank(&rules.version) {
                note("rules.version", "a blank text", "say which version, or leave the rules out");
            }
        }
        if self.decider.as_ref().is_some_and(blank) {
            note("verdicts.decider", "a blank text", "name the decider by id or name, or leave it out");
        }
        if self.max_rows == 0 {
            note("verdicts.maxRows", "0", "show at least one row");
        }
        if self.walk_cap == 0 {
            note("walk.cap", "0", "file at least one row");
        }
        if self.recording.as_ref().is_some_and(|recording| recording.max_bytes == 0) {
            note("walk.recording.maxBytes", "0", "allow at least one byte, or do not file recordings");
        }
        problems
    }
}

/// Reads the procedure's chart without any tool.
fn probe(procedure: &Procedure) -> Result<Chart, ToolDefProblem> {
    let read = catch_unwind(AssertUnwindSafe(|| procedure(ToolDispatch::refusing(PROBED))));
    let found = match read {
        Ok(Ok(chart)) => return Ok(chart),
        Ok(Err(error)) => format!("failed when it was read at definition: {error}"),
        Err(_) => "panicked when it was read at definition".to_owned(),
    };
    Err(ToolDefProblem::new(
        "procedure",
        found,
        "it is called once at definition with a dispatch that has no tools and refuses every call, to read its contract: build \
         the chart there and call tools only from inside its stages",
    ))
}

/// The input schema of a contract, when it is one a tool can show: the schema of an object.
fn lifted(chart: &Chart) -> Option<Value> {
    let document = chart.contract()?.input_document()?;
    (document.get("type").and_then(Value::as_str) == Some("object")).then(|| document.clone())
}

impl IntoTool for RunbookTool {
    fn into_tool(self) -> Result<Tool, ToolDefError> {
        let mut problems = self.walk.problems(&self.description);
        problems.extend(self.dials.problems());
        let mut tool = self.tool;
        match probe(&*self.procedure) {
            Ok(chart) => {
                if let Some(schema) = lifted(&chart).filter(|_| tool.lacks_input()) {
                    tool = tool.input_schema(schema);
                }
            }
            Err(problem) => problems.push(problem),
        }
        let walk = self.walk.armed();
        if let Some(store) = walk.store() {
            tool = tool.extension(Arc::clone(store));
        }
        let runs = Runbook { name: self.name, procedure: self.procedure, walk, dials: self.dials };
        tool.faulty(problems).handle_with(runs).build()
    }
}

struct Runbook {
    name: Str,
    procedure: Arc<Procedure>,
    walk: ChartWalk,
    dials: Dials,
}

/// The id under which a walk is told without the values it worked on.
const TOLD: &str = "runbook-walk";

#[async_trait]
impl ToolHandler for Runbook {
    async fn execute(&self, args: Value, ctx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let results = Arc::new(InnerResults::default());
        let outer = ctx.tools().cloned().unwrap_or_else(|| ToolDispatch::refusing(NO_TOOLS));
        let chart = (self.procedure)(watched(outer, &results)).map_err(|error| {
            ToolFailure::message(format!("the procedure of `{}` could not be built: {error}", self.name))
        })?;
        let story = NarrativeOptions { include_values: false, ..NarrativeOptions::default() };
        let told = Arc::new(CombinedNarrative::with_options(story).with_id(TOLD));
        let decisions = Arc::new(Decisions::of(self.dials.decider.clone()));
        let (teller, watcher) = (Arc::clone(&told), Arc::clone(&decisions));
        let report = self
            .walk
            .run(&chart, args, ctx, |options| {
                options.observe_with(teller, Delivery::Inline).observe_with(watcher, Delivery::Inline)
            })
            .await;
        let absence = match report.outcome() {
            // Another failure is a failure: it is not known what the rest would have found.
            Outcome::Failed(error) => absence_behind(error),
            Outcome::Completed(_) => results.absence(),
            _ => None,
        };
        if let Some(absence) = absence {
            // Verbatim: it is the inner tool's answer.
            return Ok(ToolOutput::Json(absence));
        }
        self.walk.completed(&report, ctx)?;
        let walked = Walked::read(&told.entries_of(report.run_id()), self.dials.walk_cap);
        Ok(ToolOutput::Json(self.answer(ctx, &chart, &report, &results, &decisions, walked).await))
    }
}

impl Runbook {
    async fn answer(
        &self,
        ctx: &ToolContext,
        chart: &Chart,
        report: &RunReport,
        results: &InnerResults,
        decisions: &Decisions,
        walked: Walked,
    ) -> Value {
        let dials = &self.dials;
        let state = &self.walk.seen(report).shared_state;
        let rows = dials.arms_rows().then(|| RowSet::read(state.get("verdicts"), dials.max_rows));
        let meanings = match (&rows, &dials.decider) {
            (Some(_), Some(decider)) => meanings_of(chart.structure(), decider, decisions),
            _ => Default::default(),
        };
        let steps = walked.steps;
        let mut filed = walk::file(ctx, &self.name, walked).await;
        if let Some(dial) = &dials.recording {
            let recording = walk::record(ctx, &self.name, dial, || recording_of_chart(report));
            filed.add(recording.await);
        }
        Answer {
            tool: ctx.tool_name(),
            tool_call_id: ctx.tool_call_id(),
            chart: &chart.structure().root().node().name,
            rules: rules_sentence(dials.rules.as_ref()),
            rule_version: dials.rule_version(),
            steps,
            inner: &results.all(),
            state,
            rows,
            presentation: dials.presentation,
            meanings,
            walk: filed,
        }
        .into_value()
    }
}

impl Dials {
    /// Whether the rows are part of the answer.
    fn arms_rows(&self) -> bool {
        self.result_kind
            .as_ref()
            .and_then(|kind| kind.strip_prefix("verdict/"))
            .is_some_and(|rest| !rest.is_empty())
    }

    fn rule_version(&self) -> Str {
        match &self.rules {
            Some(rules) => format!("{}@{}", rules.name, rules.version).into(),
            None => "undeclared".into(),
        }
    }
}

//! What a run comes to: the outcome, and the record of how.

use std::fmt;
use std::sync::{Arc, LazyLock};

use agentfootprint_record::conventions::state;
use footprint::pause::FlowchartCheckpoint;
use footprint::report::RunReport as WalkReport;
use footprint::snapshot::Snapshot;
use footprint::structure::Structure;
use footprint::value::{Array, Object, Str, Value};

use super::checkpoint::AgentRunCheckpoint;
use super::error::RunError;
use crate::tools::{CoverageLists, coverage_block, declared_coverage};

/// How a run ended, when it did not fail.
#[derive(Clone, Debug)]
pub enum RunOutcome<T> {
    /// With an answer.
    Completed(T),
    /// With a question to a person; the run waits in the checkpoint.
    Paused(Box<PauseOutcome>),
}

/// A paused run: the question, and the exact position to go on from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PauseOutcome {
    /// Where the run stands; plain data, fit for a file.
    pub checkpoint: FlowchartCheckpoint,
    /// The question as asked.
    pub pause_data: Value,
}

impl PauseOutcome {
    pub(crate) fn new(checkpoint: FlowchartCheckpoint, pause_data: Value) -> Self {
        Self { checkpoint, pause_data }
    }

    /// The check-in request, when a tool asks for consent.
    pub fn check_in(&self) -> Option<&Value> {
        self.pause_data.get("checkIn")
    }

    /// The ask, when a middleware asks.
    pub fn ask(&self) -> Option<&Value> {
        self.pause_data.get("ask")
    }

    /// Whether a tool asks for consent.
    pub fn is_check_in(&self) -> bool {
        self.check_in().is_some()
    }

    /// Whether a middleware asks.
    pub fn is_ask(&self) -> bool {
        self.ask().is_some()
    }

    /// The tool that waits.
    pub fn tool_name(&self) -> Option<&str> {
        self.pause_data.get("toolName").and_then(Value::as_str)
    }

    /// The call that waits.
    pub fn tool_call_id(&self) -> Option<&str> {
        self.pause_data.get("toolCallId").and_then(Value::as_str)
    }
}

/// The record of a run: what the engine kept of the walk, whatever the outcome was.
#[derive(Clone)]
pub struct RunRecord {
    run_id: Str,
    state: Object,
    /// The walk's own record; its snapshot is made when somebody looks. Absent when the run was refused.
    walk: Option<Arc<WalkReport>>,
    /// Whether a recording holds the redacted mirror.
    redacts: bool,
    structure: Option<Arc<Structure>>,
    checkpoint: Option<Arc<AgentRunCheckpoint>>,
}

impl RunRecord {
    pub(crate) fn new(
        run_id: Str,
        state: Object,
        walk: WalkReport,
        checkpoint: Option<AgentRunCheckpoint>,
    ) -> Self {
        Self {
            run_id,
            state,
            structure: Some(Arc::new(walk.runtime_structure())),
            walk: Some(Arc::new(walk)),
            redacts: false,
            checkpoint: checkpoint.map(Arc::new),
        }
    }

    /// The record of a run that was refused before it began.
    pub(crate) fn empty() -> Self {
        Self {
            run_id: Str::from(""),
            state: Object::new(),
            walk: None,
            redacts: false,
            structure: None,
            checkpoint: None,
        }
    }

    /// The run's id; empty when the run was refused before it began.
    pub fn run_id(&self) -> &Str {
        &self.run_id
    }

    /// The final state, or the state at the pause or failure.
    pub fn state(&self) -> &Object {
        &self.state
    }

    /// The engine's snapshot: state, commit log, execution tree, mounted logs.
    pub fn snapshot(&self) -> &Snapshot {
        static REFUSED: LazyLock<Snapshot> = LazyLock::new(Snapshot::default);
        self.walk.as_ref().map_or(&REFUSED, |walk| walk.snapshot())
    }

    /// Says that recordings hold the redacted mirror.
    pub(crate) fn redacting(mut self, redacts: bool) -> Self {
        self.redacts = redacts;
        self
    }

    /// What a recording may hold: the redacted mirror when the run redacts, else the record (AGT-112).
    pub(crate) fn recorded(&self) -> &Snapshot {
        match &self.walk {
            Some(walk) if self.redacts => walk.snapshot_redacted(),
            _ => self.snapshot(),
        }
    }

    /// The chart as it ran.
    pub fn structure(&self) -> Option<&Structure> {
        self.structure.as_deref()
    }

    /// The conversation after this run, to be continued by a later one.
    pub fn checkpoint(&self) -> Option<&AgentRunCheckpoint> {
        self.checkpoint.as_deref()
    }

    /// Why the turn ended before the model was finished, if it did: `{reason, iteration, pendingToolCalls,
    /// answerWasEmpty, wrappedUp?}`.
    pub fn stopped_early(&self) -> Option<&Value> {
        self.state.get(state::STOPPED_EARLY)
    }

    /// How the answer misses its schema, if it does.
    pub fn output_contract_unmet(&self) -> Option<&Value> {
        self.state.get(state::OUTPUT_CONTRACT_UNMET)
    }

    /// The values of the answer no evidence holds, if the gate found any.
    pub fn unsupported_values(&self) -> Option<&Value> {
        self.state.get(state::UNSUPPORTED_VALUES)
    }

    /// What the run's tools said about their coverage, all together: what was checked, what was not, what cannot be.
    pub fn coverage(&self) -> CoverageLists {
        self.coverage_rows().map(declared_coverage).unwrap_or_default()
    }

    /// The same as the text that travels with an answer; none when no tool said anything.
    pub fn coverage_block(&self) -> Option<String> {
        coverage_block(self.coverage_rows()?)
    }

    fn coverage_rows(&self) -> Option<&Array> {
        self.state.get(state::COVERAGE_DECLARED).and_then(Value::as_array)
    }

    /// How the answer's validation went, when one is declared.
    pub fn answer_validation(&self) -> Option<&Value> {
        self.state.get(state::ANSWER_VALIDATION)
    }

    /// How strongly the answer's form is guaranteed.
    pub fn answer_guarantee(&self) -> Option<&str> {
        self.state.get(state::ANSWER_GUARANTEE).and_then(Value::as_str)
    }
}

impl fmt::Debug for RunRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRecord").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}

/// What a run came to. The record is there whatever the outcome: a failed run is the one to explain.
///
/// Use `report.into_result()?` when only the answer matters; its error still holds the report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunReport<T> {
    /// The answer, the question, or the failure.
    pub outcome: Result<RunOutcome<T>, RunError>,
    /// What the walk left behind.
    pub record: RunRecord,
}

impl<T> RunReport<T> {
    pub(crate) fn new(outcome: Result<RunOutcome<T>, RunError>, record: RunRecord) -> Self {
        Self { outcome, record }
    }

    /// The answer, or why there is none.
    pub fn answer(&self) -> Result<&T, AnswerError<'_>> {
        match &self.outcome {
            Ok(RunOutcome::Completed(answer)) => Ok(answer),
            Ok(RunOutcome::Paused(pause)) => Err(AnswerError::Paused(pause)),
            Err(error) => Err(AnswerError::Failed(error)),
        }
    }

    /// The question, when the run is paused.
    pub fn paused(&self) -> Option<&PauseOutcome> {
        match &self.outcome {
            Ok(RunOutcome::Paused(pause)) => Some(pause),
            _ => None,
        }
    }

    /// The failure, when the run failed.
    pub fn error(&self) -> Option<&RunError> {
        self.outcome.as_ref().err()
    }

    /// The outcome alone; the error keeps the record.
    pub fn into_result(self) -> Result<RunOutcome<T>, Box<RunFailure>> {
        let record = self.record;
        self.outcome.map_err(|error| Box::new(RunFailure { error, record }))
    }

    /// The answer alone; a pause is an error here.
    pub fn into_answer(self) -> Result<T, Box<RunFailure>> {
        let record = self.record;
        match self.outcome {
            Ok(RunOutcome::Completed(answer)) => Ok(answer),
            Ok(RunOutcome::Paused(pause)) => {
                Err(Box::new(RunFailure { error: RunError::PausedInstead { pause }, record }))
            }
            Err(error) => Err(Box::new(RunFailure { error, record })),
        }
    }
}

/// Why a report has no answer.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum AnswerError<'a> {
    /// The run asks a person first.
    #[error("the run is paused and waits for an answer")]
    Paused(&'a PauseOutcome),
    /// The run failed.
    #[error(transparent)]
    Failed(&'a RunError),
}

/// A failed run, as an error that keeps its record.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct RunFailure {
    /// The failure.
    #[source]
    pub error: RunError,
    /// What the run left behind.
    pub record: RunRecord,
}

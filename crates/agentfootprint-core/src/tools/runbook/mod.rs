//! A runbook: a procedure as a tool, whose every answer says what was checked (TOOL §14).
//!
//! The procedure is a flowchart that calls the agent's other tools from its stages. Whatever those tools said about their
//! coverage, and how the procedure walked, stands in the answer: the model reads it, the record holds it, nobody has to remember
//! to write it.
//!
//! | state key | what the procedure says with it |
//! |---|---|
//! | `verdicts` | its rows, each an object with a `verdict`; read when the result kind is `verdict/…` |
//! | `coverage` | ground of its own: `{checked, not_checked, cannot_cover}` |
//! | `report` | further fields of the answer |
//!
//! | file | what it owns |
//! |---|---|
//! | `define` | what is refused at definition, and the handler |
//! | `calls` | the dispatch a procedure is given: it keeps results, and ends the procedure at an absence |
//! | `answer` | the envelope, field by field |
//! | `rows` | the rowset and its table |
//! | `meanings` | what the verdicts mean |
//! | `walk` | the walk as rows, and the tickets of what is filed |

mod answer;
mod calls;
mod define;
mod meanings;
mod rows;
mod walk;

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use footprint::chart::Chart;
use footprint::observe::Recorder;
use footprint::state::RedactionPolicy;
use footprint::value::{Str, Value};

use super::builder::ToolBuilder;
use super::chart_tool::WalkDials;
use super::declare::{ResultClass, ToolOwner};
use super::dispatch_door::ToolDispatch;
use super::tool::Tool;

type Procedure = dyn Fn(ToolDispatch) -> Result<Chart, String> + Send + Sync;

/// Declares a runbook; see [`runbook_as_tool`].
pub struct RunbookTool {
    name: Str,
    description: Str,
    tool: ToolBuilder,
    procedure: Arc<Procedure>,
    walk: WalkDials,
    dials: Dials,
}

/// What an answer is made by.
struct Dials {
    result_kind: Option<Str>,
    rules: Option<Rules>,
    decider: Option<Str>,
    max_rows: usize,
    presentation: Presentation,
    walk_cap: usize,
    recording: Option<RecordingDial>,
}

/// Which rules a procedure follows.
struct Rules {
    name: Str,
    version: Str,
}

/// How the recording of a walk is filed.
#[derive(Clone)]
struct RecordingDial {
    label: Option<Str>,
    max_bytes: u64,
}

/// How many rows the answer shows unless it says otherwise.
const MAX_ROWS: usize = 50;
/// How many rows of the walk are filed unless it says otherwise.
const WALK_CAP: usize = 500;
/// The largest recording that is filed unless it says otherwise.
const RECORDING_BYTES: u64 = 5_000_000;

/// Who shows the rows of an answer to the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presentation {
    /// The model: the answer holds a table to put out.
    #[default]
    Prose,
    /// The host draws the rows; the answer holds no table.
    Panel,
}

impl Presentation {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Panel => "panel",
        }
    }
}

/// A word that names no presentation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no presentation of a runbook; use `prose` or `panel`")]
pub struct UnknownPresentation {
    word: String,
}

impl FromStr for Presentation {
    type Err = UnknownPresentation;

    fn from_str(word: &str) -> Result<Self, UnknownPresentation> {
        match word {
            "prose" => Ok(Self::Prose),
            "panel" => Ok(Self::Panel),
            _ => Err(UnknownPresentation { word: word.to_owned() }),
        }
    }
}

/// A tool that follows a procedure: each call builds the chart afresh around the agent's tools and walks it.
///
/// The procedure is also called once at definition, with a dispatch that has no tool and refuses every call, to read the chart's
/// contract. Call tools from inside the stages, never while building.
///
/// ```
/// use agentfootprint_core::tools::{IntoTool as _, ToolDispatch, runbook_as_tool};
/// use footprint::prelude::*;
/// use footprint::value;
///
/// let tool = runbook_as_tool("check_ports", "Checks every port of a switch.", |tools: ToolDispatch| {
///     Chart::builder(Stage::new("look", move |s: Scope| {
///         let tools = tools.clone();
///         async move {
///             // An absence ends the procedure here: it is the answer.
///             let ports = tools.call("ports", s.args_value().clone()).await?;
///             s.set_value("report", value!({ "ports": (ports.into_value().unwrap_or_default()) }))?;
///             Ok(())
///         }
///     }))
///     .build()
/// })
/// .rules("port-health", "3")
/// .composed_of(["ports"])
/// .into_tool()?;
/// assert_eq!(tool.name(), "check_ports");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn runbook_as_tool<E: Display>(
    name: impl Into<Str>,
    description: impl Into<Str>,
    procedure: impl Fn(ToolDispatch) -> Result<Chart, E> + Send + Sync + 'static,
) -> RunbookTool {
    let (name, description) = (name.into(), description.into());
    RunbookTool {
        tool: Tool::builder(name.clone()).description(description.clone()),
        name,
        description,
        procedure: Arc::new(move |tools| procedure(tools).map_err(|error| error.to_string())),
        walk: WalkDials::default(),
        dials: Dials {
            result_kind: None,
            rules: None,
            decider: None,
            max_rows: MAX_ROWS,
            presentation: Presentation::default(),
            walk_cap: WALK_CAP,
            recording: None,
        },
    }
}

impl RunbookTool {
    /// The artifact kind of a placed answer; a kind `verdict/…` makes the rows of state key `verdicts` part of the answer.
    #[must_use]
    pub fn result_kind(mut self, kind: impl Into<Str>) -> Self {
        let kind = kind.into();
        self.dials.result_kind = Some(kind.clone());
        self.declare(|tool| tool.result_kind(kind))
    }

    /// The rules the procedure follows; without them an answer says that they are undeclared.
    #[must_use]
    pub fn rules(mut self, name: impl Into<Str>, version: impl Into<Str>) -> Self {
        self.dials.rules = Some(Rules { name: name.into(), version: version.into() });
        self
    }

    /// The decider, by id or name, whose branches are the verdicts: their descriptions and labels say what the verdicts mean.
    #[must_use]
    pub fn verdicts_from(mut self, decider: impl Into<Str>) -> Self {
        self.dials.decider = Some(decider.into());
        self
    }

    /// The most rows an answer shows; 50.
    #[must_use]
    pub fn max_rows(mut self, rows: usize) -> Self {
        self.dials.max_rows = rows;
        self
    }

    /// Who shows the rows; the model.
    #[must_use]
    pub fn presentation(mut self, presentation: Presentation) -> Self {
        self.dials.presentation = presentation;
        self
    }

    /// Over how many rows the walk is filed without its plain steps; 500.
    #[must_use]
    pub fn walk_cap(mut self, rows: usize) -> Self {
        self.dials.walk_cap = rows;
        self
    }

    fn recording(&mut self) -> &mut RecordingDial {
        self.dials.recording.get_or_insert(RecordingDial { label: None, max_bytes: RECORDING_BYTES })
    }

    /// Files the recording of every walk as an artifact, too.
    #[must_use]
    pub fn walk_recording(mut self) -> Self {
        self.recording();
        self
    }

    /// Files recordings under this label.
    #[must_use]
    pub fn walk_recording_label(mut self, label: impl Into<Str>) -> Self {
        self.recording().label = Some(label.into());
        self
    }

    /// The largest recording that is filed, in bytes; 5 000 000. A larger one is refused, never cut.
    #[must_use]
    pub fn walk_recording_max_bytes(mut self, bytes: u64) -> Self {
        self.recording().max_bytes = bytes;
        self
    }

    /// JSON Schema of the arguments; without it the one of the chart's contract.
    #[must_use]
    pub fn input_schema(self, schema: impl Into<Value>) -> Self {
        self.declare(|tool| tool.input_schema(schema))
    }

    /// The tools it calls.
    #[must_use]
    pub fn composed_of<S: Into<Str>>(self, tools: impl IntoIterator<Item = S>) -> Self {
        self.declare(|tool| tool.composed_of(tools))
    }

    /// Tools whose results are the ground of its arguments.
    #[must_use]
    pub fn arguments_from<S: Into<Str>>(self, tools: impl IntoIterator<Item = S>) -> Self {
        self.declare(|tool| tool.arguments_from(tools))
    }

    /// An argument that is a reference to an artifact of this kind; the chart receives the data.
    #[must_use]
    pub fn wants(self, argument: impl Into<Str>, kind: impl Into<Str>) -> Self {
        self.declare(|tool| tool.wants(argument, kind))
    }

    /// Refuses answers above this size.
    #[must_use]
    pub fn result_ceiling(self, max_chars: usize) -> Self {
        self.declare(|tool| tool.result_ceiling(max_chars))
    }

    /// What kind of answer it gives.
    #[must_use]
    pub fn result_class(self, class: ResultClass) -> Self {
        self.declare(|tool| tool.result_class(class))
    }

    /// Who the offer is attributed to.
    #[must_use]
    pub fn owner(self, owner: ToolOwner) -> Self {
        self.declare(|tool| tool.owner(owner))
    }

    /// Anything else a tool can declare: a check-in, capabilities, a credential.
    #[must_use]
    pub fn declare(mut self, declare: impl FnOnce(ToolBuilder) -> ToolBuilder) -> Self {
        self.tool = declare(self.tool);
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

    /// Redacts the state: the answer, what is kept and what is filed hold the redacted mirror.
    #[must_use]
    pub fn redact(mut self, policy: RedactionPolicy) -> Self {
        self.walk.redact = Some(policy);
        self
    }
}

//! Eleven questions a debugging model, or a person at a shell, may ask of a finished run (REC-85…93).
//!
//! Every answer is a short text: **bounded** (what was left out is counted), **honest** (a limit of the record is marked with ⚠)
//! and **redaction-respecting** (values come from the commit log's redacted view). A wrong id, key or range is answered with a
//! correction, never an error; only arguments that do not fit the tool's schema are refused.
//!
//! ```
//! use agentfootprint_debug::toolpack::{TraceTools, call_trace_tool};
//! use agentfootprint_record::recording::Recording;
//! use footprint::value;
//!
//! let text = r#"{"snapshot":{"sharedState":{"n":1},"initialState":{},"executionTree":{"id":"a","runtimeStageId":"a#0","name":"A"},
//!   "commitLog":[{"idx":0,"stage":"A","stageId":"a","runtimeStageId":"a#0","trace":[{"path":"n","verb":"set"}],
//!   "overwrite":{"n":1},"updates":{},"redactedPaths":[]}]}}"#;
//! let opened = Recording::open(text.as_bytes())?;
//! let answer = call_trace_tool(&opened, "who_wrote", &value!({ "key": "n" }))?;
//! assert!(answer.contains("a#0"));
//! assert!(TraceTools::new(opened).call("get_value", &value!({ "runtimeStageId": "b#9", "key": "n" }))?.contains("a#0"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod args;
mod errors;
mod find;
mod hidden;
mod inner;
mod narrative;
mod near;
mod node;
mod overview;
mod places;
mod slices;
mod specs;
mod tool_call;
mod values;

use std::sync::OnceLock;

use agentfootprint_record::recording::OpenRecording;
use footprint::query::TraceQuery;
use footprint::value::Value;

pub use answer::MAX_ANSWER;
pub use args::TraceToolRefused;
pub use errors::{Evidence, context_errors};
pub use inner::InnerRun;
pub use overview::limit_sentence;
pub use specs::{TRACE_TOOL_NAMES, TraceToolSpec};
pub use tool_call::ToolOutcome;

use answer::Answer;
use args::Args;
use hidden::Hidden;
use places::Places;
use specs::Tool;
use tool_call::ToolCalls;

/// The toolpack over one recording; what it looks up is kept, so ask one for as long as the recording is of interest.
#[derive(Debug)]
pub struct TraceTools {
    opened: OpenRecording,
    query: TraceQuery,
    hidden: Hidden,
    places: OnceLock<Places>,
    calls: OnceLock<ToolCalls>,
    inner: Vec<InnerRun>,
    inner_dropped: u64,
}

impl TraceTools {
    /// Over an opened recording.
    #[must_use]
    pub fn new(opened: OpenRecording) -> Self {
        let query = TraceQuery::new(opened.recording().snapshot.clone());
        let hidden = Hidden::of(&opened.recording().snapshot);
        Self {
            opened,
            query,
            hidden,
            places: OnceLock::new(),
            calls: OnceLock::new(),
            inner: Vec::new(),
            inner_dropped: 0,
        }
    }

    /// Adds the kept runs of chart-backed tools, and how many of them the store dropped (REC-99).
    #[must_use]
    pub fn with_inner_runs(mut self, runs: Vec<InnerRun>, dropped: u64) -> Self {
        self.inner = runs;
        self.inner_dropped = dropped;
        self
    }

    /// The recording.
    pub fn opened(&self) -> &OpenRecording {
        &self.opened
    }

    /// The engine's questions over the same recording.
    pub fn query(&self) -> &TraceQuery {
        &self.query
    }

    /// The tools that can be asked of this recording, with schemas that name its steps and keys (REC-87). `read_narrative` is
    /// offered only when there is a narrative.
    #[must_use]
    pub fn specs(&self) -> Vec<TraceToolSpec> {
        specs::of(self)
    }

    /// Asks one tool.
    ///
    /// # Errors
    /// [`TraceToolRefused`] for a tool that does not exist and for arguments that do not fit its schema.
    pub fn call(&self, name: &str, args: &Value) -> Result<String, TraceToolRefused> {
        let tool =
            Tool::named(name).ok_or_else(|| TraceToolRefused::UnknownTool { name: name.to_owned() })?;
        let args = Args::check(tool, args)?;
        Ok(self.answer(tool, &args).finish(&self.hidden))
    }

    /// Tool calls that were refused or denied: id, tool, step and why.
    pub fn denied_calls(&self) -> impl Iterator<Item = (&str, &str, &str, &str)> {
        self.calls().refused()
    }

    /// How the run ended, as far as the record says: `completed`, `failed: …`, `paused: …` or why it is not known.
    #[must_use]
    pub fn status(&self) -> String {
        self.hidden.scrub(&overview::status(&self.opened))
    }

    fn answer(&self, tool: Tool, args: &Args) -> Answer {
        match tool {
            Tool::RunOverview => overview::answer(self),
            Tool::FindContextErrors => errors::answer(self, args),
            Tool::FindInTrace => find::answer(self, args),
            Tool::TraceNode => node::answer(self, args),
            Tool::TraceSlice => slices::step(self, args),
            Tool::Backtrack => slices::variable(self, args),
            Tool::WhoWrote => values::who_wrote(self, args),
            Tool::GetValue => values::get_value(self, args),
            Tool::InspectToolCall => tool_call::answer(self, args),
            Tool::InspectToolRun => inner::answer(self, args),
            Tool::ReadNarrative => narrative::answer(self, args),
        }
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::of(&self.query))
    }

    fn calls(&self) -> &ToolCalls {
        self.calls.get_or_init(|| ToolCalls::of(self))
    }
}

/// Validates the arguments and asks one tool once. To ask more than one, keep a [`TraceTools`].
///
/// # Errors
/// [`TraceToolRefused`] for a tool that does not exist and for arguments that do not fit its schema.
pub fn call_trace_tool(opened: &OpenRecording, name: &str, args: &Value) -> Result<String, TraceToolRefused> {
    TraceTools::new(opened.clone()).call(name, args)
}

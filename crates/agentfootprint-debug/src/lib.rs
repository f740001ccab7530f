//! Open a recording, see what happened, and follow an answer to its cause — offline, with no agent runtime.
//!
//! | module | question |
//! |---|---|
//! | [`explain`] | what happened in this run? |
//! | [`why`](mod@why) | which piece of context, tool result or decision is this answer made of? |
//! | [`validate`](mod@validate) | is this file a sound recording? |
//! | [`boundary`] | when was each run, subflow, model call and tool call crossed, on the commit axis? |
//! | [`steps`], [`step_graph`] | who asked whom — as a list that one drills into, as a graph |
//! | [`live`] | what is under way right now, and what to show to whoever waits? |
//! | [`commentary`], [`thinking`] | the run in sentences, and as the story of an agent's thinking |
//! | [`lineage`], [`tool_choice`], [`context`] | where arguments came from, how clear tool choices were, what was engineered |
//!
//! Every answer is a pure function of the recording, says where in the run each statement stands (an address such as
//! `tool-calls#22`), and states what the record cannot say. Text out of a recording is data: control characters in it are
//! shown, never obeyed.
//!
//! ```
//! use agentfootprint_debug::{explain, why};
//! use agentfootprint_record::recording::Recording;
//!
//! let text = r#"{"snapshot":{"sharedState":{"n":1},"initialState":{},"executionTree":{"id":"a","runtimeStageId":"a#0","name":"A"},
//!   "commitLog":[{"idx":0,"stage":"A","stageId":"a","runtimeStageId":"a#0","trace":[{"path":"n","verb":"set"}],
//!   "overwrite":{"n":1},"updates":{},"redactedPaths":[]}]}}"#;
//! let opened = Recording::open(text.as_bytes())?;
//! assert!(explain(&opened).to_string().contains("a#0"));
//! assert!(why::variable(&opened, "n")?.to_string().contains("a#0"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod audit;
pub mod boundary;
pub mod commentary;
pub mod context;
pub mod diff;
pub mod lineage;
pub mod live;
pub mod loops;
pub mod mermaid;
pub mod report;
pub mod step_graph;
pub mod steps;
pub mod story;
pub mod thinking;
pub mod tool_choice;
pub mod toolpack;
pub mod validate;
pub mod why;

mod calls;
mod plain;

pub use diff::diff;
pub use mermaid::mermaid;
pub use plain::{excerpt, plain};
pub use story::{Story, explain};
pub use validate::{Finding, Findings, Severity, validate};
pub use why::{Why, WhyError};

//! The agent runtime: runners, the agent's chart and its stages, tools, and every port (traits that adapters fill).
//!
//! An agent is a flowchart over the engine `footprint`. Walking it *is* running the agent, and the walk's own record —
//! state writes, decisions, events — is the explanation of the answer; nothing here keeps a second account of it.
//!
//! | module | what it owns |
//! |---|---|
//! | [`agent`] | [`Agent`](agent::Agent): builder, chart, stages |
//! | [`artifacts`] | payloads in a governed store, and the tickets that travel instead |
//! | [`compose`] | every runner besides the agent: one call, sequences, parallels, loops, graphs, patterns |
//! | [`run`] | starting a run, its report, its errors, its [effects port](run::Effects) |
//! | [`events`] | subscribing to what a run says while it happens |
//! | [`injection`] | facts, instructions and other engineered context |
//! | [`tools`] | tools, and the one pipeline every call goes through |
//! | [`llm`] | the port to model providers |
//! | [`embed`] | the port to embedding models |
//! | [`observe`] | what watches all runs of a runner, and how it is let go |
//! | [`record`] | recording a run |
//! | [`reliability`] | rules around one model call |
//! | [`cache_meter`] | what prompt caching did in a run |
//! | [`validation`] | holding an answer against evidence before it is delivered |
//! | [`window`] | what leaves a conversation that grows |
//!
//! Two rules hold everywhere. An [`Agent`](agent::Agent) is immutable and runs many turns at once: what belongs to one run
//! lives in its run context, never in the agent, never in a static. And everything a run cannot recompute — a model, a tool,
//! a store, a timer — is reached through its effects port.

pub mod agent;
pub mod artifacts;
pub mod cache_meter;
pub mod compose;
pub mod embed;
pub mod events;
pub mod injection;
pub mod llm;
pub mod observe;
pub mod record;
pub mod reliability;
pub mod run;
pub mod tools;
pub mod validation;
pub mod window;

#[doc(hidden)]
pub use tools::private as __private;

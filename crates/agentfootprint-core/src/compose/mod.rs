//! Every runner besides the agent: one model call, and compositions of runners (AGT §6, §18, §19).
//!
//! A composition is a runner whose chart mounts the charts of its members. No new control flow exists: everything is an engine
//! fork, decider, loop or mount, so one recording holds all of it, at every depth. A member has no run of its own: it acts in
//! the outer run, for its identity and session, under its cancellation.
//!
//! | runner | its members |
//! |---|---|
//! | [`LlmCall`] | none: one question, one answer |
//! | [`Sequence`] | one after the other, text to text |
//! | [`Parallel`] | side by side; a function or a model merges |
//! | [`Conditional`] | one of them, by predicates |
//! | [`Loop`] | one of them, again and again |
//! | [`Workflow`] | one after the other, typed |
//! | [`Graph`] | a graph without cycles |
//! | [`LlmRouter`] | none: a model decides who answers next |
//! | [`patterns`] | ready-made compositions |
//!
//! | file | idea |
//! |---|---|
//! | `runner` | how all of them start, resume and end |
//! | `member` | a member's mount and what crosses it |
//! | `cx` | what a composition's stage works on |
//! | `open` | compositions are entered and left in pairs, on every path |
//! | `model` | a model call outside an agent |
//! | `sections` | texts that hold texts |

mod conditional;
mod cx;
mod errors;
mod graph;
mod llm_call;
mod looping;
mod member;
mod model;
mod open;
mod parallel;
pub mod patterns;
mod router;
mod runner;
mod sections;
mod sequence;
mod workflow;

pub use self::conditional::{Conditional, ConditionalBuilder};
pub use self::errors::{ComposeError, ComposeErrors};
pub use self::graph::{Graph, GraphBuilder, Node};
pub use self::llm_call::{LlmCall, LlmCallBuilder};
pub use self::looping::{Loop, LoopBuilder, LoopState};
pub use self::open::BranchFailure;
pub(crate) use self::open::Compositions;
pub use self::parallel::{BranchOptions, BranchOutcomes, BranchResults, LlmMerge, Parallel, ParallelBuilder};
pub use self::router::{LlmRouter, LlmRouterBuilder, RosterEntry};
pub use self::sequence::{Sequence, SequenceBuilder};
pub use self::workflow::{NotAValue, Step, Workflow, WorkflowBuilder};

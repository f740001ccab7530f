//! Charts: what a run walks.
//!
//! A [`Chart`] is built once by a [`ChartBuilder`] from *values that describe one node completely* ([`Stage`], [`Mount`],
//! [`Decider`], [`Selector`], [`ForEach`]), checked as a whole, and never changed afterwards. It is an arena of nodes behind an
//! `Arc`: cloning it is cheap and any number of runs share it.
//!
//! | file | tells |
//! |---|---|
//! | `arena` | the built graph: nodes, edges, look-ups |
//! | `func` | what author functions look like, and how their results become control flow |
//! | `stage`, `branch`, `mount`, `for_each` | the node values a builder takes |
//! | `next` | a stage that answers "continue there" at run time |
//! | `builder`, `lower` | the fluent surface, and how declarations become the arena |
//! | `check`, `build_error` | everything `build()` refuses, all at once |
//! | `contract` | input and output schemas and their validation |
//! | `sites` | prefixed ids of the nodes of a mounted chart |
//! | `registry` | a chart rebuilt from its structure and named functions |

mod arena;
mod branch;
mod build_error;
mod builder;
mod check;
mod contract;
mod for_each;
mod func;
mod lower;
mod mount;
mod next;
mod registry;
mod schema;
mod sites;
mod stage;

pub use arena::{Chart, IntoChart};
pub use branch::{Branch, Decider, FanOut, ForkChild, Selector};
pub use build_error::{BuildError, BuildErrors, Position};
pub use builder::{ChartBuilder, Root};
pub use contract::Contract;
pub use for_each::ForEach;
pub use func::{IntoStepOutput, Step};
pub use mount::{ArrayMergeMode, Mount, ResolvesToChart, SubflowEnd};
pub use next::Next;
pub use registry::FnRegistry;
pub use schema::JsonSchema;
pub use stage::{Retry, Stage};

pub(crate) use arena::{
    Body, BranchNode, DeciderNode, Edge, ForEachNode, ForkNode, MountNode, MountedChart, Node, NodeIdx,
    NodeKind, SelectorNode,
};
pub(crate) use func::{
    BranchChartFn, DeciderFn, ItemsFn, PausableFn, ResolverFn, ResumeFn, SelectorFn, StageFn, StepOutput,
};
pub(crate) use mount::{InputMapper, OutputMapper};
pub(crate) use next::NextPlan;
pub(crate) use sites::SiteIds;

#[cfg(test)]
mod tests;

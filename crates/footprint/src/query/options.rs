//! How a slice is made (OBS-157, OBS-161, OBS-167).

use std::collections::HashMap;
use std::sync::Arc;

use super::{EdgeKind, QueryError, StateKey};
use crate::ids::RuntimeStageId;
use crate::value::Str;

/// Which reads a link drags in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeAttribution {
    /// All reads of the step that wrote.
    #[default]
    Stage,
    /// Only the reads that came before that write, where rows say so.
    PerWrite,
}

/// Where reads come from.
#[derive(Clone, Default)]
pub enum ReadSource {
    /// The execution tree, and the rows' `readKeys`.
    #[default]
    ExecutionTree,
    /// Keys per step, collected elsewhere.
    Map(Arc<HashMap<RuntimeStageId, Vec<Str>>>),
    /// A function; a step it does not know has no recorded reads.
    Custom(Arc<ReadFn>),
}

/// The keys a step read, by a caller's own account.
pub type ReadFn = dyn Fn(&RuntimeStageId) -> Option<Vec<Str>> + Send + Sync;

impl std::fmt::Debug for ReadSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl ReadSource {
    /// The JSON word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::ExecutionTree => "execution-tree",
            Self::Map(_) => "map",
            Self::Custom(_) => "custom-fn",
        }
    }
}

/// Weighs an edge when it is made: `(child, parent, key, kind)`; no answer, a value that is not finite and a panic count as 1.
pub type Weigh =
    Arc<dyn Fn(&RuntimeStageId, &RuntimeStageId, Option<&str>, EdgeKind) -> Option<f64> + Send + Sync>;

/// How a slice is made.
#[derive(Clone)]
pub struct SliceOptions {
    /// Deepest distance from the start; at least 1.
    pub max_depth: usize,
    /// Most steps; at least 1.
    pub max_nodes: usize,
    /// Whether control edges are drawn.
    pub control: bool,
    /// Weighs edges.
    pub weigh: Option<Weigh>,
    /// Which reads a link drags in.
    pub edge_attribution: EdgeAttribution,
    /// For `per-write`: the keys of the start that are asked about; none = all of it.
    pub root_link_keys: Option<Vec<StateKey>>,
    /// Where reads come from.
    pub reads: ReadSource,
}

impl Default for SliceOptions {
    fn default() -> Self {
        Self {
            max_depth: 20,
            max_nodes: 100,
            control: true,
            weigh: None,
            edge_attribution: EdgeAttribution::Stage,
            root_link_keys: None,
            reads: ReadSource::ExecutionTree,
        }
    }
}

impl std::fmt::Debug for SliceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SliceOptions")
            .field("max_depth", &self.max_depth)
            .field("max_nodes", &self.max_nodes)
            .field("control", &self.control)
            .field("edge_attribution", &self.edge_attribution)
            .field("reads", &self.reads)
            .finish_non_exhaustive()
    }
}

impl SliceOptions {
    pub(super) fn check(&self) -> Result<(), QueryError> {
        for (option, value) in [("maxDepth", self.max_depth), ("maxNodes", self.max_nodes)] {
            if value == 0 {
                return Err(QueryError::InvalidLimit { option, value });
            }
        }
        Ok(())
    }
}

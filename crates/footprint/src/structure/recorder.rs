//! Observers of the build: what they are told, and when.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::structure::StructureRef;
use crate::value::Str;

/// What an edge means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EdgeKind {
    /// `next`: plain continuation, also from a branch to its join.
    Next,
    /// `fork-branch`: from a fork to a child.
    ForkBranch,
    /// `decision-branch`: from a decider or selector to a branch.
    DecisionBranch,
}

impl EdgeKind {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            EdgeKind::Next => "next",
            EdgeKind::ForkBranch => "fork-branch",
            EdgeKind::DecisionBranch => "decision-branch",
        }
    }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A node joined the chart. Its declared values are complete.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StageAdded<'a> {
    /// Local id.
    pub stage_id: &'a Str,
    /// Display name.
    pub name: &'a Str,
    /// The structure's `type` word.
    pub node_type: &'a str,
    /// Whether it may pause.
    pub is_pausable: bool,
    /// Declared tags.
    pub tags: &'a [Str],
    /// The finished node.
    pub spec: StructureRef<'a>,
}

/// An edge joined the chart; both its ends were told before.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EdgeAdded<'a> {
    /// Local id.
    pub from: &'a Str,
    /// Local id.
    pub to: &'a Str,
    /// What the edge means.
    pub kind: EdgeKind,
    /// Branch id on branch edges.
    pub label: Option<&'a Str>,
}

/// A loop edge joined the chart.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LoopEdgeAdded<'a> {
    /// Local id of the node that declared the loop.
    pub from: &'a Str,
    /// Local id of the node walked again.
    pub to: &'a Str,
}

/// A decider or selector has all its branches.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DeciderComplete<'a> {
    /// Local id.
    pub decider: &'a Str,
    /// `decider` or `selector`.
    pub node_type: &'a str,
    /// Branch ids in declaration order.
    pub branch_ids: &'a [Str],
    /// The declared default.
    pub default_branch: Option<&'a Str>,
}

/// A chart was mounted. The mounted chart's own nodes are not told again.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SubflowMounted<'a> {
    /// Id of the mount.
    pub subflow_id: &'a Str,
    /// Display name of the mount.
    pub subflow_name: &'a Str,
    /// Local id of the mounted chart's first node; absent when lazy.
    pub root_stage_id: Option<&'a Str>,
    /// Whether the chart is resolved at run time.
    pub is_lazy: bool,
    /// The mounted chart's structure; absent when lazy.
    pub subflow_spec: Option<StructureRef<'a>>,
    /// Path of the mount inside the chart being built: its id.
    pub subflow_path: &'a Str,
}

/// Watches a chart being built (ENG-50…52). It sees no run data, and the hooks are told in document order by `build()`.
///
/// A panicking observer is caught and listed in [`Chart::structure_errors`](crate::chart::Chart::structure_errors).
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use footprint::chart::{Chart, Stage};
/// use footprint::scope::Scope;
/// use footprint::structure::{StageAdded, StructureRecorder};
///
/// struct Names(Mutex<Vec<String>>);
/// impl StructureRecorder for Names {
///     fn id(&self) -> &str {
///         "names"
///     }
///     fn on_stage_added(&self, event: &StageAdded<'_>) {
///         self.0.lock().unwrap().push(event.name.to_string());
///     }
/// }
///
/// let names = Arc::new(Names(Mutex::default()));
/// Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) })).observe_structure(names.clone()).build()?;
/// assert_eq!(*names.0.lock().unwrap(), ["seed"]);
/// # Ok::<(), footprint::chart::BuildErrors>(())
/// ```
#[allow(unused_variables, reason = "the names document the default hooks")]
pub trait StructureRecorder: Send + Sync + 'static {
    /// Names the observer in [`StructureError`]s; need not be unique.
    fn id(&self) -> &str;
    /// `onStageAdded`
    fn on_stage_added(&self, event: &StageAdded<'_>) {}
    /// `onEdgeAdded`
    fn on_edge_added(&self, event: &EdgeAdded<'_>) {}
    /// `onLoopEdgeAdded`
    fn on_loop_edge_added(&self, event: &LoopEdgeAdded<'_>) {}
    /// `onDeciderComplete`
    fn on_decider_complete(&self, event: &DeciderComplete<'_>) {}
    /// `onSubflowMounted`
    fn on_subflow_mounted(&self, event: &SubflowMounted<'_>) {}
}

/// A failure of a structure observer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StructureError {
    /// The observer's id, or `__truncated__` on the entry that stands for all further failures.
    pub recorder_id: Str,
    /// The hook's recorded name.
    pub method: Str,
    /// What the panic said.
    pub message: String,
}

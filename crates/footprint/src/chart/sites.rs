//! Prefixed ids and names of a chart's nodes at one mount site (ENG-10, ENG-27): the only place that prefixes.

use std::sync::{Arc, OnceLock};

use crate::chart::{Chart, MountedChart, NodeIdx, NodeKind};
use crate::ids::StageId;
use crate::value::Str;

/// Interned ids and names of one (mount path, chart) pair.
///
/// The root chart keeps the table of its own site; tables of eager mounts hang below it, filled at the first entry and shared by
/// all later runs. For lazy and generated charts the walk calls [`SiteIds::build`] once per resolved chart and path.
pub(crate) struct SiteIds {
    /// Mount path, `""` at the top. It equals the prefixed id of the mount node in the parent's table.
    pub(crate) path: Str,
    ids: Box<[StageId]>,
    names: Box<[Str]>,
    mounts: Box<[OnceLock<Arc<SiteIds>>]>,
}

impl SiteIds {
    /// Builds the table of `chart` below `path`.
    pub(crate) fn build(path: &str, chart: &Chart) -> Arc<SiteIds> {
        let prefixed = |local: &Str| -> Str {
            if path.is_empty() { local.clone() } else { Str::from(format!("{path}/{local}")) }
        };
        Arc::new(SiteIds {
            path: Str::from(path),
            ids: chart.nodes().map(|(_, node)| StageId::from(prefixed(&node.id))).collect(),
            names: chart.nodes().map(|(_, node)| prefixed(&node.name)).collect(),
            mounts: chart.nodes().map(|_| OnceLock::new()).collect(),
        })
    }

    /// Prefixed id of a node.
    pub(crate) fn id(&self, idx: NodeIdx) -> &StageId {
        todo_lookup(&self.ids, idx)
    }
}

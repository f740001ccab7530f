//! Prefixed ids and names of a chart's nodes at one mount site (ENG-10, ENG-27): the only place that prefixes.

use std::sync::{Arc, OnceLock};

use crate::chart::{Chart, MountedChart, NodeIdx, NodeKind};
use crate::ids::{StageId, prefixed};
use crate::value::Str;

/// Interned ids and names of one (mount path, chart) pair.
///
/// The top chart keeps the table of its own site. Tables of eager mounts hang below it, filled at the first entry and shared by
/// every later run of that top chart. For lazy and generated charts the walk calls [`SiteIds::build`] once per resolved chart and
/// path.
pub(crate) struct SiteIds {
    /// Mount path, `""` at the top. It equals the prefixed id of the mount node in the parent's table.
    pub(crate) path: Str,
    root: Site,
    rest: Box<[Site]>,
}

struct Site {
    id: StageId,
    name: Str,
    mount: OnceLock<Arc<SiteIds>>,
}

impl SiteIds {
    /// Builds the table of `chart` below `path`.
    pub(crate) fn build(path: &Str, chart: &Chart) -> Arc<SiteIds> {
        // At the top the node's own texts are shared, not copied.
        let at_site = |local: &Str| if path.is_empty() { local.clone() } else { prefixed(path, local) };
        let site = |idx: NodeIdx| {
            let node = chart.node(idx);
            let id = at_site(&node.id);
            let name = if node.name == node.id { id.clone() } else { at_site(&node.name) };
            Site { id: StageId::new(id), name, mount: OnceLock::new() }
        };
        let mut rest = Vec::with_capacity(chart.node_count().saturating_sub(1));
        rest.extend(chart.nodes().skip(1).map(|(idx, _)| site(idx)));
        Arc::new(SiteIds { path: path.clone(), root: site(NodeIdx::ROOT), rest: rest.into() })
    }

    fn site(&self, idx: NodeIdx) -> &Site {
        match idx.position().checked_sub(1) {
            Some(position) => self.rest.get(position).unwrap_or(&self.root),
            None => &self.root,
        }
    }

    /// Prefixed id of a node.
    pub(crate) fn id(&self, idx: NodeIdx) -> &StageId {
        &self.site(idx).id
    }

    /// Prefixed name of a node.
    pub(crate) fn name(&self, idx: NodeIdx) -> &Str {
        &self.site(idx).name
    }

    /// The chart and table behind an eager mount of `chart` (the chart this table was built for); `None` for any other node.
    pub(crate) fn eager_mount<'a>(
        &'a self,
        chart: &'a Chart,
        idx: NodeIdx,
    ) -> Option<(&'a Chart, &'a Arc<SiteIds>)> {
        let NodeKind::Mount(mount) = &chart.node(idx).kind else { return None };
        let MountedChart::Eager(inner) = &mount.chart else { return None };
        let site = self.site(idx);
        Some((inner, site.mount.get_or_init(|| SiteIds::build(site.id.as_shared(), inner))))
    }
}

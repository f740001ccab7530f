//! Building charts: shapes, refusals, continuations, contracts.

mod contract;
mod next;
mod refuse;
mod registry;
mod shape;

use super::*;
use crate::scope::Scope;
use crate::value::Str;

pub(super) fn nop(id: &str) -> Stage {
    Stage::new(id, |_: Scope| async { Ok(()) })
}

pub(super) fn decider(id: &str) -> Decider {
    Decider::new(id, |_: Scope| async { Ok("done") })
}

pub(super) fn selector(id: &str) -> Selector {
    Selector::new(id, |_: Scope| async { Ok(vec!["done"]) })
}

pub(super) fn for_each(id: &str) -> ForEach {
    ForEach::new(id, |_: Scope| Ok(vec![1_u64]), |_: &u64, _| inner()).max_branches(2).into("results")
}

pub(super) fn inner() -> Chart {
    Chart::builder(nop("in")).build().unwrap()
}

/// Ids and edges of a chart, one node a line: `id>next`, `id^target` for loops, children in brackets.
pub(super) fn sketch(chart: &Chart) -> Vec<String> {
    let id = |idx: &NodeIdx| chart.node(*idx).id.to_string();
    chart
        .nodes()
        .map(|(_, node)| {
            let children: Vec<String> = match &node.kind {
                NodeKind::Fork(fork) => fork.children.iter().map(id).collect(),
                NodeKind::Decider(decider) => {
                    decider.branches.iter().map(|branch| id(&branch.node)).collect()
                }
                NodeKind::Selector(selector) => {
                    selector.branches.iter().map(|branch| id(&branch.node)).collect()
                }
                _ => Vec::new(),
            };
            let children =
                if children.is_empty() { String::new() } else { format!("[{}]", children.join(" ")) };
            let next = match &node.next {
                Some(Edge::Next(next)) => format!(">{}", id(next)),
                Some(Edge::Loop(target)) => format!("^{}", id(target)),
                None => String::new(),
            };
            format!("{}{children}{next}", node.id)
        })
        .collect()
}

pub(super) fn problems(builder: ChartBuilder) -> Vec<BuildError> {
    builder.build().unwrap_err().0
}

pub(super) fn s(text: &str) -> Str {
    Str::from(text)
}

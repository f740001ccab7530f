//! Structure JSON, its readers, and what is generated from it.

mod documents;
mod json;
mod observers;
mod runtime;
mod walk;

use crate::chart::*;
use crate::scope::Scope;
use crate::structure::*;
use crate::value;
use crate::value::Value;

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
    Chart::builder(nop("in").named("In").describe("does it")).build().unwrap()
}

pub(super) fn json(chart: &Chart) -> Value {
    chart.structure().to_value().unwrap()
}

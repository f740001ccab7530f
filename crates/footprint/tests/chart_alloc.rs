//! What building a chart costs: counted in allocations, so that the bound holds on any machine.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::alloc::System;

use footprint::chart::{Chart, FanOut, Mount, Stage};
use footprint::scope::Scope;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn nop(id: &str) -> Stage {
    Stage::new(id, |_: Scope| async { Ok(()) })
}

fn chain(stages: usize) -> Chart {
    let rest = (1..stages).map(|at| nop(&format!("s{at}")));
    rest.fold(Chart::builder(nop("s0")), |builder, stage| builder.then(stage)).loop_to("s0").build().unwrap()
}

fn fork(children: usize) -> Chart {
    let children: Vec<Stage> = (0..children).map(|at| nop(&format!("c{at}"))).collect();
    Chart::builder(nop("root")).fork(children, FanOut::AllSettled).build().unwrap()
}

/// Charts mounted one inside the other; each is one stage and one mount.
fn nest(depth: usize) -> Chart {
    (0..depth)
        .fold(chain(1), |inner, _| Chart::builder(nop("s")).mount(Mount::of("sf", &inner)).build().unwrap())
}

/// Allocations and bytes of `size` and of four times `size`: building, and asking for the structure.
fn grows(what: &str, size: usize, build: impl Fn(usize) -> Chart) {
    let measure = |size: usize| {
        let region = Region::new(GLOBAL);
        let chart = build(size);
        chart.structure();
        let change = region.change();
        drop(chart);
        [
            change.allocations as f64,
            change.bytes_allocated as f64 + change.bytes_reallocated.unsigned_abs() as f64,
        ]
    };
    let (small, large) = (measure(size), measure(4 * size));
    for (small, large) in small.into_iter().zip(large) {
        let ratio = large / small;
        println!("{what}: {ratio:.2} times the work for 4 times the size");
        assert!(ratio < 6.0, "{what}: {ratio}");
    }
}

/// Proves the "must prove" of ENG §3.6: a 5 000-stage chain, a 100-deep nest and a 1 000-wide fork build in linear work (four
/// times the size may cost six times as much, ENG-153).
#[test]
fn building_is_linear() {
    grows("chain", 1_250, chain);
    grows("fork", 250, fork);
    grows("nest", 25, nest);
}

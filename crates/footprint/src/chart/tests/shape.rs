use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::ids::StageId;

/// Proves ENG-17, ENG-20, ENG-21: the arena of a chart with every node kind.
#[test]
fn every_node_kind_has_its_place_in_document_order() {
    let chart = Chart::builder(nop("seed"))
        .then(Stage::streaming("draft", |_: Scope| async { Ok("text") }))
        .fork([nop("a"), nop("b")], FanOut::FailFast)
        .then(Stage::pausable(
            "ask",
            |_: Scope| async { Ok(Step::Pause("?")) },
            |_: Scope, _: bool| async { Ok(()) },
        ))
        .mount(Mount::of("sf", &inner()))
        .fork([ForkChild::from(nop("c")), ForkChild::from(Mount::of("d", &inner()))], FanOut::AllSettled)
        .select(selector("pick").branch(nop("one")).branch(Mount::lazy("two", inner)))
        .for_each(for_each("each"))
        .decide(
            decider("route")
                .branch(Branch::stage(nop("again")).loop_to("draft"))
                .branch(Branch::mount(Mount::of("done", &inner())))
                .default_branch("done"),
        )
        .loop_to("seed")
        .build()
        .unwrap();
    assert_eq!(
        sketch(&chart),
        [
            "seed>draft",
            "draft[a b]>ask",
            "a",
            "b",
            "ask>sf",
            "sf>sf-fork",
            "sf-fork[c d]>pick",
            "c",
            "d",
            "pick[one two]>each",
            "one",
            "two",
            "each>route",
            "route[again done]^seed",
            "again^draft",
            "done",
        ]
    );
    let parent =
        |id: &str| chart.node(chart.find(id).unwrap()).parent.map(|idx| chart.node(idx).id.to_string());
    assert_eq!(parent("d").as_deref(), Some("sf-fork"));
    assert_eq!(parent("again").as_deref(), Some("route"));
    assert_eq!(parent("each"), None);
    let NodeKind::Decider(route) = &chart.node(chart.find("route").unwrap()).kind else { panic!() };
    assert_eq!((route.default, route.default_declared), (Some(1), true));
    let NodeKind::Fork(draft) = &chart.node(chart.find("draft").unwrap()).kind else { panic!() };
    assert!(matches!(draft.body, Some(Body::Streaming { .. })));
    assert_eq!(draft.mode, FanOut::FailFast);
    let NodeKind::Fork(generated) = &chart.node(chart.find("sf-fork").unwrap()).kind else { panic!() };
    assert!(generated.body.is_none());
}

/// Proves ENG-20: after every node whose children already mean something else, also after another fork.
#[test]
fn a_fork_hangs_on_a_generated_node_where_children_are_taken() {
    let after = |builder: ChartBuilder| {
        let chart = builder.fork([nop("x")], FanOut::AllSettled).then(nop("end")).build().unwrap();
        sketch(&chart).into_iter().find(|line| line.contains("[x]")).unwrap()
    };
    assert_eq!(after(Chart::builder(Mount::of("m", &inner()))), "m-fork[x]>end");
    assert_eq!(after(Chart::builder(decider("d").branch(nop("done")))), "d-fork[x]>end");
    assert_eq!(after(Chart::builder(selector("s").branch(nop("done")))), "s-fork[x]>end");
    assert_eq!(after(Chart::builder(for_each("f"))), "f-fork[x]>end");
    assert_eq!(after(Chart::builder(nop("p")).fork([nop("y")], FanOut::AllSettled)), "p-fork[x]>end");
    assert_eq!(after(Chart::builder(nop("p"))), "p[x]>end");
}

/// Proves ENG-22: a branch literally named `default` is the fallback when none is declared.
#[test]
fn a_branch_named_default_is_the_undeclared_fallback() {
    let chart = Chart::builder(decider("d").branch(nop("a")).branch(nop("default"))).build().unwrap();
    let NodeKind::Decider(node) = &chart.node(NodeIdx::ROOT).kind else { panic!() };
    assert_eq!((node.default, node.default_declared), (Some(1), false));
}

/// Proves ENG-23, ENG-25, ENG-26: modes, tags and retry sit on the node they were declared on.
#[test]
fn modes_tags_and_retries_are_kept() {
    let retry = || Retry::attempts(3).fixed(Duration::from_millis(5));
    let chart = Chart::builder(nop("a").tag("t1").tag("t2").retry(retry()))
        .fork([ForkChild::from(Mount::of("m", &inner()).tag("t3"))], FanOut::FailFast)
        .select(selector("s").branch(nop("b").tag("t4")).fan_out(FanOut::FailFast).retry(retry()))
        .for_each(for_each("f").fan_out(FanOut::FailFast).tag("t5"))
        .decide(decider("d").branch(nop("done")).tag("t6").retry(retry()))
        .build()
        .unwrap();
    let tags = |id: &str| chart.node(chart.find(id).unwrap()).tags.as_ref().map(|tags| tags.join(" "));
    assert_eq!(tags("a").as_deref(), Some("t1 t2"));
    for (id, tag) in [("m", "t3"), ("b", "t4"), ("f", "t5"), ("d", "t6")] {
        assert_eq!(tags(id).as_deref(), Some(tag));
    }
    assert_eq!(tags("done"), None);
    let attempts = |id: &str| chart.node(chart.find(id).unwrap()).retry.as_ref().map(Retry::max_attempts);
    assert_eq!(
        (attempts("a"), attempts("s"), attempts("d"), attempts("done")),
        (Some(3), Some(3), Some(3), None)
    );
    assert_eq!(chart.node(NodeIdx::ROOT).retry.as_ref().unwrap().delay_after(2), Duration::from_millis(5));
    let NodeKind::ForEach(each) = &chart.node(chart.find("f").unwrap()).kind else { panic!() };
    assert_eq!((each.mode, each.max_branches, &*each.into), (FanOut::FailFast, 2, "results"));
}

/// Proves ENG-26: attempts, waits and the predicate.
#[test]
fn retry_policies_answer_what_they_were_told() {
    let plain = Retry::attempts(1);
    assert_eq!(plain.delay_after(1), Duration::ZERO);
    let error = crate::error::StageError::named("NetError", "down");
    assert!(plain.accepts(&error));
    let picky = Retry::attempts(2).retry_on(|error| error.name() != "NetError");
    assert!(!picky.accepts(&error));
}

/// Proves ENG-10, ENG-27: one function prefixes; eager, lazy and generated mounts get the same ids below their segment.
#[test]
fn prefixed_ids_are_interned_once_per_site() {
    let leaf = Chart::builder(nop("leaf").named("Leaf")).build().unwrap();
    let mid = Chart::builder(Mount::of("sf-leaf", &leaf).named("L")).build().unwrap();
    let top = Chart::builder(Mount::of("one", &mid)).mount(Mount::of("two", &mid)).build().unwrap();
    let sites = top.root_sites();
    assert_eq!(sites.id(NodeIdx::ROOT), &StageId::new("one"));
    for (mount, path) in [(NodeIdx::ROOT, "one"), (NodeIdx(1), "two")] {
        let (chart, below) = sites.eager_mount(&top, mount).unwrap();
        assert!(Arc::ptr_eq(&chart.0, &mid.0));
        assert_eq!(&*below.path, path);
        let (chart, lowest) = below.eager_mount(chart, NodeIdx::ROOT).unwrap();
        assert_eq!(lowest.id(NodeIdx::ROOT).as_str(), format!("{path}/sf-leaf/leaf"));
        assert_eq!(&**lowest.name(NodeIdx::ROOT), format!("{path}/sf-leaf/Leaf"));
        // A lazy or generated mount of the same chart at the same path.
        let resolved = SiteIds::build(&format!("{path}/sf-leaf").into(), chart);
        assert_eq!(resolved.id(NodeIdx::ROOT), lowest.id(NodeIdx::ROOT));
        assert_eq!(resolved.name(NodeIdx::ROOT), lowest.name(NodeIdx::ROOT));
        let again = below.eager_mount(&mid, NodeIdx::ROOT).unwrap().1;
        assert!(Arc::ptr_eq(again, lowest));
    }
    // At the top nothing is prefixed and nothing is copied.
    assert!(Arc::ptr_eq(sites.id(NodeIdx::ROOT).as_shared(), &top.node(NodeIdx::ROOT).id));
    assert!(sites.eager_mount(&leaf, NodeIdx::ROOT).is_none());
}

/// Proves ENG-1, ENG-27: mounting shares the inner chart.
#[test]
fn mounting_copies_nothing() {
    let leaf = inner();
    let before = Arc::strong_count(&leaf.0);
    let top = Chart::builder(Mount::of("a", &leaf)).mount(Mount::of("b", &leaf)).build().unwrap();
    assert_eq!(Arc::strong_count(&leaf.0), before + 2);
    drop(top);
    assert_eq!(Arc::strong_count(&leaf.0), before);
}

/// Proves ENG-28.
#[test]
fn whatever_exposes_a_chart_can_be_mounted() {
    struct Runner(Chart);
    impl IntoChart for Runner {
        fn to_chart(&self) -> Chart {
            self.0.clone()
        }
    }
    let runner = Arc::new(Runner(inner()));
    let chart = Chart::builder(Mount::of("r", &runner)).mount(Mount::of("s", &*runner)).build().unwrap();
    assert_eq!(chart.node_count(), 2);
}

/// Counts the work of a build as allocations would be too noisy: nodes lowered per node declared is 1, and the whole stays fast
/// enough that quadratic work would show as minutes. Proves ENG §3.6: a 5 000-stage chain and a 1 000-wide fork.
#[test]
fn long_chains_and_wide_forks_build_in_linear_work() {
    let mut builder = Chart::builder(nop("s0"));
    for at in 1..5_000 {
        builder = builder.then(nop(&format!("s{at}")));
    }
    let chart = builder.loop_to("s0").build().unwrap();
    assert_eq!(chart.node_count(), 5_000);
    assert_eq!(chart.structure().node_count(), 5_001);

    let children: Vec<Stage> = (0..1_000).map(|at| nop(&format!("c{at}"))).collect();
    let wide = Chart::builder(nop("f")).fork(children, FanOut::AllSettled).build().unwrap();
    assert_eq!(wide.node_count(), 1_001);
}

/// Proves ENG §3.6, ENG-27: a nest holds one structure slot per node however deep it is mounted, and dropping it does not recurse.
#[test]
fn deep_nests_share_their_inner_charts() {
    let nest = |depth: usize| {
        let mut chart = inner();
        for _ in 0..depth {
            chart = Chart::builder(nop("before")).mount(Mount::of("sf", &chart)).build().unwrap();
            assert_eq!(chart.node_count(), 2);
        }
        chart
    };
    let hundred = nest(100);
    assert_eq!(hundred.structure().node_count(), 201);
    let deep = nest(20_000);
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(move || {
            assert_eq!(deep.structure().node_count(), 40_001);
            drop(deep);
        })
        .unwrap()
        .join()
        .unwrap();
}

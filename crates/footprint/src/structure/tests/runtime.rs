use super::*;

fn chart() -> Chart {
    let deep = Chart::builder(nop("loops")).loop_to("loops").build().unwrap();
    Chart::builder(nop("seed"))
        .mount(Mount::lazy("lazy", inner))
        .mount(Mount::of("sf", &deep))
        .for_each(for_each("each").named("Each"))
        .build()
        .unwrap()
}

/// Proves ENG-59: what a run discovered joins the structure; the chart's own stays as it was.
#[test]
fn discoveries_join_the_structure() {
    let chart = chart();
    let before = chart.structure().to_json();
    let mut facts = RuntimeFacts::new();
    facts.resolved("lazy", inner().structure().clone());
    facts.branch("each", "each~0", "Each [0]", inner().structure().clone());
    facts.branch("each", "each~1", "Each [1]", inner().structure().clone());
    facts.iterations("sf/loops", 4);
    facts.iterations("seed", 1);
    facts.continuation("seed", Chart::builder(nop("extra")).build().unwrap().structure().clone());
    let found = facts.apply(chart.structure()).to_value().unwrap();
    assert_eq!(found["iterationCount"], value!(1));
    assert_eq!(found["children"], value!([{ "name": "extra", "id": "extra", "type": "stage" }]));
    let lazy = &found["next"];
    assert_eq!((&lazy["isLazy"], &lazy["subflowStructure"]["id"]), (&value!(true), &value!("in")));
    let deep = &lazy["next"];
    assert_eq!(deep["subflowStructure"]["iterationCount"], value!(4));
    assert_eq!(deep["subflowStructure"]["next"].get("iterationCount"), None);
    let branch = &deep["next"]["children"][1];
    assert_eq!(
        branch,
        &value!({
            "name": "Each [1]", "id": "each~1", "type": "subflow", "isSubflowRoot": true, "subflowId": "each~1",
            "subflowName": "Each [1]",
            "subflowStructure": { "name": "In", "id": "in", "type": "stage", "description": "does it" }
        })
    );
    assert_eq!(chart.structure().to_json(), before);
}

/// Proves ENG-59: no facts, no copy; mounts without facts stay shared.
#[test]
fn what_has_no_facts_is_shared() {
    let chart = chart();
    assert_eq!(&RuntimeFacts::new().apply(chart.structure()), chart.structure());
    let mut facts = RuntimeFacts::new();
    facts.iterations("seed", 2);
    let found = facts.apply(chart.structure());
    let shared = found.find("sf").unwrap().shared_subflow().unwrap();
    let original = chart.structure().find("sf").unwrap().shared_subflow().unwrap();
    assert!(std::ptr::eq(shared.root().node(), original.root().node()));
}

/// Proves ENG-43, ENG-59: a returned fork shows its children under the stage; a chain follows a stage nothing follows.
#[test]
fn continuations_are_shown_where_they_ran() {
    let last = Chart::builder(nop("a")).build().unwrap();
    let plan = |next: Next| match next.plan(&last, NodeIdx::ROOT).unwrap() {
        NextPlan::Chain(chart) | NextPlan::Mount(chart) | NextPlan::Fork(chart) => chart.structure().clone(),
        NextPlan::Goto(_) => panic!(),
    };
    let mut facts = RuntimeFacts::new();
    facts.continuation("a", plan(Next::Chain(vec![nop("x"), nop("y")])));
    facts.continuation("a", plan(Next::Fork(vec![nop("p").into(), nop("q").into()], FanOut::AllSettled)));
    facts.continuation("a", plan(Next::Mount(Box::new(Mount::of("sf", &inner())))));
    // The same continuation of a later visit is no news.
    facts.continuation("a", plan(Next::Chain(vec![nop("x"), nop("y")])));
    let found = facts.apply(last.structure());
    let ids: Vec<String> = found.root().children().map(|child| child.id.to_string()).collect();
    assert_eq!(ids, ["p", "q", "sf"]);
    assert_eq!(found.root().next().unwrap().next().unwrap().id, "y".into());
    assert!(found.find("sf/in").is_some());
}

use proptest::prelude::*;

use super::*;
use crate::json::Limits;

/// Proves ENG-47, ENG-60 and the table of ENG §4.1: stages, streaming, pausable, retry, tags.
#[test]
fn stages_show_what_was_declared() {
    let chart = Chart::builder(
        nop("seed").named("Seed").describe("loads").icon("box").tag("a").tag("b").retry(Retry::attempts(3)),
    )
    .then(Stage::streaming("draft", |_: Scope| async { Ok(()) }).named("Draft"))
    .then(Stage::streaming("talk", |_: Scope| async { Ok(()) }).stream_id("voice"))
    .then(Stage::pausable("ask", |_: Scope| async { Ok(Step::Pause(1)) }, |_: Scope, _: u8| async { Ok(()) }))
    .build()
    .unwrap();
    assert_eq!(
        json(&chart),
        value!({
            "name": "Seed", "id": "seed", "type": "stage", "description": "loads", "icon": "box", "tags": ["a", "b"], "retryAttempts": 3,
            "next": {
                "name": "Draft", "id": "draft", "type": "streaming", "isStreaming": true, "streamId": "Draft",
                "next": {
                    "name": "talk", "id": "talk", "type": "streaming", "isStreaming": true, "streamId": "voice",
                    "next": { "name": "ask", "id": "ask", "type": "stage", "isPausable": true }
                }
            }
        })
    );
}

/// Proves ENG-20, ENG-23, ENG-60: a stage before a fork is the fork; elsewhere a node is generated.
#[test]
fn forks_are_the_node_before_them_or_a_generated_one() {
    let chart = Chart::builder(nop("prep").named("Prep"))
        .fork([nop("slow"), nop("quick")], FanOut::AllSettled)
        .mount(Mount::of("sf", &inner()).named("Sub"))
        .fork([Mount::of("c", &inner())], FanOut::FailFast)
        .then(nop("join"))
        .build()
        .unwrap();
    let mounted = value!({ "name": "In", "id": "in", "type": "stage", "description": "does it" });
    assert_eq!(
        json(&chart),
        value!({
            "name": "Prep", "id": "prep", "type": "fork",
            "children": [
                { "name": "slow", "id": "slow", "type": "stage", "isParallelChild": true, "parallelGroupId": "prep" },
                { "name": "quick", "id": "quick", "type": "stage", "isParallelChild": true, "parallelGroupId": "prep" }
            ],
            "next": {
                "name": "Sub", "id": "sf", "type": "stage", "isSubflowRoot": true, "subflowId": "sf", "subflowName": "Sub",
                "subflowStructure": (mounted.clone()),
                "next": {
                    "name": "sf-fork", "id": "sf-fork", "type": "fork",
                    "children": [{
                        "name": "c", "id": "c", "type": "stage", "isSubflowRoot": true, "subflowId": "c", "subflowName": "c",
                        "subflowStructure": (mounted), "isParallelChild": true, "parallelGroupId": "sf-fork"
                    }],
                    "next": { "name": "join", "id": "join", "type": "stage" }
                }
            }
        })
    );
}

/// Proves ENG-21, ENG-22, ENG-24, ENG-60: branches, defaults, loops, lazy mounts, for-each.
#[test]
fn branches_loops_and_mounts_have_their_fields() {
    let chart = Chart::builder(nop("score"))
        .select(selector("pick").branch(nop("one")).branch(Mount::lazy("two", inner).converge_at("each")))
        .for_each(for_each("each").named("Each"))
        .decide(
            decider("route")
                .branch(Branch::stage(nop("again")).loop_to("score"))
                .branch(Mount::of("done", &inner()))
                .default_branch("done"),
        )
        .build()
        .unwrap();
    assert_eq!(
        json(&chart),
        value!({
            "name": "score", "id": "score", "type": "stage",
            "next": {
                "name": "pick", "id": "pick", "type": "selector", "hasSelector": true, "branchIds": ["one", "two"],
                "children": [
                    { "name": "one", "id": "one", "type": "stage" },
                    { "name": "two", "id": "two", "type": "stage", "isSubflowRoot": true, "subflowId": "two", "subflowName": "two",
                      "isLazy": true, "convergeAt": "each" }
                ],
                "next": {
                    "name": "Each", "id": "each", "type": "fork", "isDynamicParallel": true,
                    "next": {
                        "name": "route", "id": "route", "type": "decider", "hasDecider": true, "branchIds": ["again", "done"],
                        "defaultBranch": "done",
                        "children": [
                            { "name": "again", "id": "again", "type": "stage", "loopTarget": "score",
                              "next": { "name": "score", "id": "score", "type": "loop", "isLoopReference": true } },
                            { "name": "done", "id": "done", "type": "stage", "isSubflowRoot": true, "subflowId": "done",
                              "subflowName": "done",
                              "subflowStructure": { "name": "In", "id": "in", "type": "stage", "description": "does it" } }
                        ]
                    }
                }
            }
        })
    );
}

/// Proves ENG-21, ENG-60: a loop at the chain's end.
#[test]
fn a_looping_chain_ends_in_a_stub() {
    let chart = Chart::builder(nop("seed")).then(nop("work").named("Work")).loop_to("work").build().unwrap();
    assert_eq!(
        json(&chart)["next"],
        value!({
            "name": "Work", "id": "work", "type": "stage", "loopTarget": "work",
            "next": { "name": "work", "id": "work", "type": "loop", "isLoopReference": true }
        })
    );
}

/// A structure of `count` nodes, each hanging on the one before it, `kinds` deciding how: by `next`, as a child, as an inner chart.
fn hanging(count: usize, kinds: usize) -> Structure {
    let mut builder = StructureBuilder::new();
    let mut last =
        builder.add(StructureNode { id: "n0".into(), name: "n0".into(), ..StructureNode::default() });
    for at in 1..count {
        let id = crate::value::Str::from(format!("n{at}"));
        let next = builder.add(StructureNode { id: id.clone(), name: id, ..StructureNode::default() });
        match at % kinds {
            0 => builder.set_next(last, next),
            1 => builder.add_child(last, next),
            _ => builder.set_subflow_root(last, next),
        }
        last = next;
    }
    builder.finish().unwrap()
}

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(256 * 1024).spawn(work).unwrap().join().unwrap();
}

/// Proves ENG-48, ENG-164: a chain of 100 000 nodes is written, read, cloned, compared, walked, searched, extended and dropped.
#[test]
fn long_chains_need_no_stack() {
    on_a_small_stack(|| {
        let structure = hanging(100_000, 1);
        let text = structure.to_json();
        let read = Structure::from_json(&text).unwrap();
        assert_eq!(read, structure);
        assert_eq!(read.clone().to_json(), text);
        assert_eq!(read.node_count(), 100_000);
        assert!(read.find("n99999").is_some());
        assert_eq!(
            walk_structure(read.root(), "", true)
                .filter(|item| matches!(item, StructureItem::Stage { .. }))
                .count(),
            100_000
        );
        let mut facts = RuntimeFacts::new();
        facts.iterations("n99999", 2);
        assert_eq!(facts.apply(&read).find("n99999").unwrap().iteration_count, Some(2));
    });
}

/// Proves ENG-48, ENG-164: every kind of nesting, deep.
#[test]
fn deep_documents_need_no_stack() {
    on_a_small_stack(|| {
        let structure = hanging(30_000, 3);
        let text = structure.to_json();
        let read = Structure::from_json(&text).unwrap();
        assert!(read == structure && read.to_json() == text);
        let small = hanging(1_000, 3);
        let stages =
            walk_structure(small.root(), "", true).filter(|item| matches!(item, StructureItem::Stage { .. }));
        assert_eq!(stages.count(), 1_000);
    });
}

/// Proves ENG-48: a chart's own long chain, with its description and diagram.
#[test]
fn long_charts_need_no_stack() {
    on_a_small_stack(|| {
        let mut builder = Chart::builder(nop("s"));
        for at in 0..20_000 {
            builder = builder.then(nop(&format!("s{at}")));
        }
        let chart = builder.build().unwrap();
        assert_eq!(Structure::from_json(chart.structure().to_json()).unwrap(), *chart.structure());
        assert_eq!(chart.description().lines().count(), 20_003);
        assert_eq!(chart.to_mermaid().lines().count(), 2 * 20_001);
    });
}

/// Proves ENG-160's "unknown extra fields anywhere (preserved on rewrite)" for structures.
#[test]
fn what_is_not_known_is_kept() {
    let text = r#"{"name":"a","id":"a","type":"teleport","tags":"not a list","retryAttempts":-1,"deep":{"x":[1,{"y":null}]},"next":{"name":"b","id":"b","type":"stage","later":true}}"#;
    let structure = Structure::from_json(text).unwrap();
    assert_eq!(structure.root().node_type.as_str(), "teleport");
    assert_eq!(structure.root().extra.get("tags"), Some(&value!("not a list")));
    assert_eq!(structure.to_value().unwrap(), text.parse::<Value>().unwrap());
}

/// A reader that says null, or `false`, says no more than one that says nothing.
#[test]
fn nulls_and_false_flags_mean_absent() {
    let text = r#"{"id":"a","description":null,"isPausable":false,"next":null,"children":null,"subflowStructure":null,"tags":null}"#;
    let structure = Structure::from_json(text).unwrap();
    assert_eq!(structure.to_json(), r#"{"name":"a","id":"a","type":"stage"}"#);
}

#[test]
fn texts_that_are_no_structure_are_refused() {
    for text in [
        "",
        "[]",
        "1",
        "{",
        "{}",
        r#"{"id":"a","next":{}}"#,
        r#"{"id":"a","children":[1]}"#,
        r#"{"id":"a"} x"#,
    ] {
        assert!(Structure::from_json(text).is_err(), "{text}");
    }
    let limits = Limits { max_bytes: 100, max_depth: 2 };
    assert!(Structure::from_json_with(r#"{"id":"a","next":{"id":"b"}}"#, limits).is_ok());
    assert!(Structure::from_json_with(r#"{"id":"a","next":{"id":"b","next":{"id":"c"}}}"#, limits).is_err());
    assert!(Structure::from_json_with(format!(r#"{{"id":"{}"}}"#, "x".repeat(100)), limits).is_err());
}

/// Shared inner structures and read ones are the same structure.
#[test]
fn sharing_does_not_show() {
    let leaf = inner();
    let chart = Chart::builder(Mount::of("a", &leaf)).mount(Mount::of("b", &leaf)).build().unwrap();
    let read = Structure::from_json(chart.structure().to_json()).unwrap();
    assert_eq!(&read, chart.structure());
    assert_eq!(read.node_count(), chart.structure().node_count());
    assert_eq!(read.find("b/in").unwrap().name, "In".into());
    assert!(read.find("b/nowhere").is_none() && read.find("c/in").is_none());
    let other = Chart::builder(Mount::of("a", &leaf))
        .mount(Mount::of("b", &Chart::builder(nop("in")).build().unwrap()));
    assert_ne!(other.build().unwrap().structure(), chart.structure());
}

/// A random tree of nodes: (how it hangs on an earlier node, which one, its id).
fn built(shape: &[(u8, prop::sample::Index, String)]) -> Structure {
    let mut builder = StructureBuilder::new();
    let node = |id: &str| StructureNode { id: id.into(), name: id.into(), ..StructureNode::default() };
    let mut free_next = vec![builder.add(node("root"))];
    let mut free_inner = free_next.clone();
    let mut all = free_next.clone();
    for (hang, index, id) in shape {
        let added = builder.add(StructureNode {
            is_pausable: hang % 2 == 0,
            icon: Some(id.as_str().into()),
            ..node(&format!("_{id}"))
        });
        match hang % 3 {
            0 if !free_next.is_empty() => {
                builder.set_next(free_next.swap_remove(index.index(free_next.len())), added)
            }
            1 if !free_inner.is_empty() => {
                builder.set_subflow_root(free_inner.swap_remove(index.index(free_inner.len())), added)
            }
            _ => builder.add_child(*index.get(&all), added),
        }
        free_next.push(added);
        free_inner.push(added);
        all.push(added);
    }
    builder.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Proves ENG-48, ENG-145 (for structures): reading what was written gives the same structure.
    #[test]
    fn reading_inverts_writing(shape in prop::collection::vec((any::<u8>(), any::<prop::sample::Index>(), ".{0,6}"), 0..60)) {
        let structure = built(&shape);
        let text = structure.to_json();
        let read = Structure::from_json(&text).unwrap();
        prop_assert_eq!(&read, &structure);
        prop_assert_eq!(read.to_json(), text);
    }

    /// A reader of foreign text ends with an answer, whatever the text is.
    #[test]
    fn reading_never_panics(text in r#"[\{\}\[\]",:a-z0-9 ]{0,60}"#) {
        let _ = Structure::from_json(text);
    }
}

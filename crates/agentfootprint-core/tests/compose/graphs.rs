use agentfootprint_core::compose::{Graph, Node};
use agentfootprint_core::run::{ChartRunner as _, RunInput, Runner};
use footprint::value::Object;

use crate::support::*;

fn both(parents: &Object) -> String {
    parents.iter().map(|(id, text)| format!("{id}:{}", text.as_str().unwrap())).collect::<Vec<_>>().join("|")
}

fn diamond() -> Graph {
    Graph::builder("plan")
        .node(Node::new("start", wrapping("s")))
        .node(Node::new("left", wrapping("l")))
        .node(Node::new("right", wrapping("r")).name("Right"))
        .node(Node::new("end", wrapping("e")).join(both))
        .edge("start", "left")
        .edge("start", "right")
        .edge("left", "end")
        .edge("right", "end")
        .build()
        .unwrap()
}

/// Proves AGT-127, P-18: levels, joins, and results by node id.
#[tokio::test]
async fn a_diamond_runs_level_by_level() {
    let graph = diamond();
    assert_eq!(graph.levels(), [vec!["start"], vec!["left", "right"], vec!["end"]]);
    let (report, heard) = run(&graph, "x").await;
    let results = report.answer().unwrap();
    assert_eq!(
        footprint::value::Value::from(results.clone()),
        json!({"start": "s(x)", "left": "l(s(x))", "right": "r(s(x))", "end": "e(left:l(s(x))|right:r(s(x)))"})
    );
    assert_eq!(heard.pairs(), ["+plan", "-plan ok"]);
    assert_eq!(heard.of("composition.enter")[0]["kind"], "Sequence");
    assert_eq!(heard.all()[0]["meta"]["compositionPath"], json!(["Graph:plan"]));
    let ids: Vec<String> =
        graph.spec().structure().root().level().map(|node| node.node().id.to_string()).collect();
    assert!(ids.contains(&"level-1-join".to_owned()) && ids.contains(&"finalize".to_owned()), "{ids:?}");
    assert_eq!(graph.ui_group().extra.unwrap()["form"], "Graph");
}

/// Proves AGT-126, AGT-127: a graph may be started with an object; every root gets it.
#[tokio::test]
async fn roots_get_the_graphs_input() {
    let graph = Graph::builder("g")
        .node(Node::new("a", wrapping("a")))
        .node(Node::new("b", wrapping("b")))
        .build()
        .unwrap();
    let heard = Heard::default();
    let report = graph.run(RunInput::of_value(json!({"message": "hi"}))).options(heard.options()).await;
    assert_eq!(
        footprint::value::Value::from(report.answer().unwrap().clone()),
        json!({"a": "a(hi)", "b": "b(hi)"})
    );
    let text = {
        let report = graph.run(RunInput::of_value(json!(7))).options(heard.options()).await;
        report.error().unwrap().to_string()
    };
    assert!(text.contains("node `a`") && text.contains("number"), "{text}");
}

/// Proves AGT-127, P-18: a failing node is named, alone in its level and beside others.
#[tokio::test]
async fn a_failing_node_is_named() {
    let alone = Graph::builder("g").node(Node::new("bad", failing("x"))).build().unwrap();
    let (report, heard) = run(&alone, "x").await;
    let text = report.error().unwrap().to_string();
    assert!(text.contains("Graph `g`: node `bad` failed") && text.contains("no answer"), "{text}");
    assert_eq!(heard.pairs(), ["+g", "-g err"]);
    let beside = Graph::builder("g")
        .node(Node::new("fine", wrapping("x")))
        .node(Node::new("bad", failing("x")))
        .build()
        .unwrap();
    let (report, heard) = run(&beside, "x").await;
    let text = report.error().unwrap().to_string();
    assert!(
        text.contains("Graph `g`: node `bad` failed (ServiceError: ") && text.contains("no answer"),
        "{text}"
    );
    assert_eq!(heard.pairs(), ["+g", "-g err"]);
    assert!(heard.steps("composition.exit")[0].contains("level-0-join#"));
}

/// Proves AGT-127: a node with one parent may still say how it takes the answer.
#[tokio::test]
async fn a_join_over_one_parent_shapes_the_message() {
    let graph = Graph::builder("g")
        .node(Node::new("a", wrapping("a")))
        .node(Node::new("b", wrapping("b")).join(both))
        .edge("a", "b")
        .edge("a", "b")
        .build()
        .unwrap();
    let (report, _) = run(&graph, "x").await;
    assert_eq!(report.answer().unwrap().get("b").unwrap(), "b(a:a(x))");
}

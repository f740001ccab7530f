use std::sync::{Arc, Mutex};

use agentfootprint::debug::live::default_templates;
use agentfootprint::debug::step_graph::{NodeKind, StepGraph};
use agentfootprint::events::EventName;
use agentfootprint::prelude::*;
use agentfootprint::watch;
use footprint::value;

use crate::support::support_agent;

/// Never answers; tells when it was asked.
#[tool]
async fn wait_for_ever(what: String) -> Result<String, ToolError> {
    std::future::pending::<()>().await;
    Ok(what)
}

/// Proves REC-51.
#[tokio::test]
async fn a_dropped_or_failed_run_leaves_nothing_under_way() {
    let model = || Mock::replies([MockReply::tool_call("t1", "wait_for_ever", value!({ "what": "x" }))]);
    let agent = Agent::builder(model(), "mock-1").tool(wait_for_ever).build().unwrap();
    let (live, watching) = watch::live_state(&agent);
    let started = Arc::new(tokio::sync::Notify::new());
    let told = Arc::clone(&started);
    let tool_start =
        agent.events().on("agentfootprint.stream.tool_start", move |_| told.notify_one()).unwrap();
    let run = agent.run("q").start().unwrap();
    let remote = run.remote(); // somebody still holds a handle
    let id = remote.run_id().to_string();
    let mut finish = Box::pin(run.finish());
    tokio::select! {
        _ = &mut finish => panic!("it waits"),
        () = started.notified() => {}
    }
    live.read(|state| assert!(state.is_tool_executing(&id) && state.is_in_turn(&id), "{id}: {state:?}"));
    drop(finish);
    assert_eq!(live.read(|state| state.runs().count()), 0);
    drop((watching, tool_start));
    // The script is empty: the call fails.
    let failing = Agent::builder(Mock::replies([] as [MockReply; 0]), "mock-1").build().unwrap();
    let (live, watching) = watch::live_state(&failing);
    assert!(failing.run("q").await.into_answer().is_err());
    assert_eq!(live.read(|state| state.runs().count()), 0);
    watching.detach();
}

/// Proves REC-55.
#[tokio::test]
async fn status_is_offered_seven_events_and_a_line_is_rendered_when_it_changes() {
    let agent = support_agent();
    let offered = Arc::new(Mutex::new(Vec::<EventName>::new()));
    let seen = Arc::clone(&offered);
    let skipping = watch::attach_status(
        &agent,
        move |event| {
            seen.lock().unwrap().extend(event.name());
            None
        },
        |line| panic!("a skipped event is not shown: {line}"),
    );
    let lines = Arc::new(Mutex::new(Vec::<Option<String>>::new()));
    let shown = Arc::clone(&lines);
    let status = watch::live_status(&agent, default_templates(), move |at| {
        shown.lock().unwrap().push(at.line.map(str::to_owned));
    });
    agent.run("Where is order A-1001?").await.into_answer().unwrap();
    let offered = offered.lock().unwrap().clone();
    let names: Vec<&str> = offered.iter().map(|name| name.event()).collect();
    assert_eq!(
        names,
        [
            "turn_start",
            "iteration_start",
            "route_decided",
            "tool_start",
            "tool_end",
            "iteration_start",
            "route_decided",
            "turn_end",
        ]
    );
    let lines = lines.lock().unwrap().clone();
    assert!(lines.windows(2).all(|pair| pair[0] != pair[1]), "{lines:?}");
    assert_eq!(lines.first(), Some(&Some("Thinking…".to_owned())));
    assert!(lines.contains(&Some("Using get_order…".to_owned())), "{lines:?}");
    assert!(lines.contains(&Some("Order A-1001 has shipped.".to_owned())), "{lines:?}");
    assert_eq!(lines.last(), Some(&None));
    drop((skipping, status));
}

/// Proves REC-49.
#[tokio::test]
async fn the_graph_grows_while_the_run_goes_on_and_is_handed_over_once_at_its_end() {
    let agent = support_agent();
    let sizes = Arc::new(Mutex::new(Vec::<usize>::new()));
    let last = Arc::new(Mutex::new(Vec::<StepGraph>::new()));
    let (growing, over) = (Arc::clone(&sizes), Arc::clone(&last));
    let watching = watch::step_graph(
        &agent,
        move |_, graph| growing.lock().unwrap().push(graph.nodes.len()),
        move |_, graph| over.lock().unwrap().push(graph),
    );
    let run = agent.record("Where is order A-1001?").await.unwrap();
    run.answer().unwrap();
    let sizes = sizes.lock().unwrap().clone();
    assert!(sizes.is_sorted() && sizes.first() == Some(&0) && sizes.last() == Some(&4), "{sizes:?}");
    let graphs = last.lock().unwrap().clone();
    let [graph] = graphs.as_slice() else { panic!("{} graphs", graphs.len()) };
    let kinds: Vec<NodeKind> = graph.nodes.iter().map(|node| node.kind).collect();
    assert_eq!(kinds, [NodeKind::UserToLlm, NodeKind::LlmToTool, NodeKind::ToolToLlm, NodeKind::LlmToUser]);
    assert_eq!(graph.edges.len(), 3);
    let asked = graph.nodes[0].slot_boundaries.as_ref().unwrap();
    assert!(asked.system_prompt.is_some() && asked.messages.is_some() && asked.tools.is_some());
    watching.detach();
}

//! Flowcharts as tools.

use std::sync::Arc;

use agentfootprint_core::tools::{
    InnerOutcome, InnerRunStore, IntoTool, Tool, ToolContext, ToolOutput, flowchart_as_tool,
};
use footprint::prelude::*;
use footprint::state::RedactionPolicy;
use footprint::value;
use footprint::value::Value;

use crate::support::{Script, agent, calls, results, run, say};

fn adding() -> Chart {
    Chart::builder(Stage::new("seed", |s: Scope| async move {
        let n = s.args_value().get("n").and_then(Value::as_u64).unwrap_or_default();
        if n == 13 {
            return Err(footprint::error::StageError::new("thirteen is not added"));
        }
        s.set_value("sum", value!(n + 1))?;
        Ok(s.set_value("secret", value!("hunter2"))?)
    }))
    .build()
    .unwrap()
}

fn store(tool: &Tool) -> Arc<InnerRunStore> {
    tool.extensions().get::<InnerRunStore>().unwrap()
}

/// Proves TOOL-78, TOOL-79: every call is a walk of its own; the result is its final state; all exits are kept.
#[tokio::test]
async fn a_chart_is_a_tool_with_a_record() {
    let chart_tool = flowchart_as_tool("add", "Adds one.", adding())
        .input_schema(value!({ "properties": { "n": { "type": "integer" } } }))
        .redact(RedactionPolicy::new().keys(["secret"]))
        .keep_record()
        .keep_record_limit(2)
        .into_tool()
        .unwrap();
    let script = Script::new([
        calls(&[
            ("a", "add", value!({ "n": 1 })),
            ("b", "add", value!({ "n": 13 })),
            ("c", "add", value!({ "n": 3 })),
        ]),
        say("done"),
    ]);
    let agent = agent(&script).tool(chart_tool.clone()).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    let texts: Vec<String> = results(&report).into_iter().map(|(_, text, _)| text).collect();
    assert!(texts[0].starts_with(r#"{"sum":2"#) && !texts[0].contains("hunter2"), "{}", texts[0]);
    assert!(texts[1].contains("thirteen is not added"), "{}", texts[1]);
    assert!(!heard.mentions("hunter2"));
    let kept = store(&chart_tool);
    assert_eq!((kept.len(), kept.dropped()), (2, 1));
    let ends = heard.of("stream.tool_end");
    assert_eq!(ends[1].get("error"), Some(&value!(true)));
}

/// Proves TOOL-79: reading refreshes, the least recently used goes first, and a turn's record is found by turn and call.
#[tokio::test]
async fn records_are_bounded_and_found_by_call() {
    let chart_tool =
        flowchart_as_tool("add", "Adds.", adding()).keep_record().keep_record_limit(2).into_tool().unwrap();
    let call = async |id: &str, n: u64| {
        let _ = chart_tool.call(value!({ "n": n }), &ToolContext::detached("add", id.to_owned())).await;
    };
    call("a", 1).await;
    call("b", 13).await;
    let kept = store(&chart_tool);
    let first = kept.get(None, "a").unwrap();
    assert_eq!((first.outcome, first.problem.is_none(), first.steps), (InnerOutcome::Ok, true, 1));
    assert!(!first.narrative.is_empty());
    call("c", 3).await;
    assert!(
        kept.get(None, "b").is_none() && kept.get(None, "a").is_some() && kept.get(Some("t"), "a").is_none()
    );
    call("d", 13).await;
    let failed = kept.get(None, "d").unwrap();
    assert_eq!(failed.outcome, InnerOutcome::Error);
    assert!(failed.problem.unwrap().contains("thirteen"));
}

/// Proves TOOL-78: a mapper's failure is said as the mapper's; a question inside the chart is a failure of the tool.
#[tokio::test]
async fn a_mapper_and_a_pause_inside() {
    let ctx = ToolContext::detached("add", "c1");
    let mapped = flowchart_as_tool("add", "Adds.", adding())
        .map_result(|state, told| match state.get("sum").and_then(Value::as_u64) {
            Some(2) => Ok(ToolOutput::text(format!("two, in {} words", told.len().min(1)))),
            Some(_) => Err("no such sum".to_owned()),
            None => panic!("no sum"),
        })
        .into_tool()
        .unwrap();
    let read = async |n: u64| mapped.call(value!({ "n": n }), &ctx).await.unwrap().into_value().unwrap();
    assert_eq!(read(1).await, value!("two, in 1 words"));
    assert_eq!(read(2).await, value!("[mapper-error: no such sum]"));
}

/// Proves TOOL-79: refused at definition.
#[test]
fn bad_declarations_are_refused() {
    let refused =
        |tool: Result<Tool, agentfootprint_core::tools::ToolDefError>| tool.unwrap_err().to_string();
    let blank = refused(flowchart_as_tool("add", " ", adding()).into_tool());
    assert!(blank.contains("description"), "{blank}");
    let limit = refused(flowchart_as_tool("add", "Adds.", adding()).keep_record_limit(3).into_tool());
    assert!(limit.contains("keep_record"), "{limit}");
    let none =
        refused(flowchart_as_tool("add", "Adds.", adding()).keep_record().keep_record_limit(0).into_tool());
    assert!(none.contains("at least one"), "{none}");
    let name = refused(flowchart_as_tool("", "Adds.", adding()).into_tool());
    assert!(name.contains("name"), "{name}");
}

/// Proves TOOL-78: a chart that asks a person inside a tool is a tool error that says so, and its record is kept.
#[tokio::test]
async fn a_chart_that_pauses_is_a_tool_error() {
    let pausing = Chart::builder(Stage::pausable(
        "ask",
        |_: Scope| async move { Ok(footprint::chart::Step::Pause(value!({ "question": "Which?" }))) },
        |_: Scope, _: Value| async move { Ok(()) },
    ))
    .build()
    .unwrap();
    let tool = flowchart_as_tool("ask", "Asks.", pausing).keep_record().into_tool().unwrap();
    let script = Script::new([calls(&[("a", "ask", value!({}))]), say("done")]);
    let agent = agent(&script).tool(tool.clone()).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(
        results(&report)[0].1,
        "the procedure of `ask` paused inside the tool; a question of a tool's own chart is not passed on"
    );
    assert_eq!(heard.of("stream.tool_end")[0].get("error"), Some(&value!(true)));
    let turn = report.record.state().get("pausedTurnId").cloned();
    assert!(turn.is_none(), "the run itself did not pause");
    assert_eq!(store(&tool).len(), 1);
}

use agentfootprint_core::injection::RawInjection;
use agentfootprint_core::tools::{ContextSource, Tool};
use footprint::value;

use crate::support::{Script, agent, calls, results, run, say, tool};

fn peek(answer: &'static str) -> Tool {
    tool("peek", value!({}), move |_| answer)
}

fn after_start(id: &str, carried: Tool) -> RawInjection {
    RawInjection::new(id, ContextSource::Instructions).after_tool("start").tool(carried)
}

/// Proves TOOL-121, TOOL-13: who put a name on the wire answers it, also when it has left the wire.
#[tokio::test]
async fn a_name_off_the_wire_is_answered_by_whom_it_was_read_under() {
    let script = Script::new([
        calls(&[("a", "start", value!({}))]),
        calls(&[("b", "peek", value!({}))]),
        calls(&[("c", "peek", value!({ "again": true }))]),
        say("done"),
    ]);
    let agent = agent(&script)
        .tool(tool("start", value!({}), |_| "started"))
        .injection(after_start("looker", peek("seen")))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    let texts: Vec<String> = results(&report).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!(texts, ["started", "seen", "seen"]);
    assert_eq!(
        heard.of("tools.answered_off_wire"),
        [value!({
            "toolName": "peek", "toolCallId": "c", "iteration": 3, "answeredBy": "skill", "answeredById": "looker",
        })]
    );
}

/// Proves TOOL-121: a name nobody was shown goes to its only holder, and to nobody when two hold it.
#[tokio::test]
async fn a_name_never_served_goes_to_its_only_holder() {
    let script = Script::new([calls(&[("a", "peek", value!({}))]), say("done")]);
    let agent_ = agent(&script)
        .tool(tool("start", value!({}), |_| "started"))
        .injection(after_start("looker", peek("seen")))
        .build()
        .unwrap();
    let (report, heard) = run(&agent_, "go").await;
    assert_eq!(results(&report)[0].1, "seen");
    assert_eq!(heard.of("tools.answered_off_wire").len(), 1);

    // Two pieces that hold different tools under one name are refused at build (TOOL-12).
    let refused = agent(&Script::new([]))
        .injection(after_start("one", peek("1")))
        .injection(after_start("two", peek("2")))
        .build()
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the agent cannot be built (1 problem):\n- two different tools are called `peek`: instructions `one` and \
         instructions `two`; the model calls by name"
    );
    // One and the same tool may be shared.
    let shared = peek("both");
    let built = agent(&Script::new([]))
        .injection(after_start("one", shared.clone()))
        .injection(after_start("two", shared))
        .build();
    assert!(built.is_ok());
}

/// Proves TOOL-2: without a collision or a name off the wire nothing of it is recorded.
#[tokio::test]
async fn a_plain_run_says_nothing_about_parties() {
    let script = Script::new([calls(&[("a", "start", value!({}))]), say("done")]);
    let agent = agent(&script).tool(tool("start", value!({}), |_| "started")).build().unwrap();
    let (_, heard) = run(&agent, "go").await;
    assert_eq!(heard.dispatch(), ["stream.tool_start", "stream.tool_end"]);
}

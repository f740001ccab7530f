use agentfootprint::debug::boundary::{Boundaries, RangeKind, RowKind, Tokens};
use agentfootprint::prelude::*;

use crate::support::{says, support_agent};

/// The axis of the specification's worked example: what was crossed, at which step, at which commit.
const AXIS: &str = "
run.entry __root__#0 0
subflow.entry sf-injection-engine#1 1
subflow.exit sf-injection-engine#1 2
fork.branch context#6 4
fork.branch context#6 4
fork.branch context#6 4
subflow.entry sf-system-prompt#7 4
context.injected sf-system-prompt/compose#8 4
subflow.exit sf-system-prompt#7 5
subflow.entry sf-messages#9 7
context.injected sf-messages/compose#10 7
subflow.exit sf-messages#9 8
subflow.entry sf-tools#11 10
context.injected sf-tools/compose#13 10
subflow.exit sf-tools#11 11
subflow.entry sf-cache#14 13
decision.branch sf-cache/cache-gate#16 13
subflow.exit sf-cache#14 14
llm.start call-llm#18 15
llm.end call-llm#18 15
subflow.entry sf-thinking#19 16
subflow.exit sf-thinking#19 17
decision.branch sf-route#21 19
tool.start tool-calls#22 19
tool.end tool-calls#22 19
loop.iteration tool-calls#22 20
subflow.entry sf-injection-engine#23 20
subflow.exit sf-injection-engine#23 21
fork.branch context#28 23
fork.branch context#28 23
fork.branch context#28 23
subflow.entry sf-system-prompt#29 23
subflow.exit sf-system-prompt#29 24
subflow.entry sf-messages#31 26
context.injected sf-messages/compose#32 26
context.injected sf-messages/compose#32 26
subflow.exit sf-messages#31 27
subflow.entry sf-tools#33 29
subflow.exit sf-tools#33 30
subflow.entry sf-cache#36 32
decision.branch sf-cache/cache-gate#38 32
subflow.exit sf-cache#36 33
llm.start call-llm#40 34
llm.end call-llm#40 34
subflow.entry sf-thinking#41 35
subflow.exit sf-thinking#41 36
decision.branch sf-route#43 38
subflow.entry final#44 38
subflow.exit final#44 39
run.exit __root__#0 40";

/// Proves REC-39, REC-40, REC-41, REC-42.
#[tokio::test]
async fn the_worked_example_lies_on_the_commit_axis() {
    let run = support_agent().record("Where is order A-1001?").await.unwrap();
    let all = Boundaries::of(run.recording()).unwrap();
    let axis: String = all
        .events()
        .iter()
        .map(|row| format!("\n{} {} {}", row.kind.word(), row.runtime_stage_id, row.commit))
        .collect();
    assert_eq!(axis, AXIS);
    for row in all.events() {
        assert_eq!(row.value.get("commitIdxBefore"), row.value.get("commitIdxAfter"));
        assert_eq!(row.count("depth"), Some(row.depth() as u64));
    }
    // The decision of the gate stands where its step stands.
    let gate = all.by_type(RowKind::Decision).next().unwrap();
    assert_eq!((gate.path.join("/").as_str(), gate.depth()), ("__root__/sf-cache", 1));
    // Only what somebody did is left once the machinery is hidden.
    let visible: Vec<&str> = all
        .visible_steps()
        .filter(|row| row.kind != RowKind::Injected && row.text("slotKind").is_empty())
        .map(|row| row.kind.word())
        .collect();
    assert_eq!(visible, ["run.entry", "llm.start", "tool.start", "llm.start"]);
    // The machinery is marked in the rows themselves.
    let marked = |kind: RowKind| all.by_type(kind).all(|row| row.value.get("isAgentInternal").is_some());
    assert!(marked(RowKind::ForkBranch) && marked(RowKind::Loop) && marked(RowKind::Decision));
    assert_eq!(all.open().count(), 0);
    let totals = all.totals(all.root().unwrap());
    assert_eq!((totals.llm_calls, totals.tool_calls, totals.iterations), (2, 1, 1));
    assert!(totals.tokens != Tokens::default());
    assert_eq!(all.slot_boundaries().count(), 6);
    let around: Vec<RangeKind> = all.enclosing(7).iter().map(|range| range.kind).collect();
    assert_eq!(around, [RangeKind::Run, RangeKind::Subflow]);
}

/// A tool that fails its run is a run that failed inside its ranges.
#[tokio::test]
async fn a_failed_run_leaves_its_ranges_open_and_says_why_it_ended() {
    let agent = Agent::builder(Mock::replies([] as [MockReply; 0]), "mock-1").id("a").build().unwrap();
    let flow = agentfootprint::compose::Sequence::builder("flow").step("A", agent).build().unwrap();
    let run = flow.record("q").await.unwrap();
    assert!(run.answer().is_err());
    let all = Boundaries::of(run.recording()).unwrap();
    let root = all.root().unwrap();
    assert!(root.error.is_some() && !root.is_open());
    let open: Vec<RangeKind> = all.open().map(|range| range.kind).collect();
    assert_eq!(open, [RangeKind::Llm]); // the mount and the composition say their failed end themselves
    let inside = all.boundaries().iter().find(|range| range.kind == RangeKind::Llm).unwrap();
    assert_eq!((inside.to, all.totals(inside).duration_ms), (None, None));
}

/// Proves REC-43.
#[tokio::test]
async fn rows_of_runs_at_the_same_time_never_mix() {
    let call = says("ask", "hi");
    let (one, two) = tokio::join!(call.record("a"), call.record("b"));
    for run in [one.unwrap(), two.unwrap()] {
        let all = Boundaries::of(run.recording()).unwrap();
        assert_eq!(all.by_type(RowKind::LlmStart).count(), 1);
        assert_eq!(all.by_type(RowKind::RunExit).count(), 1);
        assert_eq!(all.root().unwrap().to, Some(run.recording().snapshot.commit_log.len() as u64));
    }
}

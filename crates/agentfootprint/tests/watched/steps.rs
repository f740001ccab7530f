use agentfootprint::compose::{Conditional, Loop, Parallel, Sequence};
use agentfootprint::debug::steps::{Root, RunStep, RunSteps, StepKind};
use agentfootprint::prelude::*;

use crate::support::{says, support_agent};

async fn steps_of<R: Runner<Output = String> + Clone>(runner: &R) -> (RunSteps, Recording) {
    let run = runner.record("Where is order A-1001?").await.unwrap();
    run.answer().unwrap();
    (RunSteps::of(run.recording().events()), run.recording().clone())
}

fn table(steps: &RunSteps) -> Vec<(StepKind, &str)> {
    steps.steps.iter().map(|step| (step.kind, step.label.as_str())).collect()
}

fn arrows(step: &RunStep) -> Vec<(&str, &str)> {
    step.transitions.iter().map(|to| (to.from.as_str(), to.to.as_str())).collect()
}

/// Proves REC-44, REC-45, REC-46.
#[tokio::test]
async fn six_kinds_of_runners_are_told_in_their_own_steps() {
    let (leaf, _) = steps_of(&says("ask", "hi")).await;
    assert_eq!(table(&leaf), [(StepKind::React, "user→llm"), (StepKind::React, "llm→user")]);
    assert_eq!(arrows(&leaf.steps[0]), [("actor:user", "stage:llm:ask")]);

    // The selector of the slots, the gate and the route are no composition.
    let (agent, _) = steps_of(&support_agent()).await;
    assert_eq!(agent.root, Root::Leaf);
    assert_eq!(
        table(&agent),
        [
            (StepKind::React, "user→llm"),
            (StepKind::React, "llm→tool"),
            (StepKind::React, "tool→llm"),
            (StepKind::React, "llm→user"),
        ]
    );
    assert_eq!(arrows(&agent.steps[1]), [("stage:llm:support", "stage:tool:get_order")]);
    assert_eq!(arrows(&agent.steps[2]), [("stage:tool:get_order", "stage:llm:support")]);

    let flow =
        Sequence::builder("flow").step("A", support_agent()).step("B", says("b", "done")).build().unwrap();
    let (sequence, recording) = steps_of(&flow).await;
    assert_eq!(
        table(&sequence),
        [
            (StepKind::Sequential, "asks A"),
            (StepKind::Sequential, "A forwards to B"),
            (StepKind::Sequential, "B answers"),
        ]
    );
    assert_eq!(sequence.members, ["step-A", "step-B"]);
    // Drilling in shows the member's own steps, counted from 1.
    let inside = RunSteps::at(recording.events(), &["step-A"]);
    assert_eq!(inside.labels(), ["user→llm", "llm→tool", "tool→llm", "llm→user"]);
    assert_eq!(inside.steps[0].seq, 1);

    let panel = Parallel::builder("panel")
        .branch("x", says("x", "1"))
        .branch("y", says("y", "2"))
        .branch("z", says("z", "3"))
        .merge_with_fn(|said| format!("{}", said.len()))
        .build()
        .unwrap();
    let (parallel, _) = steps_of(&panel).await;
    assert_eq!(table(&parallel), [(StepKind::Fork, "fork (3)"), (StepKind::Merge, "merge (3)")]);
    assert_eq!(parallel.steps[0].transitions.len(), 3);

    let desk = Conditional::builder("desk")
        .when("orders", |message| message.contains("order"), support_agent())
        .otherwise("other", says("other", "no"))
        .build()
        .unwrap();
    let (conditional, recording) = steps_of(&desk).await;
    assert_eq!(
        table(&conditional),
        [(StepKind::Decide, "routes to orders"), (StepKind::Sequential, "orders answers")]
    );
    let chosen = &conditional.steps[0].anchor.subflow_path;
    assert_eq!(RunSteps::at(recording.events(), chosen).steps.len(), 4);

    let again = Loop::builder("again").repeat(says("draft", "x")).times(2).build().unwrap();
    let (looped, _) = steps_of(&again).await;
    assert_eq!(
        table(&looped),
        [(StepKind::Iteration, "iter 1"), (StepKind::Iteration, "iter 2"), (StepKind::IterationExit, "exit")]
    );
    for steps in [leaf, agent, sequence, parallel, conditional, looped] {
        let seqs: Vec<u64> = steps.steps.iter().map(|step| step.seq).collect();
        assert_eq!(seqs, (1..=steps.steps.len() as u64).collect::<Vec<_>>());
    }
}

//! The steps of a model call or an agent: user, model, tools.

use super::told::{Heard, Told};
use super::{RunStep, StepKind, Transition, USER, Via, llm, tool};

pub(super) fn steps(told: &Told<'_>) -> Vec<RunStep> {
    let model = llm(told.id());
    let arrow = |from: &str, to: &str, label: Option<&str>| Transition {
        from: from.to_owned(),
        to: to.to_owned(),
        via: Via::ActorArrow,
        label: label.map(str::to_owned),
    };
    let mut steps: Vec<RunStep> = Vec::new();
    // The tools whose results the next call reads.
    let mut asked: Vec<Transition> = Vec::new();
    let mut asks_tools = false;
    for event in told.events.iter().filter(|event| event.own()) {
        match event.name {
            "stream.llm_start" => {
                let back: Vec<Transition> =
                    asked.drain(..).map(|to| Transition { from: to.to, to: model.clone(), ..to }).collect();
                let (label, arrows) = match (asks_tools, back.is_empty()) {
                    (true, false) => ("tool→llm", back),
                    (true, true) => ("tool→llm", Vec::new()),
                    (false, _) => ("user→llm", vec![arrow(USER, &model, None)]),
                };
                steps.push(react(told, event, label, arrows));
            }
            "stream.llm_end" => {
                asks_tools = event.count("toolCallCount") > 0;
                let (label, arrows) = if asks_tools {
                    ("llm→tool", Vec::new())
                } else {
                    ("llm→user", vec![arrow(&model, USER, None)])
                };
                steps.push(react(told, event, label, arrows));
            }
            "stream.tool_start" => {
                let called = arrow(&model, &tool(event.text("toolName")), Some(event.text("toolCallId")));
                asked.push(called.clone());
                if let Some(step) = steps.last_mut().filter(|step| step.label == "llm→tool") {
                    step.transitions.push(called);
                }
            }
            _ => {}
        }
    }
    steps
}

fn react(told: &Told<'_>, event: &Heard<'_>, label: &str, transitions: Vec<Transition>) -> RunStep {
    told.step(event, StepKind::React, label.to_owned(), transitions)
}

//! The steps of a composition, from its own events.

use footprint::value;
use footprint::value::Value;

use super::told::{Heard, Member, Told, spoken};
use super::{RunStep, StepKind, Transition, USER, Via, llm};

fn passes(from: &str, to: &str, via: Via, label: Option<&str>) -> Transition {
    Transition { from: from.to_owned(), to: to.to_owned(), via, label: label.map(str::to_owned) }
}

/// The end of the composition of this level, when it ended well.
fn ended<'t, 'a>(told: &'t Told<'a>) -> Option<&'t Heard<'a>> {
    told.events
        .iter()
        .rev()
        .find(|event| event.own() && event.is("composition.exit") && event.text("status") != "err")
}

pub(super) fn sequence(told: &Told<'_>) -> Vec<RunStep> {
    let mut steps = Vec::new();
    let mut before: Option<&Member> = None;
    for member in &told.members {
        let Some(event) = told.events.get(member.first) else { continue };
        let (label, from) = match before {
            None => (format!("asks {}", member.name()), USER.to_owned()),
            Some(before) => (format!("{} forwards to {}", before.name(), member.name()), llm(before.name())),
        };
        let transition = passes(&from, &llm(member.name()), Via::Next, None);
        steps.push(told.step(event, StepKind::Sequential, label, vec![transition]));
        before = Some(member);
    }
    steps.extend(before.and_then(|last| answers(told, last.name())));
    steps
}

/// The last member answers, unless the composition failed or is not over.
fn answers(told: &Told<'_>, name: &str) -> Option<RunStep> {
    let event = ended(told)?;
    let transition = passes(&llm(name), USER, Via::Next, None);
    Some(told.step(event, StepKind::Sequential, format!("{name} answers"), vec![transition]))
}

pub(super) fn parallel(told: &Told<'_>) -> Vec<RunStep> {
    let own = |name: &str| told.events.iter().find(|event| event.own() && event.is(name));
    let fork = own("composition.fork_start");
    let branches: Vec<(String, String)> =
        match fork.and_then(|event| event.payload.get("branches")?.as_array()) {
            Some(branches) => branches.iter().map(branch).collect(),
            None => told.members.iter().map(|member| (member.id.clone(), member.name().to_owned())).collect(),
        };
    let started = fork.or_else(|| told.events.get(told.members.first()?.first));
    let merged = own("composition.merge_end").or_else(|| ended(told));
    let count = branches.len();
    let mut steps = Vec::new();
    if let Some(event) = started {
        let out = branches.iter().map(|(id, name)| passes(USER, &llm(id), Via::ForkBranch, Some(name)));
        steps.push(told.step(event, StepKind::Fork, format!("fork ({count})"), out.collect()));
    }
    if let Some(event) = merged {
        let back = branches.iter().map(|(id, name)| passes(&llm(id), USER, Via::Next, Some(name)));
        steps.push(told.step(event, StepKind::Merge, format!("merge ({count})"), back.collect()));
    }
    steps
}

fn branch(branch: &Value) -> (String, String) {
    let text = |key: &str| branch.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("id"), text("name"))
}

pub(super) fn conditional(told: &Told<'_>) -> Vec<RunStep> {
    let mut steps = Vec::new();
    let mut from = USER.to_owned();
    let mut last = None;
    for event in told.events.iter().filter(|event| event.own() && event.is("composition.route_decided")) {
        let chosen = spoken(event.text("chosen")).to_owned();
        let transition = passes(&from, &llm(&chosen), Via::DecisionBranch, None);
        let mut step = told.step(event, StepKind::Decide, format!("routes to {chosen}"), vec![transition]);
        step.anchor.subflow_path.push(event.text("chosen").to_owned());
        step.meta = event.payload.get("rationale").map(|why| value!({ "rationale": why.clone() }));
        steps.push(step);
        from = llm(&chosen);
        last = Some(chosen);
    }
    steps.extend(last.and_then(|chosen| answers(told, &chosen)));
    steps
}

pub(super) fn looping(told: &Told<'_>) -> Vec<RunStep> {
    let mut steps = Vec::new();
    let body = told.members.first().map_or("body", Member::name).to_owned();
    let mut from = USER.to_owned();
    let mut over = None;
    for event in told.events.iter().filter(|event| event.own()) {
        match event.name {
            "composition.iteration_start" => {
                let transition = passes(&from, &llm(&body), Via::LoopIteration, None);
                let label = format!("iter {}", event.count("iteration"));
                steps.push(told.step(event, StepKind::Iteration, label, vec![transition]));
                from = llm(&body);
                over = None;
            }
            "composition.iteration_exit" => over = Some(event),
            _ => {}
        }
    }
    // A pass that ends where another begins is no exit, and a loop that failed has none.
    if let Some(event) = over.filter(|_| ended(told).is_some()) {
        let mut step = told.step(
            event,
            StepKind::IterationExit,
            "exit".to_owned(),
            vec![passes(&llm(&body), USER, Via::Next, None)],
        );
        step.meta = event.payload.get("reason").map(|why| value!({ "reason": why.clone() }));
        steps.push(step);
    }
    steps
}

//! Everything about one step (`trace_node`).

use footprint::ids::{CommitIdx, RuntimeStageId};
use footprint::query::{StateKey, StepFacts};
use footprint::state::Path;
use footprint::value::Value;
use indexmap::IndexMap;

use super::answer::Answer;
use super::args::Args;
use super::places::{Place, Standing, keys_of};
use super::values::PREVIEW;
use super::{TraceTools, near};
use crate::calls::{is, text};
use crate::plain::excerpt;

const DESCRIPTION: usize = 140;
const WRITES: usize = 20;
const READS: usize = 30;
const INNER_STEPS: usize = 40;

pub(super) fn answer(tools: &TraceTools, args: &Args) -> Answer {
    let id = args.required("runtimeStageId");
    let Some((place, step)) = tools.places().find(id) else { return near::no_step(tools, id) };
    let Ok(facts) = place.view().step(&step) else { return near::no_step(tools, id) };
    let standing = place.commits(&step);
    let mut answer = Answer::new(format!("{} `{}`{}", excerpt(id, 120), facts.stage_name, place.says()));
    if let Some(description) = &facts.description {
        answer.head(excerpt(description, DESCRIPTION));
    }
    head(&facts, standing, &mut answer);
    warnings(tools, &facts, &mut answer);
    decision(tools, &facts, id, &mut answer);
    errors(&facts, &mut answer);
    writes(tools, place, &facts, &mut answer);
    reads(place, &facts, standing, &mut answer);
    events(tools, id, &mut answer);
    mount(tools, &step, &mut answer);
    answer.next("trace_slice on it for what led here; get_value with a key for a whole value");
    answer
}

fn head(facts: &StepFacts, standing: Standing, answer: &mut Answer) {
    match standing {
        Standing::Own(first, last) if first == last => answer.head(format!("commit {first}")),
        Standing::Own(first, last) => {
            answer.head(format!("commits {first} to {last} ({} of this step)", facts.commits.len()));
        }
        _ => answer.head("committed nothing"),
    }
    let mut around = Vec::new();
    around.extend(facts.parent.as_ref().map(|id| format!("after {id}")));
    around.extend(facts.next.as_ref().map(|id| format!("before {id}")));
    if !around.is_empty() {
        answer.head(around.join(", "));
    }
    if !facts.tags.is_empty() {
        let tags: Vec<String> = facts.tags.iter().take(8).map(|tag| excerpt(tag, 60)).collect();
        answer.head(format!("tags: {}", tags.join(", ")));
    }
}

fn warnings(tools: &TraceTools, facts: &StepFacts, answer: &mut Answer) {
    if !facts.untracked.is_empty() {
        let words: Vec<&str> = facts.untracked.words().collect();
        answer.warn(format!(
            "it also used untracked sources ({}): they are not among its reads",
            words.join(", ")
        ));
    }
    for note in facts.notes.iter().filter(|note| note.code.word() != "incomplete-sources") {
        answer.warn(&note.detail);
    }
    if tools.opened.recording().events.is_none() {
        answer.warn("the recording has no events, so what was said at this step is not known");
    }
}

fn decision(tools: &TraceTools, facts: &StepFacts, id: &str, answer: &mut Answer) {
    if let Some(governor) = &facts.governor {
        let label = governor
            .label
            .as_ref()
            .map(|label| format!(" (\"{}\")", excerpt(label, 120)))
            .unwrap_or_default();
        answer.head(format!("let run by the decision at {}{label}", governor.decider));
    }
    let routes = tools.opened.recording().events().iter().filter(|event| {
        is(event, "agent.route_decided") && event.runtime_stage_id().is_some_and(|at| at == id)
    });
    for event in routes.take(3) {
        let payload = event.payload();
        answer.head(format!(
            "decided `{}`: {}",
            text(&payload, "chosen"),
            excerpt(&text(&payload, "rationale"), 200)
        ));
    }
    let flows =
        facts.flow_messages.iter().filter_map(|message| message.get("description").and_then(Value::as_str));
    for message in flows.take(3) {
        answer.head(format!("flow: {}", excerpt(message, 200)));
    }
    if !facts.children.is_empty() {
        let children: Vec<String> = facts.children.iter().take(12).map(ToString::to_string).collect();
        let more = facts.children.len().saturating_sub(12);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        answer.head(format!("started: {}{more}", children.join(", ")));
    }
}

fn errors(facts: &StepFacts, answer: &mut Answer) {
    let Some(errors) = facts.diagnostics.get("errors").and_then(Value::as_object) else { return };
    answer.list(
        "errors",
        10,
        errors.iter().map(|(key, value)| {
            let said = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{}: {}", excerpt(key, 60), excerpt(&said, 300))
        }),
    );
}

fn writes(tools: &TraceTools, place: &Place, facts: &StepFacts, answer: &mut Answer) {
    let log = place.view().log();
    let rows =
        facts.commits.iter().filter_map(|commit| log.get(commit.0)).flat_map(|bundle| bundle.rows.iter());
    // The last row of a path tells what stands there after the step; repeated appends keep all their rows.
    answer.list(
        "writes",
        WRITES,
        rows.filter(|row| !row.is_echo()).map(|row| {
            let value = tools.hidden.mask_path(&row.path, &row.value).to_string();
            format!(
                "{} {}: {}",
                row.verb,
                excerpt(&row.path.to_string(), 80),
                excerpt(&tools.hidden.scrub(&value), PREVIEW)
            )
        }),
    );
}

fn reads(place: &Place, facts: &StepFacts, standing: Standing, answer: &mut Answer) {
    let view = place.view();
    answer.list(
        "reads",
        READS,
        facts.reads.iter().map(|(name, _)| {
            let key = StateKey::path(Path::from_wire(name).segments().iter().cloned())
                .or_else(|_| StateKey::dotted(name));
            let writer = key.as_ref().ok().and_then(|key| view.last_writer(key, Some(standing.start())));
            let from = match (writer, key) {
                (Some(writer), _) => {
                    format!("written by {} (commit {})", writer.runtime_stage_id, writer.commit_idx)
                }
                (None, Ok(key)) if view.initial_state().is_some_and(|state| key.read(state).is_some()) => {
                    if place.mount.is_some() {
                        "handed in by the mount".to_owned()
                    } else {
                        "there before the run".to_owned()
                    }
                }
                _ => "nobody had written it".to_owned(),
            };
            format!("{}: {from}", excerpt(name, 80))
        }),
    );
}

fn events(tools: &TraceTools, id: &str, answer: &mut Answer) {
    let mut counts: IndexMap<String, usize> = IndexMap::new();
    for event in tools.opened.recording().events() {
        if event.runtime_stage_id().is_some_and(|at| at == id) {
            *counts.entry(event.name_str().to_owned()).or_default() += 1;
        }
    }
    answer.list(
        "events",
        15,
        counts.into_iter().map(|(name, count)| format!("{} ×{count}", excerpt(&name, 80))),
    );
}

/// What a mount handed in, what it handed out, and its steps (REC-92).
fn mount(tools: &TraceTools, step: &RuntimeStageId, answer: &mut Answer) {
    let Some(inside) = tools.places().inside(&step.to_string()) else { return };
    let view = inside.view();
    let names = |names: Vec<String>| {
        let shown: Vec<String> = names.iter().take(20).map(|name| excerpt(name, 60)).collect();
        let more = names.len().saturating_sub(20);
        if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
    };
    answer.section("inside");
    match view.initial_state() {
        Some(state) => {
            answer.line(format!("  input keys: {}", names(state.keys().map(ToString::to_string).collect())))
        }
        None => answer.line("  ⚠ its input is not on record"),
    }
    answer.line(format!("  keys it wrote: {}", names(keys_of(view))));
    let log = tools.query.root().log();
    let own = tools.places().root().commits(step);
    if let Standing::Own(first, CommitIdx(last)) = own {
        let out: Vec<String> = (first.0..=last)
            .filter_map(|at| log.get(at))
            .filter(|bundle| bundle.runtime_stage_id == *step)
            .flat_map(|bundle| bundle.rows.iter().map(|row| row.path.to_string()))
            .collect();
        answer
            .line(format!("  output keys: {}", if out.is_empty() { "none".to_owned() } else { names(out) }));
    }
    let steps: Vec<String> = view
        .tree()
        .iter()
        .map(|(_, frame)| format!("{} {}", frame.runtime_stage_id, excerpt(&frame.name, 60)))
        .collect();
    answer.list("its steps", INNER_STEPS, steps);
}

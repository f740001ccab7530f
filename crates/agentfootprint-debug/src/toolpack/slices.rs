//! What led to a step or to a value (`trace_slice`, `backtrack`).

use footprint::ids::CommitIdx;
use footprint::query::{ArrayMissing, ControlSource, NoteCode, Slice, SliceOptions, StateKey};

use super::answer::Answer;
use super::args::Args;
use super::places::Place;
use super::values::{PREVIEW, basis, preview, root};
use super::{TraceTools, near};
use crate::plain::excerpt;

const DEPTH: usize = 6;
const NODES: usize = 25;

fn options(args: &Args, base: SliceOptions) -> SliceOptions {
    SliceOptions {
        max_depth: args.count("maxDepth", DEPTH),
        max_nodes: args.count("maxNodes", NODES),
        ..base
    }
}

pub(super) fn step(tools: &TraceTools, args: &Args) -> Answer {
    let id = args.required("runtimeStageId");
    let Some((place, step)) = tools.places().find(id) else { return near::no_step(tools, id) };
    let view = place.view();
    if let Some(asked) = args.text("key") {
        let Ok(key) = StateKey::dotted(asked) else { return near::no_key(tools, place, asked) };
        let end = place.commits(&step).end().map_or(CommitIdx(0), |end| CommitIdx(end.0 + 1));
        return key_slice(tools, args, place, &key, Some(end), &format!(" as of {}", excerpt(id, 120)));
    }
    match view.causal_chain(&step, &options(args, SliceOptions::default())) {
        Ok(slice) => {
            let mut answer = Answer::new(format!(
                "What led to {}{}: {} steps.",
                excerpt(id, 120),
                place.says(),
                slice.len()
            ));
            tell(place, &slice, &slice.format(), &mut answer);
            answer
        }
        Err(error) => {
            let mut answer = Answer::new(format!(
                "{} ran{} but committed nothing, so no slice starts there.",
                excerpt(id, 120),
                place.says()
            ));
            answer.warn(error.to_string());
            answer.next("trace_node on it, or trace_slice on the step before it");
            answer
        }
    }
}

pub(super) fn variable(tools: &TraceTools, args: &Args) -> Answer {
    let asked = args.required("variable");
    let before = match args.text("before").map(|id| tools.places().find(id).ok_or(id)) {
        None => None,
        Some(Err(id)) => return near::no_step(tools, id),
        Some(Ok((place, step))) => Some((place, place.commits(&step).start())),
    };
    let Ok(key) = StateKey::dotted(asked) else { return near::no_key(tools, root(tools), asked) };
    let place = match before {
        Some((place, _)) => place,
        None => tools.places().with_key(key.root()).unwrap_or_else(|| root(tools)),
    };
    let limit = before.map(|(_, commit)| commit);
    let says = args.text("before").map(|id| format!(" before {}", excerpt(id, 120))).unwrap_or_default();
    match args.given("element") {
        Some(element) => list_element(tools, args, place, &key, limit, element, &says),
        None => key_slice(tools, args, place, &key, limit, &says),
    }
}

fn list_element(
    tools: &TraceTools,
    args: &Args,
    place: &Place,
    key: &StateKey,
    limit: Option<CommitIdx>,
    element: usize,
    says: &str,
) -> Answer {
    let view = place.view();
    let at = limit.map(|limit| CommitIdx(limit.0.saturating_sub(1)));
    let births = view.array_births(key, at);
    let list = match (&births.births, births.missing) {
        (Some(list), _) => list,
        (None, Some(ArrayMissing::NotAnArray)) => {
            let mut answer = Answer::new(format!("`{key}`{says} is not a list, so it has no elements."));
            answer.next("ask again without `element`");
            return answer;
        }
        _ => return near::no_key(tools, place, &key.to_string()),
    };
    let Some(birth) = list.get(element) else {
        let mut answer = Answer::new(format!(
            "`{key}`{says} has {} elements, so there is no element {element}.",
            list.len()
        ));
        answer.next(format!("elements are numbered from 0 to {}", list.len().saturating_sub(1)));
        return answer;
    };
    let value = preview(tools, key, &birth.value, PREVIEW);
    let Some(born) = &birth.born else {
        let mut answer =
            Answer::new(format!("Element {element} of `{key}` was there before the run: {value}"));
        basis(view, &mut answer);
        return answer;
    };
    let until = Some(CommitIdx(born.commit_idx.0 + 1));
    let says = format!(
        ", element {element}: brought by {} (commit {}, {}): {value}",
        born.runtime_stage_id,
        born.commit_idx,
        birth.basis.word()
    );
    let mut answer = key_slice(tools, args, place, key, until, &says);
    for note in &births.notes {
        answer.warn(&note.detail);
    }
    answer
}

fn key_slice(
    tools: &TraceTools,
    args: &Args,
    place: &Place,
    key: &StateKey,
    before: Option<CommitIdx>,
    says: &str,
) -> Answer {
    let view = place.view();
    let Ok(found) = view.slice_for_key(key, before, &options(args, SliceOptions::for_key())) else {
        return Answer::new("These limits cannot be used; ask with larger ones.");
    };
    let Some(slice) = &found.slice else {
        if view.initial_state().is_some_and(|state| key.read(state).is_some()) {
            let mut answer = Answer::new(format!(
                "`{key}`{says}{} was there before the run; no step had written it.",
                place.says()
            ));
            basis(view, &mut answer);
            return answer;
        }
        return near::no_key(tools, place, &key.to_string());
    };
    let mut answer = Answer::new(format!("Why `{key}`{says}{}: {} steps.", place.says(), slice.len()));
    if let Some(writer) = &found.writer {
        answer.head(format!(
            "written by {} (commit {}): {}",
            writer.runtime_stage_id,
            writer.commit_idx,
            super::values::written(tools, view, key, writer)
        ));
    }
    tell(place, slice, &slice.format(), &mut answer);
    answer
}

fn tell(place: &Place, slice: &Slice, text: &str, answer: &mut Answer) {
    basis(place.view(), answer);
    if let Some(cut) = slice.truncated {
        let what = match (cut.by_depth, cut.by_nodes) {
            (true, true) => "depth and number of steps",
            (true, false) => "depth",
            _ => "number of steps",
        };
        answer.warn(format!(
            "truncated by {what}: more led to this; raise maxDepth (at most 20) or maxNodes (at most 100)"
        ));
    }
    match slice.control {
        ControlSource::Recorded => {}
        ControlSource::Tree => {
            answer.warn("control dependencies are derived from the execution tree: decisions without labels")
        }
        ControlSource::Unavailable => {
            answer.warn("no control dependencies are on record: decisions that let steps run are missing")
        }
    }
    // Control was said above, in words that name the source.
    for note in slice.notes.iter().filter(|note| note.code != NoteCode::ControlUnavailable) {
        answer.warn(&note.detail);
    }
    let tree: String =
        text.lines().filter(|line| !line.starts_with("! ")).map(|line| format!("  {line}\n")).collect();
    answer.text("slice (each step, then what it depends on)", &tree);
    if slice.flatten().iter().any(|node| node.descend.is_some()) {
        answer.next("a step marked [subflow …] has steps inside: trace_node on it lists them");
    }
}

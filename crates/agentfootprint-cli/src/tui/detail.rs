//! The selected step: what it changed and read, what was said at it, the tools it called.

use agentfootprint::debug::excerpt;
use agentfootprint::footprint::ids::{CommitIdx, RuntimeStageId};
use agentfootprint::footprint::query::{LogView, StateKey, StepFacts};
use agentfootprint::footprint::state::Path;
use agentfootprint::footprint::value::Value;

use super::rows::Row;
use super::run::Run;
use super::text::{Line, VALUE_CHARS, quoted, said, short};

/// Changes, reads and events shown of one step; more are counted.
const SHOWN: usize = 200;

pub(super) fn of(run: &Run, at: usize) -> Vec<Line> {
    let Some(row) = run.rows().get(at) else {
        return vec![Line::dim("there is no step in this recording")];
    };
    let mut out = Vec::new();
    let step = RuntimeStageId::parse(&row.step);
    let facts = run.view(row).and_then(|view| Some((view, view.step(&step).ok()?)));
    head(row, facts.as_ref().map(|(_, facts)| facts), &mut out);
    model_call(run, at, &row.step, &mut out);
    tool_calls(run, row, &mut out);
    if let Some((view, facts)) = &facts {
        errors(facts, &mut out);
        changes(run, view, facts, &mut out);
        reads(run, view, facts, &mut out);
    }
    events(run, row, &mut out);
    out
}

fn head(row: &Row, facts: Option<&StepFacts>, out: &mut Vec<Line>) {
    let name = if row.step.is_empty() { &row.label } else { &row.step };
    out.push(Line::heading(format!("{name}  {}", if row.step.is_empty() { "" } else { &row.label })));
    let mut said = Vec::new();
    if !row.kind.is_empty() {
        said.push(row.kind.clone());
    }
    said.extend(row.iteration.map(|iteration| format!("iteration {iteration}")));
    let Some(facts) = facts else {
        said.push("stands in no log; only events speak of it".to_owned());
        out.push(Line::dim(said.join(", ")));
        return;
    };
    said.push(match (facts.commits.first(), facts.commits.last()) {
        (Some(first), Some(last)) if first == last => format!("commit {first}"),
        (Some(first), Some(last)) => {
            format!("commits {first} to {last}, {} of this step", facts.commits.len())
        }
        _ => "committed nothing".to_owned(),
    });
    out.push(Line::dim(said.join(", ")));
    out.extend(facts.description.as_ref().map(|text| Line::dim(excerpt(text, 300))));
    if let Some(governor) = &facts.governor {
        let label = governor.label.as_ref().map(|label| format!(" (\"{label}\")")).unwrap_or_default();
        out.push(Line::plain(format!(
            "let run by the decision at {}{}",
            governor.decider,
            excerpt(&label, 200)
        )));
    }
    if !facts.untracked.is_empty() {
        let words: Vec<&str> = facts.untracked.words().collect();
        out.push(Line::warning(format!("it also used sources nobody tracked: {}", words.join(", "))));
    }
}

fn model_call(run: &Run, at: usize, step: &str, out: &mut Vec<Line>) {
    let call = run.call_at(at).and_then(|call| run.calls().get(call));
    let Some((_, pass)) = call.filter(|(_, pass)| pass.step == step) else { return };
    out.push(Line::heading("model call"));
    let took = pass.duration_ms.map_or_else(String::new, |ms| format!(", {ms} ms"));
    out.push(Line::plain(format!(
        "{}: {} tokens in, {} out{took}",
        pass.model.trim(),
        pass.tokens.0,
        pass.tokens.1
    )));
    match &pass.output {
        Some(text) => {
            out.push(Line::dim("it wrote"));
            quoted(text, VALUE_CHARS, 4, out);
        }
        None => out.push(Line::warning("the call did not end on record")),
    }
    for call in &pass.tools {
        let args = short(&call.args, 200);
        let line = Line::plain(format!("→ {} {args} at {}", call.name, call.step));
        out.push(line.to(run.timeline.row_of(&call.step)));
    }
    if let Some(route) = &pass.route {
        let line = Line::plain(format!("→ went on to `{route}`, decided at {}", pass.route_step));
        out.push(line.to(run.timeline.row_of(&pass.route_step)));
    }
}

fn tool_calls(run: &Run, row: &Row, out: &mut Vec<Line>) {
    for call in run.tool_calls(&row.step) {
        let took = call.duration_ms.map_or_else(String::new, |ms| format!(", {ms} ms"));
        out.push(Line::heading(format!("tool {} ({}{took})", call.name, call.id)));
        out.push(Line::dim("called with"));
        quoted(&said(&call.args), VALUE_CHARS, 4, out);
        match &call.result {
            Some(result) => {
                out.push(if call.failed { Line::warning("failed with") } else { Line::dim("returned") });
                quoted(&said(result), VALUE_CHARS, 4, out);
            }
            None if call.failed => out.push(Line::warning("failed, and no result is on record")),
            None => out.push(Line::dim("no result is on record")),
        }
    }
}

fn errors(facts: &StepFacts, out: &mut Vec<Line>) {
    let Some(errors) = facts.diagnostics.get("errors").and_then(Value::as_object) else { return };
    out.push(Line::heading("errors"));
    for (key, value) in errors.iter().take(SHOWN) {
        out.push(Line::warning(format!("{}: {}", excerpt(key, 80), short(value, 600))));
    }
}

fn changes(run: &Run, view: &LogView, facts: &StepFacts, out: &mut Vec<Line>) {
    let bundles = || facts.commits.iter().filter_map(|commit| view.log().get(commit.0));
    let total = bundles().flat_map(|bundle| bundle.rows.iter()).filter(|row| !row.is_echo()).count();
    out.push(Line::heading(format!("changes ({total})")));
    if total == 0 {
        out.push(Line::dim("it changed nothing"));
    }
    let rows = bundles().flat_map(|bundle| bundle.rows.iter().map(move |row| (bundle, row)));
    for (bundle, row) in rows.filter(|(_, row)| !row.is_echo()).take(SHOWN) {
        let value = run.shown(&row.path, &row.value, &bundle.redacted_paths);
        let head = format!("{} {}", row.verb, excerpt(&row.path.to_string(), 120));
        if value.len() <= 120 && !value.contains('\n') {
            out.push(Line::plain(format!("{head} = {value}")));
        } else {
            out.push(Line::plain(format!("{head} =")));
            quoted(&value, VALUE_CHARS, 4, out);
        }
    }
    more(total, out);
}

fn reads(run: &Run, view: &LogView, facts: &StepFacts, out: &mut Vec<Line>) {
    out.push(Line::heading(format!("reads ({})", facts.reads.len())));
    if facts.reads.is_empty() {
        let untold = facts.notes.iter().any(|note| note.code.word() == "reads-not-recorded");
        out.push(Line::dim(if untold {
            "this recording does not say what steps read"
        } else {
            "none on record"
        }));
    }
    for (name, _) in facts.reads.iter().take(SHOWN) {
        let key = StateKey::path(Path::from_wire(name).segments().iter().cloned())
            .or_else(|_| StateKey::dotted(name));
        let before = facts.commits.first().copied().unwrap_or(CommitIdx(view.len()));
        let writer = key.as_ref().ok().and_then(|key| view.last_writer(key, Some(before)));
        let from = match (&writer, key) {
            (Some(writer), _) => format!("written by {}", writer.runtime_stage_id),
            (None, Ok(key)) if view.initial_state().is_some_and(|state| key.read(state).is_some()) => {
                "there before the first step".to_owned()
            }
            _ => "nobody had written it".to_owned(),
        };
        let row = writer.and_then(|writer| run.timeline.row_of(&writer.runtime_stage_id.to_string()));
        out.push(Line::plain(format!("{} ← {from}", excerpt(name, 120))).to(row));
    }
    more(facts.reads.len(), out);
}

fn events(run: &Run, row: &Row, out: &mut Vec<Line>) {
    out.push(Line::heading(format!("events ({})", row.events.len())));
    for event in row.events.iter().take(SHOWN).filter_map(|at| run.events().get(*at)) {
        let name = event.name_str();
        out.push(Line::plain(excerpt(name.strip_prefix("agentfootprint.").unwrap_or(name), 120)));
        quoted(&event.payload().to_string(), 600, 4, out);
    }
    more(row.events.len(), out);
}

fn more(total: usize, out: &mut Vec<Line>) {
    if total > SHOWN {
        out.push(Line::dim(format!("… {} more", total - SHOWN)));
    }
}

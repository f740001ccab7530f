//! Values and their writers (`who_wrote`, `get_value`).

use footprint::ids::CommitIdx;
use footprint::query::{Basis, CommitRef, KeyValue, LogView, Partial, StateKey};
use footprint::value::{Value, utf16};

use super::answer::Answer;
use super::args::Args;
use super::places::Place;
use super::{TraceTools, near};
use crate::plain::excerpt;

/// Characters of a value preview.
pub(super) const PREVIEW: usize = 160;
const DEFAULT_CHARS: usize = 2000;
/// Writers shown of a key that many steps wrote: the first and the last ones.
const FIRST_WRITERS: usize = 5;
const LAST_WRITERS: usize = 25;

/// A value as text, cut, with hidden parts replaced.
pub(super) fn preview(tools: &TraceTools, key: &StateKey, value: &Value, max: usize) -> String {
    let shown = tools.hidden.scrub(&tools.hidden.mask(key, value).to_string());
    excerpt(&shown, max)
}

pub(super) fn who_wrote(tools: &TraceTools, args: &Args) -> Answer {
    let asked = args.required("key");
    let before = args.text("beforeStageId");
    let standing = match before.map(|id| tools.places().find(id).ok_or(id)) {
        None => None,
        Some(Err(id)) => return near::no_step(tools, id),
        Some(Ok((place, step))) => Some((place, place.commits(&step).start())),
    };
    let Ok(key) = StateKey::dotted(asked) else { return near::no_key(tools, root(tools), asked) };
    let place = match standing {
        Some((place, _)) => place,
        None => tools.places().with_key(key.root()).unwrap_or_else(|| root(tools)),
    };
    let limit = standing.map(|(_, commit)| commit);
    let view = place.view();
    let writers: Vec<CommitRef> = view
        .writers(&key)
        .into_iter()
        .filter(|writer| limit.is_none_or(|limit| writer.commit_idx < limit))
        .collect();
    let Some(winner) = writers.last() else {
        if view.initial_state().is_some_and(|state| key.read(state).is_some()) {
            let mut answer = Answer::new(format!(
                "`{}`{} was there before the run; no step{} wrote it.",
                excerpt(asked, 120),
                place.says(),
                until(before)
            ));
            answer.next("get_value shows it at any step");
            return answer;
        }
        return near::no_key(tools, place, asked);
    };
    let mut answer = Answer::new(format!(
        "`{}`{}{} was written {} times; the value that stands is by {} (commit {}).",
        excerpt(asked, 120),
        place.says(),
        until(before),
        writers.len(),
        winner.runtime_stage_id,
        winner.commit_idx
    ));
    basis(view, &mut answer);
    let skipped = writers.len().saturating_sub(FIRST_WRITERS + LAST_WRITERS);
    answer.section("writers");
    for (at, writer) in writers.iter().enumerate() {
        if skipped > 0 && (FIRST_WRITERS..FIRST_WRITERS + skipped).contains(&at) {
            if at == FIRST_WRITERS {
                answer.line(format!("  … {skipped} writers between"));
            }
            continue;
        }
        let mark = if at + 1 == writers.len() { "→" } else { " " };
        let how = written(tools, view, &key, writer);
        answer.line(format!(
            "{mark} commit {} {} ({}): {how}",
            writer.commit_idx, writer.runtime_stage_id, writer.stage_name
        ));
    }
    answer.next(format!("backtrack with variable `{}` shows what led to the value", excerpt(asked, 80)));
    answer
}

fn until(before: Option<&str>) -> String {
    before.map(|id| format!(" before {}", excerpt(id, 120))).unwrap_or_default()
}

/// How a commit wrote a key: its verb and the written value, or part.
pub(super) fn written(tools: &TraceTools, view: &LogView, key: &StateKey, writer: &CommitRef) -> String {
    let rows = view.log().get(writer.commit_idx.0).map(|bundle| &bundle.rows[..]).unwrap_or_default();
    let row =
        rows.iter().find(|row| row.path.is_prefix_of(key.as_path()) || key.as_path().is_prefix_of(&row.path));
    row.map_or_else(
        || "changed it".to_owned(),
        |row| {
            let value = tools.hidden.mask_path(&row.path, &row.value).to_string();
            format!("{} {}", row.verb, excerpt(&tools.hidden.scrub(&value), PREVIEW))
        },
    )
}

/// The run's own place.
pub(super) fn root(tools: &TraceTools) -> &Place {
    tools.places().root()
}

/// Warns when values start from nothing.
pub(super) fn basis(view: &LogView, answer: &mut Answer) {
    if view.basis() == Basis::LogOnly {
        answer.warn(
            "no initial state is on record: values that were there before the first commit are invisible",
        );
    }
    if !view.log().gaps().is_empty() {
        answer.warn(format!(
            "{} commits of this log cannot be read and contribute nothing",
            view.log().gaps().len()
        ));
    }
}

pub(super) fn get_value(tools: &TraceTools, args: &Args) -> Answer {
    let (id, asked) = (args.required("runtimeStageId"), args.required("key"));
    let Some((place, step)) = tools.places().find(id) else { return near::no_step(tools, id) };
    let Ok(key) = StateKey::dotted(asked) else { return near::no_key(tools, place, asked) };
    let view = place.view();
    let standing = place.commits(&step);
    let value = match standing.end() {
        Some(at) => view.value_at(&key, at),
        None => Ok(base(view, &key)),
    };
    let at = match value {
        Ok(at) => at,
        Err(error) => {
            let mut answer = Answer::new(format!("`{}` at {id} cannot be told.", excerpt(asked, 120)));
            answer.warn(error.to_string());
            return answer;
        }
    };
    let known = view.last_writer(&key, None).is_some()
        || view.initial_state().is_some_and(|state| key.read(state).is_some());
    let value = match &at.value {
        KeyValue::Value(value) => value,
        _ if !known => return near::no_key(tools, place, asked),
        missing => {
            let how =
                if *missing == KeyValue::Deleted { "had been deleted" } else { "had not been written yet" };
            let mut answer =
                Answer::new(format!("`{}` {how} as of {}.", excerpt(asked, 120), excerpt(id, 120)));
            basis(view, &mut answer);
            answer.next(format!("who_wrote `{}` lists the steps that write it", excerpt(asked, 80)));
            return answer;
        }
    };
    let shown = tools.hidden.mask(&key, value);
    let text = shown.as_str().map_or_else(|| shown.to_string(), str::to_owned);
    let text = tools.hidden.scrub(&text);
    let max = args.count("maxChars", DEFAULT_CHARS);
    let kept = utf16::prefix(&text, max);
    let mut answer =
        Answer::new(format!("`{}`{} as of {}:", excerpt(asked, 120), place.says(), excerpt(id, 120)));
    basis(view, &mut answer);
    warn_partial(&at.partial, &mut answer);
    if standing
        .end()
        .is_some_and(|end| !matches!(standing, super::places::Standing::Own(_, last) if last == end))
    {
        answer.warn("this step committed nothing itself; this is the value as it found it");
    }
    if let Some(writer) = view.last_writer(&key, standing.end().map(|end| CommitIdx(end.0 + 1))) {
        answer.head(format!("last written by {} (commit {})", writer.runtime_stage_id, writer.commit_idx));
    }
    let shape = match value {
        Value::Array(items) => format!("list of {} items, ", items.len()),
        Value::Object(members) => format!("object of {} members, ", members.len()),
        _ => String::new(),
    };
    answer.section(format!("value ({shape}{} characters)", utf16::len(&text)));
    answer.long_line(excerpt(kept, max));
    if kept.len() < text.len() {
        answer.line(format!(
            "… cut at {max} of {} characters; raise maxChars (at most 8000) or ask for a part, such as {}.…",
            utf16::len(&text),
            excerpt(asked, 80)
        ));
    }
    answer
}

fn warn_partial(partial: &[Partial], answer: &mut Answer) {
    for part in partial {
        answer.warn(match part {
            Partial::NestedRows => "only parts below this key are known; what was there before them is not",
            Partial::Redacted => "a redaction policy hid (part of) this value",
            Partial::LogGap => "a commit that cannot be read may have changed this value",
        });
    }
}

/// The value before the first commit.
fn base(view: &LogView, key: &StateKey) -> footprint::query::ValueAt {
    let value = view.initial_state().and_then(|state| key.read(state)).cloned();
    footprint::query::ValueAt {
        value: value.map_or(KeyValue::NeverWritten, KeyValue::Value),
        basis: view.basis(),
        partial: Vec::new(),
    }
}

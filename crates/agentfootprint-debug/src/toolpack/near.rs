//! Corrections: what was not found, what is near, and what to call next (REC-86).

use super::TraceTools;
use super::answer::Answer;
use super::places::{Place, keys_of};
use crate::plain::excerpt;

/// Step ids a correction names.
const IDS: usize = 8;
/// Keys a correction names.
const KEYS: usize = 12;
/// Tool calls a correction names.
const CALLS: usize = 12;

/// The candidates nearest to what was asked for, nearest first.
pub(super) fn nearest<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    max: usize,
) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(std::cmp::Reverse<usize>, usize, &str)> = candidates
        .into_iter()
        .map(|candidate| {
            let lower = candidate.to_lowercase();
            let prefix = wanted.bytes().zip(lower.bytes()).take_while(|(a, b)| a == b).count();
            let suffix = wanted.bytes().rev().zip(lower.bytes().rev()).take_while(|(a, b)| a == b).count();
            let whole = if lower.contains(&wanted) || wanted.contains(&lower) {
                wanted.len().min(lower.len())
            } else {
                0
            };
            (std::cmp::Reverse(prefix.max(suffix).max(whole)), candidate.len(), candidate)
        })
        .collect();
    scored.sort_by_key(|(score, length, _)| (*score, length.abs_diff(wanted.len())));
    scored.into_iter().take(max).map(|(.., candidate)| candidate).collect()
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| excerpt(name, 80)).collect::<Vec<_>>().join(", ")
}

/// There is no such step.
pub(super) fn no_step(tools: &TraceTools, id: &str) -> Answer {
    let ids = tools.places().ids();
    let mut answer = Answer::new(format!("There is no step `{}` in this run.", excerpt(id, 120)));
    if ids.is_empty() {
        answer.warn("the record holds no steps at all");
        return answer;
    }
    let near = nearest(id, ids.iter().map(|id| id.as_str()), IDS);
    answer.head(format!("nearest of {} steps: {}", ids.len(), listed(&near)));
    answer.next(
        "ask again with one of these ids; run_overview lists the stages, find_in_trace finds steps by words",
    );
    answer
}

/// There is no such key in this log.
pub(super) fn no_key(tools: &TraceTools, place: &Place, key: &str) -> Answer {
    let keys = keys_of(place.view());
    let mut answer = Answer::new(format!("No step{} wrote a key `{}`.", place.says(), excerpt(key, 120)));
    let near = nearest(key, keys.iter().map(String::as_str), KEYS);
    if near.is_empty() {
        answer.warn("the log writes no keys at all");
    } else {
        answer.head(format!("nearest of {} keys: {}", keys.len(), listed(&near)));
    }
    let root = key.split('.').next().unwrap_or(key);
    if let Some(other) = tools.places().with_key(root)
        && other.mount != place.mount
    {
        let place = other.mount.as_deref().unwrap_or("the run itself");
        answer.head(format!("`{}` is written in {place}", excerpt(root, 80)));
    }
    answer.next("ask again with one of these keys, or find_in_trace for words of the value");
    answer
}

/// There is no such tool call.
pub(super) fn no_call(tools: &TraceTools, id: &str) -> Answer {
    let calls = tools.calls();
    let mut answer = Answer::new(format!("There is no tool call `{}` in this run.", excerpt(id, 120)));
    let known: Vec<&str> = calls.ids().collect();
    if known.is_empty() {
        answer.head("no tool was called, as far as the record says");
        if tools.opened.recording().events.is_none() {
            answer.warn("the recording has no events, so a call that left no message behind cannot be seen");
        }
    } else {
        let near = nearest(id, known.iter().copied(), CALLS);
        let named: Vec<String> = near
            .iter()
            .map(|id| format!("{} ({})", excerpt(id, 80), excerpt(&calls.name_of(id), 60)))
            .collect();
        answer.head(format!("nearest of {} calls: {}", known.len(), named.join(", ")));
    }
    answer.next(
        "ask again with one of these ids; find_in_trace finds a call by words of its arguments or result",
    );
    answer
}

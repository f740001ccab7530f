//! Where a text occurs (`find_in_trace`).

use footprint::value::Value;
use regex::{Regex, RegexBuilder};

use super::TraceTools;
use super::answer::Answer;
use super::args::Args;
use crate::plain::excerpt;

const DEFAULT_HITS: usize = 10;
/// Characters shown on each side of a hit.
const AROUND: usize = 55;
/// Writes that are looked into at most.
const SCANNED: usize = 1500;

struct Hits {
    max: usize,
    shown: Vec<String>,
    more: usize,
}

impl Hits {
    fn add(&mut self, line: String) {
        if self.shown.len() < self.max {
            self.shown.push(line);
        } else {
            self.more += 1;
        }
    }
}

pub(super) fn answer(tools: &TraceTools, args: &Args) -> Answer {
    let words = args.required("query");
    let Ok(pattern) = RegexBuilder::new(&regex::escape(words)).case_insensitive(true).build() else {
        return Answer::new("This text cannot be searched for; use a shorter one.");
    };
    let mut hits = Hits { max: args.count("maxHits", DEFAULT_HITS), shown: Vec::new(), more: 0 };
    let mut scanned = 0;
    let mut skipped = 0;
    for place in tools.places().all() {
        for bundle in place.view().log().iter() {
            for row in &bundle.rows {
                if scanned >= SCANNED {
                    skipped += 1;
                    continue;
                }
                scanned += 1;
                let value = tools.hidden.mask_path(&row.path, &row.value);
                if let Some(around) = found(tools, &pattern, &text_of(&value)) {
                    hits.add(format!(
                        "{} {} {}: {around}",
                        bundle.runtime_stage_id,
                        row.verb,
                        excerpt(&row.path.to_string(), 80)
                    ));
                }
            }
        }
    }
    let narrative = tools.query.narrative();
    for (line, entry) in narrative.unwrap_or_default().iter().enumerate() {
        if let Some(around) = found(tools, &pattern, &entry.text) {
            hits.add(format!("narrative line {line}: {around}"));
        }
    }
    for (at, event) in tools.opened.recording().events().iter().enumerate() {
        if let Some(around) = found(tools, &pattern, &event.payload().to_string()) {
            let step = event.runtime_stage_id().unwrap_or_default();
            hits.add(format!("event {at} {} at {step}: {around}", event.name_str()));
        }
    }
    let total = hits.shown.len() + hits.more;
    let mut answer = Answer::new(format!("`{}` occurs in {total} places.", excerpt(words, 200)));
    if skipped > 0 {
        answer.warn(format!("only the first {SCANNED} writes were looked into; {skipped} were not"));
    }
    if narrative.is_none() {
        answer.warn("the recording has no narrative to search");
    }
    if tools.opened.recording().events.is_none() {
        answer.warn("the recording has no events to search");
    }
    if !tools.hidden.paths().is_empty() {
        answer.warn("redacted values were not searched");
    }
    answer.section("hits");
    for line in &hits.shown {
        answer.line(format!("  {line}"));
    }
    if total == 0 {
        answer.line("  none; try fewer or other words, or run_overview for the names of stages and keys");
    } else if hits.more > 0 {
        answer
            .line(format!("  … and {} more; raise maxHits (at most 25) or search for more words", hits.more));
    }
    if total > 0 {
        answer.next("trace_node on a step, or get_value with a step and a key for the whole value");
    }
    answer
}

/// A value as the text that is searched and shown: a text as it is, anything else as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The surroundings of the first occurrence.
fn found(tools: &TraceTools, pattern: &Regex, text: &str) -> Option<String> {
    let text = tools.hidden.scrub(text);
    let hit = pattern.find(&text)?;
    let before = text.get(..hit.start()).unwrap_or_default();
    let from = before.char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    let after = text.get(hit.end()..).unwrap_or_default();
    let to = after.char_indices().nth(AROUND).map_or(text.len(), |(at, _)| hit.end() + at);
    let mut shown = String::new();
    if from > 0 {
        shown.push('…');
    }
    shown.push_str(text.get(from..to).unwrap_or_default());
    if to < text.len() {
        shown.push('…');
    }
    Some(excerpt(&shown, 2 * AROUND + 260))
}

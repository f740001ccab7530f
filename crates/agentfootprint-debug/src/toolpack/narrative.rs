//! The run in prose (`read_narrative`).

use super::TraceTools;
use super::answer::Answer;
use super::args::Args;

const DEFAULT_LINES: usize = 40;

pub(super) fn answer(tools: &TraceTools, args: &Args) -> Answer {
    let Some(entries) = tools.query.narrative().filter(|entries| !entries.is_empty()) else {
        let mut answer = Answer::new("This recording has no narrative.");
        answer.warn("no narrative recorder was attached, so nothing tells the run in prose");
        answer.next("run_overview, then trace_node on a step");
        return answer;
    };
    let offset = args.count("offset", 0);
    let max = args.count("maxLines", DEFAULT_LINES);
    if offset >= entries.len() {
        let mut answer =
            Answer::new(format!("The narrative has {} lines, so none starts at {offset}.", entries.len()));
        answer.next(format!("offset {} shows the last {max} lines", entries.len().saturating_sub(max)));
        return answer;
    }
    let shown: Vec<String> = entries
        .iter()
        .skip(offset)
        .take(max)
        .map(|entry| {
            format!("{}{}", "  ".repeat(entry.depth.min(8) as usize), entry.text.replace('\n', " ⏎ "))
        })
        .collect();
    let last = offset + shown.len();
    let mut answer = Answer::new(format!("Lines {offset} to {} of {}.", last - 1, entries.len()));
    answer.text("narrative", &shown.join("\n"));
    if last < entries.len() {
        answer.next(format!("{} lines follow: offset {last}", entries.len() - last));
    }
    answer
}

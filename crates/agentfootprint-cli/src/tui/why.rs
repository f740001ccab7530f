//! Where what the selected step made came from.

use agentfootprint::debug::why;
use agentfootprint::footprint::value;

use super::run::Run;
use super::text::{Line, Tone};

/// From the last model call on, the chain behind the answer of the run; before it, what led to the selected step.
pub(super) fn of(run: &Run, at: usize) -> Vec<Line> {
    let Some(row) = run.rows().get(at) else { return vec![Line::dim("there is no step to ask about")] };
    let answers = run.calls().last().is_none_or(|(last, _)| at >= *last);
    let text = if answers || row.place.is_none() {
        why::answer(run.tools.opened()).to_string()
    } else {
        let args = value!({ "runtimeStageId": row.step.as_str() });
        run.tools.call("trace_slice", &args).unwrap_or_else(|refused| refused.to_string())
    };
    text.lines().enumerate().map(|(at, line)| line_of(run, at, line)).collect()
}

fn line_of(run: &Run, at: usize, line: &str) -> Line {
    let text = line.trim_start();
    let tone = match () {
        () if at == 0 => Tone::Heading,
        () if text.starts_with('⚠') || text.starts_with("the record does not say") => Tone::Warning,
        () => Tone::Plain,
    };
    let indent = line.len().saturating_sub(text.len()).min(12);
    Line::new(tone, indent, text).to(run.timeline.row_in(text))
}

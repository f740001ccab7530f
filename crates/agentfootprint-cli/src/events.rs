//! `events`: the typed events, filtered.

use std::fmt::Write as _;
use std::process::ExitCode;

use agentfootprint::debug::excerpt;
use agentfootprint::footprint::value::Value;
use agentfootprint::record::RecordedEvent;
use clap::Args;

use crate::input::{Input, limit_words, with_events};
use crate::out::{Answer, Failure, write};

#[derive(Args, Debug)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    input: Input,
    /// Only types like this: `stream.*`, `*tool*`, with or without `agentfootprint.`.
    #[arg(long = "type", value_name = "GLOB")]
    kind: Option<String>,
    /// Only events of this step.
    #[arg(long)]
    step: Option<String>,
    /// Only events from this number on.
    #[arg(long)]
    from: Option<usize>,
    /// Only events up to this number.
    #[arg(long)]
    to: Option<usize>,
    /// One event a line, whole, for other programs.
    #[arg(long)]
    ndjson: bool,
}

pub(crate) fn events(args: &EventsArgs) -> Result<ExitCode, Failure> {
    let input = &args.input;
    let opened = with_events(input)?;
    if opened.recording().events.is_none() {
        return Err(Failure::unusable(format!(
            "{} has no events; it was recorded without them",
            input.file.display()
        )));
    }
    let all = opened.recording().events();
    let wanted: Vec<(usize, &RecordedEvent)> =
        all.iter().enumerate().filter(|(at, event)| args.wants(*at, event)).collect();
    if args.ndjson {
        let mut text = String::new();
        for (_, event) in &wanted {
            let _ = writeln!(text, "{}", event.to_value());
        }
        write(input, &text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown = input.limit.min(wanted.len());
    let mut text = format!("{} of {} events\n", wanted.len(), all.len());
    for (at, event) in wanted.iter().take(shown) {
        let _ = writeln!(text, "{}", line(*at, event));
    }
    let left_out = wanted.len() - shown;
    if left_out > 0 {
        let _ = writeln!(
            text,
            "… {left_out} more events; raise --limit or filter with --type, --step, --from, --to"
        );
    }
    let rows: Vec<Value> = wanted.iter().take(shown).map(|(_, event)| event.to_value()).collect();
    let answer = Answer::new("events", text)
        .limits(limit_words(&opened))
        .with("total", all.len())
        .with("matched", wanted.len())
        .with("leftOut", left_out)
        .with("events", rows);
    // Each event is one line; the head, the tail and the limits are extra.
    let mut bounds = input.clone();
    bounds.given.limit = input.limit.saturating_add(4);
    answer.give(&bounds)?;
    Ok(ExitCode::SUCCESS)
}

/// All events, unfiltered.
#[cfg(test)]
pub(crate) fn of(input: &Input) -> Result<ExitCode, Failure> {
    events(&EventsArgs { input: input.clone(), kind: None, step: None, from: None, to: None, ndjson: false })
}

impl EventsArgs {
    fn wants(&self, at: usize, event: &RecordedEvent) -> bool {
        let name = event.name_str();
        let short = name.strip_prefix("agentfootprint.").unwrap_or(name);
        self.kind.as_ref().is_none_or(|glob| matches(glob, name) || matches(glob, short))
            && self
                .step
                .as_ref()
                .is_none_or(|step| event.runtime_stage_id().is_some_and(|at| at == step.as_str()))
            && self.from.is_none_or(|from| at >= from)
            && self.to.is_none_or(|to| at <= to)
    }
}

/// One event in one line of 100 columns.
fn line(at: usize, event: &RecordedEvent) -> String {
    let offset = event.to_value().walk(&["meta", "runOffsetMs"]).and_then(Value::as_u64);
    let offset = offset.map_or_else(String::new, |ms| format!("+{ms}ms"));
    let name = event.name_str();
    let name = name.strip_prefix("agentfootprint.").unwrap_or(name);
    let step = event.runtime_stage_id().unwrap_or_default();
    let head = format!("{at:>5} {offset:<9} {:<24} {:<26} ", excerpt(&step, 24), excerpt(name, 26));
    let room = 100_usize.saturating_sub(head.chars().count()).max(10);
    format!("{head}{}", excerpt(&event.payload().to_string(), room))
}

/// `*` stands for any text, `?` for any one character. Linear in practice: one star at a time is remembered.
fn matches(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match glob.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(character) if *character == '?' || Some(character) == text.get(from) => {
                at += 1;
                from += 1;
            }
            _ => match star {
                Some((back, taken)) => {
                    star = Some((back, taken + 1));
                    at = back + 1;
                    from = taken + 1;
                }
                None => return false,
            },
        }
    }
    glob.get(at..).unwrap_or_default().iter().all(|character| *character == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn globs() {
        for (glob, text, fits) in [
            ("stream.*", "stream.tool_end", true),
            ("*tool*", "stream.tool_end", true),
            ("stream.tool_end", "stream.tool_end", true),
            ("stream", "stream.tool_end", false),
            ("str?am.*_end", "stream.tool_end", true),
            ("*_start", "stream.tool_end", false),
            ("", "", true),
            ("**", "x", true),
        ] {
            assert_eq!(matches(glob, text), fits, "{glob} {text}");
        }
    }
}

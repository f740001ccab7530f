//! `open`, `summary`, `mermaid`, `pack` and `unpack`.

use std::fmt::Write as _;
use std::process::ExitCode;

use agentfootprint::debug::loops::{Pass, passes};
use agentfootprint::debug::mermaid::{MermaidView, mermaid as draw};
use agentfootprint::debug::toolpack::{TraceTools, limit_sentence};
use agentfootprint::debug::{excerpt, plain};
use agentfootprint::footprint::snapshot::OpenLimits;
use agentfootprint::footprint::value::{Object, Value};
use agentfootprint::record::{OpenRecording, Recording, unpack_with};
use clap::ValueEnum;

use crate::input::{Format, Input, Kind, detect, limit_words, read, recording, with_events};
use crate::out::{Answer, Failure, save, write};

pub(crate) fn open(input: &Input) -> Result<ExitCode, Failure> {
    let kind = detect(&input.file, input.reading())?;
    let mut text = format!("{}: {}\n", plain(&input.file.display().to_string()), kind.name());
    let mut answer = Answer::new("open", "").with("kind", kind.name());
    match &kind {
        Kind::Recording(opened) | Kind::Report(opened) => answer = opened_facts(opened, &mut text, answer),
        Kind::Events(events, unreadable) => {
            let _ = writeln!(
                text,
                "{} events; there is no snapshot, so state and causes cannot be asked for",
                events.len()
            );
            if *unreadable > 0 {
                let _ = writeln!(text, "⚠ {unreadable} lines are no events");
            }
            answer = answer.with("events", events.len()).with("unreadableLines", *unreadable);
        }
        Kind::Trace(trace) => {
            let events = trace.get("events").and_then(Value::as_array).map_or(0, |events| events.len());
            let redaction = trace.get("redaction").and_then(Value::as_str).unwrap_or("unknown");
            let _ = writeln!(
                text,
                "version 1, {events} events, redaction {}; a presentation, not the evidence",
                plain(redaction)
            );
            answer = answer.with("events", events).with("redaction", redaction);
        }
        Kind::Audit => text.push_str("check it with `agentfootprint audit verify`\n"),
    }
    answer.text = text;
    answer.give(input)?;
    Ok(ExitCode::SUCCESS)
}

fn opened_facts(opened: &OpenRecording, text: &mut String, mut answer: Answer) -> Answer {
    if let Some(header) = opened.header() {
        let facts = header.as_object();
        let fact = |path: &[&str]| {
            facts.walk(path).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        for (name, path) in [
            ("format", &["format"][..]),
            ("producer", &["producer", "agentfootprintVersion"]),
            ("implementation", &["producer", "implementation"]),
            ("run", &["run", "runId"]),
            ("started", &["run", "startedAt"]),
            ("ended", &["run", "endedAt"]),
            ("complete", &["run", "complete"]),
            ("privacy", &["privacy", "mode"]),
        ] {
            if let Some(value) = fact(path) {
                let _ = writeln!(text, "  {name:<15}{}", excerpt(&value, 80));
            }
        }
        answer = answer.with("envelope", Value::Object(facts.clone()));
    } else {
        text.push_str("  no envelope: nobody states who ran it, when, or whether it is complete\n");
    }
    let snapshot = &opened.recording().snapshot;
    let _ = writeln!(
        text,
        "  {} commits, {} steps, {} subflow results, {} events",
        snapshot.commit_log.len(),
        snapshot.execution_tree.len(),
        snapshot.subflow_results.len(),
        opened.recording().events().len()
    );
    text.push_str(
        "  prompts, arguments and results stand in it word for word, unless a redaction policy was set\n",
    );
    for limit in opened.limits() {
        let _ = writeln!(text, "⚠ {limit}: {}", limit_sentence(limit));
    }
    answer
        .with("commits", snapshot.commit_log.len())
        .with("steps", snapshot.execution_tree.len())
        .with("events", opened.recording().events().len())
        // In text each limit was explained above.
        .with("limits", limit_words(opened).iter().map(Value::from).collect::<Vec<_>>())
}

pub(crate) fn summary(input: &Input) -> Result<ExitCode, Failure> {
    let opened = recording(input)?;
    let limits = limit_words(&opened);
    let passes = passes(opened.recording());
    let tools = TraceTools::new(opened);
    let overview =
        tools.call("run_overview", &Value::Null).map_err(|refused| Failure::unusable(refused.to_string()))?;
    let mut text = table(&passes);
    text.push_str(&overview);
    let (input_tokens, output_tokens) =
        passes.iter().fold((0, 0), |(read, wrote), pass| (read + pass.tokens.0, wrote + pass.tokens.1));
    let mut totals = Object::new();
    totals.insert("modelCalls", passes.len().into());
    totals.insert("toolCalls", passes.iter().map(|pass| pass.tools.len()).sum::<usize>().into());
    totals.insert("inputTokens", Value::from(input_tokens));
    totals.insert("outputTokens", Value::from(output_tokens));
    Answer::new("summary", text)
        .limits(limits)
        .with("status", tools.status())
        .with("totals", Value::Object(totals))
        .with("passes", passes.iter().map(Pass::to_value).collect::<Vec<_>>())
        .with("overview", overview)
        .give(input)?;
    Ok(ExitCode::SUCCESS)
}

/// One line per model call.
fn table(passes: &[Pass]) -> String {
    if passes.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "pass  step                  in/out tokens  system  msgs  tools  route          called\n",
    );
    for pass in passes {
        let size = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
        let called: Vec<&str> = pass.tools.iter().map(|call| call.name.as_str()).collect();
        let _ = writeln!(
            out,
            "{:<5} {:<21} {:<14} {:<7} {:<5} {:<6} {:<14} {}",
            pass.number,
            excerpt(&pass.step, 21),
            format!("{}/{}", pass.tokens.0, pass.tokens.1),
            size(pass.system_chars),
            size(pass.messages),
            pass.offered.len(),
            excerpt(pass.route.as_deref().unwrap_or("-"), 14),
            excerpt(&called.join(", "), 60)
        );
    }
    out
}

/// What `mermaid` draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawnView {
    /// The chart.
    #[default]
    Structure,
    /// The chart with what ran.
    Run,
    /// The model and tool calls as a sequence.
    Steps,
}

pub(crate) fn mermaid(input: &Input, view: DrawnView, collapse: bool) -> Result<ExitCode, Failure> {
    let (opened, view) = match view {
        DrawnView::Structure => (recording(input)?, MermaidView::Structure),
        DrawnView::Run => (recording(input)?, MermaidView::Run),
        DrawnView::Steps => (with_events(input)?, MermaidView::Steps),
    };
    let text = draw(opened.recording(), view, collapse)
        .map_err(|error| Failure::unusable(format!("{}: {error}", input.file.display())))?;
    match input.format {
        Format::Text => write(input, &text)?,
        Format::Json => {
            Answer::new("mermaid", "").limits(limit_words(&opened)).with("mermaid", text).give(input)?
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The limits of a file, which also bound the text that a packed one stands for.
fn limits(input: &Input) -> OpenLimits {
    let defaults = OpenLimits::default();
    OpenLimits { max_bytes: input.max_bytes.unwrap_or(defaults.max_bytes), ..defaults }
}

pub(crate) fn pack(input: &Input) -> Result<ExitCode, Failure> {
    use agentfootprint::record::{compress, pack};
    let bytes = read(&input.file, input.max_bytes)?;
    let unusable = |error: agentfootprint::record::RecordingError| {
        Failure::unusable(format!("{}: {error}", input.file.display()))
    };
    let limits = limits(input);
    Recording::open_with(&bytes, &limits).map_err(unusable)?;
    let plain = unpack_with(&bytes, &limits).map_err(unusable)?;
    let packed = pack(plain.as_bytes()).map_err(unusable)?;
    if unpack_with(packed.as_bytes(), &limits).map_err(unusable)? != plain {
        return Err(Failure::failed(format!(
            "{}: packing would lose something, so nothing was written",
            input.file.display()
        )));
    }
    match &input.out {
        Some(path) if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz")) => {
            save(path, &compress(&packed))?;
        }
        _ => write(input, &format!("{packed}\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn unpack(input: &Input) -> Result<ExitCode, Failure> {
    let bytes = read(&input.file, input.max_bytes)?;
    let unusable = |error: agentfootprint::record::RecordingError| {
        Failure::unusable(format!("{}: {error}", input.file.display()))
    };
    let limits = limits(input);
    Recording::open_with(&bytes, &limits).map_err(unusable)?;
    let text = unpack_with(&bytes, &limits).map_err(unusable)?;
    write(input, &format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}

//! What happened in the run (`run_overview`).

use agentfootprint_record::recording::{Limit, OpenRecording, RecordedEvent};
use footprint::ids::CommitIdx;
use footprint::query::StateKey;
use footprint::value::Value;
use indexmap::IndexMap;

use super::TraceTools;
use super::answer::Answer;
use super::values::root;
use crate::calls::{is, text};
use crate::plain::excerpt;

const STAGES: usize = 40;
const ERRORS: usize = 10;
const KEYS: usize = 40;
const HONESTY: usize = 14;

pub(super) fn answer(tools: &TraceTools) -> Answer {
    let recording = tools.opened.recording();
    let events = recording.events();
    let overview = tools.query.overview();
    let mut answer = Answer::new(format!("Status: {}", status(&tools.opened)));
    if let Some(header) = tools.opened.header().and_then(|header| header.run().ok()) {
        let session =
            header.session_id.map(|id| format!(", session {}", excerpt(&id, 80))).unwrap_or_default();
        answer.head(format!(
            "Run {} started {}{session}",
            excerpt(&header.run_id, 80),
            excerpt(&header.started_at, 40)
        ));
    }
    let count = |name: &str| events.iter().filter(|event| is(event, name)).count();
    let inner: usize = tools.places().all().iter().skip(1).map(|place| place.view().len()).sum();
    let inner_note = if inner > 0 {
        format!(" (and {inner} inside {} mounts)", tools.places().all().len() - 1)
    } else {
        String::new()
    };
    answer.head(format!(
        "{} steps, {} commits{inner_note}, {} model calls, {} tool calls, {} events",
        tools.places().ids().len(),
        overview.commits,
        count("stream.llm_start"),
        tools.calls().ids().count(),
        events.len()
    ));
    let narrated = overview
        .narrative_entries
        .map_or_else(|| "no narrative".to_owned(), |lines| format!("a narrative of {lines} lines"));
    let has_events = if recording.events.is_some() { "events" } else { "no events" };
    answer.head(format!("The record has {narrated} and {has_events}."));
    if let Some(usd) = cost(tools) {
        answer.head(format!("Estimated cost: ${usd:.6}"));
    }
    honesty(tools, &mut answer);
    errors(tools, &mut answer);
    answer.list("loops", 10, loops(tools));
    stages(tools, &mut answer);
    let keys = tools.places().root_keys();
    let shared = recording.snapshot.shared_state.keys().map(ToString::to_string);
    let mut names: Vec<String> = keys.to_vec();
    names.extend(shared.filter(|key| !keys.contains(key)));
    let shown: Vec<String> = names.iter().take(KEYS).map(|key| excerpt(key, 60)).collect();
    answer.section(format!("state keys ({})", names.len()));
    for line in shown.chunks(8) {
        answer.line(format!("  {}", line.join(", ")));
    }
    if names.len() > KEYS {
        answer.line(format!("  … and {} more", names.len() - KEYS));
    }
    answer.next("find_in_trace for words, trace_node for a step, backtrack for a variable");
    answer
}

/// How the run ended, as far as the record says.
pub(super) fn status(opened: &OpenRecording) -> String {
    let recording = opened.recording();
    let last =
        recording.events().iter().rev().find(|event| {
            ["agent.turn_end", "error.fatal", "pause.request"].iter().any(|name| is(event, name))
        });
    match last {
        Some(event) if is(event, "error.fatal") => {
            format!("failed: {}", excerpt(&text(&event.payload(), "error"), 300))
        }
        Some(event) if is(event, "pause.request") => {
            format!("paused: {}", excerpt(&text(&event.payload(), "reason"), 300))
        }
        Some(_) => "completed".to_owned(),
        None => {
            let failed = recording.snapshot.execution_tree.iter().find(|(_, frame)| !frame.errors.is_empty());
            match (failed, opened.header().and_then(|header| header.run().ok())) {
                (Some((_, frame)), _) => format!("failed at {}", frame.runtime_stage_id),
                (None, Some(run)) if run.complete => "complete, as its envelope states".to_owned(),
                (None, Some(_)) => "incomplete, as its envelope states".to_owned(),
                (None, None) if recording.events.is_none() => {
                    "unknown: there are no events, and no step failed".to_owned()
                }
                (None, None) => "unknown: no event says how it ended".to_owned(),
            }
        }
    }
}

fn cost(tools: &TraceTools) -> Option<f64> {
    let view = root(tools).view();
    let key = StateKey::key("cumEstimatedUsd").ok()?;
    let last = view.len().checked_sub(1)?;
    let at = view.value_at(&key, CommitIdx(last)).ok()?;
    at.value.value().and_then(Value::as_f64).filter(|usd| *usd > 0.0)
}

/// What a recording cannot say, in words.
#[must_use]
pub fn limit_sentence(limit: &Limit) -> String {
    match limit {
        Limit::NoStructure => "no structure: the chart cannot be drawn".to_owned(),
        Limit::StructureUnreadable { reason } => {
            format!("the structure cannot be read: {}", excerpt(reason, 120))
        }
        Limit::NoEvents => {
            "no events: model calls, tool calls, tokens and findings cannot be seen".to_owned()
        }
        Limit::EventsUnreadable { count } => format!("{count} rows of the events are no typed events"),
        Limit::EventsDropped { count } => {
            format!("the oldest {count} events were dropped; counts of events are too low")
        }
        Limit::NoBoundaries => "no boundary rows: when things were entered and left is not known".to_owned(),
        Limit::LeanBoundaries => "boundary rows without payloads".to_owned(),
        Limit::CommitAxisFlat => "boundary rows are not placed on the commit axis".to_owned(),
        Limit::NoNarrative => "no narrative".to_owned(),
        Limit::NoControlDeps => {
            "no control dependencies: slices miss decisions, or derive them from the tree".to_owned()
        }
        Limit::NoFoldBase => "no initial state: values from before the first commit are invisible".to_owned(),
        Limit::CommitGaps { count } => format!("{count} commits cannot be read"),
        other => other.to_string(),
    }
}

fn honesty(tools: &TraceTools, answer: &mut Answer) {
    for limit in tools.opened.limits() {
        answer.warn(limit_sentence(limit));
    }
    let coverage = tools.query.overview();
    if coverage.steps > 1 && coverage.steps_with_reads == 0 {
        answer.warn("no step has recorded reads: a missing edge does not mean independence");
    }
    let untracked = tools.query.root().log().iter().filter(|bundle| !bundle.untracked.is_empty()).count();
    if untracked > 0 {
        answer.warn(format!("{untracked} commits used sources that no tracked read shows (run input, environment or silent reads)"));
    }
    let hidden = tools.hidden.paths();
    if !hidden.is_empty() {
        let names: Vec<String> =
            hidden.iter().take(HONESTY).map(|path| excerpt(&path.to_string(), 60)).collect();
        answer.warn(format!("{} paths are redacted: {}", hidden.len(), names.join(", ")));
    }
}

fn errors(tools: &TraceTools, answer: &mut Answer) {
    let fatal = tools.opened.recording().events().iter().filter(|event| is(event, "error.fatal")).map(said);
    let frames = tools.places().all().iter().flat_map(|place| {
        place.view().tree().iter().filter_map(|(_, frame)| {
            let (key, value) = frame.errors.iter().next()?;
            let said = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Some(format!("{} {}: {}", frame.runtime_stage_id, excerpt(key, 40), excerpt(&said, 240)))
        })
    });
    answer.list("errors", ERRORS, fatal.chain(frames));
}

fn said(event: &RecordedEvent) -> String {
    let payload = event.payload();
    format!("{} {}", event.runtime_stage_id().unwrap_or_default(), excerpt(&text(&payload, "error"), 240))
}

/// Loop targets with the highest pass number each.
fn loops(tools: &TraceTools) -> Vec<String> {
    let mut passes: IndexMap<String, u64> = IndexMap::new();
    let rows = tools.opened.recording().snapshot.recorders.iter().find(|row| &*row.name == "BoundaryEvents");
    let rows = rows.and_then(|row| row.data.as_array().cloned()).unwrap_or_default();
    for row in rows.iter().filter(|row| text(row, "type") == "loop.iteration") {
        let pass = row.get("iteration").and_then(Value::as_u64).unwrap_or_default();
        let known = passes.entry(text(row, "target")).or_default();
        *known = pass.max(*known);
    }
    if passes.is_empty() {
        // Without boundaries: a stage that ran again was looped to; the first such stage is the target.
        for frame in tools.query.root().tree().iter().map(|(_, frame)| frame) {
            *passes.entry(frame.id.to_string()).or_default() += 1;
        }
        let repeated = passes.into_iter().find(|(_, times)| *times > 1);
        return repeated
            .map(|(id, times)| format!("from {} on, {times} times", excerpt(&id, 80)))
            .into_iter()
            .collect();
    }
    passes.into_iter().map(|(target, pass)| format!("to {}, pass {pass}", excerpt(&target, 80))).collect()
}

fn stages(tools: &TraceTools, answer: &mut Answer) {
    struct Stage {
        times: usize,
        name: String,
        flags: Vec<&'static str>,
    }
    let mut stages: IndexMap<String, Stage> = IndexMap::new();
    let tree = tools.query.root().tree();
    for (_, frame) in tree.iter() {
        let stage = stages.entry(frame.id.to_string()).or_insert_with(|| Stage {
            times: 0,
            name: frame.name.to_string(),
            flags: Vec::new(),
        });
        stage.times += 1;
        let flags = [
            (frame.is_decider, "decider"),
            (frame.is_fork || frame.children.len() > 1, "fork"),
            (frame.subflow_id.is_some(), "mount"),
            (!frame.errors.is_empty(), "error"),
        ];
        for (_, flag) in flags.into_iter().filter(|(on, _)| *on) {
            if !stage.flags.contains(&flag) {
                stage.flags.push(flag);
            }
        }
    }
    answer.list(
        format!("stages ({})", stages.len()),
        STAGES,
        stages.into_iter().map(|(id, stage)| {
            let times = if stage.times > 1 { format!(" ×{}", stage.times) } else { String::new() };
            let flags =
                if stage.flags.is_empty() { String::new() } else { format!(" [{}]", stage.flags.join(", ")) };
            format!("{}{times}{flags} {}", excerpt(&id, 80), excerpt(&stage.name, 80))
        }),
    );
}

//! The timeline: one row per step of the run and of its mounts, in the order they began.

use std::collections::HashMap;
use std::sync::Arc;

use agentfootprint::footprint::ids::{CommitIdx, RuntimeStageId};
use agentfootprint::footprint::query::{LogView, TraceQuery};
use agentfootprint::footprint::value::Value;
use agentfootprint::record::RecordedEvent;
use agentfootprint_record::conventions::{Milestone, Recognised, milestone_of};

/// One step.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Its address; empty for what was said outside of any step.
    pub(super) step: String,
    /// The log it stands in; none for a step that only events speak of.
    pub(super) place: Option<usize>,
    /// `llm-turn`, `tool-call` …; empty for machinery.
    pub(super) kind: String,
    /// What it is called.
    pub(super) label: String,
    /// How many mounts it is in.
    pub(super) depth: usize,
    /// The iteration it ran in, as the run had committed it.
    pub(super) iteration: Option<u64>,
    /// Positions of its events.
    pub(super) events: Vec<usize>,
    /// Something failed in it, or a check found something.
    pub(super) alarming: bool,
}

/// All rows, and where a step is among them.
#[derive(Debug)]
pub(super) struct Timeline {
    pub(super) rows: Vec<Row>,
    by_step: HashMap<String, usize>,
    inner: Vec<Arc<LogView>>,
}

/// A row and where it belongs: by the number of its step; what only events know comes after the step before it.
struct Placed {
    order: (i64, usize),
    row: Row,
}

impl Timeline {
    pub(super) fn of(query: &TraceQuery, events: &[RecordedEvent]) -> Self {
        let inner: Vec<Arc<LogView>> =
            query.subflow_executions().filter_map(|mount| Some(query.subflow(mount).ok()?.view)).collect();
        let mut placed = Vec::new();
        let mut known = HashMap::new();
        let views = std::iter::once(query.root()).chain(inner.iter().map(|view| &**view));
        for (place, view) in views.enumerate() {
            steps_of(view, place, &mut known, &mut placed);
        }
        events_of(events, &mut known, &mut placed);
        // Stable: what stands outside of a mount comes before what stands in it under the same number.
        placed.sort_by_key(|placed| placed.order);
        let mut rows: Vec<Row> = placed.into_iter().map(|placed| placed.row).collect();
        carry(&mut rows, events);
        let by_step = rows.iter().enumerate().map(|(at, row)| (row.step.clone(), at)).collect();
        Self { rows, by_step, inner }
    }

    /// The row of a step.
    pub(super) fn row_of(&self, step: &str) -> Option<usize> {
        self.by_step.get(step).copied()
    }

    /// The log a row stands in.
    pub(super) fn view<'a>(&'a self, query: &'a TraceQuery, row: &Row) -> Option<&'a LogView> {
        match row.place? {
            0 => Some(query.root()),
            place => self.inner.get(place - 1).map(|view| &**view),
        }
    }

    /// The first step a line of text speaks of.
    pub(super) fn row_in(&self, line: &str) -> Option<usize> {
        line.split(|c: char| c.is_whitespace() || "`\"(),;".contains(c))
            .map(|word| word.trim_end_matches([':', '.']))
            .filter(|word| word.contains('#'))
            .find_map(|word| self.row_of(word))
    }
}

fn number(id: &RuntimeStageId) -> i64 {
    i64::try_from(id.index().0).unwrap_or(i64::MAX)
}

fn steps_of(view: &LogView, place: usize, known: &mut HashMap<String, usize>, placed: &mut Vec<Placed>) {
    let before = iterations(view);
    let commits: HashMap<&RuntimeStageId, CommitIdx> = view.steps().collect();
    let framed = view.tree().iter().map(|(_, frame)| &frame.runtime_stage_id);
    let committed = view.steps().map(|(id, _)| id);
    for id in committed.chain(framed) {
        let step = id.to_string();
        if step.is_empty() || known.contains_key(&step) {
            continue;
        }
        let first = commits.get(id).copied();
        let bundle = first.and_then(|at| view.log().get(at.0));
        let frame = view.frame(id);
        let tags: Option<&[_]> = bundle.and_then(|bundle| bundle.tags.as_deref());
        let milestone: Option<Milestone> = match milestone_of(tags, &step) {
            Recognised::Declared(milestone) | Recognised::FromId(milestone) => Some(milestone),
            Recognised::No => None,
        };
        let name = bundle.map(|bundle| bundle.stage.to_string()).or(frame.map(|f| f.name.to_string()));
        known.insert(step.clone(), placed.len());
        placed.push(Placed {
            order: (number(id), 0),
            row: Row {
                place: Some(place),
                kind: milestone
                    .as_ref()
                    .map_or_else(String::new, |milestone| milestone.kind.word().to_owned()),
                label: milestone.map(|m| m.label.to_string()).or(name).unwrap_or_default(),
                depth: step.matches('/').count(),
                iteration: first.and_then(|at| before.get(at.0).copied().flatten()),
                events: Vec::new(),
                alarming: frame.is_some_and(|frame| !frame.errors.is_empty()),
                step,
            },
        });
    }
}

/// Per commit, the iteration that stood before it; for the commits before the first one is written, that one.
fn iterations(view: &LogView) -> Vec<Option<u64>> {
    let mut now = view.initial_state().and_then(|state| state.get("iteration")).and_then(Value::as_u64);
    let mut out: Vec<Option<u64>> = Vec::with_capacity(view.len());
    for bundle in view.log().iter() {
        out.push(now);
        for row in bundle.rows.iter() {
            if let ([key], Some(iteration)) = (row.path.segments(), row.value.as_u64())
                && **key == *"iteration"
            {
                if now.is_none() {
                    out.iter_mut().for_each(|before| *before = Some(iteration));
                }
                now = Some(iteration);
            }
        }
    }
    out
}

/// Puts each event to the row of its step; a step that stands in no log gets a row after the one spoken of before.
fn events_of(events: &[RecordedEvent], known: &mut HashMap<String, usize>, placed: &mut Vec<Placed>) {
    let mut last = -1;
    for (at, event) in events.iter().enumerate() {
        let step = event.runtime_stage_id().unwrap_or_default();
        let index = *known.entry(step.to_string()).or_insert_with(|| {
            placed.push(Placed {
                order: (last, 1 + at),
                row: Row {
                    label: if step.is_empty() { "said outside of any step" } else { "" }.to_owned(),
                    depth: step.matches('/').count(),
                    step: step.to_string(),
                    place: None,
                    kind: String::new(),
                    iteration: None,
                    events: Vec::new(),
                    alarming: false,
                },
            });
            placed.len() - 1
        });
        if let Some(found) = placed.get_mut(index) {
            found.row.events.push(at);
            found.row.alarming |= alarming(event);
            last = last.max(found.order.0);
        }
    }
}

fn alarming(event: &RecordedEvent) -> bool {
    match event.name_str().strip_prefix("agentfootprint.") {
        Some("error.fatal" | "integrity.context_error" | "validation.args_invalid") => true,
        Some("stream.tool_end") => event.payload().get("error").and_then(Value::as_bool) == Some(true),
        _ => false,
    }
}

/// Rows whose own log does not say the iteration are in that of the row before; where nobody committed one, events may say it.
fn carry(rows: &mut [Row], events: &[RecordedEvent]) {
    let mut now = None;
    for row in rows {
        let said = || {
            let event = |at: &usize| {
                let event = events.get(*at)?;
                let name = event.name_str().strip_prefix("agentfootprint.stream.")?;
                (name == "llm_start").then(|| event.payload().get("iteration").and_then(Value::as_u64))?
            };
            row.events.iter().find_map(event)
        };
        row.iteration = row.iteration.or_else(said).or(now);
        now = row.iteration;
    }
}

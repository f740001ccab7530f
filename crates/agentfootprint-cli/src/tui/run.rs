//! A recording with everything the panes are made from. It never changes once it is open.

use std::collections::HashMap;
use std::sync::OnceLock;

use agentfootprint::debug::loops::{Pass, PassToolCall, passes};
use agentfootprint::debug::toolpack::TraceTools;
use agentfootprint::footprint::query::LogView;
use agentfootprint::footprint::snapshot::CommitLog;
use agentfootprint::footprint::state::{Path, PathRelation};
use agentfootprint::footprint::value::Value;
use agentfootprint::record::{OpenRecording, RecordedEvent};

use super::rows::{Row, Timeline};
use super::text::said;

/// What stands for a value that a redaction policy hid.
pub(super) const HIDDEN: &str = "[redacted]";
/// Characters of one step that a search looks at.
const SEARCHED: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Run {
    pub(super) tools: TraceTools,
    pub(super) timeline: Timeline,
    /// The model calls, and the row of each, ascending.
    calls: Vec<(usize, Pass)>,
    /// Per step the tool calls it made: which model call asked, and which of its tool calls.
    called: HashMap<String, Vec<(usize, usize)>>,
    /// What the top line says.
    pub(super) headline: String,
    /// What the record cannot say.
    pub(super) limits: Vec<String>,
    hidden: Vec<Path>,
    words: OnceLock<Vec<String>>,
}

impl Run {
    pub(super) fn of(opened: OpenRecording) -> Self {
        let limits = crate::input::limit_words(&opened);
        let mut hidden = Vec::new();
        let snapshot = &opened.recording().snapshot;
        add_hidden(&snapshot.commit_log, &mut hidden);
        for result in snapshot.subflow_results.values() {
            add_hidden(&result.tree_context.history, &mut hidden);
        }
        let passes = passes(opened.recording());
        let tools = TraceTools::new(opened);
        let timeline = Timeline::of(tools.query(), tools.opened().recording().events());
        let headline = headline(&tools, &passes);
        let mut calls: Vec<(usize, Pass)> =
            passes.into_iter().filter_map(|pass| Some((timeline.row_of(&pass.step)?, pass))).collect();
        calls.sort_by_key(|(row, _)| *row);
        let mut called: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (call, (_, pass)) in calls.iter().enumerate() {
            for (at, tool) in pass.tools.iter().enumerate() {
                called.entry(tool.step.clone()).or_default().push((call, at));
            }
        }
        Self { tools, timeline, calls, called, headline, limits, hidden, words: OnceLock::new() }
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.timeline.rows
    }

    pub(super) fn events(&self) -> &[RecordedEvent] {
        self.tools.opened().recording().events()
    }

    pub(super) fn view(&self, row: &Row) -> Option<&LogView> {
        self.timeline.view(self.tools.query(), row)
    }

    pub(super) fn calls(&self) -> &[(usize, Pass)] {
        &self.calls
    }

    /// The model call a row is in or after: its position among the calls.
    pub(super) fn call_at(&self, row: usize) -> Option<usize> {
        self.calls.partition_point(|(at, _)| *at <= row).checked_sub(1)
    }

    /// Tool calls a step made.
    pub(super) fn tool_calls<'a>(&'a self, step: &str) -> impl Iterator<Item = &'a PassToolCall> {
        let made = self.called.get(step).into_iter().flatten();
        made.filter_map(|(call, tool)| self.calls.get(*call)?.1.tools.get(*tool))
    }

    /// What may be shown of a value that a commit wrote at a path.
    pub(super) fn shown(&self, path: &Path, value: &Value, placeholders: &[Path]) -> String {
        for hidden in &self.hidden {
            match hidden.relation_to(path) {
                PathRelation::Apart => {}
                // The commit that hid it already holds a placeholder in its place.
                _ if placeholders.contains(hidden) => {}
                _ => return HIDDEN.to_owned(),
            }
        }
        said(value)
    }

    /// Whether a policy hid a whole key somewhere in the run.
    pub(super) fn hides(&self, key: &str) -> bool {
        self.hidden.iter().any(|path| matches!(path.segments(), [only] if **only == *key))
    }

    /// Per row the words a search looks at, in lower case. Made at the first search.
    pub(super) fn words(&self) -> &[String] {
        self.words.get_or_init(|| self.rows().iter().map(|row| self.words_of(row)).collect())
    }

    fn words_of(&self, row: &Row) -> String {
        let mut words = String::new();
        let mut add = |text: &str| {
            if words.len() < SEARCHED {
                let room = SEARCHED - words.len();
                let text =
                    text.char_indices().nth(room).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
                words.push_str(&text.to_lowercase());
                words.push('\n');
            }
        };
        add(&row.step);
        add(&row.kind);
        add(&row.label);
        let id = agentfootprint::footprint::ids::RuntimeStageId::parse(&row.step);
        if let Some((view, Ok(facts))) = self.view(row).map(|view| (view, view.step(&id))) {
            for bundle in facts.commits.iter().filter_map(|commit| view.log().get(commit.0)) {
                for change in bundle.rows.iter().filter(|change| !change.is_echo()) {
                    add(&change.path.to_string());
                    add(&self.shown(&change.path, &change.value, &bundle.redacted_paths));
                }
            }
        }
        for event in row.events.iter().filter_map(|at| self.events().get(*at)) {
            add(event.name_str());
            add(&event.payload().to_string());
        }
        words
    }
}

fn add_hidden(log: &CommitLog, hidden: &mut Vec<Path>) {
    for path in log.iter().flat_map(|bundle| bundle.redacted_paths.iter()) {
        if !hidden.contains(path) {
            hidden.push(path.clone());
        }
    }
}

fn headline(tools: &TraceTools, passes: &[Pass]) -> String {
    let called: usize = passes.iter().map(|pass| pass.tools.len()).sum();
    let (read, wrote) =
        passes.iter().fold((0, 0), |(read, wrote), pass| (read + pass.tokens.0, wrote + pass.tokens.1));
    let counted = if tools.opened().recording().events.is_some() {
        format!("model calls: {} · tool calls: {called} · tokens: {read} in, {wrote} out", passes.len())
    } else {
        "calls and tokens not on record (no events)".to_owned()
    };
    format!("{} · {counted}", tools.status())
}

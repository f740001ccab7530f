//! The recorder behind the combined narrative.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::HashMap;

use super::render::*;
use super::row::{Row, Said, Words};
use super::{NarrativeEntry, NarrativeQuery, NarrativeType, text};
use crate::ids::{RunId, RuntimeStageId};
use crate::observe::*;
use crate::recorders::per_run::PerRun;
use crate::stores::SequenceStore;
use crate::value::summary::{PREVIEW, summarise};
use crate::value::{Str, Value};

/// Formats a value for the story: the value (`None` when absent) and the longest wanted text.
pub type ValueFormat = Arc<dyn Fn(Option<&Value>, usize) -> String + Send + Sync>;

/// How the story is told (OBS-76).
#[derive(Clone)]
pub struct NarrativeOptions {
    /// Number stages and steps.
    pub include_step_numbers: bool,
    /// Show value summaries.
    pub include_values: bool,
    /// Longest value text in UTF-16 code units.
    pub max_value_length: usize,
    /// Replaces the value summariser.
    pub format_value: Option<ValueFormat>,
    /// Rewords entries.
    pub renderer: Option<Arc<dyn Renderer>>,
}

impl Default for NarrativeOptions {
    fn default() -> Self {
        Self {
            include_step_numbers: true,
            include_values: true,
            max_value_length: PREVIEW,
            format_value: None,
            renderer: None,
        }
    }
}

impl fmt::Debug for NarrativeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NarrativeOptions")
            .field("include_step_numbers", &self.include_step_numbers)
            .field("include_values", &self.include_values)
            .field("max_value_length", &self.max_value_length)
            .finish_non_exhaustive()
    }
}

/// What is known of a step that may still have something to say.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub(super) started: bool,
    pub(super) headed: bool,
    items: u32,
    pub(super) buffered: Vec<Row>,
    pass: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    pub(super) entries: SequenceStore<Row>,
    pub(super) steps: HashMap<RuntimeStageId, Step>,
    /// Headlines so far per flow (mount path, `""` at top); restarts when a mount is entered again.
    pub(super) headlines: HashMap<Str, u32>,
    /// Room of a buffer that was told, for the next step that buffers.
    spare: Vec<Row>,
}

impl Story {
    pub(super) fn step(&mut self, id: &RuntimeStageId) -> &mut Step {
        self.steps.entry(id.clone()).or_default()
    }

    /// Takes one more item of a step in; its number.
    fn count(&mut self, cx: &EventCx<'_>) -> u32 {
        let step = self.step(&cx.traversal.runtime_stage_id);
        step.items += 1;
        step.pass = cx.traversal.loop_iteration;
        step.items
    }

    fn buffer(&mut self, row: Row) {
        let spare = std::mem::take(&mut self.spare);
        let step = self.step(row.id());
        if step.buffered.capacity() == 0 {
            step.buffered = spare;
        }
        step.buffered.push(row);
    }

    /// Tells what a step has buffered.
    pub(super) fn flush(&mut self, id: &RuntimeStageId) {
        let Some(step) = self.steps.get_mut(id).filter(|step| !step.buffered.is_empty()) else { return };
        let mut buffered = std::mem::take(&mut step.buffered);
        buffered.drain(..).for_each(|row| self.entries.push(row));
        self.spare = buffered;
    }

    /// The number of the next headline of a step's flow, and which pass of the step it heads.
    fn headline(&mut self, id: &RuntimeStageId) -> (u32, Option<u64>) {
        let flow = id.subflow_path().unwrap_or("");
        let number = match self.headlines.get_mut(flow) {
            Some(number) => number,
            None => self.headlines.entry(flow.into()).or_default(),
        };
        *number += 1;
        let number = *number;
        let step = self.step(id);
        step.headed = true;
        (number, step.pass)
    }
}

/// Records the combined narrative. Operations are buffered per step and told under the step's headline, so parallel steps of one name
/// stay apart; whatever ends a step — also failing, pausing, selecting — tells its buffer first (OBS-78, OBS-79).
///
/// ```
/// use footprint::observe::Recorder;
/// use footprint::recorders::CombinedNarrative;
/// let narrative = CombinedNarrative::new();
/// assert_eq!(narrative.id(), "combined-narrative");
/// assert!(narrative.entries().is_empty());
/// ```
pub struct CombinedNarrative {
    pub(super) id: Str,
    pub(super) options: NarrativeOptions,
    pub(super) runs: PerRun<Story>,
    renderer_failures: AtomicU64,
}

impl Default for CombinedNarrative {
    fn default() -> Self {
        Self::with_options(NarrativeOptions::default())
    }
}

impl fmt::Debug for CombinedNarrative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CombinedNarrative").field("id", &self.id).field("options", &self.options).finish()
    }
}

impl CombinedNarrative {
    /// With default options, under the id `combined-narrative`.
    pub fn new() -> Self {
        Self::default()
    }

    /// With these options.
    pub fn with_options(options: NarrativeOptions) -> Self {
        Self {
            id: "combined-narrative".into(),
            options,
            runs: PerRun::default(),
            renderer_failures: AtomicU64::new(0),
        }
    }

    /// Under another id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Str>) -> Self {
        self.id = id.into();
        self
    }

    /// All entries of the newest run.
    pub fn entries(&self) -> Vec<NarrativeEntry> {
        self.look(None, |rows| self.told(rows.iter()))
    }

    /// All entries of one run.
    pub fn entries_of(&self, run: &RunId) -> Vec<NarrativeEntry> {
        self.look(Some(run), |rows| self.told(rows.iter()))
    }

    /// The entries of one step of the newest run.
    pub fn by_step(&self, step: &RuntimeStageId) -> Vec<NarrativeEntry> {
        self.look(None, |rows| self.told(rows.by_step(step)))
    }

    /// The entries of one subflow of the newest run; `""` is the root.
    pub fn by_subflow(&self, subflow: &str) -> Vec<NarrativeEntry> {
        self.look(None, |rows| {
            let own = |row: &&Row| row.place.traversal.subflow_id.as_deref().unwrap_or("") == subflow;
            self.told(rows.iter().filter(own))
        })
    }

    /// The entries of the visible steps of the newest run.
    pub fn up_to(&self, visible: impl Fn(&RuntimeStageId) -> bool) -> Vec<NarrativeEntry> {
        self.look(None, |rows| self.told(rows.up_to(visible)))
    }

    /// From–to positions per step of the newest run, for scrubbing.
    pub fn ranges(&self) -> Vec<(RuntimeStageId, std::ops::Range<usize>)> {
        self.look(None, |rows| rows.ranges().map(|(step, range)| (step.clone(), range)).collect())
    }

    /// Searches the newest run; the first number is how many entries match in all.
    pub fn find(&self, query: &NarrativeQuery) -> (usize, Vec<NarrativeEntry>) {
        let entries = self.entries();
        let hits = query.find(&entries);
        (hits.total, hits.entries.into_iter().map(|(_, entry)| entry.clone()).collect())
    }

    /// Number of entries of the newest run.
    pub fn len(&self) -> usize {
        self.look(None, SequenceStore::len)
    }

    /// Whether the newest run has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How often the renderer panicked.
    pub fn renderer_failures(&self) -> u64 {
        self.renderer_failures.load(Ordering::Relaxed)
    }

    fn look<R: Default>(&self, run: Option<&RunId>, look: impl FnOnce(&SequenceStore<Row>) -> R) -> R {
        self.runs.read(run, |story| look(&story.entries)).unwrap_or_default()
    }

    fn told<'a>(&self, rows: impl IntoIterator<Item = &'a Row>) -> Vec<NarrativeEntry> {
        rows.into_iter().map(|row| row.entry(&self.options)).collect()
    }

    /// Whether the words are the default ones. They can be found later then; foreign code is asked at once.
    pub(super) fn is_plain(&self) -> bool {
        self.options.renderer.is_none() && self.options.format_value.is_none()
    }

    /// The renderer's words, else the default ones; `None` drops the entry.
    pub(super) fn words(
        &self,
        custom: impl FnOnce(&dyn Renderer) -> Render,
        default: impl FnOnce() -> String,
    ) -> Option<String> {
        let Some(renderer) = &self.options.renderer else { return Some(default()) };
        match catch_unwind(AssertUnwindSafe(|| custom(&**renderer))) {
            Ok(Render::Text(text)) => Some(text),
            Ok(Render::Omit) => None,
            Ok(Render::Default) => Some(default()),
            Err(_) => {
                self.renderer_failures.fetch_add(1, Ordering::Relaxed);
                Some(default())
            }
        }
    }

    pub(super) fn summary(&self, value: Option<&Value>) -> Option<String> {
        let max = self.options.max_value_length;
        self.options.include_values.then(|| match &self.options.format_value {
            Some(format) => format(value, max),
            None => summarise(value, max),
        })
    }

    /// Tells one entry now.
    pub(super) fn push(&self, cx: &EventCx<'_>, kind: NarrativeType, said: Said) {
        self.runs
            .with(cx.run_id, |story| story.entries.push(Row { place: Arc::clone(cx.place), kind, said }));
    }

    /// Tells one entry now, if it has words.
    pub(super) fn tell(
        &self,
        cx: &EventCx<'_>,
        kind: NarrativeType,
        custom: impl FnOnce(&dyn Renderer) -> Render,
        default: impl FnOnce() -> String,
    ) {
        if let Some(text) = self.words(custom, default) {
            self.push(cx, kind, text.into());
        }
    }

    /// Keeps one entry for when its step speaks. The words are found with no lock held.
    pub(super) fn buffer(
        &self,
        cx: &EventCx<'_>,
        kind: NarrativeType,
        finish: impl FnOnce(u32) -> Option<Words>,
    ) {
        let number = self.runs.with(cx.run_id, |story| story.count(cx));
        let Some(words) = finish(number) else { return };
        let number = (kind == NarrativeType::Step).then_some(number);
        let said = Said::Words(Box::new(Words { number, ..words }));
        self.runs.with(cx.run_id, |story| story.buffer(Row { place: Arc::clone(cx.place), kind, said }));
    }

    pub(super) fn op(&self, cx: &EventCx<'_>, kind: OpKind, key: Option<&Str>, value: Option<&Value>) {
        if self.is_plain() {
            self.runs.with(cx.run_id, |story| {
                let number = story.count(cx);
                let said = Said::Op { kind, key: key.cloned(), value: value.cloned(), number };
                story.buffer(Row { place: Arc::clone(cx.place), kind: NarrativeType::Step, said });
            });
            return;
        }
        let shows_value = kind != OpKind::Delete;
        let summary = if shows_value { self.summary(value) } else { None };
        self.buffer(cx, NarrativeType::Step, |number| {
            let facts = OpText {
                kind,
                key: key.map(|k| &**k),
                summary: summary.as_deref(),
                value,
                number: Some(number),
                numbered: self.options.include_step_numbers,
            };
            let text = self.words(|r| r.render_op(cx, &facts), || text::op(&facts))?;
            Some(Words { text, key: key.cloned(), raw: value.cloned(), ..Words::default() })
        });
    }

    /// The step of this event speaks: headline if it has none yet, then what was buffered.
    pub(super) fn speak(&self, cx: &EventCx<'_>, description: Option<&Str>) {
        let id = &cx.traversal.runtime_stage_id;
        let due = self.runs.with(cx.run_id, |story| {
            let step = story.step(id);
            step.pass = cx.traversal.loop_iteration;
            !step.headed && (step.started || !step.buffered.is_empty())
        });
        self.say_step(cx, id, due.then_some(cx.place), description);
    }

    /// Adds a headline, if one is due for this step, and what the step has buffered.
    fn say_step(
        &self,
        cx: &EventCx<'_>,
        id: &RuntimeStageId,
        due: Option<&Arc<EventPlace>>,
        description: Option<&Str>,
    ) {
        let headline = due.and_then(|place| {
            let (number, pass) = self.runs.with(cx.run_id, |story| story.headline(id));
            let said = if self.is_plain() {
                Said::Headline { description: description.cloned(), number, pass }
            } else {
                let numbered = self.options.include_step_numbers;
                let description = description.map(|text| &**text);
                let facts =
                    StageText { name: &place.traversal.stage_name, description, number, pass, numbered };
                self.words(|r| r.render_stage(cx, &facts), || text::stage(&facts))?.into()
            };
            Some(Row { place: Arc::clone(place), kind: NarrativeType::Stage, said })
        });
        self.runs.with(cx.run_id, |story| {
            headline.into_iter().for_each(|row| story.entries.push(row));
            story.flush(id);
        });
    }

    /// Nothing may stay buffered when a leg ends.
    pub(super) fn finish(&self, cx: &EventCx<'_>) {
        let mut left: Vec<(Arc<EventPlace>, bool)> = self.runs.with(cx.run_id, |story| {
            let talkative = story.steps.values().filter_map(|step| Some((step, step.buffered.first()?)));
            talkative.map(|(step, first)| (Arc::clone(&first.place), !step.headed)).collect()
        });
        left.sort_by_key(|(place, _)| place.traversal.runtime_stage_id.index());
        for (place, due) in left {
            self.say_step(cx, &place.traversal.runtime_stage_id, due.then_some(&place), None);
        }
        self.runs.with(cx.run_id, |story| {
            story.steps = HashMap::default();
            story.spare = Vec::new();
        });
        self.runs.close(cx.run_id);
    }

    /// A mount speaks for itself: its own entry is its headline.
    pub(super) fn headed(&self, cx: &EventCx<'_>) {
        self.runs.with(cx.run_id, |story| story.step(&cx.traversal.runtime_stage_id).headed = true);
    }
}

//! The recorder behind the combined narrative.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::render::*;
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
    pub(super) buffered: Vec<NarrativeEntry>,
    pass: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    pub(super) entries: SequenceStore<NarrativeEntry>,
    pub(super) steps: HashMap<RuntimeStageId, Step>,
    /// Headlines so far per flow (mount path, `""` at top); restarts when a mount is entered again.
    pub(super) headlines: HashMap<Str, u32>,
}

impl Story {
    /// Tells what a step has buffered.
    pub(super) fn flush(&mut self, id: &RuntimeStageId) {
        let buffered = self.steps.get_mut(id).map(|s| std::mem::take(&mut s.buffered)).unwrap_or_default();
        buffered.into_iter().for_each(|entry| self.entries.push(entry));
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
        self.look(None, |entries| entries.iter().cloned().collect())
    }

    /// All entries of one run.
    pub fn entries_of(&self, run: &RunId) -> Vec<NarrativeEntry> {
        self.look(Some(run), |entries| entries.iter().cloned().collect())
    }

    /// The entries of one step of the newest run.
    pub fn by_step(&self, step: &RuntimeStageId) -> Vec<NarrativeEntry> {
        self.look(None, |entries| entries.by_step(step).cloned().collect())
    }

    /// The entries of one subflow of the newest run; `""` is the root.
    pub fn by_subflow(&self, subflow: &str) -> Vec<NarrativeEntry> {
        self.look(None, |entries| {
            let own = |e: &&NarrativeEntry| e.subflow_id.as_deref().unwrap_or("") == subflow;
            entries.iter().filter(own).cloned().collect()
        })
    }

    /// The entries of the visible steps of the newest run.
    pub fn up_to(&self, visible: impl Fn(&RuntimeStageId) -> bool) -> Vec<NarrativeEntry> {
        self.look(None, |entries| entries.up_to(visible).into_iter().cloned().collect())
    }

    /// From–to positions per step of the newest run, for scrubbing.
    pub fn ranges(&self) -> Vec<(RuntimeStageId, std::ops::Range<usize>)> {
        self.look(None, |entries| entries.ranges().map(|(step, range)| (step.clone(), range)).collect())
    }

    /// Searches the newest run; the first number is how many entries match in all.
    pub fn find(&self, query: &NarrativeQuery) -> (usize, Vec<NarrativeEntry>) {
        self.look(None, |entries| {
            let hits = query.find(entries.iter());
            (hits.total, hits.entries.into_iter().map(|(_, e)| e.clone()).collect())
        })
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

    fn look<R: Default>(
        &self,
        run: Option<&RunId>,
        look: impl FnOnce(&SequenceStore<NarrativeEntry>) -> R,
    ) -> R {
        self.runs.read(run, |story| look(&story.entries)).unwrap_or_default()
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

    /// An entry addressed at the event's step.
    pub(super) fn entry(cx: &EventCx<'_>, kind: NarrativeType, text: String) -> NarrativeEntry {
        let step = cx.traversal;
        NarrativeEntry {
            stage_name: Some(step.stage_name.clone()),
            stage_id: Some(step.stage_id.clone()),
            runtime_stage_id: Some(step.runtime_stage_id.clone()),
            subflow_id: step.subflow_id.clone(),
            ..NarrativeEntry::new(kind, text)
        }
    }

    /// Tells one entry now.
    pub(super) fn tell(
        &self,
        cx: &EventCx<'_>,
        kind: NarrativeType,
        custom: impl FnOnce(&dyn Renderer) -> Render,
        default: impl FnOnce() -> String,
    ) {
        if let Some(text) = self.words(custom, default) {
            self.runs.with(cx.run_id, |story| story.entries.push(Self::entry(cx, kind, text)));
        }
    }

    /// Keeps one entry for when its step speaks. The words are found with no lock held.
    pub(super) fn buffer(
        &self,
        cx: &EventCx<'_>,
        kind: NarrativeType,
        finish: impl FnOnce(u32) -> Option<(String, Option<Str>, Option<Value>)>,
    ) {
        let id = &cx.traversal.runtime_stage_id;
        let number = self.runs.with(cx.run_id, |story| {
            let step = story.steps.entry(id.clone()).or_default();
            step.items += 1;
            step.pass = cx.traversal.loop_iteration;
            step.items
        });
        let Some((text, key, raw)) = finish(number) else { return };
        let step_number = (kind == NarrativeType::Step).then_some(number);
        let entry = NarrativeEntry { step_number, key, raw, ..Self::entry(cx, kind, text) };
        self.runs.with(cx.run_id, |story| story.steps.entry(id.clone()).or_default().buffered.push(entry));
    }

    pub(super) fn op(&self, cx: &EventCx<'_>, kind: OpKind, key: Option<&Str>, value: Option<&Value>) {
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
            Some((text, key.cloned(), value.cloned()))
        });
    }

    /// The step of this event speaks: headline if it has none yet, then what was buffered.
    pub(super) fn speak(&self, cx: &EventCx<'_>, description: Option<&str>) {
        let id = &cx.traversal.runtime_stage_id;
        let headline = self.runs.with(cx.run_id, |story| {
            let step = story.steps.entry(id.clone()).or_default();
            step.pass = cx.traversal.loop_iteration;
            (!step.headed && (step.started || !step.buffered.is_empty()))
                .then(|| Self::entry(cx, NarrativeType::Stage, String::new()))
        });
        self.say_step(cx, id, headline, description);
    }

    /// Adds a headline (its words still to be found) and what the step has buffered.
    fn say_step(
        &self,
        cx: &EventCx<'_>,
        id: &RuntimeStageId,
        headline: Option<NarrativeEntry>,
        description: Option<&str>,
    ) {
        let headline = headline.and_then(|entry| {
            let (number, pass) = self.runs.with(cx.run_id, |story| {
                let number = story.headlines.entry(id.subflow_path().unwrap_or("").into()).or_default();
                *number += 1;
                let step = story.steps.entry(id.clone()).or_default();
                step.headed = true;
                (*number, step.pass)
            });
            let numbered = self.options.include_step_numbers;
            let name = entry.stage_name.as_deref().unwrap_or_else(|| id.stage_id());
            let facts = StageText { name, description, number, pass, numbered };
            let text = self.words(|r| r.render_stage(cx, &facts), || text::stage(&facts))?;
            Some(NarrativeEntry { text, ..entry })
        });
        self.runs.with(cx.run_id, |story| {
            headline.into_iter().for_each(|entry| story.entries.push(entry));
            story.flush(id);
        });
    }

    /// Nothing may stay buffered when a leg ends.
    pub(super) fn finish(&self, cx: &EventCx<'_>) {
        let mut left: Vec<(RuntimeStageId, Option<NarrativeEntry>)> = self.runs.with(cx.run_id, |story| {
            let talkative = story.steps.iter().filter(|(_, s)| !s.buffered.is_empty());
            talkative.map(|(id, s)| (id.clone(), s.buffered.first().filter(|_| !s.headed).cloned())).collect()
        });
        left.sort_by_key(|(id, _)| id.index());
        for (id, first) in left {
            let headline = first.map(|f| NarrativeEntry {
                stage_name: f.stage_name,
                stage_id: f.stage_id,
                runtime_stage_id: f.runtime_stage_id,
                subflow_id: f.subflow_id,
                ..NarrativeEntry::new(NarrativeType::Stage, String::new())
            });
            self.say_step(cx, &id, headline, None);
        }
        self.runs.with(cx.run_id, |story| story.steps.clear());
        self.runs.close(cx.run_id);
    }

    /// A mount speaks for itself: its own entry is its headline.
    pub(super) fn headed(&self, cx: &EventCx<'_>) {
        self.runs.with(cx.run_id, |story| {
            story.steps.entry(cx.traversal.runtime_stage_id.clone()).or_default().headed = true;
        });
    }
}

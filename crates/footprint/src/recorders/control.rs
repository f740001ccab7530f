//! Which decision let a step run (OBS-94, OBS-95).

use std::sync::{Mutex, PoisonError};

use foldhash::{HashMap, fast::RandomState};
use indexmap::IndexMap;

use super::per_run::{PerRun, close_on_end};
use crate::decide::RuleEvidence;
use crate::ids::{RunId, RuntimeStageId};
use crate::observe::*;
use crate::snapshot::PreferredOperation;
use crate::value::{Object, Str, Value};

/// Facts by step, in the order they were learnt.
type ByStep<T> = IndexMap<RuntimeStageId, T, RandomState>;

/// The decision that let a step run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Governor {
    /// Address of the decider or selector.
    pub decider: RuntimeStageId,
    /// What the taken branch means, when declared.
    pub label: Option<Str>,
}

/// One decision: its branches' meanings, and how it was reached.
#[derive(Clone, Debug, PartialEq)]
struct DecisionNote {
    stage_name: Str,
    selector: bool,
    chosen: Vec<Str>,
    labels: IndexMap<Str, Str>,
    evidence: Option<Value>,
}

/// Control dependencies as data: recorded live by [`ControlDeps`], or read back from a stored row.
#[derive(Debug, Default)]
pub struct ControlData {
    decisions: ByStep<DecisionNote>,
    entries: ByStep<RuntimeStageId>,
    parents: ByStep<RuntimeStageId>,
    /// Branch entry that governs a step, as far as asked.
    memo: Mutex<HashMap<RuntimeStageId, Option<RuntimeStageId>>>,
}

impl Clone for ControlData {
    fn clone(&self) -> Self {
        Self {
            decisions: self.decisions.clone(),
            entries: self.entries.clone(),
            parents: self.parents.clone(),
            memo: Mutex::default(),
        }
    }
}

impl PartialEq for ControlData {
    fn eq(&self, other: &Self) -> bool {
        self.decisions == other.decisions && self.entries == other.entries && self.parents == other.parents
    }
}

impl ControlData {
    /// The decision that governs a step: climbs from the step itself to the nearest branch entry. Malformed chains end the climb.
    pub fn lookup(&self, step: &RuntimeStageId) -> Option<Governor> {
        let entry = self.branch_entry(step)?;
        let decider = self.entries.get(&entry)?.clone();
        let label = self.decisions.get(&decider).and_then(|d| d.labels.get(entry.local_id()).cloned());
        Some(Governor { decider, label })
    }

    fn branch_entry(&self, step: &RuntimeStageId) -> Option<RuntimeStageId> {
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        let mut climbed = Vec::new();
        let mut at = step;
        let found = loop {
            if let Some(known) = memo.get(at) {
                break known.clone();
            }
            if self.entries.contains_key(at) {
                break Some(at.clone());
            }
            // Marked before climbing on, so a cycle finds itself and ends.
            memo.insert(at.clone(), None);
            climbed.push(at);
            match self.parents.get(at) {
                Some(parent) => at = parent,
                None => break None,
            }
        };
        for step in climbed {
            memo.insert(step.clone(), found.clone());
        }
        found
    }

    /// Number of branch entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no branch entry is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Evidence of a decision, when it was kept.
    pub fn evidence(&self, decider: &RuntimeStageId) -> Option<&Value> {
        self.decisions.get(decider)?.evidence.as_ref()
    }

    /// The row data: `{decisions, entries, parents}`.
    pub fn to_value(&self) -> Value {
        let ids = |map: &ByStep<RuntimeStageId>| {
            Value::Object(map.iter().map(|(k, v)| (Str::from(k.to_string()), v.to_string().into())).collect())
        };
        let decisions = self.decisions.iter().map(|(id, d)| {
            let mut row = Object::new();
            row.insert("runtimeStageId", id.to_string().into());
            row.insert("stageName", Value::from(&d.stage_name));
            row.insert("type", if d.selector { "selector" } else { "decider" }.into());
            row.insert("chosen", Value::Array(d.chosen.iter().map(Value::from).collect()));
            let labels = d.labels.iter().map(|(k, v)| (k.clone(), Value::from(v)));
            row.insert("labels", Value::Object(labels.collect()));
            if let Some(evidence) = &d.evidence {
                row.insert("evidence", evidence.clone());
            }
            Value::Object(row)
        });
        let mut data = Object::new();
        data.insert("decisions", Value::Array(decisions.collect()));
        data.insert("entries", ids(&self.entries));
        data.insert("parents", ids(&self.parents));
        Value::Object(data)
    }

    /// Reads row data back; `None` when it is not such a row.
    pub fn from_value(data: &Value) -> Option<Self> {
        let ids = |key: &str| -> Option<ByStep<RuntimeStageId>> {
            let map = data.get(key)?.as_object()?;
            let pair = |(k, v): (&Str, &Value)| Some((RuntimeStageId::parse(k), v.as_str()?.into()));
            Some(map.iter().filter_map(pair).collect())
        };
        let mut out = Self { entries: ids("entries")?, parents: ids("parents")?, ..Self::default() };
        for row in data.get("decisions").and_then(Value::as_array).into_iter().flat_map(|d| d.iter()) {
            let Some(id) = row.get("runtimeStageId").and_then(Value::as_str) else { continue };
            let labels = row.get("labels").and_then(Value::as_object);
            let labels = labels.iter().flat_map(|l| l.iter());
            let chosen = row.get("chosen").and_then(Value::as_array);
            let note = DecisionNote {
                stage_name: row.get("stageName").and_then(Value::as_shared_str).cloned().unwrap_or_default(),
                selector: row.get("type").is_some_and(|t| *t == "selector"),
                chosen: chosen
                    .iter()
                    .flat_map(|c| c.iter())
                    .filter_map(|c| c.as_shared_str().cloned())
                    .collect(),
                labels: labels.filter_map(|(k, v)| Some((k.clone(), v.as_shared_str()?.clone()))).collect(),
                evidence: row.get("evidence").cloned(),
            };
            out.decisions.insert(RuntimeStageId::parse(id), note);
        }
        Some(out)
    }
}

/// How much a [`ControlDeps`] row holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlMode {
    /// With evidence.
    #[default]
    Full,
    /// Without evidence.
    Lean,
}

#[derive(Clone, Debug, Default)]
struct Live {
    data: ControlData,
    /// Branches a decider or selector has chosen and that have not shown up yet.
    awaited: HashMap<RuntimeStageId, Vec<Str>>,
}

/// Records which decision let each step run, so that slices of a stored recording keep their control edges.
#[derive(Debug)]
pub struct ControlDeps {
    id: Str,
    mode: ControlMode,
    runs: PerRun<Live>,
}

impl Default for ControlDeps {
    fn default() -> Self {
        Self::with_id("control-deps-1")
    }
}

impl ControlDeps {
    /// Under the id `control-deps-1`, with evidence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Under this id, with evidence.
    pub fn with_id(id: impl Into<Str>) -> Self {
        Self { id: id.into(), mode: ControlMode::default(), runs: PerRun::default() }
    }

    /// With or without evidence in the row.
    #[must_use]
    pub fn mode(mut self, mode: ControlMode) -> Self {
        self.mode = mode;
        self
    }

    /// The decision that let a step of a run (`None` = the newest) run.
    pub fn lookup(&self, run: Option<&RunId>, step: &RuntimeStageId) -> Option<Governor> {
        self.runs.read(run, |live| live.data.lookup(step)).flatten()
    }

    /// The dependencies of a run (`None` = the newest), for queries.
    pub fn data(&self, run: Option<&RunId>) -> ControlData {
        self.runs.read(run, |live| live.data.clone()).unwrap_or_default()
    }

    /// A step shows up: it hangs under its parent, and may be a branch its parent was waiting for.
    fn note(&self, cx: &EventCx<'_>) -> HookResult {
        let id = &cx.traversal.runtime_stage_id;
        let Some(parent) = cx.traversal.parent_runtime_stage_id.as_ref().filter(|p| *p != id) else {
            return Ok(());
        };
        self.runs.with(cx.run_id, |live| {
            if live.data.parents.contains_key(id) {
                return;
            }
            live.data.parents.insert(id.clone(), parent.clone());
            live.data.memo.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
            let Some(awaited) = live.awaited.get_mut(parent) else { return };
            let Some(at) = awaited.iter().position(|branch| **branch == *id.local_id()) else { return };
            awaited.swap_remove(at);
            if awaited.is_empty() {
                live.awaited.remove(parent);
            }
            live.data.entries.insert(id.clone(), parent.clone());
        });
        Ok(())
    }

    fn decided(&self, cx: &EventCx<'_>, note: DecisionNote) -> HookResult {
        self.note(cx)?;
        let id = cx.traversal.runtime_stage_id.clone();
        self.runs.with(cx.run_id, |live| {
            if !note.chosen.is_empty() {
                live.awaited.insert(id.clone(), note.chosen.clone());
            }
            live.data.decisions.insert(id, note);
        });
        Ok(())
    }
}

/// What the chosen branches mean: the label of the rule that matched for a branch, else of the first that matched.
fn labels(rules: &[RuleEvidence], chosen: &[Str], fallback: Option<&Str>) -> IndexMap<Str, Str> {
    let matched = || rules.iter().filter(|r| r.matched);
    let label = |branch: &Str| {
        let own = matched().find(|r| r.branch == *branch).or_else(|| matched().next());
        match own {
            Some(rule) => rule.label.clone(),
            None => fallback.cloned(),
        }
    };
    chosen.iter().filter_map(|branch| Some((branch.clone(), label(branch)?))).collect()
}

impl Recorder for ControlDeps {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        Interest::hooks([
            Hook::StageStart,
            Hook::StageExecuted,
            Hook::Decision,
            Hook::Selected,
            Hook::Fork,
            Hook::SubflowEntry,
            Hook::Error,
            Hook::RunEnd,
            Hook::RunFailed,
            Hook::FlowPause,
        ])
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        Ok(())
    }

    fn on_stage_start(&self, cx: &EventCx<'_>, _e: &StageStartEvent) -> HookResult {
        self.note(cx)
    }

    fn on_stage_executed(&self, cx: &EventCx<'_>, _e: &StageExecutedEvent) -> HookResult {
        self.note(cx)
    }

    fn on_fork(&self, cx: &EventCx<'_>, _e: &ForkEvent) -> HookResult {
        self.note(cx)
    }

    fn on_subflow_entry(&self, cx: &EventCx<'_>, _e: &SubflowEntryEvent) -> HookResult {
        self.note(cx)
    }

    fn on_flow_error(&self, cx: &EventCx<'_>, _e: &ErrorEvent) -> HookResult {
        self.note(cx)
    }

    fn on_decision(&self, cx: &EventCx<'_>, e: &DecisionEvent) -> HookResult {
        let chosen = vec![e.chosen_id.clone()];
        let evidence = e.evidence.as_deref();
        let labels = evidence
            .map(|evidence| labels(&evidence.rules, &chosen, evidence.default_label.as_ref()))
            .unwrap_or_default();
        let evidence = evidence.filter(|_| self.mode == ControlMode::Full);
        let evidence = evidence.and_then(|e| Value::from_serialize(e).ok());
        let stage_name = e.decider.clone();
        self.decided(cx, DecisionNote { stage_name, selector: false, chosen, labels, evidence })
    }

    fn on_selected(&self, cx: &EventCx<'_>, e: &SelectedEvent) -> HookResult {
        let chosen = e.selected_ids.to_vec();
        let evidence = e.evidence.as_deref();
        let labels = evidence.map(|evidence| labels(&evidence.rules, &chosen, None)).unwrap_or_default();
        let evidence = evidence.filter(|_| self.mode == ControlMode::Full);
        let evidence = evidence.and_then(|e| Value::from_serialize(e).ok());
        let stage_name = e.parent.clone();
        self.decided(cx, DecisionNote { stage_name, selector: true, chosen, labels, evidence })
    }

    close_on_end!(runs);

    fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
        let data = self.runs.read(Some(run), |live| live.data.to_value())?;
        let mut meta = self.runs.meta(run).unwrap_or_default();
        meta.insert("mode", if self.mode == ControlMode::Full { "full" } else { "lean" }.into());
        Some(RecorderBundle {
            name: "ControlDeps".into(),
            description: Some("Which decision let each step run".into()),
            preferred_operation: Some(PreferredOperation::Translate),
            data,
            meta: Some(Value::Object(meta)),
        })
    }
}

//! Which subflows ran, as a tree (OBS-90).

use std::collections::HashMap;

use indexmap::IndexMap;

use super::per_run::PerRun;
use crate::ids::{RunId, split_stage_id};
use crate::observe::*;
use crate::snapshot::PreferredOperation;
use crate::value::{Object, Str, Value};

/// One subflow that was entered, with the subflows inside it.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestEntry {
    /// Full mount path.
    pub subflow_id: Str,
    /// Display name.
    pub name: Str,
    /// Description, when declared.
    pub description: Option<Str>,
    /// Still open: running, or left by a pause.
    pub open: bool,
    /// Subflows entered inside it.
    pub children: Vec<ManifestEntry>,
}

impl ManifestEntry {
    fn to_value(&self) -> Value {
        let mut row = Object::new();
        row.insert("subflowId", Value::from(&self.subflow_id));
        row.insert("name", Value::from(&self.name));
        if let Some(description) = &self.description {
            row.insert("description", Value::from(description));
        }
        if self.open {
            row.insert("open", true.into());
        }
        row.insert("children", Value::Array(self.children.iter().map(Self::to_value).collect()));
        Value::Object(row)
    }
}

#[derive(Clone, Debug)]
struct Seen {
    name: Str,
    description: Option<Str>,
    open: usize,
}

#[derive(Clone, Debug, Default)]
struct Catalog {
    subflows: IndexMap<Str, Seen>,
    specs: HashMap<Str, Value>,
}

impl Catalog {
    /// Nested by mount path; paths nest no deeper than the run's `max_depth`, still this walks from the leaves up, not recursively.
    fn tree(&self) -> Vec<ManifestEntry> {
        let mut entries: IndexMap<&str, ManifestEntry> = self
            .subflows
            .iter()
            .map(|(path, seen)| {
                let entry = ManifestEntry {
                    subflow_id: path.clone(),
                    name: seen.name.clone(),
                    description: seen.description.clone(),
                    open: seen.open > 0,
                    children: Vec::new(),
                };
                (&**path, entry)
            })
            .collect();
        let mut roots = Vec::new();
        let order: Vec<&str> = entries.keys().rev().copied().collect();
        for path in order {
            let Some(mut entry) = entries.shift_remove(path) else { continue };
            entry.children.reverse();
            match split_stage_id(path).0.and_then(|parent| entries.get_mut(parent)) {
                Some(parent) => parent.children.push(entry),
                None => roots.push(entry),
            }
        }
        roots.reverse();
        roots
    }
}

/// Lists the subflows a run entered, nested by their real containment (their address, not a stack).
#[derive(Debug)]
pub struct Manifest {
    id: Str,
    runs: PerRun<Catalog>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self { id: "manifest".into(), runs: PerRun::default() }
    }
}

impl Manifest {
    /// Under the id `manifest`.
    pub fn new() -> Self {
        Self::default()
    }

    /// The subflows of a run (`None` = the newest).
    pub fn tree(&self, run: Option<&RunId>) -> Vec<ManifestEntry> {
        self.runs.read(run, Catalog::tree).unwrap_or_default()
    }

    /// The structure of a subflow that was registered at run time; kept once per id and not part of the row.
    pub fn spec(&self, run: Option<&RunId>, subflow_id: &str) -> Option<Value> {
        self.runs.read(run, |catalog| catalog.specs.get(subflow_id).cloned()).flatten()
    }
}

impl Recorder for Manifest {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        Interest::hooks([
            Hook::SubflowEntry,
            Hook::SubflowExit,
            Hook::SubflowRegistered,
            Hook::RunEnd,
            Hook::RunFailed,
            Hook::FlowPause,
        ])
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.runs.leg(leg);
        Ok(())
    }

    fn on_subflow_entry(&self, cx: &EventCx<'_>, e: &SubflowEntryEvent) -> HookResult {
        let path = e.subflow_id.clone().unwrap_or_else(|| cx.traversal.stage_id.clone());
        self.runs.with(cx.run_id, |catalog| {
            let fresh = || Seen { name: e.name.clone(), description: e.description.clone(), open: 0 };
            catalog.subflows.entry(path).or_insert_with(fresh).open += 1;
        });
        Ok(())
    }

    fn on_subflow_exit(&self, cx: &EventCx<'_>, e: &SubflowExitEvent) -> HookResult {
        let path = e.subflow_id.as_ref().unwrap_or(&cx.traversal.stage_id);
        self.runs.with(cx.run_id, |catalog| {
            if let Some(seen) = catalog.subflows.get_mut(path) {
                seen.open = seen.open.saturating_sub(1);
            }
        });
        Ok(())
    }

    fn on_subflow_registered(&self, cx: &EventCx<'_>, e: &SubflowRegisteredEvent) -> HookResult {
        if let Some(spec) = &e.spec_structure {
            self.runs.with(cx.run_id, |c| c.specs.insert(e.subflow_id.clone(), spec.clone()));
        }
        Ok(())
    }

    super::per_run::close_on_end!(runs);

    fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
        let tree = self.runs.read(Some(run), Catalog::tree)?;
        Some(RecorderBundle {
            name: "Manifest".into(),
            description: Some("The subflows the run entered".into()),
            preferred_operation: Some(PreferredOperation::Translate),
            data: Value::Array(tree.iter().map(ManifestEntry::to_value).collect()),
            meta: self.runs.meta(run).map(Value::Object),
        })
    }
}

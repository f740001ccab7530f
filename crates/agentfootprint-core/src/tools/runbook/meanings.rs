//! What verdicts mean: what the branches of the decider say, under what this run's decisions said (TOOL-84).

use std::sync::{Arc, Mutex};

use footprint::decide::{DecisionEvidence, meanings};
use footprint::observe::{DecisionEvent, EventCx, Hook, HookResult, Interest, Recorder};
use footprint::structure::{Structure, StructureItem, walk_structure};
use footprint::value::{Object, Str, Value};

use crate::run::lock;

/// Keeps the evidence of one decider's decisions.
pub(super) struct Decisions {
    decider: Option<Str>,
    kept: Mutex<Vec<Arc<DecisionEvidence>>>,
}

impl Decisions {
    pub(super) fn of(decider: Option<Str>) -> Self {
        Self { decider, kept: Mutex::default() }
    }
}

/// Whether a decider is the one asked for, by the last segment of its id or name.
fn is_named(decider: &str, id: &str, name: &str) -> bool {
    let last = |path: &str| path.rsplit('/').next() == Some(decider);
    last(id) || last(name)
}

impl Recorder for Decisions {
    fn id(&self) -> &str {
        "runbook-decisions"
    }

    fn interest(&self) -> Interest {
        Interest::of(Hook::Decision)
    }

    fn on_decision(&self, cx: &EventCx<'_>, event: &DecisionEvent) -> HookResult {
        let wanted = self
            .decider
            .as_deref()
            .is_some_and(|decider| is_named(decider, &cx.traversal.stage_id, &event.decider));
        if let Some(evidence) = event.evidence.as_ref().filter(|_| wanted) {
            lock(&self.kept).push(Arc::clone(evidence));
        }
        Ok(())
    }
}

/// Verdict → meaning. A branch says it by its description, else its name; a label recorded in this run stands over that, and the
/// first label of a branch stands. Blank texts say nothing.
pub(super) fn meanings_of(structure: &Structure, decider: &str, decisions: &Decisions) -> Object {
    let mut out = Object::new();
    let mut say = |branch: &str, meaning: &str| {
        let meaning = meaning.trim();
        if !meaning.is_empty() {
            out.insert(branch, Value::from(meaning));
        }
    };
    for item in walk_structure(structure.root(), "", true) {
        let StructureItem::Stage { id, node, .. } = item else { continue };
        if !node.has_decider || !is_named(decider, &id, &node.name) {
            continue;
        }
        for branch in structure.find(&id).into_iter().flat_map(|decider| decider.children()) {
            let branch = branch.node();
            let described = branch.description.as_ref().filter(|text| !text.trim().is_empty());
            say(&branch.id, described.unwrap_or(&branch.name));
        }
    }
    // The latest evidence first, so that the first label of a branch is the one that is left standing.
    let kept = lock(&decisions.kept).clone();
    for evidence in kept.iter().rev() {
        for (branch, label) in meanings(evidence) {
            say(&branch, &label);
        }
    }
    out
}

//! Deciders and selectors: from what their function answered to what is walked.

use std::sync::Arc;

use super::driver::Driver;
use super::frame::FrameHandle;
use super::strand::{Activation, End, Now, Strand};
use super::tree::{Message, What};
use crate::chart::{NodeIdx, NodeKind};
use crate::decide::{Decision, Selection};
use crate::error::RunError;
use crate::observe::{DecisionEvent, ErrorEvent, Hook, SelectedEvent, StageType};
use crate::value::{Array, Str, Value};

impl Driver {
    /// A decider answered. It commits before the answer is resolved (ENG-102).
    pub(super) fn decided(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        node: NodeIdx,
        decision: Decision,
    ) {
        frame.commit(None);
        if let Some(reason) = frame.stop_request() {
            self.executed(frame, StageType::Decider);
            self.broke(frame, &reason, None);
            strand.now = Now::Ended(End::Stopped { output: None, reason });
            return;
        }
        let chart = strand.cursor.place.chart.clone();
        let declared = chart.node(node);
        let NodeKind::Decider(decider) = &declared.kind else {
            strand.now = Now::Ended(End::Done(None));
            return;
        };
        let named = decider.branches.iter().position(|branch| branch.id == decision.branch);
        let Some(branch) = named.or(decider.default).and_then(|at| decider.branches.get(at)) else {
            let available = decider.branches.iter().map(|branch| branch.id.to_string()).collect();
            return self.no_such_branch(strand, frame, decision, available);
        };
        let chosen = strand.cursor.place.ids.name(branch.node).clone();
        let fell_back = named.is_none() && &*decision.branch != "default";
        frame.tell(Hook::Decision, || {
            DecisionEvent {
                decider: frame.name().clone(),
                chosen: chosen.clone(),
                chosen_id: branch.id.clone(),
                fell_back,
                rationale: None,
                description: frame.description().cloned(),
                evidence: decision.evidence.clone(),
            }
            .into()
        });
        frame.message(Message {
            at: self.shared.now(),
            what: What::Branch { returned: decision.branch.clone(), chosen, fell_back },
        });
        if self.shared.warnings.is_dev()
            && let Some(evidence) = &decision.evidence
        {
            for rule in evidence.rules.iter().filter(|rule| rule.match_error.is_some()) {
                self.shared.warnings.add(super::warn::Warning::RuleFailed {
                    stage: frame.id().clone(),
                    rule: rule.rule_index,
                });
            }
        }
        self.executed(frame, StageType::Decider);
        if declared.next.is_some() {
            let cursor = strand.cursor.clone();
            strand.stack.push(Activation::Branch { owner: Arc::clone(frame), node, cursor });
            strand.cursor.depth += 1;
        }
        strand.cursor.under(frame);
        strand.cursor.invoker = Some(frame.id().clone());
        strand.now = Now::Visit(branch.node);
    }

    fn no_such_branch(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        decision: Decision,
        available: Vec<String>,
    ) {
        let error = RunError::UnknownBranch {
            decider: frame.address(),
            returned: decision.branch.to_string(),
            available,
        };
        let served = frame.served_error(error.structured());
        frame.note_error("deciderError", Value::from(served.message.as_str()));
        // Evidence that led nowhere is still handed over (OBS-108); without any, only the run fails.
        if decision.evidence.is_some() {
            frame.tell(Hook::Error, || {
                ErrorEvent {
                    stage_name: frame.name().clone(),
                    message: format!("Error: {}", served.message).into(),
                    structured_error: served,
                    error: None,
                    evidence: decision.evidence.clone(),
                }
                .into()
            });
        }
        strand.now = Now::Ended(End::Failed(error));
    }

    /// A selector answered.
    pub(super) fn selected(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        node: NodeIdx,
        selection: Selection,
    ) {
        frame.commit(None);
        if let Some(reason) = frame.stop_request() {
            self.executed(frame, StageType::Selector);
            self.broke(frame, &reason, None);
            strand.now = Now::Ended(End::Stopped { output: None, reason });
            return;
        }
        let chart = strand.cursor.place.chart.clone();
        let NodeKind::Selector(selector) = &chart.node(node).kind else {
            strand.now = Now::Ended(End::Done(None));
            return;
        };
        let asked = &selection.branches;
        let offenders: Vec<String> = asked
            .iter()
            .enumerate()
            .filter(|(at, id)| {
                !selector.branches.iter().any(|branch| branch.id == **id)
                    || asked.iter().take(*at).any(|earlier| earlier == *id)
            })
            .map(|(_, id)| id.to_string())
            .collect();
        if !offenders.is_empty() {
            let available = selector.branches.iter().map(|branch| branch.id.to_string()).collect();
            let error = RunError::UnknownSelection { selector: frame.address(), offenders, available };
            strand.now = Now::Ended(End::Failed(error));
            return;
        }
        let chosen: Vec<_> = selector.branches.iter().filter(|branch| asked.contains(&branch.id)).collect();
        let names: Arc<[Str]> =
            chosen.iter().map(|branch| strand.cursor.place.ids.name(branch.node).clone()).collect();
        frame.tell(Hook::Selected, || {
            SelectedEvent {
                parent: frame.name().clone(),
                selected: Arc::clone(&names),
                selected_ids: chosen.iter().map(|branch| branch.id.clone()).collect(),
                total: selector.branches.len(),
                evidence: selection.evidence.clone(),
            }
            .into()
        });
        let skipped: Vec<Str> = selector
            .branches
            .iter()
            .filter(|branch| !asked.contains(&branch.id))
            .map(|branch| branch.id.clone())
            .collect();
        frame.log("selectedChildIds", id_list(asked));
        frame.log("selectorPattern", Value::from("scope-based-multi-choice"));
        if !skipped.is_empty() {
            frame.log("skippedChildIds", id_list(&skipped));
        }
        if chosen.is_empty() {
            frame.log("skippedAllChildren", Value::from(true));
        }
        frame.message(Message {
            at: self.shared.now(),
            what: What::Selected { names, total: selector.branches.len() },
        });
        self.executed(frame, StageType::Selector);
        let children: Vec<_> = chosen.iter().map(|branch| (branch.id.clone(), branch.node)).collect();
        self.open_selected(strand, frame, node, selector.mode, children);
    }
}

pub(super) fn id_list(ids: &[Str]) -> Value {
    Value::Array(ids.iter().map(|id| Value::from(id.clone())).collect::<Array>())
}

//! The evidence of deciders: which rule won, seen by a recorder of the run it belongs to.

use std::sync::{Arc, Weak};

use agentfootprint_core::observe::Attachment;
use agentfootprint_core::run::Runner;
use footprint::observe::{DecisionEvent, EventCx, Hook, HookResult, Interest, Recorder};
use footprint::value::Str;
use opentelemetry::KeyValue;

use super::OtelSink;
use super::bounds::{count, word, words};
use crate::lock;

impl OtelSink {
    /// Also notes on each run's root which rule of a decider won: `agentfootprint.decision.evidence`, with labels and places of
    /// rules and never the values they looked at. Give it the runners the sink is enabled on.
    pub fn watch_decisions<R: Runner>(self: &Arc<Self>, runner: &R) -> Attachment {
        let sink = Arc::downgrade(self);
        runner.attach_per_run(move |run_id| {
            Arc::new(Decisions { sink: Weak::clone(&sink), run_id: run_id.clone() }) as Arc<dyn Recorder>
        })
    }

    fn decided(&self, run_id: &Str, cx: &EventCx<'_>, event: &DecisionEvent) {
        let Some(evidence) = event.evidence.as_ref().filter(|_| self.options.explainability) else { return };
        let runs = lock(&self.runs);
        let Some(tree) = runs.open.get(run_id) else { return };
        let mut attributes: Vec<KeyValue> = vec![
            word("agentfootprint.decision.stage_id", &cx.traversal.runtime_stage_id.to_string()),
            word("agentfootprint.decision.decider", &event.decider),
            word("agentfootprint.decision.chosen", &evidence.chosen),
            count("agentfootprint.decision.rule_count", evidence.rules.len() as u64),
        ];
        if let Some(winner) = evidence.rules.iter().find(|rule| rule.matched) {
            attributes.push(count("agentfootprint.decision.rule_index", winner.rule_index as u64));
            attributes.extend(
                winner.label.as_deref().map(|label| word("agentfootprint.decision.rule_label", label)),
            );
        }
        let branches = evidence.rules.iter().map(|rule| &*rule.branch);
        attributes.push(words("agentfootprint.decision.rule_branches", branches));
        tree.note_root("agentfootprint.decision.evidence", attributes);
    }
}

struct Decisions {
    sink: Weak<OtelSink>,
    run_id: Str,
}

impl Recorder for Decisions {
    fn id(&self) -> &str {
        "otel-decisions"
    }

    fn interest(&self) -> Interest {
        Interest::of(Hook::Decision)
    }

    fn on_decision(&self, cx: &EventCx<'_>, event: &DecisionEvent) -> HookResult {
        if let Some(sink) = self.sink.upgrade() {
            sink.decided(&self.run_id, cx, event);
        }
        Ok(())
    }
}

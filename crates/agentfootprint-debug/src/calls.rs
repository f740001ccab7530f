//! Model calls of a recording: which step made each, and what the record says went in.

use agentfootprint_record::recording::{RecordedEvent, Recording};
use footprint::ids::{CommitIdx, RuntimeStageId};
use footprint::query::{LogView, StateKey, TraceQuery};
use footprint::value::Value;
use std::sync::Arc;

/// One model call.
pub(crate) struct ModelCall {
    /// The step.
    pub(crate) step: RuntimeStageId,
    /// Its iteration, when an event says so.
    pub(crate) iteration: Option<u64>,
    /// What it answered.
    pub(crate) content: String,
    /// How many tools it asked for.
    pub(crate) tool_calls: u64,
}

/// All finished model calls, in order of the events.
pub(crate) fn model_calls(recording: &Recording) -> Vec<ModelCall> {
    recording.events().iter().filter(|event| is(event, "stream.llm_end")).filter_map(call_of).collect()
}

fn call_of(event: &RecordedEvent) -> Option<ModelCall> {
    let payload = event.payload();
    Some(ModelCall {
        step: RuntimeStageId::parse(&event.runtime_stage_id()?),
        iteration: payload.get("iteration").and_then(Value::as_u64),
        content: payload.get("content").and_then(Value::as_str).unwrap_or_default().to_owned(),
        tool_calls: payload.get("toolCallCount").and_then(Value::as_u64).unwrap_or_default(),
    })
}

/// Whether an event is `agentfootprint.<name>`.
pub(crate) fn is(event: &RecordedEvent, name: &str) -> bool {
    event.name_str().strip_prefix("agentfootprint.") == Some(name)
}

/// A text field of a payload.
pub(crate) fn text(payload: &Value, key: &str) -> String {
    payload.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The log that holds a step: the run's own, or the one of the mount it ran in.
pub(crate) enum Holder<'a> {
    Root(&'a LogView),
    Inner(Arc<LogView>),
}

impl Holder<'_> {
    pub(crate) fn of<'a>(query: &'a TraceQuery, step: &RuntimeStageId) -> Option<Holder<'a>> {
        if query.root().has_step(step) {
            return Some(Holder::Root(query.root()));
        }
        let inner: Vec<_> = query.subflow_executions().cloned().collect();
        inner
            .iter()
            .filter_map(|execution| query.subflow(execution).ok())
            .find(|subflow| subflow.view.has_step(step))
            .map(|subflow| Holder::Inner(subflow.view))
    }

    pub(crate) fn view(&self) -> &LogView {
        match self {
            Self::Root(view) => view,
            Self::Inner(view) => view,
        }
    }

    /// The value a step found under a key: the fold up to its own first commit, exclusive.
    pub(crate) fn before(&self, step: &RuntimeStageId, key: &str) -> Option<Value> {
        let at = self.view().commit_of(step).ok()?;
        let key = StateKey::key(key).ok()?;
        match at.0.checked_sub(1) {
            Some(previous) => self.view().value_at(&key, CommitIdx(previous)).ok()?.value.value().cloned(),
            None => self.view().initial_state()?.get(key.root()).cloned(),
        }
    }
}

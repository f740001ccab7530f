//! The JSON form of every hook's payload (OBS §2.2): names and order of the fields are contract.

use crate::value::{Array, Object, Str, Value};

use super::EventCx;
use super::events::*;

/// Small builder for the JSON forms.
pub(super) struct Json(Object);

impl Json {
    pub(super) fn scope(cx: &EventCx<'_>) -> Self {
        let mut out = Object::new();
        out.insert("stageName", Value::from(cx.traversal.stage_name.clone()));
        out.insert("stageId", Value::from(cx.traversal.stage_id.clone()));
        out.insert("runtimeStageId", Value::from(cx.traversal.runtime_stage_id.to_string()));
        out.insert("pipelineId", Value::from(cx.namespace.0.clone()));
        out.insert("timestamp", Value::from(cx.timestamp()));
        Self(out)
    }

    pub(super) fn flow(cx: &EventCx<'_>) -> Self {
        let mut out = Object::new();
        out.insert("traversalContext", cx.traversal.to_value());
        Self(out)
    }

    pub(super) fn bare() -> Self {
        Self(Object::new())
    }

    pub(super) fn put(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key, value.into());
        self
    }

    pub(super) fn opt<V: Into<Value> + Clone>(self, key: &str, value: &Option<V>) -> Self {
        match value {
            Some(value) => self.put(key, value.clone()),
            None => self,
        }
    }

    pub(super) fn data<T: serde::Serialize>(self, key: &str, value: Option<&T>) -> Self {
        match value.map(Value::from_serialize) {
            Some(Ok(value)) => self.put(key, value),
            _ => self,
        }
    }

    pub(super) fn names(self, key: &str, names: &[Str]) -> Self {
        let list: Array = names.iter().map(|name| Value::from(name.clone())).collect();
        self.put(key, Value::Array(list))
    }

    pub(super) fn redacted(self, redacted: bool) -> Self {
        if redacted { self.put("redacted", true) } else { self }
    }

    pub(super) fn done(self) -> Value {
        Value::Object(self.0)
    }
}

/// The JSON payload of a hook.
pub(super) trait EventJson {
    fn json(&self, cx: &EventCx<'_>) -> Value;
}

impl EventJson for ReadEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::scope(cx).opt("key", &self.key).opt("value", &self.value).redacted(self.redacted).done()
    }
}

impl EventJson for WriteEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::scope(cx)
            .put("key", self.key.clone())
            .opt("value", &self.value)
            .put("operation", self.operation.as_str())
            .redacted(self.redacted)
            .done()
    }
}

impl Mutation {
    /// The JSON object `{key, value?, operation}`.
    pub fn to_value(&self) -> Value {
        Json::bare()
            .put("key", self.key.clone())
            .opt("value", &self.value)
            .put("operation", self.operation.as_str())
            .done()
    }
}

impl EventJson for CommitEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        let list: Array = self.mutations.iter().map(Mutation::to_value).collect();
        Json::scope(cx).put("mutations", Value::Array(list)).done()
    }
}

impl EventJson for StageStartEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::scope(cx).done()
    }
}

impl EventJson for StageEndEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::scope(cx).opt("duration", &self.duration).done()
    }
}

impl EventJson for ScopeErrorEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::scope(cx)
            .put("error", self.error.to_value())
            .put("operation", self.operation.as_str())
            .opt("key", &self.key)
            .put("channel", "scope")
            .done()
    }
}

impl EventJson for ScopePauseEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::scope(cx).opt("pauseData", &self.pause_data).put("channel", "scope").done()
    }
}

impl EventJson for ScopeResumeEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::scope(cx).put("hasInput", self.has_input).put("channel", "scope").done()
    }
}

impl EventJson for StageExecutedEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("stageName", self.stage_name.clone())
            .opt("description", &self.description)
            .put("stageType", self.stage_type.as_str())
            .done()
    }
}

impl EventJson for NextEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("from", self.from.clone())
            .put("to", self.to.clone())
            .opt("description", &self.description)
            .done()
    }
}

impl EventJson for DecisionEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("decider", self.decider.clone())
            .put("chosen", self.chosen.clone())
            .opt("rationale", &self.rationale)
            .opt("description", &self.description)
            .data("evidence", self.evidence.as_deref())
            .done()
    }
}

impl EventJson for ForkEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx).put("parent", self.parent.clone()).names("children", &self.children).done()
    }
}

impl EventJson for SelectedEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("parent", self.parent.clone())
            .names("selected", &self.selected)
            .put("total", self.total as u64)
            .data("evidence", self.evidence.as_deref())
            .done()
    }
}

impl EventJson for SubflowEntryEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("name", self.name.clone())
            .opt("subflowId", &self.subflow_id)
            .opt("description", &self.description)
            .opt("mappedInput", &self.mapped_input)
            .done()
    }
}

impl EventJson for SubflowExitEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("name", self.name.clone())
            .opt("subflowId", &self.subflow_id)
            .opt("outputState", &self.output_state)
            .done()
    }
}

impl EventJson for SubflowRegisteredEvent {
    fn json(&self, _cx: &EventCx<'_>) -> Value {
        Json::bare()
            .put("subflowId", self.subflow_id.clone())
            .put("name", self.name.clone())
            .opt("description", &self.description)
            .opt("specStructure", &self.spec_structure)
            .done()
    }
}

impl EventJson for LoopEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("target", self.target.clone())
            .put("iteration", self.iteration)
            .opt("description", &self.description)
            .done()
    }
}

impl EventJson for ThrottledEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("stageName", self.stage_name.clone())
            .put("stageId", self.stage_id.clone())
            .put("message", self.message.clone())
            .put("structuredError", self.structured_error.to_value())
            .done()
    }
}

impl EventJson for BreakEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("stageName", self.stage_name.clone())
            .opt("reason", &self.reason)
            .opt("propagatedFromSubflow", &self.propagated_from_subflow)
            .done()
    }
}

impl EventJson for ErrorEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("stageName", self.stage_name.clone())
            .put("message", self.message.clone())
            .put("structuredError", self.structured_error.to_value())
            .put("channel", "flow")
            .done()
    }
}

impl EventJson for StageRetryEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("stageName", self.stage_name.clone())
            .put("stageId", self.stage_id.clone())
            .put("attempt", u64::from(self.attempt))
            .put("maxAttempts", u64::from(self.max_attempts))
            .put("delayMs", self.delay_ms)
            .put("message", self.message.clone())
            .put("structuredError", self.structured_error.to_value())
            .put("channel", "flow")
            .done()
    }
}

impl EventJson for FlowPauseEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("stageName", self.stage_name.clone())
            .put("stageId", self.stage_id.clone())
            .opt("pauseData", &self.pause_data)
            .names("subflowPath", &[])
            .put("channel", "flow")
            .done()
    }
}

impl EventJson for FlowResumeEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx)
            .put("stageName", self.stage_name.clone())
            .put("stageId", self.stage_id.clone())
            .put("hasInput", self.has_input)
            .put("channel", "flow")
            .done()
    }
}

impl EventJson for RunStartEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx).opt("payload", &self.payload).done()
    }
}

impl EventJson for RunEndEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx).opt("payload", &self.payload).done()
    }
}

impl EventJson for RunFailedEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        Json::flow(cx).put("structuredError", self.structured_error.to_value()).done()
    }
}

impl EventJson for EmitEvent {
    fn json(&self, cx: &EventCx<'_>) -> Value {
        let path: Array = cx.subflow_segments().map(Value::from).collect();
        Json::bare()
            .put("name", self.name.clone())
            .put("payload", self.payload.clone())
            .put("stageName", cx.traversal.stage_name.clone())
            .put("runtimeStageId", cx.traversal.runtime_stage_id.to_string())
            .put("subflowPath", Value::Array(path))
            .put("pipelineId", cx.namespace.0.clone())
            .put("timestamp", cx.timestamp())
            .done()
    }
}

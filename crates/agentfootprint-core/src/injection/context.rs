//! The read-only view a predicate is judged on (CTX §2.1).

use agentfootprint_record::message::Messages;
use footprint::value::{Array, Object, Str, Value};

use super::template::iterations_remaining;

/// Everything one pass of the injection engine may look at.
///
/// One context is built per pass; cursor, leases, engagement and every trigger are judged on it (CTX-29). Building it
/// costs the same at every length of the conversation: the parts are shared, not copied.
#[derive(Clone, Debug)]
pub struct InjectionContext {
    pub(crate) iteration: u32,
    pub(crate) max_iterations: Option<u32>,
    pub(crate) user_message: Str,
    pub(crate) history: Messages,
    pub(crate) activated_injection_ids: Array,
    pub(crate) tool_results: Array,
    pub(crate) last_tool_result: Option<Value>,
    pub(crate) current_skill_id: Option<Str>,
    pub(crate) lease_active_ids: Vec<Str>,
    pub(crate) parked: Vec<Parked>,
    /// Further members of the recorded shape (`pendingSkillPick`, `entryScores`, `turnRoute`, `stepPointer` …).
    pub(crate) more: Object,
}

/// An injection suppressed by the engagement kernel, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The injection.
    pub id: Str,
    /// What the idle test checked, that the cursor did not move, and what engages it again.
    pub reason: Str,
}

/// One entry of the previous iteration's tool batch, as the model read it (CTX-25).
#[derive(Clone, Copy, Debug)]
pub struct ToolResultView<'a>(&'a Value);

impl<'a> ToolResultView<'a> {
    /// The tool that answered.
    pub fn tool_name(&self) -> &'a str {
        self.0.get("toolName").and_then(Value::as_str).unwrap_or_default()
    }

    /// The text the model read; artifact placement may have replaced it with a ticket.
    pub fn result(&self) -> &'a str {
        self.0.get("result").and_then(Value::as_str).unwrap_or_default()
    }

    /// The call that was answered.
    pub fn tool_call_id(&self) -> Option<&'a str> {
        self.0.get("toolCallId").and_then(Value::as_str)
    }

    /// The declared status, when one was declared.
    pub fn status(&self) -> Option<&'a str> {
        self.0.get("status").and_then(Value::as_str)
    }

    /// The recorded form.
    pub fn value(&self) -> &'a Value {
        self.0
    }
}

impl InjectionContext {
    /// A context with nothing but an iteration and a message: the shape of a first pass.
    pub fn first_pass(user_message: impl Into<Str>, max_iterations: Option<u32>) -> Self {
        Self {
            iteration: 1,
            max_iterations,
            user_message: user_message.into(),
            history: Messages::default(),
            activated_injection_ids: Array::new(),
            tool_results: Array::new(),
            last_tool_result: None,
            current_skill_id: None,
            lease_active_ids: Vec::new(),
            parked: Vec::new(),
            more: Object::new(),
        }
    }

    /// The pass, from 1.
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// The iteration budget; present together with [`iterations_remaining`](Self::iterations_remaining) or not at all.
    pub fn max_iterations(&self) -> Option<u32> {
        self.max_iterations
    }

    /// What is left of the budget.
    pub fn iterations_remaining(&self) -> Option<u32> {
        self.max_iterations.map(|max| iterations_remaining(max, self.iteration))
    }

    /// The turn's user message.
    pub fn user_message(&self) -> &str {
        &self.user_message
    }

    /// The conversation as the model will read it.
    pub fn history(&self) -> &Messages {
        &self.history
    }

    /// Ids activated by `read_skill` and accepted transitions, oldest first.
    pub fn activated_injection_ids(&self) -> impl Iterator<Item = &str> {
        self.activated_injection_ids.iter().filter_map(Value::as_str)
    }

    /// The cursor before this pass.
    pub fn current_skill_id(&self) -> Option<&str> {
        self.current_skill_id.as_deref()
    }

    /// The previous iteration's batch in call order, or its last entry alone, or nothing: the only reader used by
    /// the engine and the cursor resolver.
    pub fn tool_results(&self) -> impl Iterator<Item = ToolResultView<'_>> {
        let last = if self.tool_results.is_empty() { self.last_tool_result.as_ref() } else { None };
        self.tool_results.iter().chain(last).map(ToolResultView)
    }

    /// The last tool result of the previous iteration.
    pub fn last_tool_result(&self) -> Option<ToolResultView<'_>> {
        self.last_tool_result.as_ref().map(ToolResultView)
    }

    /// The messages a person wrote: user turns without a frame and without a delivering injection (CTX-10).
    pub fn said_by_person(&self) -> impl Iterator<Item = &Value> {
        self.history.as_array().iter().filter(|message| {
            message.get("role").and_then(Value::as_str) == Some("user")
                && message.get("frame").is_none()
                && message.get("injectedBy").is_none()
        })
    }

    /// Ids admitted by a lease.
    pub fn lease_active_ids(&self) -> impl Iterator<Item = &str> {
        self.lease_active_ids.iter().map(|id| &**id)
    }

    /// Ids suppressed because their map is parked.
    pub fn parked_ids(&self) -> impl Iterator<Item = &str> {
        self.parked.iter().map(|parked| &*parked.id)
    }

    /// The recorded shape, for conditions that are data.
    pub fn to_value(&self) -> Value {
        let mut shape = Object::new();
        shape.insert("iteration", Value::from(self.iteration));
        if let Some(max) = self.max_iterations {
            shape.insert("maxIterations", Value::from(max));
            shape.insert("iterationsRemaining", Value::from(iterations_remaining(max, self.iteration)));
        }
        shape.insert("userMessage", Value::from(self.user_message.clone()));
        shape.insert("history", Value::from(self.history.as_array().clone()));
        shape.insert("activatedInjectionIds", Value::from(self.activated_injection_ids.clone()));
        if let Some(last) = &self.last_tool_result {
            shape.insert("lastToolResult", last.clone());
            shape.insert("toolResults", Value::from(self.tool_results.clone()));
        }
        if let Some(skill) = &self.current_skill_id {
            shape.insert("currentSkillId", Value::from(skill.clone()));
        }
        for (key, value) in self.more.iter() {
            shape.insert(key.clone(), value.clone());
        }
        Value::Object(shape)
    }
}

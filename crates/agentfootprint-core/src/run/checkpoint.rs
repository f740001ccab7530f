//! The run checkpoint: history only, version 1 (AGT §15). Not the engine's pause checkpoint.

use footprint::value::{Array, Object, Str, Value};

use agentfootprint_record::MemoryIdentity;

use super::error::RunRefusal;

/// The version this library writes and the only one it reads; optional fields never bump it (AGT-98).
pub const CHECKPOINT_VERSION: u64 = 1;

/// Where a run can be continued after a finished turn or after a failure.
///
/// It is plain JSON: [`to_value`](Self::to_value) and [`from_value`](Self::from_value) are a round trip through a file.
/// Fields a newer writer added are kept.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AgentRunCheckpoint {
    /// The run it was made from.
    pub run_id: Str,
    /// The conversation.
    pub history: Array,
    /// The last iteration that was completed; 0 before the first.
    pub last_completed_iteration: u32,
    /// The turn's input: raw in a crash checkpoint, rewritten in one taken after a turn (AGT-108).
    pub original_message: Str,
    /// Unix milliseconds.
    pub checkpointed_at: u64,
    /// What the window folded away.
    pub folded: Option<Value>,
    /// Who the conversation belongs to.
    pub identity: Option<MemoryIdentity>,
    /// Where the skill graph stood.
    pub skill_cursor: Option<Str>,
    /// The agent it was made by, when its id was given explicitly.
    pub agent_id: Option<Str>,
    /// Where the run failed.
    pub failure_point: Option<FailurePoint>,
    /// Fields this version does not know, kept for rewriting.
    pub extra: Object,
}

/// Where a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailurePoint {
    /// The iteration.
    pub iteration: u32,
    /// What was going on.
    pub phase: FailurePhase,
    /// `call-llm` or a tool name; never an address.
    pub stage: Option<Str>,
}

/// What was going on when a run failed (AGT-99).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailurePhase {
    /// Inside an iteration, outside its model call and its tools.
    Iteration,
    /// A tool.
    Tool,
    /// The model call.
    Llm,
    /// Not observed.
    Unknown,
}

impl FailurePhase {
    /// The recorded word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Iteration => "iteration",
            Self::Tool => "tool",
            Self::Llm => "llm",
            Self::Unknown => "unknown",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Iteration, Self::Tool, Self::Llm, Self::Unknown]
            .into_iter()
            .find(|phase| phase.as_str() == word)
    }
}

impl AgentRunCheckpoint {
    pub(crate) fn new(run_id: Str, history: Array, original_message: Str, checkpointed_at: u64) -> Self {
        Self {
            run_id,
            history,
            last_completed_iteration: 0,
            original_message,
            checkpointed_at,
            folded: None,
            identity: None,
            skill_cursor: None,
            agent_id: None,
            failure_point: None,
            extra: Object::new(),
        }
    }

    /// The JSON form.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("version", Value::from(CHECKPOINT_VERSION));
        out.insert("runId", Value::from(self.run_id.clone()));
        out.insert("history", Value::from(self.history.clone()));
        out.insert("lastCompletedIteration", Value::from(self.last_completed_iteration));
        out.insert("originalInput", object([("message", Value::from(self.original_message.clone()))]));
        out.insert("checkpointedAt", Value::from(self.checkpointed_at));
        if let Some(folded) = &self.folded {
            out.insert("folded", folded.clone());
        }
        if let Some(identity) = &self.identity {
            out.insert("identity", super::identity::identity_value(identity));
        }
        if let Some(cursor) = &self.skill_cursor {
            out.insert("skillCursor", Value::from(cursor.clone()));
        }
        if let Some(id) = &self.agent_id {
            out.insert("agent", object([("id", Value::from(id.clone()))]));
        }
        if let Some(point) = &self.failure_point {
            let mut shape = Object::new();
            shape.insert("iteration", Value::from(point.iteration));
            shape.insert("phase", Value::from(point.phase.as_str()));
            if let Some(stage) = &point.stage {
                shape.insert("stage", Value::from(stage.clone()));
            }
            out.insert("failurePoint", Value::from(shape));
        }
        for (key, value) in self.extra.iter() {
            out.insert(key.clone(), value.clone());
        }
        Value::from(out)
    }

    /// Reads a checkpoint. It is untrusted input: every field is checked and a refusal names the path (AGT-98).
    pub fn from_value(value: &Value) -> Result<Self, RunRefusal> {
        let Some(fields) = value.as_object() else {
            return Err(bad("", format!("expected an object, found {}", value.kind())));
        };
        match fields.get("version").and_then(Value::as_u64) {
            Some(CHECKPOINT_VERSION) => {}
            Some(other) => {
                return Err(bad("version", format!("version {other} is not known; this library reads 1")));
            }
            None => return Err(bad("version", "expected the number 1")),
        }
        let history = fields
            .get("history")
            .and_then(Value::as_array)
            .cloned()
            .ok_or_else(|| bad("history", "expected a list of messages"))?;
        check_history(&history)?;
        let mut checkpoint = Self::new(
            text(fields, "runId")?,
            history,
            fields
                .get("originalInput")
                .and_then(|input| input.get("message"))
                .and_then(Value::as_shared_str)
                .cloned()
                .ok_or_else(|| bad("originalInput.message", "expected text"))?,
            number(fields, "checkpointedAt")?,
        );
        checkpoint.last_completed_iteration = small(number(fields, "lastCompletedIteration")?);
        checkpoint.folded = fields.get("folded").cloned();
        if let Some(identity) = fields.get("identity") {
            checkpoint.identity = Some(
                identity
                    .decode()
                    .map_err(|_| bad("identity", "expected {conversationId, principal?, tenant?}"))?,
            );
        }
        if fields.contains_key("skillCursor") {
            checkpoint.skill_cursor = Some(text(fields, "skillCursor")?);
        }
        if let Some(agent) = fields.get("agent") {
            let id = agent
                .get("id")
                .and_then(Value::as_shared_str)
                .ok_or_else(|| bad("agent.id", "expected text"))?;
            checkpoint.agent_id = Some(id.clone());
        }
        if let Some(point) = fields.get("failurePoint") {
            checkpoint.failure_point = Some(failure_point(point)?);
        }
        for (key, value) in fields.iter() {
            if !KNOWN.contains(&&**key) {
                checkpoint.extra.insert(key.clone(), value.clone());
            }
        }
        Ok(checkpoint)
    }

    /// Reads a checkpoint from JSON text.
    pub fn from_json(text: &str) -> Result<Self, RunRefusal> {
        let value: Value = text.parse().map_err(|error| bad("", format!("not JSON: {error}")))?;
        Self::from_value(&value)
    }

    /// The checkpoint as compact JSON text.
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }
}

const KNOWN: [&str; 11] = [
    "version",
    "runId",
    "history",
    "lastCompletedIteration",
    "originalInput",
    "checkpointedAt",
    "folded",
    "identity",
    "skillCursor",
    "agent",
    "failurePoint",
];

/// Checks every message of a restored history: `{role, content: text}`, empty content only beside tool calls (AGT-109).
pub(crate) fn check_history(history: &Array) -> Result<(), RunRefusal> {
    for (at, message) in history.iter().enumerate() {
        let path = |field: &str| format!("history[{at}].{field}");
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        if !matches!(role, "system" | "user" | "assistant" | "tool") {
            return Err(bad(path("role"), "expected system, user, assistant or tool"));
        }
        let Some(content) = message.get("content").and_then(Value::as_str) else {
            return Err(bad(path("content"), "expected text"));
        };
        let calls = message.get("toolCalls").is_some();
        if content.is_empty() && role != "assistant" && !calls {
            return Err(bad(path("content"), "is empty; only an assistant turn with tool calls may be"));
        }
    }
    Ok(())
}

fn failure_point(value: &Value) -> Result<FailurePoint, RunRefusal> {
    let iteration = value
        .get("iteration")
        .and_then(Value::as_u64)
        .ok_or_else(|| bad("failurePoint.iteration", "expected a whole number"))?;
    let phase = value
        .get("phase")
        .and_then(Value::as_str)
        .and_then(FailurePhase::parse)
        .ok_or_else(|| bad("failurePoint.phase", "expected iteration, tool, llm or unknown"))?;
    let stage = match value.get("stage") {
        None => None,
        Some(stage) => {
            Some(stage.as_shared_str().cloned().ok_or_else(|| bad("failurePoint.stage", "expected text"))?)
        }
    };
    Ok(FailurePoint { iteration: small(iteration), phase, stage })
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::from(Object::from_iter(entries.map(|(key, value)| (Str::from(key), value))))
}

fn text(fields: &Object, key: &str) -> Result<Str, RunRefusal> {
    fields.get(key).and_then(Value::as_shared_str).cloned().ok_or_else(|| bad(key, "expected text"))
}

fn number(fields: &Object, key: &str) -> Result<u64, RunRefusal> {
    fields.get(key).and_then(Value::as_u64).ok_or_else(|| bad(key, "expected a whole number"))
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn bad(path: impl Into<String>, what: impl Into<String>) -> RunRefusal {
    RunRefusal::InvalidCheckpoint { path: path.into(), what: what.into() }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn sample() -> Value {
        value!({
            "version": 1,
            "runId": "run-1-1",
            "history": [{ "role": "user", "content": "Hi" }, { "role": "assistant", "content": "Hello" }],
            "lastCompletedIteration": 2,
            "originalInput": { "message": "Hi" },
            "checkpointedAt": 17,
            "identity": { "conversationId": "c", "principal": "ann" },
            "skillCursor": "billing",
            "agent": { "id": "support" },
            "failurePoint": { "iteration": 3, "phase": "tool", "stage": "get_order" },
            "fromTheFuture": [1],
        })
    }

    /// Proves AGT-98, AGT-107.
    #[test]
    fn round_trips_through_text_and_keeps_unknown_fields() {
        let checkpoint = AgentRunCheckpoint::from_value(&sample()).unwrap();
        assert_eq!(checkpoint.extra.len(), 1);
        let again = AgentRunCheckpoint::from_json(&checkpoint.to_json()).unwrap();
        assert_eq!(again, checkpoint);
        assert_eq!(again.to_value(), sample());
    }

    /// Proves AGT-98.
    #[test]
    fn each_malformed_field_is_refused_by_its_path() {
        let cases = [
            ("version", value!(2), "version"),
            ("runId", value!(7), "runId"),
            ("history", value!("x"), "history"),
            ("history", value!([{ "role": "user" }]), "history[0].content"),
            ("history", value!([{ "role": "robot", "content": "x" }]), "history[0].role"),
            ("history", value!([{ "role": "user", "content": "" }]), "history[0].content"),
            ("lastCompletedIteration", value!("1"), "lastCompletedIteration"),
            ("originalInput", value!({}), "originalInput.message"),
            ("checkpointedAt", value!(null), "checkpointedAt"),
            ("identity", value!({ "principal": "x" }), "identity"),
            ("skillCursor", value!(["a"]), "skillCursor"),
            ("agent", value!({}), "agent.id"),
            ("failurePoint", value!({ "iteration": 1, "phase": "never" }), "failurePoint.phase"),
        ];
        for (field, value, path) in cases {
            let mut fields = sample().as_object().unwrap().clone();
            fields.insert(field, value);
            match AgentRunCheckpoint::from_value(&Value::from(fields)) {
                Err(RunRefusal::InvalidCheckpoint { path: found, .. }) => assert_eq!(found, path),
                other => panic!("{field}: {other:?}"),
            }
        }
    }
}

//! What a handler is told about the call it runs for, and what it may do besides answering (TOOL §6).

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::events::payload::ToolsCodeRun;
use agentfootprint_record::text::{canonical_json, sha256_hex};
use footprint::value::{Object, Str, Value};
use indexmap::IndexMap;
use tokio_util::sync::CancellationToken;

use super::credentials::{Credential, CredentialAccess};
use super::dispatch_door::ToolDispatch;
use super::people::CheckInDecision;
use super::sessions::{Cleanup, TeardownDoor, TeardownError, TeardownOptions, TeardownScope};
use crate::artifacts::{ArtifactAccess, ArtifactMeta};

/// The context of one call. Cheap to clone; it lives as long as the handler keeps it.
///
/// Facts the run does not know are absent, never made up; capabilities nobody configured fail with an error that
/// says how to attach them.
///
/// ```
/// use agentfootprint_core::tools::ToolContext;
/// let ctx = ToolContext::detached("probe", "c1"); // as in a unit test of a handler
/// assert_eq!((ctx.tool_call_id(), ctx.iteration()), ("c1", 0));
/// assert!(ctx.identity().is_none() && !ctx.has_credentials() && ctx.tools().is_none());
/// ```
#[derive(Clone)]
pub struct ToolContext(Arc<CallFacts>);

/// Where progress reports go.
pub(crate) type ProgressSink = Arc<dyn Fn(Value) + Send + Sync>;

/// Where the facts of executed code go (step 13).
pub(crate) type CodeRunSink = Arc<dyn Fn(ToolsCodeRun) + Send + Sync>;

/// Everything a context is made of; a door fills in what it has.
pub(crate) struct CallFacts {
    pub(crate) tool_name: Str,
    pub(crate) tool_call_id: Str,
    pub(crate) iteration: u32,
    pub(crate) cancel: CancellationToken,
    /// The arguments as the model spoke them, for the stable key.
    pub(crate) spoken_args: Value,
    pub(crate) credentials: CredentialAccess,
    pub(crate) credential: Option<Arc<dyn Credential>>,
    pub(crate) artifacts: ArtifactAccess,
    pub(crate) wanted: Option<Arc<IndexMap<Str, ArtifactMeta>>>,
    pub(crate) run_id: Option<Str>,
    pub(crate) session_id: Option<Str>,
    pub(crate) identity: Option<Arc<MemoryIdentity>>,
    pub(crate) turn_id: Option<Str>,
    pub(crate) decision: Option<CheckInDecision>,
    pub(crate) tools: Option<ToolDispatch>,
    pub(crate) progress: Option<ProgressSink>,
    pub(crate) teardown: Option<Arc<dyn TeardownDoor>>,
    pub(crate) code_run: Option<CodeRunSink>,
}

impl CallFacts {
    /// Facts of a call outside any agent: no loop, no run, no capability.
    pub(crate) fn detached(tool_name: impl Into<Str>, tool_call_id: impl Into<Str>) -> Self {
        Self {
            tool_name: tool_name.into(),
            tool_call_id: tool_call_id.into(),
            iteration: 0,
            cancel: CancellationToken::new(),
            spoken_args: Value::Object(Object::new()),
            credentials: CredentialAccess::none(),
            credential: None,
            artifacts: ArtifactAccess::none(None),
            wanted: None,
            run_id: None,
            session_id: None,
            identity: None,
            turn_id: None,
            decision: None,
            tools: None,
            progress: None,
            teardown: None,
            code_run: None,
        }
    }
}

impl ToolContext {
    pub(crate) fn new(facts: CallFacts) -> Self {
        Self(Arc::new(facts))
    }

    /// A context outside any agent, for tests of handlers: every capability is missing, every fact absent.
    pub fn detached(tool_name: impl Into<Str>, tool_call_id: impl Into<Str>) -> Self {
        Self::new(CallFacts::detached(tool_name, tool_call_id))
    }

    /// The tool that was called.
    pub fn tool_name(&self) -> &str {
        &self.0.tool_name
    }

    /// The call.
    pub fn tool_call_id(&self) -> &str {
        &self.0.tool_call_id
    }

    /// The iteration that asked for it, from 1; 0 at doors without a loop.
    pub fn iteration(&self) -> u32 {
        self.0.iteration
    }

    /// Cancelled when the run is; long work should watch it.
    pub fn cancel(&self) -> &CancellationToken {
        &self.0.cancel
    }

    /// Fetches credentials on demand. Without a provider every request fails and says how to attach one.
    pub fn credentials(&self) -> &CredentialAccess {
        &self.0.credentials
    }

    /// Whether a credential provider is attached.
    pub fn has_credentials(&self) -> bool {
        self.0.credentials.is_attached()
    }

    /// The credential the tool's `needs` declared; absent when it declared none.
    pub fn credential(&self) -> Option<&Arc<dyn Credential>> {
        self.0.credential.as_ref()
    }

    /// The artifact store under the run's own scope. Without a store every verb fails and says how to attach one.
    pub fn artifacts(&self) -> &ArtifactAccess {
        &self.0.artifacts
    }

    /// Whether an artifact store is attached.
    pub fn has_artifacts(&self) -> bool {
        self.0.artifacts.is_attached()
    }

    /// The tickets of the arguments whose data replaced a reference; absent when none did.
    pub fn wanted(&self) -> Option<&IndexMap<Str, ArtifactMeta>> {
        self.0.wanted.as_deref()
    }

    /// The run.
    pub fn run_id(&self) -> Option<&str> {
        self.0.run_id.as_deref()
    }

    /// The caller's session, when one was named.
    pub fn session_id(&self) -> Option<&str> {
        self.0.session_id.as_deref()
    }

    /// The identity the caller stated; absent when nobody named one. A conversation id is never an actor.
    pub fn identity(&self) -> Option<&MemoryIdentity> {
        self.0.identity.as_deref()
    }

    /// The turn; the same across a pause and its resume.
    pub fn turn_id(&self) -> Option<&str> {
        self.0.turn_id.as_deref()
    }

    /// What the person decided, when this dispatch exists because a person approved it.
    pub fn decision(&self) -> Option<&CheckInDecision> {
        self.0.decision.as_ref()
    }

    /// Calls other tools of the agent; absent outside an agent and inside an inner call.
    pub fn tools(&self) -> Option<&ToolDispatch> {
        self.0.tools.as_ref()
    }

    /// Reports progress. Never waits, never fails the call; nothing happens where nobody listens.
    ///
    /// A member `message` is what a status line shows.
    pub fn progress(&self, payload: impl Into<Value>) {
        if let Some(sink) = &self.0.progress {
            sink(payload.into());
        }
    }

    /// The idempotency key of this call: the same for the same tool, arguments and turn, however often the call is
    /// issued or executed again. Never derived from the call id, which is fresh per issued call.
    pub fn stable_call_key(&self) -> String {
        self.stable_call_key_of(&self.0.spoken_args)
    }

    /// The idempotency key of a part of the call, such as one item of a batch.
    pub fn stable_call_key_of(&self, args: &Value) -> String {
        let parts = [
            Value::from(self.0.tool_name.clone()),
            args.clone(),
            self.0.turn_id.clone().map_or(Value::Null, Value::from),
        ];
        // One canonical array: no joining of parts that could collide.
        sha256_hex(canonical_json(&Value::Array(parts.into_iter().collect())))
    }

    /// Says that code was executed; nothing happens at doors that record nothing of it.
    pub(crate) fn code_ran(&self, facts: impl FnOnce() -> ToolsCodeRun) {
        if let Some(sink) = &self.0.code_run {
            sink(facts());
        }
    }

    /// Registers a cleanup; `options` say when it runs. Scopes the door does not have are refused.
    pub fn on_teardown(&self, options: TeardownOptions, cleanup: Cleanup) -> Result<(), TeardownError> {
        match &self.0.teardown {
            Some(door) => door.register(&self.0.tool_name, &self.0.tool_call_id, options, cleanup),
            None => Err(TeardownError::unsupported(options.scope, "an offline call", &[])),
        }
    }

    /// The teardown scopes this door has.
    pub fn teardown_scopes(&self) -> &[TeardownScope] {
        self.0.teardown.as_ref().map_or(&[], |door| door.scopes())
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("tool_name", &self.0.tool_name)
            .field("tool_call_id", &self.0.tool_call_id)
            .field("iteration", &self.0.iteration)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn in_turn(turn: &str, args: Value) -> ToolContext {
        ToolContext::new(CallFacts {
            turn_id: Some(turn.into()),
            spoken_args: args,
            ..CallFacts::detached("pay", "c1")
        })
    }

    /// Proves TOOL-33.
    #[test]
    fn the_stable_key_follows_tool_arguments_and_turn_only() {
        let key = in_turn("t1", value!({ "a": 1, "b": 2 })).stable_call_key();
        assert_eq!(key, in_turn("t1", value!({ "b": 2, "a": 1.0 })).stable_call_key());
        assert_ne!(key, in_turn("t2", value!({ "a": 1, "b": 2 })).stable_call_key());
        assert_ne!(key, in_turn("t1", value!({ "a": 1 })).stable_call_key());
        let other = ToolContext::new(CallFacts {
            turn_id: Some("t1".into()),
            spoken_args: value!({ "a": 1, "b": 2 }),
            ..CallFacts::detached("pay", "another call")
        });
        assert_eq!(key, other.stable_call_key());
        // A text cannot stand in for an absent turn.
        let absent = ToolContext::detached("pay", "c1").stable_call_key_of(&value!(1));
        assert_ne!(absent, in_turn("null", value!({})).stable_call_key_of(&value!(1)));
    }

    /// Proves TOOL §6: absent facts are absent, missing capabilities fail closed.
    #[tokio::test]
    async fn a_detached_context_has_nothing_and_says_so() {
        let ctx = ToolContext::detached("probe", "c1");
        ctx.progress("no one listens");
        assert!(ctx.run_id().is_none() && ctx.session_id().is_none() && ctx.turn_id().is_none());
        assert!(ctx.teardown_scopes().is_empty());
        let refused =
            ctx.on_teardown(TeardownOptions::new(TeardownScope::Call), Cleanup::new(|| async { Ok(()) }));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "an offline call has no teardown scope `call`; it has none"
        );
        let refused = ctx.credentials().get(super::super::credentials::CredentialRequest::new("crm")).await;
        assert!(refused.unwrap_err().to_string().contains("no credential provider is attached"));
        assert!(!ctx.has_artifacts() && ctx.wanted().is_none());
        let refused = ctx.artifacts().head("art_0123456789abcdefghijKL").await.unwrap_err();
        assert!(refused.to_string().contains("`Agent::builder(..).artifacts(store)`"));
    }
}

//! `ctx.on_teardown`: where the cleanups of a call go, and step 20 (TOOL-89, TOOL-91).

use agentfootprint_record::events::payload::{ToolsSessionReused, ToolsSessionStarted};

use super::batch::Batch;
use super::call::Attempt;
use crate::run::StageCx;
use crate::tools::sessions::{
    Asked, Cleanup, Ends, Registered, TeardownDoor, TeardownError, TeardownOptions, TeardownScope, scope_word,
};

/// The door of one call of an agent.
pub(super) struct CallDoor(StageCx);

impl CallDoor {
    /// `cx` is the visit as seen from inside the tool's effect.
    pub(super) fn new(cx: &StageCx) -> Self {
        Self(cx.clone())
    }
}

impl TeardownDoor for CallDoor {
    fn scopes(&self) -> &[TeardownScope] {
        &[TeardownScope::Call, TeardownScope::Run, TeardownScope::Session, TeardownScope::Shutdown]
    }

    fn register(
        &self,
        tool: &str,
        tool_call_id: &str,
        options: TeardownOptions,
        cleanup: Cleanup,
    ) -> Result<(), TeardownError> {
        let cx = &self.0;
        let asked = Asked {
            tool,
            call_id: tool_call_id,
            turn_id: Some(&cx.run.turn_id),
            session_id: cx.run.session_id().map(|id| &**id),
            now_ms: cx.now_ms(),
        };
        match cx.agent.sessions.register(&asked, options, cleanup) {
            Registered::Started(facts) => cx.emit(|| {
                ToolsSessionStarted::new(facts.tool, scope_word(facts.scope), facts.key_hash)
                    .runner_id(facts.runner_id)
                    .label(facts.label)
            }),
            Registered::Reused(facts, calls) => cx.emit(|| {
                ToolsSessionReused::new(facts.tool, scope_word(facts.scope), facts.key_hash, calls)
                    .runner_id(facts.runner_id)
                    .label(facts.label)
            }),
        }
        Ok(())
    }
}

/// Step 20: the call has settled. Also after a failure; never at a pause.
pub(super) async fn settle(batch: &Batch, attempt: &Attempt) {
    let cx = &batch.cx;
    let ends = Ends::Call { call_id: &attempt.call.id, turn_id: Some(&cx.run.turn_id) };
    let limit = cx.agent.options.tool_teardown_timeout;
    let say = |event: agentfootprint_record::events::AgentEvent| {
        if event.name().is_some_and(|name| cx.wants(name)) {
            cx.dispatch(event);
        }
    };
    cx.agent.sessions.close(ends, limit, || cx.now_ms(), say).await;
}

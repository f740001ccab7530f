//! Closing what tools left open beyond a run (TOOL-89, AGT-10).

use agentfootprint_record::conventions::ids;
use agentfootprint_record::events::{AgentEvent, Event, EventMeta, Moment, RunFacts};
use footprint::clock::{Clock as _, SystemClock};
use footprint::ids::RuntimeStageId;

use super::Agent;
use crate::tools::{CloseReport, Ends};

impl Agent {
    /// Closes the tool sessions of one session, or of all sessions. Each cleanup runs within the agent's teardown timeout; what
    /// fails is in the report and on the agent's events, never an error.
    pub async fn close_tool_sessions(&self, session_id: Option<&str>) -> CloseReport {
        self.close(Ends::Session(session_id)).await
    }

    /// Closes every tool session that is still open, of whatever scope. Calls at the same time share one pass; the agent stays
    /// usable.
    pub async fn shutdown(&self) -> CloseReport {
        self.close(Ends::Everything).await
    }

    async fn close(&self, ends: Ends<'_>) -> CloseReport {
        // No run is under way whose clock this could be.
        let clock = SystemClock::new();
        let limit = self.core().options.tool_teardown_timeout;
        let say = |event: AgentEvent| {
            let at = Moment { wall_clock_ms: clock.now_ms(), run_offset_ms: 0 };
            let step = RuntimeStageId::parse(ids::TOOL_TEARDOWN);
            self.hub().publish(Event::new(event, EventMeta::build(Some(step), at, &RunFacts::consumer())));
        };
        self.core().sessions.close(ends, limit, || clock.now_ms(), say).await
    }
}

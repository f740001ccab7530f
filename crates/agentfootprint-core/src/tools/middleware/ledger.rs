//! The ledger of middleware decisions: one row per link and moment, one writer (TOOL-46).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::MiddlewareDecision;
use agentfootprint_record::events::words::{
    LoopMoment, MessagePhase, MiddlewareOutcome, MiddlewareTarget, Word as _,
};
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};

use crate::run::StageCx;

/// What one link decided at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DecisionRow {
    pub(crate) middleware: Str,
    pub(crate) moment: LoopMoment,
    pub(crate) phase: Option<MessagePhase>,
    /// Tool and call, at the tool moments.
    pub(crate) call: Option<(Str, Str)>,
    pub(crate) iteration: u32,
    pub(crate) outcome: MiddlewareOutcome,
    pub(crate) why: Option<Str>,
    /// Before and after, when the link changed something.
    pub(crate) change: Option<(Value, Value)>,
    pub(crate) component_id: Option<Str>,
}

impl DecisionRow {
    fn target(&self) -> MiddlewareTarget {
        if self.call.is_some() { MiddlewareTarget::Tool } else { MiddlewareTarget::Message }
    }

    /// The recorded row; before and after only when something changed.
    pub(crate) fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("middleware", Value::from(self.middleware.clone()));
        out.insert("moment", Value::from(self.moment.word()));
        out.insert("at", Value::from(self.target().word()));
        if let Some(phase) = &self.phase {
            out.insert("phase", Value::from(phase.word()));
        }
        if let Some((tool, call)) = &self.call {
            out.insert("toolName", Value::from(tool.clone()));
            out.insert("toolCallId", Value::from(call.clone()));
        }
        out.insert("iteration", Value::from(self.iteration));
        out.insert("outcome", Value::from(self.outcome.word()));
        out.insert("changed", Value::from(self.change.is_some()));
        if let Some(why) = &self.why {
            out.insert("why", Value::from(why.clone()));
        }
        if let Some((before, after)) = &self.change {
            out.insert("before", before.clone());
            out.insert("after", after.clone());
        }
        if let Some(component) = &self.component_id {
            out.insert("componentId", Value::from(component.clone()));
        }
        Value::Object(out)
    }

    /// The event: the row without what changed.
    fn event(&self) -> MiddlewareDecision {
        let mut event = MiddlewareDecision::new(
            self.middleware.clone(),
            self.moment.clone(),
            self.target(),
            self.iteration,
            self.outcome.clone(),
            self.change.is_some(),
        );
        event.phase = self.phase.clone();
        if let Some((tool, call)) = &self.call {
            event.tool_name = Some(tool.clone());
            event.tool_call_id = Some(call.clone());
        }
        event.why = self.why.clone();
        event.component_id = self.component_id.clone();
        event
    }
}

/// Files rows: state first, then the events.
pub(crate) struct Ledger;

impl Ledger {
    /// Appends rows to `middlewareDecisions`; nothing is written when there are none.
    pub(crate) fn write(cx: &StageCx, rows: &[DecisionRow]) -> Result<(), StageError> {
        if rows.is_empty() {
            return Ok(());
        }
        cx.append(state::MIDDLEWARE_DECISIONS, rows.iter().map(DecisionRow::to_value))
    }

    /// Says them.
    pub(crate) fn tell(cx: &StageCx, rows: &[DecisionRow]) {
        for row in rows {
            cx.emit(|| row.event());
        }
    }

    /// Writes rows and says them.
    pub(crate) fn file(cx: &StageCx, rows: Vec<DecisionRow>) -> Result<(), StageError> {
        Self::write(cx, &rows)?;
        Self::tell(cx, &rows);
        Ok(())
    }
}

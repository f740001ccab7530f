//! A conversation: several turns that share their history (AGT-104).

use std::sync::Mutex;

use footprint::value::{Str, Value};

use super::Agent;
use crate::run::{
    AgentRunCheckpoint, NoConversationReason, PauseOutcome, RunInput, RunOptions, RunOutcome, RunRefusal,
    RunReport, Runner as _, lock,
};

/// Turns of one agent that share their history, one at a time.
///
/// While a question is open, new turns are refused: answer it with [`resume`](Self::resume), or give it up with
/// [`abandon_pause`](Self::abandon_pause).
#[derive(Debug)]
pub struct Conversation {
    agent: Agent,
    options: RunOptions,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: Option<Str>,
    checkpoint: Option<AgentRunCheckpoint>,
    pending: Option<Box<PauseOutcome>>,
    ran: bool,
}

/// A question that was given up.
#[derive(Clone, Debug)]
pub struct DroppedQuestion {
    /// The tool that asked.
    pub tool_name: Str,
    /// The call that waited.
    pub tool_call_id: Str,
    /// What was asked.
    pub pause_data: Value,
}

impl Conversation {
    pub(super) fn new(agent: Agent, options: RunOptions) -> Self {
        Self { agent, options, state: Mutex::default() }
    }

    /// One more turn.
    ///
    /// # Errors
    /// [`RunRefusal::RunInFlight`] while another turn is open, [`RunRefusal::PendingQuestion`] while a question is, and the
    /// refusals of a run.
    pub async fn follow_up(&self, message: impl Into<Str>) -> Result<RunReport<String>, RunRefusal> {
        let mut input = RunInput::new(message);
        input.continue_from = {
            let state = lock(&self.state);
            Self::check_free(&state)?;
            state.checkpoint.clone()
        };
        let handle = self.agent.start(input, self.options.clone())?;
        self.drive(handle, None).await
    }

    /// Answers the open question.
    ///
    /// # Errors
    /// The refusals of [`Runner::resume`](crate::run::Runner::resume); a refused answer leaves the question open.
    pub async fn resume(&self, answer: Option<Value>) -> Result<RunReport<String>, RunRefusal> {
        let pause = {
            let state = lock(&self.state);
            if let Some(run_id) = &state.open {
                return Err(RunRefusal::RunInFlight { run_id: run_id.clone() });
            }
            state
                .pending
                .clone()
                .ok_or(RunRefusal::NoConversation { reason: NoConversationReason::LastRunUnfinished })?
        };
        let handle = self.agent.resume(pause.checkpoint.clone(), answer, self.options.clone())?;
        self.drive(handle, Some(pause)).await
    }

    /// Runs a turn to its end. `answered` is the question this leg answers: it is open again when the leg fails or is dropped half
    /// way, for its call has no result yet.
    async fn drive(
        &self,
        handle: crate::run::RunHandle<String>,
        answered: Option<Box<PauseOutcome>>,
    ) -> Result<RunReport<String>, RunRefusal> {
        {
            let mut state = lock(&self.state);
            if let Some(run_id) = &state.open {
                return Err(RunRefusal::RunInFlight { run_id: run_id.clone() });
            }
            state.open = Some(handle.run_id().clone());
            state.pending = None;
            state.ran = true;
        }
        let mut closing = Closing { state: &self.state, answered };
        let report = handle.finish().await;
        if report.outcome.is_ok() {
            closing.answered = None;
        }
        drop(closing);
        let mut state = lock(&self.state);
        match &report.outcome {
            Ok(RunOutcome::Completed(_)) => state.checkpoint = report.record.checkpoint().cloned(),
            Ok(RunOutcome::Paused(pause)) => {
                state.checkpoint = report.record.checkpoint().cloned();
                state.pending = Some(pause.clone());
            }
            // A denied or failed turn does not become history of the next one (AGT-108).
            Err(_) => {}
        }
        drop(state);
        Ok(report)
    }

    fn check_free(state: &State) -> Result<(), RunRefusal> {
        if let Some(run_id) = &state.open {
            return Err(RunRefusal::RunInFlight { run_id: run_id.clone() });
        }
        if let Some(pause) = &state.pending {
            return Err(RunRefusal::PendingQuestion {
                tool_name: pause.tool_name().unwrap_or("a tool").into(),
                tool_call_id: pause.tool_call_id().unwrap_or_default().into(),
            });
        }
        Ok(())
    }

    /// The conversation so far, to be stored.
    ///
    /// # Errors
    /// [`RunRefusal::NoConversation`] when no turn has finished.
    pub fn checkpoint(&self) -> Result<AgentRunCheckpoint, RunRefusal> {
        let state = lock(&self.state);
        state.checkpoint.clone().ok_or(RunRefusal::NoConversation {
            reason: if state.ran {
                NoConversationReason::LastRunUnfinished
            } else {
                NoConversationReason::NeverRun
            },
        })
    }

    /// Starts from a stored conversation.
    #[must_use]
    pub fn from_checkpoint(self, checkpoint: AgentRunCheckpoint) -> Self {
        lock(&self.state).checkpoint = Some(checkpoint);
        self
    }

    /// The open question.
    pub fn pending_question(&self) -> Option<PauseOutcome> {
        lock(&self.state).pending.as_deref().cloned()
    }

    /// Gives the open question up. The waiting call gets a result that says so, and so does every later call of its turn, so
    /// that the conversation stays valid for the provider.
    pub fn abandon_pause(&self) -> Option<DroppedQuestion> {
        let mut state = lock(&self.state);
        let pause = state.pending.take()?;
        if let Some(checkpoint) = &mut state.checkpoint {
            checkpoint.history = crate::tools::settle_abandoned(&checkpoint.history);
        }
        Some(DroppedQuestion {
            tool_name: pause.tool_name().unwrap_or_default().into(),
            tool_call_id: pause.tool_call_id().unwrap_or_default().into(),
            pause_data: pause.pause_data,
        })
    }
}

/// Marks the conversation free again, also when the turn is dropped half way.
struct Closing<'a> {
    state: &'a Mutex<State>,
    /// The question that is open again.
    answered: Option<Box<PauseOutcome>>,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let mut state = lock(self.state);
        state.open = None;
        if let Some(question) = self.answered.take() {
            state.pending = Some(question);
        }
    }
}

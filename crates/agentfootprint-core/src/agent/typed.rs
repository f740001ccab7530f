//! Reading an answer as a type (AGT-95).

use agentfootprint_record::events::payload::{ResilienceOutputCannedUsed, ResilienceOutputFallbackTriggered};
use agentfootprint_record::events::{AgentEvent, Event, EventMeta};
use footprint::value::{Str, Value};
use serde::de::DeserializeOwned;

use super::Agent;
use super::output::{Output, OutputSchemaError, judge};
use crate::run::{RunError, RunReport};

/// The longest piece of an answer an event shows, in UTF-16 units.
const PREVIEW_CHARS: usize = 200;

/// Why a typed read gives no value.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypedReadError {
    /// The run failed.
    #[error(transparent)]
    Run(RunError),
    /// The run is paused; use `run` and `parse_output` for runs that may pause.
    #[error("the run is paused: read its answer with `run` and `parse_output` after it was resumed")]
    Paused,
    /// The agent has no output contract.
    #[error("the agent has no output contract; declare one with `output_schema`")]
    NoContract,
    /// The answer does not meet its contract, and nothing caught it.
    #[error(transparent)]
    Output(#[from] OutputSchemaError),
    /// The value meets the contract but not the asked type.
    #[error("the answer does not have the asked type: {0}")]
    Type(String),
}

impl Agent {
    /// Reads an answer strictly: it parses and meets the contract, or it is an error.
    ///
    /// # Errors
    /// [`TypedReadError`] naming the step that failed.
    pub fn parse_output<T: DeserializeOwned>(&self, answer: &str) -> Result<T, TypedReadError> {
        let output = self.core().output.as_ref().ok_or(TypedReadError::NoContract)?;
        let value = judge(&*output.contract, &answer.into())?;
        decode(&value)
    }

    /// Reads the answer of a report, through the fallbacks the agent was built with: the contract, then the fallback, then the
    /// canned value.
    ///
    /// # Errors
    /// [`TypedReadError`] when the run has no answer or nothing of the ladder gave one.
    pub async fn read_typed<T: DeserializeOwned>(
        &self,
        report: &RunReport<String>,
    ) -> Result<T, TypedReadError> {
        let answer: Str = match report.answer() {
            Ok(answer) => answer.as_str().into(),
            Err(crate::run::AnswerError::Paused(_)) => return Err(TypedReadError::Paused),
            Err(crate::run::AnswerError::Failed(error)) => return Err(TypedReadError::Run(error.clone())),
        };
        let output = self.core().output.as_ref().ok_or(TypedReadError::NoContract)?;
        let error = match judge(&*output.contract, &answer) {
            Ok(value) => return decode(&value),
            Err(error) => error,
        };
        let retries_spent = report
            .record
            .output_contract_unmet()
            .and_then(|unmet| unmet.get("retriesSpent"))
            .and_then(Value::as_u64);
        decode(&self.fall_back(output, error, answer, retries_spent).await?)
    }

    async fn fall_back(
        &self,
        output: &Output,
        error: OutputSchemaError,
        answer: Str,
        retries_spent: Option<u64>,
    ) -> Result<Value, TypedReadError> {
        let Some(ladder) = &output.fallback else { return Err(error.into()) };
        let preview: Str = agentfootprint_record::text::summary(&answer, PREVIEW_CHARS).into();
        self.say_after(
            ResilienceOutputFallbackTriggered::new(error.stage.clone(), &preview, error.message.as_str())
                .retries_spent(retries_spent),
        );
        let failed = match (ladder.fallback)(error.clone(), answer).await {
            Ok(value) => match output.contract.check(value) {
                Ok(value) => return Ok(value),
                Err(violation) => violation.message,
            },
            Err(message) => message,
        };
        let Some(canned) = &ladder.canned else { return Err(error.into()) };
        if retries_spent.is_some_and(|spent| spent > 0) {
            tracing::warn!(target: "agentfootprint", "the canned value is used after billed re-asks of the answer");
        }
        self.say_after(ResilienceOutputCannedUsed::new(preview, failed).retries_spent(retries_spent));
        Ok(canned.clone())
    }

    /// Says something on the consumer's side, after the run.
    fn say_after(&self, event: impl Into<AgentEvent>) {
        let meta =
            EventMeta::consumer(footprint::clock::Clock::now_ms(&footprint::clock::SystemClock::new()));
        self.hub().publish(Event::new(event, meta));
    }
}

fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, TypedReadError> {
    value.decode().map_err(|error| TypedReadError::Type(error.to_string()))
}

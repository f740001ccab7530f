//! A model's answer as a journal entry (HOST-118).

use footprint::value::Value;

use crate::llm::{LlmError, LlmResponse};
use crate::run::{EffectFailure, EffectOutcome, Journaled};

impl Journaled for Result<LlmResponse, LlmError> {
    fn to_outcome(&self) -> EffectOutcome {
        match self {
            Ok(response) => EffectOutcome::Ok(Value::from_serialize(response).unwrap_or_default()),
            Err(error) => EffectOutcome::Err(EffectFailure {
                class: error.record_name().into(),
                code: error.record_code().map(Into::into),
                message: error.to_string().into(),
                retryable: error.retryable(),
            }),
        }
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        match outcome {
            EffectOutcome::Ok(value) => value.decode().map_err(|error| {
                LlmError::foreign("JournalError", format!("an answer in the journal is unreadable: {error}"))
            }),
            EffectOutcome::Err(failure) => {
                let error = LlmError::foreign(failure.class.to_string(), failure.message.to_string());
                Err(match &failure.code {
                    Some(code) => error.with_code(code.to_string()),
                    None => error,
                })
            }
        }
    }
}

//! `explain`, `why` and `validate`.

use std::process::ExitCode;

use agentfootprint::debug::{self, validate as checks, why as causes};
use agentfootprint::footprint::value::Value;
use agentfootprint::record::OpenRecording;

use crate::input::{Input, limit_words, read, recording};
use crate::out::{Answer, Failure};

pub(crate) fn explain(input: &Input) -> Result<ExitCode, Failure> {
    let story = debug::explain(&recording(input)?).bounded(input.limit.max(4));
    Answer::new("explain", story.to_string()).with("explain", story.to_value()).give(input)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the answer says any of these words; why it says others is no question.
fn said(opened: &OpenRecording, words: &str) -> Result<(), Failure> {
    if words.trim().is_empty() {
        return Err(Failure::unusable("--about is blank; give it words of the answer"));
    }
    let state = &opened.recording().snapshot.shared_state;
    let Some(answer) = state.get("finalContent").and_then(Value::as_str) else { return Ok(()) };
    let answer = answer.to_lowercase();
    if words.split_whitespace().any(|word| answer.contains(&word.to_lowercase())) {
        return Ok(());
    }
    Err(Failure::unusable(format!(
        "the answer of this run does not say `{words}`; give --about words of the answer"
    )))
}

pub(crate) fn why(input: &Input, variable: Option<&str>, about: Option<&str>) -> Result<ExitCode, Failure> {
    let opened = recording(input)?;
    let why = match (variable, about) {
        (Some(name), _) => {
            causes::variable(&opened, name).map_err(|error| Failure::unusable(error.to_string()))?
        }
        (None, Some(words)) => {
            said(&opened, words)?;
            causes::about(&opened, words)
        }
        (None, None) => causes::answer(&opened),
    };
    let text = why.to_string();
    Answer::new("why", text).limits(limit_words(&opened)).with("why", why.to_value()).give(input)?;
    Ok(ExitCode::SUCCESS)
}

/// A file that is no recording is a finding, not a refusal; a file that cannot be read at all is a refusal.
pub(crate) fn validate(input: &Input, strict: bool) -> Result<ExitCode, Failure> {
    let findings = checks::bytes(&read(&input.file, input.max_bytes)?);
    let sound = findings.is_sound(strict);
    let unreadable =
        findings.findings.iter().any(|finding| matches!(finding.code, "parse" | "format" | "missing-part"));
    Answer::new("validate", findings.to_string())
        .with("sound", sound)
        .with("validate", findings.to_value())
        .give(input)?;
    Ok(match (sound, unreadable) {
        (true, _) => ExitCode::SUCCESS,
        (false, true) => ExitCode::from(2),
        (false, false) => ExitCode::from(1),
    })
}

//! Commands over a recording: no network, no agent.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use agentfootprint::debug::{self, validate as checks, why as causes};
use agentfootprint::footprint::value::{Object, Value};
use agentfootprint::record::{OpenRecording, Recording};

use crate::out::{Failure, say};
use crate::{Format, Input};

pub(crate) fn explain(input: &Input, limit: usize) -> Result<ExitCode, Failure> {
    let story = debug::explain(&open(&input.file)?).bounded(limit.max(4));
    answer(input, "explain", story.to_value(), &story.to_string());
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn why(input: &Input, variable: Option<&str>, about: Option<&str>) -> Result<ExitCode, Failure> {
    let opened = open(&input.file)?;
    let why = match (variable, about) {
        (Some(name), _) => {
            causes::variable(&opened, name).map_err(|error| Failure::unusable(error.to_string()))?
        }
        (None, Some(words)) => causes::about(&opened, words),
        (None, None) => causes::answer(&opened),
    };
    answer(input, "why", why.to_value(), &why.to_string());
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn validate(input: &Input, strict: bool) -> Result<ExitCode, Failure> {
    let findings = checks::bytes(&read(&input.file)?);
    answer(input, "validate", findings.to_value(), &findings.to_string());
    Ok(if findings.is_sound(strict) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn answer(input: &Input, command: &str, json: Value, text: &str) {
    match input.format {
        Format::Text => say(text),
        Format::Json => {
            let mut out = Object::new();
            out.insert("schema", Value::from(format!("agentfootprint.cli.{command}/1")));
            out.insert(command, json);
            say(format!("{}\n", Value::Object(out)));
        }
    }
}

fn open(file: &Path) -> Result<OpenRecording, Failure> {
    let bytes = read(file)?;
    Recording::open(&bytes).map_err(|error| Failure::unusable(format!("{}: {error}", file.display())))
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(|error| {
        Failure::unusable(format!(
            "{} cannot be read ({error}); name a recording written by `run`, `demo` or `save`",
            file.display()
        ))
    })
}

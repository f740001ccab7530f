//! `diff`: where two runs part.

use std::path::PathBuf;
use std::process::ExitCode;

use agentfootprint::debug;
use clap::Args;

use crate::input::{Given, Input, recording_of};
use crate::out::{Answer, Failure};

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The first recording; `-` reads standard input.
    a: PathBuf,
    /// The second recording.
    b: PathBuf,
    #[command(flatten)]
    given: Given,
}

pub(crate) fn diff(args: &DiffArgs) -> Result<ExitCode, Failure> {
    let reading = args.given.reading();
    let difference = debug::diff(&recording_of(&args.a, reading)?, &recording_of(&args.b, reading)?);
    let input = Input { file: args.a.clone(), given: args.given.clone() };
    Answer::new("diff", difference.to_string()).with("diff", difference.to_value()).give(&input)?;
    Ok(if difference.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// A file against itself.
#[cfg(test)]
pub(crate) fn of(input: &Input) -> Result<ExitCode, Failure> {
    diff(&DiffArgs { a: input.file.clone(), b: input.file.clone(), given: input.given.clone() })
}

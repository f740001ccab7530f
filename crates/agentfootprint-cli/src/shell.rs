//! Completions and manual pages, for packagers.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::Cli;
use crate::out::{Failure, say};

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "agentfootprint", &mut text);
    say(String::from_utf8_lossy(&text));
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(folder: &Path) -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| Failure::unusable(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

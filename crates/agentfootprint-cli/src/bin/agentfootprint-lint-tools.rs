//! `agentfootprint lint-tools` under the name build scripts know it by.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

#[path = "../lint_tools.rs"]
mod lint_tools;

#[derive(clap::Parser)]
#[command(
    name = "agentfootprint-lint-tools",
    version,
    about = "Would a model know which of these tools to call?"
)]
struct Cli {
    #[command(flatten)]
    args: lint_tools::LintArgs,
}

fn main() -> ExitCode {
    let outcome = lint_tools::lint(&Cli::parse().args);
    // A reader that went away is not told.
    let _ = match outcome.code {
        2 => writeln!(std::io::stderr(), "agentfootprint-lint-tools: {}", outcome.text),
        _ => writeln!(std::io::stdout(), "{}", outcome.text),
    };
    lint_tools::exit(&outcome)
}

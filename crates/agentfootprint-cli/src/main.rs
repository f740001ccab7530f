//! The `agentfootprint` command: run an agent, and ask a recording what happened and why.
//!
//! Exit codes: 0 done, 1 the run failed or something was found, 2 the input cannot be used. Every refusal is one sentence on
//! standard error that names the fix.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod demo;
mod live;
mod offline;
mod out;
mod run;

use out::Failure;

#[derive(Parser)]
#[command(
    name = "agentfootprint",
    version,
    about = "Run agents whose every run is evidence, and ask recordings why"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs a small scripted agent offline, records it, and shows why it answered what it answered.
    Demo {
        /// Where the recording is written.
        #[arg(long, default_value = "demo-recording.json")]
        out: PathBuf,
    },
    /// Asks a model one question, streams the answer and records the run.
    Run(run::RunArgs),
    /// Tells what happened in a recorded run.
    Explain {
        #[command(flatten)]
        input: Input,
        /// At most this many lines.
        #[arg(long, default_value_t = 200)]
        limit: usize,
    },
    /// Follows the answer, or a variable, back to its causes.
    Why {
        #[command(flatten)]
        input: Input,
        /// A variable (`iteration`, `cfg.mode`, `history[2]`) instead of the answer.
        variable: Option<String>,
        /// Words of the answer to look for.
        #[arg(long, conflicts_with = "variable")]
        about: Option<String>,
    },
    /// Checks whether a file is a sound recording.
    Validate {
        #[command(flatten)]
        input: Input,
        /// Warnings count as findings.
        #[arg(long)]
        strict: bool,
    },
}

#[derive(Args)]
struct Input {
    /// The recording; `-` reads standard input.
    file: PathBuf,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Demo { out } => demo::demo(&out),
        Command::Run(args) => run::run(&args),
        Command::Explain { input, limit } => offline::explain(&input, limit),
        Command::Why { input, variable, about } => {
            offline::why(&input, variable.as_deref(), about.as_deref())
        }
        Command::Validate { input, strict } => offline::validate(&input, strict),
    };
    match done {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Drives a future to its end on this thread.
fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::unusable(format!("no event loop: {error}")))?.block_on(future)
}

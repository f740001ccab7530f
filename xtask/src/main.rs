//! Developer commands of the workspace: `cargo xtask <command>`. Never shipped.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod golden;
mod notes;
mod test;
mod wire;

#[derive(Parser)]
#[command(name = "xtask", about = "Developer commands of the agentfootprint workspace")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Formatting, lints, builds, tests, documentation; goldens and wire traffic when `../shared` is there.
    Test,
    /// Runs every golden scenario below DIR and ends with `N passed, M failed`.
    Golden {
        /// A folder of scenarios, at any depth.
        dir: PathBuf,
        /// Only scenarios whose name contains this text.
        #[arg(long)]
        only: Option<String>,
        /// Print every difference of a failing scenario, not only the first ones.
        #[arg(long)]
        full: bool,
    },
    /// Replays recorded provider traffic below DIR through the adapters and ends with `N passed, M failed`.
    Wire {
        /// A folder of cases, at any depth.
        dir: PathBuf,
    },
    /// Writes `canonical-notes.json` from the constants it lists, at the root and into the package.
    Notes,
    /// Runs the benchmarks beside their peers and prints a table of ratios.
    Bench {
        /// Only workloads whose name contains this text.
        only: Option<String>,
    },
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Test => test::run(),
        Command::Golden { dir, only, full } => golden::run(&dir, only.as_deref(), full),
        Command::Wire { dir } => wire::run(&dir),
        Command::Notes => notes::run(),
        Command::Bench { only } => bench::run(only.as_deref()),
    }
}

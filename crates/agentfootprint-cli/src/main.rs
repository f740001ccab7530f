//! The `agentfootprint` command: run an agent, and ask a recording what happened and why.
//!
//! Exit codes: 0 done, 1 the run failed or something was found, 2 the input cannot be used. Every refusal is one sentence on
//! standard error that names the fix.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod ask;
mod audit;
mod demo;
mod differ;
mod errors;
mod events;
mod input;
mod lint_tools;
mod live;
#[cfg(feature = "mcp")]
mod mcp;
mod offline;
mod opened;
mod out;
mod report;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod shell;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod torn;
#[cfg(feature = "tui")]
mod tui;
mod view;

use input::Input;
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
    /// Says what a file is, its format, who made it, and what it cannot say.
    Open {
        #[command(flatten)]
        input: Input,
    },
    /// Tells what happened in a recorded run.
    Explain {
        #[command(flatten)]
        input: Input,
    },
    /// Status, counts, and one line per model call: served, answered, tools, tokens, route.
    Summary {
        #[command(flatten)]
        input: Input,
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
    /// Everything about one step: what it wrote and read, its decision, its errors.
    Step {
        #[command(flatten)]
        input: Input,
        /// The step, such as tool-calls#22.
        id: String,
    },
    /// The value of a key as it stood after a step.
    Value {
        #[command(flatten)]
        input: Input,
        /// The step.
        id: String,
        /// The key, with dots for what is nested.
        key: String,
        /// Characters of the value, at most 8000.
        #[arg(long)]
        chars: Option<u32>,
    },
    /// All steps that wrote a key, the one whose value stands marked.
    Who {
        #[command(flatten)]
        input: Input,
        /// The key, with dots for what is nested.
        key: String,
        /// Only writes before this step.
        #[arg(long)]
        before: Option<String>,
    },
    /// Where a text occurs in values, narrative and events.
    Find {
        #[command(flatten)]
        input: Input,
        /// The text, ignoring case.
        text: String,
        /// Hits shown, at most 25.
        #[arg(long)]
        hits: Option<u32>,
    },
    /// One tool call: proposed, ran, outcome, result.
    Tool {
        #[command(flatten)]
        input: Input,
        /// The id of the call.
        call: String,
        /// Looks into the run of a chart-backed tool.
        #[arg(long)]
        inner: bool,
    },
    /// Findings of checks, the failure of the run, refused and denied tool calls. Exit code 1 when there are any.
    Errors {
        #[command(flatten)]
        input: Input,
        /// Only findings of this kind.
        #[arg(long)]
        kind: Option<String>,
        /// Exit code 1 also when nothing ever looked.
        #[arg(long)]
        require_evidence: bool,
    },
    /// The typed events, filtered.
    Events(events::EventsArgs),
    /// The chart, the run or the calls as a Mermaid diagram.
    Mermaid {
        #[command(flatten)]
        input: Input,
        /// What is drawn.
        #[arg(long, value_enum, default_value_t)]
        view: opened::DrawnView,
        /// Leaves out machinery of the framework.
        #[arg(long)]
        collapse_plumbing: bool,
    },
    /// Where two runs part. Exit code 1 when they do.
    Diff(differ::DiffArgs),
    /// Would a model know which tool of a catalogue to call? Exit code 1 when something is wrong with it.
    LintTools(lint_tools::LintArgs),
    /// Checks whether a file is a sound recording. Exit code 1 when it is not.
    Validate {
        #[command(flatten)]
        input: Input,
        /// Warnings count as findings.
        #[arg(long)]
        strict: bool,
    },
    /// Writes what occurs several times once; compressed too if --out ends in .gz. Round-trip checked.
    Pack {
        #[command(flatten)]
        input: Input,
    },
    /// Writes a packed recording plain again.
    Unpack {
        #[command(flatten)]
        input: Input,
    },
    /// A bug report: what could be sent, or exactly what was agreed to.
    Report(report::ReportArgs),
    /// The tamper-evident log of a run.
    Audit {
        #[command(subcommand)]
        command: audit::AuditCommand,
    },
    /// Offers recordings to a debugging model, over the Model Context Protocol.
    #[cfg(feature = "mcp")]
    Mcp(mcp::McpArgs),
    /// A recording in the browser: one file to send, or served on this machine.
    View(view::ViewArgs),
    /// A recording in the terminal: timeline, steps, the context of each model call, search and why.
    #[cfg(feature = "tui")]
    Tui(tui::TuiArgs),
    /// Completions for a shell, on standard output.
    #[command(hide = true)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Manual pages, one per command, into a folder.
    #[command(hide = true)]
    Man {
        /// The folder.
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Demo { out } => demo::demo(&out),
        Command::Run(args) => run::run(&args),
        Command::Open { input } => opened::open(&input),
        Command::Explain { input } => offline::explain(&input),
        Command::Summary { input } => opened::summary(&input),
        Command::Why { input, variable, about } => {
            offline::why(&input, variable.as_deref(), about.as_deref())
        }
        Command::Step { input, id } => ask::step(&input, &id),
        Command::Value { input, id, key, chars } => ask::value(&input, &id, &key, chars),
        Command::Who { input, key, before } => ask::who(&input, &key, before.as_deref()),
        Command::Find { input, text, hits } => ask::find(&input, &text, hits),
        Command::Tool { input, call, inner } => ask::tool(&input, &call, inner),
        Command::Errors { input, kind, require_evidence } => {
            errors::errors(&input, kind.as_deref(), require_evidence)
        }
        Command::Events(args) => events::events(&args),
        Command::Mermaid { input, view, collapse_plumbing } => {
            opened::mermaid(&input, view, collapse_plumbing)
        }
        Command::Diff(args) => differ::diff(&args),
        Command::LintTools(args) => lint(&args),
        Command::Validate { input, strict } => offline::validate(&input, strict),
        Command::Pack { input } => opened::pack(&input),
        Command::Unpack { input } => opened::unpack(&input),
        Command::Report(args) => report::report(&args),
        Command::Audit { command } => audit::audit(&command),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::mcp(&args),
        Command::View(args) => view::view(&args),
        #[cfg(feature = "tui")]
        Command::Tui(args) => tui::tui(&args),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { folder } => shell::man(&folder),
    };
    match done {
        Ok(code) => out::ended(code),
        Err(failure) => failure.report(),
    }
}

/// Drives a future to its end on this thread.
fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::unusable(format!("no event loop: {error}")))?.block_on(future)
}

fn lint(args: &lint_tools::LintArgs) -> Result<ExitCode, Failure> {
    let outcome = lint_tools::lint(args);
    if outcome.code == 2 {
        return Err(Failure::unusable(outcome.text));
    }
    out::say(format!("{}\n", outcome.text));
    Ok(lint_tools::exit(&outcome))
}

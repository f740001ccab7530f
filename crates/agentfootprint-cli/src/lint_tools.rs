//! `lint-tools`: would a model know which tool of a catalogue to call? One argument grammar and one exit contract for the
//! subcommand and for the binary of its own name (TOOL-115).

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentfootprint::providers::embed::MockEmbedder;
use agentfootprint::tools::{LintOptions, LintOutcome, SimilarityThresholds, lint_tools};

/// Arguments of the linter.
#[derive(clap::Args, Debug)]
pub(crate) struct LintArgs {
    /// The catalogue: a list of tools as MCP, OpenAI or Anthropic have them. `-` reads standard input.
    file: PathBuf,
    /// Likeness from which on two tools are confusable, 0 to 1. Without it likeness is reported and fails nothing.
    #[arg(long)]
    threshold: Option<f32>,
    /// Width of the band below the threshold that is worth watching.
    #[arg(long)]
    watch_band: Option<f32>,
    /// Warnings fail too.
    #[arg(long)]
    strict: bool,
    /// Does not compare tools with each other.
    #[arg(long)]
    no_similarity: bool,
    /// How many of the most alike pairs are shown.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// Answers JSON.
    #[arg(long)]
    json: bool,
}

/// Lints; the text of the answer, or with code 2 why the catalogue cannot be used.
pub(crate) fn lint(args: &LintArgs) -> LintOutcome {
    let text = match read(&args.file) {
        Ok(text) => text,
        Err(error) => {
            return LintOutcome::unusable(format!("cannot read {}: {error}", args.file.display()));
        }
    };
    let options = LintOptions {
        threshold: args.threshold,
        watch_band: args.watch_band,
        strict: args.strict,
        top: args.top,
        json: args.json,
        calibration: SimilarityThresholds::for_mock(),
    };
    // Counts letters: no key, no network, the same everywhere. A likeness of meaning needs a model and the library.
    let embedder = MockEmbedder::new();
    let compared = (!args.no_similarity).then_some(&embedder as _);
    match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime.block_on(lint_tools(&text, &options, compared)),
        Err(error) => LintOutcome::unusable(format!("no runtime: {error}")),
    }
}

fn read(file: &Path) -> std::io::Result<String> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

/// The exit code of an outcome.
pub(crate) fn exit(outcome: &LintOutcome) -> ExitCode {
    ExitCode::from(outcome.code)
}

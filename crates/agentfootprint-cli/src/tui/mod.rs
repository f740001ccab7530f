//! `tui`: a recording in the terminal.
//!
//! [`model`] is everything on the screen, [`update`] what a key changes, [`view`] how it is drawn; none of them needs a terminal.

mod context;
mod detail;
mod layout;
mod model;
mod page;
mod rows;
mod run;
mod search;
mod terminal;
mod text;
mod update;
mod view;
mod why;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use crate::input::{Reading, recording_of};
use crate::out::Failure;
use model::Model;
use run::Run;
use view::Look;

#[derive(Args, Debug)]
pub(crate) struct TuiArgs {
    /// The recording; `-` reads standard input.
    file: PathBuf,
    /// Reads files up to this size (default 512 MiB).
    #[arg(long)]
    max_bytes: Option<usize>,
    /// Which recording of a bug report that holds several, such as conv-2.
    #[arg(long)]
    run: Option<String>,
}

pub(crate) fn tui(args: &TuiArgs) -> Result<ExitCode, Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::unusable(
            "`tui` draws on a terminal and standard output is none; `explain` and `summary` write text",
        ));
    }
    let reading = Reading { max_bytes: args.max_bytes, run: args.run.as_deref() };
    let run = Arc::new(Run::of(recording_of(&args.file, reading)?));
    let look = Look { colours: crate::out::colours_wanted() };
    terminal::shown(|columns, rows| Model::new(run, columns, rows), look)
        .map_err(|error| Failure::failed(format!("the terminal cannot be used: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// The recording, drawn once without a terminal.
#[cfg(test)]
pub(crate) fn of(input: &crate::input::Input) -> Result<ExitCode, Failure> {
    let opened = recording_of(&input.file, input.reading())?;
    let drawn = tests::drawn(&Model::new(Arc::new(Run::of(opened)), 100, 30));
    assert!(drawn.contains("timeline"));
    Ok(ExitCode::SUCCESS)
}

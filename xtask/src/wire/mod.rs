//! `cargo xtask wire DIR`: recorded provider traffic, replayed through our adapters without a network.
//!
//! A case is a folder with `exchange.json` (what was really asked and answered) and `expect.json` (what an adapter must
//! read out of it). Each response goes through the whole adapter — status, framing, assembly — and a streamed one also
//! in chunks of 1, 7 and 64 bytes. Where the recorded request has a counterpart on our port, the adapter must build the
//! same body; what has none is listed at the end as not compared.
//!
//! | file | holds |
//! |---|---|
//! | `case` | finding and reading cases |
//! | `replay` | an exchange that answers with the recorded response, in chunks of a given size |
//! | `check` | one case: run it, compare it |
//! | `anthropic` | from a recorded Messages request to ours, and back |
//! | `bedrock` | from a recorded Converse request to ours, and back |
//! | `gemini` | from a recorded generateContent request to ours, and back |
//! | `ollama` | from a recorded `/api/chat` request to ours, and back |
//! | `openai` | from a recorded Chat Completions request to ours, and back |

mod anthropic;
mod bedrock;
mod case;
mod check;
mod gemini;
mod ollama;
mod openai;
mod replay;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// What was deliberately not compared, and in how many exchanges.
#[derive(Debug, Default)]
pub(crate) struct Notes(BTreeMap<String, usize>);

impl Notes {
    fn add(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_insert(0) += 1;
    }
}

/// Runs every case below `dir` and prints one line per case that differs.
pub(crate) fn run(dir: &Path) -> ExitCode {
    let cases = match case::find(dir) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("cannot read {}: {error}", dir.display());
            return ExitCode::FAILURE;
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut notes = Notes::default();
    let (mut passed, mut failed) = (0, 0);
    for folder in &cases {
        let name = folder.strip_prefix(dir).unwrap_or(folder).display().to_string();
        let name = if name.is_empty() { folder.display().to_string() } else { name };
        let differences = check::case(folder, &runtime, &mut notes);
        if differences.is_empty() {
            passed += 1;
        } else {
            failed += 1;
            println!("FAIL {name}: {}", differences.join("; "));
        }
    }
    if !notes.0.is_empty() {
        println!("not compared, because the port has no counterpart or decides otherwise (exchanges):");
        notes.0.iter().for_each(|(what, count)| println!("  {count:4}  {what}"));
    }
    if cases.is_empty() {
        println!("no case found below {}", dir.display());
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

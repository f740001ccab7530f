//! `cargo xtask notes`: the texts a tool in another language mints too, from the constants of agentfootprint-core.

use std::path::Path;
use std::process::ExitCode;

use agentfootprint_core::tools::canonical_notes;

const FILE: &str = "canonical-notes.json";

pub(crate) fn run() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in [root.clone(), root.join("crates/agentfootprint-core")] {
        let path = folder.join(FILE);
        if let Err(error) = std::fs::write(&path, canonical_notes()) {
            eprintln!("{} cannot be written: {error}", path.display());
            return ExitCode::FAILURE;
        }
        println!("wrote {}", path.display());
    }
    ExitCode::SUCCESS
}

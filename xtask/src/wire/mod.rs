//! `cargo xtask wire DIR`: recorded provider traffic, replayed through the adapters. (being written)

use std::path::Path;
use std::process::ExitCode;

pub fn run(_dir: &Path) -> ExitCode {
    ExitCode::FAILURE
}

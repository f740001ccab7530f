//! `cargo xtask bench`: our workloads and their peers in one run, as a table of ratios. (being written)

use std::process::ExitCode;

pub fn run(_only: Option<&str>) -> ExitCode {
    ExitCode::FAILURE
}

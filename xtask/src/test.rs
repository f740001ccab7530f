//! `cargo xtask test`: everything that must hold before a change lands.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// One check: a title and the command that fails when it does not hold.
struct Step {
    title: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
}

const CHECKS: &[Step] = &[
    Step { title: "format", program: "cargo", args: &["fmt", "--all", "--check"], env: &[] },
    Step {
        title: "lints, warnings denied",
        program: "cargo",
        args: &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--keep-going",
            "--",
            "-D",
            "warnings",
        ],
        env: &[],
    },
    Step {
        title: "build without features",
        program: "cargo",
        args: &["check", "--workspace", "--no-default-features"],
        env: &[],
    },
    Step {
        title: "unit and integration tests",
        program: "cargo",
        args: &["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"],
        env: &[],
    },
    Step {
        title: "documentation tests",
        program: "cargo",
        args: &["test", "--workspace", "--all-features", "--doc", "--no-fail-fast"],
        env: &[],
    },
    Step {
        title: "documentation",
        program: "cargo",
        args: &["doc", "--workspace", "--all-features", "--no-deps"],
        env: &[("RUSTDOCFLAGS", "-D warnings")],
    },
];

pub(crate) fn run() -> ExitCode {
    let mut failed = Vec::new();
    for step in CHECKS {
        if !perform(step.title, step.program, step.args, step.env) {
            failed.push(step.title.to_owned());
        }
    }
    failed.extend(run_examples());
    failed.extend(viewer());
    failed.extend(conformance());
    if failed.is_empty() {
        println!("\nall checks passed");
        return ExitCode::SUCCESS;
    }
    println!("\nfailed: {}", failed.join(", "));
    ExitCode::FAILURE
}

/// The viewer's unit tests, where Node.js can install their packages; its page is committed, so nobody else needs them.
fn viewer() -> Vec<String> {
    let folder = workspace_root().join("viewer");
    let npm = |args: &[&str]| {
        let status = Command::new("npm").args(args).current_dir(&folder).status();
        status.is_ok_and(|status| status.success())
    };
    println!("\n== viewer: npm test");
    let installed =
        folder.join("node_modules").is_dir() || npm(&["ci", "--silent", "--no-audit", "--no-fund"]);
    if !installed {
        println!("== viewer: skipped, npm could not install its packages");
        return Vec::new();
    }
    let started = Instant::now();
    let passed = npm(&["test", "--silent"]);
    println!("== viewer: {} ({} s)", if passed { "passed" } else { "FAILED" }, started.elapsed().as_secs());
    if passed { Vec::new() } else { vec!["viewer".to_owned()] }
}

/// Every example of the workspace that needs nothing from outside must run to its end.
fn run_examples() -> Vec<String> {
    let mut failed = Vec::new();
    for (package, folder) in
        [("footprint-engine", "crates/footprint/examples"), ("agentfootprint", "examples")]
    {
        for name in examples_in(&workspace_root().join(folder)) {
            let title = format!("example {name}");
            if !perform(&title, "cargo", &["run", "--quiet", "--package", package, "--example", &name], &[]) {
                failed.push(title);
            }
        }
    }
    failed
}

fn examples_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
}

/// Conformance data is not part of the repository; it is used when it lies beside it.
fn conformance() -> Vec<String> {
    let shared = workspace_root().join("../shared");
    let mut failed = Vec::new();
    for (title, folder) in [("golden scenarios", "golden"), ("wire traffic", "wire")] {
        let dir = shared.join(folder);
        if !dir.is_dir() {
            println!("\n== {title}: skipped, no folder {}", dir.display());
            continue;
        }
        let dir = dir.to_string_lossy().into_owned();
        println!("\n== {title}");
        let started = Instant::now();
        let output =
            Command::new("cargo").args(["run", "--quiet", "--package", "xtask", "--", folder, &dir]).output();
        let Ok(output) = output else {
            failed.push(title.to_owned());
            continue;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        println!("{} ({} s)", text.lines().last().unwrap_or_default(), started.elapsed().as_secs());
        if !output.status.success() && !holds_floor(folder, &text) {
            text.lines().filter(|line| line.starts_with("FAILED")).for_each(|line| println!("{line}"));
            failed.push(title.to_owned());
        }
    }
    failed
}

/// Subjects that are not built yet fail by name; everything that once passed is listed and must go on passing. Without a list,
/// every case must pass.
fn holds_floor(command: &str, output: &str) -> bool {
    let floor = expected_names(&workspace_root().join("xtask/floors").join(format!("{command}.txt")));
    let passing = passing_names(output);
    let missing: Vec<_> = floor.iter().filter(|name| !passing.contains(name)).collect();
    missing.iter().for_each(|name| println!("must pass and does not: {name}"));
    !floor.is_empty() && missing.is_empty()
}

/// Lines `ok <name>` of a conformance command.
fn passing_names(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| line.strip_prefix("ok ")).map(|name| name.trim().to_owned()).collect()
}

/// The cases that are known to pass and must go on passing, one name a line.
fn expected_names(floor: &Path) -> Vec<String> {
    std::fs::read_to_string(floor)
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

fn perform(title: &str, program: &str, args: &[&str], env: &[(&str, &str)]) -> bool {
    println!("\n== {title}: {program} {}", args.join(" "));
    let started = Instant::now();
    let status =
        Command::new(program).args(args).envs(env.iter().copied()).current_dir(workspace_root()).status();
    let passed = status.is_ok_and(|status| status.success());
    println!("== {title}: {} ({} s)", if passed { "passed" } else { "FAILED" }, started.elapsed().as_secs());
    passed
}

/// The folder of the workspace manifest.
pub(crate) fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

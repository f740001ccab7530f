//! `cargo xtask bench`: our workloads and their peers in one run, as a table of ratios.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::test::workspace_root;

/// What one side measured for one workload.
struct Row {
    per_step_us: f64,
    heap_bytes_per_step: f64,
    payload_bytes_per_step: f64,
    allocations_per_step: Option<f64>,
    windows_us: Option<(f64, f64)>,
}

pub(crate) fn run(only: Option<&str>) -> ExitCode {
    let Some(ours) = our_side(only) else {
        eprintln!("our side of the benchmarks did not run to its end");
        return ExitCode::FAILURE;
    };
    let mut peers = footprintjs(&ours);
    let graphs = langgraph(&ours);
    let agents_alone = graphs.is_empty() && ours.keys().any(|name| name.starts_with(AGENT));
    peers.extend(graphs);
    peers.extend(rig(&ours));
    println!(
        "\n{:<19} {:>12} {:>14} {:>9} {:>16} {:>8} {:>20}",
        "workload", "ours µs/step", "peer µs/step", "ratio", "heap B/step", "allocs", "first→last tenth µs"
    );
    for (name, row) in &ours {
        let peer = peers.get(name);
        println!(
            "{name:<19} {:>12.3} {:>14} {:>9} {:>16} {:>8} {:>20}",
            row.per_step_us,
            peer.map_or_else(|| "–".to_owned(), |peer| format!("{:.1}", peer.per_step_us)),
            peer.map_or_else(|| "–".to_owned(), |peer| format!("{:.0}×", peer.per_step_us / row.per_step_us)),
            format!(
                "{:.0} (+{:.0})",
                row.heap_bytes_per_step - row.payload_bytes_per_step,
                row.payload_bytes_per_step
            ),
            row.allocations_per_step.map_or_else(|| "–".to_owned(), |count| format!("{count:.1}")),
            row.windows_us.map_or_else(|| "–".to_owned(), |(first, last)| format!("{first:.2} → {last:.2}")),
        );
    }
    if peers.is_empty() {
        println!(
            "\nno peer ran: Node.js and the npm registry are needed for footprintjs (bench/peers/footprintjs)"
        );
    }
    if agents_alone {
        println!(
            "\nno peer of the agent ran: Python 3 and PyPI are needed for LangGraph (bench/peers/langgraph)"
        );
    }
    println!(
        "\nheap: bytes retained per step beyond the caller's payload (+ payload); ratio: peer time / our time in this run; \
         peers: rig for agent-http-* (it runs, we record), LangGraph for other agent-*, footprintjs otherwise"
    );
    ExitCode::SUCCESS
}

fn our_side(only: Option<&str>) -> Option<BTreeMap<String, Row>> {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--release", "--package", "agentfootprint-bench", "--"]);
    rows(command.args(only).current_dir(workspace_root()))
}

/// What the names of agent workloads begin with.
const AGENT: &str = "agent-";

/// What the names of agent workloads with a model behind a connection begin with.
const SERVED: &str = "agent-http-";

/// Builds the peer of the agent that is written in Rust too and runs the workloads that both sides know.
fn rig(ours: &BTreeMap<String, Row>) -> BTreeMap<String, Row> {
    let wanted: Vec<&String> = ours.keys().filter(|name| name.starts_with(SERVED)).collect();
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--release", "--"]).args(wanted);
    rows(command.current_dir(workspace_root().join("bench/peers/rig"))).unwrap_or_default()
}

/// Installs the peer of the agent into an environment of its own and runs the workloads that both sides know.
fn langgraph(ours: &BTreeMap<String, Row>) -> BTreeMap<String, Row> {
    let wanted: Vec<&String> =
        ours.keys().filter(|name| name.starts_with(AGENT) && !name.starts_with(SERVED)).collect();
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let folder = workspace_root().join("bench/peers/langgraph");
    let python = folder.join(".venv/bin/python");
    if !python.is_file() {
        let quiet = |command: &mut Command| {
            command.current_dir(&folder).status().is_ok_and(|status| status.success())
        };
        let made = quiet(Command::new("python3").args(["-m", "venv", ".venv"]))
            && quiet(Command::new(&python).args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "-r",
                "requirements.txt",
            ]));
        if !made {
            return BTreeMap::new();
        }
    }
    let mut command = Command::new(&python);
    rows(command.arg("bench.py").args(wanted).current_dir(&folder)).unwrap_or_default()
}

/// Installs the peer when it is not there yet and runs the workloads that both sides know.
fn footprintjs(ours: &BTreeMap<String, Row>) -> BTreeMap<String, Row> {
    let folder = workspace_root().join("bench/peers/footprintjs");
    if !folder.join("node_modules").is_dir() {
        let installed = Command::new("npm")
            .args(["ci", "--silent", "--no-audit", "--no-fund"])
            .current_dir(&folder)
            .status();
        if !installed.is_ok_and(|status| status.success()) {
            return BTreeMap::new();
        }
    }
    let mut command = Command::new("node");
    command.args(["--expose-gc", "--max-old-space-size=8192", "bench.mjs", "warm-up"]).args(ours.keys());
    rows(command.current_dir(&folder)).unwrap_or_default()
}

fn rows(command: &mut Command) -> Option<BTreeMap<String, Row>> {
    let output = command.output().ok()?;
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|row| parse(&row));
    output.status.success().then(|| rows.collect())
}

fn parse(row: &Value) -> Option<(String, Row)> {
    let number = |key: &str| row.get(key).and_then(Value::as_f64);
    let window =
        |index: usize| row.get("windowsUs").and_then(|windows| windows.get(index)).and_then(Value::as_f64);
    Some((
        row.get("workload")?.as_str()?.to_owned(),
        Row {
            per_step_us: number("perStepUs")?,
            heap_bytes_per_step: number("heapBytesPerStep").unwrap_or_default(),
            payload_bytes_per_step: number("payloadBytesPerStep").unwrap_or_default(),
            allocations_per_step: number("allocationsPerStep"),
            windows_us: window(0).zip(window(1)),
        },
    ))
}

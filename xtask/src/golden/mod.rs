//! `cargo xtask golden DIR`: builds and runs every scenario below DIR and compares the record with what it expects.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

mod agent;
mod chart;
mod compose;
mod documents;
mod expr;
mod judge;
mod log;
mod matcher;
mod normalise;
mod topology;

use judge::{Manner, Observed, judge, structure};
use matcher::{Bindings, Difference};

/// Differences shown of a failing scenario without `--full`.
const SHOWN: usize = 6;

/// What running one scenario gave: a record per run and the structure, or why it cannot be run.
pub(crate) struct Played {
    pub runs: Vec<Observed>,
    pub structure: Option<Value>,
    pub documents: Option<Value>,
    pub stores: Option<Value>,
}

pub(crate) fn run(dir: &Path, only: Option<&str>, full: bool) -> ExitCode {
    let scenarios = discover(dir);
    if scenarios.is_empty() {
        eprintln!("no scenario.json below {}", dir.display());
        return ExitCode::from(2);
    }
    let (mut passed, mut failed) = (0_usize, 0_usize);
    for folder in scenarios {
        let name = scenario_name(dir, &folder);
        if only.is_some_and(|only| !name.contains(only)) {
            continue;
        }
        match check(&folder) {
            Ok(differences) if differences.is_empty() => {
                passed += 1;
                println!("ok {name}");
            }
            Ok(differences) => {
                failed += 1;
                println!("FAILED {name}: {} differences", differences.len());
                let shown = if full { differences.len() } else { SHOWN };
                for difference in differences.iter().take(shown) {
                    println!(
                        "    {}\n        expected {}\n        found    {}",
                        difference.at, difference.expected, difference.found
                    );
                }
            }
            Err(reason) => {
                failed += 1;
                println!("FAILED {name}: {reason}");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check(folder: &Path) -> Result<Vec<Difference>, String> {
    let scenario = read(&folder.join("scenario.json"))?;
    let expected = read(&folder.join("expect.json"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Waits of decorators and rules are virtual: no scenario sleeps.
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    let kind = text(&scenario, "kind");
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runtime.block_on(async {
            match kind.as_str() {
                "chart" => chart::play(&scenario).await,
                kind if compose::KINDS.contains(&kind) => compose::play(&scenario).await,
                _ => agent::play(&scenario).await,
            }
        })
    }))
    .map_err(|panic| format!("panicked: {}", panic_text(panic.as_ref())))??;
    let differs: Vec<String> = expected
        .get("differs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.as_str().map(str::to_owned))
        .collect();
    let manner = Manner {
        chart: kind == "chart",
        interleaved: expected.get("interleaved").and_then(Value::as_bool).unwrap_or_default(),
        differs: &differs,
    };
    let mut out = Vec::new();
    let mut bindings = Bindings::default();
    let runs = expected.get("runs").and_then(Value::as_array).cloned().unwrap_or_default();
    if runs.len() != played.runs.len() {
        return Err(format!("{} runs expected, {} made", runs.len(), played.runs.len()));
    }
    let recording = read(&folder.join("recording.json")).unwrap_or_default();
    let recorded = recording.get("structure").cloned();
    if let (true, Some(first), Some(snapshot)) =
        (manner.chart, played.runs.first(), recording.get("snapshot"))
    {
        chart::rows(snapshot, &first.snapshot, &mut out);
    }
    let case = chart::Case { scenario: &scenario, structure: recorded.as_ref(), differs: &differs };
    for (index, (wanted, observed)) in runs.iter().zip(&played.runs).enumerate() {
        let mut found = if manner.chart {
            let (wanted, observed) = chart::settle(&case, index, wanted, observed);
            judge(&wanted, &observed, &manner, &mut bindings)
        } else {
            judge(wanted, observed, &manner, &mut bindings)
        };
        found
            .iter_mut()
            .for_each(|difference| difference.at = format!("run {}: {}", index + 1, difference.at));
        out.append(&mut found);
    }
    if let Some(recorded) = &recorded {
        let wanted = if manner.chart { chart::structure(recorded) } else { recorded.clone() };
        structure("structure", &wanted, played.structure.as_ref(), &mut out);
    }
    if let Some(wanted) = expected.get("documents") {
        let wanted = documents::without_texts(wanted);
        matcher::compare("documents", &wanted, played.documents.as_ref(), &mut bindings, &mut out);
    }
    if let Some(wanted) = expected.get("stores") {
        matcher::compare("stores", wanted, played.stores.as_ref(), &mut bindings, &mut out);
    }
    Ok(out)
}

fn discover(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(folder) = open.pop() {
        if folder.join("scenario.json").is_file() {
            found.push(folder.clone());
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        open.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    found.sort();
    found
}

fn scenario_name(dir: &Path, folder: &Path) -> String {
    let relative = folder.strip_prefix(dir).unwrap_or(folder);
    let name = relative.to_string_lossy().into_owned();
    if name.is_empty() {
        folder.file_name().map_or_else(|| ".".to_owned(), |name| name.to_string_lossy().into_owned())
    } else {
        name
    }
}

fn read(path: &Path) -> Result<Value, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut deserializer = serde_json::Deserializer::from_slice(&bytes);
    deserializer.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut deserializer).map_err(|error| format!("{}: {error}", path.display()))
}

/// A text field, empty when absent.
pub(crate) fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

//! A run that waits for a person, across processes: the first process stores a checkpoint and ends; a second one, started
//! with the answer, goes on where the first stopped.
//!
//! `cargo run -p footprint-engine --example approval`
#![allow(clippy::print_stdout)]

use std::process::Command;

use footprint::pause::FlowchartCheckpoint;
use footprint::prelude::*;

const AMOUNT: Key<u32> = Key::new("amount");

type Outcomes = Result<(), Box<dyn std::error::Error>>;

fn chart() -> Result<Chart, Box<dyn std::error::Error>> {
    let chart = Chart::builder(Stage::new("price", |s: Scope| async move { Ok(s.set(AMOUNT, 4_200_u32)?) }))
        .then(Stage::pausable(
            "approve",
            |s: Scope| async move {
                let amount = s.get(AMOUNT)?;
                Ok(Step::Pause(format!("Pay {amount} to the supplier?")))
            },
            |s: Scope, answer: String| async move {
                s.set_value("approvedBy", answer)?;
                Ok(())
            },
        ))
        .then(Stage::new("pay", |s: Scope| async move {
            let (amount, by) = (s.get(AMOUNT)?, s.get(Key::<String>::new("approvedBy"))?);
            Ok(format!("{amount} paid, approved by {by}"))
        }))
        .build()?;
    Ok(chart)
}

/// Runs until the question and hands the rest to another process.
async fn ask() -> Outcomes {
    let report = chart()?.run(RunOptions::new()).await;
    let paused = report.paused().ok_or("the run did not pause")?;
    println!("process {}: {}", std::process::id(), paused.question().cloned().unwrap_or_default());
    let file = std::env::temp_dir().join(format!("approval-{}.json", std::process::id()));
    std::fs::write(&file, paused.checkpoint().to_json())?;
    println!(
        "process {}: checkpoint of {} bytes stored",
        std::process::id(),
        std::fs::metadata(&file)?.len()
    );
    let status = Command::new(std::env::current_exe()?).arg(&file).arg("Ann").status()?;
    std::fs::remove_file(&file)?;
    if status.success() { Ok(()) } else { Err("the second process failed".into()) }
}

/// Goes on from a stored checkpoint. Nothing before the question runs again.
async fn answer(file: &str, answer: String) -> Outcomes {
    let checkpoint = FlowchartCheckpoint::from_json(&std::fs::read_to_string(file)?)?;
    let report = chart()?.resume(checkpoint, answer, RunOptions::new())?.await.into_result()?;
    let Outcome::Completed(result) = report.outcome() else { return Err("asked again".into()) };
    println!("process {}: {}", std::process::id(), result.clone().unwrap_or_default());
    for bundle in report.snapshot().commit_log.iter() {
        println!("process {}: commit {}", std::process::id(), bundle.runtime_stage_id);
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcomes {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next(), arguments.next()) {
        (Some(file), Some(by)) => answer(&file, by).await,
        _ => ask().await,
    }
}

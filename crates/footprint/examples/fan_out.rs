//! Parallel children: three checks at once, one of which fails, then one branch per document.
//!
//! `cargo run -p footprint-engine --example fan_out`
#![allow(clippy::print_stdout)]

use std::time::Duration;

use footprint::prelude::*;

const REVIEWS: ListKey<Value> = ListKey::new("reviews");

/// A check that takes its time and answers with a number.
fn check(id: &'static str, millis: u64, points: i64) -> Stage {
    Stage::new(id, move |s: Scope| async move {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        if points < 0 {
            return Err(StageError::named("Unreachable", "the register does not answer"));
        }
        s.set_value("points", points)?;
        Ok(())
    })
}

fn review(name: &str) -> Result<Chart, StageError> {
    let name = name.to_owned();
    let read = Stage::new("read", move |s: Scope| {
        let name = name.clone();
        async move {
            s.set_value("pages", name.len())?;
            Ok(format!("{name}: {} pages", name.len()))
        }
    });
    Chart::builder(read).build().map_err(|errors| StageError::new(errors.to_string()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let chart = Chart::builder(Stage::new("start", |s: Scope| async move {
        s.set_value("documents", ["lease", "contract", "letter"])?;
        Ok(())
    }))
    .fork([check("bank", 30, 7), check("register", 10, -1), check("employer", 20, 5)], FanOut::AllSettled)
    .then(Stage::new("sum", |s: Scope| async move {
        let mut sum = 0;
        for branch in ["bank", "register", "employer"] {
            sum += s.branch(branch).value("points")?.and_then(|points| points.as_i64()).unwrap_or_default();
        }
        s.set_value("sum", sum)?;
        Ok(())
    }))
    .for_each(
        ForEach::new(
            "review",
            |s: Scope| Ok(s.get(Key::<Vec<String>>::new("documents"))?.to_vec()),
            |name: &String, _| review(name),
        )
        .max_branches(8)
        .into(REVIEWS),
    )
    .build()?;

    let report = chart.run(RunOptions::new().narrative(true)).await.into_result()?;
    for entry in report.narrative_entries() {
        println!("{}", entry.text);
    }
    let state = report.state();
    println!("\nSum of the checks that answered: {}", state.get("sum").cloned().unwrap_or_default());
    println!("Reviews, in the order of the documents: {}", state.get("reviews").cloned().unwrap_or_default());
    println!("\nCommits of the parallel children, in the order they finished:");
    for bundle in report.snapshot().commit_log.iter() {
        println!("  {:>2} {} ({} rows)", bundle.idx.0, bundle.runtime_stage_id, bundle.rows.len());
    }
    Ok(())
}

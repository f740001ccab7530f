//! A linear chart with one decision: who may get the loan, and which rule said so.
//!
//! `cargo run -p footprint-engine --example decision`
#![allow(clippy::print_stdout)]

use footprint::prelude::*;
use footprint::query::{SliceOptions, StateKey};

const SCORE: Key<u32> = Key::new("score");
const INCOME: Key<u32> = Key::new("income");
const ANSWER: Key<String> = Key::new("answer");

fn chart() -> Result<Chart, Box<dyn std::error::Error>> {
    let route = |s: Scope| async move {
        let rules = [
            Rule::when(field("score").gte(700), "approve").label("good score"),
            Rule::when(field("score").gte(600).field("income").gte(40_000), "approve").label("steady income"),
        ];
        Ok(decide(&s, &rules, "review")?)
    };
    let chart = Chart::builder(
        Stage::new("load", |s: Scope| async move {
            s.set(SCORE, 640_u32)?;
            s.set(INCOME, 52_000_u32)?;
            Ok(())
        })
        .named("Load application"),
    )
    .decide(
        Decider::new("route", route)
            .named("Route")
            .branch(
                Stage::new("approve", |s: Scope| async move { Ok(s.set(ANSWER, "approved")?) })
                    .named("Approve"),
            )
            .branch(
                Stage::new("review", |s: Scope| async move { Ok(s.set(ANSWER, "ask a person")?) })
                    .named("Review"),
            )
            .default_branch("review"),
    )
    .then(Stage::new("file", |s: Scope| async move {
        let answer = s.get(ANSWER)?;
        s.set_value("filed", format!("application {answer}"))?;
        Ok(())
    }))
    .build()?;
    Ok(chart)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let chart = chart()?;
    println!("The chart:\n{}\n", chart.description());

    let report = chart.run(RunOptions::new().narrative(true)).await.into_result()?;
    println!("What happened:");
    for entry in report.narrative_entries() {
        println!("  {}", entry.text);
    }
    println!("\nFinal state: {}", Value::Object(report.state()));

    let query = TraceQuery::new(report.snapshot().clone());
    let why = query.root().slice_for_key(&StateKey::key("answer")?, None, &SliceOptions::for_key())?;
    println!("\nWhy is `answer` what it is?\n{}", why.format());
    Ok(())
}

//! A hundred thousand passes of a loop that keeps everything it did, and any pass looked at afterwards.
//!
//! `cargo run --release -p footprint-engine --example long_loop`
#![allow(clippy::print_stdout)]

use std::time::Instant;

use footprint::ids::CommitIdx;
use footprint::prelude::*;
use footprint::query::StateKey;

const PASS: Key<u64> = Key::new("pass");
const PRIMES: ListKey<u64> = ListKey::new("primes");
const PASSES: u64 = 100_000;

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let chart = Chart::builder(Stage::new("try", |s: Scope| async move {
        let pass = s.try_get(PASS)?.map_or(0, |pass| *pass) + 1;
        s.set(PASS, pass)?;
        if is_prime(pass) {
            s.push(PRIMES, pass)?;
        }
        if pass == PASSES {
            s.stop("far enough")?;
        }
        Ok(())
    }))
    .loop_to("try")
    .build()?;

    let started = Instant::now();
    let options = RunOptions::new().max_iterations(PASSES).commit_values(CommitValues::Delta);
    let report = chart.run(options).await.into_result()?;
    let took = started.elapsed();
    println!("{PASSES} passes in {took:.0?}, {:.2} µs each", took.as_secs_f64() * 1e6 / PASSES as f64);
    println!("{} commits are in the log", report.snapshot().commit_log.len());

    let started = Instant::now();
    let query = TraceQuery::new(report.snapshot().clone());
    let key = StateKey::key("primes")?;
    let there = query.root().value_at(&key, CommitIdx(999))?;
    let known = there.value.value().and_then(Value::as_array).map_or(0, Array::len);
    println!("after pass 1000 the list had {known} primes");
    if let Some(born) = query.root().element_birth(&key, 9_591, None).and_then(|birth| birth.born) {
        println!("the 9592nd prime was found by {}", born.runtime_stage_id);
    }
    println!("both answers took {:.0?}, the index of the log included", started.elapsed());
    Ok(())
}

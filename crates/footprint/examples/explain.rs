//! Explaining a stored run with no chart at hand: the recording is a file, the questions are queries.
//!
//! `cargo run -p footprint-engine --example explain [RECORDING.json]`; without a file it records a run first.
#![allow(clippy::print_stdout)]

use footprint::ids::CommitIdx;
use footprint::prelude::*;
use footprint::query::{Cursor, LogParts, LogView, Move, SearchQuery, SliceOptions, StateKey};
use footprint::snapshot::{OpenLimits, Recording, write_recording};

type Outcomes<T> = Result<T, Box<dyn std::error::Error>>;

/// A run whose answer depends on two of the four things it read.
async fn record() -> Outcomes<Vec<u8>> {
    let tax = Chart::builder(Stage::new("rate", |s: Scope| async move {
        let country: String = s.get(Key::<String>::new("country"))?.to_string();
        s.set_value("percent", if country == "DE" { 19 } else { 20 })?;
        Ok(())
    }))
    .build()?;
    let chart = Chart::builder(Stage::new("order", |s: Scope| async move {
        s.set_value("net", 200)?;
        s.set_value("country", "DE")?;
        s.set_value("note", "leave it at the door")?;
        Ok(())
    }))
    .mount(Mount::of("tax", &tax).input_keys([("country", "country")]).output_keys([("percent", "percent")]))
    .then(Stage::new("total", |s: Scope| async move {
        let (net, percent) = (s.get(Key::<i64>::new("net"))?, s.get(Key::<i64>::new("percent"))?);
        s.set_value("gross", *net + *net * *percent / 100)?;
        Ok(())
    }))
    .then(Stage::new("print", |s: Scope| async move {
        s.value("note")?;
        s.set_value("printed", true)?;
        Ok(())
    }))
    .build()?;
    let options = RunOptions::new().write_provenance(WriteProvenance::ReadsPrefix);
    let report = chart.run(options).await.into_result()?;
    let recording = Recording { snapshot: report.snapshot().clone(), beside: Vec::new() };
    let mut text = String::new();
    write_recording(&recording, &mut text);
    Ok(text.into_bytes())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcomes<()> {
    let (bytes, key) = match std::env::args().nth(1) {
        Some(file) => (std::fs::read(file)?, std::env::args().nth(2)),
        None => (record().await?, Some("gross".to_owned())),
    };
    let query = TraceQuery::open(&bytes, &OpenLimits::default())?;
    println!("A recording of {} bytes, {} commits:", bytes.len(), query.root().len());

    // Walk through it, one step at a time.
    let parts = LogParts {
        log: query.root().log().clone(),
        initial: query.root().initial_state().cloned(),
        ..LogParts::default()
    };
    let mut cursor = Cursor::new(std::sync::Arc::new(LogView::new(parts)));
    while cursor.forward() == Move::Moved {
        let changed: Vec<String> =
            cursor.changed_since(cursor.position() - 1).iter().map(ToString::to_string).collect();
        println!("  stop {}: changed [{}]", cursor.position(), changed.join(", "));
    }

    let Some(key) = key else { return Ok(()) };
    let state_key = StateKey::dotted(&key)?;
    let last = query.root().value_at(&state_key, CommitIdx(usize::MAX))?;
    println!("\n`{key}` is {}. Why?", last.value.value().cloned().unwrap_or_default());
    let why = query.root().slice_for_key(&state_key, None, &SliceOptions::for_key())?;
    println!("{}", why.format());

    let hits = query.search(&SearchQuery::key("note"));
    println!("Steps that have to do with `note`, which `{key}` does not depend on: {}", hits.hits.len());
    Ok(())
}

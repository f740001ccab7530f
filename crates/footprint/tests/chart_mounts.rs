//! What one inner chart leaves behind, however it is mounted, and what many runs of one chart share: nothing.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use footprint::chart::{Chart, FanOut, ForEach, Mount, Stage};
use footprint::clock::ManualClock;
use footprint::ids::CountedRunIds;
use footprint::prelude::{Decider, Value};
use footprint::scope::Scope;
use footprint::walk::RunOptions;

fn set(id: &'static str) -> Stage {
    Stage::new(id, move |scope: Scope| async move {
        scope.set_value(id, id)?;
        Ok(())
    })
}

/// Two levels: a stage, a decider with a branch, a nested mount.
fn inner() -> Chart {
    let leaf = Chart::builder(set("leaf").named("Leaf")).build().unwrap();
    Chart::builder(set("first").named("First"))
        .decide(
            Decider::new("pick", |_: Scope| async { Ok("left") }).branch(set("left")).branch(set("right")),
        )
        .mount(Mount::of("deep-leaf", &leaf).named("Nested"))
        .build()
        .unwrap()
}

/// Addresses (and names) of every bundle in a run, inner logs included, with the mount segment `segment` renamed to `*`.
async fn addresses(chart: &Chart, segment: &str) -> Vec<String> {
    let report = chart.run(RunOptions::new()).await.into_result().unwrap();
    let json: serde_json::Value = serde_json::from_str(&report.snapshot().to_json()).unwrap();
    let mut found = Vec::new();
    let results = json["subflowResults"].as_object().unwrap();
    for (key, result) in results.iter().filter(|(key, _)| key.contains('#')) {
        let bundles = result["treeContext"]["history"].as_array().unwrap();
        found.push(format!("{key}: {}", bundles.len()));
        for bundle in bundles {
            let text = |field: &str| bundle[field].as_str().unwrap().to_owned();
            found.push(format!("{} {} {}", text("runtimeStageId"), text("stageId"), text("stage")));
        }
    }
    assert!(found.iter().any(|line| line.starts_with(&format!("{segment}/deep-leaf/leaf#"))), "{found:#?}");
    let mut found: Vec<String> = found.into_iter().map(|line| line.replace(segment, "*")).collect();
    found.sort();
    found
}

/// Proves ENG-10, ENG-27, ENG-37, ENG-40: eager, lazy and generated mounts of one chart give the same addresses below their segment.
#[tokio::test]
async fn eager_lazy_and_generated_mounts_have_the_same_addresses() {
    let seed = || Chart::builder(set("seed"));
    let eager = seed().mount(Mount::of("sf", &inner())).build().unwrap();
    let lazy = seed().mount(Mount::lazy("sf", inner)).build().unwrap();
    let each = ForEach::new("each", |_: Scope| Ok(vec![Value::Null]), |_: &Value, _| inner())
        .max_branches(1)
        .into("out");
    let each = seed().for_each(each).build().unwrap();

    let eager = addresses(&eager, "sf").await;
    assert_eq!(addresses(&lazy, "sf").await, eager);

    // A generated mount is one visit later (the for-each itself is a visit) and is seeded with its item and index; nothing else
    // differs.
    let shifted: Vec<String> =
        addresses(&each, "each~0").await.into_iter().map(|line| shift(&line)).collect();
    let strip = |lines: Vec<String>| -> Vec<String> {
        let mut kept: Vec<String> =
            lines.into_iter().filter(|line| !line.starts_with("*#") && line.contains("/")).collect();
        kept.sort();
        kept
    };
    assert_eq!(strip(shifted), strip(eager));
}

/// Moves every execution index one back.
fn shift(line: &str) -> String {
    let Some((before, after)) = line.split_once('#') else { return line.to_owned() };
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    let index: u64 = digits.parse().unwrap();
    format!("{before}#{}{}", index.saturating_sub(1), &after[digits.len()..])
}

/// Proves ENG-1, ENG-140, ENG-154: one chart run 1 000 times at once gives 1 000 records that are the same, byte for byte, when
/// time stands still and every run numbers its own ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_runs_of_one_chart_are_identical() {
    let each =
        ForEach::new("each", |_: Scope| Ok(vec![1_u8]), |_: &u8, _| inner()).max_branches(2).into("out");
    let chart = Chart::builder(set("seed"))
        .fork([set("a"), set("b")], FanOut::AllSettled)
        .mount(Mount::lazy("sf", inner))
        .for_each(each)
        .build()
        .unwrap();
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let chart = chart.clone();
        running.spawn(async move {
            let clock = Arc::new(ManualClock::at(1_000));
            let options = RunOptions::new().clock(clock.clone()).run_ids(Arc::new(CountedRunIds::new(clock)));
            let report = chart.run(options).await;
            (report.snapshot().to_json(), report.runtime_structure().to_json())
        });
    }
    let records = running.join_all().await;
    assert_eq!(records.len(), 1_000);
    let first = &records[0];
    assert!(first.0.contains("each~0/deep-leaf/leaf#"));
    assert!(records.iter().all(|record| record == first));
}

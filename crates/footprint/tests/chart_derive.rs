//! `#[derive(State)]` as a program uses it.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "derive")]

use std::collections::BTreeMap;

use footprint::prelude::*;

#[derive(serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
struct Line {
    sku: String,
}

/// State of the order chart.
#[derive(State)]
#[allow(dead_code)]
struct Order {
    /// Sum of all lines.
    total: f64,
    #[state(list)]
    line_items: Vec<Line>,
    #[state(map)]
    by_sku: BTreeMap<String, Line>,
    #[state(rename = "llmLatestContent")]
    latest: Option<String>,
    #[state(skip)]
    scratch: u8,
}

/// Proves ENG-62: the keys are constants of the right types with the recorded names.
#[test]
fn keys_are_constants() {
    const TOTAL: Key<f64> = Order::TOTAL;
    const ITEMS: ListKey<Line> = Order::LINE_ITEMS;
    const BY_SKU: MapKey<Line> = Order::BY_SKU;
    const LATEST: Key<Option<String>> = Order::LATEST;
    let names = [TOTAL.name(), ITEMS.name(), BY_SKU.name(), LATEST.name()];
    assert_eq!(names, ["total", "lineItems", "bySku", "llmLatestContent"]);
}

/// Proves ENG-62: a run reads and writes through them.
#[tokio::test]
async fn a_run_uses_them() {
    let chart = Chart::builder(Stage::new("seed", |scope: Scope| async move {
        scope.set(Order::TOTAL, 40.0)?;
        scope.push(Order::LINE_ITEMS, Line { sku: "tea".into() })?;
        Ok(())
    }))
    .then(Stage::new("price", |scope: Scope| async move {
        let total = *scope.get(Order::TOTAL)?;
        scope.set(Order::TOTAL, total + scope.get(Order::LINE_ITEMS)?.len() as f64)?;
        Ok(())
    }))
    .build()
    .unwrap();
    let report = chart.run(RunOptions::new()).await.into_result().unwrap();
    let expected = footprint::value!({ "total": 41, "lineItems": [{ "sku": "tea" }] });
    assert_eq!(Value::from(report.state()), expected);
}

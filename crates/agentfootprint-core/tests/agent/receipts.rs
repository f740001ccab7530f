use agentfootprint_core::run::Runner;
use footprint::value::Value;

use crate::support::*;

fn receipts(report: &agentfootprint_core::run::RunReport<String>) -> Vec<Value> {
    let log = &report.record.snapshot().commit_log;
    log.iter()
        .filter(|bundle| &*bundle.stage_id == "call-llm")
        .flat_map(|bundle| {
            bundle.rows.iter().filter(|row| row.path.to_string() == "receipt").map(|row| row.value.clone())
        })
        .collect()
}

/// Proves P-15, AGT-90, AGT-91.
#[tokio::test]
async fn a_receipt_tells_what_was_sent_by_hashes_salted_by_the_run() {
    let made = || {
        agent(&Script::new([look("c1"), say("done")]))
            .system("Be short.")
            .tool(looking("seen"))
            .build()
            .unwrap()
    };
    let mut runs = Vec::new();
    for _ in 0..2 {
        let (report, _) = run(&made(), "a secret word").await;
        let receipt = state(&report, "receipt").unwrap();
        assert!(!receipt.to_string().contains("secret"));
        runs.push((receipt, receipts(&report)));
    }
    let (first, all) = &runs[0];
    assert_eq!(all.len(), 2);
    assert_eq!(first, &all[1]);
    let hash =
        |receipt: &Value, at: usize| receipt["messages"]["entries"][at]["hash"].as_str().unwrap().to_owned();
    // One run: the same message has the same hash in both calls. Two runs: never.
    assert_eq!(hash(&all[0], 0), hash(&all[1], 0));
    assert_eq!(all[0]["system"]["hash"], all[1]["system"]["hash"]);
    assert_eq!(all[0]["tools"]["schemaHashes"], all[1]["tools"]["schemaHashes"]);
    assert_ne!(hash(first, 0), hash(&runs[1].0, 0));
    assert_ne!(first["system"]["hash"], runs[1].0["system"]["hash"]);
    assert_eq!(hash(first, 0).len(), 16);
    assert_eq!(first["basis"]["epoch"], json!(2));
    assert_eq!(first["messages"]["count"], json!(3));
    assert_eq!(first["tools"]["names"], json!(["look"]));
}

/// Proves P-15: the receipt of a wrap-up shows that the tools were withheld.
#[tokio::test]
async fn the_receipt_of_a_wrap_up_shows_the_withheld_tools() {
    let script = Script::new([look("c1"), say("all")]);
    let agent = agent(&script).tool(looking("seen")).max_iterations(1).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    let all = receipts(&report);
    assert_eq!(
        (&all[0]["tools"]["withheld"], &all[1]["tools"]["withheld"]),
        (&Value::Null, &json!("wrap-up"))
    );
    assert_eq!(all[1]["tools"]["names"], json!([]));
}

/// Proves REC-153.
#[tokio::test]
async fn a_receipt_can_be_declined() {
    let agent = agent(&Script::new([say("done")])).record_receipt(false).build().unwrap();
    let report = agent.run("go").await;
    assert!(state(&report, "receipt").is_none());
}

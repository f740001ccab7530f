use agentfootprint::debug::boundary::Boundaries;
use agentfootprint::prelude::*;

use crate::support::support_agent;

#[tokio::test]
async fn print() {
    let run = support_agent().record("Where is order A-1001?").await.unwrap();
    let all = Boundaries::of(run.recording()).unwrap();
    for row in all.events() {
        println!("{} {} {} {}", row.kind.word(), row.runtime_stage_id, row.commit, row.path.join("/"));
    }
    for event in run.recording().events() {
        let meta = event.meta().unwrap();
        println!("E {} {} {:?}", event.name_str(), meta.runtime_stage_id, meta.composition_path);
    }
}

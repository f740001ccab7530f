//! A recording is opened without an agent.
#![allow(clippy::unwrap_used, clippy::panic)]

/// Proves REC-1: what reads recordings needs nothing that runs agents, schedules tasks or speaks to a network.
#[test]
fn readers_need_no_runtime() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["agentfootprint-debug", "agentfootprint-record", "footprint"] {
        let manifest = std::fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        let needed = manifest.split("\n[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
        for line in needed.lines().filter(|line| !line.contains("optional = true")) {
            let dependency = line.split(['.', ' ', '=']).next().unwrap();
            let refused =
                ["agentfootprint-core", "agentfootprint", "agentfootprint-providers", "reqwest", "hyper"];
            assert!(!refused.contains(&dependency), "{name} needs {dependency}");
            // Of tokio only its locks and timers, which run nowhere by themselves.
            let runs = dependency == "tokio"
                && ["\"rt", "\"net\"", "\"full\""].iter().any(|part| line.contains(part));
            assert!(!runs, "{name} needs a runtime");
        }
    }
}

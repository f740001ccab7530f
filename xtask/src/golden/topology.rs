//! Who dispatched whom in a recorded run, read from its execution trees.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Facts about the addresses of one run.
#[derive(Default)]
pub(super) struct Topology {
    /// First step of a branch or fan-out child → the decider, selector or fork that dispatched it.
    pub dispatcher: BTreeMap<String, String>,
    /// Steps that ran inside a parallel child, inner steps of its mounts included.
    pub parallel: BTreeSet<String>,
    /// Mounts.
    pub mounts: BTreeSet<String>,
    /// Deciders, selectors and forks whose children ran in parallel.
    pub fan_outs: BTreeSet<String>,
}

impl Topology {
    /// Reads the root tree and the trees of all mounts of a snapshot.
    pub(super) fn of(snapshot: &Value) -> Self {
        let mut topology = Self::default();
        if let Some(tree) = snapshot.get("executionTree") {
            topology.chain(tree, false);
        }
        for (key, result) in snapshot.get("subflowResults").and_then(Value::as_object).into_iter().flatten() {
            // An address, also one whose index was renamed to its visit.
            if key.contains(['#', '@']) {
                topology.mounts.insert(key.clone());
                if let Some(tree) = result.pointer("/treeContext/stageContexts") {
                    topology.chain(tree, false);
                }
            }
        }
        topology.spread_into_mounts(snapshot);
        topology
    }

    fn chain(&mut self, first: &Value, parallel: bool) {
        let mut node = Some(first);
        while let Some(current) = node {
            let address = text(current, "runtimeStageId");
            if parallel {
                self.parallel.insert(address.clone());
            }
            if current.get("subflowId").is_some() {
                self.mounts.insert(address.clone());
            }
            let fans_out = messages(current).any(|kind| kind == "children" || kind == "selected");
            if fans_out {
                self.fan_outs.insert(address.clone());
            }
            for child in current.get("children").and_then(Value::as_array).into_iter().flatten() {
                self.dispatcher.insert(text(child, "runtimeStageId"), address.clone());
                self.chain(child, parallel || fans_out);
            }
            node = current.get("next");
        }
    }

    /// Inner steps of a mount that ran in a parallel child belong to that child.
    fn spread_into_mounts(&mut self, snapshot: &Value) {
        loop {
            let before = self.parallel.len();
            for (key, result) in
                snapshot.get("subflowResults").and_then(Value::as_object).into_iter().flatten()
            {
                if self.parallel.contains(key)
                    && let Some(tree) = result.pointer("/treeContext/stageContexts")
                {
                    self.chain(tree, true);
                }
            }
            if self.parallel.len() == before {
                return;
            }
        }
    }
}

fn messages(node: &Value) -> impl Iterator<Item = &str> {
    node.get("flowMessages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|message| message.get("type").and_then(Value::as_str))
}

fn text(node: &Value, key: &str) -> String {
    node.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

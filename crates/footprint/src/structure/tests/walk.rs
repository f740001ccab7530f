use super::*;

/// One line per item.
fn told(structure: &Structure, path: &str, recurse: bool) -> Vec<String> {
    walk_structure(structure.root(), path, recurse)
        .map(|item| match item {
            StructureItem::SubflowStart { path } => format!("start {path}"),
            StructureItem::Stage { id, path, .. } => format!("stage {id} in '{path}'"),
            StructureItem::Edge { from, to, kind, label } => {
                format!(
                    "edge {from}->{to} {kind}{}",
                    label.map(|label| format!(" ({label})")).unwrap_or_default()
                )
            }
            StructureItem::Loop { from, to } => format!("loop {from}->{to}"),
            StructureItem::Subflow { path, name, root } => {
                format!("subflow {path} {name} {}", root.as_deref().unwrap_or("-"))
            }
        })
        .collect()
}

/// Proves ENG-53: fan-outs lead from branch to join, deciders lead themselves; mounts are announced and, on request, entered.
#[test]
fn a_walk_tells_stages_edges_loops_and_mounts() {
    let chart = Chart::builder(nop("seed"))
        .fork(
            [ForkChild::from(nop("a")), ForkChild::from(Mount::of("b", &inner()).converge_at("end"))],
            FanOut::AllSettled,
        )
        .decide(decider("d").branch(Branch::stage(nop("again")).loop_to("seed")).branch(nop("done")))
        .then(nop("end"))
        .build()
        .unwrap();
    assert_eq!(
        told(chart.structure(), "", true),
        [
            "stage seed in ''",
            "edge seed->a fork-branch (a)",
            "stage a in ''",
            "edge seed->b fork-branch (b)",
            "stage b in ''",
            "subflow b b in",
            "start b",
            "stage b/in in 'b'",
            "edge a->d next",
            "edge b->end next",
            "stage d in ''",
            "edge d->again decision-branch (again)",
            "stage again in ''",
            "loop again->seed",
            "edge d->done decision-branch (done)",
            "stage done in ''",
            "edge d->end next",
            "stage end in ''",
        ]
    );
    let flat = told(chart.structure(), "", false);
    assert!(flat.contains(&"subflow b b in".to_owned()) && !flat.iter().any(|line| line.contains("b/in")));
}

/// Proves ENG-47, ENG-53: ids are joined to the path the walk was given; a lazy mount has no root to tell.
#[test]
fn a_walk_below_a_path_prefixes_ids() {
    let chart = Chart::builder(Mount::lazy("lazy", inner)).then(nop("x")).build().unwrap();
    assert_eq!(
        told(chart.structure(), "sf/in", true),
        [
            "stage sf/in/lazy in 'sf/in'",
            "subflow sf/in/lazy lazy -",
            "edge sf/in/lazy->sf/in/x next",
            "stage sf/in/x in 'sf/in'"
        ]
    );
}

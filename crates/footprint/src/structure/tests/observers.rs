use std::sync::{Arc, Mutex};

use super::*;

/// Writes down what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl StructureRecorder for Notes {
    fn id(&self) -> &str {
        "notes"
    }
    fn on_stage_added(&self, event: &StageAdded<'_>) {
        let tags = event.tags.join("+");
        let pausable = if event.is_pausable { " pausable" } else { "" };
        self.note(format!("stage {} {} {}{pausable}{tags}", event.stage_id, event.name, event.node_type));
        assert_eq!(event.spec.id, *event.stage_id);
    }
    fn on_edge_added(&self, event: &EdgeAdded<'_>) {
        let label = event.label.map(|label| format!(" ({label})")).unwrap_or_default();
        self.note(format!("edge {}->{} {}{label}", event.from, event.to, event.kind));
    }
    fn on_loop_edge_added(&self, event: &LoopEdgeAdded<'_>) {
        self.note(format!("loop {}->{}", event.from, event.to));
    }
    fn on_decider_complete(&self, event: &DeciderComplete<'_>) {
        let default = event.default_branch.map(|id| format!(" default {id}")).unwrap_or_default();
        self.note(format!(
            "complete {} {} {}{default}",
            event.decider,
            event.node_type,
            event.branch_ids.join("+")
        ));
    }
    fn on_subflow_mounted(&self, event: &SubflowMounted<'_>) {
        let root = event.root_stage_id.map_or("-", |id| &**id);
        let lazy = if event.is_lazy { " lazy" } else { "" };
        assert_eq!(event.subflow_spec.is_some(), !event.is_lazy);
        self.note(format!(
            "mount {} {} {root} at {}{lazy}",
            event.subflow_id, event.subflow_name, event.subflow_path
        ));
    }
}

/// Proves ENG-50, ENG-51: document order, endpoints before edges, fan-in from children that do not loop, mounts told once.
#[test]
fn observers_are_told_in_document_order() {
    let notes = Arc::new(Notes::default());
    Chart::builder(nop("seed").named("Seed").tag("t"))
        .fork(
            [
                ForkChild::from(nop("a")),
                ForkChild::from(Mount::of("b", &inner()).named("B").converge_at("end")),
            ],
            FanOut::AllSettled,
        )
        .select(selector("s").branch(nop("one")).branch(Mount::lazy("two", inner)))
        .decide(
            decider("d")
                .branch(Branch::stage(nop("again")).loop_to("s"))
                .branch(Stage::pausable(
                    "done",
                    |_: Scope| async { Ok(Step::Pause(1)) },
                    |_: Scope, _: u8| async { Ok(()) },
                ))
                .default_branch("done"),
        )
        .then(nop("end"))
        .loop_to("seed")
        .observe_structure(notes.clone())
        .build()
        .unwrap();
    assert_eq!(
        *notes.0.lock().unwrap(),
        [
            "stage seed Seed forkt",
            "stage a a stage",
            "edge seed->a fork-branch (a)",
            "stage b B stage",
            "edge seed->b fork-branch (b)",
            "mount b B in at b",
            "stage s s selector",
            "edge a->s next",
            "stage one one stage",
            "edge s->one decision-branch (one)",
            "stage two two stage",
            "edge s->two decision-branch (two)",
            "mount two two - at two lazy",
            "complete s selector one+two",
            "stage d d decider",
            "edge one->d next",
            "edge two->d next",
            "stage again again stage",
            "edge d->again decision-branch (again)",
            "loop again->s",
            "stage done done stage pausable",
            "edge d->done decision-branch (done)",
            "complete d decider again+done default done",
            "stage end end stage",
            "edge b->end next",
            "edge done->end next",
            "loop end->seed",
        ]
    );
}

/// Proves ENG-50, ENG-51: plain chains, for-each and chain mounts lead on themselves; a fork that loops is the source.
#[test]
fn plain_nodes_lead_on_themselves() {
    let notes = Arc::new(Notes::default());
    Chart::builder(Mount::of("m", &inner()))
        .for_each(for_each("f"))
        .then(nop("p"))
        .fork([nop("c")], FanOut::AllSettled)
        .loop_to("f")
        .observe_structure(notes.clone())
        .build()
        .unwrap();
    let edges: Vec<String> = notes
        .0
        .lock()
        .unwrap()
        .iter()
        .filter(|line| line.starts_with("edge") || line.starts_with("loop"))
        .cloned()
        .collect();
    assert_eq!(edges, ["edge m->f next", "edge f->p next", "edge p->c fork-branch (c)", "loop p->f"]);
}

/// Proves ENG-50: a mounted chart's own nodes are not told again.
#[test]
fn inner_charts_are_not_replayed() {
    let notes = Arc::new(Notes::default());
    let inner = Chart::builder(nop("x")).then(nop("y")).observe_structure(notes.clone()).build().unwrap();
    let before = notes.0.lock().unwrap().len();
    Chart::builder(Mount::of("m", &inner)).observe_structure(notes.clone()).build().unwrap();
    assert_eq!(notes.0.lock().unwrap()[before..], ["stage m m stage", "mount m m x at m"]);
}

struct Broken(&'static str);

impl StructureRecorder for Broken {
    fn id(&self) -> &str {
        self.0
    }
    fn on_stage_added(&self, event: &StageAdded<'_>) {
        panic!("no room for {}", event.stage_id);
    }
}

/// Proves ENG-52: a panicking observer is reported, capped, and changes neither the chart nor the others; one id twice coexists.
#[test]
fn panicking_observers_are_contained() {
    let notes = Arc::new(Notes::default());
    let mut builder = Chart::builder(nop("s0"));
    for at in 1..80 {
        builder = builder.then(nop(&format!("s{at}")));
    }
    let chart = builder
        .observe_structure(Arc::new(Broken("b")))
        .observe_structure(notes.clone())
        .observe_structure(Arc::new(Broken("b")))
        .build()
        .unwrap();
    assert_eq!(notes.0.lock().unwrap().len(), 80 + 79);
    let errors = chart.structure_errors();
    assert_eq!(errors.len(), 101);
    assert_eq!(
        (&*errors[0].recorder_id, &*errors[0].method, &*errors[0].message),
        ("b", "onStageAdded", "no room for s0")
    );
    assert_eq!(&*errors[100].recorder_id, "__truncated__");
    assert!(Chart::builder(nop("a")).build().unwrap().structure_errors().is_empty());
}

/// Proves ENG-16, ENG-52: a refused chart is told to nobody.
#[test]
fn refused_charts_are_not_observed() {
    let notes = Arc::new(Notes::default());
    assert!(Chart::builder(nop("a")).then(nop("a")).observe_structure(notes.clone()).build().is_err());
    assert!(notes.0.lock().unwrap().is_empty());
}

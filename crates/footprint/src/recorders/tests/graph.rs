use super::*;
use crate::recorders::*;
use crate::value;

/// Two subflows realise two children of one fork, at once, with the same name: each hangs under its own branch.
///
/// Proves OBS-57, OBS-93.
#[test]
fn topology_matches_branches_by_step_and_name() {
    let topology = Topology::new();
    let play = Player::new("r", vec![&topology]);
    let fork = at("fork#0", "Fork");
    play.fork(&fork, &["A", "B", "Plain"]);
    let (a, b) = (at("a#1", "A").under("fork#0").mount(), at("b#2", "B").under("fork#0").mount());
    // Another fork elsewhere also waits for an `A`.
    play.fork(&at("other#9", "Other"), &["A"]);
    play.enter(&a, "A", None);
    play.enter(&b, "B", None);
    let inner = at("a/in#3", "In").under("a#1").mount();
    play.enter(&inner, "In", None);
    play.now.set(1500);
    play.exit(&b, "B", None);
    let graph = topology.graph(None);
    let parent = |id: &str| graph.node(id).unwrap().parent_id.as_deref().map(ToOwned::to_owned);
    assert_eq!(parent("a").as_deref(), Some("fork-fork#0-0-A"));
    assert_eq!(parent("b").as_deref(), Some("fork-fork#0-1-B"));
    assert_eq!(parent("a/in").as_deref(), Some("a"));
    assert_eq!(graph.node("b").unwrap().exited_at, Some(1500));
    assert_eq!(graph.node("fork-fork#0-1-B").unwrap().exited_at, Some(1500));
    assert_eq!(graph.node("a").unwrap().exited_at, None);
    assert_eq!(graph.node("a").unwrap().incoming_kind, "fork-branch");
    assert_eq!(graph.active().unwrap().id, "a/in".into());
    assert_eq!(graph.node("a/in").unwrap().depth, 2);
    let siblings: Vec<&str> = graph.parallel_siblings("fork-fork#0-0-A").iter().map(|n| &*n.name).collect();
    assert_eq!(siblings, ["B", "Plain"]);
    assert_eq!(graph.children(Some("a")).len(), 1);
    assert_eq!((graph.subflow_nodes().len(), graph.by_kind(TopologyKind::ForkBranch).len()), (3, 4));
    let row = topology.snapshot(&play.run).unwrap().data;
    assert_eq!(row["activeNodeId"], value!("a/in"));
    assert_eq!(row["edges"].as_array().unwrap().len(), 2);
}

/// Proves OBS-93.
#[test]
fn topology_of_a_loop_and_a_decision() {
    let topology = Topology::new();
    let play = Player::new("r", vec![&topology]);
    let one = at("one#0", "One").mount();
    play.enter(&one, "One", None);
    play.exit(&one, "One", None);
    play.decide(&at("d#1", "D"), "Two", None);
    let two = at("two#2", "Two").under("d#1").mount();
    play.enter(&two, "Two", None);
    play.exit(&two, "Two", None);
    let again = at("one#3", "One").mount();
    play.enter(&again, "One", None);
    play.exit(&again, "One", None);
    let graph = topology.graph(None);
    let told: Vec<(String, &str)> = graph.nodes.iter().map(|n| (n.id.to_string(), n.incoming_kind)).collect();
    let expected = [
        ("one", "root"),
        ("decision-d#1-Two", "decision-branch"),
        ("two", "decision-branch"),
        ("one#1", "loop-iteration"),
    ];
    assert_eq!(told, expected.map(|(id, kind)| (id.to_owned(), kind)));
    let edges: Vec<String> = graph.edges.iter().map(|e| format!("{} {} {}", e.from, e.to, e.kind)).collect();
    assert_eq!(edges, ["decision-d#1-Two two decision-branch", "one one#1 loop-iteration"]);
    assert!(graph.active().is_none());
    let row = topology.snapshot(&play.run).unwrap().data;
    assert_eq!((&row["rootId"], &row["activeNodeId"]), (&value!("one"), &value!(null)));
}

fn governed(control: &ControlDeps, step: &str) -> Option<(String, Option<String>)> {
    control.lookup(None, &step.into()).map(|g| (g.decider.to_string(), g.label.map(|l| l.to_string())))
}

fn by(decider: &str, label: Option<&str>) -> Option<(String, Option<String>)> {
    Some((decider.to_owned(), label.map(ToOwned::to_owned)))
}

fn rule(branch: &str, matched: bool, label: &str) -> Value {
    value!({"type": "function", "ruleIndex": 0, "branch": branch, "matched": matched, "label": label, "inputs": []})
}

/// A decider whose branch loops back to it: each pass is governed by its own decision.
///
/// Proves OBS-16, OBS-57, OBS-94, OBS-95.
#[test]
fn deciders_govern_their_branches_and_what_follows() {
    let control = ControlDeps::new();
    let play = Player::new("r", vec![&control]);
    play.stage(&at("seed#0", "Seed"), "k");
    let dec = at("dec#1", "Dec").under("seed#0");
    play.start(&dec);
    let evidence = value!({"rules": [rule("other", false, "Other"), rule("work", true, "Busy")], "chosen": "work", "default": "stop", "defaultLabel": "Idle"});
    play.decide(&dec, "Work", Some(evidence));
    play.executed(&dec, StageType::Decider, None);
    let work = at("work#2", "Work").under("dec#1");
    play.stage(&work, "k");
    let again = at("dec#3", "Dec").under("work#2").pass(1);
    play.start(&again);
    play.decide(&again, "Stop", Some(value!({"rules": [rule("work", false, "Busy")], "chosen": "stop", "default": "stop", "defaultLabel": "Idle"})));
    let stop = at("stop#4", "Stop").under("dec#3");
    play.stage(&stop, "k");
    // After the branch the decider's own next runs once: one slot, already taken.
    play.stage(&at("next#5", "Next").under("dec#3"), "k");
    assert_eq!(governed(&control, "seed#0"), None);
    assert_eq!(governed(&control, "dec#1"), None);
    assert_eq!(governed(&control, "work#2"), by("dec#1", Some("Busy")));
    assert_eq!(governed(&control, "dec#3"), by("dec#1", Some("Busy")));
    assert_eq!(governed(&control, "stop#4"), by("dec#3", Some("Idle")));
    assert_eq!(governed(&control, "next#5"), by("dec#1", Some("Busy")));
    let row = control.snapshot(&play.run).unwrap();
    assert_eq!(row.meta, Some(value!({"mode": "full"})));
    let stored = ControlData::from_value(&row.data.to_string().parse().unwrap()).unwrap();
    for step in ["seed#0", "dec#1", "work#2", "dec#3", "stop#4", "next#5", "unknown#9"] {
        assert_eq!(stored.lookup(&step.into()), control.lookup(None, &step.into()), "{step}");
    }
    assert!(stored.evidence(&"dec#1".into()).is_some());
    assert_eq!(stored.len(), 2);
    let lean = ControlDeps::with_id("lean").mode(ControlMode::Lean);
    let play = Player::new("r", vec![&lean]);
    play.decide(&dec, "Work", Some(value!({"rules": [], "chosen": "work"})));
    let row = lean.snapshot(&play.run).unwrap();
    assert!(row.data["decisions"][0].get("evidence").is_none());
}

/// A selector's children, one of them failing before it does anything, one of them a subflow; the selector's own fork event takes no slot.
///
/// Proves OBS-94.
#[test]
fn selectors_govern_each_of_their_branches() {
    let control = ControlDeps::new();
    let play = Player::new("r", vec![&control]);
    let sel = at("sel#0", "Sel");
    play.start(&sel);
    let rules = value!([rule("a", true, "First"), rule("b", true, "Second")]);
    play.select(&sel, &["A", "B", "C"], 3, Some(value!({"rules": rules, "selected": ["a", "b", "c"]})));
    play.executed(&sel, StageType::Selector, None);
    play.fork(&sel, &["A", "B", "C"]);
    let mount = at("b#2", "B").under("sel#0").mount();
    play.enter(&mount, "B", None);
    play.fail(&at("a#1", "A").under("sel#0"), "at once");
    play.stage(&at("b/in#4", "b/In").under("b#2"), "k");
    // `C` never shows up (it was cancelled); what follows the selector is no branch of it.
    play.stage(&at("after#5", "After").under("sel#0"), "k");
    assert_eq!(governed(&control, "a#1"), by("sel#0", Some("First")));
    assert_eq!(governed(&control, "b#2"), by("sel#0", Some("Second")));
    assert_eq!(governed(&control, "b/in#4"), by("sel#0", Some("Second")));
    assert_eq!(governed(&control, "after#5"), None);
    // Nothing selected: nothing is awaited.
    let none = at("none#6", "None");
    play.select(&none, &[], 3, None);
    play.stage(&at("x#7", "X").under("none#6"), "k");
    assert_eq!(governed(&control, "x#7"), None);
}

/// Proves OBS-39, OBS-94.
#[test]
fn control_goes_on_across_a_pause() {
    let control = ControlDeps::new();
    let first = Player::new("one", vec![&control]);
    let dec = at("dec#0", "Dec");
    first.decide(&dec, "Ask", None);
    let ask = at("ask#1", "Ask").under("dec#0");
    first.start(&ask);
    first.pause(&ask);
    let second = Player::resumed("two", "one", vec![&control]);
    second.stage(&at("ask#2", "Ask").under("ask#1"), "k");
    second.stage(&at("then#3", "Then").under("ask#2"), "k");
    assert_eq!(governed(&control, "then#3"), by("dec#0", None));
    assert_eq!(control.lookup(Some(&first.run), &"then#3".into()), None);
}

mod spans {
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// Writes down what it is told: spans with their parents, events with their spans.
    #[derive(Default)]
    struct Book {
        lines: Mutex<Vec<String>>,
        names: Mutex<Vec<String>>,
    }

    #[derive(Default)]
    struct Fields(String);

    impl Visit for Fields {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            use std::fmt::Write as _;
            let _ = write!(self.0, " {}={value:?}", field.name());
        }
    }

    struct Keep(Arc<Book>);

    impl Keep {
        fn name(&self, id: &Id) -> String {
            self.0.names.lock().unwrap()[id.into_u64() as usize - 1].clone()
        }
    }

    impl Subscriber for Keep {
        fn enabled(&self, meta: &Metadata<'_>) -> bool {
            meta.target() == "footprint"
        }
        fn new_span(&self, attrs: &Attributes<'_>) -> Id {
            let mut fields = Fields::default();
            attrs.record(&mut fields);
            let step = fields.0.split(' ').find_map(|f| f.strip_prefix("runtime_stage_id=")).unwrap_or("run");
            let parent = attrs.parent().map_or("-".to_owned(), |p| self.name(p));
            self.0.lines.lock().unwrap().push(format!("{} {step} in {parent}", attrs.metadata().name()));
            let mut names = self.0.names.lock().unwrap();
            names.push(step.to_owned());
            Id::from_u64(names.len() as u64)
        }
        fn record(&self, id: &Id, values: &Record<'_>) {
            let mut fields = Fields::default();
            values.record(&mut fields);
            self.0.lines.lock().unwrap().push(format!("record {}{}", self.name(id), fields.0));
        }
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            let mut fields = Fields::default();
            event.record(&mut fields);
            let span = event.parent().map_or("-".to_owned(), |p| self.name(p));
            self.0.lines.lock().unwrap().push(format!("{} {span}:{}", event.metadata().level(), fields.0));
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    /// Proves OBS-137, OBS-138.
    #[test]
    fn spans_nest_by_containment() {
        let book = Arc::new(Book::default());
        let lines = tracing::subscriber::with_default(Keep(Arc::clone(&book)), || {
            let recorder = TracingRecorder::new();
            assert!(recorder.interest().contains(Hook::Read));
            let play = Player::new("r-1", vec![&recorder]);
            let (one, two) = (at("one#0", "One").mount(), at("two#1", "Two").mount());
            play.enter(&one, "One", None);
            play.enter(&two, "Two", None);
            let inner = at("one/in#2", "one/In");
            play.start(&inner);
            assert!(recorder.span_of(&play.run, &"one/in#2".into()).is_some());
            play.read(&inner, "k", value!("long ".repeat(40)));
            play.executed(&inner, StageType::Linear, None);
            assert!(recorder.span_of(&play.run, &"one/in#2".into()).is_none());
            play.fail(&at("two/bad#3", "two/Bad"), "broken");
            play.finish();
            book.lines.lock().unwrap().clone()
        });
        assert_eq!(lines[0], "footprint.run run in -");
        assert_eq!(lines[1], "footprint.subflow one#0 in run");
        assert_eq!(lines[2], "footprint.subflow two#1 in run");
        assert_eq!(lines[3], "footprint.stage one/in#2 in one#0");
        assert!(lines[4].starts_with("TRACE one/in#2:") && lines[4].contains("...") && lines[4].len() < 200);
        assert_eq!(lines[5], "record one/in#2 stage_type=\"linear\"");
        assert_eq!(lines[6], "footprint.stage two/bad#3 in two#1");
        assert!(lines[7].starts_with("ERROR two/bad#3:") && lines[7].contains("broken"));
        // Nothing enabled: nothing wanted.
        assert!(TracingRecorder::new().interest().is_empty());
    }
}

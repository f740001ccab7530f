use super::*;
use crate::structure::Structure;

fn ok(registry: FnRegistry, ids: &[&str]) -> FnRegistry {
    ids.iter().fold(registry, |registry, id| registry.stage(*id, |_: Scope| async { Ok(()) }))
}

fn full_chart() -> Chart {
    let deep = Chart::builder(nop("leaf")).build().unwrap();
    let pay = Chart::builder(nop("auth").describe("asks the bank"))
        .mount(Mount::of("sf-deep", &deep))
        .build()
        .unwrap();
    Chart::builder(nop("seed").named("Seed").tag("t").retry(Retry::attempts(2)))
        .then(Stage::streaming("draft", |_: Scope| async { Ok(()) }).stream_id("d"))
        .fork([ForkChild::from(nop("a")), ForkChild::from(Mount::of("b", &deep))], FanOut::AllSettled)
        .then(Stage::pausable(
            "ask",
            |_: Scope| async { Ok(Step::Pause("?")) },
            |_: Scope, _: bool| async { Ok(()) },
        ))
        .mount(Mount::of("sf-pay", &pay).named("Pay"))
        .fork([nop("c")], FanOut::AllSettled)
        .select(selector("pick").branch(nop("one")).branch(Mount::lazy("two", inner).converge_at("end")))
        .for_each(for_each("each"))
        .decide(
            decider("route")
                .branch(Branch::stage(nop("again")).loop_to("draft"))
                .branch(nop("done"))
                .default_branch("done"),
        )
        .then(nop("end"))
        .loop_to("seed")
        .build()
        .unwrap()
}

fn full_registry() -> FnRegistry {
    ok(
        FnRegistry::new(),
        &[
            "seed",
            "draft",
            "a",
            "b/leaf",
            "sf-pay/auth",
            "sf-pay/sf-deep/leaf",
            "c",
            "one",
            "again",
            "done",
            "end",
        ],
    )
    .pausable("ask", |_: Scope| async { Ok(Step::Pause("?")) }, |_: Scope, _: bool| async { Ok(()) })
    .selector("pick", |_: Scope| async { Ok(vec!["one"]) })
    .decider("route", |_: Scope| async { Ok("done") })
    .lazy("two", inner)
    .for_each("each", for_each("ignored"))
    .mount("sf-pay", |mount| mount.propagate_break(true))
    .fan_out("sf-pay-fork", FanOut::FailFast)
}

/// Proves ENG-49: structure and functions give the chart back, mounts at every depth included.
#[test]
fn a_chart_is_rebuilt_from_its_structure() {
    let chart = full_chart();
    let read = Structure::from_json(chart.structure().to_json()).unwrap();
    let rebuilt = Chart::from_structure(&read, &full_registry()).unwrap();
    assert_eq!(rebuilt.structure(), chart.structure());
    assert_eq!(sketch(&rebuilt), sketch(&chart));
    let NodeKind::Mount(pay) = &rebuilt.node(rebuilt.find("sf-pay").unwrap()).kind else { panic!() };
    assert!(pay.propagate_break);
    let NodeKind::Fork(fork) = &rebuilt.node(rebuilt.find("sf-pay-fork").unwrap()).kind else { panic!() };
    assert_eq!(fork.mode, FanOut::FailFast);
}

/// Proves ENG-49: every missing function is named at once, with its path and kind.
#[test]
fn missing_functions_are_build_errors() {
    let errors = Chart::from_structure(full_chart().structure(), &FnRegistry::new()).unwrap_err().0;
    let mut missing: Vec<String> = errors
        .iter()
        .map(|error| match error {
            BuildError::MissingFunction { id, kind } => format!("{kind} {id}"),
            other => panic!("{other}"),
        })
        .collect();
    missing.sort();
    assert_eq!(
        missing,
        [
            "decider route",
            "for-each each",
            "lazy mount two",
            "selector pick",
            "stage a",
            "stage again",
            "stage ask",
            "stage b/leaf",
            "stage c",
            "stage done",
            "stage draft",
            "stage end",
            "stage one",
            "stage seed",
            "stage sf-pay/auth",
            "stage sf-pay/sf-deep/leaf",
        ]
        .iter()
        .filter(|expected| {
            // Branches are looked at only when their decider or selector has a function.
            !["stage again", "stage done", "stage one", "lazy mount two"].contains(expected)
        })
        .copied()
        .collect::<Vec<_>>()
    );
}

/// Proves ENG-49: what has no builder call is refused, not guessed.
#[test]
fn shapes_without_a_builder_call_are_refused() {
    let chained = r#"{"name":"d","id":"d","type":"decider","hasDecider":true,"children":[
        {"name":"b","id":"b","type":"stage","next":{"name":"c","id":"c","type":"stage"}}]}"#;
    let unknown = r#"{"name":"d","id":"d","type":"teleport"}"#;
    for text in [chained, unknown] {
        let structure = Structure::from_json(text).unwrap();
        let registry = ok(FnRegistry::new(), &["b", "c"]).decider("d", |_: Scope| async { Ok("b") });
        let errors = Chart::from_structure(&structure, &registry).unwrap_err().0;
        assert!(matches!(&errors[..], [BuildError::UnsupportedStructure { .. }]), "{errors:?}");
    }
}

/// A long chain is rebuilt without recursion.
#[test]
fn long_chains_are_rebuilt() {
    let mut builder = Chart::builder(nop("s"));
    for at in 0..3_000 {
        builder = builder.then(nop(&format!("s{at}")));
    }
    let chart = builder.build().unwrap();
    let registry = chart.nodes().fold(FnRegistry::new(), |registry, (_, node)| {
        registry.stage(node.id.clone(), |_: Scope| async { Ok(()) })
    });
    assert_eq!(Chart::from_structure(chart.structure(), &registry).unwrap().structure(), chart.structure());
}

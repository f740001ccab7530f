//! Every refusal of ENG §3.6, in both declaration orders.

use super::*;

fn id_of(error: &BuildError) -> String {
    let text = error.to_string();
    assert!(text.len() > 30, "a refusal says the fix: {text}");
    text
}

/// Proves ENG-16: all problems of one declaration come together, in declaration order.
#[test]
fn all_problems_come_at_once() {
    let errors = problems(
        Chart::builder(nop("a").retry(Retry::attempts(0)))
            .then(nop("a"))
            .then(nop("b#"))
            .decide(decider("d"))
            .loop_to("nowhere"),
    );
    let words: Vec<String> = errors
        .iter()
        .map(|error| format!("{error:?}").split([' ', '{']).next().unwrap().to_owned())
        .collect();
    assert_eq!(
        words,
        ["InvalidRetry", "DuplicateId", "ReservedCharacter", "NoBranches", "UnknownLoopTarget"]
    );
    let all = BuildErrors(errors).to_string();
    assert!(all.starts_with("the chart cannot be built, 5 problems:\n  - "), "{all}");
}

/// Proves ENG-16, ENG-18: ids are unique across all positions, whichever comes first.
#[test]
fn duplicate_ids_name_both_positions() {
    type Place = fn(ChartBuilder) -> ChartBuilder;
    let places: [(Place, Position); 6] = [
        (|b| b.then(nop("x")), Position::Stage),
        (|b| b.mount(Mount::of("x", &inner())), Position::Mount),
        (|b| b.for_each(for_each("x")), Position::ForEach),
        (|b| b.then(nop("f")).fork([nop("x")], FanOut::AllSettled), Position::ForkChild(s("f"))),
        (|b| b.decide(decider("d").branch(nop("x"))), Position::DeciderBranch(s("d"))),
        (|b| b.select(selector("e").branch(Mount::lazy("x", inner))), Position::SelectorBranch(s("e"))),
    ];
    for (at, (first, first_position)) in places.iter().enumerate() {
        for (second, second_position) in places.iter().skip(at + 1) {
            for (one, two, positions) in [
                (first, second, (first_position, second_position)),
                (second, first, (second_position, first_position)),
            ] {
                let errors = problems(two(one(Chart::builder(nop("root")))));
                let expected = BuildError::DuplicateId {
                    id: s("x"),
                    first: positions.0.clone(),
                    second: positions.1.clone(),
                };
                assert_eq!(errors, [expected]);
            }
        }
    }
    let errors = problems(Chart::builder(nop("x")).then(nop("x")));
    assert!(id_of(&errors[0]).contains("`x` is used twice, as stage on the chain and as stage on the chain"));
}

/// Proves ENG-12.
#[test]
fn reserved_characters_are_refused_at_every_id_door() {
    let refused = |builder: ChartBuilder, id: &str, character: char| {
        let errors = problems(builder);
        assert!(
            matches!(&errors[..], [BuildError::ReservedCharacter { id: found, character: at, .. }] if **found == *id && *at == character),
            "{errors:?}"
        );
        id_of(&errors[0]);
    };
    for (id, character) in [("a#b", '#'), ("a/b", '/'), ("a\u{1f}b", '\u{1f}')] {
        refused(Chart::builder(nop(id)), id, character);
        refused(Chart::builder(nop("r")).then(nop(id)), id, character);
        refused(Chart::builder(Mount::of(id, &inner())), id, character);
        refused(Chart::builder(Mount::lazy(id, inner)), id, character);
        refused(Chart::builder(for_each(id)), id, character);
        refused(Chart::builder(decider(id).branch(nop("b"))), id, character);
        refused(Chart::builder(decider("d").branch(nop(id))), id, character);
        refused(Chart::builder(selector("d").branch(nop(id))), id, character);
        refused(Chart::builder(nop("r")).fork([nop(id)], FanOut::AllSettled), id, character);
    }
    for builder in [
        Chart::builder(Mount::of("a~b", &inner())),
        Chart::builder(decider("d").branch(Mount::lazy("a~b", inner))),
    ] {
        refused(builder, "a~b", '~');
    }
    refused(Chart::builder(for_each("a~b")), "a~b", '~');
    assert!(Chart::builder(nop("a~b")).then(nop("c~1")).build().is_ok());
}

/// Proves ENG-12: empty ids.
#[test]
fn empty_ids_are_refused() {
    for empty in ["", "  ", "\t"] {
        let errors = problems(Chart::builder(nop("r")).then(nop(empty)).then(nop(empty)));
        assert_eq!(errors, [2, 3].map(|ordinal| BuildError::EmptyId { position: Position::Stage, ordinal }),);
        id_of(&errors[0]);
    }
}

/// Proves ENG-20: the id of a generated fork node is reserved both ways.
#[test]
fn generated_ids_are_reserved_in_both_orders() {
    let mount = || Mount::of("sf", &inner());
    let before = Chart::builder(nop("sf-fork")).mount(mount()).fork([nop("x")], FanOut::AllSettled);
    let after = Chart::builder(mount()).fork([nop("x")], FanOut::AllSettled).then(nop("sf-fork"));
    for (builder, position) in [(before, Position::Stage), (after, Position::Stage)] {
        let errors = problems(builder);
        let owner = s("the fork node generated after `sf`");
        assert_eq!(errors, [BuildError::ReservedGeneratedId { id: s("sf-fork"), owner, position }]);
        assert!(id_of(&errors[0]).contains("`sf-fork`"));
    }
    // Nothing is reserved where nothing is generated.
    assert!(Chart::builder(nop("sf-fork")).mount(mount()).build().is_ok());
    let root = problems(Chart::builder(nop("__root__")));
    assert!(matches!(&root[..], [BuildError::ReservedGeneratedId { .. }]));
}

/// Proves ENG-21.
#[test]
fn loops_target_declared_main_chain_nodes_only() {
    let chain = || {
        Chart::builder(nop("a"))
            .decide(decider("d").branch(nop("branch")))
            .select(selector("e").branch(nop("picked")))
            .mount(Mount::of("m", &inner()))
            .for_each(for_each("f"))
            .then(nop("g"))
            .fork([nop("child")], FanOut::AllSettled)
    };
    for legal in ["a", "d", "e", "m", "f", "g"] {
        let chart = chain().loop_to(legal).build().unwrap();
        assert!(sketch(&chart).contains(&format!("g[child]^{legal}")));
    }
    let all = ["a", "d", "e", "m", "f", "g"].map(s).to_vec();
    for (illegal, reason) in
        [("branch", "branch"), ("picked", "branch"), ("child", "fork child"), ("default", "fallback")]
    {
        let errors = problems(chain().loop_to(illegal));
        let [BuildError::IllegalLoopTarget { source_id, target, reason: why, legal, .. }] = &errors[..]
        else {
            panic!("{errors:?}")
        };
        assert_eq!((&**source_id, &**target, legal), ("g", illegal, &all));
        assert!(why.contains(reason));
        id_of(&errors[0]);
    }
    let errors = problems(chain().loop_to("nowhere"));
    let [BuildError::UnknownLoopTarget { source_id, target, legal, .. }] = &errors[..] else {
        panic!("{errors:?}")
    };
    assert_eq!((&**source_id, &**target, legal), ("g", "nowhere", &all));
    assert!(id_of(&errors[0]).contains("loop to one of `a`, `d`"));
}

/// Proves ENG-21: a loop points back; a branch may loop to its own decider; a generated fork node is no target.
#[test]
fn loops_point_back() {
    let branch =
        |target: &str| decider("d").branch(Branch::stage(nop("again")).loop_to(target)).branch(nop("done"));
    assert!(Chart::builder(nop("a")).decide(branch("a")).build().is_ok());
    assert!(Chart::builder(nop("a")).decide(branch("d")).build().is_ok());
    let errors = problems(Chart::builder(nop("a")).decide(branch("later")).then(nop("later")));
    let [BuildError::IllegalLoopTarget { source_id, source_position, target, legal, .. }] = &errors[..]
    else {
        panic!("{errors:?}")
    };
    assert_eq!((&**source_id, &**target), ("again", "later"));
    assert_eq!(source_position, &Position::DeciderBranch(s("d")));
    assert_eq!(legal, &["a", "d"].map(s).to_vec());
    let generated =
        Chart::builder(Mount::of("m", &inner())).fork([nop("x")], FanOut::AllSettled).then(nop("z"));
    assert!(matches!(&problems(generated.loop_to("m-fork"))[..], [BuildError::IllegalLoopTarget { .. }]));
}

/// Proves ENG-21: any continuation-bearing node may loop.
#[test]
fn every_chain_node_may_loop() {
    let root = || Chart::builder(nop("a"));
    for builder in [
        root().then(nop("x")),
        root().then(nop("x")).fork([nop("c")], FanOut::AllSettled),
        root().decide(decider("x").branch(nop("c"))),
        root().select(selector("x").branch(nop("c"))),
        root().mount(Mount::of("x", &inner())),
        root().for_each(for_each("x")),
    ] {
        let chart = builder.loop_to("a").build().unwrap();
        assert_eq!(chart.node(chart.find("x").unwrap()).next, Some(Edge::Loop(NodeIdx::ROOT)));
    }
    let branches = decider("d")
        .branch(Branch::stage(nop("b1")).loop_to("a"))
        .branch(Branch::mount(Mount::of("b2", &inner())).loop_to("a"));
    let chart = root().decide(branches).build().unwrap();
    assert_eq!(sketch(&chart)[2..], ["b1^a", "b2^a"]);
}

/// Proves ENG-21: one continuation per node, whichever is declared first.
#[test]
fn a_second_continuation_is_refused() {
    let looped = || Chart::builder(nop("a")).then(nop("b")).loop_to("a");
    let cases = [
        (looped().then(nop("c")), "`c`"),
        (looped().mount(Mount::of("c", &inner())), "`c`"),
        (looped().decide(decider("c").branch(nop("x"))), "`c`"),
        (looped().fork([nop("x")], FanOut::AllSettled), "a fork"),
        (looped().loop_to("b"), "a loop to `b`"),
    ];
    for (builder, refused) in cases {
        let expected = BuildError::ContinuationConflict {
            node: s("b"),
            existing: s("a loop to `a`"),
            refused: s(refused),
        };
        let errors = problems(builder);
        assert_eq!(errors, [expected]);
        id_of(&errors[0]);
    }
    let branch = Branch::stage(nop("again")).loop_to("a").loop_to("d");
    let errors = problems(Chart::builder(nop("a")).decide(decider("d").branch(branch)));
    let [BuildError::ContinuationConflict { node, .. }] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!(&**node, "again");
}

/// Proves ENG-22.
#[test]
fn deciders_selectors_and_forks_need_branches_of_different_names() {
    for (builder, owner, kind) in [
        (Chart::builder(decider("d")), "d", "decider"),
        (Chart::builder(selector("e")), "e", "selector"),
        (Chart::builder(nop("f")).fork(Vec::<Stage>::new(), FanOut::AllSettled), "f", "fork"),
    ] {
        let errors = problems(builder);
        assert_eq!(errors, [BuildError::NoBranches { owner: s(owner), kind }]);
        id_of(&errors[0]);
    }
    for (builder, owner, kind) in [
        (Chart::builder(decider("d").branch(nop("x")).branch(Mount::of("x", &inner()))), "d", "decider"),
        (Chart::builder(selector("e").branch(Mount::of("x", &inner())).branch(nop("x"))), "e", "selector"),
        (Chart::builder(nop("f")).fork([nop("x"), nop("x")], FanOut::AllSettled), "f", "fork"),
    ] {
        let errors = problems(builder);
        assert_eq!(errors, [BuildError::DuplicateBranch { owner: s(owner), kind, id: s("x") }]);
        id_of(&errors[0]);
    }
}

/// Proves ENG-22: a declared default must be one of the branches, whether it is declared before or after them.
#[test]
fn unknown_defaults_are_refused() {
    let first = decider("d").default_branch("x").branch(nop("a")).branch(nop("b"));
    let last = decider("d").branch(nop("a")).branch(nop("b")).default_branch("x");
    for declared in [first, last] {
        let errors = problems(Chart::builder(declared));
        assert_eq!(
            errors,
            [BuildError::UnknownDefault { decider: s("d"), default: s("x"), branches: vec![s("a"), s("b")] }]
        );
        assert!(id_of(&errors[0]).contains("`a`, `b`"));
    }
    // The word itself is a name like others when it is declared.
    let errors = problems(Chart::builder(decider("d").branch(nop("a")).default_branch("default")));
    assert!(matches!(&errors[..], [BuildError::UnknownDefault { .. }]));
}

/// Proves ENG-24.
#[test]
fn convergence_targets_exist_by_build() {
    let converging = |target: &str| Mount::of("m", &inner()).converge_at(target);
    let fork = |target: &str| {
        Chart::builder(nop("a")).fork([converging(target)], FanOut::AllSettled).then(nop("late"))
    };
    assert!(fork("late").build().is_ok());
    assert!(fork("a").build().is_ok());
    let errors = problems(fork("nowhere"));
    let position = Position::ForkChild(s("a"));
    assert_eq!(
        errors,
        [BuildError::UnknownConvergeTarget { branch: s("m"), position, target: s("nowhere") }]
    );
    id_of(&errors[0]);
}

/// Proves ENG-25, ENG-26.
#[test]
fn tags_and_retries_are_checked_on_every_node() {
    let errors = problems(
        Chart::builder(nop("a").tag("").tag("x~y").tag("ok").tag("ok"))
            .mount(Mount::of("m", &inner()).tag(" "))
            .decide(decider("d").branch(nop("b").tag("t").tag("t").retry(Retry::attempts(0)))),
    );
    let invalid = |node: &str, tag: &str| BuildError::InvalidTag { node: s(node), tag: s(tag) };
    let duplicate = |node: &str, tag: &str| BuildError::DuplicateTag { node: s(node), tag: s(tag) };
    let retry = BuildError::InvalidRetry { node: s("b"), attempts: 0 };
    let expected = [
        invalid("a", ""),
        invalid("a", "x~y"),
        duplicate("a", "ok"),
        invalid("m", " "),
        duplicate("b", "t"),
        retry,
    ];
    assert_eq!(errors, expected);
    errors.iter().for_each(|error| drop(id_of(error)));
    assert!(Chart::builder(nop("a").retry(Retry::attempts(1))).build().is_ok());
}

/// Proves ENG-38.
#[test]
fn a_for_each_needs_a_ceiling_and_a_target() {
    let bare = |id: &str| ForEach::new(id, |_: Scope| Ok(vec![1_u64]), |_: &u64, _| inner());
    let words = |for_each: ForEach| -> Vec<String> {
        problems(Chart::builder(nop("a")).for_each(for_each)).iter().map(id_of).collect()
    };
    let both = words(bare("f"));
    assert_eq!(both.len(), 2);
    assert!(both[0].contains("`f`") && both[0].contains("`max_branches` is missing"));
    assert!(both[1].contains("`into` is missing"));
    assert!(words(bare("f").into("k").max_branches(0))[0].contains("`max_branches` is 0"));
    for key in ["", "runs", "__proto__", "a\u{1f}b"] {
        assert!(words(bare("f").max_branches(1).into(key))[0].contains("`into` names the key"));
    }
}

/// Proves ENG-16, ENG-58: a schema that is none is a build error that names its side.
#[cfg(feature = "schema")]
#[test]
fn invalid_schemas_are_refused() {
    let bad = || crate::value!({ "type": "no-such-type" });
    let errors =
        problems(Chart::builder(nop("a")).contract(Contract::new().input_schema(bad()).output_schema(bad())));
    let sides: Vec<&str> = errors
        .iter()
        .map(|error| match error {
            BuildError::InvalidSchema { side, .. } => *side,
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(sides, ["input", "output"]);
    errors.iter().for_each(|error| drop(id_of(error)));
    // A remote reference is a problem of the schema, not a request to the network.
    let remote = crate::value!({ "$ref": "https://example.invalid/schema.json" });
    assert_eq!(problems(Chart::builder(nop("a")).contract(Contract::new().input_schema(remote))).len(), 1);
}

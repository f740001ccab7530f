use std::time::Duration;

use agentfootprint_core::agent::CostBudget;
use agentfootprint_core::compose::patterns::{
    Debate, LlmSwarm, MapReduce, Reflection, SelfConsistency, Swarm, SwarmAgent, TreeOfThoughts,
};
use agentfootprint_core::compose::{
    ComposeErrors, Conditional, Graph, LlmCall, LlmMerge, LlmRouter, Loop, Node, Parallel, RosterEntry,
    Sequence, Workflow,
};

use crate::support::*;

/// The problems of a refused build, each as its text.
fn problems<T: std::fmt::Debug>(built: Result<T, ComposeErrors>) -> Vec<String> {
    let errors = built.unwrap_err();
    assert!(errors.to_string().contains("cannot be built"), "{errors}");
    errors.problems().iter().map(ToString::to_string).collect()
}

fn w(id: &'static str) -> LlmCall {
    wrapping(id)
}

/// Proves P-7: all problems of a call at once, in its own words.
#[test]
fn calls_are_refused() {
    let built = LlmCall::builder(Script::wrap("x"), " ")
        .id("sf-x")
        .system("a")
        .system(" ")
        .temperature(f64::NAN)
        .max_tokens(0)
        .cost_budget(CostBudget::halt(1.0))
        .build();
    let found = problems(built);
    let wanted = [
        "`system` was called twice",
        "the call id `sf-x` starts with `sf-`",
        "`system` is empty",
        "`cost_budget` with `OnExceed::Halt` has no effect on one call",
        "`max_tokens` is 0",
        "`temperature` is NaN",
        "`cost_budget` needs `pricing`",
        "`model` is empty",
    ];
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for text in wanted {
        assert!(found.iter().any(|problem| problem.contains(text)), "{text} not in {found:#?}");
    }
}

/// Proves AGT-119, P-7.
#[test]
fn sequences_are_refused() {
    assert_eq!(
        problems(Sequence::builder("s").build()),
        ["there is no step; declare at least one with `step`"]
    );
    let built = Sequence::builder("a/b")
        .step("one", w("a"))
        .step("one", w("b"))
        .step("", w("c"))
        .step("x#1", w("d"))
        .pipe_via(|text| text.to_owned())
        .pipe_via(|text| text.to_owned())
        .build();
    assert_eq!(
        problems(built),
        [
            "the step id `` is empty; give it a name",
            "the step id `x#1` holds the reserved character `#`; use letters, digits, `-` and `_`",
            "`pipe_via` was called twice; the second call would silently replace the first",
            "the sequence id `a/b` holds the reserved character `/`; use letters, digits, `-` and `_`",
            "the step id `one` is given twice; ids are unique among siblings",
            "`pipe_via` is declared after the last step; it maps the message of the step that follows it",
        ]
    );
    // Steps mount as `step-<id>`: the reserved prefix is theirs to use (AGT-45).
    assert!(Sequence::builder("s").step("sf-x", w("a")).build().is_ok());
}

/// Proves AGT-45, AGT-119, AGT-121, P-7.
#[test]
fn parallels_are_refused() {
    assert_eq!(
        problems(Parallel::builder("p").branch("sf-a", w("a")).build()),
        [
            "the branch id `sf-a` starts with `sf-`, which is reserved for the library's own nodes; choose another name",
            "1 of at least 2 branches declared; for fewer use the branch alone",
            "there is no merge; declare one of `merge_with_fn`, `merge_with_llm` and `merge_outcomes_with_fn`",
        ]
    );
    let built = Parallel::builder("p")
        .branch("merge", w("a"))
        .branch("b", w("b"))
        .branch("b", w("c"))
        .merge_with_llm(LlmMerge::new(Script::wrap("x"), "", " ").temperature(-1.0))
        .merge_outcomes_with_fn(|_| String::new())
        .build();
    assert_eq!(
        problems(built),
        [
            "the branch id `merge` is the name of a stage of the composition itself; choose another name",
            "`merge_with_llm` and `merge_outcomes_with_fn` are both declared; a parallel merges in one way",
            "the branch id `b` is given twice; ids are unique among siblings",
            "`model of the merge` is empty; give it text or leave it out",
            "`prompt of the merge` is empty; give it text or leave it out",
            "`temperature` is -1; it must be a finite number of at least 0",
        ]
    );
}

/// Proves AGT-45, AGT-119, AGT-124, P-7.
#[test]
fn conditionals_are_refused() {
    assert_eq!(
        problems(Conditional::builder("c").build()),
        [
            "there is no `when` branch; declare at least one with `when`",
            "there is no `otherwise` branch; declare with `otherwise` what happens when no predicate holds",
        ]
    );
    let built = Conditional::builder("c")
        .when("route", |_| true, w("a"))
        .when("sf-x", |_| true, w("b"))
        .otherwise("sf-x", w("c"))
        .otherwise("d", w("d"))
        .build();
    let found = problems(built);
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(found[0].contains("`route` is the name of a stage"));
    assert!(found[1].contains("`sf-x` starts with `sf-`") && found[2].contains("`sf-x` starts with `sf-`"));
    assert_eq!(found[3], "`otherwise` was called twice; the second call would silently replace the first");
}

/// Proves AGT-125, P-7.
#[test]
fn loops_are_refused() {
    assert_eq!(
        problems(Loop::builder("l").times(501).for_at_most(Duration::ZERO).build()),
        [
            "`times` is 501; it must be between 1 and 500",
            "`for_at_most` is zero; it must be longer than nothing",
            "there is no body; declare what is repeated with `repeat`",
        ]
    );
    let built = Loop::builder("l")
        .repeat(w("a"))
        .repeat(w("b"))
        .times(0)
        .times(1)
        .until(|_| true)
        .until(|_| true)
        .build();
    assert_eq!(problems(built).len(), 3);
    assert_eq!(
        problems(Loop::builder("l").repeat(w("a")).times(0).build()),
        ["`times` is 0; it must be between 1 and 500"]
    );
}

/// Proves AGT-126, P-7.
#[test]
fn workflows_are_refused() {
    assert_eq!(
        problems(Workflow::<String, String>::builder("").build()),
        ["the workflow id `` is empty; give it a name", "there is no step; declare at least one with `then`"]
    );
}

/// Proves AGT-127, P-18: fan-in is reported before the cycle, and the cycle names an edge of it.
#[test]
fn graphs_are_refused() {
    assert_eq!(problems(Graph::builder("g").build()), ["there is no node; declare at least one with `node`"]);
    let built = Graph::builder("g")
        .node(Node::new("sf-a", w("a")))
        .node(Node::new("level-1-join", w("b")))
        .node(Node::new("seed", w("c")))
        .node(Node::new("x", w("d")))
        .node(Node::new("x", w("e")))
        .edge("x", "ghost")
        .build();
    let found = problems(built);
    let wanted = [
        "the node id `sf-a` starts with `sf-`",
        "the node id `level-1-join` is the name of a stage of the graph itself",
        "the node id `seed` is the name of a stage",
        "the node id `x` is given twice",
        "the edge `x` -> `ghost` names node `ghost`, which is not declared; nodes are sf-a, level-1-join, seed, x, x",
    ];
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for (problem, text) in found.iter().zip(wanted) {
        assert!(problem.starts_with(text), "{problem} is not {text}");
    }
    let cyclic = Graph::builder("g")
        .node(Node::new("a", w("a")))
        .node(Node::new("b", w("b")))
        .node(Node::new("c", w("c")))
        .edge("a", "b")
        .edge("c", "b")
        .edge("b", "c")
        .build();
    let found = problems(cyclic);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].starts_with("node `b` follows `a` and `c`: declare how"), "{found:#?}");
    let edges = ["the edge `c` -> `b` closes a cycle", "the edge `b` -> `c` closes a cycle"];
    assert!(edges.iter().any(|edge| found[1].starts_with(edge)), "{found:#?}");
    let own = Graph::builder("g").node(Node::new("a", w("a"))).edge("a", "a").build();
    assert!(problems(own)[0].starts_with("the edge `a` -> `a` closes a cycle"));
}

/// Proves AGT-129, AGT-132, P-7.
#[test]
fn routers_are_refused() {
    let built = LlmRouter::builder(Script::wrap("x"), "")
        .agent(RosterEntry::new("done", " "))
        .instruction(" ")
        .build();
    let found = problems(built);
    let wanted = [
        "1 of at least 2 agents declared",
        "the agent id `done` stands for nobody",
        "the agent id `done` has no description; the model chooses by it",
        "`instruction` is empty",
        "LLMCall `route` cannot be built (1 problem):\n- `model` is empty",
    ];
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for (problem, text) in found.iter().zip(wanted) {
        assert!(problem.starts_with(text), "{problem} is not {text}");
    }
}

/// Proves AGT-129, P-7: every number of a pattern that is out of range.
#[test]
fn patterns_are_refused() {
    let model = || Script::wrap("x");
    let text = |found: Vec<String>| found.join("\n");
    let found = text(problems(SelfConsistency::new(model(), "m", "S").samples(1).build()));
    assert_eq!(found, "`samples` is 1; it must be at least 2");
    let found = text(problems(SelfConsistency::new(model(), "", "S").samples(0).build()));
    assert!(found.contains("`samples` is 0") && found.contains("LLMCall `sample-0`"), "{found}");
    let found = text(problems(
        Reflection::new(model(), "m", " ", "C").max_iterations(0).until_critique_contains("").build(),
    ));
    assert!(found.contains("`max_iterations` is 0; it must be between 1 and 500"), "{found}");
    assert!(
        found.contains("`until_critique_contains` is empty") && found.contains("LLMCall `propose`"),
        "{found}"
    );
    let found = text(problems(Debate::new(model(), "m", "P", "C", "J").rounds(0).build()));
    assert_eq!(found, "`rounds` is 0; it must be between 1 and 500");
    let found = text(problems(MapReduce::new(model(), "m", "M", 1, |_, _| Vec::new()).build()));
    assert!(found.contains("`shard_count` is 1; it must be at least 2"), "{found}");
    assert!(
        found.contains("there is no reduce; declare one of `reduce_with_fn` and `reduce_with_llm`"),
        "{found}"
    );
    let found = text(problems(TreeOfThoughts::new(model(), "m", "T", 0, 1, |_| 0.0).beam_width(2).build()));
    assert!(found.contains("`depth` is 0; it must be between 1 and 500"), "{found}");
    assert!(found.contains("`branching_factor` is 1; it must be at least 2"), "{found}");
    assert!(
        found.contains("`beam_width` is 2; it must be at least 1 and at most the branching factor"),
        "{found}"
    );
    let built = Swarm::new(|_| None::<String>).agent(SwarmAgent::new("done", w("a"))).max_handoffs(0).build();
    let found = text(problems(built));
    assert!(
        found.contains("1 of at least 2 agents declared") && found.contains("`done` stands for nobody"),
        "{found}"
    );
    assert!(found.contains("`max_handoffs` is 0; it must be between 1 and 500"), "{found}");
    let built = LlmSwarm::new(model(), "m")
        .agent(SwarmAgent::new("a", w("a")), "one")
        .agent(SwarmAgent::new("a", w("b")), " ")
        .build();
    let found = text(problems(built));
    assert!(
        found.contains("the agent id `a` is given twice") && found.contains("has no description"),
        "{found}"
    );
}

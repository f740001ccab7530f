use super::*;
use crate::recorders::{FlowNarrative, LoopStrategy};

/// Passes 1..=25 to one target; the numbers told one by one.
fn told(strategy: LoopStrategy) -> (Vec<u64>, Vec<String>, u64) {
    let narrative = FlowNarrative::with_strategy(strategy);
    let play = Player::new("r", vec![&narrative]);
    let from = at("from#0", "From");
    for pass in 1..=25 {
        play.go_round(&from, "Top", pass);
    }
    play.finish();
    let sentences = narrative.sentences(None);
    let number = |text: &str| text.split(' ').nth(1).unwrap().parse().unwrap();
    let passes: Vec<u64> = sentences.iter().map(|s| number(&s.text)).collect();
    let rest = narrative.text(None).into_iter().skip(passes.len()).collect();
    (passes, rest, narrative.suppressed_count(None))
}

/// Proves OBS-86.
#[test]
fn strategies_at_passes_1_to_25() {
    let all: Vec<u64> = (1..=25).collect();
    assert_eq!(told(LoopStrategy::all()), (all, vec![], 0));
    assert_eq!(told(LoopStrategy::adaptive(5, 10).unwrap()), (vec![1, 2, 3, 4, 5, 15, 25], vec![], 18));
    assert_eq!(told(LoopStrategy::milestone(10, true).unwrap()), (vec![1, 10, 20], vec![], 22));
    assert_eq!(told(LoopStrategy::milestone(10, false).unwrap()), (vec![10, 20], vec![], 23));
    assert_eq!(told(LoopStrategy::progressive(2).unwrap()), (vec![1, 2, 4, 8, 16], vec![], 20));
    assert_eq!(told(LoopStrategy::progressive(3).unwrap()), (vec![1, 3, 9], vec![], 22));
    let windowed = told(LoopStrategy::windowed(3, 2).unwrap());
    let rest = ["Top: 20 passes left out", "Pass 24 goes back to Top", "Pass 25 goes back to Top"];
    assert_eq!(windowed, (vec![1, 2, 3], rest.map(String::from).to_vec(), 22));
    assert_eq!(told(LoopStrategy::rle()), (vec![], vec!["Top: passes 1 to 25".into()], 25));
    assert_eq!(told(LoopStrategy::silent()), (vec![], vec!["Top: 25 passes in all".into()], 25));
    let separate = FlowNarrative::with_strategy(LoopStrategy::separate());
    let play = Player::new("r", vec![&separate]);
    play.go_round(&at("a#0", "A"), "Top", 1);
    play.go_round(&at("b#1", "B"), "Mid", 1);
    play.go_round(&at("a#2", "A"), "Top", 2);
    assert!(separate.text(None).is_empty());
    assert_eq!(separate.loop_sentences(None).len(), 3);
    let counts: Vec<_> = separate.loop_counts(None).into_iter().map(|(k, v)| (k.to_string(), v)).collect();
    assert_eq!(counts, [("Top".to_owned(), 2), ("Mid".to_owned(), 1)]);
    // Consecutive loops to one target collapse; another target in between starts a new run.
    let rle = FlowNarrative::with_strategy(LoopStrategy::rle());
    let play = Player::new("r", vec![&rle]);
    for (target, pass) in [("Top", 1), ("Top", 2), ("Mid", 1), ("Top", 3)] {
        play.go_round(&at("a#0", "A"), target, pass);
    }
    assert_eq!(rle.text(None), ["Top: passes 1 to 2", "Mid: pass 1", "Top: pass 3"]);
}

/// Proves OBS-87.
#[test]
fn parameters_are_checked() {
    let refused = [
        (LoopStrategy::adaptive(0, 1), "loop strategy `adaptive`: threshold = 0 must be at least 1"),
        (LoopStrategy::adaptive(1, 0), "loop strategy `adaptive`: sample_rate = 0 must be at least 1"),
        (LoopStrategy::milestone(0, true), "loop strategy `milestone`: interval = 0 must be at least 1"),
        (LoopStrategy::progressive(1), "loop strategy `progressive`: base = 1 must be at least 2"),
        (LoopStrategy::windowed(0, 1), "loop strategy `windowed`: head = 0 must be at least 1"),
        (LoopStrategy::windowed(1, 0), "loop strategy `windowed`: tail = 0 must be at least 1"),
    ];
    for (strategy, message) in refused {
        assert_eq!(strategy.unwrap_err().to_string(), message);
    }
}

/// Proves OBS-38, OBS-85.
#[test]
fn the_flow_narrative_says_each_thing_once() {
    let narrative = FlowNarrative::new();
    assert_eq!(narrative.id(), "narrative");
    assert_eq!(
        FlowNarrative::with_strategy(LoopStrategy::windowed(3, 2).unwrap()).id(),
        "narrative-windowed"
    );
    let play = Player::new("r", vec![&narrative]);
    let a = at("a#0", "A");
    play.stage(&a, "k");
    play.fire(&a, NextEvent { from: "A".into(), to: "B".into(), description: None });
    let b = at("b#1", "B");
    play.stage(&b, "k");
    play.fork(&b, &["X", "Y"]);
    play.executed(&b, StageType::Fork, None);
    let mount = at("sf#2", "Sub").mount();
    play.enter(&mount, "Sub", None);
    play.stage(&at("sf/in#3", "sf/In"), "k");
    play.exit(&mount, "Sub", None);
    play.decide(&at("d#4", "D"), "A", None);
    play.select(&at("s#5", "S"), &["X"], 2, None);
    play.fail(&at("f#6", "F"), "broken");
    play.fire(&a, BreakEvent { stage_name: "A".into(), reason: None, propagated_from_subflow: None });
    play.pause(&a);
    assert_eq!(
        narrative.text(None),
        [
            "The process began with A",
            "Next came B",
            "[Parallel] 2 paths start together: X, Y",
            "Entering Sub",
            "The process began with sf/In",
            "Leaving Sub",
            "[Condition] D took A",
            "[Selected] 1 of 2 paths: X",
            "[Error] F failed: Error: broken",
            "Stopped at A",
            "Paused at A",
        ]
    );
    assert!(narrative.snapshot(&play.run).is_none());
}

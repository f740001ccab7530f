use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::error::Issue;
use crate::recorders::narrative::*;
use crate::value;

/// `(type, address, text)` of every entry.
fn told(narrative: &CombinedNarrative) -> Vec<String> {
    let entry = |e: &NarrativeEntry| {
        let id = e.runtime_stage_id.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} {id} | {}", e.kind.unwrap().word(), e.text)
    };
    narrative.entries().iter().map(entry).collect()
}

/// Every kind of entry once, in the words of OBS-81.
///
/// Proves OBS-75, OBS-78, OBS-80, OBS-81, OBS-83.
#[test]
fn every_kind_of_entry() {
    let narrative = CombinedNarrative::new();
    let play = Player::new("r", vec![&narrative]);
    let seed = at("seed#0", "Seed");
    play.start(&seed);
    play.write(&seed, "list", value!([1, 2]));
    play.read(&seed, "k", value!("v"));
    play.fire(
        &seed,
        WriteEvent {
            key: "o".into(),
            value: Some(value!({"a": 1})),
            operation: WriteOp::Update,
            redacted: false,
        },
    );
    play.fire(
        &seed,
        WriteEvent { key: "gone".into(), value: None, operation: WriteOp::Delete, redacted: false },
    );
    play.fire(&seed, EmitEvent { name: "app.done".into(), payload: value!({"ok": true}) });
    play.fire(
        &seed,
        StageRetryEvent {
            stage_name: "Seed".into(),
            stage_id: "seed".into(),
            attempt: 1,
            max_attempts: 3,
            delay_ms: 20,
            message: "busy".into(),
            structured_error: StructuredError::new("busy"),
        },
    );
    play.fire(&seed, ReadEvent { key: None, value: None, redacted: false });
    play.end(&seed);
    play.commit(&seed);
    play.executed(&seed, StageType::Linear, Some("loads values"));
    let mount = at("sf#1", "Sub").under("seed#0").mount();
    play.enter(&mount, "Sub", Some(value!({"k": "v"})));
    let inner = at("sf/in#2", "sf/In").under("sf#1");
    play.stage(&inner, "r");
    play.exit(&mount, "Sub", Some(value!({"secret": 1})));
    let dec = at("dec#3", "Dec").under("sf#1");
    play.start(&dec);
    play.read(&dec, "dti", value!(0.4));
    play.end(&dec);
    play.commit(&dec);
    let condition = value!({"key": "dti", "op": "lt", "threshold": 0.5, "actualSummary": "0.4", "result": true, "redacted": false});
    let rule = value!({"type": "filter", "ruleIndex": 1, "branch": "yes", "matched": true, "label": "Low", "conditions": [condition]});
    play.decide(&dec, "Yes", Some(value!({"rules": [rule.clone()], "chosen": "yes", "default": "no"})));
    play.executed(&dec, StageType::Decider, None);
    let yes = at("yes#4", "Yes").under("dec#3");
    play.stage(&yes, "y");
    play.go_round(&yes, "Seed", 1);
    let again = at("seed#5", "Seed").pass(1);
    play.stage(&again, "list");
    let sel = at("sel#6", "Sel");
    play.start(&sel);
    play.read(&sel, "age", value!(71));
    play.end(&sel);
    play.commit(&sel);
    play.select(&sel, &["Heart"], 3, Some(value!({"rules": [rule.clone()], "selected": ["heart"]})));
    play.executed(&sel, StageType::Selector, None);
    play.fork(&sel, &["Heart"]);
    let bad = at("heart#7", "Heart").under("sel#6");
    play.start(&bad);
    play.write(&bad, "x", value!(1));
    play.commit(&bad);
    let mut error = StructuredError::new("bad input");
    error.issues = Some(vec![Issue {
        path: vec![value!("order"), value!(0)],
        message: "missing".into(),
        code: None,
        expected: None,
        received: None,
    }]);
    play.fire(
        &bad,
        ErrorEvent {
            stage_name: "Heart".into(),
            message: "Error: bad input".into(),
            structured_error: error,
            error: None,
            evidence: None,
        },
    );
    let stop = at("stop#8", "Stop");
    play.stage(&stop, "z");
    play.fire(
        &stop,
        BreakEvent {
            stage_name: "Stop".into(),
            reason: Some("all set".into()),
            propagated_from_subflow: Some("sf".into()),
        },
    );
    let ask = at("ask#9", "Ask");
    play.start(&ask);
    play.write(&ask, "q", value!(null));
    play.pause(&ask);
    assert_eq!(
        told(&narrative),
        [
            "stage seed#0 | Stage 1: the process began with loads values",
            "step seed#0 | Step 1: write list = (2 items)",
            "step seed#0 | Step 2: read k = \"v\"",
            "step seed#0 | Step 3: update o = {a}",
            "step seed#0 | Step 4: delete gone",
            "emit seed#0 | [emit] app.done: {ok}",
            "retry seed#0 | [Retry] attempt 1 of 3 of Seed failed: busy; waiting 20 ms",
            "step seed#0 | Step 7: read the whole state = undefined",
            "subflow sf#1 | Entering Sub",
            "step sf#1 | Input k = \"v\"",
            "stage sf/in#2 | Stage 1: the process began with sf/In",
            "step sf/in#2 | Step 1: write r = 1",
            "subflow sf#1 | Leaving Sub",
            "stage dec#3 | Stage 2: next came Dec",
            "step dec#3 | Step 1: read dti = 0.4",
            "condition dec#3 | [Condition] rule 1 \"Low\" held: dti 0.4 lt 0.5 ✓ → Yes",
            "stage yes#4 | Stage 3: next came Yes",
            "step yes#4 | Step 1: write y = 1",
            "loop yes#4 | Pass 1 goes back to Seed",
            "stage seed#5 | Stage 4: looped back to Seed (pass 1)",
            "step seed#5 | Step 1: write list = 1",
            "stage sel#6 | Stage 5: next came Sel",
            "step sel#6 | Step 1: read age = 71",
            "selector sel#6 | [Selected] 1 of 3 paths: yes \"Low\" (dti 0.4 lt 0.5 ✓)",
            "fork sel#6 | [Parallel] 1 path starts: Heart",
            "stage heart#7 | Stage 6: next came Heart",
            "step heart#7 | Step 1: write x = 1",
            "error heart#7 | [Error] Heart failed: Error: bad input; order.0: missing",
            "stage stop#8 | Stage 7: next came Stop",
            "step stop#8 | Step 1: write z = 1",
            "break stop#8 | Stopped at Stop, passed on from sf: all set",
            "stage ask#9 | Stage 8: next came Ask",
            "step ask#9 | Step 1: write q = null",
            "pause ask#9 | Paused at Ask",
        ]
    );
    for entry in narrative.entries() {
        let inside = matches!(entry.kind.unwrap().word(), "step" | "condition" | "emit" | "retry");
        assert_eq!(entry.depth == 1, inside, "{entry:?}");
        assert_eq!(entry.direction.is_some(), entry.kind == Some(NarrativeType::Subflow));
        assert_eq!(
            entry.key.is_some(),
            entry.kind == Some(NarrativeType::Step) && !entry.text.contains("whole")
        );
    }
}

/// Decisions without evidence, without a match, and with predicates.
///
/// Proves OBS-81, OBS-107.
#[test]
fn decisions_in_words() {
    let narrative = CombinedNarrative::new();
    let play = Player::new("r", vec![&narrative]);
    let dec = at("dec#0", "Dec");
    play.decide(&dec, "A", None);
    let miss = value!({"type": "function", "ruleIndex": 0, "branch": "b", "matched": false, "matchError": "boom", "inputs": []});
    play.decide(
        &dec,
        "C",
        Some(
            value!({"rules": [miss.clone()], "chosen": "c", "default": "c", "defaultLabel": "nothing fired"}),
        ),
    );
    let hit = value!({"type": "function", "ruleIndex": 1, "branch": "b", "matched": true,
        "inputs": [{"key": "items", "valueSummary": "(2 items)", "redacted": false}]});
    play.decide(&dec, "B", Some(value!({"rules": [miss, hit], "chosen": "b"})));
    play.fire(
        &dec,
        DecisionEvent {
            decider: "Dec".into(),
            chosen: "Other".into(),
            chosen_id: "other".into(),
            fell_back: true,
            rationale: Some("it rained".into()),
            description: Some("Route by weather".into()),
            evidence: None,
        },
    );
    play.select(&dec, &[], 2, None);
    play.select(&dec, &["L", "R"], 2, None);
    assert_eq!(
        told(&narrative),
        [
            "condition dec#0 | [Condition] Dec took A",
            "condition dec#0 | [Condition] none of 1 rule held (1 could not be evaluated) → default C \"nothing fired\"",
            "condition dec#0 | [Condition] rule 1 held: items=(2 items) → B",
            "condition dec#0 | [Condition] Route by weather: took Other because it rained (default, the returned id is no branch)",
            "selector dec#0 | [Selected] 0 of 2 paths",
            "selector dec#0 | [Selected] 2 of 2 paths: L, R",
        ]
    );
}

/// A for-each writes its results after its branches; a run that fails leaves nothing behind.
///
/// Proves OBS-79.
#[test]
fn nothing_stays_buffered() {
    let narrative = CombinedNarrative::new();
    let play = Player::new("r", vec![&narrative]);
    let each = at("each#0", "Each");
    play.start(&each);
    play.read(&each, "items", value!([1]));
    play.fork(&each, &["Each [0]"]);
    play.executed(&each, StageType::Fork, None);
    play.write(&each, "out", value!([2]));
    play.end(&each);
    play.commit(&each);
    let cancelled = at("c#1", "C");
    play.start(&cancelled);
    play.read(&cancelled, "k", value!(1));
    play.abort();
    assert_eq!(
        told(&narrative),
        [
            "stage each#0 | Stage 1: the process began with Each",
            "step each#0 | Step 1: read items = (1 item)",
            "fork each#0 | [Parallel] 1 path starts: Each [0]",
            "step each#0 | Step 2: write out = (1 item)",
            "stage c#1 | Stage 2: next came C",
            "step c#1 | Step 1: read k = 1",
        ]
    );
}

proptest! {
    /// Operations in = operations out, each under its own step's headline, also for parallel steps of one name.
    ///
    /// Proves OBS-78, OBS-79.
    #[test]
    fn no_operation_is_lost(ops in prop::collection::vec((0_u8..4, 0_u8..6), 0..40), failed in any::<bool>()) {
        let narrative = CombinedNarrative::new();
        let play = Player::new("r", vec![&narrative]);
        let steps: Vec<At> = (0..4).map(|i| at(&format!("same#{i}"), "Same")).collect();
        let mut expected = [0_usize; 4];
        for (step, what) in ops {
            let at = &steps[step as usize];
            match what {
                0 => play.start(at),
                1..=3 => {
                    expected[step as usize] += 1;
                    play.write(at, &format!("k{}", expected[step as usize]), value!(1));
                }
                4 => play.executed(at, StageType::Linear, None),
                _ => play.commit(at),
            }
        }
        if failed { play.abort() } else { play.finish() }
        for (i, step) in steps.iter().enumerate() {
            let own = narrative.by_step(&step.id);
            let told: Vec<_> = own.iter().filter_map(|e| e.key.as_ref().map(ToString::to_string)).collect();
            prop_assert_eq!(told, (1..=expected[i]).map(|n| format!("k{n}")).collect::<Vec<_>>());
            let first = own.iter().position(|e| e.kind == Some(NarrativeType::Step));
            let headline = own.iter().position(|e| e.kind == Some(NarrativeType::Stage));
            prop_assert!(first.is_none() || headline.is_some_and(|h| Some(h) < first));
            prop_assert!(own.iter().filter(|e| e.kind == Some(NarrativeType::Stage)).count() <= 1);
        }
    }
}

struct Terse;

impl Renderer for Terse {
    fn render_stage(&self, _: &EventCx<'_>, facts: &StageText<'_>) -> Render {
        Render::Text(format!("#{} {}", facts.number, facts.name))
    }
    fn render_op(&self, _: &EventCx<'_>, facts: &OpText<'_>) -> Render {
        match (facts.kind, facts.key) {
            (OpKind::Read, _) => Render::Omit,
            (_, Some("bad")) => panic!("renderer"),
            (OpKind::Input, Some(key)) => Render::Text(format!("<- {key}")),
            _ => Render::Default,
        }
    }
}

/// Proves OBS-76, OBS-82.
#[test]
fn renderers_reword_omit_or_fall_back() {
    let options =
        NarrativeOptions { renderer: Some(Arc::new(Terse)), include_values: false, ..Default::default() };
    let narrative = CombinedNarrative::with_options(options).with_id("terse");
    let play = Player::new("r", vec![&narrative]);
    let seed = at("seed#0", "Seed");
    play.start(&seed);
    play.read(&seed, "k", value!(1));
    play.write(&seed, "k", value!(1));
    play.write(&seed, "bad", value!(1));
    play.executed(&seed, StageType::Linear, None);
    let mount = at("sf#1", "Sub").mount();
    play.enter(&mount, "Sub", Some(value!({"k": 1})));
    play.finish();
    assert_eq!(
        told(&narrative),
        [
            "stage seed#0 | #1 Seed",
            "step seed#0 | Step 2: write k",
            "step seed#0 | Step 3: write bad",
            "subflow sf#1 | Entering Sub",
            "step sf#1 | <- k",
        ]
    );
    assert_eq!(narrative.renderer_failures(), 1);
    let row = narrative.snapshot(&play.run).unwrap();
    assert_eq!(row.meta, Some(value!({"rendererFailures": 1})));

    let plain = NarrativeOptions {
        include_step_numbers: false,
        max_value_length: 6,
        format_value: Some(Arc::new(|v, max| format!("{max}:{}", v.is_some()))),
        renderer: None,
        ..Default::default()
    };
    let narrative = CombinedNarrative::with_options(plain);
    let play = Player::new("r", vec![&narrative]);
    play.stage(&at("seed#0", "Seed"), "k");
    assert_eq!(
        told(&narrative),
        ["stage seed#0 | The process began with Seed", "step seed#0 | Write k = 6:true"]
    );
}

/// Proves OBS-57, OBS-58, OBS-84.
#[test]
fn queries_live_and_stored() {
    let narrative = CombinedNarrative::new();
    let play = Player::new("r", vec![&narrative]);
    play.stage(&at("seed#0", "Seed"), "k");
    let mount = at("sf#1", "Sub").mount();
    play.enter(&mount, "Sub", None);
    play.stage(&at("sf/in#2", "sf/In"), "k");
    play.exit(&mount, "Sub", None);
    play.finish();
    assert_eq!(narrative.by_subflow("").len(), 2);
    assert_eq!(narrative.by_subflow("sf").len(), 4);
    assert_eq!(narrative.up_to(|id| id.stage_id() == "seed").len(), 2);
    assert_eq!(narrative.ranges().len(), 3);
    let keyed = NarrativeQuery { key: Some("k".into()), limit: 1, offset: 1, ..Default::default() };
    let (total, page) = narrative.find(&keyed);
    assert_eq!((total, page.len(), page[0].runtime_stage_id.clone()), (2, 1, Some("sf/in#2".into())));

    let row = narrative.snapshot(&play.run).unwrap();
    assert_eq!(&*row.name, "Narrative");
    let stored = entries_from_value(&row.data).unwrap();
    let bare: Vec<_> = narrative.entries().into_iter().map(|e| NarrativeEntry { raw: None, ..e }).collect();
    assert_eq!(stored, bare);
    assert_eq!(entries_to_value(&stored), row.data);
    let text = NarrativeQuery { text_contains: Some("ENTERING".into()), ..Default::default() };
    assert_eq!(text.find(&stored).entries[0].0, 2);
    let kind =
        NarrativeQuery { kind: Some(NarrativeType::Stage), subflow: Some("sf".into()), ..Default::default() };
    assert_eq!(kind.find(&stored).total, 1);
    let step = NarrativeQuery { step_id: Some("seed#0".into()), ..Default::default() };
    assert_eq!(step.find(&stored).total, 2);
    // A row is recognised by shape, not by id.
    assert!(entries_from_value(&value!([{"text": "x"}])).is_none());
    assert!(entries_from_value(&value!([])).is_none());
    assert_eq!(
        entries_from_value(&value!([{"text": "x", "depth": 0, "type": "novel"}])).unwrap()[0].kind,
        None
    );
}

/// Proves OBS-39, OBS-35.
#[test]
fn a_pause_in_one_process_is_one_story() {
    let narrative = CombinedNarrative::new();
    let first = Player::new("one", vec![&narrative]);
    let ask = at("ask#0", "Ask");
    first.start(&ask);
    first.pause(&ask);
    let second = Player::resumed("two", "one", vec![&narrative]);
    let resumed = at("ask#1", "Ask").pass(1);
    second.fire(
        &resumed,
        FlowResumeEvent { stage_name: "Ask".into(), stage_id: "ask".into(), has_input: true },
    );
    second.stage(&resumed, "a");
    second.finish();
    assert_eq!(
        told(&narrative),
        [
            "stage ask#0 | Stage 1: the process began with Ask",
            "pause ask#0 | Paused at Ask",
            "resume ask#1 | Resumed at Ask with input",
            "stage ask#1 | Stage 2: looped back to Ask (pass 1)",
            "step ask#1 | Step 1: write a = 1",
        ]
    );
    // The paused leg stays as it was; another process says which leg its row goes on from.
    assert_eq!(narrative.entries_of(&first.run).len(), 2);
    assert!(narrative.snapshot(&second.run).unwrap().meta.is_none());
    let elsewhere = CombinedNarrative::new();
    let play = Player::resumed("two", "one", vec![&elsewhere]);
    play.stage(&resumed, "a");
    assert_eq!(elsewhere.snapshot(&play.run).unwrap().meta, Some(value!({"resumedFrom": "one"})));
}

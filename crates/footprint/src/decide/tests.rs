use std::cell::RefCell;

use proptest::prelude::*;

use super::*;
use crate::error::ScopeError;
use crate::state::Key;
use crate::value;
use crate::value::{Object, Value};

/// State for rules: values, redacted keys, and the reads that were made.
#[derive(Default)]
struct State {
    values: Object,
    redacted: Vec<&'static str>,
    reads: RefCell<Vec<String>>,
}

impl State {
    fn of(values: Value) -> Self {
        Self { values: values.as_object().cloned().unwrap(), ..Self::default() }
    }
}

impl ReadState for State {
    fn read_value(&self, key: &str) -> Result<Option<Value>, ScopeError> {
        self.reads.borrow_mut().push(key.to_owned());
        Ok(self.values.get(key).cloned())
    }

    fn served_form(&self, key: &str, value: &Value) -> Option<Value> {
        (!self.redacted.contains(&key)).then(|| value.clone())
    }
}

fn json(value: &impl serde::Serialize) -> Value {
    Value::from_serialize(value).unwrap()
}

const NOTHING: Option<Value> = None;

/// One row per operator and pair of types: (actual, threshold) → eq ne gt gte lt lte.
///
/// Proves OBS-99.
#[test]
fn truth_table_operator_by_type_pair() {
    let some = |v: Value| Some(v);
    let rows: Vec<(Option<Value>, Value, [bool; 6])> = vec![
        (some(value!(1)), value!(1), [true, false, false, true, false, true]),
        (some(value!(1)), value!(1.0), [true, false, false, true, false, true]),
        (some(value!(2)), value!(1.5), [false, true, true, true, false, false]),
        (some(value!(-1)), value!(18446744073709551615_u64), [false, true, false, false, true, true]),
        (some(value!("b")), value!("a"), [false, true, true, true, false, false]),
        (some(value!("a")), value!("a"), [true, false, false, true, false, true]),
        // By UTF-16 code unit an emoji (D83D …) sorts before U+FF5E; by scalar value it would not.
        (some(value!("😀")), value!("\u{ff5e}"), [false, true, false, false, true, true]),
        (some(value!("10")), value!(9), [false, true, false, false, false, false]),
        (some(value!(10)), value!("9"), [false, true, false, false, false, false]),
        (some(value!(true)), value!(true), [true, false, false, false, false, false]),
        (some(value!(true)), value!(false), [false, true, false, false, false, false]),
        (some(value!(true)), value!(1), [false, true, false, false, false, false]),
        (some(value!(null)), value!(null), [true, false, false, false, false, false]),
        (some(value!(null)), value!(0), [false, true, false, false, false, false]),
        (some(value!([1, 2])), value!([1, 2.0]), [true, false, false, false, false, false]),
        (some(value!([1, 2])), value!([2, 1]), [false, true, false, false, false, false]),
        (some(value!({"a": 1, "b": 2})), value!({"b": 2, "a": 1}), [true, false, false, false, false, false]),
        (NOTHING, value!(null), [false, true, false, false, false, false]),
        (NOTHING, value!(1), [false, true, false, false, false, false]),
    ];
    let ops = [Op::Eq, Op::Ne, Op::Gt, Op::Gte, Op::Lt, Op::Lte];
    for (actual, threshold, expected) in rows {
        let got = ops.map(|op| op.test(actual.as_ref(), &threshold).unwrap());
        assert_eq!(got, expected, "{actual:?} against {threshold}");
        let list = value!([threshold.clone(), "other"]);
        assert_eq!(Op::In.test(actual.as_ref(), &list), Ok(expected[0]));
        assert_eq!(Op::NotIn.test(actual.as_ref(), &list), Ok(expected[1]));
    }
}

proptest! {
    /// Proves OBS-99.
    #[test]
    fn operators_are_consistent(a in any::<i32>(), b in any::<f64>().prop_filter("finite", |b| b.is_finite())) {
        let (x, y) = (Value::from(a), Value::from(b));
        let test = |op: Op| op.test(Some(&x), &y).unwrap();
        prop_assert_eq!(test(Op::Eq), f64::from(a) == b);
        prop_assert_eq!(test(Op::Gt), f64::from(a) > b);
        prop_assert_eq!(test(Op::Gte), test(Op::Gt) || test(Op::Eq));
        prop_assert_eq!(test(Op::Lte), !test(Op::Gt));
        prop_assert_eq!(test(Op::Ne), !test(Op::Eq));
    }
}

/// Proves OBS-98, OBS-100.
#[test]
fn filters_are_data() {
    let filter: WhereFilter = field("score").gte(600).lte(699).field("country").is_in(["NL", "BE"]).into();
    let stored = value!({"score": {"gte": 600, "lte": 699}, "country": {"in": ["NL", "BE"]}});
    assert_eq!(json(&filter), stored);
    assert_eq!(stored.decode::<WhereFilter>().unwrap(), filter);
    assert_eq!(filter.check(), Ok(()));

    let unknown = WhereFilter::from_value(&value!({"score": {"above": 1}}));
    assert_eq!(unknown, Err(FilterError::UnknownOperator { key: "score".into(), op: "above".into() }));
    assert!(
        value!({"score": {"above": 1}}).decode::<WhereFilter>().unwrap_err().to_string().contains("above")
    );
    assert!(WhereFilter::from_value(&value!({"score": 1})).is_err());
    assert!(value!([1]).decode::<WhereFilter>().is_err());

    assert_eq!(WhereFilter::default().check(), Err(FilterError::Empty));
    let long = |n: i64| WhereFilter::from(field("id").is_in(0..n));
    assert_eq!(long(1000).check(), Ok(()));
    assert_eq!(long(1001).check(), Err(FilterError::ListTooLong { op: "in", len: 1001 }));
    assert_eq!(
        WhereFilter::default().with("id", Op::NotIn, 3).check(),
        Err(FilterError::ListExpected { op: "notIn" })
    );
}

/// Proves OBS-97, OBS-102, OBS-104, OBS-105.
#[test]
fn decide_takes_the_first_match_and_says_why() {
    let state = State::of(value!({"score": 650, "dti": 0.38, "country": "NL"}));
    let rules = [
        Rule::when(field("score").gt(700).field("dti").lt(0.43), "approve").label("Good credit"),
        Rule::when(field("score").gte(600).lte(699).field("country").is_in(["NL", "BE"]), "review"),
        Rule::when(field("dti").gt(0.3), "reject"),
    ];
    let decision = decide(&state, &rules, ("reject", "nothing fired")).unwrap();
    assert_eq!(&*decision.branch, "review");
    assert_eq!(
        json(&*decision.evidence.unwrap()),
        value!({
            "rules": [
                {"type": "filter", "ruleIndex": 0, "branch": "approve", "matched": false, "label": "Good credit", "conditions": [
                    {"key": "score", "op": "gt", "threshold": 700, "actualSummary": "650", "result": false, "redacted": false},
                    {"key": "dti", "op": "lt", "threshold": 0.43, "actualSummary": "0.38", "result": true, "redacted": false}]},
                {"type": "filter", "ruleIndex": 1, "branch": "review", "matched": true, "conditions": [
                    {"key": "score", "op": "gte", "threshold": 600, "actualSummary": "650", "result": true, "redacted": false},
                    {"key": "score", "op": "lte", "threshold": 699, "actualSummary": "650", "result": true, "redacted": false},
                    {"key": "country", "op": "in", "threshold": ["NL", "BE"], "actualSummary": "\"NL\"", "result": true, "redacted": false}]},
            ],
            "chosen": "review", "default": "reject", "defaultLabel": "nothing fired",
        })
    );
    // Each filter key is read once per rule; rules after the winner read nothing.
    assert_eq!(*state.reads.borrow(), ["score", "dti", "score", "country"]);
}

/// Proves OBS-102, OBS-201.
#[test]
fn the_default_and_its_label() {
    let state = State::of(value!({"x": 1}));
    let miss = [Rule::when(field("x").gt(9), "big").label("Big")];
    let decision = decide(&state, &miss, ("small", "nothing fired")).unwrap();
    let evidence = decision.evidence.unwrap();
    assert_eq!((&*evidence.chosen, evidence.default_label.as_deref()), ("small", Some("nothing fired")));
    assert_eq!(
        meanings(&evidence).into_iter().map(|(k, v)| (k.to_string(), v.to_string())).collect::<Vec<_>>(),
        [("big".to_owned(), "Big".to_owned()), ("small".to_owned(), "nothing fired".to_owned())]
    );
    // A blank label counts as undeclared, and an undeclared one is absent, not null.
    let blank = decide(&state, &miss, ("small", "  ")).unwrap().evidence.unwrap();
    assert!(json(&*blank).get("defaultLabel").is_none());
    // Without a default, falling through is an error that names the rules.
    let error = decide(&state, &miss, DefaultBranch::none()).unwrap_err();
    assert_eq!((error.rules.len(), error.failed()), (1, 0));
    assert!(json(&*decide(&state, &miss, "small").unwrap().evidence.unwrap()).get("default").is_some());
}

/// Proves OBS-100, OBS-101, OBS-105.
#[test]
fn rules_that_cannot_be_evaluated_do_not_match() {
    let state = State::of(value!({"x": 5, "items": ["a", "b"]}));
    let rules = [
        Rule::test(|_| Err::<bool, _>("bad predicate"), "left").label("Broken"),
        Rule::test(
            |s| {
                s.value("x")?;
                if true {
                    panic!("mid-read");
                }
                Ok::<_, ScopeError>(true)
            },
            "left",
        ),
        Rule::when(WhereFilter::default().with("x", Op::In, (0..1001).collect::<Vec<i64>>()), "left"),
        Rule::when(WhereFilter::default(), "left").label("empty"),
        Rule::test(|s| Ok::<_, ScopeError>(s.get(Key::<Vec<String>>::new("items"))?.len() > 1), "right"),
    ];
    let decision = decide(&state, &rules, "left").unwrap();
    let evidence = decision.evidence.unwrap();
    assert_eq!(&*decision.branch, "right");
    assert_eq!(evidence.failed_rules(), 3);
    assert_eq!(evidence.rules[0].match_error.as_deref(), Some("bad predicate"));
    assert_eq!(evidence.rules[1].match_error.as_deref(), Some("panic: mid-read"));
    // Reads before the failure are kept.
    assert_eq!(
        json(&evidence.rules[1].kind),
        value!({"type": "function", "inputs": [{"key": "x", "valueSummary": "5", "redacted": false}]})
    );
    assert!(evidence.rules[2].match_error.as_deref().unwrap().contains("1001"));
    assert_eq!((evidence.rules[3].matched, evidence.rules[3].match_error.as_deref()), (false, None));
    assert!(evidence.rules[4].matched);
}

/// Proves OBS-97, OBS-105.
#[test]
fn select_takes_all_matches_in_rule_order() {
    let state = State::of(value!({"age": 71, "symptoms": ["cough", "fever"]}));
    let rules = Rules::new([
        Rule::when(field("age").gt(65), "heart").label("Senior"),
        Rule::test(|s| Ok::<_, ScopeError>(s.value("symptoms")?.is_some()), "blood").label("Fever"),
        Rule::when(field("age").lt(18), "child"),
        Rule::when(field("age").gte(70), "heart"),
    ]);
    let selection = rules.select(&state);
    assert_eq!(selection.branches, ["heart".into(), "blood".into()]);
    let evidence = json(&*selection.evidence.unwrap());
    assert_eq!(evidence["selected"], value!(["heart", "blood"]));
    assert_eq!(evidence["rules"].as_array().unwrap().len(), 4);
    assert!(evidence.get("chosen").is_none());
    // Evidence is plain data: it reads back.
    assert_eq!(json(&evidence.decode::<SelectionEvidence>().unwrap()), evidence);
    assert!(select(&state, &[]).branches.is_empty());
}

/// Proves OBS-106.
#[test]
fn evidence_of_a_redacted_key_contains_the_secret_nowhere() {
    let mut state = State::of(value!({"ssn": "SECRET-1"}));
    state.redacted = vec!["ssn", "never"];
    let rules = [
        Rule::when(field("ssn").eq("SECRET-1"), "hit"),
        Rule::when(field("ssn").is_in(["SECRET-1", "SECRET-2"]), "hit"),
        Rule::when(field("never").eq("SECRET-3"), "hit"),
        Rule::test(|s| Ok::<_, ScopeError>(s.value("ssn")?.is_some()), "hit"),
    ];
    let selection = select(&state, &rules);
    assert_eq!(selection.branches, ["hit".into()]);
    let text = json(&*selection.evidence.unwrap()).to_string();
    assert!(!text.contains("SECRET"), "{text}");
    assert_eq!(text.matches("[REDACTED]").count(), 7);
    assert_eq!(text.matches("\"redacted\":true").count(), 4);
}

/// Proves OBS-107.
#[test]
fn plain_ids_carry_no_evidence() {
    assert_eq!(Decision::from("a"), Decision { branch: "a".into(), evidence: None });
    assert_eq!(Selection::from("a").branches, ["a".into()]);
    assert_eq!(Selection::from(["a", "b"]).branches.len(), 2);
    assert_eq!(Selection::from(vec![String::from("a")]).evidence, None);
}

/// Proves OBS-103.
#[test]
fn declared_rules_are_checked_against_the_branches() {
    let rules = Rules::new([
        Rule::when(field("x").gt(1), "a").label("A"),
        Rule::when(WhereFilter::default(), "a"),
        Rule::when(field("x").gt(1), "nowhere"),
        Rule::when(field("x").gt(1), "a"),
    ])
    .otherwise("gone");
    let problems: Vec<String> = rules.check(&["a", "b"]).iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "rule #1: the filter has no condition; the catch-all is the default branch",
            "rule #2 leads to `nowhere`, which is no branch; available: a, b",
            "rule default leads to `gone`, which is no branch; available: a, b",
        ]
    );
    assert_eq!(rules.duplicates(), [(0, 3)]);
    assert_eq!(rules.default_branch().branch().map(|b| &**b), Some("gone"));
    assert!(rules.decide(&State::default()).is_ok());
}

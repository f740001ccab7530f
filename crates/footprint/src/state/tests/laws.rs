//! The two ground laws and the mirror, over random programs.

use proptest::prelude::*;

use super::*;
use crate::value;
use crate::value::tests::any_value;
use crate::value::{Array, Str};

/// Part of every secret value; must never reach log or mirror.
const SECRET: &str = "hush";

#[derive(Debug, Clone)]
enum Act {
    Read(Str),
    Peek(Str),
    Set(Path, Value),
    Merge(Path, Value),
    Push(Str, Value),
    Delete(Path),
    Mark(Str),
}

#[derive(Debug, Clone)]
struct Stage {
    /// 0 = root, else a branch.
    namespace: u8,
    /// Begins before the stage in front of it commits.
    overlaps: bool,
    acts: Vec<Act>,
}

fn any_root() -> impl Strategy<Value = Str> {
    prop::sample::select(vec!["a", "b", "list", "s", "p1", "m"]).prop_map(Str::from)
}

fn any_path() -> impl Strategy<Value = Path> {
    let below = prop::collection::vec(prop::sample::select(vec!["b", "c", "0", "1"]), 0..3);
    (any_root(), below, any::<bool>()).prop_map(|(root, below, nested)| {
        let below = below.into_iter().map(Str::from).take(if nested { 3 } else { 0 });
        Path::new([root].into_iter().chain(below))
    })
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        1 => any_root().prop_map(Act::Read),
        1 => any_root().prop_map(Act::Peek),
        5 => (any_path(), any_value()).prop_map(|(path, value)| Act::Set(path, value)),
        4 => (any_path(), any_value()).prop_map(|(path, value)| Act::Merge(path, value)),
        3 => (any_root(), prop::collection::vec(any_value(), 0..3))
            .prop_map(|(key, items)| Act::Push(key, Value::from(items))),
        2 => any_path().prop_map(Act::Delete),
        1 => Just(Act::Mark("m".into())),
    ]
}

fn any_program() -> impl Strategy<Value = Vec<Stage>> {
    let stage = (0u8..4, any::<bool>(), prop::collection::vec(any_act(), 0..6))
        .prop_map(|(namespace, overlaps, acts)| Stage { namespace, overlaps, acts });
    prop::collection::vec(stage, 1..5)
}

fn namespace(number: u8) -> Path {
    match number {
        0 | 3 => Path::root(),
        1 => Path::dotted("runs.c1"),
        _ => Path::dotted("runs.c1.runs.inner"),
    }
}

fn policy() -> RedactionRule {
    let policy = RedactionPolicy::new()
        .keys(["s"])
        .patterns(["^p"])
        .unwrap()
        .fields("a", ["b", "c.*.b"])
        .fields("list", ["*.b"]);
    RedactionRule::new(policy)
}

/// Puts a secret wherever the policy (or a mark) selects something in a value written at `path`.
fn with_secrets(path: &Path, value: Value, redaction: Redaction<'_>) -> Value {
    let placed = redaction.serve(path, &value).value.to_string();
    placed.replace(SERVED_PLACEHOLDER, SECRET).parse().unwrap()
}

fn run(program: &[Stage], dial: CommitValues, rule: Option<RedactionRule>) -> Result<Level, TestCaseError> {
    let initial = value!({ "a": { "b": 1, "c": [1, 2] }, "list": [1], "b": 2 });
    let mut level = Level::new(initial, dial, rule);
    level.provenance = WriteProvenance::ReadsPrefix;
    let mut waiting: Option<Staging> = None;
    for stage in program {
        let mut staging = Staging::new(namespace(stage.namespace));
        if stage.overlaps {
            staging.pin(&level.state);
        }
        if let Some(before) = waiting.take() {
            commit(&mut level, &before)?;
        }
        act(&mut level, &mut staging, &stage.acts);
        waiting = Some(staging);
    }
    if let Some(last) = waiting {
        commit(&mut level, &last)?;
    }
    Ok(level)
}

fn act(level: &mut Level, staging: &mut Staging, acts: &[Act]) {
    for act in acts {
        let secret = |path: &Path, value: &Value| match &level.rule {
            None => value.clone(),
            Some(rule) => with_secrets(path, value.clone(), Redaction::new(Some(rule), &level.marks)),
        };
        match act {
            Act::Read(key) => {
                staging.read(&level.state, key);
            }
            Act::Peek(key) => {
                staging.peek(&level.state, key);
            }
            Act::Set(path, value) => {
                let op = StagedOp::Set { path: path.clone(), value: secret(path, value) };
                staging.apply(&level.state, op);
            }
            Act::Merge(path, value) => {
                let op = StagedOp::Merge { path: path.clone(), patch: secret(path, value) };
                staging.apply(&level.state, op);
            }
            Act::Push(key, items) => {
                let path = Path::key(key.clone());
                // Items of a list stand behind what is there, so their secrets are placed in the whole list.
                let before =
                    staging.look(&level.state, key).and_then(|v| v.as_array().cloned()).unwrap_or_default();
                let mut whole = before.clone();
                whole.extend(items.as_array().unwrap().iter().cloned());
                let tail = match secret(&path, &Value::Array(whole)) {
                    Value::Array(whole) => whole.tail(before.len()),
                    text => Array::from(vec![text]),
                };
                staging.push(&level.state, key, tail);
            }
            Act::Delete(path) => {
                if level.marks.touches(path) {
                    staging.note_mark(path.clone());
                }
                level.marks.clear(path);
                staging.apply(&level.state, StagedOp::Delete { path: path.clone() });
            }
            Act::Mark(key) => {
                if level.rule.is_some() {
                    level.marks.mark(Path::key(key.clone()));
                    staging.note_mark(Path::key(key.clone()));
                }
            }
        }
    }
}

/// Commits, and checks ENG-3 and the trip through JSON.
fn commit(level: &mut Level, staging: &Staging) -> Result<(), TestCaseError> {
    let commit = level.encode(staging);
    if let Some(base) = staging.base() {
        let mut folded = base.clone();
        commit.real_rows().iter().for_each(|row| apply_row(&mut folded, row));
        for op in staging.ops() {
            let path = staging.namespace().join(op.path());
            let seen = staging.view().walk(op.path().segments());
            prop_assert_eq!(folded.walk(path.segments()), seen, "at {} of {:?}", path, commit.rows);
        }
    }
    let bundle = level.commit(staging).clone();
    let again = Bundle::from_value(&bundle.to_value().to_string().parse().unwrap(), bundle.idx).unwrap();
    prop_assert_eq!(&again, &bundle);
    Ok(())
}

fn check(program: &[Stage], dial: CommitValues) -> Result<(), TestCaseError> {
    let level = run(program, dial, None)?;
    let folded = fold(level.initial.clone(), &level.log);
    // To the byte: order of keys included.
    prop_assert_eq!(folded.to_string(), level.state.to_string());
    prop_assert_eq!(&level.mirror, &level.state);
    prop_assert!(level.log.iter().all(|bundle| bundle.redacted_paths.is_empty()));
    Ok(())
}

fn check_redacted(program: &[Stage], dial: CommitValues) -> Result<(), TestCaseError> {
    let level = run(program, dial, Some(policy()))?;
    let folded = fold(level.mirror_base.clone(), &level.log);
    prop_assert_eq!(folded.to_string(), level.mirror.to_string());
    let log: String = level.log.iter().map(|bundle| bundle.to_value().to_string()).collect();
    prop_assert!(!log.contains(SECRET), "{}", log);
    let redaction = Redaction::new(level.rule.as_ref(), &level.marks);
    let served = redaction.serve_state(&level.state).to_string();
    // A delete takes a mark back, wherever else the key still stands.
    let deletes = program.iter().flat_map(|stage| &stage.acts).any(|act| matches!(act, Act::Delete(_)));
    prop_assert!(deletes || !served.contains(SECRET), "{}", served);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Proves ENG-3, ENG-4, ENG-66, ENG-77, ENG-81.
    #[test]
    fn full_commits_fold_to_what_was_read_back_and_to_the_live_state(program in any_program()) {
        check(&program, CommitValues::Full)?;
    }

    /// Proves ENG-3, ENG-4, ENG-66, ENG-75, ENG-77, ENG-81.
    #[test]
    fn delta_commits_fold_to_what_was_read_back_and_to_the_live_state(program in any_program()) {
        check(&program, CommitValues::Delta)?;
    }

    /// Proves ENG-3, ENG-90, ENG-93, ENG-94.
    #[test]
    fn full_logs_fold_to_the_mirror_and_hold_no_secret(program in any_program()) {
        check_redacted(&program, CommitValues::Full)?;
    }

    /// Proves ENG-3, ENG-90, ENG-93, ENG-94.
    #[test]
    fn delta_logs_fold_to_the_mirror_and_hold_no_secret(program in any_program()) {
        check_redacted(&program, CommitValues::Delta)?;
    }
}

use super::*;
use crate::value;

fn state(value: Value) -> Object {
    value.as_object().cloned().unwrap()
}

/// Proves ENG-66.
#[test]
fn the_base_is_pinned_at_the_first_touch_and_missing_keys_fall_back_to_live_state() {
    let before = state(value!({ "a": 1 }));
    let after = state(value!({ "a": 2, "new": 3 }));
    let mut staging = Staging::default();
    assert!(!staging.is_touched());
    assert_eq!(staging.read(&before, "a"), Some(value!(1)));
    assert_eq!(staging.read(&after, "a"), Some(value!(1)));
    assert_eq!(staging.read(&after, "new"), Some(value!(3)));
    staging.set(&after, "b", value!(1));
    assert!(staging.base().unwrap().ptr_eq(&before));
}

/// Proves ENG-66.
#[test]
fn reads_see_the_stages_own_writes_and_removals() {
    let live = state(value!({ "a": 1, "list": [1] }));
    let mut staging = Staging::default();
    staging.set(&live, "a", value!(2));
    assert_eq!(staging.read(&live, "a"), Some(value!(2)));
    staging.delete(&live, "a");
    assert_eq!(staging.read(&live, "a"), None);
    let later = state(value!({ "a": 9 }));
    assert_eq!(staging.read(&later, "a"), None, "what the stage removed does not come back");
    assert_eq!(staging.push(&live, "list", value!([2]).as_array().unwrap().clone()).to_string(), "[1,2]");
    assert_eq!(staging.look(&live, "list"), Some(value!([1, 2])));
    assert_eq!(live.get("list"), Some(&value!([1])));
}

/// Proves ENG-81, ENG-82.
#[test]
fn a_branch_reads_inner_then_outer_then_root() {
    let live = state(value!({
        "r": "root", "o": "root", "i": "root",
        "runs": { "outer": { "o": "outer", "i": "outer", "runs": { "inner": { "i": "inner" } } } },
    }));
    let mut staging = Staging::new(Path::dotted("runs.outer.runs.inner"));
    assert_eq!(staging.read(&live, "i"), Some(value!("inner")));
    assert_eq!(staging.read(&live, "o"), Some(value!("outer")));
    assert_eq!(staging.read(&live, "r"), Some(value!("root")));
    staging.delete(&live, "i");
    assert_eq!(staging.read(&live, "i"), Some(value!("outer")));
    let sibling = state(value!({ "late": 1 }));
    assert_eq!(staging.read(&sibling, "late"), Some(value!(1)));
}

/// Proves ENG-88: the last value per key, in first-read order.
#[test]
fn tracked_reads_keep_the_last_value_per_key() {
    let live: Object = (0..40).map(|n| (format!("k{n}"), Value::from(n))).collect();
    let mut staging = Staging::default();
    for n in (0..40).chain([3, 39]) {
        staging.read(&live, &format!("k{n}"));
    }
    staging.set(&live, "k5", value!("new"));
    staging.read(&live, "k5");
    staging.read(&live, "missing");
    assert_eq!(staging.reads().len(), 41);
    assert_eq!(&*staging.reads()[5].key, "k5");
    assert_eq!(staging.reads()[5].value, Some(value!("new")));
    assert_eq!(staging.reads()[40].value, None);
    assert!(staging.has_read("k39") && !staging.has_read("k40"));
}

/// Proves ENG-89, OBS-141.
#[test]
fn untracked_sources_are_named_unless_the_key_was_read_tracked() {
    let live = state(value!({ "a": 1, "b": 1 }));
    let mut staging = Staging::default();
    assert!(staging.untracked().is_empty());
    staging.peek(&live, "a");
    assert_eq!(staging.untracked(), Untracked::SILENT);
    staging.read(&live, "a");
    assert!(staging.untracked().is_empty());
    staging.peek(&live, "b");
    staging.note_untracked(Untracked::ARGS);
    let words: Vec<_> = staging.untracked().words().collect();
    assert_eq!(words, ["args", "silent"]);
}

/// Proves ENG-120.
#[test]
fn a_reset_discards_the_attempt() {
    let live = state(value!({ "a": 1 }));
    let mut staging = Staging::new(Path::dotted("runs.c"));
    staging.read(&live, "a");
    staging.peek(&live, "b");
    staging.set(&live, "a", value!(2));
    staging.note_untracked(Untracked::ENV);
    staging.note_mark(Path::key("a"));
    staging.reset();
    assert!(!staging.is_touched() && !staging.has_writes());
    assert!(staging.reads().is_empty() && staging.untracked().is_empty() && staging.marked().is_empty());
    assert_eq!(staging.namespace().to_string(), "runs.c");
}

/// Proves ENG-88.
#[test]
fn writes_show_the_last_value_per_path_as_it_was_passed() {
    let live = state(value!({ "list": [1], "gone": 1 }));
    let mut staging = Staging::default();
    staging.set(&live, "a", value!(1));
    staging.merge(&live, "b", value!({ "x": 1 }));
    staging.push(&live, "list", value!([2]).as_array().unwrap().clone());
    staging.delete(&live, "gone");
    staging.set(&live, "a", value!(2));
    let shown: Vec<String> = staging
        .writes()
        .iter()
        .map(|w| format!("{} {} {:?}", w.operation.as_str(), w.path, w.value))
        .collect();
    assert_eq!(
        shown,
        ["set a Some(2)", "update b Some({\"x\":1})", "set list Some([1,2])", "delete gone None"]
    );
}

/// Proves ENG-63.
#[test]
fn keys_a_reader_would_lose_are_refused() {
    for key in ["runs", "__proto__", "constructor", "prototype"] {
        assert_eq!(check_key(key), Err(KeyProblem::Reserved));
    }
    assert_eq!(check_segment("runs"), Ok(()));
    assert_eq!(check_segment("__proto__"), Err(KeyProblem::Reserved));
    assert_eq!(check_key("a\u{1f}b"), Err(KeyProblem::Separator));
    assert_eq!(check_key(""), Err(KeyProblem::Empty));
    assert_eq!(check_key("a.b"), Ok(()));
}

/// Proves ENG-62.
#[test]
fn typed_keys_are_constants() {
    const TOTAL: Key<f64> = Key::new("total");
    const LOG: ListKey<String> = ListKey::new("log");
    const BY_ID: MapKey<u8> = MapKey::new("byId");
    fn name<K: StateKey>(key: K) -> &'static str {
        key.name()
    }
    assert_eq!([name(TOTAL), name(LOG), name(BY_ID)], ["total", "log", "byId"]);
    assert_eq!(format!("{TOTAL:?}"), "Key(\"total\")");
}

/// Proves OBS-147, OBS-148.
#[test]
fn paths_relate_by_whole_segments() {
    let relation = |row: &str, key: &str| Path::dotted(row).relation_to(&Path::dotted(key));
    assert_eq!(relation("a.b", "a.b"), PathRelation::Exact);
    assert_eq!(relation("a.b.c", "a.b"), PathRelation::Inside);
    assert_eq!(relation("a", "a.b"), PathRelation::Around);
    assert_eq!(relation("a.bc", "a.b"), PathRelation::Apart);
    assert_eq!(Path::from_wire("a\u{1f}b.c").to_string(), "a.b.c");
    assert_eq!(Path::from_wire("a\u{1f}b.c").len(), 2);
}

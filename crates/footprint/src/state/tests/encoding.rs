use super::*;
use crate::value;

fn rows(dial: CommitValues, base: Value, ops: impl IntoIterator<Item = StagedOp>) -> Vec<String> {
    let mut level = Level::new(base, dial, None);
    let shown = shown(&level.step(ops).rows);
    assert_eq!(fold(level.initial.clone(), &level.log), level.state);
    shown
}

fn full(base: Value, ops: impl IntoIterator<Item = StagedOp>) -> Vec<String> {
    rows(CommitValues::Full, base, ops)
}

fn delta(base: Value, ops: impl IntoIterator<Item = StagedOp>) -> Vec<String> {
    rows(CommitValues::Delta, base, ops)
}

/// Proves ENG-5, ENG-72.
#[test]
fn no_op_writes_and_writes_that_are_taken_back_vanish() {
    for dial in [CommitValues::Full, CommitValues::Delta] {
        let base = value!({ "a": 1, "b": { "x": [1, 2] } });
        let same = [set("a", value!(1.0)), set("b", value!({ "x": [1, 2] }))];
        assert!(rows(dial, base.clone(), same).is_empty());
        let reverted = [set("a", value!(7)), set("a", value!(1)), set("c", value!("x")), delete("c")];
        assert!(rows(dial, base.clone(), reverted).is_empty());
        assert!(
            rows(dial, base.clone(), [delete("none"), delete("b.none"), merge("b", value!({}))]).is_empty()
        );
        assert!(rows(dial, base, [push("b.x", value!([]))]).is_empty());
    }
}

/// Proves ENG-75.
#[test]
fn full_writes_one_row_per_surviving_operation() {
    let base = value!({ "a": 1, "list": [1] });
    assert_eq!(
        full(base.clone(), [set("a", value!(2)), set("b", value!(1)), set("a", value!(3))]),
        ["set a 3", "set b 1", "set a 3"]
    );
    assert_eq!(full(base.clone(), [push("list", value!([2]))]), ["set list [1,2]"]);
    assert_eq!(full(base.clone(), [merge("o", value!({ "x": 1 }))]), ["merge o {\"x\":1}"]);
    assert_eq!(
        full(base, [merge("o", value!({ "x": 1 })), merge("o", value!({ "y": 2 }))]),
        ["merge o {\"x\":1,\"y\":2}", "merge o {\"x\":1,\"y\":2} (echo)"]
    );
}

/// Proves ENG-76.
#[test]
fn a_delete_is_a_delete_row_in_both_encodings() {
    assert_eq!(full(value!({ "a": 1 }), [delete("a")]), ["delete a null"]);
    assert_eq!(delta(value!({ "a": 1 }), [delete("a")]), ["delete a null"]);
    assert_eq!(delta(value!({ "a": { "x": 1 } }), [delete("a.x")]), ["delete a.x null"]);
    // The rows of a path share one recorded value; a removed path has none.
    assert_eq!(
        full(value!({ "a": 1 }), [set("a", value!(2)), delete("a")]),
        ["delete a null", "delete a null"]
    );
    assert_eq!(full(value!({ "a": 1 }), [delete("a"), set("a", value!(2))]), ["delete a null", "set a 2"]);
}

/// Proves ENG-75.
#[test]
fn delta_writes_one_row_per_path_in_order_of_last_touch() {
    let base = value!({ "a": 1 });
    assert_eq!(
        delta(base, [set("a", value!(2)), set("b", value!(1)), set("a", value!(3))]),
        ["set b 1", "set a 3"]
    );
}

/// Proves ENG-75, ENG-78.
#[test]
fn delta_appends_what_was_pushed_and_what_a_whole_list_adds() {
    let base = value!({ "list": [1, 2], "empty": [], "text": "x" });
    assert_eq!(delta(base.clone(), [push("list", value!([3]))]), ["append list [3]"]);
    assert_eq!(
        delta(base.clone(), [push("list", value!([3])), push("list", value!([4]))]),
        ["append list [3,4]"]
    );
    assert_eq!(delta(base.clone(), [set("list", value!([1, 2, 3]))]), ["append list [3]"]);
    assert_eq!(
        delta(base.clone(), [set("list", value!([1, 2, 3])), push("list", value!([4]))]),
        ["append list [3,4]"]
    );
    assert_eq!(delta(base.clone(), [set("empty", value!([1]))]), ["append empty [1]"]);
    assert_eq!(delta(base.clone(), [set("list", value!([1, 3]))]), ["set list [1,3]"]);
    assert_eq!(delta(base.clone(), [set("list", value!([1]))]), ["set list [1]"]);
    assert_eq!(delta(base.clone(), [delete("list"), set("list", value!([1, 2, 5]))]), ["append list [5]"]);
    // The first write of a key anchors who created it.
    assert_eq!(delta(base.clone(), [push("new", value!([1]))]), ["set new [1]"]);
    assert_eq!(delta(base, [push("text", value!([1]))]), ["set text [1]"]);
}

/// Proves ENG-75.
#[test]
fn delta_merges_only_what_composes_and_never_as_a_first_write() {
    let base = value!({ "cfg": { "mode": "fast", "limits": { "cpu": 1 } }, "tags": [1] });
    assert_eq!(
        delta(base.clone(), [merge("cfg", value!({ "limits": { "mem": 2 } }))]),
        ["merge cfg {\"limits\":{\"mem\":2}}"]
    );
    assert_eq!(
        delta(base.clone(), [merge("cfg", value!({ "a": 1 })), merge("cfg", value!({ "b": 1 }))]),
        ["merge cfg {\"a\":1,\"b\":1}"]
    );
    assert_eq!(delta(base.clone(), [merge("new", value!({ "a": 1 }))]), ["set new {\"a\":1}"]);
    assert_eq!(
        delta(base.clone(), [set("cfg", value!({ "a": 1 })), merge("cfg", value!({ "b": 1 }))]),
        ["set cfg {\"a\":1,\"b\":1}"]
    );
    // Clearing, then adding: the two deltas do not compose.
    assert_eq!(delta(base, [merge("tags", value!([])), merge("tags", value!([2]))]), ["set tags [2]"]);
}

/// Proves ENG-77.
#[test]
fn full_rewrites_a_family_whose_rows_would_not_fold_back() {
    let base = value!({ "tags": [1], "a": { "b": 1 } });
    assert_eq!(full(base.clone(), [merge("tags", value!([])), merge("tags", value!([2]))]), ["set tags [2]"]);
    assert_eq!(
        full(base.clone(), [set("a", value!({ "b": 5, "c": 1 })), set("a.b", value!(1))]),
        ["set a {\"b\":1,\"c\":1}"]
    );
    // A merge in front of a set of the same path is replayed in front of it, and harmless.
    assert_eq!(
        full(
            base,
            [merge("a", value!({ "x": 1 })), set("a", value!({ "y": 1 })), merge("a", value!({ "z": 1 }))]
        ),
        ["merge a {\"z\":1}", "set a {\"y\":1}", "merge a {\"z\":1}"]
    );
}

/// Proves ENG-75.
#[test]
fn delta_writes_families_as_whole_values_with_the_shallowest_last() {
    let base = value!({ "a": { "b": 1 }, "z": 0 });
    assert_eq!(
        delta(base.clone(), [set("a", value!({ "c": 1 })), set("z", value!(1)), set("a.b.d", value!(2))]),
        ["set a.b.d 2", "set z 1", "set a {\"c\":1,\"b\":{\"d\":2}}"]
    );
    assert_eq!(
        delta(base.clone(), [set("a.c", value!(1)), set("a.d", value!(1))]),
        ["set a.c 1", "set a.d 1"]
    );
    assert_eq!(
        delta(base, [set("a", value!({ "b": 1, "c": 2 })), delete("a.b")]),
        ["delete a.b null", "set a {\"c\":2}"]
    );
}

/// Proves ENG-81, ENG-82.
#[test]
fn a_branch_writes_under_its_own_place_and_takes_over_what_it_changes() {
    let mut level = Level::new(value!({ "a": { "b": { "c": 1 } }, "v": [1] }), CommitValues::Delta, None);
    let mut branch = Staging::new(Path::dotted("runs.l"));
    assert_eq!(branch.read(&level.state, "a"), Some(value!({ "b": { "c": 1 } })));
    branch.merge(&level.state, "a", value!({ "b": { "c": 2 } }));
    branch.push(&level.state, "v", value!([2]).as_array().unwrap().clone());
    let rows = shown(&level.commit(&branch).rows);
    assert_eq!(rows, ["merge runs.l.a {\"b\":{\"c\":2}}", "set runs.l.v [1,2]"]);
    assert_eq!(level.log[0].to_value()["trace"][0]["path"], "runs\u{1f}l\u{1f}a");
    assert_eq!(level.state.walk(&["runs", "l", "a", "b", "c"]), Some(&value!(2)));
    assert_eq!(level.state.walk(&["a", "b", "c"]), Some(&value!(1)));

    let mut inner = Staging::new(Path::dotted("runs.l.runs.i"));
    assert_eq!(inner.read(&level.state, "v"), Some(value!([1, 2])));
    inner.set(&level.state, "v", value!(0));
    assert_eq!(shown(&level.commit(&inner).rows), ["set runs.l.runs.i.v 0"]);
}

/// Proves ENG-87, ENG-88, OBS-150: `readKeys` are the keys read before the write, at their canonical address.
#[test]
fn rows_say_what_was_read_before_them() {
    for dial in [CommitValues::Full, CommitValues::Delta] {
        let mut level = Level::new(value!({ "n": 3, "log": ["s"] }), dial, None);
        level.provenance = WriteProvenance::ReadsPrefix;
        let mut staging = Staging::default();
        staging.set(&level.state, "first", value!(1));
        staging.read(&level.state, "n");
        staging.read(&level.state, "missing");
        staging.read(&level.state, "n");
        staging.set(&level.state, "second", value!(2));
        staging.read(&level.state, "log");
        staging.set(&level.state, "first", value!(3));
        let bundle = level.commit(&staging);
        let keys = |at: usize| bundle.rows[at].read_keys.as_ref().unwrap().join(",");
        match dial {
            CommitValues::Full => assert_eq!([keys(0), keys(1), keys(2)], ["", "n,missing", "n,missing,log"]),
            CommitValues::Delta => assert_eq!([keys(0), keys(1)], ["n,missing", "n,missing,log"]),
        }
        assert_eq!(Bundle::from_value(&bundle.to_value(), bundle.idx).unwrap(), *bundle);
    }
    let mut level = Level::new(value!({ "n": 3 }), CommitValues::Full, None);
    level.provenance = WriteProvenance::ReadsPrefix;
    let mut branch = Staging::new(Path::dotted("runs.c"));
    branch.read(&level.state, "n");
    branch.set(&level.state, "own", value!(1));
    branch.read(&level.state, "own");
    branch.set(&level.state, "more", value!(1));
    let bundle = level.commit(&branch);
    assert_eq!(bundle.rows[1].read_keys.as_deref().unwrap(), ["n".into(), "runs\u{1f}c\u{1f}own".into()]);
}

/// Proves ENG-67, ENG-71: a commit lands on what others committed meanwhile.
#[test]
fn a_commit_changes_only_what_its_rows_name() {
    let mut level = Level::new(value!({ "a": 1, "b": 1 }), CommitValues::Full, None);
    let mut slow = Staging::default();
    slow.set(&level.state, "a", value!(2));
    level.step([set("b", value!(2)), set("c", value!(3))]);
    level.commit(&slow);
    assert_eq!(level.state.to_string(), r#"{"a":2,"b":2,"c":3}"#);
    assert_eq!(fold(level.initial.clone(), &level.log).to_string(), level.state.to_string());
}

/// Proves ENG-147: the common commit shares everything it did not touch.
#[test]
fn untouched_values_stay_the_same_nodes() {
    let mut level = Level::new(value!({ "big": [[1], [2]], "n": 1 }), CommitValues::Full, None);
    let before = level.state.get("big").cloned().unwrap();
    level.step([set("n", value!(2))]);
    assert!(level.state.get("big").unwrap().ptr_eq(&before));
}

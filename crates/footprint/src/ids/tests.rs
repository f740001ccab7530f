use proptest::prelude::*;

use super::*;
use crate::clock::ManualClock;

/// Proves ENG-9.
#[test]
fn an_address_splits_at_the_last_hash_then_at_the_last_slash() {
    let address = RuntimeStageId::parse("sf-a/sf-b/score#14");
    assert_eq!(address.stage_id(), "sf-a/sf-b/score");
    assert_eq!(address.subflow_path(), Some("sf-a/sf-b"));
    assert_eq!(address.local_id(), "score");
    assert_eq!(address.index(), ExecutionIndex(14));
    assert_eq!(address.depth(), 2);

    let odd = RuntimeStageId::parse("a#b/c#3");
    assert_eq!((odd.stage_id(), odd.subflow_path(), odd.local_id()), ("a#b/c", Some("a#b"), "c"));
}

/// Proves ENG-9, ENG-160.
#[test]
fn a_text_without_index_is_a_stage_id_as_a_whole_and_prints_unchanged() {
    for text in ["", "seed", "sf-a/seed", "seed#", "seed#x", "seed#+1", "seed#01"] {
        let address = RuntimeStageId::parse(text);
        assert_eq!(address.stage_id(), text);
        assert_eq!(address.local_id(), text);
        assert_eq!(address.subflow_path(), None);
        assert_eq!(address.index(), ExecutionIndex(0));
        assert!(!address.has_index());
        assert_eq!(address.to_string(), text);
    }
}

/// Proves ENG-10, ENG-15.
#[test]
fn prefixing_joins_with_a_slash_and_stage_ids_split_back() {
    assert_eq!(&*prefixed("", "score"), "score");
    let id = StageId::new(prefixed("sf-a/sf-b", "score"));
    assert_eq!(id.to_string(), "sf-a/sf-b/score");
    assert_eq!((id.subflow_path(), id.local_id()), (Some("sf-a/sf-b"), "score"));
    assert_eq!(subflow_path_of("sf-a/score#3"), Some("sf-a"));
    assert_eq!(subflow_path_of("score#3"), None);
    assert!(is_execution_key("sf-pay#5"));
    assert!(!is_execution_key("sf-pay"));
}

/// Proves ENG-13.
#[test]
fn the_root_address_is_fixed() {
    assert_eq!(RuntimeStageId::root().to_string(), "__root__#0");
    assert_eq!(RuntimeStageId::root(), "__root__#0");
}

/// Proves ENG-11.
#[test]
fn branch_segments_split_at_the_last_tilde() {
    assert_eq!(build_branch_segment("review", 2), "review~2");
    assert_eq!(parse_branch_segment("a~b~7"), Some(("a~b", 7)));
    for bad in ["review", "~2", "review~", "review~-1", "review~x", "review~99999999999999999999999"] {
        assert_eq!(parse_branch_segment(bad), None, "{bad}");
    }
}

/// Proves ENG-12.
#[test]
fn reserved_characters_are_refused_at_every_door() {
    use IdKind::*;
    for kind in [Stage, Branch, Child, Mount, ForEach] {
        for character in ['#', '/', '\u{1f}'] {
            let id = format!("a{character}b");
            assert_eq!(check_id(&id, kind), Err(IdProblem::Reserved { character, kind }));
        }
        for empty in ["", " ", "\t\n"] {
            assert_eq!(check_id(empty, kind), Err(IdProblem::Empty));
        }
        let tilde = check_id("a~b", kind);
        assert_eq!(tilde.is_err(), matches!(kind, Mount | ForEach));
    }
}

/// Proves ENG-14.
#[test]
fn run_ids_rise_in_creation_order_even_when_the_clock_goes_back() {
    let clock = Arc::new(ManualClock::at(1_753_971_200_123));
    let ids = CountedRunIds::new(clock.clone());
    let first = ids.next_run_id();
    clock.set_ms(1_753_971_200_000);
    let second = ids.next_run_id();
    clock.advance_ms(500);
    let third = ids.next_run_id();
    assert_eq!(first.as_str(), "1753971200123-0000000000");
    assert_eq!(second.as_str(), "1753971200123-0000000001");
    assert_eq!(third.as_str(), "1753971200500-0000000002");
    assert!(first < second && second < third);
}

/// Proves ENG-14.
#[test]
fn default_run_ids_are_fresh_across_threads() {
    let threads: Vec<_> = (0..4)
        .map(|_| std::thread::spawn(|| (0..100).map(|_| DefaultRunIds.next_run_id()).collect::<Vec<_>>()))
        .collect();
    let lists: Vec<Vec<RunId>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(lists.iter().all(|list| list.is_sorted()));
    let all: std::collections::HashSet<_> = lists.into_iter().flatten().collect();
    assert_eq!(all.len(), 400);
}

#[test]
fn addresses_travel_through_json_as_text() {
    let address = RuntimeStageId::parse("sf-a/score#14");
    let json = serde_json::to_string(&address).unwrap();
    assert_eq!(json, r#""sf-a/score#14""#);
    assert_eq!(serde_json::from_str::<RuntimeStageId>(&json).unwrap(), address);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Proves ENG-9, ENG-15.
    #[test]
    fn printing_and_parsing_an_address_are_inverse(
        mounts in prop::collection::vec("[^#/\u{1f}]{1,6}", 0..4),
        local in "[^#/\u{1f}]{1,8}",
        index in 0u64..u64::MAX,
    ) {
        let stage = mounts.iter().chain([&local]).cloned().collect::<Vec<_>>().join("/");
        let address = RuntimeStageId::new(stage.as_str(), ExecutionIndex(index));
        let again = RuntimeStageId::parse(&address.to_string());
        prop_assert_eq!(&again, &address);
        prop_assert_eq!(again.local_id(), local);
        prop_assert_eq!(again.subflow_path().unwrap_or(""), mounts.join("/"));
        prop_assert_eq!(again.index().0, index);
        let built = build_runtime_stage_id(&stage, ExecutionIndex(index));
        prop_assert_eq!(built, address.to_string());
    }

    /// Proves ENG-9.
    #[test]
    fn any_text_parses_and_prints_back(text in ".{0,20}|[a#/~0-9]{0,12}") {
        let address = RuntimeStageId::parse(&text);
        prop_assert_eq!(address.to_string(), text.clone());
        prop_assert!(address == text.as_str());
    }

    /// Proves ENG-11.
    #[test]
    fn branch_segments_round_trip(parent in ".{1,8}", index in 0usize..1_000_000) {
        let segment = build_branch_segment(&parent, index);
        prop_assert_eq!(parse_branch_segment(&segment), Some((parent.as_str(), index)));
    }
}

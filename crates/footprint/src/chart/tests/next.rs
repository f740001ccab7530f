use super::*;
use crate::ids::StageId;

fn chart() -> Chart {
    Chart::builder(nop("a")).decide(decider("d").branch(nop("b"))).then(nop("z")).build().unwrap()
}

fn refused(next: Next) -> Vec<BuildError> {
    next.plan(&chart(), NodeIdx::ROOT).unwrap_err().0
}

/// Proves ENG-43: a jump goes to a node of the main chain, forward or back.
#[test]
fn goto_finds_chain_nodes() {
    for (id, at) in [("a", 0), ("z", 3)] {
        let Ok(NextPlan::Goto(idx)) = Next::Goto(StageId::new(id)).plan(&chart(), NodeIdx::ROOT) else {
            panic!()
        };
        assert_eq!(idx.position(), at);
    }
    assert!(matches!(&refused(Next::Goto("nowhere".into()))[..], [BuildError::UnknownLoopTarget { .. }]));
    assert!(matches!(&refused(Next::Goto("b".into()))[..], [BuildError::IllegalLoopTarget { .. }]));
}

/// Proves ENG-43, ENG-1: the continuation is laid out beside the chart, which stays as it is.
#[test]
fn continuations_become_fragments() {
    let running = chart();
    let before = running.structure().to_json();
    let Ok(NextPlan::Chain(chain)) = Next::Chain(vec![nop("x"), nop("y")]).plan(&running, NodeIdx::ROOT)
    else {
        panic!()
    };
    assert_eq!(sketch(&chain), ["x>y", "y"]);
    let mount = Next::Mount(Box::new(Mount::of("sf", &inner())));
    let Ok(NextPlan::Mount(mount)) = mount.plan(&running, NodeIdx::ROOT) else { panic!() };
    assert!(matches!(mount.node(NodeIdx::ROOT).kind, NodeKind::Mount(_)));
    let fork = Next::Fork(vec![nop("x").into(), Mount::of("sf", &inner()).into()], FanOut::FailFast);
    let Ok(NextPlan::Fork(fork)) = fork.plan(&running, NodeIdx::ROOT) else { panic!() };
    assert_eq!(sketch(&fork), ["a[x sf]", "x", "sf"]);
    assert_eq!(running.structure().to_json(), before);
}

/// Proves ENG-12, ENG-18, ENG-43: ids of continuations are checked like declared ones, against the running chart too.
#[test]
fn continuations_are_checked() {
    assert!(matches!(&refused(Next::Chain(vec![nop("x#1")]))[..], [BuildError::ReservedCharacter { .. }]));
    assert!(matches!(
        &refused(Next::Mount(Box::new(Mount::of("x~1", &inner()))))[..],
        [BuildError::ReservedCharacter { .. }]
    ));
    let [BuildError::DuplicateId { id, first, second }] = &refused(Next::Chain(vec![nop("z")]))[..] else {
        panic!()
    };
    assert_eq!((&**id, first, second), ("z", &Position::Existing, &Position::Dynamic(s("a"))));
    assert!(matches!(&refused(Next::Chain(vec![nop("x"), nop("x")]))[..], [BuildError::DuplicateId { .. }]));
    assert!(matches!(
        &refused(Next::Fork(vec![nop("b").into()], FanOut::AllSettled))[..],
        [BuildError::DuplicateId { .. }]
    ));
    assert!(matches!(&refused(Next::Fork(vec![], FanOut::AllSettled))[..], [BuildError::NoBranches { .. }]));
    assert!(matches!(&refused(Next::Chain(vec![]))[..], [BuildError::NoBranches { .. }]));
}

/// Proves ENG-19: what a stage may return.
#[test]
fn results_become_values_or_continuations() {
    use crate::chart::func::to_value;
    let output = |result: Result<OpaqueOutput, _>| -> StepOutput {
        let result: Result<_, crate::error::StageError> = result;
        result.unwrap().0
    };
    assert!(output(().into_step_output()).value.is_none());
    assert_eq!(output(7_u8.into_step_output()).value, Some(crate::value!(7)));
    assert_eq!(output(vec!["a"].into_step_output()).value, Some(crate::value!(["a"])));
    assert_eq!(output(None::<u8>.into_step_output()).value, Some(crate::value!(null)));
    let next = output(Next::Chain(vec![nop("x")]).into_step_output());
    assert!(next.value.is_none() && matches!(next.next, Some(Next::Chain(_))));
    // An engine value passes through by reference, whatever it holds.
    let list: crate::value::Value = crate::value!([1, 2]);
    assert!(to_value(&list).unwrap().ptr_eq(&list));
    assert!(f64::NAN.into_step_output().is_err());
}

type OpaqueOutput = crate::chart::func::OpaqueStepOutput;

//! What stands at a level (REC-44).

use serde::Serialize;

use super::told::Told;

/// What a level is a level of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Root {
    /// Branches side by side.
    Parallel,
    /// One of several members.
    Conditional,
    /// A body again and again.
    Loop,
    /// Members one after the other.
    Sequence,
    /// A model call or an agent.
    Leaf,
    /// A composition of one member.
    #[serde(skip)]
    Member,
}

/// The first that fits.
pub(super) fn of(told: &Told<'_>) -> Root {
    let says = |name: &str| told.events.iter().any(|event| event.own() && event.is(name));
    let owns = |kind: &str| told.path.is_empty() && told.owner.as_ref().is_some_and(|(own, _)| own == kind);
    // What an agent calls through its tools is not its composition.
    if owns("Agent") || owns("LLMCall") || says("agent.turn_start") {
        return Root::Leaf;
    }
    if says("composition.fork_start") {
        return Root::Parallel;
    }
    if says("composition.route_decided") {
        return Root::Conditional;
    }
    if says("composition.iteration_start") {
        return Root::Loop;
    }
    match told.members.as_slice() {
        [] => Root::Leaf,
        [_] => Root::Member,
        members if members.windows(2).all(one_after_another) => Root::Sequence,
        _ => Root::Parallel,
    }
}

fn one_after_another(pair: &[super::told::Member]) -> bool {
    matches!(pair, [earlier, later] if earlier.last < later.first)
}

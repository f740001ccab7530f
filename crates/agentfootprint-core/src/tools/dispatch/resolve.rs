//! Which party answers a name: the one that put it on the wire the model read (TOOL-121).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use agentfootprint_record::events::payload::ToolsAnsweredOffWire;
use agentfootprint_record::events::words::Channel;
use footprint::value::Str;

use super::call::Call;
use crate::agent::offer::{CurrentOffer, Offer};
use crate::run::{StageCx, lock};
use crate::tools::tool::Tool;

/// A party that supplies tools.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Party {
    pub(super) channel: Channel,
    /// Id of the skill or provider.
    pub(super) id: Option<Str>,
}

/// What a name stands for in this call.
#[derive(Clone)]
pub(super) enum Resolved {
    Tool {
        tool: Tool,
        party: Party,
    },
    /// The party the model read it under can no longer answer.
    Withdrawn,
    Unknown,
}

impl Resolved {
    pub(super) fn tool(&self) -> Option<&Tool> {
        match self {
            Self::Tool { tool, .. } => Some(tool),
            Self::Withdrawn | Self::Unknown => None,
        }
    }
}

/// Under which party the model last read each name in this turn. Names the registry always served are not kept.
#[derive(Default)]
pub(super) struct ServedParties(Mutex<HashMap<Str, Party>>);

impl ServedParties {
    fn note(&self, offer: &Offer) {
        let mut served = lock(&self.0);
        for name in &offer.names {
            if let Some(owner) = offer.owner(name) {
                served.insert(name.clone(), Party { channel: owner.channel.clone(), id: owner.id.clone() });
            }
        }
    }

    fn of(&self, name: &str) -> Option<Party> {
        lock(&self.0).get(name).cloned()
    }
}

/// Notes the offer this batch was asked under, once per batch. An agent whose offer never changes keeps nothing.
pub(super) fn note_offer(cx: &StageCx) {
    if let Some(offer) = cx.turn.of::<CurrentOffer>().get()
        && !Arc::ptr_eq(&offer, &cx.agent.static_offer)
    {
        cx.turn.of::<ServedParties>().note(&offer);
    }
}

/// Finds the party that answers a call the model just made.
pub(super) fn resolve(cx: &StageCx, call: &Call, iteration: u32) -> Resolved {
    let current = cx.turn.of::<CurrentOffer>();
    let offer = current.get().unwrap_or_else(|| Arc::clone(&cx.agent.static_offer));
    if let Some(owner) = offer.owner(&call.name) {
        let party = Party { channel: owner.channel.clone(), id: owner.id.clone() };
        return match owner.tool.clone().or_else(|| held_by(cx, &call.name, &party)) {
            Some(tool) => Resolved::Tool { tool, party },
            None => Resolved::Withdrawn,
        };
    }
    let resolved = match cx.turn.of::<ServedParties>().of(&call.name) {
        Some(party) => match held_by(cx, &call.name, &party) {
            Some(tool) => Resolved::Tool { tool, party },
            None => Resolved::Withdrawn,
        },
        None => only_holder(cx, &call.name),
    };
    if let Resolved::Tool { party, .. } = &resolved {
        cx.emit(|| {
            let mut event = ToolsAnsweredOffWire::new(
                call.name.clone(),
                call.id.clone(),
                iteration,
                party.channel.clone(),
            );
            event.answered_by_id = party.id.clone();
            event
        });
    }
    resolved
}

/// Finds the tool of a paused call again. The call was on the wire of an earlier leg, so nothing is said about it.
pub(super) fn resolve_paused(cx: &StageCx, name: &str, party: Option<Party>) -> Resolved {
    match party {
        Some(party) => match held_by(cx, name, &party) {
            Some(tool) => Resolved::Tool { tool, party },
            None => Resolved::Withdrawn,
        },
        None => only_holder(cx, name),
    }
}

/// The tool a party holds under a name now.
fn held_by(cx: &StageCx, name: &str, party: &Party) -> Option<Tool> {
    match party.channel {
        Channel::Registry => cx.agent.tool(name).cloned(),
        Channel::Provider => {
            cx.turn.of::<CurrentOffer>().provided().into_iter().find(|tool| tool.name() == name)
        }
        Channel::Skill => {
            let injection = cx.agent.injection(party.id.as_deref()?)?;
            injection.content().tools.iter().find(|tool| tool.name() == name).cloned()
        }
        Channel::Framework | Channel::Other(_) => None,
    }
}

/// The one party that holds a name nobody was shown; two different holders are nobody.
fn only_holder(cx: &StageCx, name: &str) -> Resolved {
    let mut found: Option<(Tool, Party)> = None;
    for (tool, party) in holders(cx, name) {
        match &found {
            Some((known, _)) if !known.ptr_eq(&tool) => return Resolved::Unknown,
            Some(_) => {}
            None => found = Some((tool, party)),
        }
    }
    match found {
        Some((tool, party)) => Resolved::Tool { tool, party },
        None => Resolved::Unknown,
    }
}

fn holders<'a>(cx: &'a StageCx, name: &'a str) -> impl Iterator<Item = (Tool, Party)> + 'a {
    let registry =
        cx.agent.tool(name).map(|tool| (tool.clone(), Party { channel: Channel::Registry, id: None }));
    let skills =
        cx.agent.injections.iter().flat_map(move |injection| {
            injection.content().tools.iter().filter(move |tool| tool.name() == name).map(|tool| {
                (tool.clone(), Party { channel: Channel::Skill, id: Some(injection.id().clone()) })
            })
        });
    let provider_id = cx.agent.tool_provider_id();
    let provided = cx
        .turn
        .of::<CurrentOffer>()
        .provided()
        .into_iter()
        .filter(move |tool| tool.name() == name)
        .map(move |tool| (tool, Party { channel: Channel::Provider, id: provider_id.clone() }));
    registry.into_iter().chain(skills).chain(provided)
}

/// Names a call can use: what is on the wire, then what the registry holds besides.
pub(super) fn callable_names(cx: &StageCx) -> Vec<Str> {
    let offer = cx.turn.of::<CurrentOffer>().get().unwrap_or_else(|| Arc::clone(&cx.agent.static_offer));
    let mut names = offer.names.clone();
    for tool in &cx.agent.tools {
        if !names.iter().any(|name| &**name == tool.name()) {
            names.push(tool.name().into());
        }
    }
    names
}

/// Who owns a name on the current wire.
pub(super) fn party_on_wire(cx: &StageCx, name: &str) -> Option<Resolved> {
    let offer = cx.turn.of::<CurrentOffer>().get()?;
    let owner = offer.owner(name)?;
    let party = Party { channel: owner.channel.clone(), id: owner.id.clone() };
    Some(Resolved::Tool { tool: owner.tool.clone()?, party })
}

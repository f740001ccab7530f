//! Which tools are on this call's wire, and which party put each of them there (TOOL-121).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::{ToolsClaimSwallowed, ToolsShadowed};
use agentfootprint_record::events::words::{Channel, ContextSource, Word as _};
use footprint::error::StageError;
use footprint::value::{Array, Str, Value};

use super::records::{Breakdown, Piece, ToolOrigin, tool_piece};
use crate::injection::ActiveInjection;
use crate::llm;
use crate::run::{StageCx, lock};
use crate::tools::Tool;

/// A composed offer: what the slot writes, and what a request carries.
#[derive(Clone, Default)]
pub(crate) struct Offer {
    /// The schemas, as `dynamicToolSchemas` has them.
    pub(crate) schemas: Array,
    /// The records, as `toolsInjections` has them.
    pub(crate) records: Array,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) breakdown: Breakdown,
    /// The schemas as the port takes them.
    pub(crate) wire: Arc<[llm::ToolSchema]>,
    /// Names in wire order.
    pub(crate) names: Vec<Str>,
    /// Who owns each name.
    pub(crate) owners: HashMap<Str, Owner>,
}

/// The party that owns a name on the wire, and answers it.
#[derive(Clone)]
pub(crate) struct Owner {
    pub(crate) channel: Channel,
    /// Id of the skill or provider.
    pub(crate) id: Option<Str>,
    pub(crate) tool: Option<Tool>,
}

impl Offer {
    /// The offer of the agent's own registry.
    pub(crate) fn of_registry(tools: &[Tool]) -> Self {
        let mut offer = Building::default();
        for tool in tools {
            let owner = Owner { channel: Channel::Registry, id: None, tool: Some(tool.clone()) };
            let origin = match &tool.declared().owner {
                Some(declared) => ToolOrigin::Owner(declared.kind.clone(), &declared.id),
                None => ToolOrigin::Registry,
            };
            offer.add(tool.schema().name(), tool.schema().recorded(), owner, &origin);
        }
        offer.finish()
    }

    /// Who owns a name.
    pub(crate) fn owner(&self, name: &str) -> Option<&Owner> {
        self.owners.get(name)
    }
}

#[derive(Default)]
struct Building {
    offer: Offer,
    wire: Vec<llm::ToolSchema>,
}

impl Building {
    fn on(offer: &Offer) -> Self {
        Self { wire: offer.wire.to_vec(), offer: offer.clone() }
    }

    /// Adds a schema unless its name is taken; true when it was added.
    fn add(&mut self, name: &Str, recorded: &Value, owner: Owner, origin: &ToolOrigin<'_>) -> bool {
        if self.offer.owners.contains_key(name) {
            return false;
        }
        let description =
            recorded.get("description").and_then(Value::as_shared_str).cloned().unwrap_or_default();
        let position = u64::try_from(self.offer.names.len()).unwrap_or(u64::MAX);
        let piece = tool_piece(name, &description, position, origin);
        self.offer.breakdown.add(&piece);
        self.offer.records.push(piece.value.clone());
        self.offer.pieces.push(piece);
        self.offer.schemas.push(recorded.clone());
        self.wire.push(llm::ToolSchema::new(
            name.clone(),
            description,
            recorded.get("inputSchema").cloned().unwrap_or_default(),
        ));
        self.offer.names.push(name.clone());
        self.offer.owners.insert(name.clone(), owner);
        true
    }

    fn finish(mut self) -> Offer {
        self.offer.wire = self.wire.into();
        self.offer
    }
}

/// The offer of the running iteration, kept in the run: what dispatch reads.
#[derive(Default)]
pub(crate) struct CurrentOffer {
    offer: Mutex<Option<Arc<Offer>>>,
    /// What the provider listed in this iteration.
    provided: Mutex<Vec<Tool>>,
    /// Names whose contest was already warned about in this run.
    contested: Mutex<HashSet<Str>>,
}

impl CurrentOffer {
    /// What the provider listed last.
    pub(crate) fn provided(&self) -> Vec<Tool> {
        lock(&self.provided).clone()
    }

    /// Notes what the provider listed.
    pub(crate) fn note_provided(&self, tools: Vec<Tool>) {
        *lock(&self.provided) = tools;
    }

    /// The offer of this iteration, once composed.
    pub(crate) fn get(&self) -> Option<Arc<Offer>> {
        lock(&self.offer).clone()
    }
}

/// Composes this iteration's offer. Without a provider and without tools of active injections it is the registry's, which was
/// built with the agent.
pub(crate) fn compose(cx: &StageCx) -> Result<Arc<Offer>, StageError> {
    let current = cx.turn.of::<CurrentOffer>();
    let active = cx.list(state::ACTIVE_INJECTIONS)?;
    let provided = current.provided();
    let adds = !provided.is_empty()
        || active.iter().any(|value| ActiveInjection::new(value).tools().next().is_some());
    let offer =
        if adds { Arc::new(merged(cx, &active, &provided)?) } else { Arc::clone(&cx.agent.static_offer) };
    *lock(&current.offer) = Some(Arc::clone(&offer));
    Ok(offer)
}

fn merged(cx: &StageCx, active: &Array, provided: &[Tool]) -> Result<Offer, StageError> {
    let mut offer = Building::on(&cx.agent.static_offer);
    let mut lost = Vec::new();
    let provider = cx.agent.tool_provider_id();
    for tool in provided {
        let owner = Owner { channel: Channel::Provider, id: provider.clone(), tool: Some(tool.clone()) };
        let claim = Claim { name: tool.schema().name().clone(), owner: owner.clone(), on_wire: true };
        if !offer.add(tool.schema().name(), tool.schema().recorded(), owner, &ToolOrigin::Provider) {
            lost.push(claim);
        }
    }
    for value in active.iter() {
        let piece = ActiveInjection::new(value);
        let declared = cx.agent.injection(piece.id());
        for entry in piece.tools() {
            let Some(schema) = entry.get("schema") else { continue };
            let Some(name) = schema.get("name").and_then(Value::as_shared_str) else { continue };
            let tool = declared
                .and_then(|injection| injection.content().tools.iter().find(|tool| tool.name() == &**name))
                .cloned();
            let owner = Owner { channel: Channel::Skill, id: Some(piece.id().into()), tool };
            let claim = Claim { name: name.clone(), owner: owner.clone(), on_wire: true };
            let origin = ToolOrigin::Injection {
                flavor: ContextSource::read(&Str::from(piece.flavor())),
                id: piece.id(),
                reason: format!("`{name}` is offered while {} `{}` is active", piece.flavor(), piece.id())
                    .into(),
            };
            if !offer.add(name, schema, owner, &origin) {
                lost.push(claim);
            }
        }
    }
    let offer = offer.finish();
    if !provided.is_empty() {
        lost.extend(inactive_claims(cx, active, &offer));
        tell_contests(cx, &offer, &lost)?;
    }
    Ok(offer)
}

/// A party's claim to a name that another party holds.
struct Claim {
    name: Str,
    owner: Owner,
    /// Whether it reached the merge.
    on_wire: bool,
}

/// Tools of pieces that are not active now, whose names the provider holds.
fn inactive_claims(cx: &StageCx, active: &Array, offer: &Offer) -> Vec<Claim> {
    let is_active = |id: &str| active.iter().any(|value| ActiveInjection::new(value).id() == id);
    let mut claims = Vec::new();
    for injection in cx.agent.injections.iter().filter(|injection| !is_active(injection.id())) {
        for tool in &injection.content().tools {
            if offer.owner(tool.name()).is_some_and(|owner| owner.channel == Channel::Provider) {
                let owner = Owner {
                    channel: Channel::Skill,
                    id: Some(injection.id().clone()),
                    tool: Some(tool.clone()),
                };
                claims.push(Claim { name: tool.name().into(), owner, on_wire: false });
            }
        }
    }
    claims
}

/// Says who competed for which name (TOOL-122): once per contested name that two contracts wanted on the wire, and once per claim
/// that is held by somebody else.
fn tell_contests(cx: &StageCx, offer: &Offer, lost: &[Claim]) -> Result<(), StageError> {
    let iteration = cx.iteration()?;
    let mut said: Vec<&Str> = Vec::new();
    for claim in lost {
        let Some(winner) = offer.owner(&claim.name) else { continue };
        // Two parties that share one tool are one claim, and a list that repeats itself competes with nobody.
        let same_tool = winner.tool.as_ref().zip(claim.owner.tool.as_ref()).is_some_and(|(a, b)| a.ptr_eq(b));
        if same_tool || (winner.channel == claim.owner.channel && winner.id == claim.owner.id) {
            continue;
        }
        if claim.on_wire && !said.contains(&&claim.name) {
            said.push(&claim.name);
            cx.emit(|| {
                ToolsShadowed::new(
                    claim.name.clone(),
                    iteration,
                    winner.channel.clone(),
                    winner.channel.clone(),
                )
                .schema_from_id(winner.id.clone())
                .dispatch_to_id(winner.id.clone())
            });
            if lock(&cx.turn.of::<CurrentOffer>().contested).insert(claim.name.clone()) {
                tracing::warn!(
                    target: "agentfootprint",
                    agent = %cx.agent.id,
                    "two parties supply a tool `{}`; the model reads and calls the one of the {}",
                    claim.name,
                    winner.channel.word()
                );
            }
        }
        cx.emit(|| {
            ToolsClaimSwallowed::new(
                claim.name.clone(),
                iteration,
                claim.owner.channel.clone(),
                winner.channel.clone(),
            )
            .lost_by_id(claim.owner.id.clone())
            .won_by_id(winner.id.clone())
        });
    }
    Ok(())
}

//! Leaving a batch for a person: what is asked, and what state carries across the checkpoint (TOOL §10).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::CheckinRequest;
use agentfootprint_record::events::words::{Channel, Word as _};
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};

use super::batch::Batch;
use super::call::Attempt;
use super::component;
use super::door::Person;
use super::finish::Outcome;
use super::gates::Gated;
use super::resolve::{Party, Resolved};
use super::verdict::Verdict;
use crate::run::{EffectKind, EffectOutcome, Journaled, Reexecution, StageCx};
use crate::tools::credentials::Secret;
use crate::tools::failure::PauseRequest;
use crate::tools::middleware::AskPayload;
use crate::tools::people::{CheckInSituation, EvidenceInput, conversation_of};
use crate::tools::texts;

/// A question on its way to a person.
pub(super) struct Pause {
    kind: Kind,
    /// The members of the pause data besides the call.
    data: Object,
    component_id: Option<Str>,
}

/// Which answer is expected, and where the call goes on.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A middleware's question.
    Ask { index: usize, link: Str },
    /// The tool's own check-in.
    CheckIn,
    /// A consent only a person can give.
    Consent { service: Str },
    /// The handler's question.
    Tool,
}

impl Pause {
    /// A question of a link.
    pub(super) fn ask(payload: &AskPayload, index: usize, link: &Str) -> Self {
        let mut data = Object::new();
        data.insert("ask", payload.to_value(link));
        Self {
            kind: Kind::Ask { index, link: link.clone() },
            data,
            component_id: payload.component.as_ref().map(|component| component.component_id.clone()),
        }
    }

    /// A consent. The address rides the pause data and nothing else (TOOL-54).
    pub(super) fn consent(service: &Str, authorization_url: &Secret, session_id: &Str) -> Self {
        let mut authorization = Object::new();
        authorization.insert("service", Value::from(service.clone()));
        authorization.insert("authorizationUrl", Value::from(authorization_url.expose()));
        authorization.insert("sessionId", Value::from(session_id.clone()));
        let mut data = Object::new();
        data.insert("question", Value::from(format!("Access to `{service}` has to be granted by a person.")));
        data.insert("authorization", Value::Object(authorization));
        Self { kind: Kind::Consent { service: service.clone() }, data, component_id: None }
    }

    /// The handler's own question.
    pub(super) fn tool(request: PauseRequest) -> Self {
        let component_id = request
            .data
            .get("component")
            .and_then(|component| component.get("componentId"))
            .and_then(Value::as_shared_str)
            .cloned();
        Self { kind: Kind::Tool, data: request.members(), component_id }
    }

    /// A question is only asked on a screen that exists. A check-in was looked at before it was said.
    pub(super) async fn must_be_visible(&self, batch: &Batch, attempt: &Attempt) -> Result<(), StageError> {
        if self.kind == Kind::CheckIn {
            return Ok(());
        }
        match component::of_question(&self.data) {
            Some((door, value)) => {
                component::must_be_visible(&batch.cx, &attempt.call.name, door, Some(value)).await
            }
            None => Ok(()),
        }
    }

    fn check_in(request: Value, component_id: Option<Str>) -> Self {
        let mut data = Object::new();
        data.insert("checkIn", request);
        Self { kind: Kind::CheckIn, data, component_id }
    }
}

/// Commits what the answer will need, and answers the pause data. The results so far are in the conversation; calls
/// behind this one were not dispatched.
pub(super) fn leave(batch: Batch, attempt: &Attempt, pause: Pause) -> Result<Value, StageError> {
    let (cx, call) = (&batch.cx, &attempt.call);
    let mut data = Object::new();
    data.insert("toolCallId", Value::from(call.id.clone()));
    data.insert("toolName", Value::from(call.name.clone()));
    for (key, value) in pause.data.iter() {
        data.insert(key.clone(), value.clone());
    }
    cx.set(state::HISTORY, batch.history.clone())?;
    cx.set(state::PAUSED_TOOL_CALL_ID, call.id.clone())?;
    cx.set(state::PAUSED_TOOL_NAME, call.name.clone())?;
    cx.set(state::PAUSED_TOOL_START_MS, attempt.started_ms)?;
    // Spoken arguments only: data that replaced references never enters a checkpoint (TOOL-29).
    let args = attempt.spoken.clone();
    match &pause.kind {
        Kind::Ask { index, link } => {
            cx.set(state::PAUSED_ASK, true)?;
            cx.set(state::PAUSED_ASK_ARGS, args)?;
            cx.set(state::PAUSED_ASK_INDEX, *index)?;
            cx.set(state::PAUSED_ASK_MIDDLEWARE, link.clone())?;
        }
        Kind::CheckIn => {
            cx.set(state::PAUSED_CHECK_IN, true)?;
            cx.set(state::PAUSED_CHECK_IN_ARGS, args)?;
        }
        Kind::Consent { service } => {
            cx.set(state::PAUSED_CREDENTIAL, true)?;
            cx.set(state::PAUSED_CREDENTIAL_ARGS, args)?;
            cx.set(state::PAUSED_CREDENTIAL_SERVICE, service.clone())?;
        }
        Kind::Tool => cx.set(state::PAUSED_TOOL_ARGS, args)?,
    }
    if let Some(component) = pause.component_id {
        cx.set(state::PAUSED_COMPONENT_ID, component)?;
    }
    cx.set(state::PAUSED_TURN_ID, cx.run.turn_id.clone())?;
    if let Resolved::Tool { party, .. } = &attempt.resolved
        && party.channel != Channel::Registry
    {
        cx.set(state::PAUSED_TOOL_PARTY, party_value(party))?;
    }
    Ok(Value::Object(data))
}

fn party_value(party: &Party) -> Value {
    let mut out = Object::new();
    out.insert("channel", Value::from(party.channel.word()));
    if let Some(id) = &party.id {
        out.insert("id", Value::from(id.clone()));
    }
    Value::Object(out)
}

/// What state says of a paused call.
pub(super) struct Waiting {
    pub(super) call_id: Str,
    pub(super) tool_name: Str,
    pub(super) started_ms: u64,
    pub(super) kind: Kind,
    /// The spoken arguments; recovered from the conversation when the checkpoint does not carry them.
    pub(super) args: Option<Value>,
    pub(super) component_id: Option<Str>,
    pub(super) party: Option<Party>,
}

impl Waiting {
    pub(super) fn read(cx: &StageCx) -> Result<Self, StageError> {
        let (kind, args) = if cx.flag(state::PAUSED_ASK)? {
            let index = usize::try_from(cx.count(state::PAUSED_ASK_INDEX)?).unwrap_or(usize::MAX);
            (
                Kind::Ask { index, link: cx.text(state::PAUSED_ASK_MIDDLEWARE)? },
                cx.get(state::PAUSED_ASK_ARGS)?,
            )
        } else if cx.flag(state::PAUSED_CHECK_IN)? {
            (Kind::CheckIn, cx.get(state::PAUSED_CHECK_IN_ARGS)?)
        } else if cx.flag(state::PAUSED_CREDENTIAL)? {
            let service = cx.text(state::PAUSED_CREDENTIAL_SERVICE)?;
            (Kind::Consent { service }, cx.get(state::PAUSED_CREDENTIAL_ARGS)?)
        } else {
            (Kind::Tool, cx.get(state::PAUSED_TOOL_ARGS)?)
        };
        let party = cx.get(state::PAUSED_TOOL_PARTY)?.and_then(|party| {
            let channel = Channel::listed(party.get("channel")?.as_str()?)?;
            Some(Party { channel, id: party.get("id").and_then(Value::as_shared_str).cloned() })
        });
        Ok(Self {
            call_id: cx.text(state::PAUSED_TOOL_CALL_ID)?,
            tool_name: cx.text(state::PAUSED_TOOL_NAME)?,
            started_ms: cx.count(state::PAUSED_TOOL_START_MS)?,
            kind,
            args,
            component_id: cx.get(state::PAUSED_COMPONENT_ID)?.and_then(|id| id.as_shared_str().cloned()),
            party,
        })
    }

    /// Resets the carriers, so that a later pause inherits nothing.
    pub(super) fn clear(&self, cx: &StageCx) -> Result<(), StageError> {
        cx.set(state::PAUSED_TOOL_CALL_ID, "")?;
        cx.set(state::PAUSED_TOOL_NAME, "")?;
        cx.set(state::PAUSED_TOOL_START_MS, 0)?;
        match &self.kind {
            Kind::Ask { .. } => {
                cx.set(state::PAUSED_ASK, false)?;
                cx.clear(state::PAUSED_ASK_ARGS)?;
                cx.clear(state::PAUSED_ASK_INDEX)?;
                cx.clear(state::PAUSED_ASK_MIDDLEWARE)?;
            }
            Kind::CheckIn => {
                cx.set(state::PAUSED_CHECK_IN, false)?;
                cx.clear(state::PAUSED_CHECK_IN_ARGS)?;
            }
            Kind::Consent { .. } => {
                cx.set(state::PAUSED_CREDENTIAL, false)?;
                cx.clear(state::PAUSED_CREDENTIAL_ARGS)?;
                cx.clear(state::PAUSED_CREDENTIAL_SERVICE)?;
            }
            Kind::Tool => cx.clear(state::PAUSED_TOOL_ARGS)?,
        }
        cx.clear(state::PAUSED_COMPONENT_ID)?;
        cx.clear(state::PAUSED_TURN_ID)?;
        cx.clear(state::PAUSED_TOOL_PARTY)
    }
}

/// Step 9: the tool's own demand, judged on the spoken arguments.
pub(super) async fn check_in(batch: &Batch, attempt: &Attempt) -> Result<Option<Gated>, StageError> {
    if attempt.door.check_in == Person::Passed {
        return Ok(None);
    }
    let Some(tool) = attempt.resolved.tool() else { return Ok(None) };
    let Some(demand) = tool.declared().check_in.clone() else { return Ok(None) };
    let (cx, call) = (&batch.cx, &attempt.call);
    let conversation = conversation_of(&cx.list(state::SYSTEM_PROMPT_INJECTIONS)?, &batch.history);
    let situation =
        CheckInSituation { iteration: batch.iteration, tool_call_id: &call.id, history: &conversation };
    let input = || attempt.spoken.clone();
    let judged = async { Judged(demand.trips(&attempt.spoken, &situation)) };
    let Judged(trips) =
        cx.effect(EffectKind::CheckIn, &call.name, Reexecution::Idempotent, &input, judged).await;
    if !trips {
        return Ok(None);
    }
    if attempt.door.check_in == Person::Refuses {
        let text = texts::second_gate(&call.name);
        return Ok(Some(Gated::Settled(Outcome::text(Verdict::GateRefused, text))));
    }
    let intent = cx.text(state::LLM_LATEST_CONTENT)?;
    let pack = EvidenceInput {
        tool,
        args: &attempt.spoken,
        conversation: &conversation,
        iteration: batch.iteration,
    };
    let options = cx.agent.tooling.check_in.clone().unwrap_or_default();
    let assembled = async { Assembled(options.assemble(&pack).await) };
    let assembled = cx.effect(EffectKind::Evidence, &call.name, Reexecution::Idempotent, &input, assembled);
    let Assembled(evidence) = cx.unless_cancelled(assembled).await?;
    let mut request = Object::new();
    request.insert("tool", Value::from(call.name.clone()));
    request.insert("args", attempt.spoken.clone());
    if !intent.trim().is_empty() {
        request.insert("intent", Value::from(intent));
    }
    request.insert("evidence", evidence);
    let component = tool.declared().check_in_component.as_ref();
    if let Some(component) = component {
        let value = component.to_value();
        component::must_be_visible(cx, &call.name, component::CHECK_IN, Some(&value)).await?;
        request.insert("component", value);
    }
    let request = Value::Object(request);
    cx.emit(|| CheckinRequest::new(call.name.clone(), call.id.clone(), batch.iteration, request.clone()));
    let component_id = component.map(|component| component.component_id.clone());
    Ok(Some(Gated::Paused(Pause::check_in(request, component_id))))
}

/// A judged demand, for the effects port.
struct Judged(bool);

impl Journaled for Judged {
    fn to_outcome(&self) -> EffectOutcome {
        EffectOutcome::Ok(Value::from(self.0))
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        // Doubt goes to the person.
        Self(!matches!(outcome, EffectOutcome::Ok(Value::Bool(false))))
    }
}

/// An assembled evidence pack, for the effects port.
struct Assembled(Value);

impl Journaled for Assembled {
    fn to_outcome(&self) -> EffectOutcome {
        EffectOutcome::Ok(self.0.clone())
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        // Without a pack the person still decides; what is missing is missing.
        Self(match outcome {
            EffectOutcome::Ok(pack) => pack,
            EffectOutcome::Err(_) => Value::default(),
        })
    }
}

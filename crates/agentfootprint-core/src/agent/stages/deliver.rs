//! `deliver`: declared messages enter the conversation, once per run and in their order (CTX-43…47).

use std::collections::HashSet;
use std::sync::Mutex;

use agentfootprint_record::conventions::state;
use agentfootprint_record::text::sha256_hex;
use footprint::error::StageError;
use footprint::value::{Array, Object, Str, Value};

use crate::agent::outcome::delivery_failed;
use crate::agent::records::message_hash;
use crate::injection::ActiveInjection;
use crate::run::{DeliveryError, StageCx, lock};

/// Why a message has to wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusal {
    UnansweredToolCall,
    RoleCollision,
}

impl Refusal {
    const fn word(self) -> &'static str {
        match self {
            Self::UnansweredToolCall => "unanswered-tool-call",
            Self::RoleCollision => "role-collision",
        }
    }
}

/// What was delivered so far: the ledger, and the markers found in the window when the turn began.
#[derive(Default)]
struct Known(Mutex<Option<HashSet<String>>>);

/// What one pass delivers.
#[derive(Default)]
struct Delivery {
    delivered: Array,
    deferred: Array,
    keys: Vec<Value>,
}

pub(crate) async fn deliver(cx: StageCx) -> Result<(), StageError> {
    let iteration = cx.iteration()?;
    let active = cx.list(state::ACTIVE_INJECTIONS)?;
    let mut history = cx.list(state::HISTORY)?;
    let ledger = cx.list(state::DELIVERED_MESSAGE_KEYS)?;
    let before = history.len();
    let turn = cx.turn.of::<Known>();
    let mut pass = Delivery::default();
    {
        let mut slot = lock(&turn.0);
        let known = slot.get_or_insert_with(|| {
            ledger.iter().filter_map(Value::as_str).map(str::to_owned).chain(marks(&history)).collect()
        });
        for value in active.iter() {
            deliver_one(&cx, ActiveInjection::new(value), iteration, &mut history, known, &mut pass)?;
        }
    }
    let mut record = Object::new();
    record.insert("iteration", Value::from(iteration));
    record.insert("delivered", Value::from(pass.delivered));
    record.insert("deferred", Value::from(pass.deferred));
    cx.set(state::MESSAGES_DELIVERY, record)?;
    if history.len() > before {
        cx.set(state::HISTORY, history)?;
    }
    if !pass.keys.is_empty() {
        let mut ledger = ledger;
        ledger.extend(pass.keys);
        cx.set(state::DELIVERED_MESSAGE_KEYS, ledger)?;
    }
    Ok(())
}

/// Keys of the messages that are already in the window: a replay restores the window but not the ledger.
fn marks(history: &Array) -> impl Iterator<Item = String> + '_ {
    history.iter().filter_map(|message| {
        let id = message.get("injectedBy")?.get("injectionId")?.as_str()?;
        Some(key(id, message.get("role")?.as_str()?, message.get("content")?.as_str()?))
    })
}

/// One piece of content of one injection, injectively (CTX-46).
fn key(injection: &str, role: &str, content: &str) -> String {
    format!("{injection}:{}", sha256_hex(format!("{role}\0{content}")))
}

fn deliver_one(
    cx: &StageCx,
    active: ActiveInjection<'_>,
    iteration: u32,
    history: &mut Array,
    known: &mut HashSet<String>,
    pass: &mut Delivery,
) -> Result<(), StageError> {
    for message in active.messages() {
        let field =
            |name: &str| message.get(name).and_then(Value::as_shared_str).cloned().unwrap_or_default();
        let (role, content) = (field("role"), field("content"));
        check(cx, active, &role, &content)?;
        let key = key(active.id(), &role, &content);
        if known.contains(&key) {
            continue;
        }
        if let Some((refusal, blocker)) = refused(history, &role) {
            pass.deferred.push(deferred(active, &role, refusal, &blocker));
            // Order inside a declaration is meaning: what follows in this injection waits as well.
            return Ok(());
        }
        let mut by = Object::new();
        by.insert("injectionId", Value::from(active.id()));
        by.insert("flavor", Value::from(active.flavor()));
        if let Some(reason) = active.description() {
            by.insert("reason", Value::from(reason));
        }
        by.insert("iteration", Value::from(iteration));
        let mut delivered = Object::new();
        delivered.insert("role", Value::from(role.clone()));
        delivered.insert("content", Value::from(content.clone()));
        delivered.insert("injectedBy", Value::from(by));
        let index = history.len();
        history.push(Value::from(delivered));
        let mut row = row(active, &role);
        row.insert("wireIndex", Value::from(index));
        row.insert("contentHash", Value::from(message_hash(&role, index, &content)));
        row.insert("key", Value::from(key.as_str()));
        pass.delivered.push(Value::from(row));
        pass.keys.push(Value::from(key.as_str()));
        known.insert(key);
    }
    Ok(())
}

/// What a run produced is checked here as declared ones are at run start (CTX-44).
fn check(cx: &StageCx, active: ActiveInjection<'_>, role: &Str, content: &Str) -> Result<(), StageError> {
    let injection: Str = active.id().into();
    if content.trim().is_empty() {
        return Err(delivery_failed(DeliveryError::EmptyContent { injection }));
    }
    cx.agent.carries(role).map_err(|carries| {
        delivery_failed(DeliveryError::RoleNotCarried {
            injection,
            role: role.clone(),
            provider: cx.agent.provider.name().into(),
            carries,
        })
    })
}

fn row(active: ActiveInjection<'_>, role: &Str) -> Object {
    let mut row = Object::new();
    row.insert("injectionId", Value::from(active.id()));
    row.insert("flavor", Value::from(active.flavor()));
    row.insert("role", Value::from(role.clone()));
    row
}

/// Whether a message of this role may be appended now, and what stands in its way.
fn refused(history: &Array, role: &str) -> Option<(Refusal, String)> {
    if let Some(call) = unanswered(history) {
        return Some((Refusal::UnansweredToolCall, format!("tool call `{call}` has no result yet")));
    }
    let tail = history.last()?.get("role").and_then(Value::as_str).unwrap_or_default();
    (effective(tail) == effective(role))
        .then(|| (Refusal::RoleCollision, format!("the conversation ends with a `{tail}` message")))
}

/// A tool message counts as the user's, for every provider alike.
fn effective(role: &str) -> &str {
    if role == "tool" { "user" } else { role }
}

/// A call without a result. Calls are answered right after the turn that asked, so the last turns tell.
fn unanswered(history: &Array) -> Option<Str> {
    let mut answered: HashSet<&str> = HashSet::new();
    for message in history.iter().rev() {
        match message.get("role").and_then(Value::as_str) {
            Some("tool") => {
                answered.extend(message.get("toolCallId").and_then(Value::as_str));
            }
            Some("assistant") => {
                let calls = message.get("toolCalls").and_then(Value::as_array)?;
                return calls
                    .iter()
                    .filter_map(|call| call.get("id").and_then(Value::as_shared_str))
                    .find(|id| !answered.contains(&***id))
                    .cloned();
            }
            _ => {}
        }
    }
    None
}

fn deferred(active: ActiveInjection<'_>, role: &Str, refusal: Refusal, blocker: &str) -> Value {
    let lands = match refusal {
        Refusal::UnansweredToolCall => String::new(),
        Refusal::RoleCollision => {
            " In a turn that uses tools only system and assistant messages can land between two calls."
                .to_owned()
        }
    };
    let mut row = row(active, role);
    row.insert("reason", Value::from(refusal.word()));
    row.insert(
        "note",
        Value::from(format!(
            "injection `{}` waits: {blocker}. It is tried again, unchanged, before the next call.{lands}",
            active.id()
        )),
    );
    Value::from(row)
}

//! The recorded links behind an answer: delivered, routed, asked of the model, served, born.

use agentfootprint_record::recording::{RecordedEvent, Recording};
use footprint::ids::RuntimeStageId;
use footprint::query::{StateKey, TraceQuery};
use footprint::value::Value;

use super::suspects::{Suspect, piece_of, rank};
use super::{Link, Why};
use crate::calls::{Holder, ModelCall, is, model_calls, text};
use crate::plain::excerpt;

pub(super) fn of_answer(recording: &Recording, about: Option<&str>) -> Why {
    let query = TraceQuery::new(recording.snapshot.clone());
    let mut why = Why { claim: "the answer of this run".to_owned(), ..Why::default() };
    why.answer = answer_text(recording).unwrap_or_else(|| "(this run has no answer)".to_owned());
    if let Some(about) = about {
        why.claim = format!("\"{about}\" in the answer of this run");
    }
    delivered(recording, &mut why);
    let calls = model_calls(recording);
    let Some(call) = calls.iter().rfind(|call| call.content == why.answer).or_else(|| calls.last()) else {
        why.honesty.push(
            "no model call is on record, so nothing can be said about what the answer was made of".to_owned(),
        );
        return why;
    };
    decided(recording, call, &mut why);
    let Some(holder) = Holder::of(&query, &call.step) else {
        why.honesty.push(format!("the log of {} is not in the recording", call.step));
        return why;
    };
    let pieces = served(&holder, &call.step);
    if pieces.is_empty() {
        why.honesty.push("the pieces sent to the model are not on record".to_owned());
    }
    let question = recording
        .snapshot
        .shared_state
        .get("userMessage")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let (mut suspects, folded) = rank(pieces, about.unwrap_or(&why.answer), &question);
    for suspect in &mut suspects {
        suspect.path = path_of(suspect, recording, &holder, call);
    }
    (why.suspects, why.folded) = (suspects, folded);
    why
}

fn answer_text(recording: &Recording) -> Option<String> {
    let last = recording.events().iter().rfind(|event| is(event, "agent.turn_end"));
    let said = last.map(|event| text(&event.payload(), "finalContent"));
    let kept =
        || recording.snapshot.shared_state.get("finalContent").and_then(Value::as_str).map(str::to_owned);
    said.or_else(kept).filter(|answer| !answer.is_empty())
}

/// Who delivered the answer, or how the run failed instead.
fn delivered(recording: &Recording, why: &mut Why) {
    for event in recording.events() {
        let at = event.runtime_stage_id().unwrap_or_default();
        if is(event, "agent.turn_end") {
            why.chain.push(Link::new(at, "delivered the answer"));
        } else if is(event, "error.fatal") {
            why.chain.push(Link::new(at, format!("the run failed: {}", text(&event.payload(), "error"))));
        }
    }
}

/// The routing decision of the same iteration, and the call itself.
fn decided(recording: &Recording, call: &ModelCall, why: &mut Why) {
    let same = |event: &&RecordedEvent| {
        is(event, "agent.route_decided")
            && event.payload().get("iterIndex").and_then(Value::as_u64) == call.iteration
    };
    if let Some(route) = recording.events().iter().rfind(same) {
        let payload = route.payload();
        let at = route.runtime_stage_id().unwrap_or_default().into_owned();
        let what = format!("chose `{}`: {}", text(&payload, "chosen"), text(&payload, "rationale"));
        why.chain.push(Link::new(at, what.trim_end_matches([':', ' '])));
    }
    let start = recording.events().iter().find(|event| {
        is(event, "stream.llm_start")
            && event.runtime_stage_id().is_some_and(|at| at == call.step.to_string())
    });
    let model = start.map(|event| event.payload());
    let model = model
        .map(|payload| format!("{} {}", text(&payload, "provider"), text(&payload, "model")))
        .unwrap_or_default();
    let what = match call.tool_calls {
        0 => format!("{model} wrote this text"),
        asked => format!("{model} wrote this text and asked for {asked} tools"),
    };
    why.chain.push(Link::new(&call.step, what.trim_start()));
}

/// The pieces of the request, from the slots' own records.
fn served(holder: &Holder<'_>, step: &RuntimeStageId) -> Vec<Suspect> {
    let slots = ["systemPromptInjections", "messagesInjections"];
    let lists = slots.iter().filter_map(|key| holder.before(step, key));
    lists
        .flat_map(|list| {
            list.as_array().map(|list| list.iter().map(piece_of).collect::<Vec<_>>()).unwrap_or_default()
        })
        .collect()
}

/// Where a piece came from: served by a slot, put into the conversation by a step, asked for by an earlier call.
fn path_of(suspect: &Suspect, recording: &Recording, holder: &Holder<'_>, call: &ModelCall) -> Vec<Link> {
    let mut path = Vec::new();
    let limit = call.step.index().0;
    let events =
        || recording.events().iter().filter(move |event| index_of(event).is_none_or(|index| index <= limit));
    let mut slot = events().filter(|event| {
        is(event, "context.injected") && {
            let payload = event.payload();
            text(&payload, "rawContent") == suspect.text && text(&payload, "slot") == suspect.slot
        }
    });
    if let Some(event) = slot.next_back() {
        let reason = text(&event.payload(), "reason");
        path.push(Link::new(event.runtime_stage_id().unwrap_or_default(), format!("served it ({reason})")));
    }
    match suspect.position {
        Some(position) => conversation(position, suspect, recording, holder, call, &mut path),
        None => engineered(suspect, recording, &mut path),
    }
    path
}

fn conversation(
    position: usize,
    suspect: &Suspect,
    recording: &Recording,
    holder: &Holder<'_>,
    call: &ModelCall,
    path: &mut Vec<Link>,
) {
    let at = holder.view().commit_of(&call.step).ok();
    let born = StateKey::key("history").ok().and_then(|key| holder.view().element_birth(&key, position, at));
    if let Some(born) = born.and_then(|birth| birth.born) {
        path.push(Link::new(
            &born.runtime_stage_id,
            format!("put it into the conversation as message {position}"),
        ));
    }
    let Some(id) = suspect.source_id.as_deref().filter(|_| suspect.source == "tool-result") else { return };
    let started = recording.events().iter().find(|event| {
        is(event, "stream.tool_start")
            && event.payload().get("toolCallId").and_then(Value::as_str) == Some(id)
    });
    let Some(started) = started else { return };
    let payload = started.payload();
    let args = payload.get("args").map(ToString::to_string).unwrap_or_default();
    let asked = format!("ran `{}` with {}", text(&payload, "toolName"), excerpt(&args, 100));
    path.push(Link::new(started.runtime_stage_id().unwrap_or_default(), asked));
    let before = index_of(started).unwrap_or_default();
    let asking =
        model_calls(recording).into_iter().rfind(|call| call.tool_calls > 0 && call.step.index().0 < before);
    if let Some(asking) = asking {
        path.push(Link::new(&asking.step, "asked for that call"));
    }
}

/// Facts, instructions and other injections: which evaluation let them in.
fn engineered(suspect: &Suspect, recording: &Recording, path: &mut Vec<Link>) {
    let Some(id) = suspect.source_id.as_deref() else {
        path.push(Link::new(
            "(declaration)",
            "part of the agent's own instructions, not produced by this run",
        ));
        return;
    };
    let first = recording.events().iter().find(|event| {
        let active = |payload: &Value| {
            let ids = payload.get("activeIds").and_then(Value::as_array);
            ids.is_some_and(|ids| ids.iter().any(|each| each.as_str() == Some(id)))
        };
        is(event, "context.evaluated") && active(&event.payload())
    });
    if let Some(first) = first {
        path.push(Link::new(
            first.runtime_stage_id().unwrap_or_default(),
            format!("first made `{id}` active"),
        ));
    }
    path.push(Link::new(
        "(declaration)",
        format!("{} `{id}` is declared by the agent, not produced by this run", suspect.source),
    ));
}

fn index_of(event: &RecordedEvent) -> Option<u64> {
    event.runtime_stage_id().and_then(|at| at.rsplit_once('#').and_then(|(_, index)| index.parse().ok()))
}

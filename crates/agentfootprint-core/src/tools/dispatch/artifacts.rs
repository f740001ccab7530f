//! Where an artifact store meets a call: `wants` (step 10), `present` (step 21), placement (step 23).

use std::sync::{Arc, Mutex};

use agentfootprint_record::events::payload::{
    ArtifactOrigin as OriginEvent, ArtifactSnapshot, ArtifactsExpired, ArtifactsMinted, ArtifactsPresented,
    ArtifactsRefused, ArtifactsResolved,
};
use agentfootprint_record::events::words::{ArtifactOp, ArtifactRefusal, ArtifactVia, Channel, Word as _};
use agentfootprint_record::text::utf16_len;
use base64::Engine as _;
use footprint::error::StageError;
use footprint::value::{Array, Object, Str, Value};
use indexmap::IndexMap;

use super::batch::Batch;
use super::call::Attempt;
use super::finish::Outcome;
use super::resolve::Resolved;
use super::verdict::Verdict;
use crate::artifacts::{
    ArtifactAccess, ArtifactData, ArtifactError, ArtifactFact, ArtifactMeta, ArtifactOptions, ArtifactOrigin,
    ArtifactScope, ArtifactStore, Binding, FactSink, ListArtifacts, PutArtifact, placed_result,
    placed_result_kind,
};
use crate::run::{
    EffectFailure, EffectKind, EffectOutcome, Journaled, Performed, Reexecution, StageCx, lock,
};
use crate::tools::name::reserved;
use crate::tools::output::{ToolOutput, render};
use crate::tools::texts::{self, WantRefused};

/// References a refusal lists.
const LISTED: usize = 10;
/// Rows and pages a refusal looks through.
const SCANNED_ROWS: usize = 200;
const SCANNED_PAGES: usize = 50;

/// Puts the facts of a store on the record, for one tool.
pub(super) fn sink(cx: &StageCx, tool: &Str) -> FactSink {
    let (cx, tool) = (cx.clone(), tool.clone());
    Arc::new(move |fact| say(&cx, &tool, fact))
}

fn say(cx: &StageCx, tool: &Str, fact: ArtifactFact) {
    match fact {
        ArtifactFact::Minted(meta) => cx.emit(|| {
            let mut event = ArtifactsMinted::new(
                meta.reference.to_str(),
                meta.kind.clone(),
                meta.media_type.clone(),
                meta.bytes,
                tool.clone(),
            );
            event.label = meta.label.clone();
            event.digest = meta.digest.clone();
            event.expires_at = meta.expires_at;
            event.origin = meta.origin.as_ref().map(|origin| {
                let mut said = OriginEvent::new();
                said.run_id = origin.run_id.clone();
                said.tool_call_id = origin.tool_call_id.clone();
                said
            });
            let parents = meta.parent_refs.iter().map(|parent| parent.to_str()).collect::<Vec<_>>();
            event.parent_refs = (!parents.is_empty()).then_some(parents);
            event
        }),
        ArtifactFact::Resolved { via, meta } => cx.emit(|| {
            let mut event =
                ArtifactsResolved::new(meta.reference.to_str(), via, meta.kind.clone(), meta.bytes);
            event.tool = Some(tool.clone());
            event
        }),
        ArtifactFact::Expired(swept) => cx.emit(|| {
            ArtifactsExpired::new(
                swept.reference.to_str(),
                swept.reason.clone(),
                swept.kind.clone(),
                swept.bytes,
                tool.clone(),
            )
        }),
        ArtifactFact::Refused { op, reason, reference, detail } => cx.emit(|| {
            let mut event = ArtifactsRefused::new(op, reason);
            event.reference = reference;
            event.detail = detail;
            event.tool = Some(tool.clone());
            event
        }),
    }
}

fn binding(cx: &StageCx, options: &ArtifactOptions, attempt: &Attempt) -> Binding {
    Binding {
        store: Arc::clone(options.store()),
        scope: Arc::new(cx.run.identity().value().clone()),
        origin: ArtifactOrigin {
            run_id: Some(cx.run.run_id.clone()),
            tool_call_id: Some(attempt.call.id.clone()),
        },
        sink: sink(cx, &attempt.call.name),
    }
}

/// What a handler gets as `ctx.artifacts()`.
pub(super) fn access(cx: &StageCx, attempt: &Attempt) -> ArtifactAccess {
    match &cx.agent.tooling.artifacts {
        Some(options) => ArtifactAccess::bound(binding(cx, options, attempt), attempt.wanted.clone()),
        None => ArtifactAccess::none(Some(sink(cx, &attempt.call.name))),
    }
}

/// The store and whose rows are looked at: what the framework's own reads need.
struct Reader {
    store: Arc<dyn ArtifactStore>,
    scope: ArtifactScope,
}

fn reader(cx: &StageCx) -> Option<Reader> {
    let options = cx.agent.tooling.artifacts.as_ref()?;
    Some(Reader { store: Arc::clone(options.store()), scope: cx.run.identity().value().clone() })
}

/// One store operation of the framework's own, through the effects port.
async fn effect<T: Journaled>(
    cx: &StageCx,
    verb: &'static str,
    policy: Reexecution,
    input: &(dyn Fn() -> Value + Send + Sync),
    work: impl Future<Output = T> + Send,
) -> Result<T, StageError> {
    cx.unless_cancelled(cx.effect(EffectKind::Artifact, verb, policy, input, work)).await
}

/// Step 10: every wanted argument is judged before anything is answered.
pub(super) async fn wants(batch: &Batch, attempt: &mut Attempt) -> Result<Option<Outcome>, StageError> {
    let Some(tool) = attempt.resolved.tool().filter(|tool| !tool.declared().wants.is_empty()).cloned() else {
        return Ok(None);
    };
    let cx = &batch.cx;
    let reader = reader(cx);
    let mut refused: Vec<WantRefused> = Vec::new();
    let mut wanted: IndexMap<Str, ArtifactMeta> = IndexMap::new();
    let mut delivered = attempt.spoken.as_object().cloned().unwrap_or_default();
    for (argument, kind) in &tool.declared().wants {
        let spoken = attempt.spoken.get(argument);
        if spoken.is_none() && !requires(tool.schema().input_schema(), argument) {
            continue;
        }
        match want(cx, reader.as_ref(), spoken, kind).await? {
            Ok((meta, data)) => {
                let fact = ArtifactFact::Resolved { via: ArtifactVia::Get, meta: meta.clone() };
                say(cx, &attempt.call.name, fact);
                delivered.insert(argument.clone(), deliver(data));
                wanted.insert(argument.clone(), meta);
            }
            Err(Refused { reason, what }) => {
                let fact = ArtifactFact::Refused {
                    op: ArtifactOp::Dispatch,
                    reason,
                    reference: spoken
                        .and_then(Value::as_shared_str)
                        .filter(|text| !text.trim().is_empty())
                        .cloned(),
                    detail: Some(format!("argument `{argument}` wants kind `{kind}`: {what}").into()),
                };
                say(cx, &attempt.call.name, fact);
                refused.push(WantRefused { argument: argument.clone(), kind: kind.clone(), what });
            }
        }
    }
    if refused.is_empty() {
        attempt.delivered = Value::Object(delivered);
        attempt.wanted = (!wanted.is_empty()).then(|| Arc::new(wanted));
        return Ok(None);
    }
    let live = live_rows(cx, reader.as_ref()).await?;
    let of_kind = |kind: &str| {
        let rows = live.iter().filter(|(_, row)| &**row == kind);
        rows.take(LISTED).map(|(reference, _)| reference.to_string()).collect()
    };
    let text = texts::wants_refused(&attempt.call.name, &refused, of_kind);
    Ok(Some(Outcome::text(Verdict::WantsRefused, text)))
}

fn requires(schema: &Value, argument: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(argument)))
}

/// Why a reference was not redeemed. `what` never repeats the argument.
struct Refused {
    reason: ArtifactRefusal,
    what: String,
}

impl Refused {
    fn new(reason: ArtifactRefusal, what: impl Into<String>) -> Self {
        Self { reason, what: what.into() }
    }

    fn missing() -> Self {
        Self::new(ArtifactRefusal::MissingOrExpired, "no artifact answers to that reference now")
    }

    fn of(error: &ArtifactError) -> Self {
        let what = match error {
            ArtifactError::Integrity { .. } => "the stored content no longer matches its digest",
            ArtifactError::NoStore => "this agent has no artifact store",
            _ => "the artifact store failed",
        };
        Self::new(error.refusal(), what)
    }
}

/// Redeems one argument.
async fn want(
    cx: &StageCx,
    reader: Option<&Reader>,
    spoken: Option<&Value>,
    kind: &Str,
) -> Result<Result<(ArtifactMeta, ArtifactData), Refused>, StageError> {
    let reference = match spoken {
        None => {
            return Ok(Err(Refused::new(ArtifactRefusal::InvalidInput, "it is required and was missing")));
        }
        Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
        Some(_) => {
            return Ok(Err(Refused::new(
                ArtifactRefusal::InvalidInput,
                "what was passed is not a reference",
            )));
        }
    };
    let Some(reader) = reader else { return Ok(Err(Refused::of(&ArtifactError::NoStore))) };
    // The journal keeps the ticket; the payload stays beside it and is fetched again when a journal answers.
    let payload: Mutex<Option<ArtifactData>> = Mutex::new(None);
    let work = async {
        Redeemed(match reader.store.get(&reader.scope, &reference).await {
            Ok(Some(record)) if record.meta.kind == *kind => {
                *lock(&payload) = Some(record.data);
                Ok(record.meta)
            }
            Ok(Some(record)) => Err(Refused::new(
                ArtifactRefusal::KindMismatch,
                format!("the artifact is of kind `{}`", record.meta.kind),
            )),
            Ok(None) => Err(Refused::missing()),
            Err(error) => Err(Refused::of(&error)),
        })
    };
    let input = || Value::from(reference.clone());
    let Redeemed(answer) = effect(cx, "get", Reexecution::Idempotent, &input, work).await?;
    let meta = match answer {
        Ok(meta) => meta,
        Err(refused) => return Ok(Err(refused)),
    };
    let kept = lock(&payload).take();
    if let Some(data) = kept {
        return Ok(Ok((meta, data)));
    }
    Ok(match reader.store.get(&reader.scope, &reference).await {
        Ok(Some(record)) => Ok((meta, record.data)),
        Ok(None) => Err(Refused::missing()),
        Err(error) => Err(Refused::of(&error)),
    })
}

/// The data as an argument: a text or a value as it is, bytes as base64.
fn deliver(data: ArtifactData) -> Value {
    match data {
        ArtifactData::Text(text) => Value::from(text),
        ArtifactData::Json(value) => value,
        ArtifactData::Binary(bytes) => Value::from(base64::engine::general_purpose::STANDARD.encode(bytes)),
    }
}

/// References and kinds of what can be read now, newest first. A store that fails lists nothing.
async fn live_rows(cx: &StageCx, reader: Option<&Reader>) -> Result<Vec<(Str, Str)>, StageError> {
    let Some(reader) = reader else { return Ok(Vec::new()) };
    let work = async {
        let mut rows: Vec<(Str, Str)> = Vec::new();
        let mut cursor: Option<Str> = None;
        for _ in 0..SCANNED_PAGES {
            let which = ListArtifacts { cursor: cursor.clone(), limit: None };
            let Ok(page) = reader.store.list(&reader.scope, which).await else { break };
            rows.extend(page.items.into_iter().map(|meta| (meta.reference.to_str(), meta.kind)));
            // A cursor that does not advance would go on for ever.
            if page.cursor.is_none() || page.cursor == cursor || rows.len() >= SCANNED_ROWS {
                break;
            }
            cursor = page.cursor;
        }
        rows.truncate(SCANNED_ROWS);
        Rows(rows)
    };
    let input = || Value::Null;
    effect(cx, "list", Reexecution::Idempotent, &input, work).await.map(|Rows(rows)| rows)
}

/// Puts a refusal of the framework's own on the record.
pub(super) fn refuse(cx: &StageCx, tool: &Str, reason: ArtifactRefusal, reference: Option<Str>, what: &str) {
    let detail = Some(Str::from(what));
    say(cx, tool, ArtifactFact::Refused { op: ArtifactOp::Dispatch, reason, reference, detail });
}

/// Looks at a ticket, never at the payload; either way it is on the record.
pub(super) async fn look(
    cx: &StageCx,
    tool: &Str,
    reference: &Str,
) -> Result<Result<ArtifactMeta, ArtifactRefusal>, StageError> {
    let answer = match reader(cx) {
        None => Err(Refused::of(&ArtifactError::NoStore)),
        Some(reader) => head(cx, &reader, reference).await?,
    };
    Ok(match answer {
        Ok(meta) => {
            say(cx, tool, ArtifactFact::Resolved { via: ArtifactVia::Head, meta: meta.clone() });
            Ok(meta)
        }
        Err(Refused { reason, what }) => {
            refuse(cx, tool, reason.clone(), Some(reference.clone()), &what);
            Err(reason)
        }
    })
}

/// The ticket of a reference, through the effects port.
async fn head(
    cx: &StageCx,
    reader: &Reader,
    reference: &Str,
) -> Result<Result<ArtifactMeta, Refused>, StageError> {
    let work = async {
        Redeemed(match reader.store.head(&reader.scope, reference).await {
            Ok(Some(meta)) => Ok(meta),
            Ok(None) => Err(Refused::missing()),
            Err(error) => Err(Refused::of(&error)),
        })
    };
    let input = || Value::from(reference.clone());
    effect(cx, "head", Reexecution::Idempotent, &input, work).await.map(|Redeemed(answer)| answer)
}

/// Whether a call is the framework's own `present`.
pub(super) fn presents(cx: &StageCx, attempt: &Attempt) -> bool {
    cx.agent.tooling.artifacts.is_some()
        && matches!(&attempt.resolved, Resolved::Tool { tool, party }
            if party.channel == Channel::Registry && tool.name() == reserved::PRESENT)
}

/// Step 21 for `present`: a look at the ticket, never at the payload.
pub(super) async fn present(batch: &Batch, attempt: &Attempt) -> Result<Outcome, StageError> {
    let (cx, call) = (&batch.cx, &attempt.call);
    let text = |key: &str| attempt.spoken.get(key).and_then(Value::as_shared_str).cloned();
    let reference = text("ref").unwrap_or_default();
    let reader = reader(cx);
    let answer = match reader.as_ref().filter(|_| !reference.trim().is_empty()) {
        None => Err(Refused::new(ArtifactRefusal::InvalidInput, "what was passed is not a reference")),
        Some(reader) => head(cx, reader, &reference).await?,
    };
    let meta = match answer {
        Ok(meta) => meta,
        Err(Refused { reason, what }) => {
            let live = live_rows(cx, reader.as_ref()).await?;
            let named: Vec<String> = live.iter().take(LISTED).map(|(one, _)| one.to_string()).collect();
            let said = (!reference.trim().is_empty()).then_some(reference);
            refuse(cx, &call.name, reason, said, &what);
            return Ok(Outcome::text(Verdict::PresentMiss, texts::present_miss(&what, &named)));
        }
    };
    say(cx, &call.name, ArtifactFact::Resolved { via: ArtifactVia::Head, meta: meta.clone() });
    let shown_as = text("as").unwrap_or_default();
    let label = text("label").or_else(|| meta.label.clone());
    let mut snapshot = ArtifactSnapshot::new(meta.kind.clone(), meta.media_type.clone(), meta.bytes);
    snapshot.label = label;
    let mut out = Object::new();
    out.insert("presented", Value::from(true));
    out.insert("ref", Value::from(meta.reference.to_str()));
    out.insert("as", Value::from(shown_as.clone()));
    {
        use agentfootprint_record::events::field::Field as _;
        out.insert("snapshot", snapshot.to_value());
    }
    cx.emit(|| {
        ArtifactsPresented::new(
            meta.reference.to_str(),
            shown_as,
            snapshot,
            call.id.clone(),
            u64::from(batch.iteration),
        )
    });
    Ok(Outcome::returned(ToolOutput::Json(Value::Object(out))))
}

/// Step 23: a result over the limit is stored as the model would have read it, and a ticket takes its place. A store that
/// refuses leaves the result where it was; the refusal is on the record.
pub(super) async fn place(
    batch: &Batch,
    attempt: &Attempt,
    raw: Option<Value>,
    model: Option<Value>,
) -> Result<(Option<Value>, Option<Value>), StageError> {
    let cx = &batch.cx;
    let options = cx.agent.tooling.artifacts.as_ref();
    let Some((options, limit)) = options.and_then(|options| Some((options, options.max_inline_chars()?)))
    else {
        return Ok((raw, model));
    };
    let Some(read) = &model else { return Ok((raw, model)) };
    let text = render(Some(read));
    let size = utf16_len(&text);
    if u64::try_from(size).unwrap_or(u64::MAX) <= limit {
        return Ok((raw, model));
    }
    let name = &attempt.call.name;
    let kind =
        attempt.resolved.tool().map_or_else(|| format!("tool-result/{name}").into(), placed_result_kind);
    let media_type = if matches!(read, Value::String(_)) { "text/plain" } else { "application/json" };
    let put = PutArtifact::new(kind, media_type, ArtifactData::Text(text)).label(format!("{name} result"));
    let trail = cx.trail();
    let inside = cx.inside(&trail);
    let access = ArtifactAccess::bound(binding(&inside, options, attempt), None);
    let input = || Value::from(attempt.call.id.clone());
    let work = async { Redeemed(access.put(put).await.map_err(|error| Refused::of(&error))) };
    let stored = cx.trailed(EffectKind::Artifact, "put", Reexecution::AtLeastOnce, &input, &trail, work);
    let Performed { value: Redeemed(stored), replayed } = cx.unless_cancelled(stored).await?;
    replayed.iter().flatten().for_each(|fact| cx.say_again(fact));
    let Ok(meta) = stored else { return Ok((raw, model)) };
    let reason = texts::placed(name, size, limit, meta.reference.as_str(), &meta.kind);
    let ticket = Some(placed_result(&meta, reason));
    // When the record and the model had one value, both get the ticket.
    let raw = if raw == model { ticket.clone() } else { raw };
    Ok((raw, ticket))
}

/// A ticket, or why there is none, for the effects port.
struct Redeemed(Result<ArtifactMeta, Refused>);

impl Journaled for Redeemed {
    fn to_outcome(&self) -> EffectOutcome {
        match &self.0 {
            Ok(meta) => EffectOutcome::Ok(Value::from_serialize(meta).unwrap_or_default()),
            Err(refused) => EffectOutcome::Err(EffectFailure {
                class: refused.reason.word().into(),
                code: None,
                message: refused.what.as_str().into(),
                retryable: false,
            }),
        }
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        Self(match outcome {
            EffectOutcome::Ok(meta) => meta.decode().map_err(|_| {
                Refused::new(ArtifactRefusal::InvalidInput, "the recorded ticket is unreadable")
            }),
            EffectOutcome::Err(failure) => {
                Err(Refused::new(ArtifactRefusal::read(&failure.class), failure.message.to_string()))
            }
        })
    }
}

/// A listing, for the effects port.
struct Rows(Vec<(Str, Str)>);

impl Journaled for Rows {
    fn to_outcome(&self) -> EffectOutcome {
        let row = |(reference, kind): &(Str, Str)| {
            Value::Array([Value::from(reference.clone()), Value::from(kind.clone())].into_iter().collect())
        };
        EffectOutcome::Ok(Value::Array(self.0.iter().map(row).collect::<Array>()))
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        let EffectOutcome::Ok(Value::Array(rows)) = outcome else { return Self(Vec::new()) };
        let cell = |row: &Value, at: usize| {
            row.as_array().and_then(|row| row.get(at)).and_then(Value::as_shared_str).cloned()
        };
        Self(rows.iter().filter_map(|row| Some((cell(row, 0)?, cell(row, 1)?))).collect())
    }
}

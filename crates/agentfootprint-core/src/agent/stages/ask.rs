//! One attempt at the port: streaming when the provider streams, at once otherwise (LLM §7).

use std::sync::Arc;
use std::time::Duration;

use agentfootprint_record::events::payload::{StreamThinkingDelta, StreamToken};
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};
use futures_util::StreamExt as _;

use crate::agent::output::FORCED_TOOL;
use crate::agent::reports::RunReports;
use crate::llm::{
    CallCx, CallRng, ErrorKind, LlmChunk, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse,
    LlmStream,
};
use crate::run::{EffectKind, Performed, Reexecution, StageCx, Trail, millis};

/// What is asked of whom.
pub(crate) struct Attempt<'a> {
    pub(crate) iteration: u32,
    /// Number within the iteration, from 1.
    pub(crate) number: u32,
    pub(crate) provider: &'a Arc<dyn LlmProvider>,
    pub(crate) request: &'a LlmRequest,
    /// Whether the pieces of the answer wait for its acceptance.
    pub(crate) hold: bool,
}

/// What came back.
pub(crate) struct Asked {
    pub(crate) answer: Result<LlmResponse, LlmError>,
    /// The failure's kind and the wait it states; a replay has them from the trail, since a journal keeps only a failure's text.
    pub(crate) kind: ErrorKind,
    pub(crate) stated_wait: Option<Duration>,
    pub(crate) pieces: Pieces,
}

/// Calls the port. What happened on the way is said again when a journal answers.
pub(crate) async fn ask(cx: &StageCx, attempt: &Attempt<'_>) -> Result<Asked, StageError> {
    let Attempt { iteration, number, provider, request, hold } = *attempt;
    let trail = cx.trail();
    let seed = u64::from(iteration) | (u64::from(number.saturating_sub(1)) << 32);
    let port = CallCx::detached()
        .with_cancel(cx.run.cancel_token().clone())
        .with_reports(Arc::new(RunReports::of(cx, trail.clone())))
        .with_run_id(cx.run.run_id().clone())
        .with_clock(Arc::clone(cx.run.clock()))
        .with_rng(CallRng::seeded(seed));
    let mut pieces = Pieces { iteration, hold, ..Pieces::default() };
    let collected = &mut pieces;
    let work = async {
        let answer = match provider.stream(request, &port).await {
            None => provider.complete(request, &port).await,
            Some(Err(error)) => Err(error),
            Some(Ok(stream)) => collect(cx, provider.name(), stream, &trail, collected).await,
        };
        if let Err(error) = &answer {
            trail.note(|| failure(error));
        }
        answer
    };
    let input = || serde_json::to_value(request).map(Value::from).unwrap_or_default();
    let policy = Reexecution::AtLeastOnce;
    let called = cx.trailed(EffectKind::Llm, &request.model, policy, &input, &trail, work);
    let Performed { value: mut answer, replayed } = cx.unless_cancelled(called).await?;
    let (mut kind, mut stated_wait) = match &answer {
        Ok(_) => (ErrorKind::Ok, None),
        Err(error) => (error.gate_kind(), error.retry_after),
    };
    for fact in replayed.iter().flatten() {
        if let Some(piece) = Piece::of_fact(fact) {
            pieces.take(cx, piece);
        } else if let Some((noted, wait)) = failure_of_fact(fact) {
            (kind, stated_wait) = (noted, wait);
        } else {
            cx.say_again(fact);
        }
    }
    if let (Ok(response), true) = (&mut answer, request.tool_choice.is_some()) {
        unwrap_forced(response);
    }
    Ok(Asked { answer, kind, stated_wait, pieces })
}

/// A call of the synthetic tool *is* the answer (AGT-93). This happens once, before anything looks at the answer.
fn unwrap_forced(response: &mut LlmResponse) {
    let forced = response.tool_calls.iter().position(|call| &*call.name == FORCED_TOOL);
    if let Some(at) = forced {
        let call = response.tool_calls.remove(at);
        response.content = Value::from(call.args).to_string();
    }
}

/// Reads a stream to its end, handing on each piece as it comes.
async fn collect(
    cx: &StageCx,
    provider: &str,
    mut stream: LlmStream,
    trail: &Trail,
    pieces: &mut Pieces,
) -> Result<LlmResponse, LlmError> {
    while let Some(chunk) = stream.next().await {
        if cx.run.cancel.is_cancelled() {
            // A stream that is always ready never lets the cancellation in: here the stage ends.
            std::future::pending::<()>().await;
        }
        let piece = match chunk {
            Ok(LlmChunk::Text { content, .. }) => Piece::Text(content.into()),
            Ok(LlmChunk::Thinking { delta, .. }) => Piece::Thinking(delta.into()),
            Ok(LlmChunk::Done { response, .. }) => return Ok(*response),
            Err(error) => return Err(if pieces.delivered { error.after_delivery() } else { error }),
        };
        if !piece.is_empty() {
            trail.note(|| piece.fact());
            pieces.take(cx, piece);
        }
    }
    let incomplete = LlmError::new(
        LlmErrorKind::StreamIncomplete { delivered: pieces.delivered },
        provider.to_owned(),
        "the stream ended without its final response",
    );
    Err(incomplete)
}

/// The pieces of one streamed answer.
#[derive(Default)]
pub(crate) struct Pieces {
    iteration: u32,
    hold: bool,
    texts: u64,
    thoughts: u64,
    delivered: bool,
    held: Vec<Piece>,
}

impl Pieces {
    /// Whether something of the answer was handed on, so that it cannot be taken back.
    pub(crate) fn were_delivered(&self) -> bool {
        self.delivered
    }

    /// Hands on what was held, in order.
    pub(crate) fn release(&mut self, cx: &StageCx) {
        for piece in std::mem::take(&mut self.held) {
            self.say(cx, piece);
        }
    }

    fn take(&mut self, cx: &StageCx, piece: Piece) {
        if self.hold {
            self.held.push(piece);
        } else {
            self.say(cx, piece);
        }
    }

    fn say(&mut self, cx: &StageCx, piece: Piece) {
        if cx.agent.answer_validation.is_some() {
            // An answer that is validated is delivered whole, in either mode (EVD-906).
            return;
        }
        self.delivered = true;
        let iteration = self.iteration;
        match piece {
            Piece::Text(content) => {
                cx.emit(|| StreamToken::new(iteration, self.texts, content));
                self.texts += 1;
            }
            Piece::Thinking(delta) => {
                cx.emit(|| StreamThinkingDelta::new(iteration, self.thoughts, delta));
                self.thoughts += 1;
            }
        }
    }
}

/// One piece, and its form on a trail.
enum Piece {
    Text(Str),
    Thinking(Str),
}

const TOKEN: &str = "token";
const THINKING: &str = "thinking";

impl Piece {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::Thinking(text) => text.is_empty(),
        }
    }

    fn fact(&self) -> Value {
        let (kind, text) = match self {
            Self::Text(text) => (TOKEN, text),
            Self::Thinking(text) => (THINKING, text),
        };
        Value::from([(Str::from(kind), Value::from(text.clone()))].into_iter().collect::<Object>())
    }

    fn of_fact(fact: &Value) -> Option<Self> {
        let text = |kind| fact.get(kind).and_then(Value::as_shared_str).cloned();
        text(TOKEN).map(Self::Text).or_else(|| text(THINKING).map(Self::Thinking))
    }
}

const FAILURE: &str = "failureKind";
const WAIT: &str = "waitMs";

/// What a gate decides by, of a failed call.
fn failure(error: &LlmError) -> Value {
    let mut out = Object::new();
    out.insert(FAILURE, Value::from(error.gate_kind().as_str()));
    if let Some(wait) = error.retry_after {
        out.insert(WAIT, Value::from(millis(wait)));
    }
    Value::from(out)
}

fn failure_of_fact(fact: &Value) -> Option<(ErrorKind, Option<Duration>)> {
    let kind = fact.get(FAILURE)?.decode::<ErrorKind>().ok()?;
    Some((kind, fact.get(WAIT).and_then(Value::as_u64).map(Duration::from_millis)))
}

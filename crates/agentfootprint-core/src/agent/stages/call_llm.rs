//! The model call (AGT §11.1, LLM §7).

use std::sync::Arc;

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::field::Field as _;
use agentfootprint_record::events::payload::{
    AgentIterationStart, LlmUsage, OfferedTool, StreamLlmEnd, StreamLlmStart, StreamThinkingDelta,
    StreamToken,
};
use agentfootprint_record::events::shared::ProviderModel;
use agentfootprint_record::message::ToolCall;
use agentfootprint_record::text::utf16_len;
use footprint::error::StageError;
use footprint::value::{Array, Object, Str, Value};
use futures_util::StreamExt as _;

use crate::agent::cache::CacheStrategyContext;
use crate::agent::output::FORCED_TOOL;
use crate::agent::receipt::{ReceiptFacts, mint};
use crate::agent::reports::RunReports;
use crate::agent::request::{Assembled, assemble};
use crate::agent::{cost, hit_rate, wire_check};
use crate::injection::iterations_remaining;
use crate::llm::{CallCx, CallRng, LlmChunk, LlmError, LlmErrorKind, LlmRequest, LlmResponse};
use crate::run::{EffectKind, Performed, Reexecution, StageCx, Trail, lock};
use crate::window::note_usage;

/// One call of the model, in the order of AGT §11.1.
pub(crate) async fn call_llm(cx: StageCx) -> Result<(), StageError> {
    let iteration = cx.iteration()?;
    cx.turn.tracker.llm_started(iteration);
    cx.emit(|| AgentIterationStart::new(0_u64, iteration));
    let assembled = assemble(&cx)?;
    cx.emit(|| started(&cx, iteration, &assembled));
    let prepared = prepare(&cx, iteration, &assembled).await?;
    let began = cx.run.clock.monotonic();
    let response = call(&cx, iteration, prepared).await?;
    let elapsed = crate::run::millis(cx.run.clock.monotonic().saturating_sub(began));
    cx.turn.tracker.llm_ended();
    land(&cx, iteration, elapsed, &assembled, response)
}

/// The request as sent, and what the cache strategy did to it.
struct Sent {
    request: LlmRequest,
    markers: usize,
}

/// The strategy is the last to touch the request; the receipt is the last thing made before the port.
async fn prepare(cx: &StageCx, iteration: u32, assembled: &Assembled) -> Result<Sent, StageError> {
    let strategy = &cx.agent.cache_strategy;
    let context = CacheStrategyContext {
        iteration,
        iterations_remaining: iterations_remaining(cx.agent.options.max_iterations, iteration),
        recent_hit_rate: hit_rate::current(cx),
        caching_disabled: assembled.caching_disabled,
    };
    let prepared = strategy.prepare(assembled.request.clone(), &assembled.markers, &context).await;
    if cx.agent.options.record_receipt {
        let receipt = mint(&ReceiptFacts {
            run_id: cx.run.run_id(),
            iteration,
            provider: cx.agent.provider.name(),
            system_records: &assembled.system_records,
            entries: lock(&cx.turn.receipt_entries).of(&assembled.history, cx.run.run_id()),
            request: &prepared.request,
            unchanged: prepared.markers_applied.is_empty(),
            markers_applied: &prepared.markers_applied,
            strategy: Some(strategy.name()),
            withheld: assembled.withheld,
        });
        cx.set(state::RECEIPT, receipt)?;
    }
    Ok(Sent { request: prepared.request, markers: prepared.markers_applied.len() })
}

/// Calls the port: streaming when the provider streams, at once otherwise.
async fn call(cx: &StageCx, iteration: u32, sent: Sent) -> Result<(LlmResponse, Sent), StageError> {
    let provider = Arc::clone(&cx.agent.provider);
    let trail = cx.trail();
    let port = CallCx::detached()
        .with_cancel(cx.run.cancel_token().clone())
        .with_reports(Arc::new(RunReports::of(cx, trail.clone())))
        .with_run_id(cx.run.run_id().clone())
        .with_clock(Arc::clone(cx.run.clock()))
        .with_rng(CallRng::seeded(u64::from(iteration)));
    let request = &sent.request;
    let work = async {
        match provider.stream(request, &port).await {
            None => provider.complete(request, &port).await,
            Some(Err(error)) => Err(error),
            Some(Ok(stream)) => collect(cx, iteration, provider.name(), stream, &trail).await,
        }
    };
    let input = || serde_json::to_value(request).map(Value::from).unwrap_or_default();
    let policy = Reexecution::AtLeastOnce;
    let called = cx.trailed(EffectKind::Llm, &request.model, policy, &input, &trail, work);
    let Performed { value: answered, replayed } = cx.unless_cancelled(called).await?;
    if let Some(facts) = replayed {
        tell_again(cx, iteration, &facts);
    }
    answered.map(|response| (response, sent)).map_err(llm_failed)
}

/// Reads a stream to its end, saying each piece as it comes.
async fn collect(
    cx: &StageCx,
    iteration: u32,
    provider: &str,
    mut stream: crate::llm::LlmStream,
    trail: &Trail,
) -> Result<LlmResponse, LlmError> {
    let mut delivered = false;
    let (mut texts, mut thoughts) = (0_u64, 0_u64);
    while let Some(chunk) = stream.next().await {
        if cx.run.cancel.is_cancelled() {
            // A stream that is always ready never lets the cancellation in: here the stage ends.
            std::future::pending::<()>().await;
        }
        match chunk {
            Ok(LlmChunk::Text { content, .. }) => {
                if !content.is_empty() {
                    delivered = true;
                    trail.note(|| piece(TOKEN, content.as_str()));
                    cx.emit(|| StreamToken::new(iteration, texts, content));
                    texts += 1;
                }
            }
            Ok(LlmChunk::Thinking { delta, .. }) => {
                if !delta.is_empty() {
                    delivered = true;
                    trail.note(|| piece(THINKING, delta.as_str()));
                    cx.emit(|| StreamThinkingDelta::new(iteration, thoughts, delta));
                    thoughts += 1;
                }
            }
            Ok(LlmChunk::Done { response, .. }) => return Ok(*response),
            Err(error) => return Err(if delivered { error.after_delivery() } else { error }),
        }
    }
    let incomplete = LlmError::new(
        LlmErrorKind::StreamIncomplete { delivered },
        provider.to_owned(),
        "the stream ended without its final response",
    );
    Err(incomplete)
}

const TOKEN: &str = "token";
const THINKING: &str = "thinking";

fn piece(kind: &'static str, text: &str) -> Value {
    Value::from([(Str::from(kind), Value::from(text))].into_iter().collect::<Object>())
}

/// Says what a call that was answered from a journal said when it was made.
fn tell_again(cx: &StageCx, iteration: u32, facts: &[Value]) {
    let (mut texts, mut thoughts) = (0_u64, 0_u64);
    for fact in facts {
        let text = |kind| fact.get(kind).and_then(Value::as_shared_str).cloned();
        if let Some(content) = text(TOKEN) {
            cx.emit(|| StreamToken::new(iteration, texts, content));
            texts += 1;
        } else if let Some(delta) = text(THINKING) {
            cx.emit(|| StreamThinkingDelta::new(iteration, thoughts, delta));
            thoughts += 1;
        } else {
            cx.say_again(fact);
        }
    }
}

/// A provider's failure as a stage failure; the typed error travels inside.
pub(crate) fn llm_failed(error: LlmError) -> StageError {
    let mut stage = StageError::named(error.record_name(), error.to_string());
    if let Some(code) = error.record_code() {
        stage = stage.with_code(code);
    }
    stage.with_source(error)
}

/// Writes what came back, says it, checks the wire, files the cost.
fn land(
    cx: &StageCx,
    iteration: u32,
    elapsed: u64,
    assembled: &Assembled,
    (mut response, sent): (LlmResponse, Sent),
) -> Result<(), StageError> {
    if assembled.request.tool_choice.is_some() {
        unwrap_forced(&mut response);
    }
    let (input, output) = (response.usage.input, response.usage.output);
    cx.set(state::TOTAL_INPUT_TOKENS, cx.count(state::TOTAL_INPUT_TOKENS)?.saturating_add(input))?;
    cx.set(state::TOTAL_OUTPUT_TOKENS, cx.count(state::TOTAL_OUTPUT_TOKENS)?.saturating_add(output))?;
    let content: Str = std::mem::take(&mut response.content).into();
    cx.set(state::LLM_LATEST_CONTENT, content.clone())?;
    let calls: Array = response.tool_calls.iter().map(ToolCall::to_value).collect();
    let call_count = calls.len();
    cx.set(state::LLM_LATEST_TOOL_CALLS, calls)?;
    match response.raw_thinking.take() {
        Some(raw) => cx.set(state::RAW_THINKING, raw)?,
        // A previous call's thinking must never be attached to this call's message (LLM-80).
        None => cx.clear(state::RAW_THINKING)?,
    }
    if let Some(read) = response.usage.cache_read {
        let so_far = cx.count(state::TOTAL_CACHE_READ_TOKENS)?;
        cx.set(state::TOTAL_CACHE_READ_TOKENS, so_far.saturating_add(read))?;
    }
    hit_rate::note(cx, sent.markers, &response.usage)?;
    note_usage(cx, iteration, &response.usage);
    cx.emit(|| ended(cx, iteration, elapsed, content, call_count, &response, &sent.request));
    wire_check::check(cx, iteration, &sent.request, response.wire_manifest.as_ref())?;
    let (provider, model) = match &response.served_by {
        Some(by) => (by.provider.as_str(), by.model.as_str()),
        None => (cx.agent.provider.name(), &*sent.request.model),
    };
    cost::file_tick(cx, provider, model, &response.usage)
}

/// A call of the synthetic tool *is* the answer (AGT-93).
fn unwrap_forced(response: &mut LlmResponse) {
    let forced = response.tool_calls.iter().position(|call| &*call.name == FORCED_TOOL);
    if let Some(at) = forced {
        let call = response.tool_calls.remove(at);
        response.content = Value::from(call.args).to_string();
    }
}

fn started(cx: &StageCx, iteration: u32, assembled: &Assembled) -> StreamLlmStart {
    let request = &assembled.request;
    let system = request.system_prompt().unwrap_or_default();
    let tools = (!request.tools.is_empty()).then(|| {
        request
            .tools
            .iter()
            .map(|tool| OfferedTool::new(&tool.name).description(tool.description.clone()))
            .collect::<Vec<_>>()
    });
    StreamLlmStart::new(
        iteration,
        cx.agent.provider.name(),
        &request.model,
        utf16_len(&system),
        assembled.history.len(),
        request.tools.len(),
    )
    .system_prompt_text(cx.agent.options.record_system_prompt.then_some(system))
    .tools(tools)
    .temperature(request.temperature)
}

fn ended(
    cx: &StageCx,
    iteration: u32,
    elapsed: u64,
    content: Str,
    call_count: usize,
    response: &LlmResponse,
    request: &LlmRequest,
) -> StreamLlmEnd {
    let usage = LlmUsage::new(response.usage.input, response.usage.output)
        .cache_read(response.usage.cache_read)
        .cache_write(response.usage.cache_write)
        .thinking(response.usage.thinking);
    let elsewhere = response
        .served_by
        .as_ref()
        .filter(|by| by.provider != cx.agent.provider.name() || by.model != *request.model)
        .map(|by| ProviderModel::new(by.provider.as_str(), by.model.as_str()));
    StreamLlmEnd::new(iteration, content, call_count, usage, response.stop_reason.as_str(), elapsed)
        .provider_response_ref(response.provider_ref.as_deref().map(Str::from))
        .served_by(elsewhere)
}

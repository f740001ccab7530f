//! The model call (AGT §11.1, LLM §7).

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::field::Field as _;
use agentfootprint_record::events::payload::{
    AgentIterationStart, LlmUsage, OfferedTool, StreamLlmEnd, StreamLlmStart,
};
use agentfootprint_record::events::shared::ProviderModel;
use agentfootprint_record::message::ToolCall;
use agentfootprint_record::text::utf16_len;
use footprint::error::StageError;
use footprint::value::{Array, Str};

use super::ask::{Attempt, ask};
use crate::agent::cache::{CacheStrategy, CacheStrategyContext, Prepared};
use crate::agent::receipt::{ReceiptFacts, mint};
use crate::agent::request::{Assembled, assemble};
use crate::agent::{cost, hit_rate, wire_check};
use crate::injection::iterations_remaining;
use crate::llm::{LlmError, LlmRequest, LlmResponse, Usage};
use crate::reliability::guarded;
use crate::run::{StageCx, lock};
use crate::window::note_usage;

/// One call of the model, in the order of AGT §11.1.
pub(crate) async fn call_llm(cx: StageCx) -> Result<(), StageError> {
    let iteration = cx.iteration()?;
    cx.turn.tracker.llm_started(iteration);
    cx.emit(|| AgentIterationStart::new(0_u64, iteration));
    let assembled = assemble(&cx)?;
    cx.emit(|| started(&cx, iteration, &assembled));
    let gate = cx.agent.reliability.as_ref();
    let first = gate.and_then(|gate| gate.entries.first());
    let (strategy, request) = match first {
        Some(entry) => (&entry.strategy, entry.request(&assembled.request)),
        None => (&cx.agent.cache_strategy, assembled.request.clone()),
    };
    let prepared = prepare(&cx, iteration, &assembled, &**strategy, request).await;
    let asked_first = first.map_or(&cx.agent.provider, |entry| &entry.provider);
    file_receipt(&cx, iteration, &assembled, &prepared, asked_first.name(), strategy.name())?;
    let began = cx.run.clock.monotonic();
    let answered = match gate {
        Some(gate) => guarded(&cx, gate, iteration, &assembled, prepared).await?,
        None => Some(once(&cx, iteration, prepared).await?),
    };
    let elapsed = crate::run::millis(cx.run.clock.monotonic().saturating_sub(began));
    cx.turn.tracker.llm_ended();
    match answered {
        Some(answered) => land(&cx, iteration, elapsed, &assembled, answered),
        // The gate gave up: it filed why and ended the chart (AGT-70).
        None => Ok(()),
    }
}

/// An answer, and what it is an answer to.
pub(crate) struct Answered {
    pub(crate) response: LlmResponse,
    pub(crate) sent: Sent,
}

/// The request as sent, to whom, and what the cache strategy did to it.
pub(crate) struct Sent {
    pub(crate) request: LlmRequest,
    pub(crate) provider: Str,
    pub(crate) markers: usize,
}

impl Sent {
    pub(crate) fn to(provider: &str, prepared: Prepared) -> Self {
        Self { request: prepared.request, provider: provider.into(), markers: prepared.markers_applied.len() }
    }

    /// Who is to be billed: who served, or else who was asked.
    pub(crate) fn bill<'a>(&'a self, response: &'a LlmResponse) -> (&'a str, &'a str) {
        match &response.served_by {
            Some(by) => (&by.provider, &by.model),
            None => (&self.provider, &self.request.model),
        }
    }
}

/// The strategy is the last to touch the request.
pub(crate) async fn prepare(
    cx: &StageCx,
    iteration: u32,
    assembled: &Assembled,
    strategy: &dyn CacheStrategy,
    request: LlmRequest,
) -> Prepared {
    let context = CacheStrategyContext {
        iteration,
        iterations_remaining: iterations_remaining(cx.agent.options.max_iterations, iteration),
        recent_hit_rate: hit_rate::current(cx),
        caching_disabled: assembled.caching_disabled,
    };
    strategy.prepare(request, &assembled.markers, &context).await
}

/// The receipt is the last thing made before the port. Of a gate's attempts it describes the first.
fn file_receipt(
    cx: &StageCx,
    iteration: u32,
    assembled: &Assembled,
    prepared: &Prepared,
    provider: &str,
    strategy: &str,
) -> Result<(), StageError> {
    if !cx.agent.options.record_receipt {
        return Ok(());
    }
    let receipt = mint(&ReceiptFacts {
        run_id: cx.run.run_id(),
        iteration,
        provider,
        system_records: &assembled.system_records,
        entries: lock(&cx.turn.receipt_entries).of(&assembled.history, cx.run.run_id()),
        request: &prepared.request,
        unchanged: prepared.markers_applied.is_empty(),
        markers_applied: &prepared.markers_applied,
        strategy: Some(strategy),
        withheld: assembled.withheld,
    });
    cx.set(state::RECEIPT, receipt)
}

/// One attempt; its failure is the stage's.
async fn once(cx: &StageCx, iteration: u32, prepared: Prepared) -> Result<Answered, StageError> {
    let provider = &cx.agent.provider;
    let sent = Sent::to(provider.name(), prepared);
    let attempt = Attempt { iteration, number: 1, provider, request: &sent.request, hold: false };
    match ask(cx, &attempt).await?.answer {
        Ok(response) => Ok(Answered { response, sent }),
        Err(error) => Err(llm_failed(error)),
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

/// Counts and bills an answer that was received and not taken (LLM-133).
pub(crate) fn bill_rejected(cx: &StageCx, response: &LlmResponse, sent: &Sent) -> Result<(), StageError> {
    if !response.usage.is_measured() {
        return Ok(());
    }
    count_tokens(cx, &response.usage)?;
    count_cache_reads(cx, &response.usage)?;
    let (provider, model) = sent.bill(response);
    cost::file_tick(cx, provider, model, &response.usage)
}

fn count_tokens(cx: &StageCx, usage: &Usage) -> Result<(), StageError> {
    cx.set(state::TOTAL_INPUT_TOKENS, cx.count(state::TOTAL_INPUT_TOKENS)?.saturating_add(usage.input))?;
    cx.set(state::TOTAL_OUTPUT_TOKENS, cx.count(state::TOTAL_OUTPUT_TOKENS)?.saturating_add(usage.output))
}

fn count_cache_reads(cx: &StageCx, usage: &Usage) -> Result<(), StageError> {
    let Some(read) = usage.cache_read else { return Ok(()) };
    let so_far = cx.count(state::TOTAL_CACHE_READ_TOKENS)?;
    cx.set(state::TOTAL_CACHE_READ_TOKENS, so_far.saturating_add(read))
}

/// Writes what came back, says it, checks the wire, files the cost.
fn land(
    cx: &StageCx,
    iteration: u32,
    elapsed: u64,
    assembled: &Assembled,
    Answered { mut response, sent }: Answered,
) -> Result<(), StageError> {
    count_tokens(cx, &response.usage)?;
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
    count_cache_reads(cx, &response.usage)?;
    hit_rate::note(cx, sent.markers, &response.usage)?;
    note_usage(cx, iteration, &response.usage);
    cx.emit(|| {
        let took = (iteration, elapsed);
        let withheld = cx.agent.withholds_drafts();
        let content = if withheld { Str::default() } else { content };
        ended(took, content, call_count, &response, elsewhere(cx, assembled, &response, &sent))
            .content_withheld(withheld)
    });
    wire_check::check(cx, iteration, &sent.request, response.wire_manifest.as_ref())?;
    let (provider, model) = sent.bill(&response);
    cost::file_tick(cx, provider, model, &response.usage)
}

/// Who answered, when it is not who `llm_start` named.
fn elsewhere(
    cx: &StageCx,
    assembled: &Assembled,
    response: &LlmResponse,
    sent: &Sent,
) -> Option<ProviderModel> {
    let (provider, model) = sent.bill(response);
    let named = provider == cx.agent.provider.name() && model == &*assembled.request.model;
    (!named).then(|| ProviderModel::new(provider, model))
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

/// What is said of an answer; an agent's call and a call outside of one say the same.
pub(crate) fn ended(
    (iteration, elapsed): (u32, u64),
    content: Str,
    call_count: usize,
    response: &LlmResponse,
    elsewhere: Option<ProviderModel>,
) -> StreamLlmEnd {
    let usage = LlmUsage::new(response.usage.input, response.usage.output)
        .cache_read(response.usage.cache_read)
        .cache_write(response.usage.cache_write)
        .thinking(response.usage.thinking);
    StreamLlmEnd::new(iteration, content, call_count, usage, response.stop_reason.as_str(), elapsed)
        .provider_response_ref(response.provider_ref.as_deref().map(Str::from))
        .served_by(elsewhere)
}

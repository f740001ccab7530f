//! The chart of a model call: `client` → `sf-llm-call` { `seed` → slots → `call-llm` → [`sf-thinking`] → `extract-final` } ↺ `client`
//! (AGT-29).

use std::sync::Arc;

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::words::ContextSlot;
use footprint::chart::{ArrayMergeMode, BuildErrors, Chart, Mount, Stage, SubflowEnd};
use footprint::error::StageError;
use footprint::scope::{Scope, StateView};
use footprint::value::{Array, Object, Str, Value};

use super::super::cx::Cx;
use super::super::model;
use crate::agent::receipt::{ReceiptFacts, mint};
use crate::agent::records::{Breakdown, base_piece};
use crate::agent::slot::{SlotVisit, finish_slot};
use crate::agent::stages::{messages_slot, thinking};
use crate::agent::{AgentCore, cost};
use crate::llm::{LlmRequest, LlmResponse};
use crate::run::{StageCx, lock, message};

/// What the call answered.
const ANSWER: &str = "answer";
/// The conversation of the messages slot.
const MESSAGES: &str = "messages";
/// Who put the system prompt there, as records say it.
const REASON: &str = "LLMCall.system()";

pub(super) fn build(core: &Arc<AgentCore>, skip_blank: bool) -> Result<Chart, BuildErrors> {
    let client = Stage::new(ids::CLIENT, move |scope: Scope| {
        let bound = Cx::bind(scope, ids::CLIENT);
        async move { client(&bound?, skip_blank) }
    })
    .named("Client")
    .describe("LLMCall: hands the message over and takes the answer");
    let seed = {
        let core = Arc::clone(core);
        let path = inside(ids::SEED);
        Stage::new(ids::SEED, move |scope: Scope| {
            let bound = StageCx::begin(scope, &core, &path);
            async move { seed(&bound?) }
        })
        .named("Initialize")
        .describe("LLMCall: what the call starts from")
    };
    let call =
        stage(core, ids::CALL_LLM, inside(ids::CALL_LLM), call).named("CallLLM").describe("calls the model");
    let mut inner = Chart::builder(seed).mount(system_slot(core)?).mount(messages_slot(core)?).then(call);
    if let Some(mount) = thinking_mount(core)? {
        inner = inner.mount(mount);
    }
    let extract = Stage::new(ids::EXTRACT_FINAL, |_: Scope| async { Ok(()) })
        .named("ExtractFinal")
        .describe("the answer is there");
    let inner = inner.then(extract).build()?;
    let group = Mount::of(ids::LLM_CALL, &inner)
        .named("LLM")
        .input_keys([(state::USER_MESSAGE, state::USER_MESSAGE), (state::ITERATION, state::ITERATION)])
        .output_keys([(ANSWER, ANSWER)])
        .array_merge(ArrayMergeMode::Replace);
    Chart::builder(client).mount(group).loop_to(ids::CLIENT).build()
}

fn inside(local: &str) -> String {
    format!("{}/{local}", ids::LLM_CALL)
}

fn stage<F, Fut>(core: &Arc<AgentCore>, id: impl Into<Str>, path: String, run: F) -> Stage
where
    F: Fn(StageCx) -> Fut + Send + Sync + Copy + 'static,
    Fut: Future<Output = Result<(), StageError>> + Send + 'static,
{
    let core = Arc::clone(core);
    Stage::new(id, move |scope: Scope| {
        let bound = StageCx::bind(scope, &core, &path);
        async move { run(bound?).await }
    })
}

fn system_slot(core: &Arc<AgentCore>) -> Result<Mount, BuildErrors> {
    let path = inside(&format!("{}/{}", ids::SYSTEM_PROMPT, ids::COMPOSE));
    let compose = stage(core, ids::COMPOSE, path, compose_system);
    let inner = Chart::builder(compose.named("Compose").describe("composes the system prompt")).build()?;
    Ok(Mount::of(ids::SYSTEM_PROMPT, &inner)
        .named("System Prompt")
        .input_keys([(state::USER_MESSAGE, state::USER_MESSAGE), (state::ITERATION, state::ITERATION)])
        .output_keys([(state::SYSTEM_PROMPT_INJECTIONS, state::SYSTEM_PROMPT_INJECTIONS)])
        .array_merge(ArrayMergeMode::Replace))
}

fn messages_slot(core: &Arc<AgentCore>) -> Result<Mount, BuildErrors> {
    let path = inside(&format!("{}/{}", ids::MESSAGES, ids::COMPOSE));
    let compose = stage(core, ids::COMPOSE, path, messages_slot::compose);
    let inner = Chart::builder(compose.named("Compose").describe("composes the conversation")).build()?;
    Ok(Mount::of(ids::MESSAGES, &inner)
        .named("Messages")
        .input(|parent: StateView| {
            let text = parent.value(state::USER_MESSAGE).unwrap_or_default();
            let mut seed = Object::new();
            seed.insert(MESSAGES, Value::from(conversation(text)));
            if let Some(iteration) = parent.value(state::ITERATION) {
                seed.insert(state::ITERATION, iteration);
            }
            Ok(seed)
        })
        .output_keys([(state::MESSAGES_INJECTIONS, state::MESSAGES_INJECTIONS)])
        .array_merge(ArrayMergeMode::Replace))
}

fn thinking_mount(core: &Arc<AgentCore>) -> Result<Option<Mount>, BuildErrors> {
    let Some(handler) = &core.thinking_handler else { return Ok(None) };
    let id = ids::thinking(handler.id());
    let path = inside(&format!("{}/{id}", ids::THINKING));
    let normalise = stage(core, id, path, thinking::normalise)
        .named("Normalize")
        .describe(format!("normalises the thinking of {}", handler.id()));
    let inner = Chart::builder(normalise).build()?;
    let mount = Mount::of(ids::THINKING, &inner)
        .named("NormalizeThinking")
        .input(|parent: StateView| Ok(thinking::input(&parent)))
        .output(|end: SubflowEnd| Ok(thinking::output(&end)))
        .array_merge(ArrayMergeMode::Replace);
    Ok(Some(mount))
}

/// First visit: the message. Second visit: the answer is there, and the call is over.
fn client(cx: &Cx, skip_blank: bool) -> Result<Option<Value>, StageError> {
    if let Some(answer) = cx.get(ANSWER)? {
        cx.scope.stop("answered")?;
        return Ok(Some(answer));
    }
    let message = cx.message();
    if skip_blank && message.trim().is_empty() {
        cx.scope.stop("nothing to ask")?;
        return Ok(Some(Value::from("")));
    }
    cx.set(state::USER_MESSAGE, message)?;
    cx.set(state::ITERATION, model::ITERATION)?;
    Ok(None)
}

fn seed(cx: &StageCx) -> Result<(), StageError> {
    cx.set(state::SYSTEM_PROMPT_INJECTIONS, Array::new())?;
    cx.set(state::MESSAGES_INJECTIONS, Array::new())?;
    for key in [state::CUM_TOKENS_INPUT, state::CUM_TOKENS_OUTPUT, state::CUM_ESTIMATED_USD] {
        cx.set(key, 0)?;
    }
    cx.set(state::COST_BUDGET_HIT, false)
}

async fn compose_system(cx: StageCx) -> Result<(), StageError> {
    let piece = cx.agent.base_prompt.as_ref().map(|base| base_piece(&base.text, REASON));
    let pieces = piece.as_slice();
    let mut breakdown = Breakdown::default();
    pieces.iter().for_each(|piece| breakdown.add(piece));
    let records: Array = pieces.iter().map(|piece| piece.value.clone()).collect();
    cx.set(state::SYSTEM_PROMPT_INJECTIONS, records)?;
    let cap = cx.agent.options.context_budget.system_prompt;
    let visit = SlotVisit { pieces, breakdown: &breakdown, unchanged: 0 };
    finish_slot(&cx, ContextSlot::SystemPrompt, visit, cap, None)
}

fn conversation(text: Value) -> Array {
    [Value::from(message("user", text))].into_iter().collect()
}

async fn call(cx: StageCx) -> Result<(), StageError> {
    let agent = &cx.agent;
    let text = cx.text(state::USER_MESSAGE)?;
    let history = conversation(Value::from(text));
    let mut request = LlmRequest::new(agent.model.clone()).with_messages(history.clone().into());
    if let Some(base) = &agent.base_prompt {
        request = request.system(base.text.clone());
    }
    request.temperature = agent.options.temperature;
    request.max_tokens = agent.options.max_tokens;
    if agent.options.record_receipt {
        receipt(&cx, &history, &request)?;
    }
    let response =
        model::ask(&cx.run, cx.address(), &agent.provider, &request, agent.options.record_system_prompt)
            .await?;
    land(&cx, &request, response)
}

/// Minted last before the port; no cache strategy touches the call (AGT-30).
fn receipt(cx: &StageCx, history: &Array, request: &LlmRequest) -> Result<(), StageError> {
    let receipt = mint(&ReceiptFacts {
        run_id: cx.run.run_id(),
        iteration: model::ITERATION,
        provider: cx.agent.provider.name(),
        system_records: &cx.list(state::SYSTEM_PROMPT_INJECTIONS)?,
        entries: lock(&cx.turn.receipt_entries).of(history, cx.run.run_id()),
        request,
        unchanged: true,
        markers_applied: &[],
        strategy: None,
        withheld: None,
    });
    cx.set(state::RECEIPT, receipt)
}

fn land(cx: &StageCx, request: &LlmRequest, mut response: LlmResponse) -> Result<(), StageError> {
    cx.set(ANSWER, std::mem::take(&mut response.content))?;
    if let Some(raw) = response.raw_thinking.take() {
        cx.set(state::RAW_THINKING, raw)?;
    }
    let (provider, model) = match &response.served_by {
        Some(by) => (by.provider.as_str(), by.model.as_str()),
        None => (cx.agent.provider.name(), &*request.model),
    };
    cost::file_tick(cx, provider, model, &response.usage)
}

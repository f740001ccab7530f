//! One model call outside an agent's loop: at once, never streamed (AGT-29).

use std::sync::Arc;

use agentfootprint_record::events::payload::StreamLlmStart;
use agentfootprint_record::events::shared::ProviderModel;
use agentfootprint_record::text::utf16_len;
use footprint::error::StageError;
use footprint::ids::RuntimeStageId;
use footprint::value::Value;

use crate::agent::reports::RunReports;
use crate::agent::stages::call_llm::{ended, llm_failed};
use crate::llm::{CallCx, CallRng, LlmProvider, LlmRequest, LlmResponse};
use crate::run::{EffectKind, Performed, Reexecution, RunContext, Trail, Which, cancelled, millis, perform};

/// A call has one iteration.
pub(crate) const ITERATION: u32 = 1;

/// Asks, says both ends of the call, and answers what came back.
pub(crate) async fn ask(
    run: &Arc<RunContext>,
    step: RuntimeStageId,
    provider: &Arc<dyn LlmProvider>,
    request: &LlmRequest,
    record_system_prompt: bool,
) -> Result<LlmResponse, StageError> {
    run.say(&step, || started(provider.name(), request, record_system_prompt));
    let began = run.clock.monotonic();
    let trail = Trail::of(&*run.effects);
    let port = CallCx::detached()
        .with_cancel(run.cancel_token().clone())
        .with_reports(Arc::new(RunReports::at(Arc::clone(run), step.clone(), trail.clone())))
        .with_run_id(run.run_id().clone())
        .with_clock(Arc::clone(run.clock()))
        .with_rng(CallRng::seeded(u64::from(ITERATION)));
    let input = || serde_json::to_value(request).map(Value::from).unwrap_or_default();
    let work = async { provider.complete(request, &port).await };
    let which = Which {
        ordinal: run.next_ordinal(),
        kind: EffectKind::Llm,
        name: &request.model,
        step: &step,
        policy: Reexecution::AtLeastOnce,
    };
    let performed = perform(&*run.effects, which, &input, &trail, work);
    let Performed { value: answered, replayed } = tokio::select! {
        biased;
        () = run.cancel.cancelled() => return Err(cancelled()),
        performed = performed => performed,
    };
    for fact in replayed.unwrap_or_default() {
        run.say_again(&step, &fact);
    }
    let response = answered.map_err(llm_failed)?;
    let elapsed = millis(run.clock.monotonic().saturating_sub(began));
    run.say(&step, || {
        let elsewhere = response
            .served_by
            .as_ref()
            .filter(|by| by.provider != provider.name() || by.model != *request.model)
            .map(|by| ProviderModel::new(by.provider.as_str(), by.model.as_str()));
        let content = response.content.as_str().into();
        ended((ITERATION, elapsed), content, response.tool_calls.len(), &response, elsewhere)
    });
    Ok(response)
}

fn started(provider: &str, request: &LlmRequest, record_system_prompt: bool) -> StreamLlmStart {
    let system = request.system_prompt().unwrap_or_default();
    StreamLlmStart::new(
        ITERATION,
        provider,
        &request.model,
        utf16_len(&system),
        request.messages().len(),
        request.tools.len(),
    )
    .system_prompt_text(record_system_prompt.then_some(system))
    .temperature(request.temperature)
}

//! From rig's answer to ours. Pure.

use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmResponse, StopReason, Usage};
use rig_core::completion::{CompletionResponse, FinishReason};
use rig_core::message::{AssistantContent, ToolCall};
use serde_json::Value as Json;

use super::thinking::{self, CallItem};
use crate::finish::{Finish, FinishedCall, WireArgs};
use crate::http::Refusal;

/// The response of a finished answer whose text was handed on as `content`. An answer that the vendor reports as failed,
/// and that holds nothing, is an error of kind `otherwise`.
pub(super) fn response(
    answer: CompletionResponse,
    content: String,
    otherwise: LlmErrorKind,
    finish: &Finish,
) -> Result<LlmResponse, LlmError> {
    let calls: Vec<&ToolCall> = answer.tool_calls().collect();
    let reason = answer.finish_reason();
    let failure =
        answer.error.as_ref().filter(|_| reason.is_none() && content.is_empty() && calls.is_empty());
    if let Some(sentence) = failure {
        let read = Refusal { sentence: Some(sentence.clone()), ..Refusal::default() };
        return Err(finish.scene.in_band_error(otherwise, read));
    }
    let stop_reason = stop_reason(reason, !calls.is_empty());
    if stop_reason == StopReason::ToolUse && calls.is_empty() {
        return Err(finish.tool_use_lost());
    }
    let mut tool_calls = Vec::with_capacity(calls.len());
    for (block_index, call) in (0..).zip(calls) {
        let args = match &call.function.invalid_arguments {
            Some(text) => WireArgs::Text(text.clone()),
            None => WireArgs::Json(Json::Object(call.function.arguments.clone())),
        };
        let finished = FinishedCall {
            block_index,
            id: call.id.to_string(),
            name: call.function.name.as_str().to_owned(),
            args,
        };
        let mut ours = finish.tool_call(finished, &stop_reason)?;
        ours.provider_meta = CallItem::meta_of(&answer.origin, call);
        tool_calls.push(ours);
    }
    let thoughts = answer.choice.iter().filter_map(|part| match part {
        AssistantContent::Reasoning(reasoning) => Some(reasoning),
        _ => None,
    });
    Ok(finish.stamp(LlmResponse {
        content,
        tool_calls,
        usage: usage(&answer.usage),
        stop_reason,
        provider_ref: answer.response_id().map(str::to_owned),
        raw_thinking: thinking::raw(&answer.origin, thoughts),
        ..LlmResponse::default()
    }))
}

fn stop_reason(reason: Option<FinishReason>, has_calls: bool) -> StopReason {
    match reason {
        Some(FinishReason::Stop) | None if has_calls => StopReason::ToolUse,
        Some(FinishReason::Stop) | None => StopReason::Stop,
        Some(FinishReason::ToolCalls) => StopReason::ToolUse,
        Some(FinishReason::Length) => StopReason::MaxTokens,
        Some(FinishReason::ContentFilter) => StopReason::ContentFilter,
        Some(FinishReason::Other(word)) => StopReason::from(word.as_str()),
        Some(_) => StopReason::Other("unknown".to_owned()),
    }
}

/// rig counts cached tokens inside the input and reasoning inside the output; ours are apart.
fn usage(theirs: &rig_core::completion::Usage) -> Usage {
    if theirs.input_tokens.is_none() && theirs.output_tokens.is_none() {
        return Usage::unmeasured();
    }
    let (read, written) = (theirs.cached_input_tokens, theirs.cache_creation_input_tokens);
    let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let mut usage = Usage::new(
        theirs.input_tokens.unwrap_or(0).saturating_sub(cached),
        theirs.output_tokens.unwrap_or(0).saturating_sub(theirs.reasoning_tokens.unwrap_or(0)),
    );
    usage.cache_read = read;
    usage.cache_write = written;
    usage.thinking = theirs.reasoning_tokens;
    usage
}

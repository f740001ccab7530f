//! Normalises the provider's thinking (AGT §11.2, LLM-86…91).

use std::panic::{AssertUnwindSafe, catch_unwind};

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::field::Field as _;
use agentfootprint_record::events::payload::{AgentThinkingParseFailed, StreamThinkingEnd};
use agentfootprint_record::message::ThinkingBlock;
use agentfootprint_record::text::utf16_len;
use footprint::chart::SubflowEnd;
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::{Array, Object, Value};

use super::engine::copy;
use crate::injection::panic_text;
use crate::llm::ThinkingHandler;
use crate::run::StageCx;

pub(crate) fn input(parent: &StateView) -> Object {
    let mut seed = Object::new();
    copy(parent, &mut seed, [state::RAW_THINKING, state::ITERATION]);
    seed
}

pub(crate) fn output(end: &SubflowEnd) -> Object {
    let mut out = Object::new();
    copy(&end.state, &mut out, [state::THINKING_BLOCKS]);
    out
}

/// Turns the raw value into blocks. A failing handler costs the blocks, never the run.
pub(crate) async fn normalise(cx: StageCx) -> Result<(), StageError> {
    let Some(handler) = cx.agent.thinking_handler.clone() else {
        return cx.set(state::THINKING_BLOCKS, Array::new());
    };
    let iteration = cx.iteration()?;
    let Some(raw) = cx.get(state::RAW_THINKING)?.filter(|raw| !raw.is_null()) else {
        return cx.set(state::THINKING_BLOCKS, Array::new());
    };
    match normalised(&*handler, &raw) {
        Ok(blocks) => {
            let values: Array =
                blocks.iter().map(|block| block.clone().without_provider_meta().to_value()).collect();
            cx.set(state::THINKING_BLOCKS, values)?;
            if !blocks.is_empty() {
                cx.emit(|| ended(iteration, &blocks));
            }
            Ok(())
        }
        Err((name, error)) => {
            cx.set(state::THINKING_BLOCKS, Array::new())?;
            cx.emit(|| {
                AgentThinkingParseFailed::new(
                    cx.agent.provider.name(),
                    ids::THINKING,
                    error.as_str(),
                    name,
                    iteration,
                )
            });
            Ok(())
        }
    }
}

fn normalised(
    handler: &dyn ThinkingHandler,
    raw: &Value,
) -> Result<Vec<ThinkingBlock>, (&'static str, String)> {
    match catch_unwind(AssertUnwindSafe(|| handler.normalize(raw))) {
        Ok(Ok(blocks)) => Ok(blocks),
        Ok(Err(error)) => Err(("ThinkingError", error.to_string())),
        Err(payload) => Err(("Panic", panic_text(payload.as_ref()))),
    }
}

fn ended(iteration: u32, blocks: &[ThinkingBlock]) -> StreamThinkingEnd {
    let chars: usize = blocks.iter().map(|block| utf16_len(&block.content)).sum();
    let shown: Vec<_> = blocks.iter().map(Into::into).collect();
    StreamThinkingEnd::new(iteration, blocks.len(), chars).blocks(shown)
}

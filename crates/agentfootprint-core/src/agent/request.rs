//! Assembling a request from what the slots composed (AGT §11.1, steps 1–6).

use std::sync::{Arc, Mutex};

use agentfootprint_record::conventions::state;
use agentfootprint_record::message::Messages;
use footprint::error::StageError;
use footprint::value::{Array, Str, Value};

use super::output::{FORCED_TOOL, OutputStrategy};
use crate::llm::{
    CacheField, CacheMarker, CacheTtl, LlmRequest, OutputSchema, SystemSegment, Thinking, ToolChoice,
    ToolSchema,
};
use crate::run::{StageCx, lock};

/// A request before the cache strategy saw it, and the facts it was made from.
pub(crate) struct Assembled {
    pub(crate) request: LlmRequest,
    pub(crate) system_records: Array,
    pub(crate) history: Array,
    pub(crate) markers: Vec<CacheMarker>,
    pub(crate) caching_disabled: bool,
    /// Why tools are not in it.
    pub(crate) withheld: Option<&'static str>,
}

pub(crate) fn assemble(cx: &StageCx) -> Result<Assembled, StageError> {
    let model = match cx.get(state::RESOLVED_MODEL)?.as_ref().and_then(Value::as_shared_str) {
        Some(model) => model.clone(),
        None => cx.agent.model.clone(),
    };
    let system_records = cx.list(state::SYSTEM_PROMPT_INJECTIONS)?;
    let history = cx.list(state::HISTORY)?;
    let wrapping_up = cx.agent.mounts_wrap_up() && cx.flag(state::WRAP_UP_ASKED)?;
    let mut request = LlmRequest::new(model)
        .with_system_segments(segments(&system_records))
        .with_messages(Messages::from(history.clone()));
    request.tools = if wrapping_up { Arc::default() } else { tools(cx)? };
    if let Some(output) = &cx.agent.output {
        let schema = || output.schema.clone().unwrap_or_default();
        match output.strategy {
            OutputStrategy::Instruct => {}
            OutputStrategy::ToolForced => {
                request = request.tool(ToolSchema::new(
                    FORCED_TOOL,
                    "Gives the final answer. Call it once, with the whole answer as its arguments.",
                    schema(),
                ));
                request.tool_choice = Some(ToolChoice::Tool { name: FORCED_TOOL.into() });
            }
            OutputStrategy::Native => {
                request.output_schema = Some(OutputSchema::new(&output.name, schema()));
            }
        }
    }
    request.temperature = cx.agent.options.temperature;
    request.max_tokens = cx.agent.options.max_tokens;
    request.thinking = cx.agent.options.thinking_budget.map(|budget| Thinking { budget });
    Ok(Assembled {
        request,
        system_records,
        history,
        markers: markers(&cx.list(state::CACHE_MARKERS)?),
        caching_disabled: cx.flag(state::CACHING_DISABLED)?,
        withheld: wrapping_up.then_some("wrap-up"),
    })
}

/// The raw contents of the system records, joined by a blank line; each segment carries its separator (LLM-76).
fn segments(records: &Array) -> Arc<[SystemSegment]> {
    let mut segments: Vec<SystemSegment> = Vec::with_capacity(records.len());
    for record in records.iter() {
        let Some(text) =
            record.get("rawContent").and_then(Value::as_shared_str).filter(|text| !text.is_empty())
        else {
            continue;
        };
        let source = record
            .get("sourceId")
            .or_else(|| record.get("source"))
            .and_then(Value::as_shared_str)
            .cloned()
            .unwrap_or_default();
        let text = if segments.is_empty() { text.clone() } else { Str::from(format!("\n\n{text}")) };
        segments.push(SystemSegment { source, text });
    }
    segments.into()
}

/// The schemas of the last list that was converted, kept because most iterations offer the same list.
#[derive(Default)]
struct Converted(Mutex<Option<(Array, Arc<[ToolSchema]>)>>);

/// This iteration's schemas: what the slot composed, or the registry's when it has not run.
fn tools(cx: &StageCx) -> Result<Arc<[ToolSchema]>, StageError> {
    let Some(listed) = cx.get(state::DYNAMIC_TOOL_SCHEMAS)?.and_then(|list| list.as_array().cloned()) else {
        return Ok(Arc::clone(&cx.agent.static_offer.wire));
    };
    if listed.ptr_eq(&cx.agent.static_offer.schemas) {
        return Ok(Arc::clone(&cx.agent.static_offer.wire));
    }
    let kept = cx.turn.of::<Converted>();
    let mut kept = lock(&kept.0);
    if let Some((_, wire)) = kept.as_ref().filter(|(list, _)| list.ptr_eq(&listed)) {
        return Ok(Arc::clone(wire));
    }
    let wire: Arc<[ToolSchema]> = listed.iter().map(schema).collect();
    *kept = Some((listed, Arc::clone(&wire)));
    Ok(wire)
}

fn schema(recorded: &Value) -> ToolSchema {
    let text = |key: &str| recorded.get(key).and_then(Value::as_shared_str).cloned().unwrap_or_default();
    ToolSchema::new(
        text("name"),
        text("description"),
        recorded.get("inputSchema").cloned().unwrap_or_default(),
    )
}

fn markers(recorded: &Array) -> Vec<CacheMarker> {
    recorded
        .iter()
        .filter_map(|marker| {
            let field = match marker.get("field").and_then(Value::as_str)? {
                "system" => CacheField::System,
                "tools" => CacheField::Tools,
                "messages" => CacheField::Messages,
                _ => return None,
            };
            let long = marker.get("ttl").and_then(Value::as_str) == Some("long");
            Some(CacheMarker {
                field,
                boundary_index: usize::try_from(marker.get("boundaryIndex").and_then(Value::as_u64)?).ok()?,
                ttl: if long { CacheTtl::Long } else { CacheTtl::Short },
                reason: marker.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned(),
            })
        })
        .collect()
}

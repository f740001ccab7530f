//! From a request to this wire's body. Pure.

use agentfootprint_core::llm::{
    CacheField, CacheMarker, CacheTtl, LlmErrorKind, LlmRequest, ThinkingMode, ThinkingRefusal, ToolChoice,
};
use footprint::value::{Str, Value};
use serde_json::{Map, Value as Json, json};

use super::family;
use super::turns::{Turn, loop_can_think, turns};

/// The smallest budget Claude thinks with.
const MIN_BUDGET: u64 = 1024;

/// What goes along with every request.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) max_tokens: Option<u64>,
    pub(super) thinking_mode: Option<ThinkingMode>,
    pub(super) prompt_caching: Option<bool>,
    pub(super) guardrail: Option<(String, String)>,
    pub(super) additional_fields: Option<Value>,
}

impl Settings {
    pub(super) fn thinking_mode(&self, model: &str) -> Option<ThinkingMode> {
        self.thinking_mode.or_else(|| family::thinking_mode(model))
    }

    pub(super) fn caching(&self, model: &str) -> bool {
        self.prompt_caching.unwrap_or_else(|| family::caching(model).prompts)
    }
}

/// A request that cannot be put on this wire; nothing is sent.
pub(super) type Unsendable = (LlmErrorKind, String);

/// The body for `model`, in request order throughout, so that equal requests give equal bytes.
pub(super) fn to_wire(request: &LlmRequest, model: &str, settings: &Settings) -> Result<Vec<u8>, Unsendable> {
    if request.output_schema.is_some() {
        let message = "this wire cannot hold an answer to a JSON schema; use the `instruct` or the `tool-forced` strategy";
        return Err((LlmErrorKind::Refused, message.to_owned()));
    }
    let thinking = thinking(request, model, settings)?;
    let mut points = Points::of(request, model, settings);
    let mut body = Map::new();
    // Points are taken in the order of the prompt: tools, system, messages.
    let tools = tool_config(request, &mut points)?;
    let system = system(request, &mut points);
    body.insert("messages".into(), messages(turns(request)?, &mut points));
    if !system.is_empty() {
        body.insert("system".into(), Json::Array(system));
    }
    if let Some(tools) = tools {
        body.insert("toolConfig".into(), tools);
    }
    let inference = inference(request, settings, thinking.as_ref());
    if !inference.is_empty() {
        body.insert("inferenceConfig".into(), Json::Object(inference));
    }
    let mut additional = match settings.additional_fields.as_ref().map(json_of) {
        Some(Json::Object(fields)) => fields,
        _ => Map::new(),
    };
    if let Some(thinking) = thinking {
        additional.insert("thinking".into(), thinking);
    }
    if !additional.is_empty() {
        body.insert("additionalModelRequestFields".into(), Json::Object(additional));
    }
    if let Some((id, version)) = &settings.guardrail {
        body.insert(
            "guardrailConfig".into(),
            json!({ "guardrailIdentifier": id, "guardrailVersion": version }),
        );
    }
    serde_json::to_vec(&body).map_err(|error| {
        (LlmErrorKind::Refused, format!("the request cannot be written as JSON ({:?})", error.classify()))
    })
}

fn inference(request: &LlmRequest, settings: &Settings, thinking: Option<&Json>) -> Map<String, Json> {
    let mut inference = Map::new();
    let budget = thinking.and_then(|thinking| thinking.get("budget_tokens")?.as_u64());
    let max_tokens = request.max_tokens.or(settings.max_tokens);
    if let Some(tokens) = max_tokens {
        // The budget is spent inside the limit.
        let tokens = match budget {
            Some(budget) if tokens <= budget => budget + MIN_BUDGET,
            _ => tokens,
        };
        inference.insert("maxTokens".into(), json!(tokens));
    }
    if let Some(temperature) = request.temperature {
        inference.insert("temperature".into(), json!(temperature));
    }
    if !request.stop.is_empty() {
        let stop: Vec<&str> = request.stop.iter().map(|word| &**word).collect();
        inference.insert("stopSequences".into(), json!(stop));
    }
    inference
}

/// The wish to think in Claude's words, or why it cannot be granted.
fn thinking(request: &LlmRequest, model: &str, settings: &Settings) -> Result<Option<Json>, Unsendable> {
    let Some(wish) = request.thinking else { return Ok(None) };
    let refuse = |reason, what: &str| {
        Err((
            LlmErrorKind::UnsupportedThinking { reason },
            format!("the model `{model}` cannot think like this: {what}"),
        ))
    };
    let mode = match settings.thinking_mode(model) {
        Some(ThinkingMode::None) => {
            return refuse(
                ThinkingRefusal::NoThinking,
                "it cannot think at all; use Claude 3.7 or later, or leave .thinking(…) out",
            );
        }
        Some(mode) => mode,
        None => {
            return refuse(
                ThinkingRefusal::NoThinking,
                "only Claude's way of asking is known; give this model's own in .additional_fields(…), or declare \
                 .thinking_mode(…)",
            );
        }
    };
    if request.temperature.is_some_and(|temperature| temperature != 1.0) {
        return refuse(
            ThinkingRefusal::Temperature,
            "it thinks with temperature 1 only; leave the temperature out",
        );
    }
    if mode == ThinkingMode::Budget {
        if wish.budget < MIN_BUDGET {
            return refuse(ThinkingRefusal::Budget, "a budget below 1024 tokens is too small");
        }
        if request.tool_choice.is_some() {
            return refuse(
                ThinkingRefusal::ForcedToolChoice,
                "it cannot be forced to one tool at the same time",
            );
        }
    }
    if !loop_can_think(request) {
        tracing::warn!(
            target: "agentfootprint",
            model,
            "the tool loop in this history has no reasoning to send back; this request goes without thinking"
        );
        return Ok(None);
    }
    Ok(Some(match mode {
        ThinkingMode::Budget => json!({ "type": "enabled", "budget_tokens": wish.budget }),
        _ => json!({ "type": "adaptive", "display": "summarized" }),
    }))
}

fn tool_config(request: &LlmRequest, points: &mut Points<'_>) -> Result<Option<Json>, Unsendable> {
    if request.tools.is_empty() {
        return Ok(None);
    }
    let mut tools = Vec::with_capacity(request.tools.len() + 1);
    for (index, tool) in request.tools.iter().enumerate() {
        let mut spec = Map::new();
        spec.insert("name".into(), json!(&*tool.name));
        // A blank description is an error on this wire.
        if !tool.description.trim().is_empty() {
            spec.insert("description".into(), json!(&*tool.description));
        }
        spec.insert("inputSchema".into(), json!({ "json": json_of(&tool.input_schema) }));
        tools.push(json!({ "toolSpec": spec }));
        tools.extend(points.take(CacheField::Tools, index));
    }
    let mut config = Map::new();
    config.insert("tools".into(), Json::Array(tools));
    match &request.tool_choice {
        None => {}
        Some(ToolChoice::Tool { name }) => {
            config.insert("toolChoice".into(), json!({ "tool": { "name": &**name } }));
        }
        Some(_) => {
            let message = "this wire can only force one named tool".to_owned();
            return Err((LlmErrorKind::UnsupportedToolChoice, message));
        }
    }
    Ok(Some(Json::Object(config)))
}

/// The system prompt: one text, or where a cache boundary falls inside it, two around the point. Together they are the
/// prompt, byte for byte.
fn system(request: &LlmRequest, points: &mut Points<'_>) -> Vec<Json> {
    let mut parts = Vec::new();
    let mut text = String::new();
    for (index, segment) in request.system_segments.iter().enumerate() {
        text.push_str(&segment.text);
        if let Some(point) = points.take(CacheField::System, index).filter(|_| !text.trim().is_empty()) {
            parts.push(json!({ "text": std::mem::take(&mut text) }));
            parts.push(point);
        }
    }
    if !text.is_empty() && !(text.trim().is_empty()) {
        parts.push(json!({ "text": text }));
    }
    parts
}

fn messages(turns: Vec<Turn>, points: &mut Points<'_>) -> Json {
    // The last block of every marked message, wherever merging and ordering put it.
    let mut last_of: Vec<(usize, usize, usize)> = Vec::new();
    for (turn_at, turn) in turns.iter().enumerate() {
        for (block_at, placed) in turn.blocks.iter().enumerate() {
            if placed.block.get("reasoningContent").is_some()
                || !points.marks(CacheField::Messages, placed.message)
            {
                continue;
            }
            last_of.retain(|(message, ..)| *message != placed.message);
            last_of.push((placed.message, turn_at, block_at));
        }
    }
    let turns = turns.into_iter().enumerate().map(|(turn_at, turn)| {
        let mut content = Vec::with_capacity(turn.blocks.len());
        for (block_at, placed) in turn.blocks.into_iter().enumerate() {
            content.push(placed.block);
            if last_of.contains(&(placed.message, turn_at, block_at)) {
                content.extend(points.take(CacheField::Messages, placed.message));
            }
        }
        json!({ "role": turn.role, "content": content })
    });
    Json::Array(turns.collect())
}

/// A value of ours as JSON, in its order.
pub(super) fn json_of(value: &Value) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}

/// The cache points still to be set.
struct Points<'a> {
    markers: Vec<&'a CacheMarker>,
    /// A short point was set: a longer one must not follow it.
    short_before: bool,
}

impl<'a> Points<'a> {
    fn of(request: &'a LlmRequest, model: &str, settings: &Settings) -> Self {
        let can = family::caching(model);
        let all = settings.caching(model);
        let tools = settings.prompt_caching.unwrap_or(can.tools);
        let wanted = |marker: &&CacheMarker| all && (marker.field != CacheField::Tools || tools);
        Points { markers: request.cache_markers.iter().filter(wanted).collect(), short_before: false }
    }

    fn marks(&self, field: CacheField, index: usize) -> bool {
        self.markers.iter().any(|marker| marker.field == field && marker.boundary_index == index)
    }

    fn take(&mut self, field: CacheField, index: usize) -> Option<Json> {
        let marker =
            self.markers.iter().find(|marker| marker.field == field && marker.boundary_index == index)?;
        let long = marker.ttl == CacheTtl::Long && !self.short_before;
        self.short_before |= !long;
        let point =
            if long { json!({ "type": "default", "ttl": "1h" }) } else { json!({ "type": "default" }) };
        Some(json!({ "cachePoint": point }))
    }
}

/// The tools that really stand in a finished body.
pub(super) fn tool_names(body: &[u8]) -> Option<Vec<Str>> {
    let body: Json = serde_json::from_slice(body).ok()?;
    let tools = body.get("toolConfig").and_then(|config| config.get("tools")).and_then(Json::as_array);
    let names = tools.into_iter().flatten().filter_map(|tool| tool.get("toolSpec")?.get("name")?.as_str());
    Some(names.map(Str::from).collect())
}

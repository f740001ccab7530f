//! Which prefix of each request part may be cached (LLM-100, LLM-101).

use footprint::value::{Array, Object, Value};

use crate::agent::AgentCore;
use crate::injection::{ActiveInjection, CachePolicy, CachePolicyContext};
use crate::llm::{CacheField, CacheMarker, CacheTtl};

/// What the decision looks at. Index spaces are the request's own.
pub(crate) struct CacheInputs<'a> {
    pub(crate) agent: &'a AgentCore,
    pub(crate) active: &'a Array,
    pub(crate) history: &'a Array,
    /// Where the messages slot last found the delivered messages: indices in wire order.
    pub(crate) delivered: &'a [usize],
    pub(crate) policy: &'a CachePolicyContext,
}

/// One marker per part at the end of its longest cacheable prefix.
pub(crate) fn decide_markers(inputs: &CacheInputs<'_>) -> Vec<CacheMarker> {
    [system(inputs), tools(inputs), messages(inputs)].into_iter().flatten().collect()
}

fn cacheable(inputs: &CacheInputs<'_>, active: ActiveInjection<'_>) -> bool {
    match inputs.agent.injection(active.id()).and_then(|declared| declared.meta().cache.as_ref()) {
        Some(policy) => policy.cacheable(inputs.policy),
        None => word_cacheable(active),
    }
}

/// The policy of a piece that is not declared on the agent, by its word; without one, by its flavour (LLM-99).
fn word_cacheable(active: ActiveInjection<'_>) -> bool {
    match active.cache() {
        Some(word) => matches!(word, "always" | "while-active"),
        None => matches!(active.flavor(), "steering" | "fact" | "skill" | "memory"),
    }
}

fn base_policy(inputs: &CacheInputs<'_>) -> bool {
    let policy = inputs.agent.base_prompt.as_ref().map_or(CachePolicy::Always, |base| base.cache.clone());
    policy.cacheable(inputs.policy)
}

fn named(active: ActiveInjection<'_>) -> String {
    format!("{}:{}", active.flavor(), active.id())
}

fn marker(field: CacheField, boundary_index: usize, reason: String) -> CacheMarker {
    CacheMarker { field, boundary_index, ttl: CacheTtl::Short, reason }
}

/// Index 0 is the base prompt, also when it is empty.
fn system(inputs: &CacheInputs<'_>) -> Option<CacheMarker> {
    if !base_policy(inputs) {
        return None;
    }
    let (mut boundary, mut last) = (0, "the base prompt".to_owned());
    for value in inputs.active.iter() {
        let active = ActiveInjection::new(value);
        if active.served_system_text().is_none() {
            continue;
        }
        if !cacheable(inputs, active) {
            break;
        }
        boundary += 1;
        last = named(active);
    }
    let reason = format!("system: {} cacheable from the start, the last is {last}", pieces(boundary + 1));
    Some(marker(CacheField::System, boundary, reason))
}

/// Registry tools take the base policy, an injection's tools take the injection's.
fn tools(inputs: &CacheInputs<'_>) -> Option<CacheMarker> {
    // A request without injection tools ends its tools where the system part begins: one marker covers both, since
    // providers put tools before the system prompt.
    let injected: Vec<(ActiveInjection<'_>, usize)> = inputs
        .active
        .iter()
        .map(ActiveInjection::new)
        .map(|active| (active, active.tools().count()))
        .filter(|(_, count)| *count > 0)
        .collect();
    if injected.is_empty() || !base_policy(inputs) {
        return None;
    }
    let (mut count, mut last) = (inputs.agent.static_offer.names.len(), "the registry".to_owned());
    for (active, tools) in injected {
        if !cacheable(inputs, active) {
            break;
        }
        count += tools;
        last = named(active);
    }
    let boundary = count.checked_sub(1)?;
    let reason = format!("tools: {} cacheable from the start, the last of {last}", pieces(count));
    Some(marker(CacheField::Tools, boundary, reason))
}

/// The delivered messages in wire order, up to the first that is not cacheable now.
fn messages(inputs: &CacheInputs<'_>) -> Option<CacheMarker> {
    let mut boundary = None;
    let (mut count, mut last) = (0, String::new());
    for index in inputs.delivered {
        let Some(by) = inputs.history.get(*index).and_then(|message| message.get("injectedBy")) else {
            continue;
        };
        let id = by.get("injectionId").and_then(Value::as_str).unwrap_or_default();
        let Some(active) = inputs.active.iter().map(ActiveInjection::new).find(|active| active.id() == id)
        else {
            break;
        };
        if !cacheable(inputs, active) {
            break;
        }
        boundary = Some(*index);
        count += 1;
        last = named(active);
    }
    let boundary = boundary?;
    let reason = format!(
        "messages: {} delivered and cacheable, the last is {last}; turns between them carry no policy of their own",
        pieces(count)
    );
    Some(marker(CacheField::Messages, boundary, reason))
}

fn pieces(count: usize) -> String {
    if count == 1 { "1 piece".to_owned() } else { format!("{count} pieces") }
}

/// The marker as recorded.
pub(crate) fn marker_value(marker: &CacheMarker) -> Value {
    let mut out = Object::new();
    out.insert(
        "field",
        Value::from(match marker.field {
            CacheField::System => "system",
            CacheField::Tools => "tools",
            CacheField::Messages => "messages",
        }),
    );
    out.insert("boundaryIndex", Value::from(marker.boundary_index));
    out.insert(
        "ttl",
        Value::from(match marker.ttl {
            CacheTtl::Short => "short",
            CacheTtl::Long => "long",
        }),
    );
    out.insert("reason", Value::from(marker.reason.as_str()));
    Value::from(out)
}

//! Declares the agent of a scenario through the public builder.

use agentfootprint_core::agent::{
    Agent, AgentBuilder, AgentReactMode, ArgValidation, CostBudget, OnExceed, RunConfig, RunConfigContext,
};
use agentfootprint_core::artifacts::{ArtifactOptions, in_memory_artifacts};
use agentfootprint_core::injection::{BoxError, Fact, InjectionContext, Instruction, Steering};
use agentfootprint_core::llm::{LlmProvider, ModelPrices, StaticPricing};
use agentfootprint_core::tools::{CheckInOptions, Evidence};
use agentfootprint_record::events::words::Word as _;
use agentfootprint_record::message::Role;
use serde_json::{Value, json};

use crate::golden::expr::{Sources, holds};
use crate::golden::log::Log;
use crate::golden::text;

mod contract;
mod links;
mod permission;
mod reliability;
mod tools;
mod window;

/// Declarations this harness can make; anything else is named as not built yet.
const KNOWN: &[&str] = &[
    "id",
    "name",
    "system",
    "model",
    "temperature",
    "maxTokens",
    "maxIterations",
    "costBudget",
    "options",
    "pricing",
    "tools",
    "injections",
    "configure",
    "middleware",
    "permission",
    "checkIn",
    "outputSchema",
    "window",
    "reliability",
    "artifacts",
    "limitsTravelWithTheAnswer",
];

pub(in crate::golden) fn agent(
    scenario: &Value,
    provider: impl LlmProvider,
    log: &Log,
) -> Result<Agent, String> {
    let declared = scenario.get("agent").cloned().unwrap_or_default();
    if let Some(unknown) = declared
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .find(|key| !KNOWN.contains(&key.as_str()))
    {
        return Err(format!("agent declaration `{unknown}` is not built yet"));
    }
    let model = declared.get("model").and_then(Value::as_str).unwrap_or("mock-1").to_owned();
    let mut builder = Agent::builder(provider, model);
    if let Some(id) = declared.get("id").and_then(Value::as_str) {
        builder = builder.id(id);
    }
    if let Some(name) = declared.get("name").and_then(Value::as_str) {
        builder = builder.name(name);
    }
    if let Some(system) = declared.get("system").and_then(Value::as_str) {
        builder = builder.system(system);
    }
    if declared.get("limitsTravelWithTheAnswer").and_then(Value::as_bool) == Some(true) {
        builder = builder.limits_travel_with_the_answer();
    }
    if let Some(temperature) = declared.get("temperature").and_then(Value::as_f64) {
        builder = builder.temperature(temperature);
    }
    if let Some(tokens) = declared.get("maxTokens").and_then(Value::as_u64) {
        builder = builder.max_tokens(tokens);
    }
    if let Some(limit) = declared.get("maxIterations").and_then(Value::as_u64) {
        builder = builder.max_iterations(limit as u32);
    }
    builder = priced(builder, &declared);
    builder = optioned(builder, declared.get("options").unwrap_or(&Value::Null))?;
    for tool in list(&declared, "tools") {
        builder = builder.tool(tools::tool(tool)?);
    }
    for injection in list(&declared, "injections") {
        builder = injected(builder, injection)?;
    }
    if let Some(rules) = declared.get("configure").and_then(Value::as_array).cloned() {
        builder = builder.configure_try(move |cx| configured(&rules, cx));
    }
    if let Some(middleware) = declared.get("middleware") {
        builder = links::linked(builder, middleware);
    }
    if let Some(permission) = declared.get("permission") {
        builder = permission::guarded(builder, permission)?;
    }
    if let Some(check_in) = declared.get("checkIn") {
        builder =
            builder.check_in(CheckInOptions::new().evidence(match text(check_in, "evidence").as_str() {
                "minimal" => Evidence::Minimal,
                _ => Evidence::Standard,
            }));
    }
    if let Some(schema) = declared.get("outputSchema") {
        builder = contract::contracted(builder, schema);
    }
    if let Some(declared) = declared.get("window") {
        builder = window::windowed(builder, declared, log)?;
    }
    if let Some(declared) = declared.get("reliability") {
        builder = reliability::gated(builder, declared)?;
    }
    if let Some(artifacts) = declared.get("artifacts") {
        builder = builder.artifacts(stored(artifacts)?);
    }
    builder.build().map_err(|errors| errors.to_string())
}

/// The store of a scenario and what is placed in it.
fn stored(declared: &Value) -> Result<ArtifactOptions, String> {
    let known = ["store", "placement"];
    let keys = declared.as_object().into_iter().flatten().map(|(key, _)| key);
    if let Some(unknown) = keys.into_iter().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("artifacts declaration `{unknown}` is not built yet"));
    }
    let options = ArtifactOptions::new(in_memory_artifacts());
    let limit = declared.pointer("/placement/maxInlineChars").and_then(Value::as_u64);
    Ok(match limit {
        Some(limit) => options.place_above(limit),
        None => options,
    })
}

/// The first rule that fits decides model and instructions of the run.
fn configured(rules: &[Value], cx: &RunConfigContext) -> Result<Option<RunConfig>, BoxError> {
    let seen = Given(json!({
        "message": &*cx.message,
        "identity": cx.identity,
        "defaults": {"model": &*cx.defaults.model, "instructions": cx.defaults.instructions.as_deref()},
    }));
    for rule in rules {
        let fits = rule.get("if").map_or(Ok(true), |condition| holds(condition, &seen));
        if !fits.map_err(|thrown| BoxError::from(thrown.0))? {
            continue;
        }
        let word = |key: &str| rule.pointer(&format!("/use/{key}")).and_then(Value::as_str);
        let mut config = RunConfig::new();
        if let Some(model) = word("model") {
            config = config.model(model);
        }
        if let Some(instructions) = word("instructions") {
            config = config.instructions(instructions);
        }
        return Ok(Some(config));
    }
    Ok(None)
}

fn priced(mut builder: AgentBuilder, declared: &Value) -> AgentBuilder {
    if let Some(pricing) = declared.get("pricing") {
        let price = |kind: &str| pricing.pointer(&format!("/perToken/{kind}")).and_then(Value::as_f64);
        let prices = ModelPrices {
            input: price("input"),
            output: price("output"),
            cache_read: price("cacheRead"),
            cache_write: price("cacheWrite"),
            ..ModelPrices::default()
        };
        builder = builder.pricing(StaticPricing::new(text(pricing, "name")).any_model(prices));
    }
    match declared.get("costBudget") {
        Some(Value::Object(budget)) => {
            let usd = budget.get("usd").and_then(Value::as_f64).unwrap_or_default();
            let halts = budget.get("onExceed").and_then(Value::as_str) == Some("halt");
            builder.cost_budget(CostBudget {
                usd,
                on_exceed: if halts { OnExceed::Halt } else { OnExceed::Warn },
            })
        }
        Some(Value::Number(usd)) => builder.cost_budget(CostBudget::from(usd.as_f64().unwrap_or_default())),
        _ => builder,
    }
}

fn optioned(mut builder: AgentBuilder, options: &Value) -> Result<AgentBuilder, String> {
    for (key, value) in options.as_object().into_iter().flatten() {
        let yes = value.as_bool().unwrap_or_default();
        builder = match key.as_str() {
            "wrapUpAtMaxIterations" => builder.wrap_up_at_max_iterations(yes),
            "recordSystemPrompt" => builder.record_system_prompt(yes),
            "repeatedCallNudge" => builder.repeated_call_nudge(yes),
            "caching" => builder.caching(value.as_str() != Some("off") && yes),
            "maxToolResultChars" => builder.max_tool_result_chars(value.as_u64().unwrap_or_default()),
            "keepLastToolResults" => {
                builder.keep_last_tool_results(value.as_u64().unwrap_or_default() as u32)
            }
            "maxIterations" => builder.max_iterations(value.as_u64().unwrap_or_default() as u32),
            "reactMode" => builder.react_mode(match value.as_str() {
                Some("classic") => AgentReactMode::Classic,
                Some("dynamic-grouped") => AgentReactMode::DynamicGrouped,
                _ => AgentReactMode::Dynamic,
            }),
            "toolArgValidation" => builder.tool_arg_validation(match value.as_str() {
                Some("warn") => ArgValidation::Warn,
                Some("off") => ArgValidation::Off,
                _ => ArgValidation::Enforce,
            }),
            other => return Err(format!("agent option `{other}` is not built yet")),
        };
    }
    Ok(builder)
}

fn injected(builder: AgentBuilder, declared: &Value) -> Result<AgentBuilder, String> {
    let id = text(declared, "id");
    let condition = declared.get("activeWhen").cloned();
    let active = condition.map(|condition| {
        move |cx: &InjectionContext| {
            holds(&condition, &Given(cx.to_value().to_json()))
                .map_err(|thrown| Box::<dyn std::error::Error + Send + Sync>::from(thrown.0))
        }
    });
    let described = declared.get("description").and_then(Value::as_str).map(str::to_owned);
    let role = (text(declared, "slot") == "messages").then(|| Role::read(&text(declared, "role").into()));
    Ok(match text(declared, "type").as_str() {
        "steering" => {
            let mut steering = Steering::new(id, text(declared, "prompt"));
            if let Some(described) = described {
                steering = steering.describe(described);
            }
            builder.steering(steering)
        }
        "fact" => {
            let mut fact = Fact::new(id, text(declared, "data"));
            if let Some(active) = active {
                fact = fact.active_when_try(active);
            }
            if let Some(described) = described {
                fact = fact.describe(described);
            }
            if let Some(role) = role {
                fact = fact.in_messages(role);
            }
            builder.fact(fact)
        }
        "instruction" => {
            let mut instruction = match declared.get("template").and_then(Value::as_str) {
                Some(template) => Instruction::template(id, template),
                None => Instruction::new(id, text(declared, "prompt")),
            };
            if let Some(active) = active {
                instruction = instruction.active_when_try(active);
            }
            if let Some(described) = described {
                instruction = instruction.describe(described);
            }
            if let Some(role) = role {
                instruction = instruction.in_messages(role);
            }
            builder.instruction(instruction)
        }
        other => return Err(format!("injection type `{other}` is not built yet")),
    })
}

struct Given(Value);

impl Sources for Given {
    fn state(&self, _: &str) -> Option<Value> {
        None
    }
    fn input(&self) -> Option<Value> {
        Some(self.0.clone())
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

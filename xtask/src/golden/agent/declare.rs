//! Declares the agent of a scenario through the public builder.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentfootprint_core::agent::{Agent, AgentBuilder, AgentReactMode, ArgValidation, CostBudget, OnExceed};
use agentfootprint_core::injection::{Fact, InjectionContext, Instruction, Steering};
use agentfootprint_core::llm::{LlmProvider, ModelPrices, StaticPricing};
use agentfootprint_core::tools::{Tool, ToolContext, ToolError, ToolFailure, ToolOutput, ask_human};
use agentfootprint_record::events::words::Word as _;
use agentfootprint_record::message::Role;
use footprint::value::Value as Kept;
use serde_json::{Value, json};

use crate::golden::expr::{Sources, eval, holds, template};
use crate::golden::text;

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
];

pub(in crate::golden) fn agent(scenario: &Value, provider: impl LlmProvider) -> Result<Agent, String> {
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
        builder = builder.tool(self::tool(tool)?);
    }
    for injection in list(&declared, "injections") {
        builder = injected(builder, injection)?;
    }
    if declared.get("configure").is_some() {
        return Err("agent declaration `configure` is not built yet".to_owned());
    }
    builder.build().map_err(|errors| errors.to_string())
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
    let role = (text(declared, "slot") == "messages").then(|| Role::read(&text(declared, "role").into()));
    Ok(match text(declared, "type").as_str() {
        "steering" => builder.steering(Steering::new(id, text(declared, "prompt"))),
        "fact" => {
            let mut fact = Fact::new(id, text(declared, "data"));
            if let Some(active) = active {
                fact = fact.active_when_try(active);
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

fn tool(declared: &Value) -> Result<Tool, String> {
    const DECLARED: &[&str] = &[
        "name",
        "description",
        "inputSchema",
        "behaviour",
        "resultCeiling",
        "repeatedWhen",
        "argumentsFrom",
    ];
    if let Some(unknown) = declared
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .find(|key| !DECLARED.contains(&key.as_str()))
    {
        return Err(format!("tool declaration `{unknown}` is not built yet"));
    }
    let mut builder = Tool::builder(text(declared, "name")).description(text(declared, "description"));
    if let Some(schema) = declared.get("inputSchema") {
        builder = builder.input_schema(Kept::from(schema.clone()));
    }
    if let Some(ceiling) = declared.get("resultCeiling") {
        builder = builder
            .result_ceiling(ceiling.get("maxChars").and_then(Value::as_u64).unwrap_or_default() as usize);
        let narrow: Vec<String> =
            list(ceiling, "narrowBy").iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        if !narrow.is_empty() {
            builder = builder.narrow_by(narrow);
        }
    }
    if let Some(grounds) = declared.get("argumentsFrom").and_then(Value::as_array) {
        builder = builder.arguments_from(
            grounds.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>(),
        );
    }
    if declared.get("repeatedWhen").is_some() {
        builder = builder.repeated_when(agentfootprint_core::tools::RepeatedWhen::Arguments);
    }
    let behaviour = Arc::new(Behaviour::of(declared.get("behaviour").cloned().unwrap_or_default())?);
    builder
        .handler(move |args: Kept, cx: ToolContext| {
            let behaviour = Arc::clone(&behaviour);
            async move { behaviour.act(&args.to_json(), &cx) }
        })
        .build()
        .map_err(|error| error.to_string())
}

/// What a scenario's tool does.
struct Behaviour {
    declared: Value,
    calls: AtomicUsize,
    inner: Mutex<Vec<Arc<Behaviour>>>,
}

impl Behaviour {
    fn of(declared: Value) -> Result<Self, String> {
        let known = [
            "return",
            "template",
            "echoArgs",
            "none",
            "throw",
            "sequence",
            "when",
            "progress",
            "askHuman",
            "contextFacts",
        ];
        let name = declared
            .as_object()
            .and_then(|map| map.keys().find(|key| !known.contains(&key.as_str())).cloned());
        if let Some(name) = name {
            return Err(format!("tool behaviour `{name}` is not built yet"));
        }
        let inner = list(&declared, "sequence")
            .iter()
            .map(|each| Self::of(each.clone()).map(Arc::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { declared, calls: AtomicUsize::new(0), inner: Mutex::new(inner) })
    }

    fn act(&self, args: &Value, cx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        for payload in list(&self.declared, "progress") {
            cx.progress(Kept::from(payload.clone()));
        }
        if self.declared.get("sequence").is_some() {
            let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let at = self.calls.fetch_add(1, Ordering::SeqCst).min(inner.len().saturating_sub(1));
            return inner.get(at).map_or(Ok(ToolOutput::None), |behaviour| behaviour.act(args, cx));
        }
        if let Some(rules) = self.declared.get("when").and_then(Value::as_array) {
            for rule in rules {
                let fits = rule
                    .get("if")
                    .is_none_or(|condition| holds(condition, &Given(args.clone())).unwrap_or_default());
                if fits {
                    let then = rule.get("then").cloned().unwrap_or_default();
                    return Self::of(then).map_err(ToolError::new)?.act(args, cx);
                }
            }
            return Ok(ToolOutput::None);
        }
        if let Some(expression) = self.declared.get("return") {
            let value = eval(expression, &Given(args.clone())).map_err(|thrown| ToolError::new(thrown.0))?;
            return Ok(output(value));
        }
        if let Some(pattern) = self.declared.get("template").and_then(Value::as_str) {
            return Ok(ToolOutput::Text(template(pattern, args).into()));
        }
        if self.declared.get("echoArgs").is_some() {
            return Ok(ToolOutput::Json(Kept::from(args.clone())));
        }
        if let Some(data) = self.declared.get("askHuman") {
            return Err(ask_human(Kept::from(data.clone())));
        }
        if let Some(thrown) = self.declared.get("throw") {
            let message = thrown.as_str().map_or_else(|| text(thrown, "message"), str::to_owned);
            return Err(ToolError::new(message).into());
        }
        if self.declared.get("contextFacts").is_some() {
            let identity = cx.identity().and_then(|identity| serde_json::to_value(identity).ok());
            let mut facts = json!({"iteration": cx.iteration(), "toolCallId": cx.tool_call_id()});
            if let Some(facts) = facts.as_object_mut() {
                if let Some(session) = cx.session_id() {
                    facts.insert("sessionId".to_owned(), json!(session));
                }
                if let Some(identity) = identity {
                    facts.insert("identity".to_owned(), identity);
                }
            }
            return Ok(ToolOutput::Json(Kept::from(facts)));
        }
        Ok(ToolOutput::None)
    }
}

fn output(value: Option<Value>) -> ToolOutput {
    match value {
        None => ToolOutput::None,
        Some(Value::String(text)) => ToolOutput::Text(text.into()),
        Some(other) => ToolOutput::Json(Kept::from(other)),
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

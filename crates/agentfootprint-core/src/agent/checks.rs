//! The checks of a build, and the assembly of what passed them (AGT-31).

use std::collections::HashMap;
use std::sync::Arc;

use agentfootprint_record::conventions::is_reserved_subflow_segment;
use agentfootprint_record::events::words::Word as _;
use footprint::observe::Delivery;
use footprint::value::{Str, Value};

use super::builder::AgentBuilder;
use super::cache;
use super::core::{AgentCore, BasePrompt, Index};
use super::errors::{AgentBuildError, AgentBuildErrors};
use super::offer::Offer;
use super::output::{DEFAULT_NAME, Fallback, MAX_RETRIES, Output, OutputStrategy};
use super::records::base_piece;
use super::{Agent, chart};
use crate::artifacts::ArtifactOptions;
use crate::injection::{Injection, Instruction, IntoInjection};
use crate::reliability::{self, Gate, Surroundings};
use crate::tools::{Tool, ToolSessions, check_tool_set, present_tool};
use crate::window;

/// Iterations above which a build warns once.
const MANY_ITERATIONS: u32 = 100;

pub(super) fn build(mut builder: AgentBuilder) -> Result<Agent, AgentBuildErrors> {
    let mut problems = std::mem::take(&mut builder.problems);
    let id = builder.id.clone().unwrap_or_else(|| "agent".into());
    check_id("agent", &id, &mut problems);
    check_numbers(&builder, &mut problems);
    check_texts(&builder, &mut problems);
    let capabilities = builder.provider.capabilities(&builder.model);
    if let Err(error) = capabilities.check(builder.provider.name()) {
        problems.push(error.into());
    }
    let output = output(&mut builder, &mut problems);
    check_validation(&builder, output.is_some(), &mut problems);
    let tools = tools(&builder, &mut problems);
    check_injections(&builder.injections, &mut problems);
    check_recorders(&builder, &mut problems);
    window::check(&builder.windows, &builder.provider, &builder.model, &mut problems);
    reliability::check(builder.reliability.as_ref(), &mut problems);
    if !problems.is_empty() {
        return Err(AgentBuildErrors::new(problems));
    }
    if builder.options.max_iterations > MANY_ITERATIONS {
        tracing::warn!(
            target: "agentfootprint",
            agent = %id,
            "max_iterations is {}: a loop that long is usually a mistake",
            builder.options.max_iterations
        );
    }
    let thinking_handler = match builder.thinking_handler {
        Some(chosen) => chosen,
        None => capabilities.thinking_handler.clone(),
    };
    let strategy_is_chosen = builder.cache_strategy.is_some();
    let cache_strategy = builder.cache_strategy.unwrap_or_else(|| cache::for_provider(&capabilities));
    let around = Surroundings {
        provider: &builder.provider,
        strategy: &cache_strategy,
        strategy_is_chosen,
        has_contract: output.is_some(),
    };
    let gate = builder.reliability.map(|declared| Gate::of(declared, &around));
    let core = Arc::new(AgentCore {
        id_explicit: builder.id.is_some(),
        id,
        name: builder.name.unwrap_or_else(|| "Agent".into()),
        capabilities,
        base_prompt: builder.system.map(|(text, cache)| BasePrompt {
            piece: base_piece(&text, "Agent.system()"),
            text,
            cache,
        }),
        index: Index::of(&builder.injections),
        injections: builder.injections,
        static_offer: Arc::new(Offer::of_registry(&tools)),
        tools,
        tooling: builder.tooling,
        output,
        answer_validation: builder.answer_validation,
        thinking_handler,
        cache_strategy,
        configure: builder.configure,
        reliability: gate,
        window: builder.windows.into_iter().next(),
        provider: builder.provider,
        model: builder.model,
        options: builder.options,
        sessions: ToolSessions::default(),
    });
    match chart::build(&core) {
        Ok(chart) => Ok(Agent::assemble(core, chart, builder.hub, builder.recorders)),
        Err(errors) => Err(AgentBuildErrors::new(vec![AgentBuildError::Chart(errors)])),
    }
}

/// The reserved characters of an id (ENG-12).
const RESERVED: [char; 4] = ['/', '#', '~', '\u{1f}'];

fn check_id(what: &'static str, id: &str, problems: &mut Vec<AgentBuildError>) {
    let why = if id.trim().is_empty() {
        "is empty".to_owned()
    } else if is_reserved_subflow_segment(id) {
        "starts with `sf-`, which is reserved for the library's own nodes".to_owned()
    } else if let Some(bad) = id.chars().find(|c| RESERVED.contains(c)) {
        format!("holds the reserved character `{}`", bad.escape_default())
    } else {
        return;
    };
    problems.push(AgentBuildError::BadId { what, id: id.to_owned(), why });
}

fn check_numbers(builder: &AgentBuilder, problems: &mut Vec<AgentBuildError>) {
    let mut range = |option, bad: bool, value: String, rule| {
        if bad {
            problems.push(AgentBuildError::OutOfRange { option, value, rule });
        }
    };
    let options = &builder.options;
    range("max_iterations", options.max_iterations == 0, "0".into(), "it must be at least 1");
    if let Some(chars) = options.max_tool_result_chars {
        range("max_tool_result_chars", chars == 0, "0".into(), "it must be at least 1");
    }
    if builder.tooling.artifacts.as_ref().and_then(ArtifactOptions::max_inline_chars) == Some(0) {
        range("artifacts.placement.max_inline_chars", true, "0".into(), "it must be at least 1");
    }
    if let Some(budget) = options.thinking_budget {
        range("thinking", budget == 0, "0".into(), "it must be at least 1");
    }
    if let Some(tokens) = options.max_tokens {
        range("max_tokens", tokens == 0, "0".into(), "it must be at least 1");
    }
    if let Some(temperature) = options.temperature {
        let bad = !temperature.is_finite() || temperature < 0.0;
        range("temperature", bad, temperature.to_string(), "it must be a finite number of at least 0");
    }
    if let Some(budget) = options.cost_budget {
        let bad = !budget.usd.is_finite() || budget.usd <= 0.0;
        range("cost_budget", bad, budget.usd.to_string(), "it must be a finite amount above 0");
        if options.pricing.is_none() {
            problems.push(AgentBuildError::BudgetWithoutPricing);
        }
    }
}

fn check_texts(builder: &AgentBuilder, problems: &mut Vec<AgentBuildError>) {
    if builder.model.trim().is_empty() {
        problems.push(AgentBuildError::Empty { option: "model" });
    }
    if builder.system.as_ref().is_some_and(|(text, _)| text.trim().is_empty()) {
        problems.push(AgentBuildError::Empty { option: "system" });
    }
}

/// The answer's validation: its own options, and the form it stands on.
fn check_validation(builder: &AgentBuilder, has_contract: bool, problems: &mut Vec<AgentBuildError>) {
    let Some(declared) = &builder.answer_validation else { return };
    let ranges = declared.problems().into_iter();
    problems.extend(ranges.map(|(option, value, rule)| AgentBuildError::OutOfRange { option, value, rule }));
    if !has_contract {
        problems.push(AgentBuildError::Needs {
            what: "`answer_validation`".to_owned(),
            needs: "`output_schema`: what is compared with evidence is an answer of a declared form",
        });
    }
}

/// The output contract, and the instruction that asks for it.
fn output(builder: &mut AgentBuilder, problems: &mut Vec<AgentBuildError>) -> Option<Output> {
    let fallback = builder.fallback.take();
    let Some((contract, options)) = builder.output.take() else {
        if fallback.is_some() {
            problems.push(AgentBuildError::FallbackWithoutSchema);
        }
        return None;
    };
    if options.retries > MAX_RETRIES {
        problems.push(AgentBuildError::OutOfRange {
            option: "output_schema retries",
            value: options.retries.to_string(),
            rule: "it must be between 0 and 10",
        });
    }
    let schema = options.json_schema.clone().or_else(|| contract.json_schema());
    if options.strategy == OutputStrategy::Native && schema.is_none() {
        problems.push(AgentBuildError::NativeOutputWithoutSchema);
    }
    if options.strategy == OutputStrategy::ToolForced {
        if schema.is_none() {
            problems.push(AgentBuildError::ForcedOutputWithoutSchema);
        }
        if let Some(what) = other_tools(builder) {
            problems.push(AgentBuildError::ForcedOutputWithTools { what });
        }
    }
    if let Some(Err(violation)) =
        fallback.as_ref().and_then(|(_, canned)| canned.clone()).map(|canned| contract.check(canned))
    {
        problems.push(AgentBuildError::CannedValue { message: violation.message });
    }
    let name = options.name.clone().unwrap_or_else(|| DEFAULT_NAME.into());
    let text =
        options.instruction.clone().unwrap_or_else(|| instruction(contract.description(), schema.as_ref()));
    // It reports as a rule, as the recordings have it: the rule is that the agent has a contract.
    match Instruction::new(name.clone(), text).active_when(|_| true).into_injection() {
        Ok(injection) => builder.injections.push(injection),
        Err(error) => problems.push(error.into()),
    }
    Some(Output {
        name,
        contract,
        retries: options.retries,
        strategy: options.strategy,
        schema,
        fallback: fallback.map(|(fallback, canned)| Fallback { fallback, canned }),
    })
}

fn instruction(description: Option<&str>, schema: Option<&Value>) -> Str {
    let what = description.map(|text| format!(" It is {text}.")).unwrap_or_default();
    let shape = schema.map(|schema| format!("\n\nIts JSON schema:\n{schema}")).unwrap_or_default();
    format!(
        "Give the final answer as JSON of the declared form and as nothing else: no prose before or after it, no code \
         fences.{what}{shape}"
    )
    .into()
}

/// What the model could call besides the synthetic tool.
fn other_tools(builder: &AgentBuilder) -> Option<String> {
    let mut names: Vec<String> = builder.tools.iter().map(|tool| format!("tool `{}`", tool.name())).collect();
    if builder.tooling.has_provider() {
        names.push("a tool provider".to_owned());
    }
    if builder.tooling.artifacts.is_some() {
        names.push("an artifact store (tool `present`)".to_owned());
    }
    for injection in builder.injections.iter().filter(|injection| !injection.content().tools.is_empty()) {
        names.push(format!("tools of {} `{}`", injection.flavor().word(), injection.id()));
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// Each registered tool once; what is wrong with the set as a whole is reported.
fn tools(builder: &AgentBuilder, problems: &mut Vec<AgentBuildError>) -> Vec<Tool> {
    let found = check_tool_set(
        &builder.tools,
        &builder.injections,
        &builder.tooling,
        builder.options.on_authorization_required,
    );
    problems.extend(found.into_iter().map(AgentBuildError::from));
    let mut kept: Vec<Tool> = Vec::with_capacity(builder.tools.len());
    for tool in &builder.tools {
        if !kept.iter().any(|known| known.name() == tool.name()) {
            kept.push(tool.clone());
        }
    }
    if builder.tooling.artifacts.is_some() {
        match present_tool() {
            Ok(present) => kept.push(present),
            Err(error) => problems.push(error.into()),
        }
    }
    kept
}

fn check_injections(injections: &[Injection], problems: &mut Vec<AgentBuildError>) {
    let mut known: HashMap<&str, &Injection> = HashMap::new();
    for injection in injections {
        if let Some(first) = known.get(&**injection.id()) {
            problems.push(AgentBuildError::DuplicateInjection {
                id: injection.id().clone(),
                first: first.flavor().to_string(),
                second: injection.flavor().to_string(),
            });
        } else {
            known.insert(injection.id(), injection);
        }
    }
}

fn check_recorders(builder: &AgentBuilder, problems: &mut Vec<AgentBuildError>) {
    if let Some(queue) = &builder.options.observer_queue {
        if let Err(error) = queue.check() {
            problems.push(error.into());
        }
        if builder.options.observer_delivery == Delivery::Inline {
            let what = "observer_queue".to_owned();
            problems.push(AgentBuildError::Needs { what, needs: "`observer_delivery(Delivery::Deferred)`" });
        }
    }
    let mut known: HashMap<&str, &Arc<dyn footprint::observe::Recorder>> = HashMap::new();
    for recorder in &builder.recorders {
        match known.get(recorder.id()) {
            Some(first) if !Arc::ptr_eq(first, recorder) => problems.push(AgentBuildError::BadId {
                what: "observer",
                id: recorder.id().to_owned(),
                why: "belongs to two different observers; give one of them another id".to_owned(),
            }),
            Some(_) => {}
            None => {
                known.insert(recorder.id(), recorder);
            }
        }
    }
}

//! The agent's chart (AGT §8).
//!
//! Ids, names, branch order and loop targets are read by viewers and stay as they are. Descriptions are ours, except for the
//! taxonomy prefixes in front of them (AGT-36).

use std::future::Future;
use std::sync::Arc;

use agentfootprint_record::conventions::ids;
use footprint::chart::{
    ArrayMergeMode, Branch, BuildErrors, Chart, ChartBuilder, Decider, FanOut, Mount, Selector, Stage, Step,
    SubflowEnd,
};
use footprint::decide::Decision;
use footprint::error::StageError;
use footprint::scope::{Scope, StateView};
use footprint::value::{Object, Str, Value};

use super::core::AgentCore;
use super::options::AgentReactMode;
use super::stages::{
    cache, call_llm, deliver, engine, finish, messages_slot, output_retry, route, seed, system_slot,
    thinking, tool_calls, tools_slot, turn_seed, wrap_up,
};
use crate::run::StageCx;
use crate::window::compact;

/// Builds the chart of an agent.
pub(crate) fn build(agent: &Arc<AgentCore>) -> Result<Chart, BuildErrors> {
    let chart = Charts { agent };
    if agent.is_grouped() { chart.grouped() } else { chart.flat() }
}

struct Charts<'a> {
    agent: &'a Arc<AgentCore>,
}

/// Where the nodes of the model call live: at the top, or inside the grouped mount.
#[derive(Clone, Copy)]
struct At(&'static str);

impl At {
    const TOP: Self = Self("");
    const GROUP: Self = Self(ids::LLM_CALL);

    fn path(self, local: &str) -> String {
        if self.0.is_empty() { local.to_owned() } else { format!("{}/{local}", self.0) }
    }
}

impl Charts<'_> {
    fn flat(&self) -> Result<Chart, BuildErrors> {
        let chart = self.model_call(self.begin(), At::TOP)?;
        self.route(chart, self.loop_target(ids::INJECTION_ENGINE))?.build()
    }

    fn grouped(&self) -> Result<Chart, BuildErrors> {
        let first = self
            .stage(ids::TURN_SEED, At::GROUP.path(ids::TURN_SEED), turn_seed::turn_seed)
            .named("TurnSeed")
            .describe("LLMCall: what one model call starts from");
        let group = self.model_call(Chart::builder(first), At::GROUP)?.build()?;
        let mount = Mount::of(ids::LLM_CALL, &group)
            .named("LLM")
            .input(|parent: StateView| Ok(turn_seed::input(&parent)))
            .output(|end: SubflowEnd| Ok(turn_seed::output(&end, false)))
            .array_merge(ArrayMergeMode::Replace);
        // A gate that gives up ends the run, not only the group.
        let mount = if self.agent.reliability.is_some() { mount.propagate_break(true) } else { mount };
        self.route(self.begin().mount(mount), self.loop_target(ids::LLM_CALL))?.build()
    }

    /// The seed, and the window's stage when the agent has a window: it stays in the outer chart in both shapes.
    fn begin(&self) -> ChartBuilder {
        let chart = Chart::builder(self.seed());
        let Some(window) = &self.agent.window else { return chart };
        let stage = self
            .stage(ids::COMPACT, ids::COMPACT.to_owned(), compact)
            .named("Compact")
            .describe(format!("applies the window `{}` to the conversation", window.strategy.name()));
        chart.then(stage)
    }

    /// Where the loop returns to: the window comes before everything that looks at the conversation (LLM-148).
    fn loop_target(&self, without_window: &'static str) -> &'static str {
        if self.agent.window.is_some() { ids::COMPACT } else { without_window }
    }

    /// Everything from the injection engine to the thinking.
    fn model_call(&self, chart: ChartBuilder, at: At) -> Result<ChartBuilder, BuildErrors> {
        let mut chart = chart.mount(self.engine(at)?);
        if self.agent.mounts_deliver() {
            let stage = self
                .stage(ids::DELIVER, at.path(ids::DELIVER), deliver::deliver)
                .named("Deliver")
                .describe("appends declared messages to the conversation");
            chart = chart.then(stage);
        }
        let call = self
            .stage(ids::CALL_LLM, at.path(ids::CALL_LLM), call_llm::call_llm)
            .named("CallLLM")
            .describe("calls the model");
        chart = chart.select(self.context(at)?).mount(self.cache(at)?).then(call);
        if let Some(mount) = self.thinking(at)? {
            chart = chart.mount(mount);
        }
        Ok(chart)
    }

    fn seed(&self) -> Stage {
        let classic = self.agent.options.react_mode == AgentReactMode::Classic;
        let agent = Arc::clone(self.agent);
        Stage::new(ids::SEED, move |scope: Scope| {
            let bound = StageCx::begin(scope, &agent, ids::SEED);
            async move { seed::seed(bound?).await }
        })
        .named("Initialize")
        .describe(if classic { "Agent: Classic ReAct loop" } else { "Agent: ReAct loop" })
    }

    fn engine(&self, at: At) -> Result<Mount, BuildErrors> {
        let path = |local: &str| at.path(&format!("{}/{local}", ids::INJECTION_ENGINE));
        let inner = Chart::builder(
            self.stage(ids::GATHER, path(ids::GATHER), engine::gather)
                .named("Gather")
                .describe("notes what this pass is judged on"),
        )
        .then(
            self.stage(ids::EVALUATE, path(ids::EVALUATE), engine::evaluate_stage)
                .named("Evaluate")
                .describe("judges every injection and projects the active ones"),
        )
        .then(
            self.stage(ids::ENGINE_ROUTE, path(ids::ENGINE_ROUTE), engine::route)
                .named("Route")
                .describe("sorts the active injections by slot"),
        )
        .then(
            self.stage(ids::DELTA, path(ids::DELTA), engine::delta)
                .named("Delta")
                .describe("what changed in each slot since the last pass"),
        )
        .build()?;
        Ok(replacing(ids::INJECTION_ENGINE, "Injection Engine", &inner, engine::input, engine::output))
    }

    fn context(&self, at: At) -> Result<Selector, BuildErrors> {
        let classic = self.agent.options.react_mode == AgentReactMode::Classic;
        let agent = Arc::clone(self.agent);
        let path = at.path(ids::CONTEXT);
        let selector = Selector::new(ids::CONTEXT, move |scope: Scope| {
            let bound = StageCx::bind(scope, &agent, &path);
            async move { select_slots(&bound?, classic) }
        })
        .named("Context")
        .describe("composes the three parts of the request")
        .fan_out(FanOut::FailFast);
        let tools = self.tools_slot(at)?;
        let tools = if at.0.is_empty() { tools } else { tools.converge_at(ids::CACHE) };
        Ok(selector.branch(self.system_slot(at)?).branch(self.messages_slot(at)?).branch(tools))
    }

    fn system_slot(&self, at: At) -> Result<Mount, BuildErrors> {
        let path = at.path(&format!("{}/{}", ids::SYSTEM_PROMPT, ids::COMPOSE));
        let stage = self.stage(ids::COMPOSE, path, system_slot::compose);
        let inner = Chart::builder(stage.named("Compose").describe("composes the system prompt")).build()?;
        Ok(replacing(ids::SYSTEM_PROMPT, "System Prompt", &inner, system_slot::input, system_slot::output))
    }

    fn messages_slot(&self, at: At) -> Result<Mount, BuildErrors> {
        let path = at.path(&format!("{}/{}", ids::MESSAGES, ids::COMPOSE));
        let stage = self.stage(ids::COMPOSE, path, messages_slot::compose);
        let inner = Chart::builder(stage.named("Compose").describe("composes the conversation")).build()?;
        Ok(replacing(ids::MESSAGES, "Messages", &inner, messages_slot::input, messages_slot::output))
    }

    fn tools_slot(&self, at: At) -> Result<Mount, BuildErrors> {
        let path = |local: &str| at.path(&format!("{}/{local}", ids::TOOLS));
        let discover = self.stage(ids::DISCOVER, path(ids::DISCOVER), tools_slot::discover);
        let compose = self.stage(ids::COMPOSE, path(ids::COMPOSE), tools_slot::compose);
        let inner = Chart::builder(discover.named("Discover").describe("asks the tool provider"))
            .then(compose.named("Compose").describe("merges the tools on offer"))
            .build()?;
        Ok(replacing(ids::TOOLS, "Tools", &inner, tools_slot::input, tools_slot::output))
    }

    fn cache(&self, at: At) -> Result<Mount, BuildErrors> {
        let path = |local: &str| at.path(&format!("{}/{local}", ids::CACHE));
        let first = self
            .stage(ids::DECIDE_CACHE_MARKERS, path(ids::DECIDE_CACHE_MARKERS), cache::decide_markers_stage)
            .named("CacheDecision")
            .describe("finds the stable prefix of each part of the request");
        let gate = self
            .decider(ids::CACHE_GATE, path(ids::CACHE_GATE), cache::gate)
            .named("CacheGate")
            .describe("kill switch, hit rate, skill churn")
            .branch(
                self.stage(ids::APPLY_MARKERS, path(ids::APPLY_MARKERS), cache::apply)
                    .named("ApplyMarkers")
                    .describe("keeps the markers"),
            )
            .branch(
                self.stage(ids::NO_MARKERS, path(ids::NO_MARKERS), cache::skip)
                    .named("SkipCaching")
                    .describe("clears the markers"),
            );
        let inner = Chart::builder(first).decide(gate).build()?;
        let agent = Arc::clone(self.agent);
        Ok(Mount::of(ids::CACHE, &inner)
            .named("Cache")
            .input(move |parent: StateView| Ok(cache::input(&agent, &parent)))
            .output(|end: SubflowEnd| Ok(cache::output(&end)))
            .array_merge(ArrayMergeMode::Replace))
    }

    fn thinking(&self, at: At) -> Result<Option<Mount>, BuildErrors> {
        let Some(handler) = &self.agent.thinking_handler else { return Ok(None) };
        let id = ids::thinking(handler.id());
        let path = at.path(&format!("{}/{id}", ids::THINKING));
        let stage = self
            .stage(id, path, thinking::normalise)
            .named("Normalize")
            .describe(format!("normalises the thinking of {}", handler.id()));
        let inner = Chart::builder(stage).build()?;
        Ok(Some(replacing(ids::THINKING, "NormalizeThinking", &inner, thinking::input, thinking::output)))
    }

    /// The decider and its branches, in their recorded order (AGT-37).
    fn route(&self, chart: ChartBuilder, target: &'static str) -> Result<ChartBuilder, BuildErrors> {
        let mut decider = self
            .decider(ids::ROUTE, ids::ROUTE.to_owned(), |cx| async move {
                route::route(cx).await.map(Decision::from)
            })
            .named("Route")
            .describe("tools, another question, or the answer")
            .branch(Branch::stage(self.tool_calls()).loop_to(target));
        if self.agent.mounts_output_retry() {
            let stage = self
                .stage(ids::OUTPUT_RETRY, ids::OUTPUT_RETRY.to_owned(), output_retry::output_retry)
                .named("SchemaRetry")
                .describe("asks again for the declared form");
            decider = decider.branch(Branch::stage(stage).loop_to(target));
        }
        if self.agent.mounts_wrap_up() {
            let stage = self
                .stage(ids::WRAP_UP, ids::WRAP_UP.to_owned(), wrap_up::wrap_up)
                .named("WrapUp")
                .describe("the action budget is spent: one last call without tools");
            decider = decider.branch(Branch::stage(stage).loop_to(target));
        }
        Ok(chart.decide(decider.branch(Branch::mount(self.finish()?)).default_branch(ids::FINAL)))
    }

    fn tool_calls(&self) -> Stage {
        let (ask, answer) = (Arc::clone(self.agent), Arc::clone(self.agent));
        Stage::pausable(
            ids::TOOL_CALLS,
            move |scope: Scope| {
                let bound = StageCx::bind(scope, &ask, ids::TOOL_CALLS);
                async move { tool_calls::run(bound?).await as Result<Step<Value>, StageError> }
            },
            move |scope: Scope, given: Value| {
                let bound = StageCx::bind(scope, &answer, ids::TOOL_CALLS);
                async move { tool_calls::resume(bound?, given).await }
            },
        )
        .named("ToolCalls")
        .describe("runs the requested tools; may pause for a person")
    }

    fn finish(&self) -> Result<Mount, BuildErrors> {
        let path = |local: &str| format!("{}/{local}", ids::FINAL);
        let agent = Arc::clone(self.agent);
        let end = path(ids::BREAK_FINAL);
        let inner = Chart::builder(
            self.stage(ids::PREPARE_FINAL, path(ids::PREPARE_FINAL), finish::prepare)
                .named("PrepareFinal")
                .describe("captures the answer"),
        )
        .then(
            Stage::new(ids::BREAK_FINAL, move |scope: Scope| {
                let bound = StageCx::bind(scope, &agent, &end);
                async move { finish::end(bound?).await }
            })
            .named("BreakFinal")
            .describe("ends the loop"),
        )
        .build()?;
        Ok(replacing(ids::FINAL, "Final", &inner, finish::input, finish::output).propagate_break(true))
    }

    fn stage<F, Fut>(&self, id: impl Into<Str>, path: String, run: F) -> Stage
    where
        F: Fn(StageCx) -> Fut + Send + Sync + Copy + 'static,
        Fut: Future<Output = Result<(), StageError>> + Send + 'static,
    {
        let agent = Arc::clone(self.agent);
        Stage::new(id, move |scope: Scope| {
            let bound = StageCx::bind(scope, &agent, &path);
            async move { run(bound?).await }
        })
    }

    fn decider<F, Fut>(&self, id: impl Into<Str>, path: String, run: F) -> Decider
    where
        F: Fn(StageCx) -> Fut + Send + Sync + Copy + 'static,
        Fut: Future<Output = Result<Decision, StageError>> + Send + 'static,
    {
        let agent = Arc::clone(self.agent);
        Decider::new(id, move |scope: Scope| {
            let bound = StageCx::bind(scope, &agent, &path);
            async move { run(bound?).await }
        })
    }
}

/// A mount that a loop crosses: its outputs replace (AGT-41).
fn replacing(
    id: &'static str,
    name: &'static str,
    chart: &Chart,
    input: fn(&StateView) -> Object,
    output: fn(&SubflowEnd) -> Object,
) -> Mount {
    Mount::of(id, chart)
        .named(name)
        .input(move |parent: StateView| Ok(input(&parent)))
        .output(move |end: SubflowEnd| Ok(output(&end)))
        .array_merge(ArrayMergeMode::Replace)
}

/// All three slots; in classic mode after the first iteration only the messages (AGT-39).
fn select_slots(cx: &StageCx, classic: bool) -> Result<Vec<&'static str>, StageError> {
    let first = cx.iteration()? <= 1;
    Ok(if classic && !first {
        vec![ids::MESSAGES]
    } else {
        vec![ids::SYSTEM_PROMPT, ids::MESSAGES, ids::TOOLS]
    })
}

//! From events to beats.

use std::collections::HashMap;

use agentfootprint_record::events::payload::{
    AgentTurnEnd, AgentTurnStart, ErrorFatal, StreamLlmEnd, StreamLlmStart, StreamThinkingDelta,
    StreamThinkingEnd, StreamToolEnd, StreamToolStart,
};
use agentfootprint_record::recording::RecordedEvent;
use footprint::value::Value;

use super::{Answer, BrainMode, Cost, ReplyType, Step, ThinkingTrace, ToolSeen, headline};

/// The tool that serves a skill: what it returns is to be followed.
const READ_SKILL: &str = "read_skill";

/// What one model call gives to the one beat it belongs to.
#[derive(Default)]
struct Call {
    brain: String,
    cost: Cost,
    thinking: Option<String>,
    tools_seen: Option<Vec<ToolSeen>>,
}

/// One level of the run: calls of members that run side by side are kept apart.
#[derive(Default)]
struct Level {
    call: Call,
    /// The model call that was answered and not yet told.
    ended: Option<Call>,
}

pub(super) fn fold(events: &[RecordedEvent], asker: &str) -> ThinkingTrace {
    let mut trace = ThinkingTrace {
        task: String::new(),
        title: None,
        agent: String::new(),
        model: String::new(),
        asker: asker.to_owned(),
        steps: Vec::new(),
    };
    let mut levels: HashMap<String, Level> = HashMap::new();
    // The tool and the skill of each call, by its id (REC-63).
    let mut asked: HashMap<String, (String, Option<String>)> = HashMap::new();
    for event in events {
        if trace.agent.is_empty()
            && let Some(owner) = event.meta().ok().and_then(|meta| meta.composition_path.first().cloned())
        {
            trace.agent = owner.split_once(':').map_or(&*owner, |(_, id)| id).to_owned();
        }
        let step = event.runtime_stage_id().unwrap_or_default().into_owned();
        let level = levels.entry(level_of(&step)).or_default();
        if let Some(turn) = event.of::<AgentTurnStart>() {
            if trace.task.is_empty() {
                trace.task = turn.user_prompt.to_string();
            }
            trace.steps.push(Step::Prompt { brain: turn.user_prompt.to_string(), cost: Cost::default() });
        } else if let Some(start) = event.of::<StreamLlmStart>() {
            if trace.model.is_empty() {
                trace.model = start.model.to_string();
            }
            level.call =
                Call { tools_seen: start.tools.as_ref().map(|tools| seen(tools)), ..Call::default() };
        } else if let Some(delta) = event.of::<StreamThinkingDelta>() {
            level.call.thinking.get_or_insert_default().push_str(&delta.content);
        } else if let Some(end) = event.of::<StreamLlmEnd>() {
            let mut call = std::mem::take(&mut level.call);
            call.brain = end.content.to_string();
            call.cost = Cost {
                ms: end.duration_ms,
                tokens: end.usage.input + end.usage.output,
                tokens_in: Some(end.usage.input),
                tokens_out: Some(end.usage.output),
                tokens_cached: end.usage.cache_read,
            };
            level.ended = Some(call);
        } else if let Some(end) = event.of::<StreamThinkingEnd>() {
            let thought = thought(end);
            if let Some(call) = level.ended.as_mut().filter(|_| thought.is_some()) {
                call.thinking = thought;
            }
        } else if let Some(start) = event.of::<StreamToolStart>() {
            // Taken by the first ask of the iteration: it is counted once (REC-62).
            let call = level.ended.take().unwrap_or_default();
            let skill = skill_of(start);
            asked.insert(start.tool_call_id.to_string(), (start.tool_name.to_string(), skill));
            trace.steps.push(Step::Ask {
                tool: start.tool_call_id.to_string(),
                tool_name: Some(start.tool_name.to_string()),
                input: start.args.clone(),
                brain: call.brain,
                cost: call.cost,
                thinking: call.thinking,
                tools_seen: call.tools_seen,
            });
        } else if let Some(end) = event.of::<StreamToolEnd>() {
            trace.steps.push(returned(end, asked.get(&*end.tool_call_id)));
        } else if let Some(turn) = event.of::<AgentTurnEnd>() {
            let call = level.ended.take().unwrap_or_default();
            trace.steps.push(answer(&trace.asker, &turn.final_content, call, false));
        } else if let Some(fatal) = event.of::<ErrorFatal>() {
            trace.steps.push(answer(&trace.asker, &fatal.error, Call::default(), true));
        }
    }
    trace
}

/// The runner a step belongs to: its path without an agent's own machinery.
fn level_of(step: &str) -> String {
    use agentfootprint_record::conventions::{is_agent_internal, without_index};
    let (outer, _) = without_index(step).rsplit_once('/').unwrap_or_default();
    outer.split('/').filter(|part| !part.is_empty() && !is_agent_internal(part)).collect::<Vec<_>>().join("/")
}

fn seen(tools: &[agentfootprint_record::events::payload::OfferedTool]) -> Vec<ToolSeen> {
    tools
        .iter()
        .map(|tool| ToolSeen {
            name: tool.name.to_string(),
            description: tool.description.as_ref().map(ToString::to_string),
        })
        .collect()
}

fn thought(end: &StreamThinkingEnd) -> Option<String> {
    let blocks = end.blocks.as_ref()?;
    let texts: Vec<&str> =
        blocks.iter().map(|block| &*block.content).filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn skill_of(start: &StreamToolStart) -> Option<String> {
    if &*start.tool_name != READ_SKILL {
        return None;
    }
    let named = ["id", "skillId", "skill"].into_iter().find_map(|key| start.args.get(key)?.as_str());
    named.map(str::to_owned)
}

fn returned(end: &StreamToolEnd, asked: Option<&(String, Option<String>)>) -> Step {
    let tool_name = asked.map(|(name, _)| name.clone());
    let instructs = tool_name.as_deref() == Some(READ_SKILL);
    Step::Return {
        tool: end.tool_call_id.to_string(),
        tool_name,
        reply_type: if instructs { ReplyType::Instruction } else { ReplyType::Data },
        output: end.result.clone().unwrap_or(Value::Null),
        brain: String::new(),
        brain_source: None,
        cost: Cost { ms: end.duration_ms, ..Cost::default() },
        brain_mode: Some(if instructs { BrainMode::Act } else { BrainMode::Reason }),
        skill: asked.and_then(|(_, skill)| skill.clone()),
        error: end.error == Some(true),
    }
}

fn answer(to: &str, text: &str, call: Call, error: bool) -> Step {
    Step::Answer {
        to: to.to_owned(),
        brain: call.brain,
        answer: Answer { headline: headline(text), text: text.to_owned() },
        cost: call.cost,
        error,
        thinking: call.thinking,
        tools_seen: call.tools_seen,
    }
}

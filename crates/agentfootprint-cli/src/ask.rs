//! Commands that are one question of the toolpack each, with the same bounds (REC-158…160).

use std::process::ExitCode;

use agentfootprint::debug::toolpack::TraceTools;
use agentfootprint::footprint::value::{Object, Str, Value};

use crate::input::{Input, limit_words, recording};
use crate::out::{Answer, Failure};

pub(crate) fn step(input: &Input, id: &str) -> Result<ExitCode, Failure> {
    ask(input, "step", "trace_node", [("runtimeStageId", Some(Value::from(id)))])
}

pub(crate) fn value(input: &Input, id: &str, key: &str, chars: Option<u32>) -> Result<ExitCode, Failure> {
    let args = [
        ("runtimeStageId", Some(Value::from(id))),
        ("key", Some(Value::from(key))),
        ("maxChars", chars.map(Value::from)),
    ];
    ask(input, "value", "get_value", args)
}

pub(crate) fn who(input: &Input, key: &str, before: Option<&str>) -> Result<ExitCode, Failure> {
    ask(
        input,
        "who",
        "who_wrote",
        [("key", Some(Value::from(key))), ("beforeStageId", before.map(Value::from))],
    )
}

pub(crate) fn find(input: &Input, text: &str, hits: Option<u32>) -> Result<ExitCode, Failure> {
    ask(
        input,
        "find",
        "find_in_trace",
        [("query", Some(Value::from(text))), ("maxHits", hits.map(Value::from))],
    )
}

pub(crate) fn tool(input: &Input, call: &str, inner: bool) -> Result<ExitCode, Failure> {
    let tool = if inner { "inspect_tool_run" } else { "inspect_tool_call" };
    ask(input, "tool", tool, [("toolCallId", Some(Value::from(call)))])
}

fn ask<const N: usize>(
    input: &Input,
    command: &'static str,
    tool: &str,
    args: [(&'static str, Option<Value>); N],
) -> Result<ExitCode, Failure> {
    let opened = recording(input)?;
    let limits = limit_words(&opened);
    let args: Object = args.into_iter().filter_map(|(key, value)| Some((Str::from(key), value?))).collect();
    let args = Value::Object(args);
    let text = TraceTools::new(opened)
        .call(tool, &args)
        .map_err(|refused| Failure::unusable(refused.to_string()))?;
    Answer::new(command, text.as_str())
        .limits(limits)
        .with("tool", tool)
        .with("arguments", args)
        .with("answer", text)
        .give(input)?;
    Ok(ExitCode::SUCCESS)
}

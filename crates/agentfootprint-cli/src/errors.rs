//! `errors`: findings, then the failure of the run, then refused and denied tool calls.

use std::fmt::Write as _;
use std::process::ExitCode;

use agentfootprint::debug::excerpt;
use agentfootprint::debug::toolpack::{TraceTools, context_errors};
use agentfootprint::footprint::value::{Object, Value};

use crate::input::{Input, limit_words, with_events};
use crate::out::{Answer, Failure};

pub(crate) fn errors(input: &Input, kind: Option<&str>, require_evidence: bool) -> Result<ExitCode, Failure> {
    let opened = with_events(input)?;
    let limits = limit_words(&opened);
    let evidence = context_errors(&opened, kind);
    let tools = TraceTools::new(opened);
    let mut args = Object::new();
    if let Some(kind) = kind {
        args.insert("kind", Value::from(kind));
    }
    args.insert("limit", 25.into());
    let mut text = tools
        .call("find_context_errors", &Value::Object(args))
        .map_err(|refused| Failure::unusable(refused.to_string()))?;
    let status = tools.status();
    let failed = status.starts_with("failed");
    if failed {
        let _ = writeln!(text, "the run {status}");
    }
    let mut denied = Vec::new();
    for (id, tool, step, why) in tools.denied_calls() {
        let _ = writeln!(
            text,
            "tool call {} of {} at {}: {}",
            excerpt(id, 60),
            excerpt(tool, 60),
            excerpt(step, 60),
            excerpt(why, 200)
        );
        let mut row = Object::new();
        row.insert("toolCallId", Value::from(id));
        row.insert("toolName", Value::from(tool));
        row.insert("runtimeStageId", Value::from(step));
        row.insert("why", Value::from(why));
        denied.push(Value::Object(row));
    }
    let found = evidence.defects + evidence.advisories > 0 || failed || !denied.is_empty();
    Answer::new("errors", text)
        .limits(limits)
        .with("headline", evidence.headline)
        .with("looked", evidence.looked)
        .with("defects", evidence.defects)
        .with("advisories", evidence.advisories)
        .with("synthetic", evidence.synthetic)
        .with("failed", failed)
        .with("status", status)
        .with("denied", denied)
        .give(input)?;
    Ok(if found || (require_evidence && !evidence.looked) { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

//! Inside a chart-backed tool's own run (`inspect_tool_run`, REC-91, REC-99, REC-100).

use agentfootprint_record::recording::OpenRecording;

use super::answer::Answer;
use super::args::Args;
use super::specs::Tool;
use super::{ToolOutcome, TraceTools, near};
use crate::plain::excerpt;

/// The kept run of a chart-backed tool.
#[derive(Clone, Debug)]
pub struct InnerRun {
    /// The call that ran it.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// Its recording, unless keeping it failed.
    pub recording: Option<OpenRecording>,
    /// Why there is no recording.
    pub problem: Option<String>,
}

/// The narrowest question that the arguments ask.
pub(super) fn answer(tools: &TraceTools, args: &Args) -> Answer {
    let id = args.required("toolCallId");
    let Some(run) = tools.inner.iter().find(|run| run.tool_call_id == id) else { return not_kept(tools, id) };
    let Some(recording) = &run.recording else {
        let mut answer = Answer::new(format!("The inner run of call `{}` was not kept.", excerpt(id, 120)));
        answer.warn(run.problem.as_deref().unwrap_or("capturing it failed, and nothing says why"));
        return answer;
    };
    let inside = TraceTools::new(recording.clone());
    let (tool, names): (Tool, &[(&str, &str)]) = if args.text("find").is_some() {
        (Tool::FindInTrace, &[("find", "query")])
    } else if args.text("variable").is_some() {
        (Tool::Backtrack, &[("variable", "variable")])
    } else if args.text("runtimeStageId").is_some() && args.text("key").is_some() {
        (Tool::GetValue, &[("runtimeStageId", "runtimeStageId"), ("key", "key")])
    } else if args.text("runtimeStageId").is_some() {
        (Tool::TraceNode, &[("runtimeStageId", "runtimeStageId")])
    } else if args.text("key").is_some() {
        (Tool::WhoWrote, &[("key", "key")])
    } else {
        (Tool::RunOverview, &[])
    };
    let inner = inside.answer(tool, &args.only(names));
    let mut answer = Answer::new(format!(
        "Inside the run of {} (call `{}`, {}): its step ids are valid in this tool only.",
        excerpt(&run.tool_name, 80),
        excerpt(id, 120),
        run.outcome.word()
    ));
    if tools.inner_dropped > 0 {
        answer.warn(format!("{} older inner runs were dropped to keep the store small", tools.inner_dropped));
    }
    answer.text("inner", &inner.finish(&inside.hidden));
    answer
}

fn not_kept(tools: &TraceTools, id: &str) -> Answer {
    if !tools.calls().contains(id) {
        return near::no_call(tools, id);
    }
    let mut answer = Answer::new(format!(
        "No inner run of call `{}` ({}) is at hand.",
        excerpt(id, 120),
        excerpt(&tools.calls().name_of(id), 80)
    ));
    answer.warn("the record of an inner run is kept only by a chart-backed tool that was built with keep_record, and stays with the process that ran it; a tool of a dynamic provider has no such store");
    if tools.inner_dropped > 0 {
        answer.warn(format!("{} older inner runs were dropped to keep the store small", tools.inner_dropped));
    }
    if !tools.inner.is_empty() {
        let kept: Vec<String> =
            tools.inner.iter().take(12).map(|run| excerpt(&run.tool_call_id, 80)).collect();
        answer.head(format!("kept inner runs: {}", kept.join(", ")));
    }
    answer.next("inspect_tool_call shows the call from the outside");
    answer
}

//! A member of a composition: its chart as a mount, and what crosses the mount in both directions.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::conventions::{ids, state};
use footprint::chart::{ArrayMergeMode, Mount, SubflowEnd};
use footprint::error::{RunError as EngineError, StageError};
use footprint::scope::StateView;
use footprint::value::{Object, Str, Value};

use crate::agent::outcome::failure_in;
use crate::run::{ChartRunner, RunError, UiGroup};

/// The argument under which a member gets its message.
pub(crate) const MESSAGE: &str = "message";
/// Where a router's decision travels between the members of a model-routed swarm.
pub(crate) const DECISION: &str = "routerDecision";
/// The same on its way into a member, whose arguments cannot be written.
pub(crate) const PRIOR_DECISION: &str = "priorRouterDecision";

/// A declared member.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) id: Str,
    pub(crate) name: Str,
    pub(crate) runner: Arc<dyn ChartRunner>,
}

impl Member {
    /// A member that carries its own id as name.
    pub(crate) fn new(id: impl Into<Str>, runner: impl ChartRunner) -> Self {
        let id = id.into();
        Self { name: id.clone(), id, runner: Arc::new(runner) }
    }

    pub(crate) fn named(mut self, name: Option<Str>) -> Self {
        if let Some(name) = name {
            self.name = name;
        }
        self
    }

    /// Its mount. A member's break stops the member only (AGT-114), and what a loop crosses replaces (AGT-41).
    pub(crate) fn mount(
        &self,
        mount: impl Into<Str>,
        input: impl Fn(&StateView) -> Result<Object, StageError> + Send + Sync + 'static,
        output: impl Fn(Value, &SubflowEnd, &StateView) -> Result<Object, StageError> + Send + Sync + 'static,
    ) -> Mount {
        Mount::of(mount, &self.runner.spec())
            .named(self.name.clone())
            .input(move |parent: StateView| input(&parent))
            .output_with_parent(move |end: SubflowEnd, parent: StateView| {
                let answer = answer_of(&end)?;
                output(answer, &end, &parent)
            })
            .array_merge(ArrayMergeMode::Replace)
            .propagate_break(false)
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("id", &self.id).field("runner", &self.runner.id()).finish()
    }
}

/// The arguments of a text member.
pub(crate) fn message(text: impl Into<Value>) -> Object {
    let mut args = Object::new();
    args.insert(MESSAGE, text.into());
    args
}

/// One key.
pub(crate) fn one(key: &str, value: impl Into<Value>) -> Object {
    let mut out = Object::new();
    out.insert(Str::from(key), value.into());
    out
}

/// A text of the parent's state; absent reads as empty.
pub(crate) fn text_in(parent: &StateView, key: &str) -> Str {
    parent.value(key).as_ref().and_then(Value::as_shared_str).cloned().unwrap_or_default()
}

/// What a member answered. A member that wrote down a failure and stopped — a denied message, a policy halt — failed.
fn answer_of(end: &SubflowEnd) -> Result<Value, StageError> {
    if let Some(failure) = failure_in(&end.state.to_object()) {
        return Err(failed(failure));
    }
    match &end.output {
        Some(output) => Ok(output.clone()),
        None => Ok(end.state.value(state::FINAL_CONTENT).unwrap_or_else(|| Value::from(""))),
    }
}

/// A run's failure as a stage's; the typed error travels inside.
pub(crate) fn failed(error: RunError) -> StageError {
    let mut stage = StageError::named(error.name(), error.to_string());
    if let Some(code) = error.code() {
        stage = stage.with_code(code);
    }
    stage.with_source(error)
}

/// The text of an answer that must be one.
pub(crate) fn text_answer(answer: &Value, what: impl FnOnce() -> String) -> Result<Str, StageError> {
    match answer {
        Value::String(text) => Ok(text.clone()),
        other => Err(StageError::new(format!("{} answered {} where text is needed", what(), other.kind()))),
    }
}

/// The group mounted at a path, when it is one.
pub(crate) fn group_at<'a>(root: &'a UiGroup, path: &str) -> Option<&'a UiGroup> {
    let mut group = root;
    for segment in path.split('/') {
        group = member_group(group, segment)?.1;
    }
    Some(group)
}

/// A member by its mount: a sequence mounts `step-<id>`, everything else the id itself.
fn member_group<'a>(group: &'a UiGroup, mount: &str) -> Option<(&'a Str, &'a UiGroup)> {
    let step = mount.strip_prefix(ids::SEQUENCE_STEP_PREFIX);
    group
        .members
        .iter()
        .find(|(id, _)| **id == *mount || step.is_some_and(|step| **id == *step))
        .map(|(id, member)| (id, member))
}

/// Names the innermost composition whose member failed, so that the message says which.
pub(crate) fn named_failure(root: &UiGroup, error: &EngineError, failure: RunError) -> RunError {
    let Some(address) = error.address() else { return failure };
    let mut group = root;
    let mut innermost = None;
    for segment in address.stage_id().split('/') {
        let Some((id, member)) = member_group(group, segment) else { break };
        innermost = Some((group, id));
        group = member;
    }
    match innermost {
        None => failure,
        Some((group, member)) => RunError::Member {
            composition: title(group).into(),
            member: format!("{} `{member}`", member_word(group)).into(),
            cause: Box::new(failure),
        },
    }
}

/// How a composition is named in messages.
pub(crate) fn title(group: &UiGroup) -> String {
    format!("{} `{}`", form_of(group), group.id)
}

fn form_of(group: &UiGroup) -> &str {
    group.extra.as_ref().and_then(|extra| extra.get("form")).and_then(Value::as_str).unwrap_or(group.kind)
}

fn member_word(group: &UiGroup) -> &'static str {
    match form_of(group) {
        "Parallel" | "Conditional" => "branch",
        "Graph" => "node",
        "Loop" => "member",
        _ => "step",
    }
}

//! The compositions that are under way in a run: they are entered once and left once, on every path (AGT-118).
//!
//! A composition that comes to its end says so itself. One that is unwound — a member failed, the run was cancelled — has
//! no stage left to say it: the [`Watcher`] sees its mount being left and says it instead, at the moment it happens and
//! with the composition's own step.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use agentfootprint_record::conventions::ids;
use agentfootprint_record::events::payload::CompositionExit;
use agentfootprint_record::events::words::{CompositionKind, CompositionStatus};
use footprint::ids::RuntimeStageId;
use footprint::observe::{ErrorEvent, EventCx, Hook, HookResult, Interest, Recorder, SubflowExitEvent};
use footprint::pause::FlowchartCheckpoint;
use footprint::value::{Str, Value};
use indexmap::IndexMap;

use crate::run::{RunContext, UiGroup, lock, millis};

/// How a member failed, as the record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchFailure {
    /// The error's name.
    pub name: Str,
    /// Its text.
    pub message: Str,
}

impl std::fmt::Display for BranchFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// One composition that was entered and not left.
struct Open {
    /// Path of its mount; `""` at the root.
    prefix: Str,
    /// The step that said it was entered.
    step: RuntimeStageId,
    kind: CompositionKind,
    id: Str,
    name: Str,
    since: Duration,
    /// The last failure below each member, by the member's mount id.
    failures: IndexMap<Str, (BranchFailure, bool)>,
}

/// Which composition a step belongs to, as its events name it.
#[derive(Clone)]
pub(crate) struct Facts {
    pub(crate) kind: CompositionKind,
    pub(crate) id: Str,
    pub(crate) name: Str,
}

/// The open compositions of a run, outer before inner.
#[derive(Default)]
pub(crate) struct Compositions {
    open: Mutex<Vec<Open>>,
    input: OnceLock<Value>,
}

impl Compositions {
    /// What the run was started with, when it is not a message.
    pub(crate) fn set_input(&self, input: Option<Value>) {
        if let Some(input) = input {
            // Set once, before the first stage.
            let _ = self.input.set(input);
        }
    }

    pub(crate) fn input(&self) -> Option<&Value> {
        self.input.get()
    }

    /// A composition begins at `prefix`. Whatever was noted of an earlier visit of that mount is forgotten (AGT-122).
    pub(crate) fn enter(&self, prefix: &Str, step: RuntimeStageId, facts: &Facts, now: Duration) {
        let mut open = lock(&self.open);
        open.retain(|one| one.prefix != *prefix);
        open.push(Open {
            prefix: prefix.clone(),
            step,
            kind: facts.kind.clone(),
            id: facts.id.clone(),
            name: facts.name.clone(),
            since: now,
            failures: IndexMap::new(),
        });
    }

    /// It ends; answers since when it was open.
    pub(crate) fn leave(&self, prefix: &str) -> Option<Duration> {
        let mut open = lock(&self.open);
        let at = open.iter().position(|one| &*one.prefix == prefix)?;
        Some(open.remove(at).since)
    }

    /// What member `mount` of the composition at `prefix` failed with.
    pub(crate) fn failure(&self, prefix: &str, mount: &str) -> Option<BranchFailure> {
        let open = lock(&self.open);
        let one = open.iter().find(|one| &*one.prefix == prefix)?;
        one.failures.get(mount).map(|(failure, _)| failure.clone())
    }

    /// Notes a failed step with every composition it is below. An author's error outweighs the cancellations it causes.
    fn note(&self, at: &str, failure: &BranchFailure, authored: bool) {
        for one in lock(&self.open).iter_mut() {
            let Some(member) = member_at(&one.prefix, at) else { continue };
            match one.failures.get_mut(member) {
                Some((_, true)) if !authored => {}
                Some(known) => *known = (failure.clone(), authored),
                None => {
                    one.failures.insert(Str::from(member), (failure.clone(), authored));
                }
            }
        }
    }

    /// Says that every composition at or below `prefix` failed, inner before outer.
    pub(crate) fn fail_below(&self, run: &RunContext, prefix: &str) {
        loop {
            let failed = {
                let mut open = lock(&self.open);
                let Some(at) = open.iter().rposition(|one| is_at_or_below(&one.prefix, prefix)) else {
                    return;
                };
                open.remove(at)
            };
            let now = run.clock.monotonic();
            run.say(&failed.step, || {
                CompositionExit::new(
                    failed.kind.clone(),
                    failed.id.clone(),
                    CompositionStatus::Err,
                    millis(now.saturating_sub(failed.since)),
                )
                .name(failed.name.clone())
            });
        }
    }

    /// What a resumed leg finds open: the compositions on the way to each question. Their time counts from the leg's
    /// start, and what their settled members failed with is taken from the checkpoint.
    pub(crate) fn reopen(&self, root: &UiGroup, checkpoint: &FlowchartCheckpoint, now: Duration) {
        self.reopen_at(root, "", checkpoint, now);
        let paths = std::iter::once(&checkpoint.subflow_path)
            .chain(checkpoint.pending_pauses.iter().map(|pending| &pending.subflow_path));
        for path in paths {
            for mount in path {
                if let Some(group) = super::member::group_at(root, mount) {
                    self.reopen_at(group, mount, checkpoint, now);
                }
            }
        }
    }

    fn reopen_at(&self, group: &UiGroup, prefix: &str, checkpoint: &FlowchartCheckpoint, now: Duration) {
        let Some(kind) = kind_of(group) else { return };
        if lock(&self.open).iter().any(|one| &*one.prefix == prefix) {
            return;
        }
        let seed = below(prefix, ids::SEED);
        let mut failures = IndexMap::new();
        for (fork, memory) in &checkpoint.fan_outs {
            if fork.rsplit_once('/').map_or("", |(path, _)| path) != prefix {
                continue;
            }
            for (child, entry) in &memory.settled {
                if let Some(failure) = settled_failure(entry) {
                    failures.insert(child.clone(), (failure, true));
                }
            }
        }
        let step = checkpoint
            .execution_tree
            .iter()
            .filter(|(_, frame)| *frame.id == *seed)
            .last()
            .map(|(_, frame)| frame.runtime_stage_id.clone())
            .unwrap_or_else(|| RuntimeStageId::parse(&ids::resumed_step(&seed)));
        lock(&self.open).push(Open {
            prefix: prefix.into(),
            step,
            kind,
            id: group.id.clone(),
            name: group.name.clone(),
            since: now,
            failures,
        });
    }
}

fn settled_failure(entry: &Value) -> Option<BranchFailure> {
    if entry.get("isError").and_then(Value::as_bool) != Some(true) {
        return None;
    }
    let text = |key: &str| entry.walk(&["result", key]).and_then(Value::as_shared_str).cloned();
    Some(BranchFailure {
        name: text("name").unwrap_or_else(|| "Error".into()),
        message: text("message").unwrap_or_default(),
    })
}

fn kind_of(group: &UiGroup) -> Option<CompositionKind> {
    Some(match group.kind {
        "Sequence" => CompositionKind::Sequence,
        "Parallel" => CompositionKind::Parallel,
        "Conditional" => CompositionKind::Conditional,
        "Loop" => CompositionKind::Loop,
        _ => return None,
    })
}

/// The address of `local` below a mount path.
pub(crate) fn below(prefix: &str, local: &str) -> String {
    if prefix.is_empty() { local.to_owned() } else { format!("{prefix}/{local}") }
}

/// Whether a mount path is `prefix` or inside it.
fn is_at_or_below(path: &str, prefix: &str) -> bool {
    prefix.is_empty() || path == prefix || path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
}

/// The member below the composition at `prefix` that holds `stage`.
pub(crate) fn member_at<'a>(prefix: &str, stage: &'a str) -> Option<&'a str> {
    let inside = if prefix.is_empty() { stage } else { stage.strip_prefix(prefix)?.strip_prefix('/')? };
    inside.split('/').next().filter(|member| !member.is_empty())
}

/// Watches the walk for what unwinds.
pub(crate) struct Watcher {
    run: OnceLock<Arc<RunContext>>,
}

impl Watcher {
    const ID: &'static str = "compositions";

    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { run: OnceLock::new() })
    }

    /// Connects it to its run, before the first stage.
    pub(crate) fn connect(&self, run: &Arc<RunContext>) {
        // One watcher is made per run.
        let _ = self.run.set(Arc::clone(run));
    }
}

impl Recorder for Watcher {
    fn id(&self) -> &str {
        Self::ID
    }

    fn interest(&self) -> Interest {
        Interest::hooks([Hook::SubflowExit, Hook::Error])
    }

    fn on_subflow_exit(&self, _cx: &EventCx<'_>, e: &SubflowExitEvent) -> HookResult {
        if let (Some(run), Some(mount)) = (self.run.get(), &e.subflow_id) {
            // A composition that ended by itself is not open any more.
            run.compositions.fail_below(run, mount);
        }
        Ok(())
    }

    fn on_flow_error(&self, cx: &EventCx<'_>, e: &ErrorEvent) -> HookResult {
        if let Some(run) = self.run.get() {
            let failure = BranchFailure {
                name: e.structured_error.name.as_deref().unwrap_or("Error").into(),
                message: e.structured_error.message.as_str().into(),
            };
            run.compositions.note(&cx.traversal.stage_id, &failure, e.error.is_some());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_belongs_to_the_member_its_path_goes_through() {
        assert_eq!(member_at("", "a/b/c"), Some("a"));
        assert_eq!(member_at("a", "a/b/c"), Some("b"));
        assert_eq!(member_at("a", "ab/c"), None);
        assert_eq!(member_at("a", "a"), None);
        assert!(is_at_or_below("a/b", "a") && is_at_or_below("a", "a") && is_at_or_below("a", ""));
        assert!(!is_at_or_below("ab", "a") && !is_at_or_below("", "a"));
    }
}

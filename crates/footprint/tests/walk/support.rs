//! Small helpers: a recorder that writes one line per event, and stages that do one thing.

use std::sync::{Arc, Mutex};

use footprint::chart::{Chart, ChartBuilder, Stage};
use footprint::error::StageError;
use footprint::observe::{EventCx, HookResult, Payload, Recorder};
use footprint::report::{Outcome, RunReport};
use footprint::scope::Scope;
use footprint::value::{Object, Value};
use footprint::walk::RunOptions;

/// Writes `event(detail) address` for every event.
#[derive(Default)]
pub(crate) struct Lines(Mutex<Vec<String>>);

impl Lines {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().clear();
    }
}

impl Recorder for Lines {
    fn id(&self) -> &str {
        "lines"
    }

    fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
        let name = e.hook().method_name().trim_start_matches("on_");
        let detail = match e {
            Payload::Read(e) => format!("({})", e.key.as_deref().unwrap_or("*")),
            Payload::Write(e) => format!("({})", e.key),
            Payload::StageExecuted(e) => format!("({})", e.stage_type.as_str()),
            Payload::Emit(e) => format!("({})", e.name),
            Payload::Loop(e) => format!("({})", e.iteration),
            Payload::Decision(e) => format!("({})", e.chosen_id),
            Payload::Break(e) if e.propagated_from_subflow.is_some() => "(propagated)".to_owned(),
            Payload::Commit(e) => e.bundle.phase.map_or(String::new(), |p| format!("({})", p.as_str())),
            _ => String::new(),
        };
        self.0.lock().unwrap().push(format!("{name}{detail} {}", cx.traversal.runtime_stage_id));
        Ok(())
    }
}

/// Runs a chart with a [`Lines`] recorder.
pub(crate) async fn told(chart: &Chart, options: RunOptions) -> (RunReport, Vec<String>) {
    let lines = Lines::new();
    let report = chart.run(options.observe(lines.clone())).await;
    (report, lines.all())
}

/// A stage that sets its own id to true.
pub(crate) fn mark(id: &'static str) -> Stage {
    Stage::new(id, move |scope: Scope| async move {
        scope.set_value(id, true)?;
        Ok(())
    })
}

/// A stage that does nothing.
pub(crate) fn idle(id: &'static str) -> Stage {
    Stage::new(id, |_: Scope| async { Ok(()) })
}

/// A stage that writes, then fails.
pub(crate) fn failing(id: &'static str) -> Stage {
    Stage::new(id, move |scope: Scope| async move {
        scope.set_value(id, "half")?;
        Err::<(), _>(StageError::new("broke"))
    })
}

/// A stage that gives way to its siblings before it writes.
pub(crate) fn slow(id: &'static str, yields: u32) -> Stage {
    Stage::new(id, move |scope: Scope| async move {
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        scope.set_value(id, true)?;
        Ok(())
    })
}

pub(crate) fn build(builder: ChartBuilder) -> Chart {
    builder.build().unwrap()
}

pub(crate) fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// `address phase? [path verb, …]` for each bundle.
pub(crate) fn commits(report: &RunReport) -> Vec<String> {
    report
        .snapshot()
        .commit_log
        .iter()
        .map(|bundle| {
            let rows: Vec<String> =
                bundle.rows.iter().map(|row| format!("{} {}", row.path, row.verb)).collect();
            let phase = bundle.phase.map_or(String::new(), |phase| format!(" {}", phase.as_str()));
            format!("{}{phase} [{}]", bundle.runtime_stage_id, rows.join(", "))
        })
        .collect()
}

/// Folding the log onto the fold base gives the live state, at every level (ENG-4).
pub(crate) fn assert_folds(report: &RunReport) {
    let snapshot = report.snapshot();
    let base = snapshot.initial_state.clone().unwrap_or_default();
    let folded = footprint::state::fold(base, snapshot.commit_log.iter().map(|bundle| &**bundle));
    assert_eq!(folded, snapshot.shared_state);
    for (key, result) in &snapshot.subflow_results {
        let inner = &result.tree_context;
        let base = inner.initial_state.clone().unwrap_or_default();
        let folded = footprint::state::fold(base, inner.history.iter().map(|bundle| &**bundle));
        assert_eq!(folded, inner.global_context, "subflow {key}");
    }
}

pub(crate) fn completed(report: &RunReport) -> Option<Value> {
    match report.outcome() {
        Outcome::Completed(value) => value.clone(),
        other => panic!("not completed: {other:?}"),
    }
}

pub(crate) fn state(report: &RunReport) -> Value {
    Value::Object(report.state())
}

pub(crate) fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap()
}

/// The frames of the tree as `address -> next, [children]`.
pub(crate) fn tree(report: &RunReport) -> Vec<String> {
    let tree = &report.snapshot().execution_tree;
    tree.iter()
        .map(|(_, frame)| {
            let shown = |id| tree.get(id).map(|f| f.runtime_stage_id.to_string()).unwrap_or_default();
            let next = frame.next.map_or(String::new(), |id| format!(" -> {}", shown(id)));
            let children: Vec<_> = frame.children.iter().map(|id| shown(*id)).collect();
            let children =
                if children.is_empty() { String::new() } else { format!(" [{}]", children.join(", ")) };
            format!("{}{next}{children}", frame.runtime_stage_id)
        })
        .collect()
}

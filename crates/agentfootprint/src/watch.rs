//! Watching runs while they happen: the live state, the status line, the step graph.
//!
//! The folds are those of [`debug::live`](crate::debug::live) and [`debug::step_graph`](crate::debug::step_graph); here they are
//! attached to a runner. What is attached hears every later run until its guard is dropped, keeps runs apart, and changes nothing
//! of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentfootprint_core::embed::{EmbedKind, Embedder};
use agentfootprint_core::events::Subscription;
use agentfootprint_core::llm::{CallCx, LlmError};
use agentfootprint_core::observe::{Attachment, Enabled, FlowchartStrategy, Strategy, StrategyLife};
use agentfootprint_core::record::BoundaryRecorder;
use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::confusability_text;
use agentfootprint_debug::boundary::Boundaries;
use agentfootprint_debug::context::{is_baseline_source, is_engineered_source};
use agentfootprint_debug::live::{LiveState, Status, StatusFold, Templates};
use agentfootprint_debug::step_graph::StepGraph;
use agentfootprint_debug::tool_choice::ToolChoices;
use agentfootprint_record::events::payload::ContextInjected;
use agentfootprint_record::events::{Event, EventName, Pattern};
use footprint::observe::{EventCx, Hook, HookResult, Interest, Recorder, RunEndEvent, RunFailedEvent};
use footprint::value::Str;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A guard: dropping it ends the watching.
#[derive(Debug)]
#[must_use = "dropping it ends the watching at once; `keep` it for the runner's life"]
pub struct Watching {
    heard: Vec<Subscription>,
    ended: Option<Attachment>,
    enabled: Option<Enabled>,
}

impl Watching {
    /// Ends it now.
    pub fn detach(self) {
        drop(self);
    }

    /// Watches for as long as the runner lives.
    pub fn keep(self) {
        self.heard.into_iter().for_each(Subscription::keep);
        self.ended.into_iter().for_each(Attachment::keep);
        self.enabled.into_iter().for_each(Enabled::keep);
    }
}

/// Hears the end of a run however it comes: also a run that was dropped ends here.
struct Ends<F> {
    run_id: Str,
    over: F,
}

impl<F: Fn(&str) + Send + Sync + 'static> Recorder for Ends<F> {
    fn id(&self) -> &str {
        "watched-end"
    }

    fn interest(&self) -> Interest {
        Interest::hooks([Hook::RunEnd, Hook::RunFailed])
    }

    fn on_run_end(&self, _: &EventCx<'_>, _: &RunEndEvent) -> HookResult {
        (self.over)(&self.run_id);
        Ok(())
    }

    fn on_run_failed(&self, _: &EventCx<'_>, _: &RunFailedEvent) -> HookResult {
        (self.over)(&self.run_id);
        Ok(())
    }
}

fn on_end<R: Runner>(runner: &R, over: impl Fn(&str) + Send + Sync + 'static) -> Attachment {
    let over = Arc::new(over);
    runner.observers().attach_per_run(move |run_id| {
        let over = Arc::clone(&over);
        Arc::new(Ends { run_id: run_id.clone(), over: move |run_id: &str| over(run_id) })
    })
}

/// The live state of all runs of a runner; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Live(Arc<Mutex<LiveState>>);

impl Live {
    /// Looks at the state. The runs wait meanwhile: be quick.
    pub fn read<T>(&self, look: impl FnOnce(&LiveState) -> T) -> T {
        look(&lock(&self.0))
    }
}

/// Keeps the live state of every later run of a runner (REC §5.1).
///
/// ```
/// use agentfootprint::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::builder(Mock::always("Hello."), "mock-1").build()?;
/// let (live, watching) = agentfootprint::watch::live_state(&agent);
/// agent.run("Hi").await.into_answer()?;
/// assert_eq!(live.read(|state| state.runs().count()), 0); // nothing is under way any more
/// drop(watching);
/// # Ok(()) }
/// ```
pub fn live_state<R: Runner>(runner: &R) -> (Live, Watching) {
    let live = Live::default();
    let (hearing, ending) = (live.clone(), live.clone());
    let heard = runner.events().on_shared(Pattern::All, Arc::new(move |event| lock(&hearing.0).hear(event)));
    let ended = on_end(runner, move |run_id| lock(&ending.0).run_over(run_id));
    (live, Watching { heard: vec![heard], ended: Some(ended), enabled: None })
}

/// The events a status formatter is offered.
const OFFERED: [EventName; 7] = [
    EventName::AgentTurnStart,
    EventName::AgentTurnEnd,
    EventName::AgentIterationStart,
    EventName::AgentRouteDecided,
    EventName::StreamToolStart,
    EventName::StreamToolProgress,
    EventName::StreamToolEnd,
];

/// Shows one text per event that says how a run is getting on: `agent.turn_start`, `turn_end`, `iteration_start`, `route_decided`
/// and `stream.tool_start`, `tool_progress`, `tool_end`. A formatter that answers `None` skips the event (REC-55).
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use agentfootprint::events::payload::AgentTurnStart;
/// use agentfootprint::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::builder(Mock::always("Hello."), "mock-1").build()?;
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let shown = Arc::clone(&lines);
/// let watching = agentfootprint::watch::attach_status(
///     &agent,
///     |event| event.of::<AgentTurnStart>().map(|turn| format!("asked: {}", turn.user_prompt)),
///     move |line| shown.lock().unwrap().push(line),
/// );
/// agent.run("Hi").await.into_answer()?;
/// assert_eq!(*lines.lock().unwrap(), ["asked: Hi"]);
/// drop(watching);
/// # Ok(()) }
/// ```
pub fn attach_status<R: Runner>(
    runner: &R,
    format: impl Fn(&Event) -> Option<String> + Send + Sync + 'static,
    show: impl Fn(String) + Send + Sync + 'static,
) -> Watching {
    let tell = Arc::new(move |event: &Arc<Event>| {
        if let Some(line) = format(event) {
            show(line);
        }
    });
    let heard = OFFERED.map(|name| {
        let tell = Arc::clone(&tell);
        runner.events().on_shared(Pattern::Event(name), Arc::new(move |event: &Arc<Event>| tell(event)))
    });
    Watching { heard: heard.into(), ended: None, enabled: None }
}

/// What a status renderer is told.
#[derive(Debug)]
pub struct StatusLine<'a> {
    /// The run.
    pub run_id: &'a str,
    /// The line to show; `None` when there is nothing to show.
    pub line: Option<&'a str>,
    /// What it is the line of.
    pub status: &'a Status,
}

#[derive(Default)]
struct Shown {
    fold: StatusFold,
    line: Option<String>,
}

/// Keeps one status line per run of a runner and calls `render` only when the line changes (REC-55).
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use agentfootprint::debug::live::default_templates;
/// use agentfootprint::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::builder(Mock::always("Hello."), "mock-1").build()?;
/// let words = Arc::new(Mutex::new(Vec::new()));
/// let shown = Arc::clone(&words);
/// let watching = agentfootprint::watch::live_status(&agent, default_templates(), move |at| {
///     shown.lock().unwrap().push(at.status.word());
/// });
/// agent.run("Hi").await.into_answer()?;
/// let words = words.lock().unwrap();
/// assert_eq!((words.first(), words.last()), (Some(&"idle"), Some(&"none")));
/// drop(watching);
/// # Ok(()) }
/// ```
pub fn live_status<R: Runner>(
    runner: &R,
    templates: Templates,
    render: impl Fn(StatusLine<'_>) + Send + Sync + 'static,
) -> Watching {
    let runs: Arc<Mutex<HashMap<String, Shown>>> = Arc::default();
    let render = Arc::new(render);
    // The renderer is called outside the lock: it may start another run.
    let show = move |run_id: &str, change: &dyn Fn(&mut StatusFold), over: bool| {
        let (status, line) = {
            let mut runs = lock(&runs);
            let shown = runs.entry(run_id.to_owned()).or_default();
            change(&mut shown.fold);
            let status = shown.fold.status();
            let line = status.line(&templates);
            let same = shown.line == line;
            shown.line.clone_from(&line);
            if over {
                runs.remove(run_id);
            }
            if same {
                return;
            }
            (status, line)
        };
        render(StatusLine { run_id, line: line.as_deref(), status: &status });
    };
    let hear = Arc::new(show);
    let over = Arc::clone(&hear);
    let heard = runner.events().on_shared(
        Pattern::All,
        Arc::new(move |event: &Arc<Event>| {
            // What closes a leg is said after its end.
            if event.name() != Some(EventName::IntegrityDisposition) {
                hear(event.meta.run_id.as_str(), &|fold| fold.hear(event), false);
            }
        }),
    );
    let ended = on_end(runner, move |run_id| {
        // A question stays on the screen: it is answered in another run.
        let clear = |fold: &mut StatusFold| {
            if !matches!(fold.status(), Status::Paused { .. }) {
                fold.run_over();
            }
        };
        over(run_id, &clear, true);
    });
    Watching { heard: vec![heard], ended: Some(ended), enabled: None }
}

/// Hands over every injected piece of context of later runs: to `on_engineered` what somebody decided on, to `on_baseline` what any
/// conversation has; a piece of an unknown source to neither.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use agentfootprint::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::builder(Mock::always("Hello."), "mock-1").steering(Steering::new("tone", "Be kind.")).build()?;
/// let (engineered, baseline) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
/// let (more, rest) = (Arc::clone(&engineered), Arc::clone(&baseline));
/// let watching = agentfootprint::watch::context_engineering(
///     &agent,
///     move |_| *more.lock().unwrap() += 1,
///     move |_| *rest.lock().unwrap() += 1,
/// );
/// agent.run("Hi").await.into_answer()?;
/// assert_eq!((*engineered.lock().unwrap(), *baseline.lock().unwrap()), (1, 1));
/// watching.detach();
/// # Ok(()) }
/// ```
pub fn context_engineering<R: Runner>(
    runner: &R,
    on_engineered: impl Fn(&ContextInjected) + Send + Sync + 'static,
    on_baseline: impl Fn(&ContextInjected) + Send + Sync + 'static,
) -> Watching {
    let listener = Arc::new(move |event: &Arc<Event>| match event.of::<ContextInjected>() {
        Some(piece) if is_engineered_source(&piece.source) => on_engineered(piece),
        Some(piece) if is_baseline_source(&piece.source) => on_baseline(piece),
        _ => {}
    });
    let heard = runner.events().on_shared(Pattern::Event(EventName::ContextInjected), listener);
    Watching { heard: vec![heard], ended: None, enabled: None }
}

/// Scores how clear each choice of a tool was, with an embedding model: a correlation, never a reason.
///
/// # Errors
/// What the embedder says; an answer with too few vectors leaves the calls that need them without a margin.
pub async fn score_tool_choices(
    choices: &ToolChoices,
    embedder: &dyn Embedder,
) -> Result<ToolChoices, LlmError> {
    let texts = choices.texts(confusability_text);
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let answer = embedder.embed_batch(&borrowed, EmbedKind::Document, &CallCx::detached()).await?;
    let known: HashMap<&str, &[f32]> =
        borrowed.into_iter().zip(answer.vectors.iter().map(Vec::as_slice)).collect();
    Ok(choices.scored(confusability_text, |text| known.get(text).copied()))
}

/// The boundaries of the runs under way, by run, with how many rows were drawn already.
#[derive(Default)]
struct Drawn {
    runs: Mutex<HashMap<String, (Arc<BoundaryRecorder>, usize)>>,
    life: StrategyLife,
}

impl Strategy for Drawn {
    fn name(&self) -> &str {
        "step-graph"
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }
}

impl FlowchartStrategy for Drawn {
    fn run_started(&self, run_id: &Str, boundaries: Arc<BoundaryRecorder>) {
        lock(&self.runs).insert(run_id.to_string(), (boundaries, 0));
    }
}

impl Drawn {
    fn draw(boundaries: &BoundaryRecorder) -> StepGraph {
        StepGraph::of(&Boundaries::from_rows(&boundaries.rows()))
    }
}

/// Draws the step graph of every later run: `on_live` while it goes on, whenever something was crossed, and `on_recorded` once, at
/// its end. Graphs are derived from the boundaries each time and never kept (REC-49).
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use agentfootprint::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::builder(Mock::always("Hello."), "mock-1").build()?;
/// let nodes = Arc::new(Mutex::new(0));
/// let drawn = Arc::clone(&nodes);
/// let watching = agentfootprint::watch::step_graph(&agent, |_, _| {}, move |_, graph| {
///     *drawn.lock().unwrap() = graph.nodes.len();
/// });
/// agent.run("Hi").await.into_answer()?;
/// assert_eq!(*nodes.lock().unwrap(), 2); // user→llm, llm→user
/// drop(watching);
/// # Ok(()) }
/// ```
pub fn step_graph<R: Runner>(
    runner: &R,
    on_live: impl Fn(&str, StepGraph) + Send + Sync + 'static,
    on_recorded: impl Fn(&str, StepGraph) + Send + Sync + 'static,
) -> Watching {
    let drawn = Arc::new(Drawn::default());
    let (living, ending) = (Arc::clone(&drawn), Arc::clone(&drawn));
    let heard = runner.events().on_shared(
        Pattern::All,
        Arc::new(move |event: &Arc<Event>| {
            let run_id = event.meta.run_id.as_str();
            let boundaries = {
                let mut runs = lock(&living.runs);
                let Some((boundaries, rows)) = runs.get_mut(run_id) else { return };
                let now = boundaries.row_count();
                if std::mem::replace(rows, now) == now {
                    return;
                }
                Arc::clone(boundaries)
            };
            on_live(run_id, Drawn::draw(&boundaries));
        }),
    );
    let ended = on_end(runner, move |run_id| {
        let last = lock(&ending.runs).remove(run_id);
        if let Some((boundaries, _)) = last {
            on_recorded(run_id, Drawn::draw(&boundaries));
        }
    });
    let enabled = runner.enable().flowchart(drawn);
    Watching { heard: vec![heard], ended: Some(ended), enabled: Some(enabled) }
}

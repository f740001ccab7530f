//! How every runner of this module starts, resumes and ends: one path, whatever its chart is.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::payload::PauseResume;
use footprint::chart::Chart;
use footprint::observe::{Delivery, Recorder};
use footprint::pause::FlowchartCheckpoint;
use footprint::report::{Outcome, RunReport as WalkReport};
use footprint::state::{CommitValues, Tracking, WriteProvenance};
use footprint::value::{Object, Str, Value};

use super::member::named_failure;
use super::open::Watcher;
use crate::agent::outcome::{failure_in, failure_of};
use crate::agent::settle::{as_map, check_start, disposition, fatal, pause_requested};
use crate::agent::{AgentCore, Posture};
use crate::events::EventHub;
use crate::observe::Observers;
use crate::run::launch::{Dials, Launch, Leg, launch};
use crate::run::{
    Disposition, IntegrityLedger, PauseOutcome, RunContext, RunError, RunHandle, RunInput, RunNeeds,
    RunOptions, RunOutcome, RunRecord, RunRefusal, RunReport, StartMaterial, UiGroup, lock,
};

/// Turns the walk's last value into the runner's answer.
type Decode<T> = Arc<dyn Fn(Value) -> Result<T, RunError> + Send + Sync>;

/// What a runner of this module is made of. Clones are the same runner.
pub(crate) struct Core<T>(Arc<Shared<T>>);

impl<T> Clone for Core<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Shared<T> {
    /// `Sequence`, `Graph` …: the call named in refusals, and the owner on every event.
    word: &'static str,
    /// Whether an input may be a value instead of a message.
    takes_values: bool,
    chart: Chart,
    group: UiGroup,
    needs: RunNeeds,
    decode: Decode<T>,
    hub: EventHub,
    observers: Observers,
}

/// The parts a runner is assembled from.
pub(crate) struct Parts {
    pub(crate) word: &'static str,
    pub(crate) chart: Chart,
    pub(crate) group: UiGroup,
    pub(crate) needs: RunNeeds,
}

impl Core<String> {
    /// A runner that answers text.
    pub(crate) fn of_text(parts: Parts) -> Self {
        let decode = Arc::new(|value: Value| Ok(value.as_str().map(str::to_owned).unwrap_or_default()));
        Self::new(parts, false, decode)
    }
}

impl<T: Send + 'static> Core<T> {
    /// A runner that takes values.
    pub(crate) fn of_values(
        parts: Parts,
        decode: impl Fn(Value) -> Result<T, RunError> + Send + Sync + 'static,
    ) -> Self {
        Self::new(parts, true, Arc::new(decode))
    }

    fn new(parts: Parts, takes_values: bool, decode: Decode<T>) -> Self {
        Self(Arc::new(Shared {
            word: parts.word,
            takes_values,
            chart: parts.chart,
            group: parts.group,
            needs: parts.needs,
            decode,
            hub: EventHub::new(),
            observers: Observers::new(),
        }))
    }

    pub(crate) fn id(&self) -> &str {
        &self.0.group.id
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.group.name
    }

    pub(crate) fn spec(&self) -> Chart {
        self.0.chart.clone()
    }

    pub(crate) fn group(&self) -> UiGroup {
        self.0.group.clone()
    }

    pub(crate) fn needs(&self) -> RunNeeds {
        self.0.needs.clone()
    }

    pub(crate) fn events(&self) -> &EventHub {
        &self.0.hub
    }

    pub(crate) fn observers(&self) -> &Observers {
        &self.0.observers
    }

    pub(crate) fn start(&self, input: RunInput, options: RunOptions) -> Result<RunHandle<T>, RunRefusal> {
        let call = format!("{}.run", self.0.word);
        if input.continue_from.is_some() {
            return Err(refused(&call, "a message with a conversation to continue"));
        }
        let input = match (&input.data, self.0.takes_values) {
            (Some(_), true) => input,
            (Some(value), false) => return Err(refused(&call, &format!("a value ({})", value.kind()))),
            (None, _) => input.checked(&call)?,
        };
        for agent in &self.0.needs.agents {
            check_start(agent)?;
        }
        let start = StartMaterial::fresh(input.shared_message().clone());
        let data = input.data;
        let open = move |run: &Arc<RunContext>| run.compositions.set_input(data);
        self.launch(start, input.identity, Leg::Fresh, options, open)
    }

    /// Goes on from a pause of any member. The answer is judged before anything of the new leg exists (AGT-105).
    pub(crate) fn resume(
        &self,
        checkpoint: FlowchartCheckpoint,
        answer: Option<Value>,
        mut options: RunOptions,
    ) -> Result<RunHandle<T>, RunRefusal> {
        let asking = asking_state(&checkpoint).clone();
        let answer = crate::tools::check_answer(&asking, checkpoint.pause_data.as_ref(), answer)?;
        // A pause and its resume are one turn (TOOL-95).
        options.turn_id = options
            .turn_id
            .or_else(|| asking.get(state::PAUSED_TURN_ID).and_then(Value::as_shared_str).cloned());
        let identity = asking.get(state::RUN_IDENTITY).and_then(|value| value.decode().ok());
        let identity = options.identity.clone().or(identity);
        let (group, given, known) = (self.0.group.clone(), answer.clone(), checkpoint.clone());
        let open = move |run: &Arc<RunContext>| {
            run.compositions.reopen(&group, &known, run.clock.monotonic());
            run.say_at(&ids::resumed_step(&known.paused_stage_id), || {
                let component = known.pause_data.as_ref().and_then(crate::tools::component_id_of);
                let waited = run.now_ms().saturating_sub(known.paused_at);
                PauseResume::new(as_map(&given, "input"), waited).component_id(component)
            });
        };
        let leg = Leg::Resumed(Box::new(checkpoint), answer);
        self.launch(StartMaterial::fresh(Str::default()), identity, leg, options, open)
    }

    fn launch(
        &self,
        start: StartMaterial,
        identity: Option<agentfootprint_record::MemoryIdentity>,
        leg: Leg,
        options: RunOptions,
        open: impl FnOnce(&Arc<RunContext>) + Send + 'static,
    ) -> Result<RunHandle<T>, RunRefusal> {
        let watcher = Watcher::new();
        let attached: Arc<dyn Recorder> = Arc::clone(&watcher) as Arc<dyn Recorder>;
        let options = options.wire(move |wiring| wiring.observe(Arc::clone(&attached)));
        let core = self.clone();
        let shared = &self.0;
        let declared = Launch {
            chart: shared.chart.clone(),
            hub: shared.hub.clone(),
            owner: format!("{}:{}", shared.word, shared.group.id).into(),
            dials: Dials {
                max_iterations: shared.needs.passes.max(LEAST_PASSES),
                read_tracking: Tracking::Summary,
                // As recorded; `RunOptions::commit_values` turns to deltas.
                commit_values: CommitValues::Full,
                write_provenance: WriteProvenance::Off,
                delivery: Delivery::Inline,
                queue: None,
            },
            observers: shared.observers.clone(),
            identity,
            start,
            leg,
            integrity: ledger(&shared.needs.agents),
            open: Box::new(move |run| {
                watcher.connect(run);
                open(run);
            }),
            settle: Box::new(move |run, report| Box::pin(settle(core, run, report))),
        };
        launch(declared, options)
    }
}

/// Passes every run allows, whatever its members need.
const LEAST_PASSES: u64 = 10;

fn refused(runner: &str, received: &str) -> RunRefusal {
    RunRefusal::InvalidInput { runner: runner.to_owned(), received: received.to_owned() }
}

/// The state of the chart that asks: the innermost mount's.
fn asking_state(checkpoint: &FlowchartCheckpoint) -> &Object {
    let innermost = checkpoint.subflow_path.last().and_then(|path| checkpoint.subflow_states.get(path));
    innermost.unwrap_or(&checkpoint.shared_state)
}

/// A check is armed in a run when any of its agents arms it.
fn ledger(agents: &[Arc<AgentCore>]) -> IntegrityLedger {
    let ledgers: Vec<IntegrityLedger> = agents.iter().map(|agent| agent.integrity_ledger()).collect();
    let mut out = IntegrityLedger::new(|_| true);
    for (check, _) in IntegrityLedger::default().rows() {
        let armed = ledgers
            .iter()
            .flat_map(IntegrityLedger::rows)
            .any(|(known, counts)| known == check && counts.not_applicable == 0);
        if !armed {
            out.note(check, Disposition::NotApplicable);
        }
    }
    out
}

/// From the end of the walk to the report, and the last facts of the leg.
async fn settle<T: Send + 'static>(core: Core<T>, run: Arc<RunContext>, report: WalkReport) -> RunReport<T> {
    let shared = &core.0;
    let final_state = report.state();
    let outcome = resolve(shared, &report, &final_state);
    match &outcome {
        Ok(RunOutcome::Paused(pause)) => pause_requested(&run, pause),
        Ok(RunOutcome::Completed(_)) => tear_down(shared, &run).await,
        Err(error) => {
            // Whatever the walk left open is closed before the run says that it failed.
            run.compositions.fail_below(&run, "");
            tear_down(shared, &run).await;
            if matches!(report.outcome(), Outcome::Failed(_)) {
                fatal(&run, error);
            }
        }
    }
    let agents = &shared.needs.agents;
    let strictest = agents.iter().find(|agent| agent.options.posture == Posture::Dev).or(agents.first());
    if let Some(agent) = strictest {
        let worked = report
            .snapshot()
            .subflow_results
            .values()
            .any(|mounted| mounted.tree_context.global_context.contains_key(state::LLM_LATEST_CONTENT));
        if worked {
            lock(&run.integrity).note_work();
        }
        disposition(agent, &run);
    }
    let record = RunRecord::new(run.run_id().clone(), final_state, report, None).redacting(run.redacts);
    RunReport::new(outcome, record)
}

async fn tear_down<T>(shared: &Shared<T>, run: &Arc<RunContext>) {
    for agent in &shared.needs.agents {
        crate::tools::tear_down(agent, run).await;
    }
}

fn resolve<T>(
    shared: &Shared<T>,
    report: &WalkReport,
    final_state: &Object,
) -> Result<RunOutcome<T>, RunError> {
    match report.outcome() {
        Outcome::Paused(paused) => {
            let checkpoint = paused.checkpoint();
            let data = checkpoint.pause_data.clone().unwrap_or_default();
            Ok(RunOutcome::Paused(Box::new(PauseOutcome::new(checkpoint.clone(), data))))
        }
        Outcome::Failed(error) => {
            let failure = failure_of(error.clone());
            Err(if matches!(failure, RunError::Cancelled { .. }) {
                failure
            } else {
                named_failure(&shared.group, error, failure)
            })
        }
        Outcome::Completed(value) => match failure_in(final_state) {
            Some(failure) => Err(failure),
            None => (shared.decode)(value.clone().unwrap_or_default()).map(RunOutcome::Completed),
        },
        _ => Err(RunError::Cancelled { reason: "the walk ended without an outcome".into(), at_stage: None }),
    }
}

impl<T> fmt::Debug for Core<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.0.word).field("id", &self.0.group.id).finish_non_exhaustive()
    }
}

/// Makes a type with a [`Core`] inside a runner.
macro_rules! runner {
    ($name:ident $(<$($param:ident),+>)?, $output:ty) => {
        impl$(<$($param: Send + 'static),+>)? crate::run::ChartRunner for $name$(<$($param),+>)? {
            fn id(&self) -> &str {
                self.core.id()
            }

            fn name(&self) -> &str {
                self.core.name()
            }

            fn spec(&self) -> footprint::chart::Chart {
                self.core.spec()
            }

            fn ui_group(&self) -> crate::run::UiGroup {
                self.core.group()
            }

            fn needs(&self) -> crate::run::RunNeeds {
                self.core.needs()
            }
        }

        impl$(<$($param: Send + 'static),+>)? crate::run::Runner for $name$(<$($param),+>)? {
            type Output = $output;

            fn start(
                &self,
                input: crate::run::RunInput,
                options: crate::run::RunOptions,
            ) -> Result<crate::run::RunHandle<Self::Output>, crate::run::RunRefusal> {
                self.core.start(input, options)
            }

            fn resume(
                &self,
                checkpoint: footprint::pause::FlowchartCheckpoint,
                answer: Option<footprint::value::Value>,
                options: crate::run::RunOptions,
            ) -> Result<crate::run::RunHandle<Self::Output>, crate::run::RunRefusal> {
                self.core.resume(checkpoint, answer, options)
            }

            fn events(&self) -> &crate::events::EventHub {
                self.core.events()
            }

            fn observers(&self) -> &crate::observe::Observers {
                self.core.observers()
            }
        }

        impl$(<$($param),+>)? std::fmt::Debug for $name$(<$($param),+>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.core, f)
            }
        }
    };
}
pub(crate) use runner;

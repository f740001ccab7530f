//! A member repeated, each pass fed with the answer of the one before (AGT-125).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::payload::{CompositionIterationExit, CompositionIterationStart};
use agentfootprint_record::events::words::{CompositionKind, CompositionStatus, IterationExitReason};
use footprint::chart::{Chart, Stage};
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};

use super::cx::{CURRENT, Cx, stage};
use super::errors::{ComposeError, ComposeErrors, Problems, chart_failed};
use super::member::{DECISION, Member, PRIOR_DECISION, message, one, text_answer, text_in};
use super::open::Facts;
use super::runner::{Core, Parts, runner};
use super::sequence::{decision_in, decision_out};
use crate::injection::panic_text;
use crate::run::{ChartRunner, RunNeeds, UiGroup, millis};

const KIND: &str = "Loop";
/// When the loop began, Unix milliseconds.
const START_MS: &str = "startMs";
const DEFAULT_TIMES: u32 = 10;
/// More passes than this are a mistake, not a loop.
const MOST_TIMES: u32 = 500;

/// What an `until` guard looks at, between two passes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LoopState<'a> {
    /// The pass that just ended, from 1.
    pub iteration: u64,
    /// What it answered.
    pub latest_output: &'a str,
    /// When the loop began, Unix milliseconds.
    pub start_ms: u64,
    pub(crate) decision: Option<&'a Value>,
}

type Until = Arc<dyn Fn(&LoopState<'_>) -> bool + Send + Sync>;
type Finish = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// A body that runs again and again until a guard says stop or a limit is reached.
///
/// ```
/// # use agentfootprint_core::llm::*;
/// # struct More;
/// # #[async_trait::async_trait]
/// # impl LlmProvider for More {
/// #     fn name(&self) -> &str { "more" }
/// #     fn capabilities(&self, _: &str) -> Capabilities { Capabilities::default() }
/// #     async fn complete(&self, r: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> {
/// #         Ok(LlmResponse::text(format!("{} more", r.last_user_text().unwrap_or_default())))
/// #     }
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use agentfootprint_core::compose::{LlmCall, Loop};
/// use agentfootprint_core::run::Runner;
///
/// let step = LlmCall::builder(More, "m").system("Add one word.").build()?;
/// let refine = Loop::builder("refine").repeat(step).times(5).until(|at| at.latest_output.len() >= 14).build()?;
/// assert_eq!(refine.run("tea").await.into_answer()?, "tea more more more");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Loop {
    core: Core<String>,
}

runner!(Loop, String);

impl Loop {
    /// Begins the declaration of a loop with this id.
    pub fn builder(id: impl Into<Str>) -> LoopBuilder {
        LoopBuilder {
            id: id.into(),
            name: KIND.into(),
            body: None,
            times: None,
            limit: None,
            until: None,
            finish: None,
            until_first: false,
            carries: false,
            problems: Problems::default(),
        }
    }
}

/// Declares a loop.
#[must_use = "a loop exists only after `build()`"]
pub struct LoopBuilder {
    id: Str,
    name: Str,
    body: Option<Member>,
    times: Option<u32>,
    limit: Option<Duration>,
    until: Option<Until>,
    finish: Option<Finish>,
    until_first: bool,
    carries: bool,
    problems: Problems,
}

impl LoopBuilder {
    /// Its name; `Loop` by default.
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = name.into();
        self
    }

    /// What is repeated. Declare it once.
    pub fn repeat(mut self, runner: impl ChartRunner) -> Self {
        if self.body.replace(Member::new(ids::BODY, runner)).is_some() {
            self.problems.twice("repeat");
        }
        self
    }

    /// The most passes, 1 to 500; 10 by default.
    pub fn times(mut self, times: u32) -> Self {
        if self.times.replace(times).is_some() {
            self.problems.twice("times");
        }
        self
    }

    /// No pass begins after this much time. A pass under way is never cut.
    pub fn for_at_most(mut self, limit: Duration) -> Self {
        if self.limit.replace(limit).is_some() {
            self.problems.twice("for_at_most");
        }
        self
    }

    /// Stops when this says true of a pass. It must be pure.
    pub fn until(mut self, stop: impl Fn(&LoopState<'_>) -> bool + Send + Sync + 'static) -> Self {
        if self.until.replace(Arc::new(stop)).is_some() {
            self.problems.twice("until");
        }
        self
    }

    /// Makes the answer out of the last text.
    pub(crate) fn finishing(mut self, finish: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.finish = Some(Arc::new(finish));
        self
    }

    /// Asks the guard before the limits: a loop that is done at its last pass is done.
    pub(crate) fn until_before_limits(mut self) -> Self {
        self.until_first = true;
        self
    }

    /// A router's decision travels with the text.
    pub(crate) fn carrying_decisions(mut self) -> Self {
        self.carries = true;
        self
    }

    /// Checks everything and answers the loop.
    ///
    /// # Errors
    /// All problems of the declaration, each naming the offender and the fix.
    pub fn build(self) -> Result<Loop, ComposeErrors> {
        let mut problems = self.problems;
        problems.runner_id("loop", &self.id);
        let times = self.times.unwrap_or(DEFAULT_TIMES);
        problems.check(times == 0 || times > MOST_TIMES, "times", times, "it must be between 1 and 500");
        problems.check(
            self.limit.is_some_and(|limit| limit.is_zero()),
            "for_at_most",
            "zero",
            "it must be longer than nothing",
        );
        let Some(body) = self.body else {
            problems
                .push(ComposeError::Missing { what: "body", fix: "declare what is repeated with `repeat`" });
            problems.into_result(KIND, &self.id)?;
            return Err(ComposeErrors::new(KIND, &self.id, Vec::new()));
        };
        problems.into_result(KIND, &self.id)?;
        let facts = Facts { kind: CompositionKind::Loop, id: self.id.clone(), name: self.name.clone() };
        let guard = Guard {
            facts: facts.clone(),
            times: u64::from(times),
            limit: self.limit.map(millis),
            until: self.until.clone(),
            finish: self.finish,
            until_first: self.until_first,
        };
        let mut extra = Object::new();
        extra.insert("maxIterations", Value::from(times));
        if let Some(limit) = guard.limit {
            extra.insert("maxWallclockMs", Value::from(limit));
        }
        extra.insert("hasUntilGuard", Value::from(self.until.is_some()));
        let mut group = UiGroup::new(KIND, self.id.clone(), self.name, Some(Value::from(extra)));
        group.members.push((body.id.clone(), body.runner.ui_group()));
        let needs = body.runner.needs().with(RunNeeds::passes(u64::from(times) + 1));
        let chart = Chart::builder(seed(&facts))
            .then(iteration_start(&facts))
            .mount(mount(&body, self.carries))
            .then(guard.stage())
            .loop_to(ids::ITERATION_START)
            .build()
            .map_err(chart_failed(KIND, &self.id))?;
        Ok(Loop { core: Core::of_text(Parts { word: KIND, chart, group, needs }) })
    }
}

fn seed(facts: &Facts) -> Stage {
    let facts = facts.clone();
    stage(ids::SEED, move |cx: Cx| {
        let facts = facts.clone();
        async move {
            cx.enter(&facts, 1);
            cx.set(CURRENT, cx.message())?;
            cx.set(state::ITERATION, 0)?;
            cx.set(START_MS, cx.run.now_ms())
        }
    })
    .named("Initialize")
    .describe("Loop: its body again and again")
}

fn iteration_start(facts: &Facts) -> Stage {
    let id = facts.id.clone();
    stage(ids::ITERATION_START, move |cx: Cx| {
        let id = id.clone();
        async move {
            let iteration = cx.iteration()? + 1;
            cx.set(state::ITERATION, iteration)?;
            cx.emit(|| CompositionIterationStart::new(id, iteration));
            Ok(())
        }
    })
    .named("IterationStart")
    .describe("begins a pass")
}

fn mount(body: &Member, carries: bool) -> footprint::chart::Mount {
    body.mount(
        ids::BODY,
        move |parent| {
            let mut args = message(text_in(parent, CURRENT));
            if carries && let Some(decision) = decision_in(parent) {
                args.insert(PRIOR_DECISION, decision);
            }
            Ok(args)
        },
        move |answer, end, _| {
            let mut out = one(CURRENT, text_answer(&answer, || "the loop's body".to_owned())?);
            if carries && let Some(decision) = decision_out(end) {
                out.insert(DECISION, decision);
            }
            Ok(out)
        },
    )
}

#[derive(Clone)]
struct Guard {
    facts: Facts,
    times: u64,
    limit: Option<u64>,
    until: Option<Until>,
    finish: Option<Finish>,
    until_first: bool,
}

impl Guard {
    fn stage(&self) -> Stage {
        let guard = self.clone();
        stage(ids::GUARD, move |cx: Cx| {
            let guard = guard.clone();
            async move { guard.check(&cx) }
        })
        .named("Guard")
        .describe("another pass, or the answer")
    }

    /// Iterations, wall clock, `until`; the first that says stop decides.
    fn check(&self, cx: &Cx) -> Result<Option<Value>, StageError> {
        let iteration = cx.iteration()?;
        let text = cx.text(CURRENT)?;
        let start_ms = cx.get(START_MS)?.and_then(|value| value.as_u64()).unwrap_or_default();
        let decision = cx.decision()?;
        let at = LoopState { iteration, latest_output: &text, start_ms, decision: decision.as_ref() };
        let spent = || {
            iteration >= self.times
                || self.limit.is_some_and(|limit| cx.run.now_ms().saturating_sub(start_ms) >= limit)
        };
        let reason = if self.until_first && self.says_stop(&at)? {
            Some(IterationExitReason::GuardFalse)
        } else if spent() {
            Some(IterationExitReason::Budget)
        } else if !self.until_first && self.says_stop(&at)? {
            Some(IterationExitReason::GuardFalse)
        } else {
            None
        };
        cx.emit(|| {
            let reason = reason.clone().unwrap_or(IterationExitReason::BodyComplete);
            CompositionIterationExit::new(self.facts.id.clone(), iteration, reason)
        });
        let Some(reason) = reason else { return Ok(None) };
        let status = match reason {
            IterationExitReason::Budget => CompositionStatus::BudgetExhausted,
            _ => CompositionStatus::Ok,
        };
        cx.exit(&self.facts, status);
        cx.scope.stop("loop over")?;
        Ok(Some(match &self.finish {
            Some(finish) => Value::from(finish(&text)),
            None => Value::from(text),
        }))
    }

    fn says_stop(&self, at: &LoopState<'_>) -> Result<bool, StageError> {
        let Some(until) = &self.until else { return Ok(false) };
        catch_unwind(AssertUnwindSafe(|| until(at))).map_err(|panic| {
            let said = panic_text(panic.as_ref());
            StageError::named(
                "Panic",
                format!("the `until` guard of Loop `{}` panicked: {said}", self.facts.id),
            )
        })
    }
}

impl std::fmt::Debug for LoopBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopBuilder").field("id", &self.id).finish_non_exhaustive()
    }
}

//! One member after the other; the text of one is the message of the next (AGT §18).

use std::sync::Arc;

use agentfootprint_record::conventions::ids;
use agentfootprint_record::events::words::CompositionKind;
use footprint::chart::{Chart, SubflowEnd};
use footprint::scope::StateView;
use footprint::value::{Str, Value};

use super::cx::{CURRENT, Cx, finalize, stage};
use super::errors::{ComposeError, ComposeErrors, Problems, chart_failed};
use super::member::{DECISION, Member, PRIOR_DECISION, message, one, text_answer, text_in};
use super::open::Facts;
use super::runner::{Core, Parts, runner};
use crate::run::{ChartRunner, RunNeeds, UiGroup};

const KIND: &str = "Sequence";
const DEFAULT_ID: &str = "sequence";

/// Maps the text of the step before to the message of a step.
type Pipe = Arc<dyn Fn(&str) -> String + Send + Sync>;
/// Makes the text that goes on out of the text a step got and what it answered.
type Fold = Arc<dyn Fn(&str, &str) -> String + Send + Sync>;

/// Members in a row. Each gets the answer of the one before as its message.
///
/// ```
/// # use agentfootprint_core::llm::*;
/// # struct Echo;
/// # #[async_trait::async_trait]
/// # impl LlmProvider for Echo {
/// #     fn name(&self) -> &str { "echo" }
/// #     fn capabilities(&self, _: &str) -> Capabilities { Capabilities::default() }
/// #     async fn complete(&self, r: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> {
/// #         Ok(LlmResponse::text(r.last_user_text().unwrap_or_default()))
/// #     }
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use agentfootprint_core::compose::{LlmCall, Sequence};
/// use agentfootprint_core::run::Runner;
///
/// let draft = LlmCall::builder(Echo, "echo-1").id("draft").system("Draft.").build()?;
/// let polish = LlmCall::builder(Echo, "echo-1").id("polish").system("Polish.").build()?;
/// let flow = Sequence::builder("flow")
///     .step("draft", draft)
///     .pipe_via(|text| format!("Polish this: {text}"))
///     .step("polish", polish)
///     .build()?;
/// assert_eq!(flow.run("tea").await.into_answer()?, "Polish this: tea");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Sequence {
    core: Core<String>,
}

runner!(Sequence, String);

impl Sequence {
    /// Begins the declaration of a sequence with this id.
    pub fn builder(id: impl Into<Str>) -> SequenceBuilder {
        SequenceBuilder {
            id: id.into(),
            name: KIND.into(),
            steps: Vec::new(),
            pipe: None,
            carries: false,
            problems: Problems::default(),
        }
    }
}

impl Default for SequenceBuilder {
    fn default() -> Self {
        Sequence::builder(DEFAULT_ID)
    }
}

struct Step {
    member: Member,
    pipe: Option<Pipe>,
    fold: Option<Fold>,
}

/// Declares a sequence.
#[must_use = "a sequence exists only after `build()`"]
pub struct SequenceBuilder {
    id: Str,
    name: Str,
    steps: Vec<Step>,
    pipe: Option<Pipe>,
    carries: bool,
    problems: Problems,
}

impl SequenceBuilder {
    /// Its name; `Sequence` by default.
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = name.into();
        self
    }

    /// One more step. Its id names it in paths (`step-<id>`) and in errors.
    pub fn step(self, id: impl Into<Str>, runner: impl ChartRunner) -> Self {
        self.push(Member::new(id, runner), None)
    }

    /// One more step whose answer is folded into the text it got.
    pub(crate) fn step_folding(
        self,
        id: &'static str,
        runner: impl ChartRunner,
        fold: impl Fn(&str, &str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.push(Member::new(id, runner), Some(Arc::new(fold)))
    }

    fn push(mut self, member: Member, fold: Option<Fold>) -> Self {
        self.problems.id("step", &member.id, false, &[]);
        let pipe = self.pipe.take();
        self.steps.push(Step { member, pipe, fold });
        self
    }

    /// Maps the text so far to the message of the step that is declared next. It must be pure.
    pub fn pipe_via(mut self, map: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        if self.pipe.replace(Arc::new(map)).is_some() {
            self.problems.twice("pipe_via");
        }
        self
    }

    /// A router's decision travels with the text.
    pub(crate) fn carrying_decisions(mut self) -> Self {
        self.carries = true;
        self
    }

    /// Checks everything and answers the sequence.
    ///
    /// # Errors
    /// All problems of the declaration, each naming the offender and the fix.
    pub fn build(self) -> Result<Sequence, ComposeErrors> {
        let mut problems = self.problems;
        problems.runner_id("sequence", &self.id);
        if self.steps.is_empty() {
            problems.push(ComposeError::Missing { what: "step", fix: "declare at least one with `step`" });
        }
        problems.duplicates("step", self.steps.iter().map(|step| &step.member.id));
        if self.pipe.is_some() {
            problems.push(ComposeError::DanglingPipe);
        }
        problems.into_result(KIND, &self.id)?;
        let facts = Facts { kind: CompositionKind::Sequence, id: self.id.clone(), name: self.name.clone() };
        let count = self.steps.len();
        let (entering, carries) = (facts.clone(), self.carries);
        let seed = stage(ids::SEED, move |cx: Cx| {
            let facts = entering.clone();
            async move {
                cx.enter(&facts, count);
                cx.set(CURRENT, cx.message())
            }
        })
        .named("Seed")
        .describe(format!("Sequence: {count} steps in a row"));
        let mut chart = Chart::builder(seed);
        let mut group = UiGroup::new(KIND, self.id.clone(), self.name, None);
        let mut needs = RunNeeds::default();
        for step in self.steps {
            group.members.push((step.member.id.clone(), step.member.runner.ui_group()));
            needs = needs.with(step.member.runner.needs());
            chart = chart.mount(mount(step, carries));
        }
        let chart = chart.then(finalize(&facts, CURRENT)).build().map_err(chart_failed(KIND, &self.id))?;
        Ok(Sequence { core: Core::of_text(Parts { word: KIND, chart, group, needs }) })
    }
}

fn mount(step: Step, carries: bool) -> footprint::chart::Mount {
    let Step { member, pipe, fold } = step;
    let id = member.id.clone();
    let sent = move |parent: &StateView| -> Str {
        let text = text_in(parent, CURRENT);
        match &pipe {
            Some(map) => map(&text).into(),
            None => text,
        }
    };
    let got = sent.clone();
    member.mount(
        ids::sequence_step(&member.id),
        move |parent| {
            let mut args = message(sent(parent));
            if carries && let Some(decision) = decision_in(parent) {
                args.insert(PRIOR_DECISION, decision);
            }
            Ok(args)
        },
        move |answer, end, parent| {
            let text = text_answer(&answer, || format!("step `{id}`"))?;
            let text = match &fold {
                Some(fold) => fold(&got(parent), &text).into(),
                None => text,
            };
            let mut out = one(CURRENT, text);
            if carries && let Some(decision) = decision_out(end) {
                out.insert(DECISION, decision);
            }
            Ok(out)
        },
    )
}

/// The decision that applies to the next member.
pub(crate) fn decision_in(parent: &StateView) -> Option<Value> {
    parent.value(DECISION).or_else(|| parent.value(PRIOR_DECISION))
}

/// The decision a member made.
pub(crate) fn decision_out(end: &SubflowEnd) -> Option<Value> {
    end.state.value(DECISION)
}

impl std::fmt::Debug for SequenceBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SequenceBuilder")
            .field("id", &self.id)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

//! Typed steps in a row: what one answers is what the next takes (AGT-126).

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use agentfootprint_record::conventions::ids;
use agentfootprint_record::events::words::{CompositionKind, CompositionStatus};
use footprint::chart::{Chart, Stage};
use footprint::error::StageError;
use footprint::scope::StateView;
use footprint::value::{Object, Str, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cx::{Cx, stage};
use super::errors::{ComposeError, ComposeErrors, Problems, chart_failed};
use super::member::{MESSAGE, Member, message, one};
use super::open::Facts;
use super::runner::{Core, Parts, runner};
use crate::run::{ChartRunner, RunBuilder, RunError, RunInput, RunNeeds, Runner, UiGroup};

const KIND: &str = "Workflow";
/// What a composition that keeps results was started with.
pub(super) const INPUT: &str = "input";
/// What the steps answered, by their number. An answer has a key of its own: objects under one key would be joined.
pub(super) const RESULTS: &str = "results";
const DEFAULT_ID: &str = "workflow";
/// The one stage of a step that is a function.
const FUNCTION: &str = "apply";

/// A step from `A` to `B`: a runner from text to text, a workflow, or a function.
pub struct Step<A, B> {
    runner: Result<Arc<dyn ChartRunner>, ComposeError>,
    types: PhantomData<fn(A) -> B>,
}

impl Step<String, String> {
    /// A runner that takes text and answers text.
    pub fn runner(runner: impl Runner<Output = String>) -> Self {
        Self::of(Ok(Arc::new(runner)))
    }
}

impl<A: Send + 'static, B: Send + 'static> Step<A, B> {
    fn of(runner: Result<Arc<dyn ChartRunner>, ComposeError>) -> Self {
        Self { runner, types: PhantomData }
    }

    /// A function. It must not touch anything outside: what it computes is repeated when the run is replayed.
    pub fn function<E: fmt::Display>(
        id: impl Into<Str>,
        map: impl Fn(A) -> Result<B, E> + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        B: Serialize,
    {
        let function = Function::new(id.into(), move |value: Value| {
            let given = decoded::<A>(&value)
                .map_err(|error| StageError::new(format!("it takes another form of value: {error}")))?;
            let made = map(given).map_err(|error| StageError::new(error.to_string()))?;
            Value::from_serialize(&made).map_err(StageError::from)
        });
        Self::of(function.map(|function| Arc::new(function) as Arc<dyn ChartRunner>))
    }

    /// Another workflow.
    pub fn workflow(workflow: &Workflow<A, B>) -> Self {
        Self::of(Ok(Arc::new(workflow.clone())))
    }
}

impl<A, B> fmt::Debug for Step<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("runner", &self.runner.as_ref().map(|runner| runner.id())).finish()
    }
}

/// Reads a value of the walk. A lone message is its text, and an object for whoever wants that.
fn decoded<T: DeserializeOwned>(value: &Value) -> Result<T, footprint::value::ValueError> {
    value.decode().or_else(|error| match value {
        Value::String(text) => Value::from(message(text.clone())).decode().map_err(|_| error),
        _ => Err(error),
    })
}

/// Typed steps in a row. Between two steps travels text or an object; anything else is refused, naming the step.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use agentfootprint_core::compose::{Step, Workflow};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Order { items: u32 }
///
/// let price = Workflow::builder("price")
///     .then(Step::function("read", |text: String| text.trim().parse().map(|items| Order { items })))
///     .then(Step::function("total", |order: Order| Ok::<_, String>(format!("{} EUR", order.items * 3))))
///     .build()?;
/// assert_eq!(price.run_with(&"14".to_owned())?.await.into_answer()?, "42 EUR");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Workflow<A, B> {
    core: Core<B>,
    types: PhantomData<fn(A)>,
}

impl<A, B> Clone for Workflow<A, B> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), types: PhantomData }
    }
}

runner!(Workflow<A, B>, B);

impl<A> Workflow<A, A> {
    /// Begins the declaration of a workflow with this id.
    pub fn builder(id: impl Into<Str>) -> WorkflowBuilder<A, A> {
        WorkflowBuilder {
            id: id.into(),
            name: KIND.into(),
            steps: Vec::new(),
            problems: Problems::default(),
            types: PhantomData,
        }
    }
}

impl<A> Default for WorkflowBuilder<A, A> {
    fn default() -> Self {
        Workflow::builder(DEFAULT_ID)
    }
}

impl<A, B> Workflow<A, B>
where
    A: Serialize + Send + 'static,
    B: Send + 'static,
{
    /// Declares a run that starts from this value.
    ///
    /// # Errors
    /// [`NotAValue`] when the input has no form a value can have.
    pub fn run_with(&self, input: &A) -> Result<RunBuilder<Self>, NotAValue> {
        let value = Value::from_serialize(input).map_err(|error| NotAValue { why: error.to_string() })?;
        Ok(self.run(RunInput::of_value(value)))
    }
}

/// An input that no value can hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the input cannot be written as a value: {why}; its type must serialise to text or to an object")]
pub struct NotAValue {
    why: String,
}

/// Declares a workflow that takes `A` and answers `B` so far.
#[must_use = "a workflow exists only after `build()`"]
pub struct WorkflowBuilder<A, B> {
    id: Str,
    name: Str,
    steps: Vec<Arc<dyn ChartRunner>>,
    problems: Problems,
    types: PhantomData<fn(A) -> B>,
}

impl<A, B> WorkflowBuilder<A, B> {
    /// Its name; `Workflow` by default.
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = name.into();
        self
    }

    /// One more step; it takes what the one before answers.
    pub fn then<C>(mut self, step: Step<B, C>) -> WorkflowBuilder<A, C> {
        match step.runner {
            Ok(runner) => self.steps.push(runner),
            Err(problem) => self.problems.push(problem),
        }
        WorkflowBuilder {
            id: self.id,
            name: self.name,
            steps: self.steps,
            problems: self.problems,
            types: PhantomData,
        }
    }
}

impl<A, B: DeserializeOwned + Send + 'static> WorkflowBuilder<A, B> {
    /// Checks everything and answers the workflow.
    ///
    /// # Errors
    /// All problems of the declaration, each naming the offender and the fix.
    pub fn build(self) -> Result<Workflow<A, B>, ComposeErrors> {
        let mut problems = self.problems;
        problems.runner_id("workflow", &self.id);
        if self.steps.is_empty() {
            problems.push(ComposeError::Missing { what: "step", fix: "declare at least one with `then`" });
        }
        problems.into_result(KIND, &self.id)?;
        let facts = Facts { kind: CompositionKind::Sequence, id: self.id.clone(), name: self.name.clone() };
        let count = self.steps.len();
        let mut chart = Chart::builder(seed(&facts, count, format!("Sequence: {count} typed steps")));
        let mut extra = Object::new();
        extra.insert("form", Value::from(KIND));
        let mut group = UiGroup::new("Sequence", self.id.clone(), self.name, Some(Value::from(extra)));
        let mut needs = RunNeeds::default();
        for (at, runner) in self.steps.into_iter().enumerate() {
            let member = Member::new((at + 1).to_string(), runner);
            group.members.push((member.id.clone(), member.runner.ui_group()));
            needs = needs.with(member.runner.needs());
            chart = chart.mount(mount(&member, at));
        }
        let chart = chart.then(finish(&facts, count)).build().map_err(chart_failed(KIND, &self.id))?;
        let id = self.id;
        let core = Core::of_values(Parts { word: KIND, chart, group, needs }, move |value: Value| {
            decoded::<B>(&value).map_err(|error| RunError::Stage {
                stage: ids::FINALIZE.into(),
                error: StageError::new(format!("Workflow `{id}` answers another form of value: {error}")),
            })
        });
        Ok(Workflow { core, types: PhantomData })
    }
}

/// Begins a composition of `count` members that keeps what each of them answered.
pub(super) fn seed(facts: &Facts, count: usize, description: String) -> Stage {
    let facts = facts.clone();
    stage(ids::SEED, move |cx: Cx| {
        let facts = facts.clone();
        async move {
            cx.enter(&facts, count);
            cx.set(INPUT, cx.value())?;
            cx.set(RESULTS, Object::new())
        }
    })
    .named("Initialize")
    .describe(description)
}

/// What the step of this number answered; of number 0, what the workflow was started with.
fn answered(number: usize, read: impl Fn(&str) -> Option<Value>) -> Value {
    let found = match number {
        0 => read(INPUT),
        number => read(RESULTS).and_then(|results| results.get(&number.to_string()).cloned()),
    };
    found.unwrap_or_default()
}

/// Hands over what the last step answered.
fn finish(facts: &Facts, count: usize) -> Stage {
    let facts = facts.clone();
    stage(ids::FINALIZE, move |cx: Cx| {
        let facts = facts.clone();
        async move {
            let results = cx.get(RESULTS)?;
            cx.exit(&facts, CompositionStatus::Ok);
            Ok(answered(count, |_| results.clone()))
        }
    })
    .named("Finalize")
    .describe("hands over the answer")
}

fn mount(member: &Member, before: usize) -> footprint::chart::Mount {
    let id = member.id.clone();
    let name = format!("step {} (`{}`)", member.id, member.runner.id());
    member.mount(
        ids::sequence_step(&member.id),
        move |parent: &StateView| handed(&answered(before, |key| parent.value(key)), &name),
        move |answer, _, _| Ok(one(RESULTS, one(&id, answer))),
    )
}

/// Text goes on as a message, an object as it is (AGT-126).
pub(crate) fn handed(value: &Value, to: &str) -> Result<Object, StageError> {
    match value {
        Value::String(text) => Ok(message(text.clone())),
        Value::Object(fields) => Ok(fields.clone()),
        other => Err(StageError::new(format!(
            "{to} would get {}; only text and objects travel between steps",
            other.kind()
        ))),
    }
}

/// A function as a runner of one stage.
pub(crate) struct Function {
    id: Str,
    chart: Chart,
}

impl Function {
    pub(crate) fn new(
        id: Str,
        apply: impl Fn(Value) -> Result<Value, StageError> + Send + Sync + 'static,
    ) -> Result<Self, ComposeError> {
        let apply = Arc::new(apply);
        let apply = stage(FUNCTION, move |cx: Cx| {
            let apply = Arc::clone(&apply);
            async move { apply(cx.value()) }
        })
        .named("Apply")
        .describe("applies a function");
        let chart = Chart::builder(apply).build().map_err(ComposeError::Chart)?;
        Ok(Self { id, chart })
    }

    /// Hands its message on.
    pub(crate) fn identity(id: &str) -> Result<Self, ComposeError> {
        Self::of_text(id, |text| Ok(text.to_owned()))
    }

    /// From text to text.
    pub(crate) fn of_text(
        id: &str,
        apply: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
    ) -> Result<Self, ComposeError> {
        Self::new(id.into(), move |value| {
            // What travels beside a message is not the function's business.
            let text = value.get(MESSAGE).unwrap_or(&value).as_str().unwrap_or_default();
            apply(text).map(Value::from).map_err(StageError::new)
        })
    }
}

impl ChartRunner for Function {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.id
    }

    fn spec(&self) -> Chart {
        self.chart.clone()
    }

    fn ui_group(&self) -> UiGroup {
        UiGroup::new("Function", self.id.clone(), self.id.clone(), None)
    }
}

impl<A, B> fmt::Debug for WorkflowBuilder<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowBuilder")
            .field("id", &self.id)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

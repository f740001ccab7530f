//! One of several members, chosen by predicates over the message (AGT-124).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::payload::CompositionRouteDecided;
use agentfootprint_record::events::words::CompositionKind;
use footprint::chart::{Branch, Chart, Decider, Mount};
use footprint::decide::Decision;
use footprint::error::StageError;
use footprint::scope::Scope;
use footprint::value::{Object, Str, Value};

use super::cx::{Cx, finalize, stage};
use super::errors::{ComposeError, ComposeErrors, Problems, chart_failed};
use super::member::{DECISION, Member, PRIOR_DECISION, message, one, text_answer, text_in};
use super::open::Facts;
use super::runner::{Core, Parts, runner};
use super::sequence::{decision_in, decision_out};
use crate::injection::panic_text;
use crate::run::{ChartRunner, RunNeeds, UiGroup};

const KIND: &str = "Conditional";
/// What the chosen branch answered.
const RESULT: &str = "result";
/// Ids of the composition's own stages.
const OWN: [&str; 3] = [ids::SEED, ids::ENGINE_ROUTE, ids::FINALIZE];

/// Decides over the message, and for a model-routed swarm over the decision that travels with it.
type Predicate = Arc<dyn Fn(&str, Option<&Value>) -> bool + Send + Sync>;

/// Exactly one of its branches: the first whose predicate holds, else the one that is there for everything else.
///
/// ```
/// # use agentfootprint_core::llm::*;
/// # struct Say(&'static str);
/// # #[async_trait::async_trait]
/// # impl LlmProvider for Say {
/// #     fn name(&self) -> &str { "say" }
/// #     fn capabilities(&self, _: &str) -> Capabilities { Capabilities::default() }
/// #     async fn complete(&self, _: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> {
/// #         Ok(LlmResponse::text(self.0))
/// #     }
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use agentfootprint_core::compose::{Conditional, LlmCall};
/// use agentfootprint_core::run::Runner;
///
/// let billing = LlmCall::builder(Say("It is paid."), "m").id("billing").build()?;
/// let other = LlmCall::builder(Say("Tell me more."), "m").id("other").build()?;
/// let desk = Conditional::builder("desk")
///     .when("billing", |message| message.contains("invoice"), billing)
///     .otherwise("other", other)
///     .build()?;
/// assert_eq!(desk.run("My invoice?").await.into_answer()?, "It is paid.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Conditional {
    core: Core<String>,
}

runner!(Conditional, String);

impl Conditional {
    /// Begins the declaration of a conditional with this id.
    pub fn builder(id: impl Into<Str>) -> ConditionalBuilder {
        ConditionalBuilder {
            id: id.into(),
            name: KIND.into(),
            branches: Vec::new(),
            otherwise: None,
            carries: false,
            problems: Problems::default(),
        }
    }
}

/// Declares a conditional.
#[must_use = "a conditional exists only after `build()`"]
pub struct ConditionalBuilder {
    id: Str,
    name: Str,
    branches: Vec<(Member, Predicate)>,
    otherwise: Option<Member>,
    carries: bool,
    problems: Problems,
}

impl ConditionalBuilder {
    /// Its name; `Conditional` by default.
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = name.into();
        self
    }

    /// A branch for messages of which `predicate` holds. Predicates are pure and run in declaration order.
    pub fn when(
        self,
        id: impl Into<Str>,
        predicate: impl Fn(&str) -> bool + Send + Sync + 'static,
        runner: impl ChartRunner,
    ) -> Self {
        self.branch(Member::new(id, runner), Arc::new(move |message, _| predicate(message)))
    }

    pub(crate) fn branch(mut self, member: Member, predicate: Predicate) -> Self {
        self.problems.id("branch", &member.id, true, &OWN);
        self.branches.push((member, predicate));
        self
    }

    /// The branch for every other message. Declare it once.
    pub fn otherwise(mut self, id: impl Into<Str>, runner: impl ChartRunner) -> Self {
        let member = Member::new(id, runner);
        self.problems.id("branch", &member.id, true, &OWN);
        if self.otherwise.replace(member).is_some() {
            self.problems.twice("otherwise");
        }
        self
    }

    /// A router's decision travels with the text.
    pub(crate) fn carrying_decisions(mut self) -> Self {
        self.carries = true;
        self
    }

    /// Checks everything and answers the conditional.
    ///
    /// # Errors
    /// All problems of the declaration, each naming the offender and the fix.
    pub fn build(self) -> Result<Conditional, ComposeErrors> {
        let mut problems = self.problems;
        problems.runner_id("conditional", &self.id);
        if self.branches.is_empty() {
            problems.push(ComposeError::Missing {
                what: "`when` branch",
                fix: "declare at least one with `when`",
            });
        }
        let ids_of = self.branches.iter().map(|(member, _)| &member.id);
        problems.duplicates("branch", ids_of.chain(self.otherwise.as_ref().map(|member| &member.id)));
        let Some(otherwise) = self.otherwise else {
            problems.push(ComposeError::Missing {
                what: "`otherwise` branch",
                fix: "declare with `otherwise` what happens when no predicate holds",
            });
            problems.into_result(KIND, &self.id)?;
            return Err(ComposeErrors::new(KIND, &self.id, Vec::new()));
        };
        problems.into_result(KIND, &self.id)?;
        let facts =
            Facts { kind: CompositionKind::Conditional, id: self.id.clone(), name: self.name.clone() };
        let fallback = otherwise.id.clone();
        let members: Vec<Member> =
            self.branches.iter().map(|(member, _)| member.clone()).chain([otherwise]).collect();
        let mut extra = Object::new();
        extra.insert("fallbackId", Value::from(fallback.clone()));
        let mut group = UiGroup::new(KIND, self.id.clone(), self.name, Some(Value::from(extra)));
        let mut needs = RunNeeds::default();
        let rules: Arc<[(Str, Predicate)]> =
            self.branches.into_iter().map(|(member, predicate)| (member.id, predicate)).collect();
        let mut route = route(&facts, rules, fallback.clone());
        for member in &members {
            group.members.push((member.id.clone(), member.runner.ui_group()));
            needs = needs.with(member.runner.needs());
            route = route.branch(Branch::mount(mount(member, self.carries)));
        }
        let chart = Chart::builder(seed(&facts, members.len()))
            .decide(route.default_branch(fallback))
            .then(finalize(&facts, RESULT))
            .build()
            .map_err(chart_failed(KIND, &self.id))?;
        Ok(Conditional { core: Core::of_text(Parts { word: KIND, chart, group, needs }) })
    }
}

fn seed(facts: &Facts, count: usize) -> footprint::chart::Stage {
    let facts = facts.clone();
    stage(ids::SEED, move |cx: Cx| {
        let facts = facts.clone();
        async move {
            cx.enter(&facts, count);
            cx.set(state::USER_MESSAGE, cx.message())
        }
    })
    .named("Initialize")
    .describe(format!("Conditional: one of {count} branches"))
}

fn route(facts: &Facts, rules: Arc<[(Str, Predicate)]>, fallback: Str) -> Decider {
    let id = facts.id.clone();
    Decider::new(ids::ENGINE_ROUTE, move |scope: Scope| {
        let (bound, rules, fallback, id) =
            (Cx::bind(scope, ids::ENGINE_ROUTE), Arc::clone(&rules), fallback.clone(), id.clone());
        async move { choose(&bound?, &rules, &fallback, &id) }
    })
    .named("Route")
    .describe("the first branch whose predicate holds")
}

fn choose(cx: &Cx, rules: &[(Str, Predicate)], fallback: &Str, id: &Str) -> Result<Decision, StageError> {
    let text = cx.text(state::USER_MESSAGE)?;
    let decision = cx.decision()?;
    let mut chosen = None;
    for (branch, predicate) in rules {
        let holds =
            catch_unwind(AssertUnwindSafe(|| predicate(&text, decision.as_ref()))).map_err(|panic| {
                let said = panic_text(panic.as_ref());
                StageError::named(
                    "Panic",
                    format!("the predicate of branch `{branch}` of Conditional `{id}` panicked: {said}"),
                )
            })?;
        if holds {
            chosen = Some(branch);
            break;
        }
    }
    cx.emit(|| {
        let rationale = match chosen {
            Some(branch) => format!("the predicate of `{branch}` holds"),
            None => format!("no predicate holds: `{fallback}`"),
        };
        CompositionRouteDecided::new(id.clone(), chosen.unwrap_or(fallback).clone())
            .rationale(Str::from(rationale))
    });
    Ok(Decision::from(chosen.unwrap_or(fallback).clone()))
}

fn mount(member: &Member, carries: bool) -> Mount {
    let id = member.id.clone();
    member.mount(
        member.id.clone(),
        move |parent| {
            let mut args = message(text_in(parent, state::USER_MESSAGE));
            if carries && let Some(decision) = decision_in(parent) {
                args.insert(PRIOR_DECISION, decision);
            }
            Ok(args)
        },
        move |answer, end, _| {
            let mut out = one(RESULT, text_answer(&answer, || format!("branch `{id}`"))?);
            if carries && let Some(decision) = decision_out(end) {
                out.insert(DECISION, decision);
            }
            Ok(out)
        },
    )
}

impl std::fmt::Debug for ConditionalBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConditionalBuilder")
            .field("id", &self.id)
            .field("branches", &self.branches.len())
            .finish_non_exhaustive()
    }
}

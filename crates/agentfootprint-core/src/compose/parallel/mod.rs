//! Members side by side, and one answer made of theirs (AGT-121…123).

mod merge;

use std::sync::Arc;

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::payload::{BranchRef, CompositionForkStart};
use agentfootprint_record::events::words::CompositionKind;
use footprint::chart::{Chart, FanOut, ForkChild, Mount, Stage};
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};

pub(crate) use self::merge::Merge;
pub use self::merge::{BranchOutcomes, BranchResults, LlmMerge};
use super::cx::{Cx, stage};
use super::errors::{ComposeError, ComposeErrors, Problems, chart_failed};
use super::member::{Member, message, one, text_answer, text_in};
use super::open::Facts;
use super::runner::{Core, Parts, runner};
use crate::run::{ChartRunner, RunNeeds, UiGroup};

const KIND: &str = "Parallel";
/// What the branches answered, by branch id.
const BRANCH_RESULTS: &str = "branchResults";
/// Ids of the composition's own stages.
const OWN: [&str; 2] = [ids::SEED, ids::MERGE_STAGE];

/// The message of a branch, out of the message of the parallel.
pub(crate) type BranchInput = Arc<dyn Fn(&str, usize) -> Result<Str, StageError> + Send + Sync>;

/// Branches that run side by side; a function or a model makes one answer of theirs.
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
/// use agentfootprint_core::compose::{LlmCall, Parallel};
/// use agentfootprint_core::run::Runner;
///
/// let pro = LlmCall::builder(Say("It warms."), "m").id("pro").build()?;
/// let con = LlmCall::builder(Say("It stains."), "m").id("con").build()?;
/// let panel = Parallel::builder("panel")
///     .branch("pro", pro)
///     .branch("con", con)
///     .merge_with_fn(|results| format!("+ {}\n- {}", results["pro"], results["con"]))
///     .build()?;
/// assert_eq!(panel.run("Tea?").await.into_answer()?, "+ It warms.\n- It stains.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Parallel {
    core: Core<String>,
}

runner!(Parallel, String);

impl Parallel {
    /// Begins the declaration of a parallel with this id.
    pub fn builder(id: impl Into<Str>) -> ParallelBuilder {
        ParallelBuilder {
            id: id.into(),
            name: KIND.into(),
            branches: Vec::new(),
            merge: None,
            input: None,
            problems: Problems::default(),
        }
    }
}

/// How a branch takes part.
#[derive(Clone, Debug, Default)]
pub struct BranchOptions {
    name: Option<Str>,
    required: bool,
}

impl BranchOptions {
    /// A branch named by its id, whose failure the merge judges.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name it is shown under.
    #[must_use]
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Its failure fails the run, also under a tolerant merge. When every branch is required, the first failure cancels the
    /// others.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

#[derive(Clone)]
pub(crate) struct DeclaredBranch {
    member: Member,
    required: bool,
}

/// Declares a parallel.
#[must_use = "a parallel exists only after `build()`"]
pub struct ParallelBuilder {
    id: Str,
    name: Str,
    branches: Vec<DeclaredBranch>,
    merge: Option<Merge>,
    input: Option<BranchInput>,
    problems: Problems,
}

impl ParallelBuilder {
    /// Its name; `Parallel` by default.
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = name.into();
        self
    }

    /// One more branch.
    pub fn branch(self, id: impl Into<Str>, runner: impl ChartRunner) -> Self {
        self.branch_with(id, runner, BranchOptions::default())
    }

    /// One more branch, with options.
    pub fn branch_with(
        mut self,
        id: impl Into<Str>,
        runner: impl ChartRunner,
        options: BranchOptions,
    ) -> Self {
        let member = Member::new(id, runner).named(options.name);
        self.problems.id("branch", &member.id, true, &OWN);
        self.branches.push(DeclaredBranch { member, required: options.required });
        self
    }

    /// The answer is what this makes of the branches' texts. Every branch must answer: a failed one fails the run, and the
    /// error names all that failed.
    pub fn merge_with_fn<R: Into<Str>>(
        self,
        merge: impl Fn(&BranchResults) -> R + Send + Sync + 'static,
    ) -> Self {
        self.merge_try(move |results| Ok(merge(results).into()))
    }

    /// The same with a function that may refuse to merge; its text becomes the run's error.
    pub fn merge_with_fn_try<R: Into<Str>, E: std::fmt::Display>(
        self,
        merge: impl Fn(&BranchResults) -> Result<R, E> + Send + Sync + 'static,
    ) -> Self {
        self.merge_try(move |results| merge(results).map(Into::into).map_err(|error| error.to_string()))
    }

    fn merge_try(
        self,
        merge: impl Fn(&BranchResults) -> Result<Str, String> + Send + Sync + 'static,
    ) -> Self {
        self.merging("merge_with_fn", Merge::Fn(Arc::new(move |results, _| merge(results))))
    }

    /// The answer is what a model makes of the branches' texts. Every branch must answer.
    pub fn merge_with_llm(self, merge: LlmMerge) -> Self {
        self.merging("merge_with_llm", Merge::Llm(Arc::new(merge)))
    }

    /// The answer is what this makes of what became of each branch: failures are for the function to judge. A branch that is
    /// [required](BranchOptions::required) still fails the run.
    pub fn merge_outcomes_with_fn<R: Into<Str>>(
        self,
        merge: impl Fn(&BranchOutcomes) -> R + Send + Sync + 'static,
    ) -> Self {
        let merge = move |outcomes: &BranchOutcomes| merge(outcomes).into();
        self.merging("merge_outcomes_with_fn", Merge::Outcomes(Arc::new(merge)))
    }

    pub(crate) fn merging(mut self, method: &'static str, merge: Merge) -> Self {
        if let Some(first) = &self.merge {
            let first = first.method();
            self.problems.push(ComposeError::TwoMerges { first, second: method });
        } else {
            self.merge = Some(merge);
        }
        self
    }

    /// Each branch gets its own message out of the parallel's.
    pub(crate) fn branch_input(mut self, input: BranchInput) -> Self {
        self.input = Some(input);
        self
    }

    /// Checks everything and answers the parallel.
    ///
    /// # Errors
    /// All problems of the declaration, each naming the offender and the fix.
    pub fn build(self) -> Result<Parallel, ComposeErrors> {
        let mut problems = self.problems;
        problems.runner_id("parallel", &self.id);
        let found = self.branches.len();
        if found < 2 {
            let (what, instead) = ("branches", "the branch alone");
            problems.push(ComposeError::TooFew { what, found, needed: 2, instead });
        }
        problems.duplicates("branch", self.branches.iter().map(|branch| &branch.member.id));
        let Some(merge) = self.merge else {
            problems.push(ComposeError::Missing {
                what: "merge",
                fix: "declare one of `merge_with_fn`, `merge_with_llm` and `merge_outcomes_with_fn`",
            });
            problems.into_result(KIND, &self.id)?;
            return Err(ComposeErrors::new(KIND, &self.id, Vec::new()));
        };
        if let Merge::Llm(merge) = &merge {
            merge.check(&mut problems);
        }
        problems.into_result(KIND, &self.id)?;
        let facts = Facts { kind: CompositionKind::Parallel, id: self.id.clone(), name: self.name.clone() };
        let mut extra = Object::new();
        extra.insert("mergeStrategy", Value::from(merge.word()));
        let mut group = UiGroup::new(KIND, self.id.clone(), self.name, Some(Value::from(extra)));
        let mut needs = RunNeeds::default();
        let mut children: Vec<ForkChild> = Vec::with_capacity(found);
        for (at, branch) in self.branches.iter().enumerate() {
            group.members.push((branch.member.id.clone(), branch.member.runner.ui_group()));
            needs = needs.with(branch.member.runner.needs());
            children.push(mount(&branch.member, at, self.input.clone()).into());
        }
        let all_required = self.branches.iter().all(|branch| branch.required);
        let mode = if all_required { FanOut::FailFast } else { FanOut::AllSettled };
        let branches: Arc<[DeclaredBranch]> = self.branches.into();
        let chart = Chart::builder(seed(&facts, &branches))
            .fork(children, mode)
            .then(merge::stage(&facts, branches, merge))
            .build()
            .map_err(chart_failed(KIND, &self.id))?;
        Ok(Parallel { core: Core::of_text(Parts { word: KIND, chart, group, needs }) })
    }
}

fn seed(facts: &Facts, branches: &Arc<[DeclaredBranch]>) -> Stage {
    let (facts, branches) = (facts.clone(), Arc::clone(branches));
    let count = branches.len();
    stage(ids::SEED, move |cx: Cx| {
        let (facts, branches) = (facts.clone(), Arc::clone(&branches));
        async move {
            cx.enter(&facts, branches.len());
            cx.set(state::USER_MESSAGE, cx.message())?;
            cx.set(BRANCH_RESULTS, Object::new())?;
            cx.emit(|| {
                let refs = branches
                    .iter()
                    .map(|branch| BranchRef::new(branch.member.id.clone(), branch.member.name.clone()))
                    .collect::<Vec<_>>();
                CompositionForkStart::new(facts.id.clone(), refs)
            });
            Ok(())
        }
    })
    .named("Initialize")
    .describe(format!("Parallel: {count} branches side by side"))
}

fn mount(member: &Member, at: usize, input: Option<BranchInput>) -> Mount {
    let id = member.id.clone();
    member.mount(
        member.id.clone(),
        move |parent| {
            let text = text_in(parent, state::USER_MESSAGE);
            Ok(message(match &input {
                Some(input) => input(&text, at)?,
                None => text,
            }))
        },
        move |answer, _, _| {
            let text = text_answer(&answer, || format!("branch `{id}`"))?;
            Ok(one(BRANCH_RESULTS, one(&id, text)))
        },
    )
}

impl std::fmt::Debug for ParallelBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParallelBuilder")
            .field("id", &self.id)
            .field("branches", &self.branches.len())
            .finish_non_exhaustive()
    }
}

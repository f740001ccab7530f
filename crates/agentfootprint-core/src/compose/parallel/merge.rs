//! The stage that makes one answer of the branches'.

use std::ops::Index;
use std::sync::Arc;

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::payload::CompositionMergeEnd;
use agentfootprint_record::events::words::{CompositionStatus, MergeStrategy, Word as _};
use agentfootprint_record::text::{SUMMARY_CHARS, summary};
use footprint::chart::Stage;
use footprint::error::StageError;
use footprint::value::{Str, Value};
use indexmap::IndexMap;

use super::super::cx::{self, Cx};
use super::super::errors::{ComposeError, Problems};
use super::super::model;
use super::super::open::{BranchFailure, Facts};
use super::super::sections::section;
use super::{BRANCH_RESULTS, DeclaredBranch};
use crate::llm::{LlmProvider, LlmRequest};

/// The texts of all branches, in declaration order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchResults {
    texts: IndexMap<Str, Str>,
    /// What an id that is none reads as.
    none: Str,
}

impl BranchResults {
    /// The text of a branch, when there is one of this id.
    pub fn get(&self, id: &str) -> Option<&str> {
        self.texts.get(id).map(|text| &**text)
    }

    /// Branch ids with their texts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(id, text)| (&**id, &**text))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

impl Index<&str> for BranchResults {
    type Output = Str;

    /// The text of a branch; of an id that is none, the empty text.
    fn index(&self, id: &str) -> &Str {
        self.texts.get(id).unwrap_or(&self.none)
    }
}

impl FromIterator<(Str, Str)> for BranchResults {
    fn from_iter<I: IntoIterator<Item = (Str, Str)>>(entries: I) -> Self {
        Self { texts: entries.into_iter().collect(), none: Str::default() }
    }
}

/// What became of each branch, in declaration order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchOutcomes(IndexMap<Str, Result<Str, BranchFailure>>);

impl BranchOutcomes {
    /// The text of a branch or how it failed, when there is one of this id.
    pub fn get(&self, id: &str) -> Option<Result<&str, &BranchFailure>> {
        self.0.get(id).map(|outcome| outcome.as_ref().map(|text| &**text))
    }

    /// Branch ids with what became of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Result<&str, &BranchFailure>)> {
        self.0.iter().map(|(id, outcome)| (&**id, outcome.as_ref().map(|text| &**text)))
    }

    /// The texts of those that answered.
    pub fn answered(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter_map(|(id, outcome)| Some((id, outcome.ok()?)))
    }
}

/// A merge by a model: the prompt, then one section per branch.
#[derive(Clone)]
pub struct LlmMerge {
    provider: Arc<dyn LlmProvider>,
    model: Str,
    prompt: Str,
    temperature: Option<f64>,
    max_tokens: Option<u64>,
    /// Which branches it is shown; all by default.
    shown: Option<Shown>,
}

type Shown = Arc<dyn Fn(&str, usize) -> bool + Send + Sync>;

impl LlmMerge {
    /// Asks `model` of `provider` to merge as `prompt` says.
    pub fn new(provider: impl LlmProvider, model: impl Into<Str>, prompt: impl Into<Str>) -> Self {
        Self {
            provider: Arc::new(provider),
            model: model.into(),
            prompt: prompt.into(),
            temperature: None,
            max_tokens: None,
            shown: None,
        }
    }

    /// Sampling temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Limit of the answer, in tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    pub(crate) fn showing(mut self, shown: impl Fn(&str, usize) -> bool + Send + Sync + 'static) -> Self {
        self.shown = Some(Arc::new(shown));
        self
    }

    pub(super) fn check(&self, problems: &mut Problems) {
        if self.model.trim().is_empty() {
            problems.push(ComposeError::Empty { option: "model of the merge" });
        }
        if self.prompt.trim().is_empty() {
            problems.push(ComposeError::Empty { option: "prompt of the merge" });
        }
        if let Some(temperature) = self.temperature {
            let bad = !temperature.is_finite() || temperature < 0.0;
            problems.check(bad, "temperature", temperature, "it must be a finite number of at least 0");
        }
    }

    fn request(&self, message: &str, results: &BranchResults) -> LlmRequest {
        let mut text = String::from(&*self.prompt);
        for (at, (id, answer)) in results.iter().enumerate() {
            if self.shown.as_ref().is_none_or(|shown| shown(message, at)) {
                text.push_str("\n\n");
                text.push_str(&section("branch", Some(id), answer));
            }
        }
        let mut request = LlmRequest::new(self.model.clone()).user(text);
        request.temperature = self.temperature;
        request.max_tokens = self.max_tokens;
        request
    }
}

impl std::fmt::Debug for LlmMerge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LlmMerge").field("model", &self.model).finish_non_exhaustive()
    }
}

/// Merges texts; the message of the parallel is there for merges that belong to a pattern.
type MergeFn = Arc<dyn Fn(&BranchResults, &str) -> Result<Str, String> + Send + Sync>;

/// How a parallel merges.
#[derive(Clone)]
pub(crate) enum Merge {
    Fn(MergeFn),
    Llm(Arc<LlmMerge>),
    Outcomes(Arc<dyn Fn(&BranchOutcomes) -> Str + Send + Sync>),
}

impl Merge {
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Fn(_) => "merge_with_fn",
            Self::Llm(_) => "merge_with_llm",
            Self::Outcomes(_) => "merge_outcomes_with_fn",
        }
    }

    fn strategy(&self) -> MergeStrategy {
        match self {
            Self::Fn(_) => MergeStrategy::Fn,
            Self::Llm(_) => MergeStrategy::Llm,
            Self::Outcomes(_) => MergeStrategy::OutcomesFn,
        }
    }

    pub(super) fn word(&self) -> Str {
        self.strategy().shared_word()
    }
}

pub(super) fn stage(facts: &Facts, branches: Arc<[DeclaredBranch]>, merge: Merge) -> Stage {
    let facts = facts.clone();
    cx::stage(ids::MERGE_STAGE, move |cx: Cx| {
        let (facts, branches, merge) = (facts.clone(), Arc::clone(&branches), merge.clone());
        async move {
            match merged(&cx, &facts, &branches, &merge).await {
                Ok(answer) => {
                    cx.exit(&facts, CompositionStatus::Ok);
                    Ok(Value::from(answer))
                }
                Err(error) => Err(cx.fail(&facts, error)),
            }
        }
    })
    .named("Merge")
    .describe("makes one answer of the branches'")
}

async fn merged(
    cx: &Cx,
    facts: &Facts,
    branches: &[DeclaredBranch],
    merge: &Merge,
) -> Result<Str, StageError> {
    let outcomes = outcomes(cx, branches)?;
    let tolerant = matches!(merge, Merge::Outcomes(_));
    let fatal: Vec<(&str, &BranchFailure)> = branches
        .iter()
        .filter(|branch| branch.required || !tolerant)
        .filter_map(|branch| {
            let (id, outcome) = outcomes.0.get_key_value(&branch.member.id)?;
            Some((&**id, outcome.as_ref().err()?))
        })
        .collect();
    if !fatal.is_empty() {
        return Err(branches_failed(facts, branches.len(), &fatal));
    }
    let answered = outcomes.answered().count();
    let message = cx.text(state::USER_MESSAGE)?;
    let texts =
        || outcomes.answered().map(|(id, text)| (Str::from(id), Str::from(text))).collect::<BranchResults>();
    let answer: Str = match merge {
        Merge::Outcomes(merge) => merge(&outcomes),
        Merge::Fn(merge) => merge(&texts(), &message)
            .map_err(|why| StageError::new(format!("the merge of Parallel `{}` failed: {why}", facts.id)))?,
        Merge::Llm(merge) => {
            let request = merge.request(&message, &texts());
            model::ask(&cx.run, cx.address(), &merge.provider, &request, false).await?.content.into()
        }
    };
    cx.emit(|| {
        CompositionMergeEnd::new(
            facts.id.clone(),
            merge.strategy(),
            Str::from(summary(&answer, SUMMARY_CHARS)),
            answered,
            branches.len(),
        )
    });
    Ok(answer)
}

/// A branch that left a text answered; any other failed.
fn outcomes(cx: &Cx, branches: &[DeclaredBranch]) -> Result<BranchOutcomes, StageError> {
    let results = cx.object(BRANCH_RESULTS)?;
    let outcome = |id: &Str| match results.get(id).and_then(Value::as_shared_str) {
        Some(text) => Ok(text.clone()),
        None => Err(cx.run.compositions.failure(cx.prefix(), id).unwrap_or_else(|| BranchFailure {
            name: "Error".into(),
            message: "the branch left no answer".into(),
        })),
    };
    Ok(BranchOutcomes(
        branches.iter().map(|branch| (branch.member.id.clone(), outcome(&branch.member.id))).collect(),
    ))
}

/// The failure that names every branch that failed.
fn branches_failed(facts: &Facts, of: usize, failed: &[(&str, &BranchFailure)]) -> StageError {
    let list: Vec<String> = failed.iter().map(|(id, failure)| format!("`{id}` ({failure})")).collect();
    StageError::new(format!(
        "Parallel `{}`: {} of {of} branches failed: {}",
        facts.id,
        failed.len(),
        list.join(", ")
    ))
}

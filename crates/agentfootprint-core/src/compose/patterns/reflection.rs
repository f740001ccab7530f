//! Propose, criticise, propose again.

use footprint::value::Str;

use super::super::errors::{ComposeErrors, Problems};
use super::super::looping::Loop;
use super::super::sections::{appended, last_section};
use super::super::sequence::Sequence;
use super::{Model, debug_by_id, id_and_name, part};
use crate::llm::LlmProvider;

const KIND: &str = "Reflection";
const PROPOSAL: &str = "proposal";
const CRITIQUE: &str = "critique";

/// A proposer and a critic in turn, until the critique says that it is done. It answers the last proposal.
///
/// Both see the task and everything that was proposed and criticised so far.
#[derive(Clone)]
#[must_use = "a pattern runs only after `build()`"]
pub struct Reflection {
    model: Model,
    id: Str,
    name: Str,
    proposer: Str,
    critic: Str,
    done: Str,
    max_iterations: u32,
}

impl Reflection {
    /// At most three rounds; a critique that contains `DONE` ends them.
    pub fn new(
        provider: impl LlmProvider,
        model: impl Into<Str>,
        proposer_prompt: impl Into<Str>,
        critic_prompt: impl Into<Str>,
    ) -> Self {
        Self {
            model: Model::new(provider, model),
            id: "reflection".into(),
            name: KIND.into(),
            proposer: proposer_prompt.into(),
            critic: critic_prompt.into(),
            done: "DONE".into(),
            max_iterations: 3,
        }
    }

    id_and_name!();

    /// What a critique contains when nothing is left to criticise.
    pub fn until_critique_contains(mut self, word: impl Into<Str>) -> Self {
        self.done = word.into();
        self
    }

    /// The most rounds, 1 to 500.
    pub fn max_iterations(mut self, rounds: u32) -> Self {
        self.max_iterations = rounds;
        self
    }

    /// Checks everything and answers the runner.
    ///
    /// # Errors
    /// All problems of the declaration.
    pub fn build(self) -> Result<Loop, ComposeErrors> {
        let mut problems = Problems::default();
        let rounds = self.max_iterations;
        problems.check(rounds == 0 || rounds > 500, "max_iterations", rounds, "it must be between 1 and 500");
        if self.done.is_empty() {
            problems.push(super::super::ComposeError::Empty { option: "until_critique_contains" });
        }
        let propose = part(self.model.call("propose", &self.proposer), &mut problems);
        let critique = part(self.model.call("critique", &self.critic), &mut problems);
        problems.into_result(KIND, &self.id)?;
        let (Some(propose), Some(critique)) = (propose, critique) else {
            return Err(ComposeErrors::new(KIND, &self.id, Vec::new()));
        };
        let body = Sequence::builder("refine-body")
            .step_folding("propose", propose, |before, answer| appended(before, PROPOSAL, answer))
            .step_folding("critique", critique, |before, answer| appended(before, CRITIQUE, answer))
            .build()?;
        let done = self.done;
        Loop::builder(self.id)
            .name(self.name)
            .repeat(body)
            .times(rounds)
            .until(move |at| {
                last_section(at.latest_output, CRITIQUE).is_some_and(|text| text.contains(&*done))
            })
            .finishing(|text| last_section(text, PROPOSAL).unwrap_or_default())
            .build()
    }
}

debug_by_id!(Reflection);

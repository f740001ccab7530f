//! A proposer against a critic; a judge decides.

use std::sync::Arc;

use footprint::value::Str;

use super::super::errors::{ComposeErrors, Problems};
use super::super::looping::Loop;
use super::super::sections::appended;
use super::super::sequence::Sequence;
use super::{Model, debug_by_id, id_and_name, part};
use crate::llm::LlmProvider;
use crate::run::ChartRunner;

const KIND: &str = "Debate";

/// Rounds of proposal and critique, then a judge who gets the task and the whole transcript in order. It answers the judge's
/// text.
#[derive(Clone)]
#[must_use = "a pattern runs only after `build()`"]
pub struct Debate {
    model: Model,
    id: Str,
    name: Str,
    proposer: Str,
    critic: Str,
    judge: Str,
    rounds: u32,
}

impl Debate {
    /// One round.
    pub fn new(
        provider: impl LlmProvider,
        model: impl Into<Str>,
        proposer_prompt: impl Into<Str>,
        critic_prompt: impl Into<Str>,
        judge_prompt: impl Into<Str>,
    ) -> Self {
        Self {
            model: Model::new(provider, model),
            id: "debate".into(),
            name: KIND.into(),
            proposer: proposer_prompt.into(),
            critic: critic_prompt.into(),
            judge: judge_prompt.into(),
            rounds: 1,
        }
    }

    id_and_name!();

    /// How many rounds, 1 to 500.
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    /// Checks everything and answers the runner.
    ///
    /// # Errors
    /// All problems of the declaration.
    pub fn build(self) -> Result<Sequence, ComposeErrors> {
        let mut problems = Problems::default();
        let rounds = self.rounds;
        problems.check(rounds == 0 || rounds > 500, "rounds", rounds, "it must be between 1 and 500");
        let proposer = part(self.model.call("proposer", &self.proposer), &mut problems);
        let critic = part(self.model.call("critic", &self.critic), &mut problems);
        let judge = part(self.model.call("judge", &self.judge), &mut problems);
        problems.into_result(KIND, &self.id)?;
        let (Some(proposer), Some(critic), Some(judge)) = (proposer, critic, judge) else {
            return Err(ComposeErrors::new(KIND, &self.id, Vec::new()));
        };
        let round = Sequence::builder("debate-round")
            .step_folding("proposer", proposer, |before, answer| appended(before, "proposal", answer))
            .step_folding("critic", critic, |before, answer| appended(before, "critique", answer))
            .build()?;
        let rounds: Arc<dyn ChartRunner> = if rounds == 1 {
            Arc::new(round)
        } else {
            Arc::new(Loop::builder("debate-rounds").repeat(round).times(rounds).build()?)
        };
        Sequence::builder(self.id).name(self.name).step("rounds", rounds).step("judge", judge).build()
    }
}

debug_by_id!(Debate);

//! Several thoughts at each depth; the best go on.

use std::sync::Arc;

use footprint::value::Str;

use super::super::errors::{ComposeErrors, Problems};
use super::super::looping::Loop;
use super::super::parallel::{BranchResults, Parallel};
use super::{Model, debug_by_id, id_and_name, part};
use crate::llm::LlmProvider;

const KIND: &str = "TreeOfThoughts";
const TEMPERATURE: f64 = 0.7;
/// Between thoughts that go on together.
const RULE: &str = "\n\n---\n\n";

type Score = Arc<dyn Fn(&str) -> f64 + Send + Sync>;

/// At each depth the model thinks several thoughts; the best-scored are the input of the next depth, and of the last depth the
/// answer. Thoughts of equal score keep their order; a score that is no number is refused.
#[derive(Clone)]
#[must_use = "a pattern runs only after `build()`"]
pub struct TreeOfThoughts {
    model: Model,
    id: Str,
    name: Str,
    prompt: Str,
    depth: u32,
    branching: usize,
    beam: usize,
    temperature: f64,
    score: Score,
}

impl TreeOfThoughts {
    /// `branching_factor` thoughts at each of `depth` depths, one of which goes on.
    pub fn new(
        provider: impl LlmProvider,
        model: impl Into<Str>,
        thought_prompt: impl Into<Str>,
        depth: u32,
        branching_factor: usize,
        score: impl Fn(&str) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            model: Model::new(provider, model),
            id: "tot".into(),
            name: KIND.into(),
            prompt: thought_prompt.into(),
            depth,
            branching: branching_factor,
            beam: 1,
            temperature: TEMPERATURE,
            score: Arc::new(score),
        }
    }

    id_and_name!();

    /// How many thoughts go on; 1 to the branching factor.
    pub fn beam_width(mut self, beam: usize) -> Self {
        self.beam = beam;
        self
    }

    /// Sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = temperature;
        self
    }

    /// Checks everything and answers the runner.
    ///
    /// # Errors
    /// All problems of the declaration.
    pub fn build(self) -> Result<Loop, ComposeErrors> {
        let mut problems = Problems::default();
        problems.check(
            self.depth == 0 || self.depth > 500,
            "depth",
            self.depth,
            "it must be between 1 and 500",
        );
        problems.check(self.branching < 2, "branching_factor", self.branching, "it must be at least 2");
        problems.check(
            self.beam == 0 || self.beam > self.branching,
            "beam_width",
            self.beam,
            "it must be at least 1 and at most the branching factor",
        );
        let mut parallel = Parallel::builder("thoughts");
        for at in 0..self.branching.max(1) {
            let id = format!("thought-{at}");
            let call = self.model.call(id.clone(), &self.prompt).temperature(self.temperature);
            match part(call, &mut problems) {
                Some(call) => parallel = parallel.branch(id, call),
                None => break,
            }
        }
        problems.into_result(KIND, &self.id)?;
        let (score, beam) = (self.score, self.beam);
        let thoughts =
            parallel.merge_with_fn_try(move |results| survivors(results, &*score, beam)).build()?;
        Loop::builder(self.id).name(self.name).repeat(thoughts).times(self.depth).build()
    }
}

fn survivors(results: &BranchResults, score: &dyn Fn(&str) -> f64, beam: usize) -> Result<String, String> {
    let mut scored = Vec::with_capacity(results.len());
    for (id, text) in results.iter() {
        let score = score(text);
        if score.is_nan() {
            return Err(format!("the score of thought `{id}` is not a number"));
        }
        scored.push((score, text));
    }
    // A stable sort: equal scores keep their order. No score is NaN, so every pair compares.
    scored.sort_by(|(left, _), (right, _)| right.partial_cmp(left).unwrap_or(std::cmp::Ordering::Equal));
    let best: Vec<&str> = scored.into_iter().take(beam).map(|(_, text)| text).collect();
    Ok(best.join(RULE))
}

debug_by_id!(TreeOfThoughts);

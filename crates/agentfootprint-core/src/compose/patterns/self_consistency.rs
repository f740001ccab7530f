//! The same question several times; the majority answers.

use std::sync::Arc;

use footprint::value::Str;

use super::super::errors::{ComposeErrors, Problems};
use super::super::parallel::{BranchResults, Parallel};
use super::{Model, debug_by_id, id_and_name, part};
use crate::llm::LlmProvider;

const KIND: &str = "SelfConsistency";
const TEMPERATURE: f64 = 0.7;
const SAMPLES: usize = 3;

type Extract = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Asks a model the same question several times and answers what most samples say; of equally many, what was said first.
///
/// ```
/// # use agentfootprint_core::llm::*;
/// # struct Say(std::sync::Mutex<Vec<&'static str>>);
/// # #[async_trait::async_trait]
/// # impl LlmProvider for Say {
/// #     fn name(&self) -> &str { "say" }
/// #     fn capabilities(&self, _: &str) -> Capabilities { Capabilities::default() }
/// #     async fn complete(&self, _: &LlmRequest, _: &CallCx) -> Result<LlmResponse, LlmError> {
/// #         Ok(LlmResponse::text(self.0.lock().unwrap().remove(0)))
/// #     }
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let model = Say(std::sync::Mutex::new(vec!["42", " 42", "17"]));
/// use agentfootprint_core::compose::patterns::SelfConsistency;
/// use agentfootprint_core::run::Runner;
///
/// let vote = SelfConsistency::new(model, "m", "Answer with a number.").samples(3).build()?;
/// assert_eq!(vote.run("6 times 7?").await.into_answer()?, "42");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a pattern runs only after `build()`"]
pub struct SelfConsistency {
    model: Model,
    prompt: Str,
    id: Str,
    name: Str,
    samples: usize,
    temperature: f64,
    extract: Extract,
}

impl SelfConsistency {
    /// Three samples of `model` at temperature 0.7, their texts trimmed.
    pub fn new(provider: impl LlmProvider, model: impl Into<Str>, system_prompt: impl Into<Str>) -> Self {
        Self {
            model: Model::new(provider, model),
            prompt: system_prompt.into(),
            id: "self-consistency".into(),
            name: KIND.into(),
            samples: SAMPLES,
            temperature: TEMPERATURE,
            extract: Arc::new(|text| text.trim().to_owned()),
        }
    }

    id_and_name!();

    /// How often the question is asked; at least 2.
    pub fn samples(mut self, samples: usize) -> Self {
        self.samples = samples;
        self
    }

    /// Sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = temperature;
        self
    }

    /// What of a text counts as its vote.
    pub fn extract(mut self, extract: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.extract = Arc::new(extract);
        self
    }

    /// Checks everything and answers the runner.
    ///
    /// # Errors
    /// All problems of the declaration.
    pub fn build(self) -> Result<Parallel, ComposeErrors> {
        let mut problems = Problems::default();
        problems.check(self.samples < 2, "samples", self.samples, "it must be at least 2");
        let mut parallel = Parallel::builder(self.id.clone()).name(self.name.clone());
        // One part that cannot be built says it once.
        for at in 0..self.samples.max(1) {
            let id = format!("sample-{at}");
            let call = self.model.call(id.clone(), &self.prompt).temperature(self.temperature);
            match part(call, &mut problems) {
                Some(call) => parallel = parallel.branch(id, call),
                None => break,
            }
        }
        problems.into_result(KIND, &self.id)?;
        let extract = self.extract;
        parallel.merge_with_fn(move |results| majority(results, &*extract)).build()
    }
}

fn majority(results: &BranchResults, extract: &dyn Fn(&str) -> String) -> String {
    let mut votes: Vec<(String, usize)> = Vec::new();
    for (_, text) in results.iter() {
        let vote = extract(text);
        match votes.iter_mut().find(|(known, _)| *known == vote) {
            Some((_, count)) => *count += 1,
            None => votes.push((vote, 1)),
        }
    }
    let most = votes.iter().map(|(_, count)| *count).max().unwrap_or_default();
    votes.into_iter().find(|(_, count)| *count == most).map(|(vote, _)| vote).unwrap_or_default()
}

debug_by_id!(SelfConsistency);

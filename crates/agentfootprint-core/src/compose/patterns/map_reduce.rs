//! Split, work on the parts, join.

use std::sync::Arc;

use footprint::error::StageError;
use footprint::value::{Array, Str, Value};

use super::super::errors::{ComposeError, ComposeErrors, Problems};
use super::super::parallel::{BranchResults, LlmMerge, Merge, Parallel};
use super::super::sequence::Sequence;
use super::super::workflow::Function;
use super::{Model, debug_by_id, id_and_name, part};
use crate::llm::LlmProvider;

const KIND: &str = "MapReduce";

type Split = Arc<dyn Fn(&str, usize) -> Vec<String> + Send + Sync>;
type ReduceFn = Arc<dyn Fn(&[&str]) -> String + Send + Sync>;

#[derive(Clone)]
enum Reduce {
    Fn(ReduceFn),
    Llm(LlmMerge),
}

/// Splits a text into shards, gives each to the model, and joins what it made of them.
///
/// Shards travel as a JSON list, so no text in them can be taken for a boundary. A split into fewer shards than declared leaves
/// the rest out — nothing is sent for them —, and one into more is refused.
#[derive(Clone)]
#[must_use = "a pattern runs only after `build()`"]
pub struct MapReduce {
    model: Model,
    id: Str,
    name: Str,
    prompt: Str,
    shards: usize,
    split: Split,
    reduce: Option<Reduce>,
}

impl MapReduce {
    /// Gives each of at most `shard_count` shards to the model, with this system prompt.
    pub fn new(
        provider: impl LlmProvider,
        model: impl Into<Str>,
        map_prompt: impl Into<Str>,
        shard_count: usize,
        split: impl Fn(&str, usize) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            model: Model::new(provider, model),
            id: "mapreduce".into(),
            name: KIND.into(),
            prompt: map_prompt.into(),
            shards: shard_count,
            split: Arc::new(split),
            reduce: None,
        }
    }

    id_and_name!();

    /// Joins with a function over the answers, in order.
    pub fn reduce_with_fn(mut self, reduce: impl Fn(&[&str]) -> String + Send + Sync + 'static) -> Self {
        self.reduce = Some(Reduce::Fn(Arc::new(reduce)));
        self
    }

    /// Joins with a model.
    pub fn reduce_with_llm(mut self, merge: LlmMerge) -> Self {
        self.reduce = Some(Reduce::Llm(merge));
        self
    }

    /// Checks everything and answers the runner.
    ///
    /// # Errors
    /// All problems of the declaration.
    pub fn build(self) -> Result<Sequence, ComposeErrors> {
        let mut problems = Problems::default();
        problems.check(self.shards < 2, "shard_count", self.shards, "it must be at least 2");
        let Some(reduce) = self.reduce else {
            let fix = "declare one of `reduce_with_fn` and `reduce_with_llm`";
            problems.push(ComposeError::Missing { what: "reduce", fix });
            problems.into_result(KIND, &self.id)?;
            return Err(ComposeErrors::new(KIND, &self.id, Vec::new()));
        };
        let mut parallel = Parallel::builder(format!("{}-map", self.id))
            .branch_input(Arc::new(|message, at| shard(message, at).ok_or_else(no_list)))
            .merging("reduce", merge(reduce));
        for at in 0..self.shards.max(1) {
            let id = format!("shard-{at}");
            match part(self.model.call(id.clone(), &self.prompt).skipping_blank(), &mut problems) {
                Some(call) => parallel = parallel.branch(id, call),
                None => break,
            }
        }
        let (count, cut) = (self.shards, self.split);
        let split = Function::of_text("split", move |text| listed(&cut(text, count), count));
        let split = split.map_err(|problem| problems.push(problem)).ok();
        problems.into_result(KIND, &self.id)?;
        let Some(split) = split else { return Err(ComposeErrors::new(KIND, &self.id, Vec::new())) };
        Sequence::builder(self.id.clone())
            .name(self.name)
            .step("split", split)
            .step(format!("{}-map", self.id), parallel.build()?)
            .build()
    }
}

fn merge(reduce: Reduce) -> Merge {
    match reduce {
        Reduce::Fn(reduce) => Merge::Fn(Arc::new(move |results: &BranchResults, message| {
            let texts: Vec<&str> = results
                .iter()
                .enumerate()
                .filter(|(at, _)| is_filled(message, *at))
                .map(|(_, (_, text))| text)
                .collect();
            Ok(reduce(&texts).into())
        })),
        Reduce::Llm(merge) => Merge::Llm(Arc::new(merge.showing(is_filled))),
    }
}

/// The shards as a JSON list of the declared length.
fn listed(shards: &[String], count: usize) -> Result<String, String> {
    if shards.len() > count {
        return Err(format!(
            "the split made {} shards, {count} are declared; nothing is cut off: declare more or split into fewer",
            shards.len()
        ));
    }
    let padded = shards.iter().map(String::as_str).chain(std::iter::repeat("")).take(count);
    Ok(Value::from(padded.map(Value::from).collect::<Array>()).to_string())
}

fn shard(message: &str, at: usize) -> Option<Str> {
    let list: Vec<String> = serde_json::from_str(message).ok()?;
    list.into_iter().nth(at).map(Str::from)
}

fn is_filled(message: &str, at: usize) -> bool {
    shard(message, at).is_some_and(|shard| !shard.trim().is_empty())
}

fn no_list() -> StageError {
    StageError::new("the shards did not arrive as a list")
}

debug_by_id!(MapReduce);

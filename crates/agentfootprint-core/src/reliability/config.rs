//! The declaration of a gate, and what a build refuses (LLM-119).

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use footprint::value::Str;

use super::breaker::{BreakerConfig, BreakerStore};
use super::rules::{Post, Pre, Rule};
use crate::agent::AgentBuildError;
use crate::agent::cache::{CacheStrategy, for_provider};
use crate::llm::{LlmError, LlmProvider, LlmRequest, LlmResponse};

/// When the pieces of a streamed answer are handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// At once. What a reader has seen is never asked for again, so a failure after the first piece ends the run.
    Live,
    /// When the answer is accepted, in order. Every decision stays open until then.
    Hold,
}

/// A provider of the gate's list, with the model it is asked for.
#[derive(Clone)]
pub struct FailoverEntry {
    pub(super) name: Str,
    pub(super) provider: Arc<dyn LlmProvider>,
    pub(super) model: Str,
}

impl FailoverEntry {
    /// An entry under its own name, which is the one on the record.
    pub fn new(name: impl Into<Str>, provider: impl LlmProvider, model: impl Into<Str>) -> Self {
        Self { name: name.into(), provider: Arc::new(provider), model: model.into() }
    }
}

impl fmt::Debug for FailoverEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailoverEntry")
            .field("name", &self.name)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

pub(super) type FallbackFn = Arc<
    dyn Fn(
            LlmRequest,
            Option<LlmError>,
        ) -> Pin<Box<dyn Future<Output = Result<LlmResponse, LlmError>> + Send>>
        + Send
        + Sync,
>;

/// The rules around an agent's model calls. See the [module](crate::reliability) for an example.
#[derive(Clone, Default)]
#[must_use]
pub struct Reliability {
    pre: Vec<Rule<Pre>>,
    post: Vec<Rule<Post>>,
    providers: Vec<FailoverEntry>,
    breaker: Option<BreakerConfig>,
    store: Option<Arc<BreakerStore>>,
    fallback: Option<FallbackFn>,
    delivery: Option<Delivery>,
}

impl Reliability {
    /// A gate without rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more rule before each call. When none matches, the call is made.
    pub fn pre_check(mut self, rule: Rule<Pre>) -> Self {
        self.pre.push(rule);
        self
    }

    /// One more rule after each call. When none matches, an answer is taken and a failure ends the run.
    pub fn post(mut self, rule: Rule<Post>) -> Self {
        self.post.push(rule);
        self
    }

    /// Who is asked, in this order; by default the agent's own provider and nobody else.
    pub fn providers(mut self, entries: impl IntoIterator<Item = FailoverEntry>) -> Self {
        self.providers.extend(entries);
        self
    }

    /// Stops asking a provider that keeps failing: a breaker for each.
    pub fn circuit_breaker(mut self, config: BreakerConfig) -> Self {
        self.breaker = Some(config);
        self
    }

    /// Where the breakers' state is kept; by default with the agent, for all its runs.
    pub fn breaker_store(mut self, store: Arc<BreakerStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Answers in the model's place when a rule says so: from the request, and the failure if there was one. An answer of
    /// another model should say in `served_by` who gave it, so that its cost is filed under the right name.
    pub fn fallback<F, Fut>(mut self, fallback: F) -> Self
    where
        F: Fn(LlmRequest, Option<LlmError>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<LlmResponse, LlmError>> + Send + 'static,
    {
        self.fallback = Some(Arc::new(move |request, error| Box::pin(fallback(request, error))));
        self
    }

    /// When pieces are handed on: at once by default, held back when the agent has an output contract.
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = Some(delivery);
        self
    }

    /// What can never work, each with the way out.
    fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut refuse = |bad: bool, why: &str| {
            if bad {
                found.push(why.to_owned());
            }
        };
        let nothing = self.pre.is_empty()
            && self.post.is_empty()
            && self.providers.is_empty()
            && self.fallback.is_none()
            && self.breaker.is_none();
        refuse(nothing, "the gate has no rules and nothing else; add a rule or leave it out");
        let decides = |decision| self.post.iter().any(|rule| rule.then == decision);
        refuse(
            decides(Post::RetryOther) && self.providers.len() < 2,
            "a rule says `retry-other`, which needs at least two `providers`",
        );
        refuse(
            decides(Post::Fallback) && self.fallback.is_none(),
            "a rule says `fallback`, but there is none; give one with `Reliability::fallback`",
        );
        if let Some(config) = &self.breaker {
            refuse(
                config.failure_threshold == 0,
                "failure_threshold is 0; a breaker that opens without a failure never lets a call through",
            );
            refuse(
                config.half_open_successes == 0,
                "half_open_successes is 0; at least one call must show that it works again",
            );
        }
        refuse(
            self.store.is_some() && self.breaker.is_none(),
            "a breaker store without `circuit_breaker` is never used; configure the breaker or leave the store out",
        );
        let mut known = HashSet::new();
        for entry in &self.providers {
            refuse(
                entry.name.trim().is_empty(),
                "a provider has no name; it is recorded and keys its breaker",
            );
            refuse(entry.model.trim().is_empty(), "a provider has no model; name one its vendor knows");
            if !known.insert(&entry.name) {
                let why = format!(
                    "two providers are called `{}`; names are unique, the record and the breakers go by them",
                    entry.name
                );
                refuse(true, &why);
            }
        }
        found
    }
}

impl fmt::Debug for Reliability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reliability")
            .field("pre", &self.pre)
            .field("post", &self.post)
            .field("providers", &self.providers)
            .field("breaker", &self.breaker)
            .field("fallback", &self.fallback.is_some())
            .field("delivery", &self.delivery)
            .finish_non_exhaustive()
    }
}

/// Who is asked in a pass.
pub(crate) struct Entry {
    pub(crate) name: Str,
    pub(crate) provider: Arc<dyn LlmProvider>,
    /// `None` = the model of the run.
    pub(crate) model: Option<Str>,
    pub(crate) strategy: Arc<dyn CacheStrategy>,
}

impl Entry {
    /// The request with this entry's model.
    pub(crate) fn request(&self, base: &LlmRequest) -> LlmRequest {
        let mut request = base.clone();
        if let Some(model) = &self.model {
            request.model = model.clone();
        }
        request
    }
}

/// A gate that passed its checks.
pub(crate) struct Gate {
    pub(super) pre: Vec<Rule<Pre>>,
    pub(super) post: Vec<Rule<Post>>,
    /// At least one.
    pub(crate) entries: Vec<Entry>,
    pub(super) breaker: Option<(BreakerConfig, Arc<BreakerStore>)>,
    pub(super) fallback: Option<FallbackFn>,
    pub(super) delivery: Delivery,
}

/// What the agent brings along.
pub(crate) struct Surroundings<'a> {
    pub(crate) provider: &'a Arc<dyn LlmProvider>,
    pub(crate) strategy: &'a Arc<dyn CacheStrategy>,
    /// The strategy was chosen for the agent, not by what its provider declares.
    pub(crate) strategy_is_chosen: bool,
    pub(crate) has_contract: bool,
}

/// Names every problem of a declared gate.
pub(crate) fn check(declared: Option<&Reliability>, problems: &mut Vec<AgentBuildError>) {
    let found = declared.map(Reliability::problems).unwrap_or_default();
    problems.extend(found.into_iter().map(|why| AgentBuildError::Reliability { why }));
}

impl Gate {
    pub(crate) fn of(declared: Reliability, around: &Surroundings<'_>) -> Self {
        let own = || Entry {
            name: around.provider.name().into(),
            provider: Arc::clone(around.provider),
            model: None,
            strategy: Arc::clone(around.strategy),
        };
        let listed = declared.providers.into_iter().map(|entry| Entry {
            strategy: if around.strategy_is_chosen {
                Arc::clone(around.strategy)
            } else {
                for_provider(&entry.provider.capabilities(&entry.model))
            },
            name: entry.name,
            provider: entry.provider,
            model: Some(entry.model),
        });
        let mut entries: Vec<Entry> = listed.collect();
        if entries.is_empty() {
            entries.push(own());
        }
        let default = if around.has_contract { Delivery::Hold } else { Delivery::Live };
        Self {
            pre: declared.pre,
            post: declared.post,
            entries,
            breaker: declared.breaker.map(|config| (config, declared.store.unwrap_or_default())),
            fallback: declared.fallback,
            delivery: declared.delivery.unwrap_or(default),
        }
    }
}

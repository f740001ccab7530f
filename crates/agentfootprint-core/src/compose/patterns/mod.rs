//! Ready-made compositions (AGT §19). Each declaration builds an ordinary runner: nothing here is a stage of a new kind.
//!
//! | pattern | what it does | builds |
//! |---|---|---|
//! | [`SelfConsistency`] | asks the same question several times, the majority answers | [`Parallel`](super::Parallel) |
//! | [`Reflection`] | proposes, criticises, proposes again | [`Loop`](super::Loop) |
//! | [`Debate`] | proposer against critic, a judge decides | [`Sequence`](super::Sequence) |
//! | [`MapReduce`] | splits, works on the parts, joins | [`Sequence`](super::Sequence) |
//! | [`TreeOfThoughts`] | several thoughts at each depth, the best go on | [`Loop`](super::Loop) |
//! | [`Swarm`] | agents hand a message on to one another, a function says to whom | [`Loop`](super::Loop) |
//! | [`LlmSwarm`] | the same, a model says to whom | [`Sequence`](super::Sequence) |

mod debate;
mod llm_swarm;
mod map_reduce;
mod reflection;
mod self_consistency;
mod swarm;
mod thoughts;

use std::sync::Arc;

use footprint::value::Str;

pub use self::debate::Debate;
pub use self::llm_swarm::LlmSwarm;
pub use self::map_reduce::MapReduce;
pub use self::reflection::Reflection;
pub use self::self_consistency::SelfConsistency;
pub use self::swarm::{Swarm, SwarmAgent};
pub use self::thoughts::TreeOfThoughts;
use super::errors::Problems;
use super::llm_call::{LlmCall, LlmCallBuilder};
use crate::llm::LlmProvider;

/// The model all calls of a pattern go to.
#[derive(Clone)]
struct Model {
    provider: Arc<dyn LlmProvider>,
    model: Str,
}

impl Model {
    fn new(provider: impl LlmProvider, model: impl Into<Str>) -> Self {
        Self { provider: Arc::new(provider), model: model.into() }
    }

    fn call(&self, id: impl Into<Str>, system: &Str) -> LlmCallBuilder {
        LlmCall::builder(Arc::clone(&self.provider), self.model.clone()).id(id).system(system.clone())
    }
}

/// A part that is built, or a problem that is noted.
fn part(call: LlmCallBuilder, problems: &mut Problems) -> Option<LlmCall> {
    match call.build() {
        Ok(call) => Some(call),
        Err(errors) => {
            problems.push(errors.into());
            None
        }
    }
}

macro_rules! debug_by_id {
    ($name:ident) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).field("id", &self.id).finish_non_exhaustive()
            }
        }
    };
}
use debug_by_id;

macro_rules! id_and_name {
    () => {
        /// Its id.
        pub fn id(mut self, id: impl Into<footprint::value::Str>) -> Self {
            self.id = id.into();
            self
        }

        /// Its name.
        pub fn name(mut self, name: impl Into<footprint::value::Str>) -> Self {
            self.name = name.into();
            self
        }
    };
}
use id_and_name;

//! Agents hand a message on to one another; a model says to whom.
//!
//! The decision travels in state beside the message, from the router's mount to the conditional that obeys it (AGT-133): two
//! runs of equal messages cannot take each other's, and a run that pauses in between still has it when it goes on.

use std::sync::Arc;

use footprint::value::Str;

use super::super::conditional::Conditional;
use super::super::errors::{ComposeErrors, Problems};
use super::super::looping::Loop;
use super::super::member::Member;
use super::super::router::{DONE, LlmRouter, LlmRouterBuilder, RosterEntry, routed_to};
use super::super::sequence::Sequence;
use super::super::workflow::Function;
use super::swarm::{KIND, MAX_HANDOFFS, SwarmAgent, check_agents};
use super::{debug_by_id, id_and_name};
use crate::llm::LlmProvider;

/// Agents that take turns: after every turn a router asks a model who is next.
#[must_use = "a pattern runs only after `build()`"]
pub struct LlmSwarm {
    id: Str,
    name: Str,
    router: LlmRouterBuilder,
    agents: Vec<SwarmAgent>,
    max_handoffs: u32,
}

impl LlmSwarm {
    /// Routed by `model` of `provider`.
    pub fn new(provider: impl LlmProvider, model: impl Into<Str>) -> Self {
        Self {
            id: "swarm".into(),
            name: KIND.into(),
            router: LlmRouter::builder(provider, model),
            agents: Vec::new(),
            max_handoffs: MAX_HANDOFFS,
        }
    }

    id_and_name!();

    /// One more agent, with what it is good at.
    pub fn agent(mut self, agent: SwarmAgent, description: impl Into<Str>) -> Self {
        self.router = self.router.agent(RosterEntry::new(agent.id.clone(), description));
        self.agents.push(agent);
        self
    }

    /// What the router should go by besides the descriptions.
    pub fn instruction(mut self, text: impl Into<Str>) -> Self {
        self.router = self.router.instruction(text);
        self
    }

    /// Sampling temperature of the router; 0 by default.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.router = self.router.temperature(temperature);
        self
    }

    /// The most agent turns, 1 to 500; 10 by default.
    pub fn max_handoffs(mut self, turns: u32) -> Self {
        self.max_handoffs = turns;
        self
    }

    /// Checks everything and answers the runner.
    ///
    /// # Errors
    /// All problems of the declaration.
    pub fn build(self) -> Result<Sequence, ComposeErrors> {
        let mut problems = Problems::default();
        check_agents(&self.agents, self.max_handoffs, &mut problems);
        let router = self.router.build().map_err(|errors| problems.push(errors.into())).ok();
        let done = Function::identity(DONE).map_err(|problem| problems.push(problem)).ok();
        problems.into_result(KIND, &self.id)?;
        let (Some(router), Some(done)) = (router, done) else {
            return Err(ComposeErrors::new(KIND, &self.id, Vec::new()));
        };
        let mut body = Conditional::builder("route").carrying_decisions();
        for agent in &self.agents {
            let id = agent.id.clone();
            let turn = Sequence::builder(format!("turn-{id}"))
                .carrying_decisions()
                .step("agent", Arc::clone(&agent.runner))
                .step("router", router.clone())
                .build()?;
            let member = Member::new(id.clone(), turn).named(agent.name.clone());
            body = body.branch(member, Arc::new(move |_, decision| routed_to(decision) == Some(&*id)));
        }
        let body = body.otherwise(DONE, done).build()?;
        let turns = Loop::builder(format!("{}-turns", self.id))
            .carrying_decisions()
            .repeat(body)
            .times(self.max_handoffs)
            .until_before_limits()
            .until(|at| routed_to(at.decision).is_none())
            .build()?;
        Sequence::builder(self.id)
            .name(self.name)
            .carrying_decisions()
            .step("router", router)
            .step("swarm", turns)
            .build()
    }
}

debug_by_id!(LlmSwarm);

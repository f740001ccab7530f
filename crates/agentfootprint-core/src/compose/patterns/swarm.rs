//! Agents hand a message on to one another; a function says to whom.

use std::sync::Arc;

use footprint::value::Str;

use super::super::conditional::Conditional;
use super::super::errors::{ComposeError, ComposeErrors, Problems};
use super::super::looping::Loop;
use super::super::member::Member;
use super::super::router::DONE;
use super::super::workflow::Function;
use super::{debug_by_id, id_and_name};
use crate::run::ChartRunner;

pub(super) const KIND: &str = "Swarm";
pub(super) const MAX_HANDOFFS: u32 = 10;

type Route = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A member of a swarm.
#[derive(Clone)]
pub struct SwarmAgent {
    pub(super) id: Str,
    pub(super) name: Option<Str>,
    pub(super) runner: Arc<dyn ChartRunner>,
}

impl SwarmAgent {
    /// The agent that is routed to by this id.
    pub fn new(id: impl Into<Str>, runner: impl ChartRunner) -> Self {
        Self { id: id.into(), name: None, runner: Arc::new(runner) }
    }

    /// The name it is shown under.
    #[must_use]
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = Some(name.into());
        self
    }
}

debug_by_id!(SwarmAgent);

/// Agents that take turns: `route` looks at the latest message and names who is next, or nobody when it is done. It answers the
/// last output. After `max_handoffs` turns it ends as well, with the status `budget_exhausted`.
#[must_use = "a pattern runs only after `build()`"]
pub struct Swarm {
    id: Str,
    name: Str,
    agents: Vec<SwarmAgent>,
    route: Route,
    max_handoffs: u32,
}

impl Swarm {
    /// `route` must be pure; an id it names that is no agent's routes to nobody.
    pub fn new<R: Into<String>>(route: impl Fn(&str) -> Option<R> + Send + Sync + 'static) -> Self {
        Self {
            id: "swarm".into(),
            name: KIND.into(),
            agents: Vec::new(),
            route: Arc::new(move |message| route(message).map(Into::into)),
            max_handoffs: MAX_HANDOFFS,
        }
    }

    id_and_name!();

    /// One more agent.
    pub fn agent(mut self, agent: SwarmAgent) -> Self {
        self.agents.push(agent);
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
    pub fn build(self) -> Result<Loop, ComposeErrors> {
        let mut problems = Problems::default();
        check_agents(&self.agents, self.max_handoffs, &mut problems);
        let done = Function::identity(DONE).map_err(|problem| problems.push(problem)).ok();
        problems.into_result(KIND, &self.id)?;
        let Some(done) = done else { return Err(ComposeErrors::new(KIND, &self.id, Vec::new())) };
        let mut body = Conditional::builder("route");
        for agent in &self.agents {
            let (route, id) = (Arc::clone(&self.route), agent.id.clone());
            let member = Member::new(agent.id.clone(), Arc::clone(&agent.runner)).named(agent.name.clone());
            body = body.branch(member, Arc::new(move |message, _| route(message).as_deref() == Some(&*id)));
        }
        let body = body.otherwise(DONE, done).build()?;
        let ids: Vec<Str> = self.agents.iter().map(|agent| agent.id.clone()).collect();
        let route = self.route;
        Loop::builder(self.id)
            .name(self.name)
            .repeat(body)
            .times(self.max_handoffs)
            .until_before_limits()
            .until(move |at| {
                route(at.latest_output).is_none_or(|next| !ids.iter().any(|known| **known == *next))
            })
            .build()
    }
}

pub(super) fn check_agents(agents: &[SwarmAgent], max_handoffs: u32, problems: &mut Problems) {
    let found = agents.len();
    if found < 2 {
        let (what, instead) = ("agents", "the agent alone");
        problems.push(ComposeError::TooFew { what, found, needed: 2, instead });
    }
    for agent in agents.iter().filter(|agent| &*agent.id == DONE) {
        let why = "stands for nobody; choose another name".to_owned();
        problems.push(ComposeError::BadId { what: "agent", id: agent.id.to_string(), why });
    }
    problems.duplicates("agent", agents.iter().map(|agent| &agent.id));
    problems.check(
        max_handoffs == 0 || max_handoffs > 500,
        "max_handoffs",
        max_handoffs,
        "it must be between 1 and 500",
    );
}

debug_by_id!(Swarm);

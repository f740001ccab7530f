//! Several strategies as one (REC-69).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use agentfootprint_record::events::{Event, Pattern};
use async_trait::async_trait;
use futures_util::FutureExt as _;

use super::life::{Hold, StrategyLife};
use super::strategy::{CostStrategy, CostTick, ObservabilityStrategy, Strategy, StrategyCapabilities};
use crate::injection::BoxError;

/// Strategies that are told the same things; see [`compose`] and [`compose_cost`].
pub struct Composed<S: ?Sized> {
    life: StrategyLife,
    members: Vec<Member<S>>,
}

struct Member<S: ?Sized> {
    strategy: Arc<S>,
    patterns: Vec<Pattern>,
    hold: Hold,
}

impl<S: ?Sized> std::fmt::Debug for Composed<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.members.iter().map(|member| member.hold.strategy().name()).collect();
        f.debug_tuple("Composed").field(&names).finish()
    }
}

/// Tells every event to each of them; one that fails keeps nothing from the others.
pub fn compose(
    members: impl IntoIterator<Item = Arc<dyn ObservabilityStrategy>>,
) -> Arc<Composed<dyn ObservabilityStrategy>> {
    let members = members.into_iter().map(|strategy| Member {
        patterns: strategy.relevant_event_types(),
        hold: Hold::of(Arc::clone(&strategy) as Arc<dyn Strategy>),
        strategy,
    });
    Arc::new(Composed { life: StrategyLife::new(), members: members.collect() })
}

/// Tells every tick to each of them; one that fails keeps nothing from the others.
pub fn compose_cost(
    members: impl IntoIterator<Item = Arc<dyn CostStrategy>>,
) -> Arc<Composed<dyn CostStrategy>> {
    let members = members.into_iter().map(|strategy| Member {
        patterns: strategy.relevant_event_types(),
        hold: Hold::of(Arc::clone(&strategy) as Arc<dyn Strategy>),
        strategy,
    });
    Arc::new(Composed { life: StrategyLife::new(), members: members.collect() })
}

impl<S: ?Sized> Composed<S> {
    fn each(&self, wants: impl Fn(&Member<S>) -> bool, tell: impl Fn(&S)) {
        for member in self.members.iter().filter(|member| wants(member)) {
            if catch_unwind(AssertUnwindSafe(|| tell(&member.strategy))).is_err() {
                let strategy = member.hold.strategy();
                strategy.life().fail(strategy.name(), "it panicked over what it was told");
            }
        }
    }
}

#[async_trait]
impl<S: ?Sized + Strategy> Strategy for Composed<S> {
    fn name(&self) -> &str {
        "composed"
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    fn relevant_event_types(&self) -> Vec<Pattern> {
        self.members.iter().flat_map(|member| member.patterns.iter().cloned()).collect()
    }

    fn capabilities(&self) -> StrategyCapabilities {
        self.members
            .iter()
            .fold(StrategyCapabilities::default(), |all, member| all.or(member.strategy.capabilities()))
    }

    /// Flushes all of them, also when one fails; the error names each that did.
    async fn flush(&self) -> Result<(), BoxError> {
        let mut failed = Vec::new();
        for member in &self.members {
            let error = match AssertUnwindSafe(member.strategy.flush()).catch_unwind().await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it panicked while it was flushed".to_owned(),
            };
            member.strategy.life().fail(member.strategy.name(), &error);
            failed.push(format!("`{}`: {error}", member.strategy.name()));
        }
        if failed.is_empty() { Ok(()) } else { Err(failed.join("; ").into()) }
    }

    /// Lets go of each; whoever nobody else holds is stopped.
    fn stop(&self) {
        self.members.iter().for_each(|member| {
            member.hold.stop();
        });
    }
}

impl ObservabilityStrategy for Composed<dyn ObservabilityStrategy> {
    fn export_event(&self, event: &Arc<Event>) {
        let wants = |member: &Member<dyn ObservabilityStrategy>| {
            member.patterns.iter().any(|pattern| pattern.matches(&event.kind))
        };
        self.each(wants, |strategy| strategy.export_event(event));
    }
}

impl CostStrategy for Composed<dyn CostStrategy> {
    fn record_cost(&self, tick: &CostTick) {
        self.each(|_| true, |strategy| strategy.record_cost(tick));
    }
}

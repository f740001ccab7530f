//! Circuit breakers per provider. Their state outlives calls and runs: it belongs to the agent, or to a store that several agents
//! share (LLM-130).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use footprint::value::Str;
use serde::{Deserialize, Serialize};

use crate::llm::{CircuitState, LlmError, LlmErrorKind};
use crate::run::{lock, millis};

/// When a breaker opens and closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct BreakerConfig {
    pub(super) failure_threshold: u32,
    pub(super) cooldown: Duration,
    pub(super) half_open_successes: u32,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self { failure_threshold: 5, cooldown: Duration::from_secs(30), half_open_successes: 2 }
    }
}

impl BreakerConfig {
    /// Opens after 5 failures in a row, lets one call through 30 s later, closes after 2 such calls succeeded.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many failures in a row open it.
    pub const fn failure_threshold(mut self, failures: u32) -> Self {
        self.failure_threshold = failures;
        self
    }

    /// How long it stays open before a call is let through.
    pub const fn cooldown(mut self, cooldown: Duration) -> Self {
        self.cooldown = cooldown;
        self
    }

    /// How many such calls must succeed before it closes.
    pub const fn half_open_successes(mut self, successes: u32) -> Self {
        self.half_open_successes = successes;
        self
    }
}

/// What a breaker remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerSnapshot {
    /// Closed, open or half open.
    pub state: CircuitState,
    /// Failures in a row while closed.
    pub consecutive_failures: u32,
    /// Successes in a row while half open.
    pub consecutive_successes: u32,
    /// When it opened last, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<u64>,
}

impl Default for BreakerSnapshot {
    fn default() -> Self {
        Self {
            state: CircuitState::Closed,
            consecutive_failures: 0,
            consecutive_successes: 0,
            opened_at: None,
        }
    }
}

#[derive(Default)]
struct Breaker {
    kept: BreakerSnapshot,
    /// While half open one call at a time is let through.
    probing: bool,
}

/// The breakers of an agent, by the name of the provider. An agent makes its own unless it is given one.
///
/// ```
/// use agentfootprint_core::reliability::BreakerStore;
/// let store = BreakerStore::new();
/// assert!(store.snapshot().is_empty());
/// let again = BreakerStore::restored(store.snapshot());
/// assert!(again.snapshot().is_empty());
/// ```
#[derive(Default)]
pub struct BreakerStore(Mutex<BTreeMap<Str, Breaker>>);

impl BreakerStore {
    /// A store without breakers: all circuits are closed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes on from what an earlier store remembered.
    pub fn restored(kept: BTreeMap<Str, BreakerSnapshot>) -> Self {
        let breakers = kept.into_iter().map(|(name, kept)| (name, Breaker { kept, probing: false }));
        Self(Mutex::new(breakers.collect()))
    }

    /// What all breakers remember now; serializable, so that an application can keep it.
    pub fn snapshot(&self) -> BTreeMap<Str, BreakerSnapshot> {
        lock(&self.0).iter().map(|(name, breaker)| (name.clone(), breaker.kept.clone())).collect()
    }

    pub(super) fn states(&self) -> BTreeMap<Str, CircuitState> {
        lock(&self.0).iter().map(|(name, breaker)| (name.clone(), breaker.kept.state.clone())).collect()
    }

    /// Lets a call through, or says that the circuit is open.
    pub(super) fn admit(
        self: &Arc<Self>,
        name: &Str,
        config: &BreakerConfig,
        now_ms: u64,
    ) -> Result<Admitted, LlmError> {
        let mut breakers = lock(&self.0);
        let breaker = breakers.entry(name.clone()).or_default();
        let retry_at = breaker.kept.opened_at.unwrap_or_default().saturating_add(millis(config.cooldown));
        let probe = match breaker.kept.state {
            CircuitState::Open if now_ms >= retry_at => {
                breaker.kept.state = CircuitState::HalfOpen;
                breaker.kept.consecutive_successes = 0;
                true
            }
            CircuitState::HalfOpen if !breaker.probing => true,
            CircuitState::Open | CircuitState::HalfOpen => return Err(open(name, retry_at)),
            _ => false,
        };
        breaker.probing |= probe;
        Ok(Admitted { store: Arc::clone(self), name: name.clone(), probe })
    }
}

fn open(name: &Str, retry_at: u64) -> LlmError {
    let kind = LlmErrorKind::CircuitOpen { retry_at, last_error: None };
    LlmError::new(
        kind,
        name.to_string(),
        "the circuit is open; the provider is not asked until it cooled down",
    )
}

impl fmt::Debug for BreakerStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BreakerStore").field(&self.snapshot()).finish()
    }
}

/// A call that was let through. Dropped without a result — cancelled — it leaves the counts as they were.
pub(super) struct Admitted {
    store: Arc<BreakerStore>,
    name: Str,
    probe: bool,
}

impl Admitted {
    /// Books how the call ended. A cancelled call and one that was refused before sending say nothing about the provider.
    pub(super) fn book(self, failure: Option<&LlmError>, config: &BreakerConfig, now_ms: u64) {
        if failure.is_some_and(|error| error.kind == LlmErrorKind::Aborted || error.refused_before_send()) {
            return;
        }
        let mut breakers = lock(&self.store.0);
        let Some(breaker) = breakers.get_mut(&self.name) else { return };
        let kept = &mut breaker.kept;
        match (&kept.state, failure) {
            (CircuitState::Closed, None) => kept.consecutive_failures = 0,
            (CircuitState::Closed, Some(_)) => {
                kept.consecutive_failures = kept.consecutive_failures.saturating_add(1);
                if kept.consecutive_failures >= config.failure_threshold {
                    kept.state = CircuitState::Open;
                    kept.opened_at = Some(now_ms);
                }
            }
            (CircuitState::HalfOpen, None) if self.probe => {
                kept.consecutive_successes = kept.consecutive_successes.saturating_add(1);
                if kept.consecutive_successes >= config.half_open_successes {
                    *kept = BreakerSnapshot::default();
                }
            }
            (CircuitState::HalfOpen, Some(_)) if self.probe => {
                kept.state = CircuitState::Open;
                kept.opened_at = Some(now_ms);
            }
            // A call from before the circuit opened says nothing new.
            _ => {}
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        if self.probe
            && let Some(breaker) = lock(&self.store.0).get_mut(&self.name)
        {
            breaker.probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down() -> LlmError {
        LlmError::new(LlmErrorKind::Transient, "a", "down")
    }

    /// Proves LLM-130.
    #[test]
    fn a_breaker_opens_cools_down_probes_one_at_a_time_and_closes() {
        let (store, config, name) = (Arc::new(BreakerStore::new()), BreakerConfig::new(), Str::from("a"));
        for _ in 0..5 {
            store.admit(&name, &config, 0).unwrap().book(Some(&down()), &config, 100);
        }
        let rejected = store.admit(&name, &config, 30_099).err().unwrap();
        assert!(matches!(rejected.kind, LlmErrorKind::CircuitOpen { retry_at: 30_100, .. }));
        let probe = store.admit(&name, &config, 30_100).unwrap();
        assert!(store.admit(&name, &config, 30_100).is_err(), "one probe at a time");
        probe.book(None, &config, 30_101);
        drop(store.admit(&name, &config, 30_102).unwrap());
        store.admit(&name, &config, 30_103).unwrap().book(None, &config, 30_104);
        assert_eq!(store.snapshot()[&name], BreakerSnapshot::default());
    }

    /// Proves LLM-130: a failed probe opens it again, and what is kept survives its JSON.
    #[test]
    fn a_failed_probe_opens_it_again_and_the_state_can_be_kept() {
        let config = BreakerConfig::new().failure_threshold(1).cooldown(Duration::from_secs(1));
        let (store, name) = (Arc::new(BreakerStore::new()), Str::from("a"));
        store.admit(&name, &config, 0).unwrap().book(Some(&down()), &config, 0);
        store.admit(&name, &config, 1000).unwrap().book(Some(&down()), &config, 1500);
        let text = serde_json::to_string(&store.snapshot()).unwrap();
        assert!(text.contains(r#""openedAt":1500"#), "{text}");
        let again = Arc::new(BreakerStore::restored(serde_json::from_str(&text).unwrap()));
        assert!(again.admit(&name, &config, 2499).is_err());
        assert!(again.admit(&name, &config, 2500).is_ok());
    }

    /// Proves LLM-130: neither a cancelled call nor one that was never sent counts.
    #[test]
    fn what_says_nothing_about_the_provider_does_not_count() {
        let config = BreakerConfig::new().failure_threshold(1);
        let (store, name) = (Arc::new(BreakerStore::new()), Str::from("a"));
        for silent in [LlmError::aborted("a"), LlmError::new(LlmErrorKind::NoCredential, "a", "no key")] {
            store.admit(&name, &config, 0).unwrap().book(Some(&silent), &config, 0);
        }
        assert_eq!(store.snapshot()[&name], BreakerSnapshot::default());
    }
}

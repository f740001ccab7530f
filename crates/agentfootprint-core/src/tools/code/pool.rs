//! One session per key (TOOL-94).
//!
//! Calls that come at once share one start, and a start belongs to none of them: a cancelled call does not take it from the
//! others. A start that failed is forgotten, so the next call tries again. Each registration of a cleanup holds a lease; only the
//! last one stops the session, so that one that was marked idle and asked for again lives on.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use footprint::value::Str;
use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio_util::sync::CancellationToken;

use super::port::{CodeRunner, CodeRunnerError, CodeSession, SessionStart};
use crate::run::lock;

type Start = Result<Arc<dyn CodeSession>, CodeRunnerError>;
type Starting = Shared<Pin<Box<dyn Future<Output = Start> + Send>>>;

/// The sessions of one tool.
#[derive(Default)]
pub(super) struct Pool(Mutex<HashMap<Str, Entry>>);

struct Entry {
    starting: Option<(u64, Starting)>,
    attempts: u64,
    cancel: CancellationToken,
    lease: Arc<()>,
}

/// A right to the session of a key.
#[derive(Clone)]
pub(super) struct Lease(Arc<()>);

impl Pool {
    /// Makes sure the key has a place in the pool, and that it stays while the lease is held.
    pub(super) fn lease(&self, key: &Str) -> Lease {
        let mut entries = lock(&self.0);
        let entry = entries.entry(key.clone()).or_insert_with(|| Entry {
            starting: None,
            attempts: 0,
            cancel: CancellationToken::new(),
            lease: Arc::new(()),
        });
        Lease(Arc::clone(&entry.lease))
    }

    /// The session of the key: the running one, the one being started, or a new one.
    pub(super) async fn session(&self, runner: &Arc<dyn CodeRunner>, mut start: SessionStart) -> Start {
        let key = start.key.clone();
        let (attempt, starting) = {
            let mut entries = lock(&self.0);
            let Some(entry) = entries.get_mut(&key) else {
                return Err(CodeRunnerError::Stopped { runner: runner.id().into() });
            };
            match &entry.starting {
                Some(known) => known.clone(),
                None => {
                    start.cancel = entry.cancel.clone();
                    let runner = Arc::clone(runner);
                    let work: Pin<Box<dyn Future<Output = Start> + Send>> =
                        Box::pin(async move { runner.start(start).await });
                    entry.attempts += 1;
                    let begun = (entry.attempts, work.shared());
                    entry.starting = Some(begun.clone());
                    begun
                }
            }
        };
        let outcome = starting.await;
        if outcome.is_err()
            && let Some(entry) = lock(&self.0).get_mut(&key)
            && entry.starting.as_ref().is_some_and(|(known, _)| *known == attempt)
        {
            entry.starting = None;
        }
        outcome
    }

    /// Gives a lease back; the last one ends the session. Its place is gone before it is stopped.
    pub(super) async fn release(&self, key: &Str, lease: Lease) -> Result<(), CodeRunnerError> {
        let gone = {
            let mut entries = lock(&self.0);
            // The pool's own and this one.
            let last = entries.get(key).is_some_and(|entry| {
                Arc::ptr_eq(&entry.lease, &lease.0) && Arc::strong_count(&entry.lease) <= 2
            });
            if last { entries.remove(key) } else { None }
        };
        drop(lease);
        let Some(entry) = gone else { return Ok(()) };
        entry.cancel.cancel();
        match entry.starting.and_then(|(_, starting)| starting.peek().cloned()) {
            Some(Ok(session)) => session.stop().await,
            _ => Ok(()),
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        lock(&self.0).len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use tokio::sync::Notify;

    use super::super::port::{CodeRequest, CodeResult};
    use super::*;

    /// Starts when told to; fails the first `failing` times.
    #[derive(Default)]
    struct Slow {
        go: Arc<Notify>,
        started: AtomicUsize,
        failing: usize,
        stopped: Arc<AtomicUsize>,
    }

    struct Session(Arc<AtomicUsize>);

    #[async_trait]
    impl CodeRunner for Slow {
        fn id(&self) -> &str {
            "slow"
        }

        async fn start(&self, _: SessionStart) -> Start {
            let before = self.started.fetch_add(1, Ordering::SeqCst);
            self.go.notified().await;
            if before < self.failing {
                return Err(CodeRunnerError::Failed {
                    runner: "slow".into(),
                    operation: "start",
                    what: "full".into(),
                });
            }
            Ok(Arc::new(Session(Arc::clone(&self.stopped))))
        }
    }

    #[async_trait]
    impl CodeSession for Session {
        fn id(&self) -> &str {
            "s"
        }

        async fn execute(&self, _: CodeRequest) -> Result<CodeResult, CodeRunnerError> {
            Ok(CodeResult::printed(""))
        }

        async fn stop(&self) -> Result<(), CodeRunnerError> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    fn pooled(slow: Slow) -> (Pool, Arc<Slow>, Arc<dyn CodeRunner>, Str) {
        let slow = Arc::new(slow);
        (Pool::default(), Arc::clone(&slow), slow, "k".into())
    }

    /// Proves TOOL-94: calls that come at once share a start, and one that gives up does not take it from the others.
    #[tokio::test]
    async fn a_start_is_shared_and_belongs_to_nobody() {
        let (pool, slow, runner, key) = pooled(Slow::default());
        let leases = [pool.lease(&key), pool.lease(&key)];
        let ask = || pool.session(&runner, SessionStart::new("k", "python"));
        let gives_up = ask().now_or_never();
        assert!(gives_up.is_none());
        slow.go.notify_one();
        let (one, two) = tokio::join!(ask(), ask());
        assert!(Arc::ptr_eq(&one.unwrap(), &two.unwrap()));
        assert_eq!(slow.started.load(Ordering::SeqCst), 1);
        drop(leases);
    }

    /// Proves TOOL-94: a start that failed is tried again.
    #[tokio::test]
    async fn a_failed_start_is_forgotten() {
        let (pool, slow, runner, key) = pooled(Slow { failing: 1, ..Slow::default() });
        let _lease = pool.lease(&key);
        slow.go.notify_one();
        let failed = pool.session(&runner, SessionStart::new("k", "python")).await;
        assert_eq!(failed.err().unwrap().to_string(), "the code runner `slow` failed at start: full");
        slow.go.notify_one();
        assert!(pool.session(&runner, SessionStart::new("k", "python")).await.is_ok());
        assert_eq!(slow.started.load(Ordering::SeqCst), 2);
    }

    /// Proves TOOL-94: the last lease stops the session, once, and its place is gone by then.
    #[tokio::test]
    async fn the_last_lease_stops_the_session() {
        let (pool, slow, runner, key) = pooled(Slow::default());
        let (idle, asked_again) = (pool.lease(&key), pool.lease(&key));
        slow.go.notify_one();
        pool.session(&runner, SessionStart::new("k", "python")).await.unwrap();
        pool.release(&key, idle).await.unwrap();
        assert_eq!((slow.stopped.load(Ordering::SeqCst), pool.len()), (0, 1));
        pool.release(&key, asked_again).await.unwrap();
        assert_eq!((slow.stopped.load(Ordering::SeqCst), pool.len()), (1, 0));
        // A lease of a session that is gone ends nothing.
        let late = Lease(Arc::new(()));
        let fresh = pool.lease(&key);
        pool.release(&key, late).await.unwrap();
        assert_eq!(pool.len(), 1);
        pool.release(&key, fresh).await.unwrap();
        assert_eq!((slow.stopped.load(Ordering::SeqCst), pool.len()), (1, 0));
    }
}

//! The open tool sessions of an agent, and the laws of closing them (TOOL-90).
//!
//! A cleanup runs at most once; the same `(tool, scope, key)` is one registration; cleanups run in the reverse order of their
//! registration and each within its own time; none of them fails the run and none is silent. Idle and surplus sessions are closed
//! when the next call comes by: there are no timers and no tasks of their own.

use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::time::Duration;

use agentfootprint_record::events::AgentEvent;
use agentfootprint_record::events::payload::{ToolsSessionCloseFailed, ToolsSessionClosed};
use agentfootprint_record::events::words::{CloseReason, SessionScope};
use footprint::value::Str;
use futures_util::FutureExt as _;

use super::{Cleanup, TeardownOptions, TeardownScope, key_hash};
use crate::run::{lock, millis};

/// How long an unused session lives, in milliseconds.
const IDLE_MS: u64 = 900_000;
/// How many sessions an agent keeps.
const MOST: usize = 64;

/// Whose a session is, and when it was asked for.
pub(crate) struct Asked<'a> {
    pub(crate) tool: &'a str,
    pub(crate) call_id: &'a str,
    pub(crate) turn_id: Option<&'a str>,
    pub(crate) session_id: Option<&'a str>,
    pub(crate) now_ms: u64,
}

/// A session that is open.
pub(crate) struct OpenSession {
    pub(crate) facts: SessionFacts,
    call_id: Str,
    turn_id: Option<Str>,
    session_id: Option<Str>,
    opened_ms: u64,
    used_ms: u64,
    calls: u64,
    key: Str,
    cleanup: Cleanup,
}

/// What the record holds of a session; never its key.
#[derive(Clone, Debug)]
pub(crate) struct SessionFacts {
    pub(crate) tool: Str,
    pub(crate) scope: TeardownScope,
    pub(crate) key_hash: Str,
    pub(crate) runner_id: Option<Str>,
    pub(crate) label: Option<Str>,
}

/// What became of a registration.
pub(crate) enum Registered {
    Started(SessionFacts),
    Reused(SessionFacts, u64),
}

/// Which sessions end.
pub(crate) enum Ends<'a> {
    /// Those of one call.
    Call { call_id: &'a str, turn_id: Option<&'a str> },
    /// Those of a turn.
    Turn(&'a str),
    /// Those of a session, or of all sessions.
    Session(Option<&'a str>),
    /// All.
    Everything,
}

#[derive(Default)]
struct State {
    open: Vec<OpenSession>,
    /// Taken out, not closed yet.
    doomed: Vec<(OpenSession, CloseReason)>,
}

/// The sessions of one agent.
#[derive(Default)]
pub(crate) struct ToolSessions {
    state: Mutex<State>,
    /// Held while sessions are closed: whoever comes second waits for the first.
    closing: tokio::sync::Mutex<()>,
}

impl ToolSessions {
    /// Files a cleanup. What is idle or too much is marked for closing.
    pub(crate) fn register(
        &self,
        asked: &Asked<'_>,
        options: TeardownOptions,
        cleanup: Cleanup,
    ) -> Registered {
        let key = options.key.unwrap_or_else(|| asked.call_id.into());
        let mut state = lock(&self.state);
        let known = state.open.iter_mut().find(|open| {
            &*open.facts.tool == asked.tool && open.facts.scope == options.scope && open.key == key
        });
        if let Some(open) = known {
            open.used_ms = asked.now_ms;
            open.calls += 1;
            return Registered::Reused(open.facts.clone(), open.calls);
        }
        state.make_room(asked.now_ms);
        let facts = SessionFacts {
            tool: asked.tool.into(),
            scope: options.scope,
            key_hash: key_hash(&key).into(),
            runner_id: options.runner_id,
            label: options.label,
        };
        state.open.push(OpenSession {
            facts: facts.clone(),
            call_id: asked.call_id.into(),
            turn_id: asked.turn_id.map(Into::into),
            session_id: asked.session_id.map(Into::into),
            opened_ms: asked.now_ms,
            used_ms: asked.now_ms,
            calls: 1,
            key,
            cleanup,
        });
        Registered::Started(facts)
    }

    /// Closes what ends, and what was marked before; the texts of failures come back.
    pub(crate) async fn close(
        &self,
        ends: Ends<'_>,
        limit: Duration,
        now_ms: impl Fn() -> u64,
        say: impl Fn(AgentEvent),
    ) -> CloseReport {
        let _one = self.closing.lock().await;
        let taken = lock(&self.state).take(&ends);
        let mut report = CloseReport::default();
        for (session, reason) in taken {
            let OpenSession { facts, opened_ms, cleanup, .. } = session;
            let failure = run(cleanup, limit, &facts.tool).await;
            let took = now_ms().saturating_sub(opened_ms);
            let (tool, hash, scope) = (facts.tool.clone(), facts.key_hash, scope_word(facts.scope));
            match failure {
                None => {
                    report.closed += 1;
                    say(ToolsSessionClosed::new(tool, scope, hash, reason, took)
                        .runner_id(facts.runner_id)
                        .label(facts.label)
                        .into());
                }
                Some((error, class)) => {
                    tracing::warn!(target: "agentfootprint", tool = %facts.tool, "a tool session did not close: {error}");
                    report.failed.push(error.clone());
                    say(ToolsSessionCloseFailed::new(tool, scope, hash, reason, took, error)
                        .runner_id(facts.runner_id)
                        .label(facts.label)
                        .error_class(class.map(Str::from))
                        .into());
                }
            }
        }
        report
    }
}

/// What closing tool sessions came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloseReport {
    /// How many closed.
    pub closed: usize,
    /// What the others said.
    pub failed: Vec<String>,
}

impl State {
    fn make_room(&mut self, now_ms: u64) {
        let idle = |open: &OpenSession| now_ms.saturating_sub(open.used_ms) >= IDLE_MS;
        while let Some(at) = self.open.iter().position(idle) {
            let session = self.open.remove(at);
            self.doomed.push((session, CloseReason::Idle));
        }
        while self.open.len() >= MOST {
            // The first of the coldest is the oldest: registrations are in order.
            let coldest = self.open.iter().map(|open| open.used_ms).min();
            let Some(at) = self.open.iter().position(|open| Some(open.used_ms) == coldest) else { return };
            let session = self.open.remove(at);
            self.doomed.push((session, CloseReason::Evicted));
        }
    }

    /// Takes out what ends, last registered first.
    fn take(&mut self, ends: &Ends<'_>) -> Vec<(OpenSession, CloseReason)> {
        let mut taken = std::mem::take(&mut self.doomed);
        let mut at = self.open.len();
        while let Some(next) = at.checked_sub(1) {
            at = next;
            let Some(reason) = self.open.get(at).and_then(|open| ends.reason(open)) else { continue };
            taken.push((self.open.remove(at), reason));
        }
        taken
    }
}

impl Ends<'_> {
    fn reason(&self, open: &OpenSession) -> Option<CloseReason> {
        let scope = open.facts.scope;
        match self {
            Self::Call { call_id, turn_id } => (scope == TeardownScope::Call
                && &*open.call_id == *call_id
                && open.turn_id.as_deref() == *turn_id)
                .then_some(CloseReason::CallEnd),
            Self::Turn(turn) => (scope == TeardownScope::Run && open.turn_id.as_deref() == Some(turn))
                .then_some(CloseReason::RunEnd),
            Self::Session(id) => (scope == TeardownScope::Session
                && id.is_none_or(|id| open.session_id.as_deref() == Some(id)))
            .then_some(CloseReason::SessionEnd),
            Self::Everything => Some(CloseReason::Shutdown),
        }
    }
}

/// The recorded word of a scope.
pub(crate) fn scope_word(scope: TeardownScope) -> SessionScope {
    match scope {
        TeardownScope::Call => SessionScope::Call,
        TeardownScope::Run => SessionScope::Run,
        TeardownScope::Session => SessionScope::Session,
        TeardownScope::Shutdown => SessionScope::Shutdown,
    }
}

/// Runs one cleanup within its time; what went wrong, and its class.
async fn run(cleanup: Cleanup, limit: Duration, tool: &str) -> Option<(String, Option<&'static str>)> {
    match tokio::time::timeout(limit, AssertUnwindSafe(cleanup.run()).catch_unwind()).await {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(error))) => Some((error.to_string(), None)),
        Ok(Err(_)) => Some((format!("the cleanup of `{tool}` panicked"), Some("Panic"))),
        Err(_) => Some((
            format!("the cleanup of `{tool}` was given up after {} ms", millis(limit)),
            Some("ToolTeardownTimeout"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn asked<'a>(tool: &'a str, turn: &'a str, now_ms: u64) -> Asked<'a> {
        Asked { tool, call_id: "c1", turn_id: Some(turn), session_id: Some("s1"), now_ms }
    }

    fn noting(log: &Arc<Mutex<Vec<String>>>, name: &str) -> Cleanup {
        let (log, name) = (Arc::clone(log), name.to_owned());
        Cleanup::new(move || async move {
            log.lock().unwrap().push(name);
            Ok(())
        })
    }

    async fn close(sessions: &ToolSessions, ends: Ends<'_>) -> (CloseReport, Vec<String>) {
        let said = Mutex::new(Vec::new());
        let report = sessions
            .close(
                ends,
                SECOND,
                || 0,
                |event| {
                    let reason = event
                        .payload()
                        .get("reason")
                        .and_then(footprint::value::Value::as_str)
                        .unwrap()
                        .to_owned();
                    let class = event
                        .payload()
                        .get("errorClass")
                        .map(|class| format!(" {class}"))
                        .unwrap_or_default();
                    said.lock().unwrap().push(format!("{reason}{class}"));
                },
            )
            .await;
        (report, said.into_inner().unwrap())
    }

    /// Proves TOOL-90: once, one per key, in reverse order, all settled, bounded, never thrown and never silent.
    #[tokio::test(start_paused = true)]
    async fn the_laws_of_closing() {
        let (sessions, log) = (ToolSessions::default(), Arc::new(Mutex::new(Vec::new())));
        let run = |key: &str| TeardownOptions::new(TeardownScope::Run).key(key);
        sessions.register(&asked("a", "t1", 0), run("1"), noting(&log, "first"));
        let again = sessions.register(&asked("a", "t1", 5), run("1"), noting(&log, "never"));
        assert!(matches!(again, Registered::Reused(_, 2)));
        sessions.register(
            &asked("b", "t1", 0),
            run("1"),
            Cleanup::new(|| async { Err("gone wrong".into()) }),
        );
        sessions.register(&asked("c", "t1", 0), run("1"), Cleanup::new(|| async { panic!("boom") }));
        sessions.register(&asked("d", "t1", 0), run("1"), Cleanup::new(std::future::pending));
        sessions.register(&asked("e", "t2", 0), run("1"), noting(&log, "another turn"));
        sessions.register(&asked("f", "t1", 0), run("1"), noting(&log, "last"));
        let (report, said) = close(&sessions, Ends::Turn("t1")).await;
        assert_eq!(*log.lock().unwrap(), ["last", "first"]);
        assert_eq!(report.closed, 2);
        assert_eq!(
            report.failed,
            ["the cleanup of `d` was given up after 1000 ms", "the cleanup of `c` panicked", "gone wrong"]
        );
        assert_eq!(
            said,
            ["run-end", "run-end \"ToolTeardownTimeout\"", "run-end \"Panic\"", "run-end", "run-end"]
        );
        assert_eq!(close(&sessions, Ends::Turn("t1")).await.0, CloseReport::default());
        assert_eq!(close(&sessions, Ends::Everything).await.1, ["shutdown"]);
    }

    /// Proves TOOL-90: idle and surplus sessions are closed when the next one comes.
    #[tokio::test]
    async fn idle_and_surplus_sessions_go() {
        let (sessions, log) = (ToolSessions::default(), Arc::new(Mutex::new(Vec::new())));
        let options = |key: u64| TeardownOptions::new(TeardownScope::Session).key(key.to_string());
        for key in 0..64_u64 {
            sessions.register(&asked("a", "t", key), options(key), noting(&log, &key.to_string()));
        }
        // Touched: no longer the coldest.
        sessions.register(&asked("a", "t", 100), options(0), noting(&log, "never"));
        sessions.register(&asked("a", "t", 100), options(64), noting(&log, "64"));
        assert_eq!(close(&sessions, Ends::Session(Some("nobody"))).await.1, ["evicted"]);
        assert_eq!(*log.lock().unwrap(), ["1"]);
        sessions.register(&asked("a", "t", 100 + IDLE_MS), options(65), noting(&log, "65"));
        let (_, said) = close(&sessions, Ends::Session(Some("nobody"))).await;
        assert_eq!((said.len(), said.iter().all(|reason| reason == "idle")), (64, true));
        assert_eq!(close(&sessions, Ends::Session(Some("s1"))).await.1, ["session-end"]);
    }
}

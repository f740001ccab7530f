//! One visit of a node: index, address, attempts of its function, commit, and what it answered.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::driver::{Driver, Flow};
use super::frame::{FrameHandle, Opening, Ownership};
use super::shared::millis;
use super::strand::{Answer, AuthorFuture, End, Now, Running, Strand};
use super::timer::Timer;
use super::warn::Warning;
use crate::chart::{Body, NodeIdx, NodeKind, Step};
use crate::decide::NoBranchMatched;
use crate::error::{RunError, StageError, StageSource};
use crate::observe::{BreakEvent, ErrorEvent, Hook, StageExecutedEvent, StageRetryEvent, StageType};
use crate::scope::Scope;
use crate::value::Value;

/// A stage that holds the run's task longer than this starves its siblings (ENG-168).
const HELD_TOO_LONG: Duration = Duration::from_millis(100);

/// Runs author code and turns a panic into an error.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T, StageError>) -> Result<T, StageError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(StageError::from_panic(&*panic)))
}

/// Drops author data; a panicking destructor changes nothing.
pub(super) fn drop_guarded<T>(value: T) {
    if catch_unwind(AssertUnwindSafe(move || drop(value))).is_err() {
        tracing::warn!(target: "footprint", "a destructor in author code panicked");
    }
}

impl Driver {
    /// Opens the frame of a visit: takes the index, stamps the address, counts the visit.
    pub(super) fn open_frame(
        &mut self,
        strand: &mut Strand,
        node: NodeIdx,
        owner: Ownership,
    ) -> Arc<FrameHandle> {
        self.since_yield += 1;
        let index = self.next_index;
        // A checkpoint made by hand may say anything.
        self.next_index = self.next_index.saturating_add(1);
        let cursor = &mut strand.cursor;
        let declared = cursor.place.chart.node(node);
        let own = match owner {
            Ownership::Node => None,
            Ownership::Generated { id, name } => Some((id, name)),
        };
        let generated = own.is_some();
        let before = match &own {
            None => self.visits.count(cursor.place.ids.id(node).as_shared()),
            Some((id, _)) => self.visits.count(id),
        };
        let is_mount = generated || matches!(declared.kind, NodeKind::Mount(_));
        let frame = FrameHandle::open(
            &self.shared,
            Opening {
                level: &cursor.level,
                place: &cursor.place,
                node,
                own,
                description: declared.description.as_ref().filter(|_| !generated),
                tags: declared.tags.as_ref().filter(|_| !generated),
                index,
                before,
                ns: cursor.ns.as_ref(),
                parent: cursor.parent.take(),
                link: cursor.link,
                pass: std::mem::take(&mut cursor.pass),
                is_mount,
                is_bare_fork: !generated
                    && matches!(&declared.kind, NodeKind::Fork(fork) if fork.body.is_none()),
            },
        );
        if strand.first.is_none() && strand.child_of.is_some() {
            strand.first = Some(Arc::clone(&frame));
        }
        frame
    }

    /// Visits a node.
    pub(super) fn visit(&mut self, strand: &mut Strand, node: NodeIdx) {
        if strand.cursor.depth > self.limits.max_depth {
            let stage = strand.cursor.place.ids.id(node).as_shared().clone();
            let error = RunError::DepthExceeded { limit: self.limits.max_depth, stage };
            strand.now = Now::Ended(End::Failed(error));
            return;
        }
        let frame = self.open_frame(strand, node, Ownership::Node);
        if let Some(error) = self.cancelled_before(&frame) {
            strand.now = Now::Ended(End::Failed(error));
            return;
        }
        match &strand.cursor.place.chart.node(node).kind {
            NodeKind::Fork(fork) if fork.body.is_none() => {
                frame.close_silently();
                self.open_fork(strand, &frame, node, None);
            }
            NodeKind::Stage(_) | NodeKind::Fork(_) | NodeKind::Decider(_) | NodeKind::Selector(_) => {
                strand.now = Now::Attempt(Running { frame, node, future: None, attempt: 1, answer: None });
            }
            NodeKind::Mount(_) => self.enter_mount(strand, frame, node),
            NodeKind::ForEach(_) => self.enter_for_each(strand, frame, node),
        }
    }

    /// Checks cancellation, for every kind of node. A visit that is cancelled before it begins still leaves
    /// its bundle and its frame.
    pub(super) fn cancelled_before(&mut self, frame: &Arc<FrameHandle>) -> Option<RunError> {
        let error = match &self.aborted {
            Some(error) => error.clone(),
            None => {
                let error = self.stop_asked()?;
                self.aborted = Some(error.clone());
                error
            }
        };
        self.fail_frame(frame, &error);
        Some(error)
    }

    /// Starts an attempt.
    pub(super) fn attempt(&mut self, strand: &mut Strand, mut running: Running) {
        let frame = &running.frame;
        let node = strand.cursor.place.chart.node(running.node);
        let body = match &node.kind {
            NodeKind::Stage(body) => Some(body),
            NodeKind::Fork(fork) => fork.body.as_ref(),
            _ => None,
        };
        if let Some(Body::Streaming { stream_id, .. }) = body {
            frame.open_stream(stream_id);
        }
        frame.attempt_started(running.attempt);
        let scope = Scope::of(frame);
        let started = guarded(|| {
            Ok(match (&node.kind, body) {
                (_, Some(Body::Plain { run } | Body::Streaming { run, .. })) => {
                    AuthorFuture::Stage(run(scope))
                }
                (_, Some(Body::Pausable { run, resume })) => match &running.answer {
                    None => AuthorFuture::Pausable(run(scope)),
                    Some(answer) => AuthorFuture::Stage(resume(scope, answer.clone())),
                },
                (NodeKind::Decider(decider), _) => AuthorFuture::Decider((decider.run)(scope)),
                (NodeKind::Selector(selector), _) => AuthorFuture::Selector((selector.run)(scope)),
                _ => return Err(StageError::new("this node has no function")),
            })
        });
        match started {
            Ok(future) => {
                running.future = Some(future);
                strand.now = Now::Running(running);
            }
            Err(error) => self.attempt_failed(strand, running, error),
        }
    }

    /// Polls the function of a visit.
    pub(super) fn poll_stage(
        &mut self,
        strand: &mut Strand,
        mut running: Running,
        cx: &mut Context<'_>,
    ) -> Flow {
        let waker = (!strand.is_root()).then(|| self.waker(strand, cx));
        let held = self.shared.warnings.is_dev().then(|| self.shared.clock.monotonic());
        let polled = match (&mut running.future, &waker) {
            (Some(future), None) => poll_author(future, cx),
            (Some(future), Some(waker)) => poll_author(future, &mut Context::from_waker(waker)),
            (None, _) => Poll::Ready(Err(StageError::new("the stage has no future"))),
        };
        if let Some(from) = held
            && self.shared.clock.monotonic().saturating_sub(from) > HELD_TOO_LONG
        {
            self.shared.warnings.add(Warning::HeldTask { stage: running.frame.id().clone() });
        }
        // An interrupt is seen here whatever the function made of it (ENG-125).
        if running.frame.is_asking() {
            if let Some(future) = running.future.take() {
                drop_guarded(future);
            }
            self.interrupted(strand, running);
            return Flow::More;
        }
        match polled {
            Poll::Pending => {
                running.frame.remember_waker(waker.as_ref().unwrap_or_else(|| cx.waker()));
                strand.now = Now::Running(running);
                Flow::Blocked
            }
            Poll::Ready(result) => {
                if let Some(future) = running.future.take() {
                    drop_guarded(future);
                }
                match result {
                    Ok(answer) => self.answered(strand, running, answer),
                    Err(error) => self.attempt_failed(strand, running, error),
                }
                Flow::More
            }
        }
    }

    /// The function returned.
    fn answered(&mut self, strand: &mut Strand, running: Running, answer: Answer) {
        let frame = &running.frame;
        frame.close_stream(true);
        frame.stage_end();
        match answer {
            Answer::Pause(question) => self.paused(strand, frame, running.node, Some(question)),
            Answer::Output(output) => {
                frame.commit(None);
                self.executed(frame, StageType::Linear);
                if let Some(reason) = frame.stop_request() {
                    self.broke(frame, &reason, None);
                    strand.now = Now::Ended(End::Stopped { output: output.value, reason });
                    return;
                }
                if matches!(strand.cursor.place.chart.node(running.node).kind, NodeKind::Fork(_)) {
                    self.open_fork(strand, frame, running.node, output.next);
                } else {
                    self.continue_from(strand, frame, running.node, output.value, output.next);
                }
            }
            Answer::Decision(decision) => self.decided(strand, frame, running.node, decision),
            Answer::Selection(selection) => self.selected(strand, frame, running.node, selection),
        }
    }

    /// An attempt failed: tries again, or fails the visit.
    fn attempt_failed(&mut self, strand: &mut Strand, running: Running, error: StageError) {
        let frame = &running.frame;
        let declared = strand.cursor.place.chart.node(running.node);
        if let Some(retry) = &declared.retry
            && running.attempt < retry.max_attempts()
            && self.aborted.is_none()
            && guarded(|| Ok(retry.accepts(&error))).unwrap_or(false)
        {
            match guarded(|| Ok(retry.delay_after(running.attempt))) {
                Ok(delay) => return self.retry(strand, running, delay, &error),
                Err(panic) => tracing::warn!(target: "footprint", "a backoff function failed: {panic}"),
            }
        }
        let failure = match unmatched(&error) {
            Some(none) => RunError::NoBranchMatched {
                decider: frame.address(),
                rules: none.rules.len(),
                failed: none.failed(),
            },
            None => RunError::Stage { address: frame.address(), source: StageSource::of(error) },
        };
        self.fail_frame(frame, &failure);
        strand.now = Now::Ended(End::Failed(failure));
    }

    fn retry(&mut self, strand: &mut Strand, mut running: Running, delay: Duration, error: &StageError) {
        let frame = Arc::clone(&running.frame);
        let max_attempts = strand
            .cursor
            .place
            .chart
            .node(running.node)
            .retry
            .as_ref()
            .map_or(1, |retry| retry.max_attempts());
        frame.close_stream(false);
        frame.tell(Hook::StageRetry, || {
            let served = frame.served_error(error.structured());
            StageRetryEvent {
                stage_name: frame.name().clone(),
                stage_id: frame.id().clone(),
                attempt: running.attempt,
                max_attempts,
                delay_ms: millis(delay),
                message: served.message.as_str().into(),
                structured_error: served,
            }
            .into()
        });
        frame.reset_attempt();
        running.attempt += 1;
        strand.now =
            if delay.is_zero() { Now::Attempt(running) } else { Now::Backoff(running, Timer::after(delay)) };
    }

    /// Ends a visit whose function is dropped while it runs.
    pub(super) fn fail_running(&mut self, strand: &mut Strand, mut running: Running, error: RunError) {
        if let Some(future) = running.future.take() {
            drop_guarded(future);
        }
        self.fail_frame(&running.frame, &error);
        strand.now = Now::Ended(End::Failed(error));
    }

    /// A visit failed: commits what it staged, tells it, keeps the text.
    pub(super) fn fail_frame(&mut self, frame: &Arc<FrameHandle>, error: &RunError) {
        frame.close_stream(false);
        frame.commit(None);
        let served = frame.served_error(error.structured());
        let text = format!("{}: {}", served.name.as_deref().unwrap_or("Error"), served.message);
        frame.note_error("stageExecutionError", Value::from(text.as_str()));
        frame.tell(Hook::Error, || {
            ErrorEvent {
                stage_name: frame.name().clone(),
                message: text.as_str().into(),
                structured_error: served,
                error: error.stage_error().cloned(),
                evidence: None,
            }
            .into()
        });
    }

    /// Tells that a step completed its work.
    pub(super) fn executed(&self, frame: &FrameHandle, stage_type: StageType) {
        frame.tell(Hook::StageExecuted, || {
            StageExecutedEvent {
                stage_name: frame.name().clone(),
                description: frame.description().cloned(),
                stage_type,
            }
            .into()
        });
    }

    /// Tells that a stage stopped its level.
    pub(super) fn broke(
        &self,
        frame: &FrameHandle,
        reason: &Option<crate::value::Str>,
        from_subflow: Option<crate::value::Str>,
    ) {
        frame.tell(Hook::Break, || {
            BreakEvent {
                stage_name: frame.name().clone(),
                reason: reason.clone(),
                propagated_from_subflow: from_subflow,
            }
            .into()
        });
    }
}

fn poll_author(future: &mut AuthorFuture, cx: &mut Context<'_>) -> Poll<Result<Answer, StageError>> {
    let polled = catch_unwind(AssertUnwindSafe(|| match future {
        AuthorFuture::Stage(future) => future.as_mut().poll(cx).map(|r| r.map(Answer::Output)),
        AuthorFuture::Pausable(future) => future.as_mut().poll(cx).map(|result| {
            result.map(|step| match step {
                Step::Continue => Answer::Output(crate::chart::StepOutput::default()),
                Step::Pause(question) => Answer::Pause(question),
            })
        }),
        AuthorFuture::Decider(future) => future.as_mut().poll(cx).map(|r| r.map(Answer::Decision)),
        AuthorFuture::Selector(future) => future.as_mut().poll(cx).map(|r| r.map(Answer::Selection)),
    }));
    polled.unwrap_or_else(|panic| Poll::Ready(Err(StageError::from_panic(&*panic))))
}

/// `decide` found no branch.
fn unmatched(error: &StageError) -> Option<&NoBranchMatched> {
    error.source_error().and_then(|source| source.downcast_ref::<NoBranchMatched>())
}

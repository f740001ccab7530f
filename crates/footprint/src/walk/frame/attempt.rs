//! Attempts of a visit: their stream, the stop they ask for, the question they raise.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

use super::{ASKING, FrameHandle, STOPPED, STREAMING};
use crate::observe::{Hook, Interest, StageEndEvent, StageStartEvent};
use crate::stream::OpenStream;
use crate::value::{Str, Value};
use crate::walk::shared::{lock, millis};

impl FrameHandle {
    pub(in crate::walk) fn attempt_started(&self, attempt: u32) {
        if !self.run.observers.wants_any(Interest::of(Hook::StageStart) | Interest::of(Hook::StageEnd)) {
            return;
        }
        lock(&self.state).started = Some(self.run.clock.monotonic());
        self.tell(Hook::StageStart, || StageStartEvent { attempt }.into());
    }

    pub(in crate::walk) fn stage_end(&self) {
        self.tell(Hook::StageEnd, || {
            let started = lock(&self.state).started;
            let duration = started.map(|from| millis(self.run.clock.monotonic().saturating_sub(from)));
            StageEndEvent { duration }.into()
        });
    }

    /// Forgets what an attempt staged; emits and diagnostics stay (ENG-120).
    pub(in crate::walk) fn reset_attempt(&self) {
        let mut state = lock(&self.state);
        state.staging.reset();
        state.stop = None;
        state.replayed = 0;
        self.flags.fetch_and(!STOPPED, Ordering::AcqRel);
    }

    pub(in crate::walk) fn open_stream(&self, stream_id: &Str) {
        if let Some(handler) = &self.run.stream {
            let stream = OpenStream::open(stream_id.clone(), Arc::clone(handler));
            lock(&self.state).stream = Some(stream);
            self.flags.fetch_or(STREAMING, Ordering::AcqRel);
        }
    }

    pub(crate) fn stream(&self) -> Option<Arc<OpenStream>> {
        if self.flags.load(Ordering::Acquire) & STREAMING == 0 {
            return None;
        }
        lock(&self.state).stream.clone()
    }

    pub(in crate::walk) fn close_stream(&self, well: bool) {
        if self.flags.load(Ordering::Acquire) & STREAMING == 0 {
            return;
        }
        self.flags.fetch_and(!STREAMING, Ordering::AcqRel);
        let stream = lock(&self.state).stream.take();
        if let Some(stream) = stream {
            if well { stream.end() } else { stream.abort() }
        }
    }

    // ---- stop and interrupt ----------------------------------------------------------------------

    pub(crate) fn request_stop(&self, reason: Option<Str>) {
        let mut state = lock(&self.state);
        if self.flags.fetch_or(STOPPED, Ordering::AcqRel) & STOPPED == 0 {
            state.stop = reason;
        }
    }

    /// Whether the stage asked to stop its level, and why.
    pub(in crate::walk) fn stop_request(&self) -> Option<Option<Str>> {
        (self.flags.load(Ordering::Acquire) & STOPPED != 0).then(|| lock(&self.state).stop.clone())
    }

    /// A question of the stage: answered when the run was resumed with the answer, else noted.
    pub(crate) fn ask(&self, question: Value) -> Option<Value> {
        let waker = {
            let mut state = lock(&self.state);
            if let Some(answer) = state.answers.get(state.replayed).cloned() {
                state.replayed += 1;
                return Some(answer);
            }
            if state.committed {
                return None;
            }
            if state.question.is_none() {
                state.question = Some(question);
            }
            self.flags.fetch_or(ASKING, Ordering::AcqRel);
            state.waker.take()
        };
        // The question may come from a task the stage spawned.
        if let Some(waker) = waker {
            waker.wake();
        }
        None
    }

    pub(in crate::walk) fn is_asking(&self) -> bool {
        self.flags.load(Ordering::Acquire) & ASKING != 0
    }

    pub(in crate::walk) fn question(&self) -> (Option<Value>, Vec<Value>) {
        let state = lock(&self.state);
        (state.question.clone(), state.answers.clone())
    }

    pub(in crate::walk) fn answer_asks(&self, answers: Vec<Value>) {
        lock(&self.state).answers = answers;
    }

    pub(in crate::walk) fn remember_waker(&self, waker: &Waker) {
        let mut state = lock(&self.state);
        match &mut state.waker {
            Some(known) if known.will_wake(waker) => {}
            slot => *slot = Some(waker.clone()),
        }
    }
}

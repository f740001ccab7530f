//! What a run knows about its window: the last measurement, and where each message came from (LLM-151, LLM-152).

use std::sync::Mutex;

use footprint::value::Str;

use crate::llm::Usage;
use crate::run::{StageCx, lock};

/// The usage of the last completed call.
#[derive(Default)]
pub(super) struct Meter(Mutex<Option<(u32, Usage)>>);

/// Notes what a call of this iteration used.
pub(crate) fn note_usage(cx: &StageCx, iteration: u32, usage: &Usage) {
    if cx.agent.window.is_some() {
        *lock(&cx.turn.of::<Meter>().0) = Some((iteration, usage.clone()));
    }
}

/// The reading of the iteration just before `iteration`. A prompt of 0 tokens that produced output is no reading.
pub(super) fn reading(cx: &StageCx, iteration: u32) -> Option<Usage> {
    let (at, usage) = lock(&cx.turn.of::<Meter>().0).clone()?;
    let is_fresh = at.saturating_add(1) >= iteration;
    (is_fresh && (usage.prompt_total() > 0 || usage.output == 0)).then_some(usage)
}

/// The stage that put a message into the conversation, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) stage: Str,
    pub(crate) born_ms: u64,
}

/// One origin per message of the conversation, kept beside it.
#[derive(Default)]
pub(crate) struct Origins(Mutex<Vec<Origin>>);

impl Origins {
    /// The conversation now has `length` messages: those that are new were put there by `stage`.
    pub(crate) fn extend(&self, length: usize, stage: &str, now_ms: u64) {
        let mut origins = lock(&self.0);
        if length > origins.len() {
            origins.resize(length, Origin { stage: stage.into(), born_ms: now_ms });
        }
    }

    pub(super) fn of(&self, position: usize) -> Option<Origin> {
        lock(&self.0).get(position).cloned()
    }

    /// `removed` left; `inserted` stands in its place when the window put something there.
    pub(super) fn splice(&self, removed: std::ops::Range<usize>, inserted: Option<Origin>) {
        let mut origins = lock(&self.0);
        let end = removed.end.min(origins.len());
        let start = removed.start.min(end);
        origins.splice(start..end, inserted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-152.
    #[test]
    fn kept_messages_keep_their_origin() {
        let origins = Origins::default();
        origins.extend(1, "seed#0", 5);
        origins.extend(3, "tool-calls#9", 20);
        origins.splice(1..3, Some(Origin { stage: "compact#12".into(), born_ms: 30 }));
        origins.extend(3, "tool-calls#20", 40);
        let stages: Vec<_> = (0..4).filter_map(|at| origins.of(at)).map(|o| (o.stage, o.born_ms)).collect();
        assert_eq!(stages, [("seed#0".into(), 5), ("compact#12".into(), 30), ("tool-calls#20".into(), 40)]);
    }
}

//! How often marked prefixes were really read from the cache (LLM-104).

use std::collections::VecDeque;
use std::sync::Mutex;

use agentfootprint_record::conventions::state;
use footprint::error::StageError;

use super::stages::cache::HIT_RATE_FLOOR;
use crate::llm::Usage;
use crate::run::{StageCx, lock};

/// Measured calls looked at, and how many there must be to judge.
const WINDOW: usize = 5;
const ENOUGH: usize = 3;

/// Tokens read from the cache and tokens of the whole prompt, of the last measured calls that carried markers.
#[derive(Default)]
struct Samples(Mutex<State>);

#[derive(Default)]
struct State {
    calls: VecDeque<(u64, u64)>,
    rate: Option<f64>,
}

/// The rate, once enough calls were measured.
pub(crate) fn current(cx: &StageCx) -> Option<f64> {
    lock(&cx.turn.of::<Samples>().0).rate
}

/// Notes one call. Once the rate fell below the floor it stays: without markers nothing new is measured.
pub(crate) fn note(cx: &StageCx, markers: usize, usage: &Usage) -> Result<(), StageError> {
    let (Some(total), true) = (measured(usage), markers > 0) else { return Ok(()) };
    let samples = cx.turn.of::<Samples>();
    let rate = {
        let mut state = lock(&samples.0);
        if state.rate.is_some_and(|rate| rate < HIT_RATE_FLOOR) {
            return Ok(());
        }
        state.calls.push_back((usage.cache_read.unwrap_or(0), total));
        if state.calls.len() > WINDOW {
            state.calls.pop_front();
        }
        if state.calls.len() < ENOUGH {
            return Ok(());
        }
        let (read, all) = state.calls.iter().fold((0, 0), |(read, all), (r, a)| (read + r, all + a));
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
        let rate = if all == 0 { 0.0 } else { read as f64 / all as f64 };
        state.rate = Some(rate);
        rate
    };
    cx.set(state::RECENT_HIT_RATE, rate)
}

fn measured(usage: &Usage) -> Option<u64> {
    (usage.cache_read.is_some() || usage.cache_write.is_some()).then(|| usage.prompt_total())
}

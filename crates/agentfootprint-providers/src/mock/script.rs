use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Who shares a position in the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScriptMode {
    /// All runs: the replies are handed out in the order requests arrive.
    #[default]
    Shared,
    /// Each run (by its run id) starts the script anew, so that concurrent runs do not take each other's replies.
    PerRun,
}

/// The position in the script.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    mode: ScriptMode,
    positions: Mutex<HashMap<Option<String>, usize>>,
}

impl Cursor {
    pub(super) fn new(mode: ScriptMode) -> Self {
        Cursor { mode, positions: Mutex::default() }
    }

    /// The position of this request; the next one is after it.
    pub(super) fn advance(&self, run_id: Option<&str>) -> usize {
        let key = match self.mode {
            ScriptMode::Shared => None,
            ScriptMode::PerRun => run_id.map(str::to_owned),
        };
        let mut positions = self.positions.lock().unwrap_or_else(PoisonError::into_inner);
        let position = positions.entry(key).or_insert(0);
        *position += 1;
        *position - 1
    }

    pub(super) fn reset(&self) {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

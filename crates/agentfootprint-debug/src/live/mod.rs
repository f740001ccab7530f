//! What a run is doing right now, folded from its events as they come (REC §5.1, §5.2).
//!
//! | type | question |
//! |---|---|
//! | [`LiveState`] | is a model, a tool, a turn under way — of which run? |
//! | [`StatusFold`], [`Templates`] | the one line to show to whoever waits |
//!
//! Both are plain folds: they hold what is under way and nothing of what is over.

mod progress;
mod state;
mod status;
mod templates;
#[cfg(test)]
mod tests;

pub use progress::{PROGRESS_MESSAGE_LIMIT, progress_message_of};
pub use state::{LiveLlm, LiveRun, LiveState, LiveTool, LiveTurn};
pub use status::{Status, StatusFold};
pub use templates::{Templates, default_templates, render};

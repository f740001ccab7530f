//! Context windows: what leaves the conversation when it grows (LLM §15).
//!
//! One strategy per agent. It is asked once per iteration, at the stage `compact`, which is also where the loop returns to, so
//! that triggers, slots and the wire see one window. A strategy plans; what may leave is decided by the guards behind
//! [`WindowInput::plan_removal`], which no strategy — shipped or foreign — can get around: a [`WindowOutcome`] is only made from
//! a [`RemovalPlan`].
//!
//! Nothing is lost: the removed messages stay in the run's record, where their commits put them, and every visit that engaged
//! files a record of what it did and what it refused.
//!
//! ```
//! use agentfootprint_core::window::{SlidingWindow, WindowStrategy};
//! let window = SlidingWindow::keep(6);
//! assert_eq!(window.name(), "sliding-window");
//! assert!(SlidingWindow::keep(0).problem().is_some());
//! ```

mod drop_notice;
mod fold;
mod guards;
mod input;
mod meter;
mod outcome;
mod pins;
mod plan;
mod settings;
mod sliding;
mod stage;
mod summarize;
mod token_budget;
mod turns;

pub use fold::{FoldRetention, FoldedSpanMatch, folded_messages, folded_span_for};
pub use input::{Billing, WindowError, WindowInput, WindowStrategy};
pub use outcome::WindowOutcome;
pub use pins::{ToolResultPin, tool_result_pins_of};
pub use plan::{RemovalPlan, WindowRefusal, WindowRefusalReason};
pub use sliding::SlidingWindow;
pub use summarize::SummarizeOldest;
pub use token_budget::TokenBudget;
pub use turns::{WindowTurn, current_request_index_of, turns_of};

pub(crate) use meter::{Origins, note_usage};
pub(crate) use settings::{Window, WindowDoor, check};
pub(crate) use stage::compact;

//! Middleware: links that may change, deny or ask about a call, a result, a message (TOOL §8).

mod approve_once;
mod chain;
mod journal;
mod ledger;
mod port;

pub use self::approve_once::ApproveOnce;
pub(crate) use self::chain::{CallEnd, walk_call, walk_result};
pub(crate) use self::ledger::{DecisionRow, Ledger};
pub use self::port::{
    AskPayload, MessageContext, MessageMiddleware, MessageOutcome, ToolCallContext, ToolCallOutcome,
    ToolHooks, ToolMiddleware, ToolResultContext, ToolResultOutcome,
};

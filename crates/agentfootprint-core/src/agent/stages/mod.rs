//! The stages of the agent's chart, one file each. A stage works on its [`StageCx`](crate::run::StageCx) alone.

pub(crate) mod ask;
pub(crate) mod cache;
pub(crate) mod call_llm;
pub(crate) mod deliver;
pub(crate) mod engine;
pub(crate) mod finish;
pub(crate) mod messages_slot;
pub(crate) mod output_retry;
pub(crate) mod reask;
pub(crate) mod route;
pub(crate) mod seed;
pub(crate) mod system_slot;
pub(crate) mod thinking;
pub(crate) mod tool_calls;
pub(crate) mod tools_slot;
pub(crate) mod turn_seed;
pub(crate) mod wrap_up;

//! The port between the agent and any model vendor.
//!
//! One trait, [`LlmProvider`]; the request, response and chunk types it speaks; and the one error it fails with. The
//! agent depends on nothing else, so that what was asked, what answered, what it cost and what went wrong are the
//! same facts on the record whichever vendor served. Adapters live in `agentfootprint-providers`.
//!
//! | question | type |
//! |---|---|
//! | who can answer | [`LlmProvider`], wrapped by [`LlmDecorator`]s |
//! | what can it do | [`Capabilities`] |
//! | what is asked | [`LlmRequest`] |
//! | what travels beside the request | [`CallCx`] |
//! | what comes back | [`LlmResponse`], or [`LlmChunk`]s on an [`LlmStream`] |
//! | what was used, what it costs | [`Usage`], [`PricingTable`], [`CostTick`] |
//! | what was thought | [`ThinkingHandler`] |
//! | what went wrong | [`LlmError`] |
//! | what a decorator did | [`ResilienceReport`] |

mod args_error;
mod call;
mod capabilities;
mod chunk;
mod error;
mod pricing;
mod provider;
mod report;
mod request;
mod response;
mod stop;
mod thinking;
mod usage;

pub use args_error::ArgsError;
pub use call::{CallCx, CallRng};
pub use capabilities::{Capabilities, MalformedCapabilities, PromptCaching, RoleSet, ThinkingMode};
pub use chunk::LlmChunk;
pub use error::{
    ErrorKind, ForeignFacts, LlmError, LlmErrorFacts, LlmErrorKind, OllamaReason, Overflow, ThinkingRefusal,
    TimeoutPhase, Vendor, classify_foreign, detect_overflow, humanise_text,
    looks_like_context_window_exceeded,
};
pub use pricing::{CostTick, CumulativeCost, ModelPrices, PricingTable, StaticPricing, TokenKind, Usd};
pub use provider::{LlmDecorator, LlmProvider, LlmStream};
pub use report::{CircuitState, CollectedReports, NoReports, ReportSink, ResilienceReport};
pub use request::{
    CacheField, CacheMarker, CacheTtl, LlmRequest, OutputSchema, SystemSegment, Thinking, ToolChoice,
    ToolSchema,
};
pub use response::{LlmResponse, ServedBy, WireManifest};
pub use stop::StopReason;
pub use thinking::{ThinkingError, ThinkingHandler, tag_thinking};
pub use usage::Usage;

//! Prompt caching: which prefix is stable, and who places the marker (LLM-99…105).

mod decision;
mod strategy;

pub(crate) use decision::{CacheInputs, decide_markers, marker_value};
pub(crate) use strategy::for_provider;
pub use strategy::{
    Automatic, Breakpoints, CacheCapabilities, CacheMetrics, CacheStrategy, CacheStrategyContext, NoCaching,
    Prepared,
};

//! Cache strategies: stateless, chosen from what the provider declares, replaceable per agent.

use std::sync::Arc;

use async_trait::async_trait;

use crate::llm::{CacheField, CacheMarker, CacheTtl, Capabilities, LlmRequest, PromptCaching, Usage};

/// What a strategy may look at besides the request.
#[derive(Clone, Debug)]
pub struct CacheStrategyContext {
    /// The iteration, from 1.
    pub iteration: u32,
    /// What is left of the budget.
    pub iterations_remaining: u32,
    /// The recent hit rate, once enough calls were measured.
    pub recent_hit_rate: Option<f64>,
    /// The agent was built with caching off.
    pub caching_disabled: bool,
}

/// What a strategy can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheCapabilities {
    /// Whether it does anything.
    pub enabled: bool,
    /// The most markers it places.
    pub max_markers: u32,
    /// Lifetimes it can ask for.
    pub ttls: Vec<CacheTtl>,
    /// Request parts it can mark.
    pub fields: Vec<CacheField>,
    /// The provider caches by itself.
    pub automatic: bool,
}

/// A request as it will be sent, and the markers that were placed in it.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The request.
    pub request: LlmRequest,
    /// What was applied.
    pub markers_applied: Vec<CacheMarker>,
}

/// What a provider reported about its cache; a number nobody measured is not a zero (LLM-107).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMetrics {
    /// Measured.
    Known {
        /// Tokens read from the cache.
        cache_read_tokens: u64,
        /// Tokens written to it.
        cache_write_tokens: u64,
        /// Tokens of the prompt outside of it.
        fresh_input_tokens: u64,
    },
    /// Nobody measured.
    Unknown,
    /// The provider cannot report it.
    NotApplicable,
}

/// Places cache markers in a request. It annotates the wire: it never adds, removes or reorders a sentence.
#[async_trait]
pub trait CacheStrategy: Send + Sync + 'static {
    /// Its name, on receipts.
    fn name(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> CacheCapabilities;

    /// Prepares the request. It is the last one to touch it.
    async fn prepare(
        &self,
        request: LlmRequest,
        candidates: &[CacheMarker],
        cx: &CacheStrategyContext,
    ) -> Prepared;

    /// Reads what the provider reported.
    fn extract_metrics(&self, usage: Option<&Usage>) -> CacheMetrics {
        match usage.map(|usage| (usage.cache_read, usage.cache_write, usage.input)) {
            Some((read, write, input)) if read.is_some() || write.is_some() => CacheMetrics::Known {
                cache_read_tokens: read.unwrap_or(0),
                cache_write_tokens: write.unwrap_or(0),
                fresh_input_tokens: input,
            },
            _ => CacheMetrics::Unknown,
        }
    }
}

/// Marks the ends of stable prefixes, as many as the provider takes, the first ones first: system, tools, messages.
#[derive(Clone, Copy, Debug)]
pub struct Breakpoints {
    max: u32,
}

impl Breakpoints {
    /// At most this many markers.
    pub const fn at_most(max: u32) -> Self {
        Self { max }
    }
}

#[async_trait]
impl CacheStrategy for Breakpoints {
    fn name(&self) -> &str {
        "breakpoints"
    }

    fn capabilities(&self) -> CacheCapabilities {
        CacheCapabilities {
            enabled: true,
            max_markers: self.max,
            ttls: vec![CacheTtl::Short, CacheTtl::Long],
            fields: vec![CacheField::System, CacheField::Tools, CacheField::Messages],
            automatic: false,
        }
    }

    async fn prepare(
        &self,
        mut request: LlmRequest,
        candidates: &[CacheMarker],
        cx: &CacheStrategyContext,
    ) -> Prepared {
        if cx.caching_disabled || candidates.is_empty() {
            return Prepared { request, markers_applied: Vec::new() };
        }
        let max = usize::try_from(self.max).unwrap_or(usize::MAX);
        let markers: Vec<CacheMarker> = candidates.iter().take(max).cloned().collect();
        request.cache_markers.clone_from(&markers);
        Prepared { request, markers_applied: markers }
    }
}

/// The provider caches by itself; nothing is marked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Automatic;

#[async_trait]
impl CacheStrategy for Automatic {
    fn name(&self) -> &str {
        "automatic"
    }

    fn capabilities(&self) -> CacheCapabilities {
        CacheCapabilities { enabled: true, automatic: true, ..CacheCapabilities::default() }
    }

    async fn prepare(&self, request: LlmRequest, _: &[CacheMarker], _: &CacheStrategyContext) -> Prepared {
        Prepared { request, markers_applied: Vec::new() }
    }
}

/// Nothing is marked.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCaching;

#[async_trait]
impl CacheStrategy for NoCaching {
    fn name(&self) -> &str {
        "none"
    }

    fn capabilities(&self) -> CacheCapabilities {
        CacheCapabilities::default()
    }

    async fn prepare(&self, request: LlmRequest, _: &[CacheMarker], _: &CacheStrategyContext) -> Prepared {
        Prepared { request, markers_applied: Vec::new() }
    }

    fn extract_metrics(&self, _usage: Option<&Usage>) -> CacheMetrics {
        CacheMetrics::NotApplicable
    }
}

/// The strategy a provider's declaration asks for, never its name (LLM-5).
pub(crate) fn for_provider(capabilities: &Capabilities) -> Arc<dyn CacheStrategy> {
    match capabilities.prompt_caching {
        Some(PromptCaching::Breakpoints { max_breakpoints, .. }) => {
            Arc::new(Breakpoints::at_most(max_breakpoints))
        }
        Some(PromptCaching::Automatic { .. }) => Arc::new(Automatic),
        None => Arc::new(NoCaching),
    }
}

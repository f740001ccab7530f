//! Token counts of one model call, disjoint and honest about what nobody measured.

use serde::{Deserialize, Serialize};

/// What one model call consumed, as the provider reported it.
///
/// The counts never overlap: a token is counted in exactly one of the five fields. That is what lets a price be
/// a plain sum and a window threshold be one addition ([`Usage::prompt_total`]). An absent field means "the
/// provider did not say"; a present zero is a measured zero.
///
/// ```
/// use agentfootprint_core::llm::Usage;
///
/// let usage = Usage::new(40, 8).with_cache_read(960);
/// assert_eq!(usage.prompt_total(), 1000);
/// assert!(usage.is_measured());
/// assert!(!Usage::unmeasured().is_measured());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Prompt tokens neither read from nor written to a cache.
    #[serde(default)]
    pub input: u64,
    /// Visible completion tokens.
    #[serde(default)]
    pub output: u64,
    /// Prompt tokens served from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Prompt tokens written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Reasoning tokens that are not inside `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<u64>,
    /// Set when the answer carried no usage at all; never recorded.
    #[serde(skip)]
    unmeasured: bool,
}

impl Usage {
    /// Usage with the two counts every provider reports.
    pub fn new(input: u64, output: u64) -> Self {
        Usage { input, output, ..Usage::default() }
    }

    /// The usage of an answer that reported none: 0/0, marked so that nobody takes the zeros for a measurement.
    pub fn unmeasured() -> Self {
        Usage { unmeasured: true, ..Usage::default() }
    }

    /// Adds the count of prompt tokens read from a cache.
    #[must_use]
    pub fn with_cache_read(mut self, tokens: u64) -> Self {
        self.cache_read = Some(tokens);
        self
    }

    /// Adds the count of prompt tokens written to a cache.
    #[must_use]
    pub fn with_cache_write(mut self, tokens: u64) -> Self {
        self.cache_write = Some(tokens);
        self
    }

    /// Adds the count of reasoning tokens outside `output`.
    #[must_use]
    pub fn with_thinking(mut self, tokens: u64) -> Self {
        self.thinking = Some(tokens);
        self
    }

    /// False when the answer carried no usage, so that its 0/0 is not a reading.
    pub fn is_measured(&self) -> bool {
        !self.unmeasured
    }

    /// How big the prompt was: `input + cacheRead + cacheWrite`. Windows and context meters compare this, not
    /// `input`, which shrinks to almost nothing as soon as the prefix is cached.
    pub fn prompt_total(&self) -> u64 {
        self.input.saturating_add(self.cache_read.unwrap_or(0)).saturating_add(self.cache_write.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-21, LLM-22.
    #[test]
    fn absent_counts_stay_absent_and_zero_stays_zero() {
        let usage = Usage::new(3, 0).with_cache_read(0);
        assert_eq!(serde_json::to_string(&usage).unwrap(), r#"{"input":3,"output":0,"cacheRead":0}"#);
        let back: Usage = serde_json::from_str(r#"{"input":3,"output":0,"cacheRead":0}"#).unwrap();
        assert_eq!(back, usage);
        assert_eq!(back.cache_write, None);
    }

    /// Proves LLM-21, LLM-151.
    #[test]
    fn a_fully_cached_prompt_is_still_a_big_prompt() {
        let usage = Usage::new(0, 1).with_cache_read(90_000).with_cache_write(10_000);
        assert_eq!(usage.prompt_total(), 100_000);
    }

    /// Proves LLM-22.
    #[test]
    fn the_unmeasured_mark_is_not_recorded() {
        assert_eq!(serde_json::to_string(&Usage::unmeasured()).unwrap(), r#"{"input":0,"output":0}"#);
        assert_ne!(Usage::unmeasured(), Usage::new(0, 0));
    }
}

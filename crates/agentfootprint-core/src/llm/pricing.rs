//! What a call costs: pure arithmetic over reported usage and a caller's price table.
//!
//! The library ships no prices. A table says what one token of a kind costs; [`CostTick::of`] multiplies and
//! adds, and names the kinds nobody priced instead of counting them as free.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Usage;

/// US dollars, as recorded.
pub type Usd = f64;

/// The kinds of token a price can be given for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TokenKind {
    /// Fresh prompt tokens.
    Input,
    /// Visible completion tokens.
    Output,
    /// Prompt tokens read from a cache.
    CacheRead,
    /// Prompt tokens written to a cache.
    CacheWrite,
    /// Reasoning tokens.
    Thinking,
}

impl TokenKind {
    /// Every kind, in the order sums are formed.
    pub const ALL: [TokenKind; 5] = [
        TokenKind::Input,
        TokenKind::Output,
        TokenKind::CacheRead,
        TokenKind::CacheWrite,
        TokenKind::Thinking,
    ];

    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            TokenKind::Input => "input",
            TokenKind::Output => "output",
            TokenKind::CacheRead => "cacheRead",
            TokenKind::CacheWrite => "cacheWrite",
            TokenKind::Thinking => "thinking",
        }
    }

    /// How many tokens of this kind `usage` reports; `None` when it says nothing about them.
    pub fn count(self, usage: &Usage) -> Option<u64> {
        match self {
            TokenKind::Input => Some(usage.input),
            TokenKind::Output => Some(usage.output),
            TokenKind::CacheRead => usage.cache_read,
            TokenKind::CacheWrite => usage.cache_write,
            TokenKind::Thinking => usage.thinking,
        }
    }
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Prices per token. Implement it over whatever knows your contract; `None` means "not priced", never "free".
pub trait PricingTable: Send + Sync + 'static {
    /// The table's name, for records and errors.
    fn name(&self) -> &str;
    /// What one token of `kind` costs on `model`.
    fn price_per_token(&self, model: &str, kind: TokenKind) -> Option<Usd>;
}

/// Prices of one model, per token. Leave a kind out to say that it is not priced.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelPrices {
    /// Price of a fresh prompt token.
    pub input: Option<Usd>,
    /// Price of a completion token.
    pub output: Option<Usd>,
    /// Price of a prompt token read from a cache.
    pub cache_read: Option<Usd>,
    /// Price of a prompt token written to a cache.
    pub cache_write: Option<Usd>,
    /// Price of a reasoning token.
    pub thinking: Option<Usd>,
}

impl ModelPrices {
    /// The price of one kind.
    pub fn of(&self, kind: TokenKind) -> Option<Usd> {
        match kind {
            TokenKind::Input => self.input,
            TokenKind::Output => self.output,
            TokenKind::CacheRead => self.cache_read,
            TokenKind::CacheWrite => self.cache_write,
            TokenKind::Thinking => self.thinking,
        }
    }
}

/// A price table written down by the caller.
///
/// ```
/// use agentfootprint_core::llm::{CostTick, ModelPrices, StaticPricing, Usage};
///
/// let table = StaticPricing::new("list-2026")
///     .model("small-1", ModelPrices { input: Some(1e-6), output: Some(4e-6), ..Default::default() })
///     .thinking_at_output_price();
/// let tick = CostTick::of(&table, "small-1", &Usage::new(1000, 200).with_thinking(50));
/// assert_eq!(tick.usd, 1e-6 * 1000.0 + 4e-6 * 200.0 + 4e-6 * 50.0);
/// assert!(tick.unpriced.is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct StaticPricing {
    name: String,
    models: BTreeMap<String, ModelPrices>,
    any: Option<ModelPrices>,
    thinking_like_output: bool,
}

impl StaticPricing {
    /// An empty table.
    pub fn new(name: impl Into<String>) -> Self {
        StaticPricing { name: name.into(), ..StaticPricing::default() }
    }

    /// Prices of one model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>, prices: ModelPrices) -> Self {
        self.models.insert(model.into(), prices);
        self
    }

    /// Prices of every model that has no entry of its own.
    #[must_use]
    pub fn any_model(mut self, prices: ModelPrices) -> Self {
        self.any = Some(prices);
        self
    }

    /// Says that reasoning tokens without a price of their own cost what output tokens cost.
    #[must_use]
    pub fn thinking_at_output_price(mut self) -> Self {
        self.thinking_like_output = true;
        self
    }
}

impl PricingTable for StaticPricing {
    fn name(&self) -> &str {
        &self.name
    }

    fn price_per_token(&self, model: &str, kind: TokenKind) -> Option<Usd> {
        let prices = self.models.get(model).or(self.any.as_ref())?;
        match prices.of(kind) {
            None if kind == TokenKind::Thinking && self.thinking_like_output => prices.output,
            price => price,
        }
    }
}

/// What one billed response cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CostTick {
    /// Fresh prompt tokens of the call.
    pub tokens_input: u64,
    /// Completion tokens of the call.
    pub tokens_output: u64,
    /// Estimated cost of the call.
    pub usd: Usd,
    /// Kinds the call used and the table does not price; their tokens are missing from `usd`.
    pub unpriced: Vec<TokenKind>,
}

impl CostTick {
    /// Prices `usage`: the sum of price × count over the kinds the response reports.
    pub fn of(table: &dyn PricingTable, model: &str, usage: &Usage) -> Self {
        let mut tick =
            CostTick { tokens_input: usage.input, tokens_output: usage.output, ..CostTick::default() };
        for kind in TokenKind::ALL {
            let Some(count) = kind.count(usage).filter(|count| *count > 0) else { continue };
            match table.price_per_token(model, kind) {
                Some(price) => tick.usd += price * count as f64,
                None => tick.unpriced.push(kind),
            }
        }
        tick
    }
}

/// The running sums of one run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CumulativeCost {
    /// Fresh prompt tokens so far.
    pub tokens_input: u64,
    /// Completion tokens so far.
    pub tokens_output: u64,
    /// Estimated cost so far.
    pub estimated_usd: Usd,
}

impl CumulativeCost {
    /// Adds one tick.
    pub fn add(&mut self, tick: &CostTick) {
        self.tokens_input = self.tokens_input.saturating_add(tick.tokens_input);
        self.tokens_output = self.tokens_output.saturating_add(tick.tokens_output);
        self.estimated_usd += tick.usd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices() -> ModelPrices {
        ModelPrices {
            input: Some(2.0),
            output: Some(8.0),
            cache_read: Some(0.5),
            cache_write: Some(2.5),
            thinking: None,
        }
    }

    /// Proves LLM-138, LLM-139.
    #[test]
    fn a_tick_adds_every_kind_once() {
        let table = StaticPricing::new("t").model("m", prices());
        let usage = Usage::new(10, 3).with_cache_read(100).with_cache_write(4);
        let tick = CostTick::of(&table, "m", &usage);
        assert_eq!(tick.usd, 20.0 + 24.0 + 50.0 + 10.0);
        assert_eq!((tick.tokens_input, tick.tokens_output), (10, 3));
        assert!(tick.unpriced.is_empty());
    }

    /// Proves LLM-138, LLM-139.
    #[test]
    fn what_nobody_priced_is_named_and_not_free() {
        let table = StaticPricing::new("t").model("m", prices());
        let tick = CostTick::of(&table, "m", &Usage::new(1, 1).with_thinking(9));
        assert_eq!(tick.unpriced, [TokenKind::Thinking]);
        assert_eq!(tick.usd, 10.0);

        let tick = CostTick::of(&table, "other", &Usage::new(1, 0).with_cache_read(0));
        assert_eq!(tick.unpriced, [TokenKind::Input]);
        assert_eq!(tick.usd, 0.0);

        let table = table.thinking_at_output_price();
        assert_eq!(CostTick::of(&table, "m", &Usage::new(0, 0).with_thinking(9)).usd, 72.0);
    }

    /// Proves LLM-139.
    #[test]
    fn sums_grow_by_ticks() {
        let table = StaticPricing::new("t").any_model(prices());
        let mut sums = CumulativeCost::default();
        for _ in 0..3 {
            sums.add(&CostTick::of(&table, "m", &Usage::new(2, 1)));
        }
        assert_eq!(sums, CumulativeCost { tokens_input: 6, tokens_output: 3, estimated_usd: 36.0 });
    }
}

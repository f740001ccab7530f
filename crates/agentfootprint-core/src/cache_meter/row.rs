use serde::Serialize;

use super::claim::Claim;
use crate::agent::CacheMetrics;
use crate::llm::{CostTick, PricingTable, TokenKind, Usage};

/// What a provider reported about its cache in one call, or about several of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheTokens {
    /// Tokens of the prompt read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens written to it.
    pub cache_write_tokens: u64,
    /// Tokens of the prompt outside of it.
    pub fresh_input_tokens: u64,
}

/// One model call, as the meter saw it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheRow {
    /// The iteration.
    pub iteration: u64,
    /// The branch the gate took before it: `apply-markers`, `no-markers`, or `none` where no gate is mounted.
    pub branch: String,
    /// The gate's rule that decided, when one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What was measured.
    pub metrics: Claim<CacheTokens>,
    /// What the call cost, in US dollars.
    pub dollars_spent: Claim<f64>,
    /// What it would have cost more with a cold cache; less than nothing where writing was dearer than what was read.
    pub dollars_saved_vs_no_cache: Claim<f64>,
}

/// The reading of one call.
pub(super) fn read(metrics: CacheMetrics, usage: Option<&Usage>) -> Claim<CacheTokens> {
    match metrics {
        CacheMetrics::Known { cache_read_tokens, cache_write_tokens, fresh_input_tokens } => Claim::Known {
            value: CacheTokens { cache_read_tokens, cache_write_tokens, fresh_input_tokens },
            evidence: "the provider's report of this call".to_owned(),
        },
        CacheMetrics::NotApplicable => {
            Claim::NotApplicable { evidence: "the provider cannot report what it caches".to_owned() }
        }
        CacheMetrics::Unknown if usage.is_none() => {
            Claim::Unknown { reason: "the provider reported no usage".to_owned() }
        }
        CacheMetrics::Unknown => {
            Claim::Unknown { reason: "the provider reported neither cache reads nor cache writes".to_owned() }
        }
    }
}

/// What one call cost, and what the cache saved of it.
pub(super) fn price(
    table: Option<&dyn PricingTable>,
    model: &str,
    usage: Option<&Usage>,
    metrics: &Claim<CacheTokens>,
) -> (Claim<f64>, Claim<f64>) {
    let Some(table) = table else {
        let unpriced = || Claim::Known {
            value: 0.0,
            evidence: "no pricing table was given, so nothing is priced".to_owned(),
        };
        return (unpriced(), unpriced());
    };
    let Some(usage) = usage else {
        let unknown = || Claim::Unknown { reason: "the provider reported no usage".to_owned() };
        return (unknown(), unknown());
    };
    let evidence = || format!("prices of the table `{}` for `{model}`", table.name());
    let tick = CostTick::of(table, model, usage);
    let spent = if tick.unpriced.is_empty() {
        Claim::Known { value: tick.usd, evidence: evidence() }
    } else {
        let kinds: Vec<&str> = tick.unpriced.iter().map(|kind| kind.as_str()).collect();
        Claim::Unknown {
            reason: format!("the table `{}` does not price {} of `{model}`", table.name(), kinds.join(", ")),
        }
    };
    let saved = metrics.map(|tokens| {
        let price = |kind| table.price_per_token(model, kind);
        let input = price(TokenKind::Input)?;
        // A kind that was not used needs no price.
        let part = |tokens: u64, kind| match tokens {
            0 => Some(0.0),
            tokens => Some(count(tokens) * (input - price(kind)?)),
        };
        Some(
            part(tokens.cache_read_tokens, TokenKind::CacheRead)?
                + part(tokens.cache_write_tokens, TokenKind::CacheWrite)?,
        )
    });
    let saved = match saved {
        Claim::Known { value: Some(value), .. } => Claim::Known { value, evidence: evidence() },
        Claim::Known { value: None, .. } => Claim::Unknown {
            reason: format!("the table `{}` does not price input and cache of `{model}`", table.name()),
        },
        Claim::Unknown { reason } => Claim::Unknown { reason },
        Claim::NotApplicable { evidence } => Claim::NotApplicable { evidence },
    };
    (spent, saved)
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
pub(super) fn count(tokens: u64) -> f64 {
    tokens as f64
}

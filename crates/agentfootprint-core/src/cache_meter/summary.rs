use serde::Serialize;

use super::claim::Claim;
use super::row::{CacheRow, CacheTokens, count};

/// Reasons that are listed; the rest is counted.
const LISTED: usize = 3;

/// A run's caching in numbers. Whatever comes from a provider is a claim over the calls that were measured, and says over
/// how many.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheSummary {
    /// Model calls.
    pub total_iterations: usize,
    /// Calls before which the gate let markers through.
    pub apply_markers_iterations: usize,
    /// Calls before which it did not.
    pub no_markers_iterations: usize,
    /// Calls whose cache use was reported.
    pub measured_iterations: usize,
    /// Calls whose cache use was not.
    pub unmeasured_iterations: usize,
    /// Tokens read from the cache.
    pub cache_read_tokens_total: Claim<u64>,
    /// Tokens written to it.
    pub cache_write_tokens_total: Claim<u64>,
    /// Tokens of prompts outside of it.
    pub fresh_input_tokens_total: Claim<u64>,
    /// Share of the prompts' tokens that was read from the cache.
    pub hit_rate: Claim<f64>,
    /// What the calls cost, in US dollars.
    pub estimated_dollars_spent: Claim<f64>,
    /// What a cold cache would have cost more.
    pub estimated_dollars_saved_vs_no_cache: Claim<f64>,
    /// Call by call.
    pub per_iter: Vec<CacheRow>,
}

impl CacheSummary {
    pub(super) fn of(rows: Vec<CacheRow>) -> Self {
        let branch = |name: &str| rows.iter().filter(|row| row.branch == name).count();
        let measured = rows.iter().filter(|row| row.metrics.known_value().is_some()).count();
        let tokens =
            total(rows.iter().map(|row| &row.metrics), |sum: CacheTokens, row: &CacheTokens| CacheTokens {
                cache_read_tokens: sum.cache_read_tokens.saturating_add(row.cache_read_tokens),
                cache_write_tokens: sum.cache_write_tokens.saturating_add(row.cache_write_tokens),
                fresh_input_tokens: sum.fresh_input_tokens.saturating_add(row.fresh_input_tokens),
            });
        let dollars = |claims: Vec<&Claim<f64>>| total(claims.into_iter(), |sum: f64, row: &f64| sum + row);
        CacheSummary {
            total_iterations: rows.len(),
            apply_markers_iterations: branch("apply-markers"),
            no_markers_iterations: branch("no-markers"),
            measured_iterations: measured,
            unmeasured_iterations: rows.len() - measured,
            cache_read_tokens_total: tokens.map(|tokens| tokens.cache_read_tokens),
            cache_write_tokens_total: tokens.map(|tokens| tokens.cache_write_tokens),
            fresh_input_tokens_total: tokens.map(|tokens| tokens.fresh_input_tokens),
            hit_rate: hit_rate(&tokens),
            estimated_dollars_spent: dollars(rows.iter().map(|row| &row.dollars_spent).collect()),
            estimated_dollars_saved_vs_no_cache: dollars(
                rows.iter().map(|row| &row.dollars_saved_vs_no_cache).collect(),
            ),
            per_iter: rows,
        }
    }
}

fn hit_rate(tokens: &Claim<CacheTokens>) -> Claim<f64> {
    let rate = tokens.map(|tokens| {
        let all = tokens.cache_read_tokens + tokens.cache_write_tokens + tokens.fresh_input_tokens;
        (all > 0).then(|| count(tokens.cache_read_tokens) / count(all))
    });
    match rate {
        Claim::Known { value: Some(value), evidence } => Claim::Known { value, evidence },
        Claim::Known { value: None, .. } => {
            Claim::Unknown { reason: "the measured prompts had no tokens".to_owned() }
        }
        Claim::Unknown { reason } => Claim::Unknown { reason },
        Claim::NotApplicable { evidence } => Claim::NotApplicable { evidence },
    }
}

/// The sum of what is known. Where nothing is, the rows' own reasons.
fn total<'a, T: 'a, S: Default>(
    claims: impl Iterator<Item = &'a Claim<T>>,
    add: impl Fn(S, &T) -> S,
) -> Claim<S> {
    let (mut sum, mut known, mut all) = (S::default(), 0_usize, 0_usize);
    let mut evidence_of_all: Option<&str> = None;
    let (mut reasons, mut refusals): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for claim in claims {
        all += 1;
        match claim {
            Claim::Known { value, evidence } => {
                sum = add(sum, value);
                known += 1;
                evidence_of_all = evidence_of_all.or(Some(evidence));
            }
            Claim::Unknown { reason } if !reasons.contains(&reason.as_str()) => reasons.push(reason),
            Claim::NotApplicable { evidence } if !refusals.contains(&evidence.as_str()) => {
                refusals.push(evidence)
            }
            Claim::Unknown { .. } | Claim::NotApplicable { .. } => {}
        }
    }
    match evidence_of_all {
        Some(evidence) => {
            Claim::Known { value: sum, evidence: format!("{known} of {all} calls, by {evidence}") }
        }
        None if all == 0 => Claim::Unknown { reason: "no model was called".to_owned() },
        None if reasons.is_empty() => Claim::NotApplicable { evidence: listed(&refusals) },
        None => Claim::Unknown { reason: listed(&reasons) },
    }
}

fn listed(reasons: &[&str]) -> String {
    let named = reasons.iter().take(LISTED).copied().collect::<Vec<_>>().join("; ");
    match reasons.len().saturating_sub(LISTED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-108: an unknown sum gives the rows' own reasons.
    #[test]
    fn unknown_sums_give_the_reasons_of_their_rows() {
        let unknown = |reason: &str| Claim::<f64>::Unknown { reason: reason.to_owned() };
        let sum = |claims: &[Claim<f64>]| total(claims.iter(), |sum: f64, value: &f64| sum + value);
        let five = ["a", "b", "a", "c", "d", "e"].map(unknown);
        assert_eq!(sum(&five), unknown("a; b; c; and 2 more"));
        let none = Claim::NotApplicable { evidence: "cannot".to_owned() };
        assert_eq!(sum(&[none.clone(), none.clone()]), none);
        assert_eq!(sum(&[none, unknown("a")]), unknown("a"));
        assert_eq!(sum(&[]), unknown("no model was called"));
        let known = Claim::Known { value: 0.0, evidence: "the report".to_owned() };
        let Claim::Known { value, evidence } = sum(&[unknown("a"), known]) else { panic!("known") };
        assert_eq!((value, evidence.as_str()), (0.0, "1 of 2 calls, by the report"));
    }
}

//! Classifying the errors of providers we did not write, from what little they carry.

use std::sync::LazyLock;

use regex::Regex;

use super::ErrorKind;

/// What is known of a foreign error.
#[derive(Debug, Clone, Copy, Default)]
pub struct ForeignFacts<'a> {
    /// HTTP status.
    pub status: Option<u16>,
    /// Its code.
    pub code: Option<&'a str>,
    /// Its text.
    pub text: &'a str,
}

static UNREACHABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)ETIMEDOUT|ECONNRESET|ECONNREFUSED|EAI_AGAIN|socket hang up").ok());
static THROTTLED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)rate limit|too many requests").ok());

/// The gate's word for a foreign error: its code first, then its status, then its text.
///
/// ```
/// use agentfootprint_core::llm::{ErrorKind, ForeignFacts, classify_foreign};
///
/// let facts = ForeignFacts { text: "read ECONNRESET", ..Default::default() };
/// assert_eq!(classify_foreign(&facts), ErrorKind::Transient);
/// ```
pub fn classify_foreign(facts: &ForeignFacts<'_>) -> ErrorKind {
    let says = |pattern: &Option<Regex>| pattern.as_ref().is_some_and(|re| re.is_match(facts.text));
    match (facts.code, facts.status) {
        (Some("ERR_CIRCUIT_OPEN"), _) => ErrorKind::CircuitOpen,
        (Some("ERR_OUTPUT_SCHEMA"), _) => ErrorKind::SchemaFail,
        (_, Some(429)) => ErrorKind::RateLimit,
        (_, Some(500..=599)) => ErrorKind::Transient,
        _ if says(&UNREACHABLE) => ErrorKind::Transient,
        _ if says(&THROTTLED) => ErrorKind::RateLimit,
        _ => ErrorKind::Unknown,
    }
}

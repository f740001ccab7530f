//! Recognising "the prompt does not fit" in whatever words a vendor uses.
//!
//! One conservative reader serves every adapter and foreign providers too. It must not take a rate limit, an
//! output-cap error or a bad `max_tokens` for an overflow: those have other remedies.

use std::error::Error;
use std::sync::LazyLock;

use regex::Regex;

/// Deepest level of an error body that is read.
const MAX_BODY_DEPTH: usize = 4;

/// A recognised overflow, with the sizes the vendor stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overflow {
    /// The context window.
    pub limit: Option<u64>,
    /// What the prompt came to.
    pub actual: Option<u64>,
}

/// A number as vendors print it: plain, or with separators between groups of three digits.
const NUMBER: &str = r"(\d{1,3}(?:[,._'\x{a0}\x{202f} ]\d{3})+|\d+)";

const PHRASES: &[&str] = &[
    r"context_length_exceeded",
    r"maximum context length",
    r"prompt is too long",
    r"exceeds? context limit",
    r"input (?:is )?too long for (?:the )?requested model",
    r"input tokens exceed the configured limit",
    r"exceeds? the maximum (?:allowed )?(?:number of )?input tokens",
    r"input token count.{0,80}exceeds the maximum number of tokens allowed",
];

static IS_OVERFLOW: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!("(?is){}", PHRASES.join("|"))).ok());

/// `A > L`, both stated in one breath.
static PROMPT_SIZES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(r"(?is)prompt is too long:?\s*{NUMBER}\s*tokens?\s*>\s*{NUMBER}")).ok()
});
/// `I + O > L`.
static SUM_SIZES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(r"(?is)context limit:?\s*{NUMBER}\s*\+\s*{NUMBER}\s*>\s*{NUMBER}")).ok()
});
/// `input token count (A) … allowed (L)`, either parenthesis possibly empty.
static COUNT_SIZES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?is)input token count\s*(?:\(\s*{NUMBER}?\s*\))?.{{0,120}}?allowed\s*(?:\(\s*{NUMBER}?\s*\))?"
    ))
    .ok()
});
static LIMIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?is)maximum context length is\s*{NUMBER}|configured limit of\s*{NUMBER}|limit of\s*{NUMBER}\s*tokens"
    ))
    .ok()
});
static ACTUAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?is)resulted in\s*{NUMBER}\s*tokens|requested\s*{NUMBER}\s*tokens|you (?:sent|submitted|provided)\s*{NUMBER}\s*tokens"
    ))
    .ok()
});

/// Looks for an overflow in the parts of a vendor's error: its texts (message, code, type, name) and its body.
///
/// `status` is the HTTP status when known; otherwise a leading `4xx` in a text is taken for one. A throttled or
/// unauthorised request is never an overflow, whatever its text says.
///
/// ```
/// use agentfootprint_core::llm::detect_overflow;
///
/// let found = detect_overflow(Some(400), ["prompt is too long: 210,000 tokens > 200,000 maximum"], None).unwrap();
/// assert_eq!((found.actual, found.limit), (Some(210_000), Some(200_000)));
/// assert_eq!(detect_overflow(Some(429), ["Rate limit reached: 30000 tokens per min"], None), None);
/// ```
pub fn detect_overflow<'a>(
    status: Option<u16>,
    texts: impl IntoIterator<Item = &'a str>,
    body: Option<&serde_json::Value>,
) -> Option<Overflow> {
    let mut all: Vec<&str> = texts.into_iter().collect();
    if let Some(body) = body {
        collect_texts(body, 0, &mut all);
    }
    let status = status.or_else(|| all.iter().find_map(|text| leading_4xx(text)));
    if matches!(status, Some(401 | 403 | 429)) {
        return None;
    }
    let phrase = IS_OVERFLOW.as_ref()?;
    if !all.iter().any(|text| phrase.is_match(text)) {
        return None;
    }
    let mut found = Overflow::default();
    for text in &all {
        let sizes = stated_sizes(text);
        found.limit = found.limit.or(sizes.limit);
        found.actual = found.actual.or(sizes.actual);
    }
    Some(found)
}

/// Whether an error of a provider we did not write says that the prompt does not fit. Reads the whole source
/// chain.
pub fn looks_like_context_window_exceeded(error: &(dyn Error + 'static)) -> bool {
    if let Some(ours) = error.downcast_ref::<super::LlmError>() {
        return ours.gives_context_overflow();
    }
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(source) = next {
        if texts.len() > 8 {
            break;
        }
        texts.push(source.to_string());
        next = source.source();
    }
    detect_overflow(None, texts.iter().map(String::as_str), None).is_some()
}

fn collect_texts<'a>(value: &'a serde_json::Value, depth: usize, out: &mut Vec<&'a str>) {
    if depth > MAX_BODY_DEPTH {
        return;
    }
    match value {
        serde_json::Value::String(text) => out.push(text),
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_texts(item, depth + 1, out)),
        serde_json::Value::Object(fields) => {
            fields.values().for_each(|item| collect_texts(item, depth + 1, out))
        }
        _ => {}
    }
}

fn leading_4xx(text: &str) -> Option<u16> {
    let text = text.trim_start();
    let digits = text.get(..3)?;
    let ends = !text.get(3..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    (ends && digits.starts_with('4')).then(|| digits.parse().ok()).flatten()
}

fn stated_sizes(text: &str) -> Overflow {
    let group = |captures: &regex::Captures<'_>, at: usize| captures.get(at).and_then(|m| number(m.as_str()));
    if let Some(found) = PROMPT_SIZES.as_ref().and_then(|re| re.captures(text)) {
        return Overflow { actual: group(&found, 1), limit: group(&found, 2) };
    }
    if let Some(found) = SUM_SIZES.as_ref().and_then(|re| re.captures(text)) {
        let actual =
            group(&found, 1).zip(group(&found, 2)).map(|(input, output)| input.saturating_add(output));
        return Overflow { actual, limit: group(&found, 3) };
    }
    let mut sizes = Overflow::default();
    if let Some(found) = COUNT_SIZES.as_ref().and_then(|re| re.captures(text)) {
        sizes = Overflow { actual: group(&found, 1), limit: group(&found, 2) };
    }
    let first_of = |re: &Option<Regex>| {
        let found = re.as_ref()?.captures(text)?;
        (1..found.len()).find_map(|at| group(&found, at))
    };
    sizes.limit = sizes.limit.or_else(|| first_of(&LIMIT));
    sizes.actual = sizes.actual.or_else(|| first_of(&ACTUAL));
    sizes
}

fn number(text: &str) -> Option<u64> {
    text.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Option<(Option<u64>, Option<u64>)> {
        detect_overflow(Some(400), [text], None).map(|found| (found.actual, found.limit))
    }

    /// Proves LLM-30.
    #[test]
    fn every_phrase_is_recognised_with_its_numbers() {
        let cases = [
            ("context_length_exceeded", (None, None)),
            (
                "This model's maximum context length is 8,192 tokens. However, your messages resulted in 10,045 tokens.",
                (Some(10_045), Some(8_192)),
            ),
            (
                "This model's maximum context length is 4097 tokens, however you requested 4500 tokens (500 in the completion)",
                (Some(4_500), Some(4_097)),
            ),
            ("Prompt is too long: 205000 tokens > 200000 maximum", (Some(205_000), Some(200_000))),
            ("prompt is too long", (None, None)),
            (
                "input length and `max_tokens` exceed context limit: 190_000 + 20_000 > 200_000",
                (Some(210_000), Some(200_000)),
            ),
            ("Input is too long for requested model.", (None, None)),
            ("input too long for the requested model", (None, None)),
            (
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300001 tokens.",
                (Some(300_001), Some(272_000)),
            ),
            ("The request exceeds the maximum number of input tokens", (None, None)),
            (
                "exceeds the maximum allowed number of input tokens: you sent 12 000 tokens",
                (Some(12_000), None),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                (Some(1_200_000), Some(1_048_576)),
            ),
            (
                "The input token count () exceeds the maximum number of tokens allowed (1048576).",
                (None, Some(1_048_576)),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed ().",
                (Some(1_200_000), None),
            ),
            ("The input token count exceeds the maximum number of tokens allowed", (None, None)),
        ];
        for (text, expected) in cases {
            assert_eq!(sizes(text), Some(expected), "{text}");
        }
    }

    /// Proves LLM-30.
    #[test]
    fn near_misses_are_not_overflows() {
        for text in [
            "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000.",
            "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000",
            "max_tokens is too large: 999999. This model supports at most 16384 completion tokens",
            "max_tokens: 5000 > 4096, which is the maximum allowed number of output tokens for this model",
            "The response exceeded the maximum output",
            "exceeds the maximum number of tokens",
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0 instead.",
            "the image is too long",
        ] {
            assert_eq!(sizes(text), None, "{text}");
        }
        let text = "prompt is too long";
        for status in [401, 403, 429] {
            assert_eq!(detect_overflow(Some(status), [text], None), None);
        }
        assert_eq!(detect_overflow(None, ["429 prompt is too long"], None), None);
        assert!(detect_overflow(None, ["400 prompt is too long"], None).is_some());
    }

    /// Proves LLM-30.
    #[test]
    fn bodies_are_read_four_levels_deep_and_no_deeper() {
        let body = serde_json::json!({"a": {"b": {"c": {"code": "context_length_exceeded"}}}});
        assert!(detect_overflow(Some(400), [], Some(&body)).is_some());
        let deeper = serde_json::json!({"z": {"a": {"b": {"c": {"code": "context_length_exceeded"}}}}});
        assert!(detect_overflow(Some(400), [], Some(&deeper)).is_none());
    }

    /// Proves LLM-30.
    #[test]
    fn foreign_errors_are_read_through_their_sources() {
        #[derive(Debug, thiserror::Error)]
        #[error("call failed")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("400: prompt is too long: 3 tokens > 2"));
        assert!(looks_like_context_window_exceeded(&error));
        assert!(!looks_like_context_window_exceeded(&Outer(std::io::Error::other("disk full"))));
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&IS_OVERFLOW, &PROMPT_SIZES, &SUM_SIZES, &COUNT_SIZES, &LIMIT, &ACTUAL] {
            assert!(pattern.is_some());
        }
    }
}

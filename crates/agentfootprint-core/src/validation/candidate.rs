//! The exact text that is checked and delivered (EVD-903).

use footprint::value::Value;

/// The deepest nesting of an answer.
const MAX_DEPTH: usize = 100;

/// The canonical text of a parsed answer: compact JSON in the answer's own key order. None when it cannot stand for the answer:
/// it is nested too deep, or a number of `raw` is not the number that would be delivered.
pub(super) fn canonical(raw: &str, parsed: &Value) -> Option<String> {
    (is_shallow(parsed, MAX_DEPTH) && numbers(raw).all(is_kept)).then(|| parsed.to_string())
}

fn is_shallow(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => left > 0 && items.iter().all(|item| is_shallow(item, left - 1)),
        Value::Object(members) => left > 0 && members.iter().all(|(_, member)| is_shallow(member, left - 1)),
        _ => true,
    }
}

/// The number literals of a JSON text.
fn numbers(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            rest = rest.get(at..)?;
            if let Some(text) = rest.strip_prefix('"') {
                rest = after_text(text);
                continue;
            }
            let end = rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
            let (literal, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            return Some(literal);
        }
    })
}

/// What follows the text whose beginning quote was read.
fn after_text(mut text: &str) -> &str {
    while let Some(at) = text.find(['"', '\\']) {
        let Some(rest) = text.get(at..) else { return "" };
        if let Some(after) = rest.strip_prefix('"') {
            return after;
        }
        let mut chars = rest.chars();
        chars.nth(1);
        text = chars.as_str();
    }
    ""
}

/// Whether the number read from a literal is the literal's own. `-0` is not: it is delivered as another text.
fn is_kept(literal: &str) -> bool {
    let Ok(read) = literal.parse::<Value>() else { return false };
    match (decimal(literal), decimal(&read.to_string())) {
        (Some((true, digits, _)), _) if digits.is_empty() => false,
        (Some(stated), Some(kept)) => stated == kept,
        _ => false,
    }
}

/// Sign, digits without outer zeros, and the exponent of the last of them.
fn decimal(literal: &str) -> Option<(bool, String, i64)> {
    let (negative, unsigned) = match literal.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, literal),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let shifted = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let kept = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - kept.len()).ok()?;
    let significant = kept.trim_start_matches('0').to_owned();
    let exponent = if significant.is_empty() { 0 } else { shifted.checked_add(dropped)? };
    Some((negative, significant, exponent))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(raw: &str) -> Option<String> {
        canonical(raw, &raw.parse().unwrap())
    }

    /// Proves EVD-903: compact, in its own order, and never another number than the model stated.
    #[test]
    fn the_canonical_text_is_the_answer_itself() {
        assert_eq!(
            of("{ \"b\" : [1, 2.50],\n \"a\": \"1e999 -0\" }").unwrap(),
            r#"{"b":[1,2.5],"a":"1e999 -0"}"#
        );
        assert_eq!(of("[1e3, 0.10, -7, 1.0, 0, 0.0]").unwrap(), "[1000,0.1,-7,1,0,0]");
        assert_eq!(
            of(r#"{"q":"a\"-0","n":18446744073709551615}"#).unwrap(),
            r#"{"q":"a\"-0","n":18446744073709551615}"#
        );
        for lossy in ["-0", "[-0.0]", "[12345678901234567890123]", "0.1234567890123456789", "[-0e5]"] {
            assert_eq!(of(lossy), None, "{lossy}");
        }
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(of(&nested(100)).is_some() && of(&nested(101)).is_none());
    }

    proptest! {
        /// Proves EVD-903: a double's own shortest text is kept, and reads back as itself. (Beyond that range a double may be
        /// delivered with more digits than were stated.)
        #[test]
        fn every_double_survives(number in -1e15..1e15_f64) {
            let raw = format!("{number:e}");
            let text = of(&raw).unwrap();
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits());
        }
    }
}

use std::fmt::Write as _;

use footprint::value::{Number, Value};

use super::utf16_cmp;

/// The name of the canonical form as it stands in audit headers.
pub const CANONICALIZATION: &str = "afp-cjson/1";

/// Canonical JSON, `afp-cjson/1` (REC-79): keys sorted by UTF-16 code unit, no whitespace, ECMAScript's
/// escapes and number form. The audit chain, receipts, the ontology hash and finding identities are hashed
/// over this text and no other.
///
/// Numbers are taken as the doubles ECMAScript knows, so a verifier written elsewhere computes the same
/// text; an integer beyond 2^53 therefore canonicalises to its nearest double.
///
/// ```
/// use agentfootprint_record::text::canonical_json;
/// use footprint::value;
/// assert_eq!(canonical_json(&value!({ "b": [1.0, "é\n"], "a": null })), r#"{"a":null,"b":[1,"é\n"]}"#);
/// ```
#[must_use]
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    // An explicit stack: a value built in memory may be deeper than the native stack allows.
    let mut work = vec![Step::Value(value)];
    while let Some(step) = work.pop() {
        match step {
            Step::Text(text) => out.push_str(text),
            Step::Key(key) => {
                push_string(&mut out, key);
                out.push(':');
            }
            Step::Value(value) => open(value, &mut out, &mut work),
        }
    }
    out
}

enum Step<'a> {
    Value(&'a Value),
    Key(&'a str),
    Text(&'static str),
}

fn open<'a>(value: &'a Value, out: &mut String, work: &mut Vec<Step<'a>>) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&canonical_number(as_double(number))),
        Value::String(text) => push_string(out, text),
        Value::Array(items) => {
            out.push('[');
            work.push(Step::Text("]"));
            let from = work.len();
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    work.push(Step::Text(","));
                }
                work.push(Step::Value(item));
            }
            reverse_from(work, from);
        }
        Value::Object(object) => {
            out.push('{');
            work.push(Step::Text("}"));
            let mut entries: Vec<(&str, &Value)> =
                object.iter().map(|(key, value)| (key.as_ref(), value)).collect();
            entries.sort_by(|a, b| utf16_cmp(a.0, b.0));
            let from = work.len();
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at > 0 {
                    work.push(Step::Text(","));
                }
                work.push(Step::Key(key));
                work.push(Step::Value(value));
            }
            reverse_from(work, from);
        }
    }
}

fn reverse_from<T>(work: &mut [T], from: usize) {
    if let Some(tail) = work.get_mut(from..) {
        tail.reverse();
    }
}

#[expect(clippy::cast_precision_loss, reason = "REC-79: ECMAScript's numbers are doubles")]
fn as_double(number: &Number) -> f64 {
    if let Some(int) = number.as_i64() {
        int as f64
    } else if let Some(int) = number.as_u64() {
        int as f64
    } else {
        number.as_f64()
    }
}

/// One string as canonical JSON, quotes included.
#[must_use]
pub fn canonical_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A number in ECMAScript's shortest form (`Number::toString`); non-finite becomes `null`, `-0` becomes `0`.
///
/// ```
/// use agentfootprint_record::text::canonical_number;
/// assert_eq!(canonical_number(1e21), "1e+21");
/// assert_eq!(canonical_number(1e20), "100000000000000000000");
/// assert_eq!(canonical_number(0.1 + 0.2), "0.30000000000000004");
/// assert_eq!(canonical_number(-0.0), "0");
/// ```
#[must_use]
pub fn canonical_number(number: f64) -> String {
    if !number.is_finite() {
        return "null".to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    // Rust's `{:e}` prints the shortest digits that read back as the same double: `d.ddde±x`.
    let shortest = format!("{:e}", number.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let point = exponent.parse::<i32>().unwrap_or(0) + 1; // digits before the decimal point
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", place_point(&digits, point))
}

/// ECMA-262 `Number::toString`, steps for base 10: `digits` are the significant digits, `point` (the `n` of
/// the standard) the position of the decimal point.
fn place_point(digits: &str, point: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    if count <= point && point <= 21 {
        return format!("{digits}{}", zeros(point - count));
    }
    if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        return format!("{whole}.{fraction}");
    }
    if -6 < point && point <= 0 {
        return format!("0.{}{digits}", zeros(-point));
    }
    let exponent = point - 1;
    let sign = if exponent < 0 { '-' } else { '+' };
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    format!("{first}{dot}{rest}e{sign}{}", exponent.abs())
}

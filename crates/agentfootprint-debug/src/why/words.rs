//! What two texts share: numbers and names count, the small words of a language do not.

use std::collections::BTreeSet;

const SMALL: &[&str] = &[
    "about", "after", "also", "been", "before", "between", "could", "does", "from", "have", "into", "more",
    "must", "only", "other", "over", "should", "some", "than", "that", "their", "them", "then", "there",
    "these", "they", "this", "those", "under", "until", "very", "were", "what", "when", "where", "which",
    "while", "will", "with", "would", "your", "yours",
];

/// The telling words of a text, lower case: anything with a digit, and longer words that are not small.
pub(crate) fn telling(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '%')))
        .map(|word| word.trim_matches(|c: char| matches!(c, '-' | '_' | '.' | ':')).to_lowercase())
        .filter(|word| {
            let digits = word.chars().any(|c| c.is_ascii_digit());
            digits || (word.chars().count() >= 4 && !SMALL.contains(&word.as_str()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_tell_and_small_words_do_not() {
        let words = telling("The order A-1001 ships within 14 days, about 22.5 °C, with your refund.");
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        assert_eq!(words, ["14", "22.5", "a-1001", "days", "order", "refund", "ships", "within"]);
    }
}

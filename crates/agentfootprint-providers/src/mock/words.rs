/// Cuts a text into pieces whose concatenation is the text: each word with the white space after it; white space at
/// the start is a piece of its own.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let word = rest.find(is_space).unwrap_or(rest.len());
        let spaces =
            rest.get(word..).and_then(|tail| tail.find(|c| !is_space(c))).unwrap_or(rest.len() - word);
        let (piece, tail) = rest.split_at_checked(word + spaces)?;
        rest = tail;
        Some(piece)
    })
}

/// White space as regular expressions of the fixtures' language understand it.
fn is_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        words(text).collect()
    }

    proptest! {
        /// Proves LLM-51.
        #[test]
        fn the_pieces_are_the_text(text in "\\PC{0,40}") {
            prop_assert_eq!(words(&text).collect::<String>(), text.clone());
            prop_assert!(words(&text).all(|piece| !piece.is_empty()));
        }
    }

    /// Proves LLM-51.
    #[test]
    fn white_space_stays_with_the_word_before_it() {
        assert_eq!(cut("a  b\nc"), ["a  ", "b\n", "c"]);
        assert_eq!(cut("  a b "), ["  ", "a ", "b "]);
        assert_eq!(cut(" \n "), [" \n "]);
        assert!(cut("").is_empty());
    }
}

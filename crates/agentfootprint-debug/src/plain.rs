//! Text of a recording, made harmless for a terminal.

use std::fmt::Write as _;

/// The text on one line: line breaks become `⏎`, other control and direction characters are shown as escapes.
///
/// ```
/// use agentfootprint_debug::plain;
/// assert_eq!(plain("a\nb\u{1b}[31m"), "a ⏎ b\\u{1b}[31m");
/// ```
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push_str(" ⏎ "),
            '\t' => out.push(' '),
            '\r' => {}
            control if control.is_control() || is_direction(control) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "{}", control.escape_unicode());
            }
            other => out.push(other),
        }
    }
    out
}

/// Characters that change the direction of what follows, or are invisible.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// At most `max` characters on one line, with the cut shown.
///
/// ```
/// assert_eq!(agentfootprint_debug::excerpt("a long\nline", 6), "a lon…");
/// ```
pub fn excerpt(text: &str, max: usize) -> String {
    // Of a text of megabytes only the beginning is looked at; escaping never makes it shorter than this, whatever is dropped.
    let head = text.char_indices().filter(|(_, character)| *character != '\r').nth(max.saturating_add(1));
    let line = plain(head.map_or(text, |(end, _)| text.get(..end).unwrap_or(text)));
    if line.chars().count() <= max {
        return line;
    }
    let kept: String = line.chars().take(max.saturating_sub(1)).collect();
    format!("{kept}…")
}

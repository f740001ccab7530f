//! An answer under construction: sections of cleaned lines, and one overall bound.

use std::borrow::Cow;
use std::fmt::Write as _;

use footprint::value::utf16;

use super::hidden::Hidden;
use crate::plain::excerpt;

/// No answer is longer, in UTF-16 units (REC-88).
pub const MAX_ANSWER: usize = 16_000;
/// Longest line, in characters; a value that was asked for may be longer.
const MAX_LINE: usize = 400;
/// Lines of a long list that stand or fall together.
const CHUNK: usize = 20;

#[derive(Debug)]
struct Section {
    name: Cow<'static, str>,
    lines: Vec<String>,
}

/// Lines of text in sections. The first section is the headline, the second the warnings; both go first whatever the order they
/// were said in.
#[derive(Debug)]
pub(super) struct Answer {
    head: Vec<String>,
    warnings: Vec<String>,
    sections: Vec<Section>,
}

impl Answer {
    pub(super) fn new(head: impl AsRef<str>) -> Self {
        Self { head: vec![excerpt(head.as_ref(), MAX_LINE)], warnings: Vec::new(), sections: Vec::new() }
    }

    /// One more line of the headline.
    pub(super) fn head(&mut self, line: impl AsRef<str>) {
        self.head.push(excerpt(line.as_ref(), MAX_LINE));
    }

    /// A limit of the record, or of this answer.
    pub(super) fn warn(&mut self, line: impl AsRef<str>) {
        let line = format!("⚠ {}", excerpt(line.as_ref(), MAX_LINE));
        if !self.warnings.contains(&line) {
            self.warnings.push(line);
        }
    }

    /// Begins a section.
    pub(super) fn section(&mut self, name: impl Into<Cow<'static, str>>) {
        self.sections.push(Section { name: name.into(), lines: Vec::new() });
    }

    /// A line of the current section.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.put(excerpt(line.as_ref(), MAX_LINE));
    }

    /// A line that was cut to its own bound already.
    pub(super) fn long_line(&mut self, line: String) {
        self.put(line);
    }

    fn put(&mut self, line: String) {
        match self.sections.last_mut() {
            Some(section) => section.lines.push(line),
            None => self.head.push(line),
        }
    }

    /// A section of this many items at most, the rest counted.
    pub(super) fn list(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        max: usize,
        items: impl IntoIterator<Item = String>,
    ) {
        let mut items = items.into_iter();
        let shown: Vec<String> = items.by_ref().take(max).collect();
        if shown.is_empty() {
            return;
        }
        let rest = items.count();
        self.section(name);
        for item in shown {
            self.line(format!("  {item}"));
        }
        if rest > 0 {
            self.line(format!("  … and {rest} more"));
        }
    }

    /// A long text of lines, in sections that can be dropped from the end one by one.
    pub(super) fn text(&mut self, name: &'static str, text: &str) {
        for (at, line) in text.lines().enumerate() {
            if at % CHUNK == 0 {
                let first = at == 0;
                self.section(if first {
                    Cow::from(name)
                } else {
                    format!("{name}, from line {}", at + 1).into()
                });
            }
            self.line(line);
        }
    }

    /// What to call next.
    pub(super) fn next(&mut self, hint: impl AsRef<str>) {
        self.section("next");
        self.line(format!("  {}", hint.as_ref()));
    }

    /// Composes the text; whole trailing sections that do not fit are dropped and named.
    pub(super) fn finish(self, hidden: &Hidden) -> String {
        /// Kept free for the sentence about what was dropped.
        const NOTICE: usize = 400;
        let mut out = String::new();
        for line in self.head.iter().chain(&self.warnings) {
            let line = hidden.scrub(line);
            if utf16::len(&out) + utf16::len(&line) + 1 > MAX_ANSWER - NOTICE {
                break;
            }
            let _ = writeln!(out, "{line}");
        }
        let mut used = utf16::len(&out);
        let mut dropped: Vec<String> = Vec::new();
        for section in &self.sections {
            let mut text = String::new();
            // A continued list goes on under its first heading.
            if !section.name.contains(", from line ") {
                let _ = writeln!(text, "{}:", section.name);
            }
            for line in &section.lines {
                let _ = writeln!(text, "{}", hidden.scrub(line));
            }
            let size = utf16::len(&text);
            if !dropped.is_empty() || used + size > MAX_ANSWER - NOTICE {
                dropped.push(section.name.to_string());
                continue;
            }
            used += size;
            out.push_str(&text);
        }
        if let Some((first, rest)) = dropped.split_first() {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            let _ = writeln!(
                out,
                "⚠ left out to keep this answer under {MAX_ANSWER} characters: {}{more}; ask with smaller limits or a narrower question",
                excerpt(first, 80)
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves REC-88.
    #[test]
    fn whole_trailing_sections_are_dropped_and_named() {
        let mut answer = Answer::new("head");
        answer.section("kept");
        answer.line("x");
        for name in ["big", "after"] {
            answer.section(name);
            (0..40).for_each(|_| answer.line("y".repeat(390)));
        }
        answer.warn("a limit");
        let text = answer.finish(&Hidden::default());
        assert!(text.starts_with("head\n⚠ a limit\nkept:\nx\n"));
        assert!(text.contains("left out to keep this answer under 16000 characters: big and 1 more"));
        assert!(!text.contains("yyy"));
        assert!(utf16::len(&text) <= MAX_ANSWER);
    }
}

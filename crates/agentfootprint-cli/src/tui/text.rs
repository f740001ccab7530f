//! Lines of text: made harmless, bounded, and wrapped to a width.

use agentfootprint::debug::{excerpt, plain};
use agentfootprint::footprint::value::Value;
use unicode_width::UnicodeWidthChar as _;

/// Characters shown of one value; what is longer says how long, and how to see it whole.
pub(super) const VALUE_CHARS: usize = 4000;

/// What a line is, for its style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Heading,
    Dim,
    Warning,
}

/// One line of a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) tone: Tone,
    /// Columns it is indented by, also where it goes on below.
    pub(super) indent: usize,
    /// Always harmless: see [`plain`].
    pub(super) text: String,
    /// The row of the timeline it speaks of.
    pub(super) row: Option<usize>,
}

impl Line {
    pub(super) fn new(tone: Tone, indent: usize, text: impl AsRef<str>) -> Self {
        Self { tone, indent, text: plain(text.as_ref()), row: None }
    }

    pub(super) fn heading(text: impl AsRef<str>) -> Self {
        Self::new(Tone::Heading, 0, text)
    }

    pub(super) fn plain(text: impl AsRef<str>) -> Self {
        Self::new(Tone::Plain, 2, text)
    }

    pub(super) fn dim(text: impl AsRef<str>) -> Self {
        Self::new(Tone::Dim, 2, text)
    }

    pub(super) fn warning(text: impl AsRef<str>) -> Self {
        Self::new(Tone::Warning, 2, format!("⚠ {}", text.as_ref()))
    }

    pub(super) fn to(mut self, row: Option<usize>) -> Self {
        self.row = row;
        self
    }
}

/// A text of a recording, one line per line of it; at most `max` characters, and the cut is said.
pub(super) fn quoted(text: &str, max: usize, indent: usize, out: &mut Vec<Line>) {
    let head = text.char_indices().nth(max).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    if head.is_empty() {
        out.push(Line::new(Tone::Dim, indent, "(empty)"));
    }
    out.extend(head.lines().map(|line| Line::new(Tone::Plain, indent, line)));
    if head.len() < text.len() {
        let length = text.chars().count();
        out.push(Line::new(Tone::Dim, indent, format!("… the first {max} of {length} characters")));
    }
}

/// A value in full: a text as it is, everything else as JSON.
pub(super) fn said(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value on one line of at most `max` characters.
pub(super) fn short(value: &Value, max: usize) -> String {
    value.as_str().map_or_else(|| excerpt(&value.to_string(), max), |text| excerpt(text, max))
}

/// Columns a text takes.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

/// The lines in pieces that fit a width, broken at spaces where that leaves no great hole.
pub(super) fn wrapped(lines: &[Line], width: usize) -> Vec<Line> {
    lines.iter().flat_map(|line| wrap(line, width.max(8))).collect()
}

fn wrap(line: &Line, width: usize) -> Vec<Line> {
    let indent = line.indent.min(width / 2);
    let room = width.saturating_sub(indent);
    let piece = |text: &str| Line { text: text.trim_end().to_owned(), indent, ..line.clone() };
    let mut pieces = Vec::new();
    let (mut start, mut used) = (0, 0);
    // Just after the last space of the piece, and how wide the piece is up to there.
    let mut space: Option<(usize, usize)> = None;
    for (at, character) in line.text.char_indices() {
        let wide = character.width().unwrap_or(0);
        if used + wide > room {
            let (end, left) = match space.take() {
                Some((after, columns)) if columns > room / 2 => (after, used - columns),
                _ => (at, 0),
            };
            pieces.push(piece(line.text.get(start..end).unwrap_or_default()));
            (start, used) = (end, left);
        }
        used += wide;
        if character == ' ' {
            space = Some((at + 1, used));
        }
    }
    pieces.push(piece(line.text.get(start..).unwrap_or_default()));
    pieces
}

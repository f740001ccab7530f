//! A pane of lines: wrapped once per width, with a line that is selected.

use super::text::{Line, wrapped};

#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    source: Vec<Line>,
    lines: Vec<Line>,
    width: usize,
    /// The selected line.
    pub(super) cursor: usize,
    /// The first line that is drawn.
    pub(super) top: usize,
}

impl Page {
    pub(super) fn new(source: Vec<Line>) -> Self {
        Self { source, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn moved_to(&mut self, line: usize) {
        self.cursor = line.min(self.lines.len().saturating_sub(1));
    }

    /// The row of the timeline that the selected line speaks of.
    pub(super) fn target(&self) -> Option<usize> {
        self.lines.get(self.cursor)?.row
    }

    /// Makes it fit a pane; wraps only when the width is another one.
    pub(super) fn fit(&mut self, width: usize, height: usize) {
        if width != self.width || self.lines.is_empty() {
            self.lines = wrapped(&self.source, width);
            self.width = width;
        }
        self.moved_to(self.cursor);
        self.top = scrolled(self.top, self.cursor, self.lines.len(), height);
    }

    /// The lines a pane of this height shows, each with whether it is the selected one.
    pub(super) fn visible(&self, height: usize) -> impl Iterator<Item = (bool, &Line)> {
        let lines = self.lines.iter().enumerate().skip(self.top).take(height);
        lines.map(|(at, line)| (at == self.cursor, line))
    }
}

/// The first of `total` lines to draw so that the selected one is among the `height` that are.
pub(super) fn scrolled(top: usize, cursor: usize, total: usize, height: usize) -> usize {
    let height = height.max(1);
    let last = total.saturating_sub(height);
    top.clamp((cursor + 1).saturating_sub(height), cursor).min(last)
}

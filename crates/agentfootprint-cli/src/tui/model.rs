//! Everything that is on the screen, and what a key changes about it. No terminal is needed for either.

use std::sync::Arc;

use ratatui::layout::Rect;

use super::layout::{Areas, areas, inside};
use super::page::{Page, scrolled};
use super::run::Run;
use super::{context, detail, why};

/// A key, whatever the terminal called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    NextPane,
    PreviousPane,
    Enter,
    Escape,
    Backspace,
    Interrupt,
    Char(char),
}

/// What can happen to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Key(Key),
    /// Columns and rows of the terminal.
    Resized(u16, u16),
}

/// The pane that keys go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pane {
    Timeline,
    Detail,
    Context,
}

/// What keys mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Browse,
    /// The words so far, and the row the search began at.
    Search {
        from: usize,
    },
    Help,
}

/// The viewer at one moment.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) run: Arc<Run>,
    /// The selected row of the timeline, and the first that is drawn.
    pub(super) cursor: usize,
    pub(super) top: usize,
    pub(super) pane: Pane,
    pub(super) mode: Mode,
    pub(super) detail: Page,
    /// Stands where the detail was while it is open.
    pub(super) why: Option<Page>,
    pub(super) context: Page,
    /// What was searched for last.
    pub(super) needle: String,
    /// How the search went.
    pub(super) found: String,
    pub(super) size: Rect,
    pub(super) quit: bool,
    detail_of: Option<usize>,
    context_of: Option<Option<usize>>,
}

impl Model {
    /// A recording, seen from its first step, on a terminal of this size.
    pub(super) fn new(run: Arc<Run>, columns: u16, rows: u16) -> Self {
        let model = Self {
            run,
            cursor: 0,
            top: 0,
            pane: Pane::Timeline,
            mode: Mode::Browse,
            detail: Page::default(),
            why: None,
            context: Page::default(),
            needle: String::new(),
            found: String::new(),
            size: Rect::new(0, 0, columns, rows),
            quit: false,
            detail_of: None,
            context_of: None,
        };
        model.settled()
    }

    pub(super) fn areas(&self) -> Areas {
        areas(self.size, self.pane)
    }

    /// The page that stands in the upper right pane.
    pub(super) fn upper(&self) -> &Page {
        self.why.as_ref().unwrap_or(&self.detail)
    }

    /// Makes the panes anew where the cursor went elsewhere: once per change, never per drawing.
    pub(super) fn settled(mut self) -> Self {
        self.cursor = self.cursor.min(self.run.rows().len().saturating_sub(1));
        if self.detail_of != Some(self.cursor) {
            self.detail = Page::new(detail::of(&self.run, self.cursor));
            self.detail_of = Some(self.cursor);
        }
        let call = self.run.call_at(self.cursor);
        if self.context_of != Some(call) {
            self.context = Page::new(context::of(&self.run, call));
            self.context_of = Some(call);
        }
        let areas = self.areas();
        let height = |area: Rect| usize::from(inside(area).height);
        let width = |area: Rect| usize::from(inside(area).width);
        self.top = scrolled(self.top, self.cursor, self.run.rows().len(), height(areas.timeline));
        self.detail.fit(width(areas.detail), height(areas.detail));
        if let Some(why) = &mut self.why {
            why.fit(width(areas.detail), height(areas.detail));
        }
        self.context.fit(width(areas.context), height(areas.context));
        self
    }

    /// Opens the chain behind the selected step.
    pub(super) fn ask_why(&mut self) {
        self.why = Some(Page::new(why::of(&self.run, self.cursor)));
        self.pane = Pane::Detail;
    }

    /// Goes to another row of the timeline.
    pub(super) fn go(&mut self, row: usize) {
        self.cursor = row.min(self.run.rows().len().saturating_sub(1));
        self.why = None;
    }
}

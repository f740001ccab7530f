//! Where the panes are.

use ratatui::layout::{Constraint, Layout, Margin, Rect};

use super::model::Pane;

/// Narrower terminals show one pane at a time.
const SIDE_BY_SIDE: u16 = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Areas {
    pub(super) head: Rect,
    /// These three are empty where they are not shown.
    pub(super) timeline: Rect,
    pub(super) detail: Rect,
    pub(super) context: Rect,
    pub(super) foot: Rect,
}

/// The panes on a terminal of this size. The one with the keys gets more room.
pub(super) fn areas(size: Rect, pane: Pane) -> Areas {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Fill(1), Constraint::Length(1)]).areas(size);
    if size.width < SIDE_BY_SIDE {
        let only = |which: Pane| if which == pane { body } else { Rect { height: 0, ..body } };
        return Areas {
            head,
            timeline: only(Pane::Timeline),
            detail: only(Pane::Detail),
            context: only(Pane::Context),
            foot,
        };
    }
    let [timeline, right] = Layout::horizontal([Constraint::Fill(2), Constraint::Fill(3)]).areas(body);
    let (upper, lower) = match pane {
        Pane::Timeline => (1, 1),
        Pane::Detail => (3, 1),
        Pane::Context => (1, 3),
    };
    let [detail, context] = Layout::vertical([Constraint::Fill(upper), Constraint::Fill(lower)]).areas(right);
    Areas { head, timeline, detail, context, foot }
}

/// What is left of a pane inside its border.
pub(super) fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(1, 1))
}

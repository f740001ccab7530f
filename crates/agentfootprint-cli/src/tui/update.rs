//! What keys do.

use ratatui::layout::Rect;

use super::layout::inside;
use super::model::{Key, Message, Mode, Model, Pane};
use super::page::Page;
use super::search;

/// The model after something happened.
pub(super) fn update(mut model: Model, message: Message) -> Model {
    match message {
        Message::Resized(columns, rows) => model.size = Rect::new(0, 0, columns, rows),
        Message::Key(Key::Interrupt) => model.quit = true,
        Message::Key(key) => match model.mode {
            Mode::Browse => browse(&mut model, key),
            Mode::Search { from } => search::typed(&mut model, from, key),
            // Any key closes the help.
            Mode::Help => model.mode = Mode::Browse,
        },
    }
    model.settled()
}

fn browse(model: &mut Model, key: Key) {
    match key {
        Key::Char('q') => model.quit = true,
        Key::Char('?') => model.mode = Mode::Help,
        Key::Char('/') => {
            model.mode = Mode::Search { from: model.cursor };
            model.needle.clear();
            model.found.clear();
        }
        Key::Char('n') => search::next(model, true),
        Key::Char('N') => search::next(model, false),
        Key::Char('w') => model.ask_why(),
        Key::NextPane => model.pane = turned(model.pane, true),
        Key::PreviousPane => model.pane = turned(model.pane, false),
        Key::Escape => {
            model.why = None;
            model.pane = Pane::Timeline;
        }
        Key::Enter => match (model.pane, page(model).and_then(|page| page.target())) {
            (Pane::Timeline, _) => model.pane = Pane::Detail,
            (_, Some(row)) => {
                model.go(row);
                model.pane = Pane::Timeline;
            }
            (_, None) => {}
        },
        _ => moved(model, key),
    }
}

fn turned(pane: Pane, forward: bool) -> Pane {
    match (pane, forward) {
        (Pane::Timeline, true) | (Pane::Context, false) => Pane::Detail,
        (Pane::Detail, true) | (Pane::Timeline, false) => Pane::Context,
        (Pane::Context, true) | (Pane::Detail, false) => Pane::Timeline,
    }
}

/// The page that keys go to; none when they go to the timeline.
fn page(model: &mut Model) -> Option<&mut Page> {
    match model.pane {
        Pane::Timeline => None,
        Pane::Detail => Some(model.why.as_mut().unwrap_or(&mut model.detail)),
        Pane::Context => Some(&mut model.context),
    }
}

fn moved(model: &mut Model, key: Key) {
    let areas = model.areas();
    let (area, total, at) = match model.pane {
        Pane::Timeline => (areas.timeline, model.run.rows().len(), model.cursor),
        Pane::Detail => (areas.detail, model.upper().len(), model.upper().cursor),
        Pane::Context => (areas.context, model.context.len(), model.context.cursor),
    };
    let screen = usize::from(inside(area).height.max(1));
    let to = match key {
        Key::Up | Key::Char('k') => at.saturating_sub(1),
        Key::Down | Key::Char('j') => at.saturating_add(1),
        Key::PageUp => at.saturating_sub(screen),
        Key::PageDown => at.saturating_add(screen),
        Key::Home | Key::Char('g') => 0,
        Key::End | Key::Char('G') => usize::MAX,
        _ => return,
    };
    let to = to.min(total.saturating_sub(1));
    match page(model) {
        Some(page) => page.moved_to(to),
        None if to != at => model.go(to),
        None => {}
    }
}

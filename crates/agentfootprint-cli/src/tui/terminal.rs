//! The one place that touches a terminal.

use std::io;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::{Key, Message, Model};
use super::update::update;
use super::view::{Look, view};

/// Gives the terminal back as it was, however the viewer ends. For a panic, `try_init` hooks the same in front of its message.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        // There is nobody left to tell that the terminal is gone.
        let _ = ratatui::try_restore();
    }
}

/// Shows a model until somebody quits.
pub(super) fn shown(model: impl FnOnce(u16, u16) -> Model, look: Look) -> io::Result<()> {
    // Before the terminal is taken: taking it can fail half-way.
    let _restored = Restored;
    let mut terminal = ratatui::try_init()?;
    let size = terminal.size()?;
    until_quit(&mut terminal, model(size.width, size.height), look)
}

fn until_quit(terminal: &mut DefaultTerminal, mut model: Model, look: Look) -> io::Result<()> {
    while !model.quit {
        terminal.draw(|frame| view(&model, look, frame))?;
        // Keys that wait already are taken in before the next drawing, so that a held key never lags behind.
        loop {
            if let Some(message) = message(&event::read()?) {
                model = update(model, message);
            }
            if model.quit || !event::poll(Duration::ZERO)? {
                break;
            }
        }
    }
    Ok(())
}

/// What a terminal event means to the model; releases, pastes and the mouse mean nothing.
pub(super) fn message(event: &Event) -> Option<Message> {
    match event {
        Event::Resize(columns, rows) => Some(Message::Resized(*columns, *rows)),
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(Message::Key(key_of(key)?)),
        _ => None,
    }
}

fn key_of(key: &KeyEvent) -> Option<Key> {
    let held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(character) if !held => Key::Char(character),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab => Key::NextPane,
        KeyCode::BackTab => Key::PreviousPane,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

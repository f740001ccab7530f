//! The viewer without a terminal.

mod drawing;
mod hostile;
mod keys;
mod long;

use std::path::Path;
use std::sync::Arc;

use agentfootprint::record::Recording;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::model::{Key, Message, Model};
use super::run::Run;
use super::update::update;
use super::view::{Look, view};

const SUPPORT: &str = include_str!("../../../../agentfootprint-debug/tests/fixtures/support.json");

fn model_of(text: &[u8], columns: u16, rows: u16) -> Model {
    Model::new(Arc::new(Run::of(Recording::open(text).unwrap())), columns, rows)
}

fn support() -> Model {
    model_of(SUPPORT.as_bytes(), 120, 40)
}

fn pressed(model: Model, keys: impl IntoIterator<Item = Key>) -> Model {
    keys.into_iter().fold(model, |model, key| update(model, Message::Key(key)))
}

fn typed(model: Model, text: &str) -> Model {
    pressed(model, text.chars().map(Key::Char))
}

fn selected(model: &Model) -> &str {
    &model.run.rows()[model.cursor].step
}

fn terminal(model: &Model, look: Look) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(model.size.width, model.size.height)).unwrap();
    terminal.draw(|frame| view(model, look, frame)).unwrap();
    terminal
}

/// The screen as text.
pub(super) fn drawn(model: &Model) -> String {
    let terminal = terminal(model, Look { colours: false });
    let buffer = terminal.backend().buffer();
    let mut out = String::new();
    for row in buffer.content.chunks(usize::from(buffer.area.width.max(1))) {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Every recording of the conformance folder, where it is at hand, opens, and every step of it can be stood at.
#[test]
fn the_conformance_folder_can_be_looked_at() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden");
    if !root.is_dir() {
        eprintln!("skipped: {} is not there", root.display());
        return;
    }
    let mut pending = vec![root];
    let mut files = 0;
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.file_name().is_some_and(|name| name == "recording.json") {
                files += 1;
                let mut model = model_of(&std::fs::read(&path).unwrap(), 120, 40);
                let rows = model.run.rows().len();
                let bundles = model.run.tools.query().root().len();
                assert!(rows > 0 || bundles == 0, "{}", path.display());
                // Every event is at a row, once.
                let told: usize = model.run.rows().iter().map(|row| row.events.len()).sum();
                assert_eq!(told, model.run.events().len(), "{}", path.display());
                for at in 0..rows {
                    // Each step is taken in; drawing is the same for all.
                    if at % 7 == 0 {
                        let title = format!("timeline {}/{rows}", at + 1);
                        assert!(drawn(&model).contains(&title), "{}", path.display());
                    }
                    model = pressed(model, [Key::Down]);
                }
                model = pressed(model, [Key::Char('w')]);
                assert!(drawn(&model).contains("why"), "{}", path.display());
                for call in model.run.calls() {
                    assert_eq!(model.run.rows()[call.0].step, call.1.step);
                }
            }
        }
    }
    assert!(files > 20, "{files}");
}

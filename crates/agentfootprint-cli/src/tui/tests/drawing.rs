//! What is on the screen.

use super::*;

#[test]
fn the_worked_example_on_a_wide_screen() {
    let model = pressed(typed(support(), "/call-llm#8"), [Key::Enter]);
    insta::assert_snapshot!("wide", drawn(&model));
}

#[test]
fn a_narrow_screen_shows_one_pane_at_a_time() {
    let model = model_of(SUPPORT.as_bytes(), 60, 20);
    let screen = drawn(&model);
    assert!(screen.contains("▸ timeline 1/") && !screen.contains(" step "), "{screen}");
    let model = pressed(model, [Key::Down, Key::Enter]);
    insta::assert_snapshot!("narrow", drawn(&model));
}

#[test]
fn every_size_can_be_drawn() {
    let mut model = support();
    for (columns, rows) in [(0, 0), (1, 1), (5, 3), (79, 4), (80, 4), (300, 100), (120, 40)] {
        model = update(model, Message::Resized(columns, rows));
        model = pressed(model, [Key::Down, Key::NextPane, Key::Char('?')]);
        drawn(&model);
        model = pressed(model, [Key::Char('x'), Key::Char('w')]);
        drawn(&model);
    }
    // A terminal that shrank before the model heard of it.
    let mut terminal = Terminal::new(TestBackend::new(20, 5)).unwrap();
    terminal.draw(|frame| view(&model, Look { colours: true }, frame)).unwrap();
}

/// Proves REC-182.
#[test]
fn without_colours_emphasis_is_left() {
    let model = support();
    let styles = |colours| {
        let terminal = terminal(&model, Look { colours });
        let cells = terminal.backend().buffer().content.clone();
        let coloured = cells.iter().filter(|cell| cell.fg != ratatui::style::Color::Reset).count();
        let marked = cells.iter().filter(|cell| !cell.modifier.is_empty()).count();
        (coloured, marked)
    };
    let (coloured, marked) = styles(false);
    assert!(coloured == 0 && marked > 0);
    assert!(styles(true).0 > 0);
}

/// What the `demo` command records can be looked at.
#[test]
fn the_demo_recording_shows_its_planted_fact() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("demo.json");
    crate::demo::demo(&file).unwrap();
    let model = model_of(&std::fs::read(&file).unwrap(), 140, 60);
    assert_eq!(model.run.calls().len(), 3);
    let last = model.run.calls()[2].0;
    let mut model = model;
    model.cursor = last;
    let model = pressed(model, [Key::NextPane, Key::NextPane]);
    let context: Vec<String> = model.context.visible(500).map(|(_, line)| line.text.clone()).collect();
    let context = context.join("\n");
    assert!(context.contains("fact `returns-policy`") && context.contains("90 days"), "{context}");
    assert!(context.contains("registry `get_order`"), "{context}");
    assert!(context.contains("tool-result `call-1`"), "{context}");
    let model = pressed(model, [Key::Char('w')]);
    assert!(drawn(&model).contains("returns-policy"), "{}", drawn(&model));
    // The tool's arguments and its result stand at its step.
    let model = pressed(model, [Key::Escape]);
    let row = model.run.calls()[0].1.tools[0].step.clone();
    let model = pressed(typed(model, &format!("/{row}")), [Key::Enter]);
    let screen = drawn(&model);
    assert!(screen.contains("tool get_order (call-1") && screen.contains("A-1001"), "{screen}");
}

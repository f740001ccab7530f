//! What keys do to the model.

use super::*;
use crate::tui::model::{Mode, Pane};

/// Proves REC-182.
#[test]
fn the_timeline_has_every_step_in_order_with_kind_and_iteration() {
    let model = support();
    let rows: Vec<_> = model
        .run
        .rows()
        .iter()
        .map(|row| (row.step.as_str(), row.kind.as_str(), row.label.as_str(), row.depth, row.iteration))
        .collect();
    let expected = [
        ("run-configured#0", "", "", 0, None),
        ("seed#0", "", "Seed", 0, Some(1)),
        ("sf-messages#1", "slot", "Messages", 0, Some(1)),
        ("call-llm#3", "llm-turn", "LLM turn", 0, Some(1)),
        ("sf-route#4", "decision", "Route", 0, Some(1)),
        ("tool-calls#5", "tool-call", "Tool call", 0, Some(1)),
        ("call-llm#8", "llm-turn", "LLM turn", 0, Some(2)),
    ];
    for wanted in expected {
        assert!(rows.contains(&wanted), "{wanted:?} in {rows:#?}");
    }
    let place = |step: &str| rows.iter().position(|row| row.0 == step).unwrap();
    assert!(place("run-configured#0") < place("seed#0") || place("run-configured#0") == 1);
    assert!(place("sf-messages#1") < place("sf-messages/compose#2"));
    assert!(place("sf-messages/compose#2") < place("call-llm#3"));
    assert_eq!(place("integrity-disposition#0"), rows.len() - 1);
}

#[test]
fn moving_stops_at_both_ends() {
    let model = support();
    let last = model.run.rows().len() - 1;
    let model = pressed(model, [Key::Up, Key::Char('k'), Key::PageUp]);
    assert_eq!(model.cursor, 0);
    let model = pressed(model, [Key::Down, Key::Char('j')]);
    assert_eq!(model.cursor, 2);
    let model = pressed(model, [Key::End]);
    assert_eq!(model.cursor, last);
    let model = pressed(model, [Key::PageDown, Key::Down]);
    assert_eq!(model.cursor, last);
    assert_eq!(pressed(model, [Key::Home]).cursor, 0);
}

#[test]
fn tab_goes_round_the_panes_and_keys_go_to_the_chosen_one() {
    let model = pressed(support(), [Key::NextPane]);
    assert_eq!(model.pane, Pane::Detail);
    let model = pressed(model, [Key::Down, Key::Down]);
    assert_eq!((model.cursor, model.detail.cursor), (0, 2));
    let model = pressed(model, [Key::NextPane]);
    assert_eq!(model.pane, Pane::Context);
    let model = pressed(model, [Key::NextPane, Key::PreviousPane, Key::PreviousPane, Key::Escape]);
    assert_eq!(model.pane, Pane::Timeline);
}

/// Proves REC-182.
#[test]
fn search_goes_along_while_one_types_and_on_with_n() {
    let model = typed(support(), "/delivered");
    assert_eq!(selected(&model), "tool-calls#5");
    assert!(drawn(&model).contains("/delivered"), "{}", drawn(&model));
    let model = pressed(model, [Key::Enter, Key::Char('n')]);
    assert_ne!(selected(&model), "tool-calls#5");
    let model = pressed(model, [Key::Char('N')]);
    assert_eq!(selected(&model), "tool-calls#5");
    // A key of browsing is a letter while one types, and Esc goes back to where one was.
    let model = pressed(typed(model, "/qqq"), [Key::Backspace]);
    assert!(!model.quit && model.mode != Mode::Browse && model.found == "nowhere in this run");
    let model = pressed(model, [Key::Escape]);
    assert_eq!((selected(&model), model.mode == Mode::Browse), ("tool-calls#5", true));
    let model = pressed(model, [Key::Char('n')]);
    assert!(model.found.contains("/ searches"));
}

/// Proves REC-182.
#[test]
fn the_context_is_that_of_the_call_the_cursor_is_in_or_after() {
    let at = |step: &str| pressed(typed(support(), &format!("/{step}")), [Key::Enter]);
    let shown = |model: &Model| {
        model.context.visible(500).map(|(_, line)| line.text.clone()).collect::<Vec<_>>().join("\n")
    };
    let before = shown(&support());
    assert!(before.contains("no model call yet") && before.contains("call-llm#3"), "{before}");
    let first = shown(&at("call-llm#3"));
    assert!(first.contains("what call 1 of 2 read, at call-llm#3"), "{first}");
    assert!(
        first.contains("instructions `returns`") && first.contains("Returns: customers have 90 days."),
        "{first}"
    );
    assert!(first.contains("get_order (no source on record)"), "{first}");
    assert_eq!(shown(&at("sf-route#4")), first);
    let second = shown(&at("call-llm#8"));
    assert!(second.contains("messages (3)") && second.contains("tool-result `t1`"), "{second}");
    assert!(!second.contains("⚠"), "{second}");
}

/// Proves REC-182.
#[test]
fn why_follows_the_answer_and_enter_goes_where_a_line_points() {
    let model = pressed(support(), [Key::End, Key::Char('w')]);
    let screen = drawn(&model);
    assert!(
        screen.contains("why: the answer of this run") && screen.contains("delivered the answer"),
        "{screen}"
    );
    // Down to the line of the model call.
    let mut model = model;
    for _ in 0..20 {
        let target = model.upper().target();
        if target.is_some_and(|row| model.run.rows()[row].step == "call-llm#8") {
            break;
        }
        model = pressed(model, [Key::Down]);
    }
    let model = pressed(model, [Key::Enter]);
    assert_eq!((selected(&model), model.pane, model.why.is_none()), ("call-llm#8", Pane::Timeline, true));
    // Before the last call the question is what led to the step.
    let model = pressed(typed(model, "/tool-calls#5"), [Key::Enter, Key::Char('w')]);
    let screen = drawn(&model);
    assert!(screen.contains("call-llm#3") && !screen.contains("the answer of this run"), "{screen}");
    assert!(pressed(model, [Key::Escape]).why.is_none());
}

#[test]
fn q_and_interrupt_quit_and_any_key_closes_the_help() {
    assert!(pressed(support(), [Key::Char('q')]).quit);
    assert!(pressed(typed(support(), "/x"), [Key::Interrupt]).quit);
    let model = pressed(support(), [Key::Char('?')]);
    assert!(drawn(&model).contains("any key closes"));
    let model = pressed(model, [Key::Char('q')]);
    assert!(!model.quit && !drawn(&model).contains("any key closes"));
}

#[test]
fn terminal_events_become_keys() {
    use crate::tui::terminal::message;
    use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
    let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
    let none = KeyModifiers::NONE;
    for (event, means) in [
        (key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Message::Key(Key::Interrupt))),
        (key(KeyCode::Char('x'), KeyModifiers::CONTROL), None),
        (key(KeyCode::Char('N'), KeyModifiers::SHIFT), Some(Message::Key(Key::Char('N')))),
        (key(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Message::Key(Key::PreviousPane))),
        (key(KeyCode::F(5), none), None),
        (Event::Resize(7, 9), Some(Message::Resized(7, 9))),
        (Event::FocusLost, None),
        (Event::Key(KeyEvent::new_with_kind(KeyCode::Up, none, KeyEventKind::Release)), None),
    ] {
        assert_eq!(message(&event), means, "{event:?}");
    }
}

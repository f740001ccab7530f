//! Recordings that were made to hurt who looks at them.

use super::*;
use crate::tui::text::{Line, Tone, columns, wrapped};

/// Nothing that a terminal obeys stands in any cell.
fn assert_inert(model: &Model) {
    let terminal = terminal(model, Look { colours: true });
    for cell in &terminal.backend().buffer().content {
        for character in cell.symbol().chars() {
            let direction = matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            assert!(!character.is_control() && !direction, "{:?}", cell.symbol());
        }
    }
}

/// Proves REC-182. Every kind of text of the recording gets something hostile, also keys, ids and event types.
#[test]
fn escapes_and_direction_marks_are_shown_and_never_obeyed() {
    let evil = "\\u001b[2J\\u001b]0;owned\\u0007\\u202e\\u0000\\r";
    let mut text = SUPPORT.to_owned();
    for word in [
        "Let me look.",
        "get_order",
        "returns",
        "90 days",
        "sf-route",
        "llmLatestContent",
        "LLM turn",
        "mock-1",
        "delivered",
        "Tool calls",
        "agentfootprint.integrity",
    ] {
        text = text.replace(word, &format!("{word}{evil}"));
    }
    let mut model = model_of(text.as_bytes(), 120, 40);
    for _ in 0..model.run.rows().len() {
        assert_inert(&model);
        model = pressed(model, [Key::Down]);
    }
    let model = pressed(model, [Key::Char('w')]);
    assert_inert(&model);
    let model = pressed(model, [Key::Escape, Key::Char('/'), Key::Char('\u{1b}'), Key::Char('\u{202e}')]);
    assert_inert(&model);
    // They are there to be seen.
    let model = pressed(typed(pressed(model, [Key::Escape]), "/call-llm#3"), [Key::Enter]);
    assert!(drawn(&model).contains("\\u{1b}[2J"), "{}", drawn(&model));
}

#[test]
fn a_line_of_ten_megabytes_is_cut_and_the_cut_is_said() {
    let text = SUPPORT.replace("Let me look.", &"x".repeat(10 << 20));
    let model = pressed(typed(model_of(text.as_bytes(), 120, 40), "/call-llm#3"), [Key::Enter]);
    assert!(model.detail.len() < 1000, "{}", model.detail.len());
    let lines: Vec<String> = model.detail.visible(1000).map(|(_, line)| line.text.clone()).collect();
    assert!(lines.iter().any(|line| line.contains("of 10485760 characters")), "{lines:#?}");
    assert_inert(&model);
}

/// Proves REC-182.
#[test]
fn what_a_policy_hid_is_not_shown_and_not_found() {
    let text = SUPPORT.to_owned();
    let model = model_of(text.as_bytes(), 120, 60);
    let hidden: Vec<String> = model
        .run
        .tools
        .query()
        .root()
        .log()
        .iter()
        .flat_map(|bundle| bundle.redacted_paths.iter().map(ToString::to_string))
        .collect();
    assert_eq!(hidden, ["apiKey"], "the worked example hides a key");
    // A later commit that writes it without a placeholder does not give it away.
    let text = text.replace(
        r#""overwrite":{"finalContent":"Yes"#,
        r#""overwrite":{"apiKey":"sk-leaked","finalContent":"Yes"#,
    );
    let text = text.replace(
        r#""path":"finalContent","verb":"set"}"#,
        r#""path":"finalContent","verb":"set"},{"path":"apiKey","verb":"set"}"#,
    );
    let model = typed(model_of(text.as_bytes(), 120, 60), "/sk-leaked");
    assert_eq!(model.found, "nowhere in this run");
    let model = typed(pressed(model, [Key::Escape]), "/final#10");
    let lines: Vec<String> = model.detail.visible(1000).map(|(_, line)| line.text.clone()).collect();
    assert!(lines.iter().any(|line| line.contains("apiKey = [redacted]")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("sk-leaked")), "{lines:#?}");
}

#[test]
fn a_slot_that_a_policy_hid_is_not_told_from_events_either() {
    let text = SUPPORT.replacen(
        r#""redactedPaths":["apiKey"]"#,
        r#""redactedPaths":["apiKey","systemPromptInjections"]"#,
        1,
    );
    assert_ne!(text, SUPPORT);
    let model = pressed(typed(model_of(text.as_bytes(), 120, 60), "/call-llm#8"), [Key::Enter]);
    let lines: Vec<String> = model.context.visible(500).map(|(_, line)| line.text.clone()).collect();
    assert!(lines.iter().any(|line| line.contains("hidden by a redaction policy")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("customers have")), "{lines:#?}");
}

#[test]
fn lines_wrap_to_the_columns_of_a_terminal() {
    let line = Line::new(Tone::Plain, 4, format!("{} 漢字漢字漢字 {}", "word ".repeat(20), "y".repeat(50)));
    let pieces = wrapped(std::slice::from_ref(&line), 20);
    assert!(pieces.iter().all(|piece| piece.indent + columns(&piece.text) <= 20), "{pieces:?}");
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    let whole: String = pieces.iter().map(|piece| squeezed(&piece.text)).collect();
    assert_eq!(whole, squeezed(&line.text));
}

//! Runs of thousands of steps.

use super::*;
use crate::tui::layout::inside;
use crate::tui::view::timeline;

/// A run of `steps` steps that each set a key of their own and read the one before.
fn long(steps: usize) -> String {
    let bundle = |at: usize| {
        format!(
            r#"{{"idx":{at},"stage":"S{at}","stageId":"s","runtimeStageId":"s#{at}","trace":[{{"path":"k{at}","verb":"set"}}],"overwrite":{{"k{at}":"value {at}"}},"updates":{{}},"redactedPaths":[]}}"#
        )
    };
    let log: Vec<String> = (0..steps).map(bundle).collect();
    format!(
        r#"{{"snapshot":{{"sharedState":{{}},"initialState":{{}},"executionTree":{{"id":"s","runtimeStageId":"s#0","name":"S"}},"commitLog":[{}]}},"events":[]}}"#,
        log.join(",")
    )
}

/// Proves REC-182.
#[test]
fn of_5000_steps_only_the_visible_rows_are_made() {
    let model = model_of(long(5000).as_bytes(), 100, 30);
    assert_eq!(model.run.rows().len(), 5000);
    let room = inside(model.areas().timeline);
    let height = usize::from(room.height);
    let visible = |model: &Model| {
        let lines = timeline(model, Look { colours: false }, usize::from(room.width), height);
        lines.iter().map(ToString::to_string).collect::<Vec<String>>()
    };
    assert_eq!(visible(&model).len(), height);
    let model = pressed(model, [Key::End]);
    let lines = visible(&model);
    assert_eq!(lines.len(), height);
    assert!(lines.last().unwrap().contains("#4999"), "{lines:?}");
    assert!(drawn(&model).contains("timeline 5000/5000"));
    // The cursor stays visible wherever it goes, and the pane is always full.
    let mut model = model;
    for key in
        [Key::PageUp, Key::Up, Key::Home, Key::PageDown, Key::Down, Key::End].into_iter().cycle().take(60)
    {
        model = pressed(model, [key]);
        let lines = visible(&model);
        assert_eq!(lines.len(), height);
        let row = format!("#{} ", model.cursor);
        assert!(lines.iter().any(|line| line.contains(&row)), "{row} in {lines:?}");
    }
}

#[test]
fn every_step_of_a_long_run_can_be_walked_and_found() {
    let mut model = model_of(long(5000).as_bytes(), 100, 30);
    for _ in 0..5000 {
        model = pressed(model, [Key::Down]);
    }
    assert_eq!(model.cursor, 4999);
    let model = typed(pressed(model, [Key::Home]), "/value 4321");
    assert_eq!((model.cursor, model.found.as_str()), (4321, "1 of 1 steps"));
    // Drawing changes nothing that would have to be made anew.
    let before = format!("{:?}", (&model.detail, model.top));
    drawn(&model);
    assert_eq!(before, format!("{:?}", (&model.detail, model.top)));
}

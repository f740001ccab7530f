//! Every command over every beginning of a file: a refusal each time, never a panic.

use std::path::PathBuf;

use crate::input::{Format, Given, Input, Reading, detect};
use crate::opened::DrawnView;
use crate::out::Failure;
use crate::{ask, audit, differ, errors, events, offline, opened, view};

/// A small recording with events and a structure.
const SMALL: &str = r#"{"snapshot":{"sharedState":{"n":1},"initialState":{},"executionTree":{"id":"a","runtimeStageId":"a#0","name":"A"},"commitLog":[{"idx":0,"stage":"A","stageId":"a","runtimeStageId":"a#0","trace":[{"path":"n","verb":"set"}],"overwrite":{"n":1},"updates":{},"redactedPaths":[]}]},"events":[{"type":"x","payload":{},"meta":{"runtimeStageId":"a#0"}}],"structure":{"name":"A","id":"a","type":"stage"}}"#;

type Outcome = Result<std::process::ExitCode, Failure>;

fn all(input: &Input) -> Vec<(&'static str, Outcome)> {
    vec![
        ("open", opened::open(input)),
        ("summary", opened::summary(input)),
        ("explain", offline::explain(input)),
        ("why", offline::why(input, None, None)),
        ("step", ask::step(input, "a#0")),
        ("value", ask::value(input, "a#0", "n", None)),
        ("who", ask::who(input, "n", None)),
        ("find", ask::find(input, "xy", None)),
        ("tool", ask::tool(input, "t", false)),
        ("errors", errors::errors(input, None, false)),
        ("events", events::of(input)),
        ("mermaid", opened::mermaid(input, DrawnView::Structure, false)),
        ("diff", differ::of(input)),
        ("pack", opened::pack(input)),
        ("unpack", opened::unpack(input)),
        ("audit export", audit::of(input)),
        ("view", view::of(input)),
        #[cfg(feature = "tui")]
        ("tui", crate::tui::of(input)),
    ]
}

#[test]
fn every_command_refuses_every_torn_file() {
    let folder = tempfile::tempdir().unwrap();
    let input = |name: &str| Input {
        file: folder.path().join(name),
        given: Given {
            format: Format::Text,
            limit: 5,
            out: Some(folder.path().join("answer")),
            max_bytes: None,
            run: None,
        },
    };
    let whole = input("whole");
    std::fs::write(&whole.file, SMALL).unwrap();
    for (command, outcome) in all(&whole) {
        assert!(outcome.is_ok(), "{command}: {outcome:?}");
    }
    let torn = input("torn");
    for end in 0..SMALL.len() {
        std::fs::write(&torn.file, &SMALL[..end]).unwrap();
        for (command, outcome) in all(&torn) {
            match outcome {
                Err(failure) => assert_eq!(failure.code(), 2, "{command} after {end} bytes"),
                Ok(_) => panic!("{command} answers a file torn after {end} bytes"),
            }
        }
        assert!(!agentfootprint::debug::validate::bytes(&SMALL.as_bytes()[..end]).is_sound(false));
    }
    let fixture = include_bytes!("../../agentfootprint-debug/tests/fixtures/support.json");
    for end in (0..fixture.len() - 2).step_by(61) {
        std::fs::write(&torn.file, &fixture[..end]).unwrap();
        assert!(detect(&PathBuf::from(&torn.file), Reading::default()).is_err(), "after {end} bytes");
    }
}

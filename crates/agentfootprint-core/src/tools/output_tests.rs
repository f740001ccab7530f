use std::fmt;

use footprint::value;
use serde::Serialize;

use super::*;
use crate::tools::ask_human;

fn of<K, T: IntoToolOutput<K>>(value: T) -> Result<ToolOutput, String> {
    value.into_tool_output().map_err(|failure| failure.to_string())
}

#[derive(Serialize)]
struct Weather {
    city: &'static str,
    degrees: i32,
}

#[derive(Debug)]
struct Down;

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("service down")
    }
}

impl StdError for Down {}

/// Proves TOOL-10.
#[test]
fn every_return_type_becomes_an_output() {
    assert_eq!(of("rain"), Ok(ToolOutput::text("rain")));
    assert_eq!(of(String::from("rain")), Ok(ToolOutput::text("rain")));
    assert_eq!(of(()), Ok(ToolOutput::None));
    assert_eq!(of(None::<u8>), Ok(ToolOutput::None));
    assert_eq!(of(18), Ok(ToolOutput::json(18)));
    let expected = ToolOutput::Json(value!({ "city": "Oslo", "degrees": 18 }));
    assert_eq!(of(Weather { city: "Oslo", degrees: 18 }), Ok(expected.clone()));
    assert_eq!(of(expected.clone()), Ok(expected.clone()));
    assert_eq!(of(Ok::<_, Down>(Weather { city: "Oslo", degrees: 18 })), Ok(expected));
    assert_eq!(of(value!(null)), Ok(ToolOutput::None));
    assert_eq!(of(ToolOutput::Json(Value::Null)), Ok(ToolOutput::Json(Value::Null)));
}

#[test]
fn both_arms_of_a_result_are_understood() {
    assert_eq!(of(Ok::<&str, String>("fine")), Ok(ToolOutput::text("fine")));
    assert_eq!(of(Err::<&str, String>("no such city".into())), Err("no such city".into()));
    assert_eq!(of(Err::<Weather, Down>(Down)), Err("service down".into()));
    assert_eq!(of(Err::<ToolOutput, ToolFailure>(ToolFailure::message("x"))), Err("x".into()));
    let paused = Err::<String, ToolFailure>(ask_human(value!({ "question": "?" }))).into_tool_output();
    assert!(matches!(paused, Err(ToolFailure::Pause(_))));
}

#[test]
fn an_author_enum_called_err_is_still_data() {
    #[derive(Serialize)]
    enum Check {
        Err(&'static str),
    }
    assert_eq!(of(Check::Err("late")), Ok(ToolOutput::Json(value!({ "Err": "late" }))));
}

/// Proves TOOL-10, AGT-82.
#[test]
fn nothing_is_a_stated_sentence_and_text_stays_as_it_is() {
    assert_eq!(&*render(None), NO_TOOL_VALUE);
    assert_eq!(&*render(Some(&value!("a \"b\""))), "a \"b\"");
    assert_eq!(&*render(Some(&value!({ "b": 1, "a": [true] }))), r#"{"b":1,"a":[true]}"#);
    assert_eq!(&*render(Some(&Value::Null)), "null");
}

use footprint::value;
use proptest::prelude::*;

use super::*;

fn issues(schema: &Value, args: &Value) -> Vec<(String, String, &'static str)> {
    ArgValidator::new(schema)
        .check(args)
        .into_iter()
        .map(|issue| (issue.path, issue.expected, issue.got))
        .collect()
}

fn issue(path: &str, expected: &str, got: &'static str) -> (String, String, &'static str) {
    (path.to_owned(), expected.to_owned(), got)
}

fn booking() -> Value {
    value!({
        "type": "object",
        "properties": {
            "nights": { "type": "integer" },
            "room": { "type": "string", "enum": ["single", "double"] },
            "guest": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
        },
        "required": ["nights", "room"],
        "additionalProperties": false,
    })
}

/// Proves TOOL-16, TOOL-17.
#[test]
fn issues_name_path_expectation_and_type_in_schema_order() {
    let found = issues(&booking(), &value!({ "nights": "two", "guest": {}, "extra": 1 }));
    assert_eq!(
        found,
        [
            issue("room", "required", "missing"),
            issue("nights", "integer", "string"),
            issue("guest.name", "required", "missing"),
            issue("extra", "no additional properties", "number"),
        ]
    );
    assert!(issues(&booking(), &value!({ "nights": 2, "room": "double" })).is_empty());
}

/// Proves TOOL-16.
#[test]
fn numbers_count_by_value() {
    let schema = value!({ "properties": { "n": { "type": "integer" }, "x": { "type": "number" } } });
    assert!(issues(&schema, &value!({ "n": 1.0, "x": 2 })).is_empty());
    assert_eq!(issues(&schema, &value!({ "n": 1.5 })), [issue("n", "integer", "number")]);
    let schema = value!({ "properties": { "n": { "enum": [1, "a", null] } } });
    assert!(issues(&schema, &value!({ "n": 1.0 })).is_empty());
    assert_eq!(issues(&schema, &value!({ "n": 2 })), [issue("n", "one of 1, \"a\", null", "number")]);
}

/// Proves TOOL-16.
#[test]
fn absent_arguments_are_an_empty_object() {
    assert_eq!(issues(&value!({ "required": ["a"] }), &Value::Null), [issue("a", "required", "missing")]);
    assert!(issues(&value!({ "type": "object", "properties": {} }), &Value::Null).is_empty());
    assert_eq!(issues(&value!({ "type": "object" }), &value!("x")), [issue("", "object", "string")]);
}

/// Proves TOOL-16.
#[test]
fn a_wrong_type_or_enum_stops_the_descent() {
    let schema = value!({ "properties": { "a": {
        "type": "object", "enum": ["x"], "required": ["b"], "properties": { "b": { "type": "string" } },
    } } });
    assert_eq!(issues(&schema, &value!({ "a": 5 })), [issue("a", "object", "number")]);
    assert_eq!(issues(&schema, &value!({ "a": { "b": 1 } })), [issue("a", "one of \"x\"", "object")]);
}

/// Proves TOOL-16.
#[test]
fn what_is_not_enforced_never_rejects() {
    let lenient = [
        value!({ "properties": { "a": { "minimum": 5, "format": "email", "pattern": "^x$", "const": 1 } } }),
        value!({ "properties": { "a": { "type": "strnig" } } }),
        value!({ "properties": { "a": { "type": ["string", 7] } } }),
        value!({ "properties": { "a": { "enum": [[1], { "b": 2 }] } } }),
        value!({ "properties": { "a": { "items": [{ "type": "string" }] } } }),
        value!({ "required": "b", "properties": 4, "additionalProperties": false, "items": true }),
        value!({ "properties": { "b": {} }, "patternProperties": { "^a$": {} }, "additionalProperties": false }),
        value!({ "properties": { "b": {} }, "additionalProperties": { "type": "string" } }),
        value!({ "not": {}, "oneOf": [], "$ref": "#/nowhere", "$schema": "nonsense" }),
        value!(true),
        value!("a schema"),
    ];
    for schema in lenient {
        assert_eq!(issues(&schema, &value!({ "a": [1] })), [], "{schema}");
    }
}

/// Proves TOOL-17.
#[test]
fn paths_are_unambiguous_and_lists_are_bounded() {
    let schema =
        value!({ "properties": { "rows": { "items": { "properties": { "a.b": { "type": "string" } } } } } });
    assert_eq!(
        issues(&schema, &value!({ "rows": [{ "a.b": "x" }, { "a.b": true }] })),
        [issue("rows[1][\"a.b\"]", "string", "boolean")]
    );
    let many: Vec<Value> = (0..40).map(Value::from).collect();
    let schema = value!({ "items": { "type": ["string", "null"] } });
    let found = issues(&schema, &Value::from(many));
    assert_eq!(found.len(), MAX_ISSUES);
    assert_eq!(found[3], issue("[3]", "null or string", "number"));
}

/// Proves TOOL-5, TOOL-17.
#[test]
fn no_issue_repeats_a_value() {
    let schema = value!({ "properties": { "key": { "type": "integer" }, "mode": { "enum": ["a"] } } });
    let found = ArgValidator::new(&schema).check(&value!({ "key": "hunter2", "mode": "hunter2" }));
    assert_eq!(found.len(), 2);
    assert!(!format!("{found:?}").contains("hunter2"));
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
        "[a-d]{0,2}".prop_map(serde_json::Value::from),
        prop_oneof![Just("object"), Just("string"), Just("integer"), Just("array")]
            .prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let key = prop_oneof![
            "[a-d]",
            Just("type".to_owned()),
            Just("properties".to_owned()),
            Just("required".to_owned()),
            Just("items".to_owned()),
            Just("enum".to_owned()),
            Just("additionalProperties".to_owned()),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::hash_map(key, inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Proves TOOL-16.
    #[test]
    fn any_schema_and_any_arguments_are_judged_without_failing(schema in json(), args in json()) {
        let (schema, args) = (Value::from(schema), Value::from(args));
        let reduced = reduce_schema(&schema);
        let validator = ArgValidator::new(&schema);
        let found = validator.check(&args);
        prop_assert!(found.len() <= MAX_ISSUES);
        // The reduced schema is complete: reducing it again changes nothing.
        prop_assert_eq!(&reduce_schema(&Value::from(reduced.clone())), &reduced);
        // Issues exist exactly when the crate itself rejects the plain JSON.
        let args = if args == Value::Null { serde_json::json!({}) } else { args.to_json() };
        prop_assert_eq!(found.is_empty(), jsonschema::is_valid(&reduced, &args));
    }
}

#![cfg(feature = "schema")]

use super::*;
use crate::error::Issue;
use crate::value;
use crate::value::Value;

fn issues(schema: Value, input: Option<Value>) -> Vec<Issue> {
    let contract = Contract::new().input_schema(schema);
    contract.check_input(input.as_ref()).map_or_else(|error| error.issues, |()| Vec::new())
}

fn order_schema() -> Value {
    value!({
        "type": "object",
        "properties": {
            "amount": { "type": "number" },
            "who": { "type": "string", "minLength": 2 },
            "count": { "type": "integer" },
            "lines": { "type": "array", "items": { "type": "object", "properties": { "qty": { "type": "integer", "minimum": 1 } } } }
        },
        "required": ["amount", "who"]
    })
}

/// Proves ENG-58: missing fields first, with their path; wrong types with what was expected and what kind came.
#[test]
fn issues_have_codes_paths_and_kinds() {
    let found = issues(order_schema(), Some(value!({ "amount": "lots" })));
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].code.as_deref(), &found[0].path), (Some("missing_field"), &vec![value!("who")]));
    assert_eq!((found[0].expected.as_deref(), found[0].received.as_deref()), (None, None));
    assert_eq!((found[1].code.as_deref(), &found[1].path), (Some("invalid_type"), &vec![value!("amount")]));
    assert_eq!(
        (found[1].expected.as_deref(), found[1].received.as_deref()),
        (Some("number"), Some("string"))
    );
    assert!(issues(order_schema(), Some(value!({ "amount": 3, "who": "me" }))).is_empty());
}

/// Proves ENG-58: an absent input is checked, and integers are told from numbers.
#[test]
fn absent_inputs_and_fractions_are_seen() {
    let absent = issues(order_schema(), None);
    assert_eq!(
        (absent[0].code.as_deref(), absent[0].received.as_deref()),
        (Some("invalid_type"), Some("absent"))
    );
    assert!(absent[0].path.is_empty());
    let null = issues(order_schema(), Some(Value::Null));
    assert_eq!(null[0].received.as_deref(), Some("null"));
    let fraction = issues(order_schema(), Some(value!({ "amount": 1, "who": "me", "count": 1.5 })));
    assert_eq!(
        (fraction[0].expected.as_deref(), fraction[0].received.as_deref()),
        (Some("integer"), Some("number"))
    );
    assert!(issues(order_schema(), Some(value!({ "amount": 1, "who": "me", "count": 2.0 }))).is_empty());
    assert!(Contract::new().check_input(None).is_ok());
}

/// Proves ENG-58: a path holds an index where an array stands, and a name where a map does.
#[test]
fn paths_tell_lists_from_maps() {
    let found = issues(
        order_schema(),
        Some(value!({ "amount": 1, "who": "me", "lines": [{ "qty": 1 }, { "qty": 0 }] })),
    );
    assert_eq!(found[0].path, vec![value!("lines"), value!(1), value!("qty")]);
    assert_eq!(found[0].code.as_deref(), Some("too_small"));
    let schema = value!({ "additionalProperties": { "type": "string" } });
    assert_eq!(issues(schema, Some(value!({ "0": 1 })))[0].path, vec![value!("0")]);
}

/// Proves ENG-58: no finding quotes a value.
#[test]
fn messages_never_quote_values() {
    let secret = "hunter2-hunter2";
    let cases = [
        (value!({ "type": "object" }), value!(secret)),
        (value!({ "enum": ["a", "b"] }), value!(secret)),
        (value!({ "const": "a" }), value!(secret)),
        (value!({ "maxLength": 3 }), value!(secret)),
        (value!({ "minLength": 30 }), value!(secret)),
        (value!({ "pattern": "^a$" }), value!(secret)),
        (value!({ "format": "email", "type": "number" }), value!(secret)),
        (value!({ "not": { "type": "string" } }), value!(secret)),
        (value!({ "anyOf": [{ "type": "number" }, { "type": "null" }] }), value!(secret)),
        (value!({ "oneOf": [{ "minLength": 1 }, { "minLength": 2 }] }), value!(secret)),
        (value!({ "contains": { "type": "number" } }), value!([secret])),
        (value!({ "uniqueItems": true }), value!([secret, secret])),
        (value!({ "items": false }), value!([secret])),
        (value!({ "maxItems": 0 }), value!([secret])),
        (value!({ "prefixItems": [true], "items": false }), value!([1, secret])),
        (value!({ "additionalProperties": false }), value!({ "field": secret })),
        (value!({ "properties": { "p": { "type": "number" } } }), value!({ "p": secret })),
        (value!({ "minProperties": 2 }), value!({ "p": secret })),
        (value!({ "dependentRequired": { "p": ["q"] } }), value!({ "p": secret })),
    ];
    for (schema, input) in cases {
        let found = issues(schema.clone(), Some(input));
        assert!(!found.is_empty(), "{schema}");
        for issue in found {
            assert!(issue.code.is_some());
            assert!(!format!("{issue:?}").contains("hunter2"), "{issue:?}");
        }
    }
}

/// Proves ENG-58: a typed input has the derived schema.
#[test]
fn typed_inputs_are_derived() {
    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Order {
        amount: f64,
        note: Option<String>,
    }
    let contract = Contract::new().input::<Order>().output::<Vec<u8>>();
    assert!(contract.check_input(Some(&value!({ "amount": 1.5 }))).is_ok());
    let refused = contract.check_input(Some(&value!({ "note": "x" }))).unwrap_err();
    assert_eq!(refused.issues[0].code.as_deref(), Some("missing_field"));
    assert_eq!(contract.input_document().unwrap()["title"], value!("Order"));
    assert!(Chart::builder(nop("a")).contract(contract).build().is_ok());
}

/// Proves ENG-58: checking the output is opt-in.
#[test]
fn outputs_are_checked_on_request() {
    let contract = Contract::new().output_schema(value!({ "type": "number" }));
    assert!(contract.check_output(Some(&value!("text"))).is_ok());
    let strict = contract.validate_output(true);
    let refused = strict.check_output(Some(&value!("text"))).unwrap_err();
    assert_eq!((refused.side, refused.issues.len()), ("output", 1));
    assert!(strict.check_output(Some(&value!(1))).is_ok());
    assert!(strict.check_output(None).is_err());
}

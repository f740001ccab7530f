use footprint::value;

use super::*;
use crate::tools::people::AskComponent;

fn problems(declared: ToolDeclarations, schema: Value) -> Vec<String> {
    let mut problems = Vec::new();
    declared.check("sum", &schema, &mut problems);
    problems.iter().map(ToString::to_string).collect()
}

fn names(list: &[&str]) -> Vec<Str> {
    list.iter().map(|name| Str::from(*name)).collect()
}

/// Proves TOOL-9.
#[test]
fn every_fault_of_a_definition_is_reported_with_its_fix() {
    let faults = problems(
        ToolDeclarations {
            needs: Some(CredentialNeed::new(" ")),
            wants: IndexMap::from([("rows".into(), "table".into())]),
            check_in_component: Some(AskComponent::new("approve")),
            result_ceiling: Some(ResultCeiling { max_chars: 0, narrow_by: None }),
            result_kind: Some(" ".into()),
            result_columns: IndexMap::from([(" ".into(), ColumnKind::Date.into())]),
            owner: Some(ToolOwner { kind: ContextSource::Skill, id: "".into() }),
            arguments_from: names(&["sum"]),
            composed_of: names(&["", "b"]),
            ..ToolDeclarations::default()
        },
        value!({ "properties": {} }),
    );
    assert_eq!(
        faults,
        [
            "needs.credential: a blank text; name the service",
            "wants: argument `rows`, which the input schema does not have; declare it in `properties` as a string: \
             the model passes a reference",
            "resultCeiling.maxChars: 0; give a positive number of characters",
            "resultKind: a blank text; name the artifact kind, or leave it out",
            "owner.id: a blank text; name the owner, or leave `owner` out",
            "resultColumns: a blank column name; name every column",
            "argumentsFrom: the tool itself; name other tools",
            "composedOf: a blank name; name registered tools",
            "checkInComponent: a component without `checkIn`; declare `checkIn` as well: the component collects its \
             decision",
        ]
    );
    let error = ToolDefError {
        tool: "sum".into(),
        problems: vec![ToolDefProblem::new("a", "b", "c"), ToolDefProblem::new("d", "e", "f")],
    };
    assert_eq!(error.to_string(), "tool `sum` cannot be built (2 problems)\n- a: b; c\n- d: e; f");
    assert_eq!(error.code(), "ERR_TOOL_DEF");
}

/// Proves TOOL-9.
#[test]
fn wants_takes_text_arguments_only() {
    let wants = |argument: &str, kind: &str| ToolDeclarations {
        wants: IndexMap::from([(argument.into(), kind.into())]),
        ..ToolDeclarations::default()
    };
    let schema =
        || value!({ "properties": { "a": { "type": "string" }, "b": { "type": "number" }, "c": {} } });
    assert!(problems(wants("a", "table"), schema()).is_empty());
    assert!(problems(wants("c", "table"), schema()).is_empty());
    assert!(problems(wants("b", "table"), schema())[0].contains("argument `b`, whose type is not string"));
    assert!(problems(wants("a", " "), schema())[0].contains("a blank kind for `a`"));
    assert!(problems(wants("", "x"), schema())[0].contains("a blank argument name"));
    assert!(
        assert_wants(&IndexMap::new(), &schema()).unwrap_err().to_string().contains("wants: no arguments")
    );
}

/// Proves TOOL-9.
#[test]
fn an_empty_capability_list_is_legal() {
    let declared = ToolDeclarations { capabilities: Some(Vec::new()), ..ToolDeclarations::default() };
    assert!(problems(declared, value!({})).is_empty());
}

/// Proves TOOL-8.
#[test]
fn travelling_declarations_read_back() {
    let meta = value!({
        "resultKind": "table",
        "resultColumns": { "id": "string", "late": { "type": "number", "nullable": true } },
        "owner": { "kind": "skill", "id": "yard" },
        "argumentsFrom": ["here"],
        "composedOf": ["a", "b"],
        "gates": true,
        "resultCeiling": { "maxChars": 40, "narrowBy": ["limit"] },
        "resultClass": "triage",
    });
    let (declared, problems) = ToolDeclarations::read_meta(meta.as_object().unwrap());
    assert_eq!(problems, []);
    assert_eq!(Value::Object(declared.to_meta()), meta);
    assert!(ToolDeclarations::default().to_meta().is_empty());
}

/// Proves TOOL-8, TOOL-9.
#[test]
fn foreign_declarations_are_refused_by_name_never_guessed() {
    let meta = value!({
        "gates": "yes", "resultClass": "gossip", "resultColumns": { "a": "money" }, "owner": { "kind": "cat", "id": "x" },
        "resultCeiling": { "maxChars": 1.5 }, "argumentsFrom": "here",
    });
    let (declared, problems) = ToolDeclarations::read_meta(meta.as_object().unwrap());
    assert!(declared.to_meta().is_empty());
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(texts.contains(&"gates: a malformed string; give true or false".to_owned()), "{texts:?}");
    assert!(texts.contains(&"resultClass: a malformed string; give `triage` or `inventory`".to_owned()));
    assert_eq!(texts.len(), 6);
}

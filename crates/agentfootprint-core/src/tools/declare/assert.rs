//! The checks of declarations. Each is public: the builder and the ingest of foreign tools use the same ones.

use footprint::value::{Str, Value};
use indexmap::IndexMap;

use super::{ColumnType, CredentialNeed, ResultCeiling, ToolDefProblem, ToolOwner};
use crate::tools::people::AskComponent;

fn blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// A ceiling is a positive number of characters; `narrowBy`, when given, names at least one parameter.
pub fn assert_result_ceiling(ceiling: &ResultCeiling) -> Result<(), ToolDefProblem> {
    if ceiling.max_chars == 0 {
        return Err(ToolDefProblem::new(
            "resultCeiling.maxChars",
            "0",
            "give a positive number of characters",
        ));
    }
    match &ceiling.narrow_by {
        Some(names) if names.is_empty() => Err(ToolDefProblem::new(
            "resultCeiling.narrowBy",
            "an empty list",
            "name the parameters that narrow a call, or leave it out",
        )),
        Some(names) if names.iter().any(|name| blank(name)) => Err(ToolDefProblem::new(
            "resultCeiling.narrowBy",
            "a blank name",
            "name parameters of the input schema",
        )),
        _ => Ok(()),
    }
}

/// A result kind is not blank.
pub fn assert_result_kind(kind: &str) -> Result<(), ToolDefProblem> {
    if blank(kind) {
        return Err(ToolDefProblem::new(
            "resultKind",
            "a blank text",
            "name the artifact kind, or leave it out",
        ));
    }
    Ok(())
}

/// Columns have names.
pub fn assert_result_columns(columns: &IndexMap<Str, ColumnType>) -> Result<(), ToolDefProblem> {
    if columns.is_empty() {
        return Err(ToolDefProblem::new("resultColumns", "no columns", "name the columns, or leave it out"));
    }
    if columns.keys().any(|name| blank(name)) {
        return Err(ToolDefProblem::new("resultColumns", "a blank column name", "name every column"));
    }
    Ok(())
}

/// An owner has both halves.
pub fn assert_owner(owner: &ToolOwner) -> Result<(), ToolDefProblem> {
    if blank(&owner.id) {
        return Err(ToolDefProblem::new("owner.id", "a blank text", "name the owner, or leave `owner` out"));
    }
    Ok(())
}

/// A needed credential names its service.
pub fn assert_needs(needs: &CredentialNeed) -> Result<(), ToolDefProblem> {
    if blank(&needs.credential) {
        return Err(ToolDefProblem::new("needs.credential", "a blank text", "name the service"));
    }
    Ok(())
}

/// `argumentsFrom` names other tools.
pub fn assert_arguments_from(tool: &str, names: &[Str]) -> Result<(), ToolDefProblem> {
    assert_other_tools("argumentsFrom", tool, names)
}

/// `composedOf` names other tools.
pub fn assert_composed_of(tool: &str, names: &[Str]) -> Result<(), ToolDefProblem> {
    assert_other_tools("composedOf", tool, names)
}

fn assert_other_tools(field: &'static str, tool: &str, names: &[Str]) -> Result<(), ToolDefProblem> {
    if names.is_empty() {
        return Err(ToolDefProblem::new(field, "an empty list", "name registered tools, or leave it out"));
    }
    if names.iter().any(|name| blank(name)) {
        return Err(ToolDefProblem::new(field, "a blank name", "name registered tools"));
    }
    if names.iter().any(|name| &**name == tool) {
        return Err(ToolDefProblem::new(field, "the tool itself", "name other tools"));
    }
    Ok(())
}

/// `wants` maps arguments the schema declares as texts to artifact kinds.
pub fn assert_wants(wants: &IndexMap<Str, Str>, input_schema: &Value) -> Result<(), ToolDefProblem> {
    if wants.is_empty() {
        return Err(ToolDefProblem::new(
            "wants",
            "no arguments",
            "name the arguments that take artifacts, or leave it out",
        ));
    }
    let properties = input_schema.get("properties").and_then(Value::as_object);
    for (argument, kind) in wants {
        if blank(argument) {
            return Err(ToolDefProblem::new(
                "wants",
                "a blank argument name",
                "name an argument of the input schema",
            ));
        }
        if blank(kind) {
            return Err(ToolDefProblem::new(
                "wants",
                format!("a blank kind for `{argument}`"),
                "name the artifact kind this argument accepts",
            ));
        }
        let Some(schema) = properties.and_then(|properties| properties.get(argument)) else {
            return Err(ToolDefProblem::new(
                "wants",
                format!("argument `{argument}`, which the input schema does not have"),
                "declare it in `properties` as a string: the model passes a reference",
            ));
        };
        match schema.get("type") {
            None => {}
            Some(Value::String(word)) if &**word == "string" => {}
            Some(_) => {
                return Err(ToolDefProblem::new(
                    "wants",
                    format!("argument `{argument}`, whose type is not string"),
                    "declare it as a string: the model passes a reference",
                ));
            }
        }
    }
    Ok(())
}

/// A component belongs to a check-in and is well formed.
pub(super) fn check_in_component(has_check_in: bool, component: &AskComponent) -> Result<(), ToolDefProblem> {
    if !has_check_in {
        return Err(ToolDefProblem::new(
            "checkInComponent",
            "a component without `checkIn`",
            "declare `checkIn` as well: the component collects its decision",
        ));
    }
    component.shape_fault().map_or(Ok(()), |fault| {
        Err(ToolDefProblem::new("checkInComponent", fault, "give a component id, and props as an object"))
    })
}

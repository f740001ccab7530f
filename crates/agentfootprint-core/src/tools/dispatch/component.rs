//! The gatekeeper of every question with a screen (TOOL-68): a run never pauses with a question nobody can see.

use agentfootprint_record::events::words::ArtifactRefusal;
use footprint::error::StageError;
use footprint::value::{Str, Value};

use super::artifacts;
use crate::run::{AskComponentFault, RunError, StageCx};
use crate::tools::people::AskComponent;

/// Checks the component a question names: its shape, and that its data can be read now. `door` is how the question was raised.
pub(super) async fn must_be_visible(
    cx: &StageCx,
    tool: &Str,
    door: &'static str,
    component: Option<&Value>,
) -> Result<(), StageError> {
    let Some(component) = component else { return Ok(()) };
    let component = match AskComponent::read(component) {
        Ok(component) => component,
        Err(what) => {
            artifacts::refuse(cx, tool, ArtifactRefusal::InvalidInput, None, &what);
            return Err(invalid(AskComponentFault::Shape { what }, door, None));
        }
    };
    let Some(reference) = component.props_ref else { return Ok(()) };
    match artifacts::look(cx, tool, &reference).await? {
        Ok(_) => Ok(()),
        Err(ArtifactRefusal::NoStore) => Err(invalid(AskComponentFault::NoStore, door, Some(reference))),
        Err(_) => Err(invalid(AskComponentFault::UnresolvedRef, door, Some(reference))),
    }
}

/// How the component of a pause is found, and by whom it was raised; a tool's own question carries it on top.
pub(super) fn of_question(data: &footprint::value::Object) -> Option<(&'static str, &Value)> {
    let inside = |key: &str| data.get(key).and_then(|part| part.get("component"));
    inside("ask")
        .map(|component| ("a middleware's ask", component))
        .or_else(|| data.get("component").map(|component| ("ask_human", component)))
}

/// The door of a tool's declared check-in.
pub(super) const CHECK_IN: &str = "check_in_component";

fn invalid(fault: AskComponentFault, door: &'static str, reference: Option<Str>) -> StageError {
    let error = RunError::InvalidAskComponent { fault, door, reference };
    StageError::named("InvalidAskComponentError", error.to_string())
        .with_code("ERR_INVALID_ASK_COMPONENT")
        .with_source(error)
}

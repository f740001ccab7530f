//! Scenarios of kind `agent`, `llmCall` and the compositions. (being written)

use serde_json::Value;

use super::Played;

pub async fn play(scenario: &Value) -> Result<Played, String> {
    Err(format!("kind {} cannot be run yet", super::text(scenario, "kind")))
}

//! The key of one call: resolved before anything is sent, and put into a header that no log shows.

use agentfootprint_core::llm::{CallCx, LlmError, LlmErrorKind};
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use crate::Key;
use crate::http::Scene;
use crate::key::KeyProblem;

/// Asks the source of a key for the one of this call. `variable` is where the adapter looks for one by itself.
pub(crate) async fn key_for(
    key: &Key,
    scene: &Scene,
    cx: &CallCx,
    variable: &str,
) -> Result<Option<SecretString>, LlmError> {
    let model = scene.model();
    let resolved = tokio::select! {
        biased;
        () = cx.cancelled() => return Err(scene.aborted()),
        resolved = key.resolve(model) => resolved,
    };
    resolved.map_err(|problem| {
        let message = match problem {
            KeyProblem::NoEntry => {
                format!("there is no key for the model `{model}` in the key map; add one for exactly this id")
            }
            KeyProblem::Blank => format!("the key is blank; give one with .key(…) or in {variable}"),
            KeyProblem::CallbackGaveNothing => format!(
                "the key callback gave nothing for the model `{model}`; it must return a key or the call cannot be made"
            ),
        };
        scene.error(LlmErrorKind::NoCredential, message)
    })
}

/// A header value that carries a key; it is marked sensitive, so that nothing prints it.
pub(crate) fn key_header(prefix: &str, key: &SecretString, scene: &Scene) -> Result<HeaderValue, LlmError> {
    let value = HeaderValue::from_str(&format!("{prefix}{}", key.expose_secret()));
    let mut value = value.map_err(|_| {
        let message = "the key holds characters no header can carry, probably a line break; take them out";
        scene.error(LlmErrorKind::NoCredential, message)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

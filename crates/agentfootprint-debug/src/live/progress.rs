//! What of a tool's progress report a user may see.

use footprint::value::Value;

/// Longest progress message shown, in characters.
pub const PROGRESS_MESSAGE_LIMIT: usize = 120;

/// The message of a progress report: its top-level text `message`, trimmed, and cut at [`PROGRESS_MESSAGE_LIMIT`] with the
/// number of characters left out. Anything else has none: a payload is never dumped into a user's view.
///
/// ```
/// use agentfootprint_debug::live::progress_message_of;
/// use footprint::value;
/// assert_eq!(progress_message_of(&value!({ "message": " 3 of 7 " })).as_deref(), Some("3 of 7"));
/// assert_eq!(progress_message_of(&value!({ "rows": 3 })), None);
/// ```
#[must_use]
pub fn progress_message_of(payload: &Value) -> Option<String> {
    let Value::Object(object) = payload else { return None };
    let message = object.get("message")?.as_str()?.trim();
    if message.is_empty() {
        return None;
    }
    let left_out = message.chars().count().saturating_sub(PROGRESS_MESSAGE_LIMIT);
    if left_out == 0 {
        return Some(message.to_owned());
    }
    let shown: String = message.chars().take(PROGRESS_MESSAGE_LIMIT).collect();
    Some(format!("{shown}… ({left_out} more characters)"))
}

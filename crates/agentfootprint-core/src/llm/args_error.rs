use agentfootprint_record::message::ToolCall;
use footprint::value::{Object, Value};

const KEY: &str = "argsError";

/// Why the arguments of a requested tool call could not be read. It travels on the call, under `argsError`; the
/// call's `args` are empty then, and the dispatcher answers it without running anything.
///
/// ```
/// use agentfootprint_core::llm::ArgsError;
/// use agentfootprint_record::message::ToolCall;
///
/// let mut call = ToolCall::new("t1", "get_order", Default::default());
/// ArgsError { message: "the arguments are not JSON".into(), length: 17 }.put_on(&mut call);
/// assert_eq!(ArgsError::of(&call).unwrap().length, 17);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgsError {
    /// What the parser says; never the text itself.
    pub message: String,
    /// Length of the text, in UTF-16 units.
    pub length: u64,
}

impl ArgsError {
    /// The error a call carries, if any.
    pub fn of(call: &ToolCall) -> Option<Self> {
        let error = call.extra.get(KEY)?;
        Some(ArgsError {
            message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
            length: error.get("length").and_then(Value::as_u64).unwrap_or(0),
        })
    }

    /// Puts the error on a call.
    pub fn put_on(&self, call: &mut ToolCall) {
        let mut error = Object::new();
        error.insert("message", Value::from(self.message.as_str()));
        error.insert("length", Value::from(self.length));
        call.extra.insert(KEY, Value::Object(error));
    }
}

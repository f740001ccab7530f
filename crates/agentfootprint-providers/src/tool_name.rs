use agentfootprint_record::message::ProviderMessages;
use footprint::value::Str;

/// The tool a result comes from: as the message says, else as the call it answers says.
pub(crate) fn tool_name(history: &ProviderMessages, position: usize) -> Option<Str> {
    let message = history.get(position)?;
    if let Some(name) = message.tool_name().filter(|name| !name.is_empty()) {
        return Some(name.clone());
    }
    let id = message.tool_call_id()?;
    let before = (0..position).rev().filter_map(|at| history.get(at));
    let mut calls = before.flat_map(|message| message.tool_calls());
    calls.find(|call| call.id == *id).map(|call| call.name)
}

#[cfg(test)]
mod tests {
    use agentfootprint_record::message::{Message, Messages, ToolCall};
    use footprint::value::Object;

    use super::*;

    #[test]
    fn a_missing_name_is_taken_from_the_call() {
        let call = |id: &str, name: &str| ToolCall::new(id, name, Object::new());
        let asking = Message::assistant("").with_tool_calls(vec![call("a", "first"), call("b", "second")]);
        let messages: Messages = [
            asking,
            Message::tool("b", "", "x"),
            Message::tool("a", "said", "y"),
            Message::tool("c", "", "z"),
        ]
        .into_iter()
        .collect();
        let history = messages.for_provider();
        let names: Vec<_> = (1..4).map(|at| tool_name(&history, at)).collect();
        assert_eq!(names, [Some("second".into()), Some("said".into()), None]);
    }
}

//! Tool results that stay although they are old: the newest of each tool (LLM-159, LLM-171).

use std::collections::HashSet;

use agentfootprint_record::message::{MessageView, Messages, Role};
use agentfootprint_record::text::utf16_len;
use footprint::value::{Str, Value};

use super::turns::WindowTurn;

/// A turn that is kept for the newest result of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResultPin {
    /// The tool.
    pub tool_name: Str,
    /// Index of the turn.
    pub turn_index: usize,
    /// Length of the result, in UTF-16 units.
    pub chars: usize,
}

/// The turns worth pinning: for each tool name its latest result after the current request, newest first, one per turn, at most
/// `limit`. Results nobody can name and calls that were not dispatched do not count.
#[must_use]
pub fn tool_result_pins_of(
    history: &Messages,
    turns: &[WindowTurn],
    request_turn: Option<usize>,
    limit: usize,
) -> Vec<ToolResultPin> {
    let mut named: HashSet<Str> = HashSet::new();
    let mut pins: Vec<ToolResultPin> = Vec::new();
    let first = request_turn.map_or(0, |turn| turn + 1);
    for (turn_index, turn) in turns.iter().enumerate().skip(first).rev() {
        for position in (turn.start..turn.end).rev() {
            if pins.len() >= limit {
                return pins;
            }
            let Some(message) = history.get(position).filter(|message| message.is(&Role::Tool)) else {
                continue;
            };
            let Some(tool_name) = tool_name_of(history, position) else { continue };
            if !named.insert(tool_name.clone()) || pins.last().is_some_and(|pin| pin.turn_index == turn_index)
            {
                continue;
            }
            pins.push(ToolResultPin { tool_name, turn_index, chars: utf16_len(message.content()) });
        }
    }
    pins
}

/// The tool a result came from: what the message says, else the call it answers. A call that was not dispatched has no name.
pub(super) fn tool_name_of(history: &Messages, position: usize) -> Option<Str> {
    let message = history.get(position)?;
    if message.not_dispatched().is_some() {
        return None;
    }
    message.tool_name().cloned().or_else(|| {
        let id = message.tool_call_id()?;
        (0..position).rev().filter_map(|at| history.get(at)).find_map(|asking| called(asking, id))
    })
}

fn called(message: MessageView<'_>, id: &str) -> Option<Str> {
    let calls = message.raw_tool_calls()?;
    let call = calls.iter().find(|call| call.get("id").and_then(Value::as_str) == Some(id))?;
    call.get("name").and_then(Value::as_shared_str).cloned()
}

/// Names of the tools whose results lie in `range`, each once, in order.
pub(super) fn tools_in(history: &Messages, range: std::ops::Range<usize>) -> Vec<Str> {
    let mut names: Vec<Str> = Vec::new();
    for position in range {
        let is_result = history.get(position).is_some_and(|message| message.is(&Role::Tool));
        if let Some(name) = is_result.then(|| tool_name_of(history, position)).flatten()
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use agentfootprint_record::message::{Message, ToolCall};
    use footprint::value::Object;

    use super::super::turns::turns_of;
    use super::*;

    fn called(id: &str, name: &str) -> Message {
        Message::assistant("").with_tool_calls(vec![ToolCall::new(id, name, Object::new())])
    }

    /// Proves LLM-159, LLM-171.
    #[test]
    fn the_newest_result_of_each_tool_is_pinned() {
        let mut nameless = Message::tool("c3", "", "third");
        nameless.tool_name = None;
        let history: Messages = [
            Message::user("q"),
            called("c1", "note"),
            Message::tool("c1", "note", "first"),
            called("c2", "note"),
            Message::tool("c2", "note", "second"),
            called("c3", "look"),
            nameless,
        ]
        .into_iter()
        .collect();
        let turns = turns_of(&history);
        let pins = tool_result_pins_of(&history, &turns, Some(0), 2);
        let said: Vec<_> = pins.iter().map(|pin| (&*pin.tool_name, pin.turn_index, pin.chars)).collect();
        assert_eq!(said, [("look", 3, 5), ("note", 2, 6)]);
        assert!(tool_result_pins_of(&history, &turns, Some(0), 0).is_empty());
        assert!(tool_result_pins_of(&history, &turns, Some(3), 2).is_empty());
        assert_eq!(tools_in(&history, 0..7), [Str::from("note"), Str::from("look")]);
    }
}

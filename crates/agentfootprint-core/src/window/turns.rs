//! The units of a window: turns, and the request that started the work.

use agentfootprint_record::message::{Messages, Role};

/// A message with the tool results that belong to it: the smallest thing that can leave (LLM-153).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowTurn {
    /// Position of its first message.
    pub start: usize,
    /// Position after its last message.
    pub end: usize,
}

impl WindowTurn {
    /// Whether the message at `position` belongs to it.
    #[must_use]
    pub fn holds(self, position: usize) -> bool {
        (self.start..self.end).contains(&position)
    }
}

/// Cuts a conversation into turns: one begins at every message that is no tool result; a tool result at the very front begins
/// its own. Every message belongs to exactly one turn.
///
/// ```
/// use agentfootprint_core::window::turns_of;
/// use agentfootprint_record::message::{Message, Messages};
/// let history: Messages =
///     [Message::user("hi"), Message::assistant(""), Message::tool("c", "t", "r")].into_iter().collect();
/// assert_eq!(turns_of(&history).iter().map(|turn| turn.end).collect::<Vec<_>>(), [1, 3]);
/// ```
#[must_use]
pub fn turns_of(history: &Messages) -> Vec<WindowTurn> {
    let mut turns: Vec<WindowTurn> = Vec::new();
    for (at, message) in history.iter().enumerate() {
        match turns.last_mut() {
            Some(turn) if message.is(&Role::Tool) => turn.end = at + 1,
            _ => turns.push(WindowTurn { start: at, end: at + 1 }),
        }
    }
    turns
}

/// Position of the current request: the last message a person said whose text is `user_message`, else the last thing a person
/// said (LLM-158). What the library or an injection put into the conversation is no person's.
#[must_use]
pub fn current_request_index_of(history: &Messages, user_message: &str) -> Option<usize> {
    let marks = history.marks();
    let said = |at: &usize| {
        let text = history.get(*at).map(|message| message.content());
        history.is_persons_turn(*at, marks) || (text == Some(user_message) && is_unmarked_user(history, *at))
    };
    let equals = |at: &usize| history.get(*at).is_some_and(|message| message.content() == user_message);
    let people = || (0..history.len()).rev().filter(said);
    people().find(equals).or_else(|| people().next())
}

/// A user may type what one of the library's texts begins with: without a mark, the beginning never disqualifies the request.
fn is_unmarked_user(history: &Messages, at: usize) -> bool {
    history.get(at).is_some_and(|message| {
        message.is(&Role::User) && message.injected_by().is_none() && message.frame().is_none()
    })
}

#[cfg(test)]
mod tests {
    use agentfootprint_record::conventions::Frame;
    use agentfootprint_record::message::Message;
    use proptest::prelude::*;

    use super::*;

    fn history(messages: impl IntoIterator<Item = Message>) -> Messages {
        messages.into_iter().collect()
    }

    proptest! {
        /// Proves LLM-153: every message is in exactly one turn, in order, whatever the input.
        #[test]
        fn turns_cover_every_message_once(roles in proptest::collection::vec(0_u8..4, 0..30)) {
            let list = history(roles.iter().map(|role| match role {
                0 => Message::user("u"),
                1 => Message::assistant("a"),
                2 => Message::system("s"),
                _ => Message::tool("c", "t", "r"),
            }));
            let turns = turns_of(&list);
            let mut at = 0;
            for turn in &turns {
                prop_assert_eq!(turn.start, at);
                prop_assert!(turn.end > turn.start);
                at = turn.end;
                for inside in turn.start + 1..turn.end {
                    prop_assert!(list.get(inside).unwrap().is(&Role::Tool));
                }
            }
            prop_assert_eq!(at, list.len());
        }
    }

    /// Proves LLM-158.
    #[test]
    fn the_request_is_what_a_person_said() {
        let notice = Message::framed(Role::User, Frame::DropNotice, "[dropped history] …");
        let list = history([Message::user("a"), Message::user("b"), notice, Message::assistant("x")]);
        assert_eq!(current_request_index_of(&list, "a"), Some(0));
        assert_eq!(current_request_index_of(&list, "unknown"), Some(1));
        assert_eq!(current_request_index_of(&history([Message::assistant("x")]), "a"), None);
        let typed = history([Message::user("[dropped history is my topic"), Message::assistant("x")]);
        assert_eq!(current_request_index_of(&typed, "[dropped history is my topic"), Some(0));
    }
}

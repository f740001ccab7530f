//! Messages of a conversation: one flat JSON object each, kept in one persistent list.
//!
//! A conversation grows by a few messages per iteration and is read by many: state, events, the window, the
//! provider. So it is not a `Vec` of structs but a [`Messages`]: a view over a persistent
//! [`Array`](footprint::value::Array) whose clone is one reference count, whose append shares everything before
//! it, and whose items are decoded when somebody asks.
//!
//! | type | is |
//! |---|---|
//! | [`Messages`] | the conversation: append, slice, validate, ask who wrote what |
//! | [`MessageView`] | one message of it, decoded on demand |
//! | [`Message`] | one message with owned fields, for building and changing one |
//! | [`ProviderMessages`] | the same conversation as a provider may see it: without framework-only fields (LLM-2) |
//! | [`ToolCall`], [`ThinkingBlock`], [`InjectedBy`] | parts of a message |
//!
//! Fields this version does not know survive reading and writing (LLM-1).

mod fields;
mod list;
mod owned;
mod parts;
mod provider;
mod view;

pub use fields::FRAMEWORK_ONLY;
pub use list::{HistoryMarks, MessageFault, Messages};
pub use owned::Message;
pub use parts::{InjectedBy, Role, ThinkingBlock, ToolCall};
pub use provider::{ProviderMessage, ProviderMessages};
pub use view::MessageView;

#[cfg(test)]
mod tests;

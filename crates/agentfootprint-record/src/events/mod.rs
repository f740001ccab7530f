//! The typed event registry: 120 events in 27 domains, said at the moment they happen (EVT).
//!
//! Everything about events is made from **one table** (`table.rs`): the enum, the names, the domains and
//! their wildcards, parsing, the reference page and the schemas. Adding an event is one line there and one
//! payload struct.
//!
//! | type | is |
//! |---|---|
//! | [`Event`] | what is dispatched and recorded: `{type, payload, meta}` |
//! | [`AgentEvent`] | the closed enum of what can be said; [`AgentEvent::Unknown`] for the rest |
//! | [`payload`] | one struct per event |
//! | [`EventMeta`], [`RunFacts`], [`Moment`] | when, where and for whom; built by [`EventMeta::build`] only (EVT-1) |
//! | [`EventName`], [`Domain`], [`Pattern`] | names, domains, and what a subscription listens to |
//! | [`field::Class`] | whether a field may carry words of people, models or tools (EVT-24) |
//! | [`words`] | the closed literal sets (EVT-23) |
//! | [`reference_markdown`], [`payload_schema`] | the reference page and the JSON schemas, generated |
//!
//! Writing is strict: only listed words, no `null` for absence. Reading is lenient: unknown events, words
//! and fields pass (EVT-21).

mod event;
pub mod field;
mod give;
mod meta;
mod pattern;
pub mod payload;
pub(crate) mod record;
mod reference;
mod registry;
mod schema;
pub mod shared;
mod table;
mod unknown;
pub mod words;

pub use event::{Event, Payload, structure_of};
pub(crate) use event::{read_kind, read_meta};
pub use give::Give;
pub use meta::{EventMeta, META_FIELDS, Moment, RunFacts};
pub use pattern::{Pattern, UnknownEventPattern};
pub use reference::reference_markdown;
pub use schema::{event_schema, payload_schema};
pub use table::{AgentEvent, Domain, EventName};
pub use unknown::{CustomEvent, RESERVED_EVENT_PREFIX, ReservedEventNameError, UnknownEvent};

#[cfg(test)]
mod tests;

//! The vocabulary of agentfootprint: what a run says and what it leaves behind.
//!
//! Everybody who makes, keeps or reads a record — the runtime, its adapters, the debugger, the command line, the
//! viewer — speaks through this crate, and nothing in it can run an agent. So a recording is opened by a tool that
//! has never heard of a provider, and a word, an id or a hash has one meaning because it has one place.
//!
//! | module | what it fixes |
//! |---|---|
//! | [`events`] | the 120 typed events in 27 domains: one table, one payload struct each, meta, patterns, reference page |
//! | [`conventions`] | ids of stages and subflows, slots, roles, milestones, library-written turns, keys of agent state |
//! | [`message`] | messages of a conversation, and the persistent list that holds them |
//! | [`text`] | UTF-16 lengths and cuts, hashes, canonical JSON |
//! | [`recording`] | the recording document: written, packed, sealed, filed, opened |
//! | [`MemoryIdentity`] | who acts |
//!
//! # Three laws kept here by construction
//!
//! - **Writing is strict, reading is lenient.** A writer has only typed payloads and listed words; a reader keeps
//!   what it does not know — events, words, fields — and writes it back unchanged.
//! - **Absence is not emptiness.** An optional field that does not apply is not in the record; a recording without
//!   events says so instead of showing none.
//! - **Handing on is sharing.** Texts, JSON and histories in payloads and messages are shared with the state they
//!   come from; no listener, recorder or request copies a conversation.
//!
//! # Say something, read it back
//!
//! ```
//! use agentfootprint_record::events::{Event, EventMeta, EventName, Moment, RunFacts, payload::StreamToolEnd};
//! use footprint::value;
//!
//! let run = RunFacts::new("run-1796042715715-1", ["Agent:support"]);
//! let at = Moment { wall_clock_ms: 1_796_042_715_718, run_offset_ms: 3 };
//! let meta = EventMeta::build(Some("tool-calls#22".into()), at, &run);
//! let said = Event::new(StreamToolEnd::new("t1", 2).result(value!({ "status": "shipped" })), meta);
//!
//! let text = serde_json::to_string(&said)?;
//! let read: Event = serde_json::from_str(&text)?;
//! assert_eq!(read.name(), Some(EventName::StreamToolEnd));
//! assert_eq!(read.of::<StreamToolEnd>().and_then(|end| end.result.clone()), Some(value!({ "status": "shipped" })));
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod conventions;
pub mod events;
mod identity;
pub mod message;
pub mod recording;
pub mod text;
mod word;

pub use identity::MemoryIdentity;

#[cfg(test)]
mod tests;

//! Listening to a run while it happens (EVT §2).
//!
//! A runner has one [`EventHub`] for all its runs; each run has one of its own, reached through its handle or its options.
//! Both hear the same events in the same order. A listener is called inside the run and is never awaited; what takes time
//! belongs on an [`EventStream`], which is bounded and never slows the run.
//!
//! An event fires in the middle of a stage, before that stage's commit: join events and commits by the address in
//! `meta.runtimeStageId`, never by arrival (EVT-5).

mod hub;
mod pattern;
mod sink;
mod sse;
mod stream;
mod table;

pub use hub::{EventHub, Listener, Subscription};
pub use pattern::IntoPattern;
pub(crate) use sink::RunEvents;
pub use sse::{SseFormat, SseOptions, SseStream, encode_sse, to_sse};
pub use stream::{EventStream, StreamItem};

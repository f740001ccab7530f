//! The payload of every event, one file per group of domains.
//!
//! A payload owns plain data (EVT-3); text and JSON in it are shared, never copied. `new` takes the
//! required fields in recorded order, each optional field has a setter of its name.

mod agent;
mod artifacts;
mod composition;
mod context;
mod failure;
mod findings;
mod gates;
mod integrity;
mod memory;
mod people;
mod skill;
mod stream;
mod tools;

pub use agent::*;
pub use artifacts::*;
pub use composition::*;
pub use context::*;
pub use failure::*;
pub use findings::*;
pub use gates::*;
pub use integrity::*;
pub use memory::*;
pub use people::*;
pub use skill::*;
pub use stream::*;
pub use tools::*;

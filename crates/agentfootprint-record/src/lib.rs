//! stub
pub mod conventions;
pub mod events;
mod identity;
pub mod message;
pub mod recording;
pub mod text;
mod word;
#[cfg(test)]
mod tests;
pub use identity::MemoryIdentity;

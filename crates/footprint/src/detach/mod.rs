//! Detached children: charts a run starts and does not wait for (ENG-44…46).
//!
//! A [`DetachDriver`] decides when and where a child runs; a [`Detacher`] knows every child that is still alive; a
//! [`DetachHandle`] tells one child's fate. A child is a run of its own: own id, own log, own scope.

mod detacher;
mod driver;
mod handle;
mod node;

pub(crate) use detacher::Told;
pub use detacher::{DetachCounts, Detacher, FlushReport, Settled};
pub use driver::{
    BatchDriver, BlockingDriver, DelayedDriver, DetachDriver, DetachFuture, DetachTask, ImmediateDriver,
    SpawnDriver, Spawner,
};
pub use handle::{DetachHandle, DetachStatus};
pub use node::Detach;

#[cfg(test)]
mod tests;

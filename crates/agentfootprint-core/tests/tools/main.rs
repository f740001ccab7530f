//! The dispatch pipeline, driven by whole runs of an agent.

mod basics;
mod parties;
mod people;
mod permissions;
mod support;

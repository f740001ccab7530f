//! The sinks, on runs of agents and compositions with scripted models.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[cfg(all(feature = "cloudwatch", feature = "xray"))]
mod clouds;
#[cfg(feature = "otlp")]
mod collector;
mod local;
mod logs;
#[cfg(feature = "otlp")]
mod spans;
mod support;

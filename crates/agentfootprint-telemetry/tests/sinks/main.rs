//! The sinks, on runs of agents and compositions with scripted models.

#[cfg(all(feature = "cloudwatch", feature = "xray"))]
mod clouds;
#[cfg(feature = "otlp")]
mod collector;
mod local;
mod logs;
#[cfg(feature = "otlp")]
mod spans;
mod support;

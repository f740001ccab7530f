//! One JSON line per event, for development.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex};

use agentfootprint_core::observe::{ObservabilityStrategy, Strategy, StrategyCapabilities, StrategyLife};
use agentfootprint_record::events::Event;
use footprint::value::{Object, Value};

use crate::lock;

/// Writes each event as one line `{"type": …, …payload}`. It writes inside the run: for development, not for load.
///
/// ```
/// use std::sync::Arc;
/// use agentfootprint_telemetry::console::ConsoleSink;
/// let sink = Arc::new(ConsoleSink::new()); // agent.enable().observability(sink)
/// # let _ = sink;
/// ```
pub struct ConsoleSink {
    out: Mutex<Box<dyn Write + Send>>,
    life: StrategyLife,
}

impl ConsoleSink {
    /// Writes to the standard output.
    #[must_use]
    pub fn new() -> Self {
        Self::writing_to(std::io::stdout())
    }

    /// Writes somewhere else.
    #[must_use]
    pub fn writing_to(out: impl Write + Send + 'static) -> Self {
        Self { out: Mutex::new(Box::new(out)), life: StrategyLife::new() }
    }
}

impl Default for ConsoleSink {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ConsoleSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsoleSink").field("life", &self.life).finish_non_exhaustive()
    }
}

impl Strategy for ConsoleSink {
    fn name(&self) -> &str {
        "console"
    }

    fn life(&self) -> &StrategyLife {
        &self.life
    }

    fn capabilities(&self) -> StrategyCapabilities {
        StrategyCapabilities::EVENTS.or(StrategyCapabilities::LOGS)
    }
}

impl ObservabilityStrategy for ConsoleSink {
    fn export_event(&self, event: &Arc<Event>) {
        let mut line = Object::new();
        line.insert("type", Value::String(event.name_str().into()));
        match event.kind.payload() {
            Value::Object(payload) => {
                for (key, value) in payload.iter() {
                    // A consumer's payload may have a `type` of its own; the event's stays.
                    if &**key != "type" {
                        line.insert(key.clone(), value.clone());
                    }
                }
            }
            other => {
                line.insert("payload", other);
            }
        }
        if let Err(error) = writeln!(lock(&self.out), "{}", Value::Object(line)) {
            self.life.fail(self.name(), error);
        }
    }
}

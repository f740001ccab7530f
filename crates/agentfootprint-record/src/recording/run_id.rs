use std::fmt;

use footprint::value::Str;
use serde::{Deserialize, Serialize};

/// The engine's run id, as a snapshot carries it: `<ms>-<10-digit counter>` (REC-5).
pub use footprint::ids::RunId as EngineRunId;

/// The run id of events: `run-<ms>-<seq>` (REC-5). It never equals an [`EngineRunId`]; the two are distinct
/// types so that mixing them does not compile.
///
/// ```
/// use agentfootprint_record::recording::EventRunId;
/// assert_eq!(EventRunId::from_parts(1_796_042_715_715, 1).as_str(), "run-1796042715715-1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventRunId(Str);

impl EventRunId {
    /// An id as read, or as stated by a caller.
    #[must_use]
    pub fn new(id: impl Into<Str>) -> Self {
        Self(id.into())
    }

    /// The id of the `sequence`-th run started by this process, at this time.
    #[must_use]
    pub fn from_parts(unix_ms: u64, sequence: u64) -> Self {
        Self(format!("run-{unix_ms}-{sequence}").into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The shared text.
    #[must_use]
    pub fn as_shared(&self) -> &Str {
        &self.0
    }
}

impl fmt::Display for EventRunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for EventRunId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<String> for EventRunId {
    fn from(id: String) -> Self {
        Self::new(id)
    }
}

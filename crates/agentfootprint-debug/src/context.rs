//! Which injected pieces were engineered, and which are what any conversation has (REC §5.6).
//!
//! ```
//! use agentfootprint_debug::context::{is_baseline_source, is_engineered_source};
//! use agentfootprint_record::events::words::{ContextSource, Word as _};
//! assert!(is_engineered_source(&ContextSource::Rag) && !is_baseline_source(&ContextSource::Rag));
//! let newer = ContextSource::read(&"newer".into());
//! assert!(!is_engineered_source(&newer) && !is_baseline_source(&newer)); // unknown is neither
//! ```

use agentfootprint_record::events::payload::ContextInjected;
use agentfootprint_record::events::words::ContextSource;
use agentfootprint_record::recording::RecordedEvent;

/// Whether somebody decided that such a piece be there.
#[must_use]
pub fn is_engineered_source(source: &ContextSource) -> bool {
    matches!(
        source,
        ContextSource::Rag
            | ContextSource::Skill
            | ContextSource::Memory
            | ContextSource::Instructions
            | ContextSource::Steering
            | ContextSource::Fact
            | ContextSource::Custom
    )
}

/// Whether such a piece is what any conversation has.
#[must_use]
pub fn is_baseline_source(source: &ContextSource) -> bool {
    matches!(
        source,
        ContextSource::User
            | ContextSource::ToolResult
            | ContextSource::Assistant
            | ContextSource::Base
            | ContextSource::Registry
    )
}

/// The injections of a run, by who decided on them. What is of an unknown source is in neither.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextEngineering<'a> {
    /// Somebody decided.
    pub engineered: Vec<&'a ContextInjected>,
    /// Any conversation has them.
    pub baseline: Vec<&'a ContextInjected>,
}

impl<'a> ContextEngineering<'a> {
    /// Splits the injections of a run.
    #[must_use]
    pub fn of(events: &'a [RecordedEvent]) -> Self {
        let mut out = Self::default();
        for piece in events.iter().filter_map(RecordedEvent::of::<ContextInjected>) {
            if is_engineered_source(&piece.source) {
                out.engineered.push(piece);
            } else if is_baseline_source(&piece.source) {
                out.baseline.push(piece);
            }
        }
        out
    }
}

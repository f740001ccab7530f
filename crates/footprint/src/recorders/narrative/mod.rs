//! The combined narrative: one ordered, step-addressed story of data and control flow (OBS §6.1).
//!
//! [`CombinedNarrative`] records it, [`Renderer`] rewords it, [`NarrativeQuery`] searches it — live or in a stored recording.

mod combined;
mod entry;
mod hooks;
mod query;
mod render;
mod row;
pub(super) mod text;

pub use combined::{CombinedNarrative, NarrativeOptions, ValueFormat};
pub use entry::{Direction, NarrativeEntry, NarrativeType, entries_from_value, entries_to_value};
pub use query::{NarrativeHits, NarrativeQuery};
pub use render::{
    BreakText, DecisionText, EmitText, ErrorText, ForkText, LoopText, OpKind, OpText, PauseText, Render,
    Renderer, ResumeText, RetryText, SelectedText, StageText, SubflowText,
};

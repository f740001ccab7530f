//! Where control edges come from (OBS-159, OBS-160).

use super::LogView;
use crate::ids::RuntimeStageId;
use crate::recorders::Governor;

/// What control edges were taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlSource {
    /// A live or stored `ControlDeps` row.
    Recorded,
    /// Derived from the execution tree; unlabelled.
    Tree,
    /// Nothing says which decision let a step run.
    Unavailable,
}

impl ControlSource {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Tree => "execution-tree",
            Self::Unavailable => "unavailable",
        }
    }
}

impl LogView {
    /// What control edges of this log are taken from.
    pub fn control_source(&self) -> ControlSource {
        if self.lifted.control.is_some() {
            ControlSource::Recorded
        } else if self.tree_index().has_decisions {
            ControlSource::Tree
        } else {
            ControlSource::Unavailable
        }
    }

    /// The decision that let a step run, if one did and the recording says so.
    pub fn governor(&self, step: &RuntimeStageId) -> Option<Governor> {
        if let Some(control) = &self.lifted.control {
            return control.lookup(step);
        }
        let frames = self.tree_index();
        let decider = frames.governor(frames.frame(step)?)?;
        let decider = self.parts.tree.get(decider)?.runtime_stage_id.clone();
        Some(Governor { decider, label: None })
    }
}

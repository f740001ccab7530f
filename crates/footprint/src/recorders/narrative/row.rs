//! An entry as the recorder keeps it: its step is shared with the step's other entries, and the default words of
//! the entries every visit has are put together when somebody reads them.

use std::sync::Arc;

use super::render::{LoopText, OpKind, OpText, StageText};
use super::{Direction, NarrativeEntry, NarrativeOptions, NarrativeType, text};
use crate::ids::RuntimeStageId;
use crate::observe::EventPlace;
use crate::stores::HasStep;
use crate::value::summary::summarise;
use crate::value::{Str, Value};

/// One entry of the story.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) place: Arc<EventPlace>,
    pub(super) kind: NarrativeType,
    pub(super) said: Said,
}

/// What an entry says. Values never change, so default words found late are the ones found at once.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// Words of a renderer, and those of the less frequent entries.
    Words(Box<Words>),
    Op {
        kind: OpKind,
        key: Option<Str>,
        value: Option<Value>,
        number: u32,
    },
    Headline {
        description: Option<Str>,
        number: u32,
        pass: Option<u64>,
    },
    Loop {
        target: Str,
        description: Option<Str>,
        iteration: u64,
    },
}

/// Words, and the facts that stand beside them.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    pub(super) text: String,
    pub(super) number: Option<u32>,
    pub(super) direction: Option<Direction>,
    pub(super) key: Option<Str>,
    pub(super) raw: Option<Value>,
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self::Words(Box::new(Words { text, ..Words::default() }))
    }
}

impl HasStep for Row {
    type Step = RuntimeStageId;
    fn step(&self) -> Option<&RuntimeStageId> {
        Some(self.id())
    }
}

impl Row {
    /// The step it belongs to.
    pub(super) fn id(&self) -> &RuntimeStageId {
        &self.place.traversal.runtime_stage_id
    }

    /// The entry readers get.
    pub(super) fn entry(&self, options: &NarrativeOptions) -> NarrativeEntry {
        let step = &self.place.traversal;
        let entry = |text: String| NarrativeEntry {
            stage_name: Some(step.stage_name.clone()),
            stage_id: Some(step.stage_id.clone()),
            runtime_stage_id: Some(step.runtime_stage_id.clone()),
            subflow_id: step.subflow_id.clone(),
            ..NarrativeEntry::new(self.kind, text)
        };
        let numbered = options.include_step_numbers;
        match &self.said {
            Said::Words(words) => NarrativeEntry {
                step_number: words.number,
                direction: words.direction,
                key: words.key.clone(),
                raw: words.raw.clone(),
                ..entry(words.text.clone())
            },
            Said::Op { kind, key, value, number } => {
                let shown = options.include_values && *kind != OpKind::Delete;
                let summary = shown.then(|| summarise(value.as_ref(), options.max_value_length));
                let facts = OpText {
                    kind: *kind,
                    key: key.as_deref(),
                    summary: summary.as_deref(),
                    value: value.as_ref(),
                    number: Some(*number),
                    numbered,
                };
                NarrativeEntry {
                    step_number: Some(*number),
                    key: key.clone(),
                    raw: value.clone(),
                    ..entry(text::op(&facts))
                }
            }
            Said::Headline { description, number, pass } => {
                let (name, description) = (&*step.stage_name, description.as_deref());
                entry(text::stage(&StageText { name, description, number: *number, pass: *pass, numbered }))
            }
            Said::Loop { target, description, iteration } => {
                let description = description.as_deref();
                entry(text::back_edge(&LoopText { target, description, iteration: *iteration }))
            }
        }
    }
}

use crate::word::words;

words! {
    /// Which library text a `user` or `system` turn is (EVD-15). Absent on a turn means a person wrote it,
    /// or an app's injection delivered it.
    pub enum Frame {
        /// The answer failed its schema; the correction.
        SchemaCheck = "schema-check",
        /// The answer states unsupported values (older recordings only).
        EvidenceCheck = "evidence-check",
        /// Declared steps are still open.
        StepNudge = "step-nudge",
        /// The action budget is spent.
        WrapUp = "wrap-up",
        /// The window dropped messages here.
        DropNotice = "drop-notice",
        /// The window folded messages into this summary.
        CompactionSummary = "compaction-summary",
        /// A reliability rule's feedback to the model.
        ReliabilityFeedback = "reliability-feedback",
    }
}

words! {
    /// Who wrote a tool message when the tool did not (EVD-15).
    pub enum ResultOrigin {
        /// The library settled the call; [`ResultReason`] says why.
        Library = "library",
        /// A person answered a pause.
        Human = "human",
    }
}

words! {
    /// Why the library settled a tool call (EVD-15, TOOL-119).
    pub enum ResultReason {
        /// A middleware or permission decision denied it.
        Denied = "denied",
        /// A checker halted the run.
        Halted = "halted",
        /// A person declined it.
        Declined = "declined",
        /// Its arguments fail the schema.
        InvalidArgs = "invalid-args",
        /// Its declared `wants` were not met.
        WantsRefused = "wants-refused",
        /// No such tool is served.
        NotServed = "not-served",
        /// Its credential could not be obtained.
        CredentialRefused = "credential-refused",
        /// A gate refused it.
        GateRefused = "gate-refused",
        /// Its result is over the declared ceiling.
        CeilingRefused = "ceiling-refused",
        /// A referenced rowset does not fit.
        ColumnsRefused = "columns-refused",
        /// A skill request was refused.
        SkillRefused = "skill-refused",
        /// The batch stopped before this call.
        NotDispatched = "not-dispatched",
    }
}

/// The one table frame → prefix (AGT-77). `reliability-feedback` has no prefix: no older history holds one.
const PREFIXES: &[(Frame, &str)] = &[
    (Frame::SchemaCheck, "[schema check"),
    (Frame::EvidenceCheck, "[evidence check"),
    (Frame::StepNudge, "[step check"),
    (Frame::DropNotice, "[dropped history"),
    (Frame::CompactionSummary, "[compacted history"),
    (Frame::WrapUp, "[budget exhausted"),
];

impl Frame {
    /// The beginning of a text of this frame, by which older recordings are recognised (AGT-77).
    #[must_use]
    pub fn prefix(&self) -> Option<&'static str> {
        PREFIXES.iter().find(|(frame, _)| frame == self).map(|(_, prefix)| *prefix)
    }
}

/// The frame a text's beginning stands for.
///
/// This is the fallback for histories **without any marks** (EVD-16); ask
/// [`Messages::frame_at`](crate::message::Messages::frame_at), which applies it only there.
///
/// ```
/// use agentfootprint_record::conventions::{Frame, frame_from_prefix};
/// assert_eq!(frame_from_prefix("[schema check: priority"), Some(Frame::SchemaCheck));
/// assert_eq!(frame_from_prefix("please run the [schema check"), None);
/// ```
#[must_use]
pub fn frame_from_prefix(content: &str) -> Option<Frame> {
    PREFIXES.iter().find(|(_, prefix)| content.starts_with(prefix)).map(|(frame, _)| frame.clone())
}

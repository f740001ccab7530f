//! The doors into the pipeline: where each one enters, and what it may do there (TOOL §5, doors table).

/// What a gate that needs a person does at a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Person {
    /// The run pauses.
    Pauses,
    /// One question was already answered: the call is refused (TOOL-62).
    Refuses,
    /// The gate was answered, or is not asked here.
    Passed,
}

/// One door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Door {
    /// Steps 3, 4 and 8: permission.
    pub(super) permission: bool,
    /// Step 5: the first link of the before-chain; absent when the chain is not walked.
    pub(super) chain_from: Option<usize>,
    /// Step 5: what a question of a link does.
    pub(super) ask: Person,
    /// Step 6: argument validation.
    pub(super) validation: bool,
    /// Step 9: what a tripping check-in does.
    pub(super) check_in: Person,
    /// Step 11: what missing consent does.
    pub(super) consent: Person,
    /// Step 12: whether a handler may pause.
    pub(super) tool_pause: Person,
    /// Step 28: whether declared effects are judged.
    pub(super) effects: bool,
    /// Step 29: whether repetitions are noted.
    pub(super) repeat_note: bool,
}

impl Door {
    /// A call the model just asked for.
    pub(super) const INLINE: Self = Self {
        permission: true,
        chain_from: Some(0),
        ask: Person::Pauses,
        validation: true,
        check_in: Person::Pauses,
        consent: Person::Pauses,
        tool_pause: Person::Pauses,
        effects: true,
        repeat_note: true,
    };

    /// An approved question of a link: the chain goes on behind it.
    pub(super) fn ask_resume(link: usize) -> Self {
        Self {
            chain_from: Some(link.saturating_add(1)),
            validation: true,
            check_in: Person::Refuses,
            ..Self::RESUME
        }
    }

    /// An approved check-in: the arguments were judged before the person saw them.
    pub(super) const CHECK_IN_RESUME: Self = Self::RESUME;

    /// A consent that was asked for: artifacts and credential are resolved again.
    pub(super) const CONSENT_RESUME: Self = Self::RESUME;

    /// A person's answer is the result: nothing is dispatched.
    pub(super) const PAUSE_ANSWER: Self = Self { effects: false, ..Self::RESUME };

    const RESUME: Self = Self {
        permission: false,
        chain_from: None,
        ask: Person::Refuses,
        validation: false,
        check_in: Person::Passed,
        consent: Person::Refuses,
        tool_pause: Person::Refuses,
        effects: true,
        repeat_note: false,
    };
}

//! What a call came to, and what follows from it: the outcome table (TOOL-119) in one place.

use agentfootprint_record::conventions::{ResultOrigin, ResultReason};
use agentfootprint_record::events::words::ToolResultStatus;
use agentfootprint_record::message::{HistoryMarks, MessageView};

/// How one call was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The handler returned.
    Ran,
    /// The handler failed or panicked.
    Threw,
    /// A permission checker denied it.
    PermissionDenied,
    /// A middleware denied it.
    MiddlewareDenied,
    /// A permission checker halted the run at it.
    Halted,
    /// A person declined it.
    Declined,
    /// Its arguments do not fit the schema.
    InvalidArgs,
    /// Its arguments could not be read from the model's answer.
    UnreadableArgs,
    /// An artifact it wants could not be resolved.
    WantsRefused,
    /// No tool of that name is served.
    NotServed,
    /// Its credential could not be obtained.
    CredentialRefused,
    /// A second gate stood behind the one that was answered.
    GateRefused,
    /// Its result was over the ceiling.
    CeilingRefused,
    /// Its result had other columns than declared.
    #[cfg_attr(not(test), expect(dead_code, reason = "set by a step that is a seam so far"))]
    ColumnsRefused,
    /// A skill request the graph refused.
    #[cfg_attr(not(test), expect(dead_code, reason = "set by a step that is a seam so far"))]
    SkillRefused,
    /// `present` found nothing to present.
    PresentMiss,
    /// A person's answer is the result.
    Human,
    /// The batch stopped before it.
    NotDispatched,
}

/// What became of a call: data, not text (TOOL-30).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFate {
    /// The handler was entered, or a person answered for it.
    Ran,
    /// Somebody said no.
    Denied,
    /// It could not run.
    Refused,
    /// The batch stopped before it.
    NotDispatched,
}

impl Verdict {
    /// Whether the handler was entered.
    pub(crate) fn ran(self) -> bool {
        matches!(
            self,
            Self::Ran
                | Self::Threw
                | Self::CeilingRefused
                | Self::ColumnsRefused
                | Self::SkillRefused
                | Self::PresentMiss
                | Self::Human
        )
    }

    /// `error` of the record: present and true, or absent.
    pub(crate) fn is_error(self) -> bool {
        matches!(
            self,
            Self::Threw
                | Self::InvalidArgs
                | Self::UnreadableArgs
                | Self::WantsRefused
                | Self::NotServed
                | Self::CredentialRefused
                | Self::GateRefused
                | Self::PresentMiss
        )
    }

    /// The status the outcome forces over a declared one.
    pub(crate) fn forced_status(self) -> Option<ToolResultStatus> {
        matches!(self, Self::CeilingRefused | Self::ColumnsRefused | Self::UnreadableArgs)
            .then_some(ToolResultStatus::Invalid)
    }

    /// Why the library wrote the result, when it did.
    pub(crate) fn reason(self) -> Option<ResultReason> {
        Some(match self {
            Self::Ran | Self::Threw | Self::PresentMiss | Self::Human => return None,
            Self::PermissionDenied | Self::MiddlewareDenied => ResultReason::Denied,
            Self::Halted => ResultReason::Halted,
            Self::Declined => ResultReason::Declined,
            Self::InvalidArgs | Self::UnreadableArgs => ResultReason::InvalidArgs,
            Self::WantsRefused => ResultReason::WantsRefused,
            Self::NotServed => ResultReason::NotServed,
            Self::CredentialRefused => ResultReason::CredentialRefused,
            Self::GateRefused => ResultReason::GateRefused,
            Self::CeilingRefused => ResultReason::CeilingRefused,
            Self::ColumnsRefused => ResultReason::ColumnsRefused,
            Self::SkillRefused => ResultReason::SkillRefused,
            Self::NotDispatched => ResultReason::NotDispatched,
        })
    }

    /// Who wrote the result, when the tool did not.
    pub(crate) fn origin(self) -> Option<ResultOrigin> {
        match self {
            Self::Human => Some(ResultOrigin::Human),
            other => other.reason().map(|_| ResultOrigin::Library),
        }
    }

    /// Whether the after-tool chain walks it: only for a call that ran.
    pub(crate) fn walks_after_chain(self) -> bool {
        self.ran()
    }

    /// Whether its result may be placed in the artifact store.
    pub(crate) fn placeable(self) -> bool {
        matches!(self, Self::Ran | Self::SkillRefused | Self::Human)
    }

    /// Whether its declared effects are judged.
    pub(crate) fn effective(self) -> bool {
        matches!(self, Self::Ran | Self::CeilingRefused | Self::ColumnsRefused)
    }

    /// Whether a repetition of it is counted: every call that ran, errors included.
    pub(crate) fn repeatable(self) -> bool {
        self.ran()
    }
}

/// The fate of the call a tool message answers: a function of its `resultReason` (no reason: it ran). Histories
/// without marks fall back to the beginning of a denial's text.
///
/// ```
/// use agentfootprint_core::tools::{ToolFate, tool_fate};
/// use agentfootprint_record::message::{HistoryMarks, Message, Messages};
/// let history: Messages = [Message::tool("t1", "delete", "[permission denied: files stay]")].into_iter().collect();
/// assert_eq!(tool_fate(history.get(0).unwrap(), HistoryMarks::Absent), ToolFate::Denied);
/// assert_eq!(tool_fate(history.get(0).unwrap(), HistoryMarks::Present), ToolFate::Ran);
/// ```
pub fn tool_fate(message: MessageView<'_>, marks: HistoryMarks) -> ToolFate {
    match message.result_reason() {
        Some(reason) => fate_of(&reason),
        None if marks == HistoryMarks::Absent && message.content().starts_with(DENIED_PREFIX) => {
            ToolFate::Denied
        }
        None => ToolFate::Ran,
    }
}

/// The beginning of every denial the framework writes: a recording contract (TOOL-36).
pub(crate) const DENIED_PREFIX: &str = "[permission denied:";

fn fate_of(reason: &ResultReason) -> ToolFate {
    match reason {
        ResultReason::Denied | ResultReason::Halted | ResultReason::Declined => ToolFate::Denied,
        ResultReason::InvalidArgs
        | ResultReason::WantsRefused
        | ResultReason::NotServed
        | ResultReason::CredentialRefused
        | ResultReason::GateRefused => ToolFate::Refused,
        ResultReason::CeilingRefused | ResultReason::ColumnsRefused | ResultReason::SkillRefused => {
            ToolFate::Ran
        }
        ResultReason::NotDispatched => ToolFate::NotDispatched,
        ResultReason::Other(_) => ToolFate::Ran,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Verdict; 18] = [
        Verdict::Ran,
        Verdict::Threw,
        Verdict::PermissionDenied,
        Verdict::MiddlewareDenied,
        Verdict::Halted,
        Verdict::Declined,
        Verdict::InvalidArgs,
        Verdict::UnreadableArgs,
        Verdict::WantsRefused,
        Verdict::NotServed,
        Verdict::CredentialRefused,
        Verdict::GateRefused,
        Verdict::CeilingRefused,
        Verdict::ColumnsRefused,
        Verdict::SkillRefused,
        Verdict::PresentMiss,
        Verdict::Human,
        Verdict::NotDispatched,
    ];

    /// Proves TOOL-119.
    #[test]
    fn the_outcome_table() {
        let rows: Vec<String> = ALL
            .iter()
            .map(|verdict| {
                let fate = verdict.reason().map_or(ToolFate::Ran, |reason| fate_of(&reason));
                format!(
                    "{verdict:?} error={} status={} reason={} fate={fate:?} after={} place={}",
                    verdict.is_error(),
                    verdict.forced_status().map_or("-".into(), |status| status.to_string()),
                    verdict.reason().map_or("-".into(), |reason| reason.to_string()),
                    verdict.walks_after_chain(),
                    verdict.placeable(),
                )
            })
            .collect();
        assert_eq!(
            rows.join("\n"),
            "\
Ran error=false status=- reason=- fate=Ran after=true place=true
Threw error=true status=- reason=- fate=Ran after=true place=false
PermissionDenied error=false status=- reason=denied fate=Denied after=false place=false
MiddlewareDenied error=false status=- reason=denied fate=Denied after=false place=false
Halted error=false status=- reason=halted fate=Denied after=false place=false
Declined error=false status=- reason=declined fate=Denied after=false place=false
InvalidArgs error=true status=- reason=invalid-args fate=Refused after=false place=false
UnreadableArgs error=true status=invalid reason=invalid-args fate=Refused after=false place=false
WantsRefused error=true status=- reason=wants-refused fate=Refused after=false place=false
NotServed error=true status=- reason=not-served fate=Refused after=false place=false
CredentialRefused error=true status=- reason=credential-refused fate=Refused after=false place=false
GateRefused error=true status=- reason=gate-refused fate=Refused after=false place=false
CeilingRefused error=false status=invalid reason=ceiling-refused fate=Ran after=true place=false
ColumnsRefused error=false status=invalid reason=columns-refused fate=Ran after=true place=false
SkillRefused error=false status=- reason=skill-refused fate=Ran after=true place=true
PresentMiss error=true status=- reason=- fate=Ran after=true place=false
Human error=false status=- reason=- fate=Ran after=true place=true
NotDispatched error=false status=- reason=not-dispatched fate=NotDispatched after=false place=false"
        );
        assert!(ALL.iter().all(|verdict| verdict.ran() == verdict.walks_after_chain()));
        assert_eq!(Verdict::Human.origin(), Some(ResultOrigin::Human));
        assert_eq!(Verdict::PermissionDenied.origin(), Some(ResultOrigin::Library));
        assert_eq!(Verdict::Ran.origin(), None);
    }
}

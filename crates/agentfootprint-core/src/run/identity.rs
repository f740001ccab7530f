//! Who a run acts for (AGT-22, AGT-23).

use agentfootprint_record::MemoryIdentity;
use footprint::value::{Object, Str, Value};

/// How the run's identity was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentitySource {
    /// Somebody named it.
    Explicit,
    /// The session stood in for the conversation.
    Session,
    /// Nobody named anything: the run id stands in.
    Run,
}

/// The identity a run acts for.
///
/// ```
/// use agentfootprint_core::run::{IdentitySource, RunIdentity};
/// let nobody = RunIdentity::resolve(None, Some("s-1".into()), &"run-1-1".into());
/// assert_eq!(&*nobody.value().conversation_id, "s-1");
/// assert_eq!(nobody.source(), IdentitySource::Session);
/// assert!(nobody.explicit().is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunIdentity {
    value: MemoryIdentity,
    source: IdentitySource,
}

impl RunIdentity {
    /// The ladder of AGT-22: explicit, then the session, then the run id.
    pub fn resolve(explicit: Option<MemoryIdentity>, session_id: Option<Str>, run_id: &Str) -> Self {
        match (explicit, session_id) {
            (Some(value), _) => Self { value, source: IdentitySource::Explicit },
            (None, Some(session)) => {
                Self { value: MemoryIdentity::conversation(session), source: IdentitySource::Session }
            }
            (None, None) => {
                Self { value: MemoryIdentity::conversation(run_id.clone()), source: IdentitySource::Run }
            }
        }
    }

    /// The identity a resumed leg goes on with, as the paused one committed it. What stood in for a missing name still only stands
    /// in: a session, or the id of the run that asked.
    pub(crate) fn inherited(value: MemoryIdentity, from_session: bool) -> Self {
        let nobody = value.principal.is_none() && value.tenant.is_none();
        let source = match nobody {
            true if from_session => IdentitySource::Session,
            true if is_run_id(&value.conversation_id) => IdentitySource::Run,
            _ => IdentitySource::Explicit,
        };
        Self { value, source }
    }

    /// The identity, whatever it came from: what scopes stores.
    pub fn value(&self) -> &MemoryIdentity {
        &self.value
    }

    /// Where it came from.
    pub fn source(&self) -> IdentitySource {
        self.source
    }

    /// The identity if somebody named it: what tools and event meta may show.
    pub fn explicit(&self) -> Option<&MemoryIdentity> {
        (self.source == IdentitySource::Explicit).then_some(&self.value)
    }
}

/// Whether a text has the form of a run id (AGT-3).
fn is_run_id(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.strip_prefix("run-").and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(ms, sequence)| digits(ms) && digits(sequence))
}

/// The recorded form of an identity, in the key order of the recordings.
pub(crate) fn identity_value(identity: &MemoryIdentity) -> Value {
    let mut shape = Object::new();
    shape.insert("conversationId", Value::from(identity.conversation_id.clone()));
    if let Some(principal) = &identity.principal {
        shape.insert("principal", Value::from(principal.clone()));
    }
    if let Some(tenant) = &identity.tenant {
        shape.insert("tenant", Value::from(tenant.clone()));
    }
    Value::from(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves AGT-22, AGT-23: what stood in for a name on the first leg is no name on the second.
    #[test]
    fn a_resumed_leg_names_nobody_the_first_did_not() {
        let source = |identity: MemoryIdentity, session| RunIdentity::inherited(identity, session).source();
        let conversation = MemoryIdentity::conversation;
        assert_eq!(source(conversation("run-17-3"), false), IdentitySource::Run);
        assert_eq!(source(conversation("s-1"), true), IdentitySource::Session);
        assert_eq!(source(conversation("mine"), false), IdentitySource::Explicit);
        assert_eq!(source(conversation("run-17-x"), false), IdentitySource::Explicit);
        assert_eq!(source(conversation("run-17-3").principal("ann"), false), IdentitySource::Explicit);
    }
}

use std::collections::BTreeSet;

use footprint::value::Str;
use jiff::Timestamp;

use super::envelope::{Configuration, EnvelopeHeader, Privacy, PrivacyMode, Producer, RunRecord};
use super::{EventRunId, Recording, RecordingEnvelope, RecordingError};
use crate::conventions::ids::CONSUMER_RUN_ID;
use crate::events::{AgentEvent, EventMeta};
use crate::word::Word as _;

/// A time as a caller states it.
#[derive(Clone, Debug, PartialEq)]
pub enum StatedTime {
    /// Unix milliseconds.
    Ms(i64),
    /// ISO 8601 with a zone.
    Iso(String),
}

/// What a caller says about a run it archives (REC-20). Whether the run ended, and the privacy mode, have no
/// default: a truncated record and a finished one look alike.
///
/// ```
/// use agentfootprint_record::recording::{PrivacyMode, RunFactsStated};
/// let facts = RunFactsStated::new(true, PrivacyMode::Full).run_id("run-1-1").dropped_events(0);
/// assert!(facts.complete);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunFactsStated {
    /// Whether the run ended.
    pub complete: bool,
    /// How much is kept.
    pub privacy: PrivacyMode,
    /// Instead of the one run id the events name.
    pub run_id: Option<EventRunId>,
    /// Instead of what the events name.
    pub session_id: Option<Str>,
    /// Instead of what the events name.
    pub principal: Option<Str>,
    /// Instead of what the events name.
    pub tenant: Option<Str>,
    /// Needed when events were dropped.
    pub started_at: Option<StatedTime>,
    /// Instead of the last event's time.
    pub ended_at: Option<StatedTime>,
    /// How many events were dropped; a live handle knows.
    pub dropped_events: Option<u64>,
    /// Where the kept window begins; a live handle knows.
    pub first_retained_event_index: Option<u64>,
}

/// Setters of one kind.
macro_rules! setters {
    ($($name:ident: $ty:ty, $doc:literal;)+) => {$(
        #[doc = $doc]
        #[must_use]
        pub fn $name(mut self, value: impl Into<$ty>) -> Self {
            self.$name = Some(value.into());
            self
        }
    )+};
}

impl RunFactsStated {
    /// What must be stated.
    #[must_use]
    pub fn new(complete: bool, privacy: PrivacyMode) -> Self {
        Self {
            complete,
            privacy,
            run_id: None,
            session_id: None,
            principal: None,
            tenant: None,
            started_at: None,
            ended_at: None,
            dropped_events: None,
            first_retained_event_index: None,
        }
    }

    setters! {
        run_id: EventRunId, "States the run id.";
        session_id: Str, "States the session.";
        principal: Str, "States the principal.";
        tenant: Str, "States the tenant.";
        started_at: StatedTime, "States when the run started.";
        ended_at: StatedTime, "States when the run ended.";
    }

    /// States how many events were dropped.
    #[must_use]
    pub fn dropped_events(mut self, count: u64) -> Self {
        self.dropped_events = Some(count);
        self
    }

    /// States where the kept window begins.
    #[must_use]
    pub fn first_retained_event_index(mut self, index: u64) -> Self {
        self.first_retained_event_index = Some(index);
        self
    }
}

impl RecordingEnvelope {
    /// Seals a recording with the facts of its run, resolved in the order of REC-22. Privacy is resolved
    /// first, and nothing is serialised before everything is known.
    ///
    /// # Errors
    /// [`RecordingError`] naming the fact that is not known or not one, and how to state it.
    pub fn seal(recording: Recording, facts: &RunFactsStated) -> Result<Self, RecordingError> {
        if facts.privacy != PrivacyMode::Full {
            return Err(RecordingError::UnsupportedPrivacyMode { mode: facts.privacy.word().to_owned() });
        }
        let metas = Metas(recording.events().iter().filter_map(|event| event.meta().ok()).collect());
        let dropped_events = facts.dropped_events.ok_or(RecordingError::MissingRunFact {
            field: "droppedEvents",
            remedy: "state how many events were dropped, or seal through the live handle, which knows",
        })?;
        let run_id = metas.one("runId", facts.run_id.as_ref().map(EventRunId::as_shared), |meta| {
            let id = meta.run_id.as_shared();
            (**id != *CONSUMER_RUN_ID).then_some(id)
        })?;
        let run_id = run_id.ok_or(RecordingError::MissingRunFact {
            field: "runId",
            remedy: "no event names a run: state it (the engine's run id is not it)",
        })?;
        let run = RunRecord {
            run_id,
            session_id: metas.one("sessionId", facts.session_id.as_ref(), |meta| meta.session_id.as_ref())?,
            principal: metas.one("principal", facts.principal.as_ref(), |meta| meta.principal.as_ref())?,
            tenant: metas.one("tenant", facts.tenant.as_ref(), |meta| meta.tenant.as_ref())?,
            started_at: started_at(facts, &metas, dropped_events)?,
            ended_at: ended_at(facts, &metas)?,
            complete: facts.complete,
            dropped_events,
            first_retained_event_index: facts.first_retained_event_index,
        };
        let configuration = configuration(&recording);
        let header = EnvelopeHeader::new(&Producer::this(), &run, configuration.as_ref(), &Privacy::full());
        Ok(Self { header, recording })
    }
}

struct Metas<'a>(Vec<&'a EventMeta>);

impl Metas<'_> {
    /// The stated value, else the one the events name, else none; several are refused.
    fn one(
        &self,
        field: &'static str,
        stated: Option<&Str>,
        of: impl Fn(&EventMeta) -> Option<&Str>,
    ) -> Result<Option<Str>, RecordingError> {
        if let Some(stated) = stated {
            return Ok(Some(stated.clone()));
        }
        let found: BTreeSet<&Str> = self.0.iter().filter_map(|meta| of(meta)).collect();
        if found.len() > 1 {
            let values = found.into_iter().map(ToString::to_string).collect();
            return Err(RecordingError::IndeterminateRunFact { field, values });
        }
        Ok(found.into_iter().next().cloned())
    }
}

fn started_at(facts: &RunFactsStated, metas: &Metas<'_>, dropped: u64) -> Result<Str, RecordingError> {
    if let Some(stated) = &facts.started_at {
        return iso("startedAt", stated);
    }
    if dropped > 0 {
        return Err(RecordingError::MissingRunFact {
            field: "startedAt",
            remedy: "events were dropped, so the first kept one is not the first: state it",
        });
    }
    match metas.0.first() {
        Some(first) => iso("startedAt", &StatedTime::Ms(ms(first))),
        None => {
            Err(RecordingError::MissingRunFact { field: "startedAt", remedy: "no event says when: state it" })
        }
    }
}

fn ended_at(facts: &RunFactsStated, metas: &Metas<'_>) -> Result<Option<Str>, RecordingError> {
    match (&facts.ended_at, metas.0.last()) {
        (Some(stated), _) => iso("endedAt", stated).map(Some),
        (None, Some(last)) if facts.complete => iso("endedAt", &StatedTime::Ms(ms(last))).map(Some),
        _ => Ok(None),
    }
}

fn ms(meta: &EventMeta) -> i64 {
    i64::try_from(meta.wall_clock_ms).unwrap_or(i64::MAX)
}

/// `YYYY-MM-DDTHH:mm:ss.SSSZ` (REC-23).
fn iso(field: &'static str, time: &StatedTime) -> Result<Str, RecordingError> {
    let (read, value) = match time {
        StatedTime::Ms(ms) => (Timestamp::from_millisecond(*ms).ok(), ms.to_string()),
        StatedTime::Iso(text) => (text.parse::<Timestamp>().ok(), text.clone()),
    };
    match read {
        Some(time) => Ok(time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string().into()),
        None => Err(RecordingError::BadTimestamp { field, value }),
    }
}

/// The first manifest among the events.
fn configuration(recording: &Recording) -> Option<Configuration> {
    recording.events().iter().find_map(|event| match event.kind() {
        Ok(AgentEvent::AgentRunConfigured(manifest)) => {
            Some(Configuration { agent_id: manifest.agent_id.clone(), manifest: event.payload() })
        }
        _ => None,
    })
}

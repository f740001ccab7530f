use std::fmt;
use std::str::FromStr;

use footprint::value::Str;

use super::{AgentEvent, Domain, EventName, RESERVED_EVENT_PREFIX};

/// What a subscription listens to: one event, one domain, or everything (EVT-10). There is no other globbing.
///
/// ```
/// use agentfootprint_record::events::{Domain, EventName, Pattern};
/// let pattern: Pattern = "agentfootprint.stream.*".parse()?;
/// assert_eq!(pattern, Pattern::Domain(Domain::Stream));
/// assert!(pattern.matches_name(EventName::StreamToken));
/// assert!("agentfootprint.strem.*".parse::<Pattern>().is_err());
/// # Ok::<(), agentfootprint_record::events::UnknownEventPattern>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// One registered event.
    Event(EventName),
    /// Every event of a domain.
    Domain(Domain),
    /// One event of a consumer's own.
    Custom(Str),
    /// Every event.
    All,
}

/// A pattern that names no event and no domain; listening to it would hear nothing (EVT-10).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{pattern}` names no event: use a registered name, `agentfootprint.<domain>.*` or `*` ({hint}); for an \
     event of your own use `Pattern::custom`"
)]
pub struct UnknownEventPattern {
    /// The pattern as given.
    pub pattern: String,
    /// What would have been accepted at the place that failed.
    pub hint: String,
}

impl Pattern {
    /// Listens to an event of a consumer's own.
    ///
    /// # Errors
    /// [`UnknownEventPattern`] when the name is empty, contains `*`, or starts with `agentfootprint.`.
    pub fn custom(name: impl Into<Str>) -> Result<Self, UnknownEventPattern> {
        let name = name.into();
        if name.is_empty() || name.contains('*') || name.starts_with(RESERVED_EVENT_PREFIX) {
            return Err(UnknownEventPattern {
                pattern: name.to_string(),
                hint: "a custom name is exact and outside `agentfootprint.`".to_owned(),
            });
        }
        Ok(Self::Custom(name))
    }

    /// Whether the pattern hears this registered event.
    #[must_use]
    pub fn matches_name(&self, name: EventName) -> bool {
        match self {
            Self::Event(event) => *event == name,
            Self::Domain(domain) => *domain == name.domain(),
            Self::Custom(_) => false,
            Self::All => true,
        }
    }

    /// Whether the pattern hears this event.
    #[must_use]
    pub fn matches(&self, event: &AgentEvent) -> bool {
        match (self, event) {
            (Self::All, _) => true,
            (Self::Custom(name), AgentEvent::Unknown(event)) => name == event.name(),
            (pattern, event) => event.name().is_some_and(|name| pattern.matches_name(name)),
        }
    }
}

impl FromStr for Pattern {
    type Err = UnknownEventPattern;

    fn from_str(pattern: &str) -> Result<Self, Self::Err> {
        if pattern == "*" {
            return Ok(Self::All);
        }
        if let Some(name) = EventName::parse(pattern) {
            return Ok(Self::Event(name));
        }
        let refuse = |hint: String| UnknownEventPattern { pattern: pattern.to_owned(), hint };
        let Some((domain, rest)) =
            pattern.strip_prefix(RESERVED_EVENT_PREFIX).and_then(|rest| rest.split_once('.'))
        else {
            return Err(refuse(format!("domains: {}", words(Domain::ALL.map(Domain::as_str)))));
        };
        let Some(known) = Domain::parse(domain) else {
            return Err(refuse(format!(
                "no domain `{domain}`; domains: {}",
                words(Domain::ALL.map(Domain::as_str))
            )));
        };
        if rest == "*" {
            return Ok(Self::Domain(known));
        }
        let events = EventName::ALL.into_iter().filter(|name| name.domain() == known).map(EventName::event);
        Err(refuse(format!("events of `{domain}`: {}", words(events))))
    }
}

fn words(words: impl IntoIterator<Item = &'static str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Event(name) => name.as_str(),
            Self::Domain(domain) => domain.wildcard(),
            Self::Custom(name) => name,
            Self::All => "*",
        })
    }
}

impl From<EventName> for Pattern {
    fn from(name: EventName) -> Self {
        Self::Event(name)
    }
}

impl From<Domain> for Pattern {
    fn from(domain: Domain) -> Self {
        Self::Domain(domain)
    }
}

impl TryFrom<&str> for Pattern {
    type Error = UnknownEventPattern;

    fn try_from(pattern: &str) -> Result<Self, Self::Error> {
        pattern.parse()
    }
}

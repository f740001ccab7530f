use agentfootprint_record::events::{Domain, EventName, Pattern, UnknownEventPattern};

/// What a subscription accepts as its pattern: a [`Pattern`], an event's name, a domain, or text in the grammar of
/// [`Pattern`].
pub trait IntoPattern {
    /// The pattern.
    ///
    /// # Errors
    /// [`UnknownEventPattern`] when the text names nothing.
    fn into_pattern(self) -> Result<Pattern, UnknownEventPattern>;
}

impl IntoPattern for &str {
    fn into_pattern(self) -> Result<Pattern, UnknownEventPattern> {
        self.parse()
    }
}

impl IntoPattern for Pattern {
    fn into_pattern(self) -> Result<Pattern, UnknownEventPattern> {
        Ok(self)
    }
}

impl IntoPattern for EventName {
    fn into_pattern(self) -> Result<Pattern, UnknownEventPattern> {
        Ok(Pattern::Event(self))
    }
}

impl IntoPattern for Domain {
    fn into_pattern(self) -> Result<Pattern, UnknownEventPattern> {
        Ok(Pattern::Domain(self))
    }
}

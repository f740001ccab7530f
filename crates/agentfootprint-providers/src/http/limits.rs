use std::time::Duration;

/// How long each phase of a request may take. A stream that keeps talking is never cut.
///
/// ```
/// use std::time::Duration;
/// use agentfootprint_providers::http::Deadlines;
///
/// let patient = Deadlines { headers: Duration::from_secs(300), ..Deadlines::default() };
/// assert_eq!(patient.connect, Duration::from_secs(10));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// Opening the connection.
    pub connect: Duration,
    /// Until the response head is there. A plain (not streamed) completion sends its head when the answer is
    /// ready, so a slow model needs more here.
    pub headers: Duration,
    /// Between two reads of a body.
    pub idle: Duration,
    /// The whole of a plain completion, if bounded at all.
    pub total: Option<Duration>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Deadlines {
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            total: None,
        }
    }
}

/// How much is read of an answer before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// One frame of a stream, in bytes.
    pub frame: usize,
    /// One complete body, in bytes.
    pub body: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { frame: 8 << 20, body: 64 << 20 }
    }
}

/// Limits under which nothing could ever be answered.
pub(crate) fn check_limits(deadlines: &Deadlines, bounds: &Bounds) -> Result<(), String> {
    let Deadlines { connect, headers, idle, total } = *deadlines;
    let phases =
        [("connect", Some(connect)), ("headers", Some(headers)), ("idle", Some(idle)), ("total", total)];
    if let Some((phase, _)) = phases.iter().find(|(_, limit)| *limit == Some(Duration::ZERO)) {
        return Err(format!("deadlines.{phase} is zero; nothing can be answered in no time"));
    }
    if bounds.frame == 0 || bounds.body == 0 {
        return Err("bounds are zero; no answer would fit".to_owned());
    }
    Ok(())
}

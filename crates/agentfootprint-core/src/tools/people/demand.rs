//! When a tool wants a person's consent.

use std::fmt;
use std::sync::Arc;

use footprint::value::{Str, Value};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Predicate = dyn Fn(&Value, &CheckInSituation<'_>) -> Result<bool, BoxError> + Send + Sync;

/// When a person must approve a call before it runs (TOOL-66).
#[derive(Clone)]
pub enum CheckIn {
    /// Every call.
    Always,
    /// Calls this predicate picks. An error of the predicate asks: the doubt goes to the person.
    When(Arc<Predicate>),
}

impl CheckIn {
    /// Asks when the predicate says so.
    ///
    /// ```
    /// use agentfootprint_core::tools::CheckIn;
    /// let large = CheckIn::when(|args, _| args.get("amount").and_then(|n| n.as_f64()).unwrap_or(0.0) > 100.0);
    /// ```
    pub fn when(predicate: impl Fn(&Value, &CheckInSituation<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self::When(Arc::new(move |args, situation| Ok(predicate(args, situation))))
    }

    /// Asks when the predicate says so, or fails.
    pub fn try_when(
        predicate: impl Fn(&Value, &CheckInSituation<'_>) -> Result<bool, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self::When(Arc::new(predicate))
    }

    /// Whether this call needs consent. A failing or panicking predicate asks.
    pub(crate) fn trips(&self, args: &Value, situation: &CheckInSituation<'_>) -> bool {
        match self {
            Self::Always => true,
            Self::When(predicate) => {
                let judged =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| predicate(args, situation)));
                !matches!(judged, Ok(Ok(false)))
            }
        }
    }
}

impl fmt::Debug for CheckIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::When(_) => "when(..)",
        })
    }
}

/// What a check-in predicate may look at besides the arguments.
#[derive(Clone, Copy, Debug)]
pub struct CheckInSituation<'a> {
    /// The iteration, from 1.
    pub iteration: u32,
    /// The call.
    pub tool_call_id: &'a Str,
    /// The conversation judged, with the composed system prompt in front.
    pub history: &'a footprint::value::Array,
}

#[cfg(test)]
mod tests {
    use footprint::value;
    use footprint::value::Array;

    use super::*;

    /// Proves TOOL-66.
    #[test]
    fn doubt_asks() {
        let (id, history) = (Str::from("c1"), Array::new());
        let situation = CheckInSituation { iteration: 1, tool_call_id: &id, history: &history };
        let args = value!({ "amount": 30 });
        assert!(CheckIn::Always.trips(&args, &situation));
        assert!(!CheckIn::when(|_, _| false).trips(&args, &situation));
        assert!(
            CheckIn::when(|args, s| args.get("amount").is_some() && s.iteration == 1)
                .trips(&args, &situation)
        );
        assert!(CheckIn::try_when(|_, _| Err("no idea".into())).trips(&args, &situation));
        assert!(CheckIn::when(|_, _| panic!("boom")).trips(&args, &situation));
    }
}

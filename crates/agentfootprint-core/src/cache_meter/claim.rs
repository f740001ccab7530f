use std::fmt;

use serde::Serialize;

/// A number that says how it is known. An unknown one is never a zero: nothing here turns one into a number.
///
/// ```
/// use agentfootprint_core::cache_meter::Claim;
///
/// let nobody_measured: Claim<u64> = Claim::Unknown { reason: "no call reported it".into() };
/// assert_eq!(nobody_measured.known_value(), None);
/// assert_eq!(nobody_measured.to_string(), "unknown (no call reported it)");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Claim<T> {
    /// It was measured.
    Known {
        /// The number.
        value: T,
        /// What it was read from.
        evidence: String,
    },
    /// Nobody measured it.
    Unknown {
        /// Why.
        reason: String,
    },
    /// There is no such number here.
    NotApplicable {
        /// Why.
        evidence: String,
    },
}

impl<T> Claim<T> {
    /// The number, if it is known.
    pub fn known_value(&self) -> Option<&T> {
        match self {
            Claim::Known { value, .. } => Some(value),
            Claim::Unknown { .. } | Claim::NotApplicable { .. } => None,
        }
    }

    /// The same claim about something made of the number.
    pub(super) fn map<U>(&self, make: impl FnOnce(&T) -> U) -> Claim<U> {
        match self {
            Claim::Known { value, evidence } => {
                Claim::Known { value: make(value), evidence: evidence.clone() }
            }
            Claim::Unknown { reason } => Claim::Unknown { reason: reason.clone() },
            Claim::NotApplicable { evidence } => Claim::NotApplicable { evidence: evidence.clone() },
        }
    }
}

impl<T: fmt::Display> fmt::Display for Claim<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Claim::Known { value, evidence } => write!(f, "{value} ({evidence})"),
            Claim::Unknown { reason } => write!(f, "unknown ({reason})"),
            Claim::NotApplicable { evidence } => write!(f, "not applicable ({evidence})"),
        }
    }
}

//! Predicates: author code that decides, and can never fail the run (CTX-6).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::InjectionContext;

/// The error a predicate may end with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

type PredicateFn = dyn Fn(&InjectionContext) -> Result<bool, BoxError> + Send + Sync;

/// A rule over the [`InjectionContext`]. An error or a panic counts as "no match" and is reported, never raised.
#[derive(Clone)]
pub struct Predicate(Arc<PredicateFn>);

impl Predicate {
    /// A rule that cannot fail.
    pub fn new(rule: impl Fn(&InjectionContext) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |cx| Ok(rule(cx))))
    }

    /// A rule that may fail.
    pub fn fallible(
        rule: impl Fn(&InjectionContext) -> Result<bool, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(rule))
    }

    /// Judges the context; the error is the text of what went wrong.
    pub fn judge(&self, cx: &InjectionContext) -> Result<bool, String> {
        match catch_unwind(AssertUnwindSafe(|| (self.0)(cx))) {
            Ok(Ok(verdict)) => Ok(verdict),
            Ok(Err(error)) => Err(error.to_string()),
            Err(payload) => Err(panic_text(payload.as_ref())),
        }
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate(..)")
    }
}

/// What a caught panic said.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "panicked".to_owned()
    }
}

//! Findings of dev diagnostics: typed, deduplicated, told to `tracing` and kept for the report (ENG-139).

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::options::Diagnostics;
use super::shared::lock;
use crate::value::Str;

/// A likely mistake the engine noticed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Warning {
    /// An `emit` without a name was dropped.
    EmptyEmitName {
        /// The stage that emitted.
        stage: Str,
    },
    /// The payload of an `emit` could not be represented; the event says why in its place (OBS-63).
    UnserializableEmit {
        /// The stage that emitted.
        stage: Str,
        /// The event's name.
        name: Str,
    },
    /// A mount in a loop appends its whole previous output to a parent list (ENG-34).
    ConcatGrowth {
        /// The mount.
        mount: Str,
        /// The parent key.
        key: Str,
    },
    /// An integer beyond 2^53 was written; JavaScript readers round it.
    LargeInteger {
        /// The stage that wrote.
        stage: Str,
        /// The key.
        key: Str,
    },
    /// The stored form of a value decodes to another value than was written.
    LossyValue {
        /// The stage that wrote.
        stage: Str,
        /// The key.
        key: Str,
    },
    /// A state value above 1 MiB was written again on a loop pass.
    LargeValueInLoop {
        /// The stage that wrote.
        stage: Str,
        /// The key.
        key: Str,
    },
    /// A for-each had more items than its ceiling.
    FanOutTruncated {
        /// The for-each.
        stage: Str,
    },
    /// One decision rule could not be evaluated.
    RuleFailed {
        /// The decider or selector.
        stage: Str,
        /// Position of the rule.
        rule: usize,
    },
    /// A stage held the run's task for longer than 100 ms without yielding.
    HeldTask {
        /// The stage.
        stage: Str,
    },
    /// One inline observer call took longer than 5 ms.
    SlowObserver {
        /// The observer.
        recorder: Str,
    },
    /// A loop records whole lists in `full` encoding; `delta` keeps recordings linear.
    FullValuesInLoop {
        /// The stage.
        stage: Str,
        /// The list's key.
        key: Str,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyEmitName { stage } => {
                write!(f, "stage `{stage}` emitted an event without a name; it was dropped")
            }
            Self::UnserializableEmit { stage, name } => {
                write!(f, "stage `{stage}` emitted `{name}` with a payload that cannot be represented")
            }
            Self::ConcatGrowth { mount, key } => write!(
                f,
                "mount `{mount}` appends the whole previous content of `{key}` on each pass; use ArrayMergeMode::Replace"
            ),
            Self::LargeInteger { stage, key } => {
                write!(
                    f,
                    "stage `{stage}` wrote an integer beyond 2^53 to `{key}`; JavaScript readers round it"
                )
            }
            Self::LossyValue { stage, key } => write!(
                f,
                "stage `{stage}` wrote a value to `{key}` whose stored form decodes to another value; a resumed run would see the other one"
            ),
            Self::LargeValueInLoop { stage, key } => {
                write!(f, "stage `{stage}` writes more than 1 MiB to `{key}` on every pass")
            }
            Self::FanOutTruncated { stage } => {
                write!(f, "for-each `{stage}` had more items than max_branches; the rest did not run")
            }
            Self::RuleFailed { stage, rule } => write!(f, "rule {rule} of `{stage}` could not be evaluated"),
            Self::HeldTask { stage } => {
                write!(f, "stage `{stage}` held the run's task for more than 100 ms; siblings had to wait")
            }
            Self::SlowObserver { recorder } => {
                write!(f, "observer `{recorder}` took more than 5 ms for one inline call")
            }
            Self::FullValuesInLoop { stage, key } => write!(
                f,
                "stage `{stage}` rewrites the list `{key}` on every pass in `full` encoding; `delta` keeps recordings linear"
            ),
        }
    }
}

/// The findings of one run.
pub(crate) struct Warnings {
    dev: bool,
    found: Mutex<Vec<Warning>>,
    count: AtomicUsize,
}

/// More findings than this are not kept.
const CAP: usize = 256;

impl Warnings {
    pub(crate) fn new(diagnostics: Diagnostics) -> Self {
        Self {
            dev: diagnostics == Diagnostics::Dev,
            found: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
        }
    }

    /// Whether findings beyond the required ones are looked for.
    #[inline]
    pub(crate) fn is_dev(&self) -> bool {
        self.dev
    }

    /// Keeps a finding once.
    pub(crate) fn add(&self, warning: Warning) {
        if self.count.load(Ordering::Relaxed) >= CAP {
            return;
        }
        let mut found = lock(&self.found);
        if !found.contains(&warning) {
            found.push(warning.clone());
            self.count.store(found.len(), Ordering::Relaxed);
            drop(found);
            tracing::warn!(target: "footprint", "{warning}");
        }
    }

    pub(crate) fn all(&self) -> Vec<Warning> {
        lock(&self.found).clone()
    }
}

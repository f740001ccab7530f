//! What a visit leaves in its tree node besides the commit: logs, errors, messages, diagnostic bags.

use super::FrameHandle;
use crate::scope::bags::put;
use crate::value::Value;
use crate::walk::tree::{Hop, Message};

/// A diagnostic bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bag {
    Logs,
    Errors,
    Metrics,
    Evals,
}

impl FrameHandle {
    /// Sets an entry of the frame's `logs`.
    pub(in crate::walk) fn log(&self, key: &str, value: Value) {
        self.level.with_frame(self.no, |frame| {
            frame.extra().logs.insert(key, value);
        });
    }

    /// Sets an entry of the frame's `errors`.
    pub(in crate::walk) fn note_error(&self, key: &str, value: Value) {
        self.level.with_frame(self.no, |frame| {
            frame.extra().errors.insert(key, value);
        });
    }

    /// Sets an entry of the frame's `errors` unless it is there.
    pub(in crate::walk) fn note_error_once(&self, key: &str, value: Value) {
        self.level.with_frame(self.no, |frame| {
            let errors = &mut frame.extra().errors;
            if !errors.contains_key(key) {
                errors.insert(key, value);
            }
        });
    }

    /// Adds to a diagnostic bag (ENG-86).
    pub(crate) fn bag(&self, bag: Bag, key: &str, value: Value) {
        self.level.with_frame(self.no, |frame| {
            let extra = frame.extra();
            let bag = match bag {
                Bag::Logs => &mut extra.logs,
                Bag::Errors => &mut extra.errors,
                Bag::Metrics => &mut extra.metrics,
                Bag::Evals => &mut extra.evals,
            };
            put(bag, key, value);
        });
    }

    pub(in crate::walk) fn message(&self, message: Message) {
        self.level.with_frame(self.no, |frame| frame.extra().messages.push(message));
    }

    pub(in crate::walk) fn hop(&self, hop: Hop) {
        self.level.with_frame(self.no, |frame| frame.hop = Some(hop));
    }
}

//! Joins a recorded run, or a recording opened from a file, with its explanation.

use agentfootprint_core::record::RecordedRun;
use agentfootprint_debug::{Findings, Story, Why, WhyError, explain, validate, why};
use agentfootprint_record::recording::OpenRecording;

/// Questions a record answers about its run. [`RecordedRun`] (just finished) and [`OpenRecording`] (from a file) implement it;
/// bring it into scope with the prelude.
pub trait Explained {
    /// From the answer back to what it is made of.
    fn why(&self) -> Why;

    /// From some words of the answer back to the pieces that have them.
    fn why_about(&self, words: &str) -> Why;

    /// From a variable back to what it is made of: `iteration`, `history[2]`.
    ///
    /// # Errors
    /// [`WhyError`] names the variable and what there is instead.
    fn why_variable(&self, name: &str) -> Result<Why, WhyError>;

    /// What happened, in order, every line with its address.
    fn story(&self) -> Story;

    /// Whether the recording adds up.
    fn findings(&self) -> Findings;
}

impl<T> Explained for RecordedRun<T> {
    fn why(&self) -> Why {
        why::answer(&opened(self))
    }

    fn why_about(&self, words: &str) -> Why {
        why::about(&opened(self), words)
    }

    fn why_variable(&self, name: &str) -> Result<Why, WhyError> {
        why::variable(&opened(self), name)
    }

    fn story(&self) -> Story {
        explain(&opened(self))
    }

    fn findings(&self) -> Findings {
        validate(&opened(self))
    }
}

impl Explained for OpenRecording {
    fn why(&self) -> Why {
        why::answer(self)
    }

    fn why_about(&self, words: &str) -> Why {
        why::about(self, words)
    }

    fn why_variable(&self, name: &str) -> Result<Why, WhyError> {
        why::variable(self, name)
    }

    fn story(&self) -> Story {
        explain(self)
    }

    fn findings(&self) -> Findings {
        validate(self)
    }
}

fn opened<T>(run: &RecordedRun<T>) -> OpenRecording {
    OpenRecording::from(run.recording().clone())
}

//! Writing answers and refusals.

use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command could not do its work: one sentence and an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    sentence: String,
    code: u8,
}

impl Failure {
    /// The input cannot be used: exit code 2.
    pub(crate) fn unusable(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), code: 2 }
    }

    /// The work was done and failed: exit code 1.
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), code: 1 }
    }

    /// Says it on standard error.
    pub(crate) fn report(&self) -> ExitCode {
        // Nobody is left to be told when standard error is closed.
        let _ = writeln!(io::stderr(), "agentfootprint: {}", agentfootprint::debug::plain(&self.sentence));
        ExitCode::from(self.code)
    }
}

/// Writes to standard output. A closed pipe ends the command quietly, as readers such as `head` expect.
pub(crate) fn say(text: impl AsRef<str>) {
    let mut out = io::stdout().lock();
    if out.write_all(text.as_ref().as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

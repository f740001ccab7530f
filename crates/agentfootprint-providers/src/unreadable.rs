//! Answers that are not their wire's shape, said in the same words by every adapter.

use agentfootprint_core::llm::{LlmError, LlmErrorKind};

use crate::finish::Finish;

impl Finish {
    /// One frame of the stream is not this wire's shape.
    pub(crate) fn unreadable_frame(&self, what: &str) -> LlmError {
        let message = format!("a frame of the stream from {} cannot be read: {what}", self.scene.door());
        self.scene.error(LlmErrorKind::UnreadableFrame, message)
    }

    /// A success status with a body that is not this wire's shape; `what` says what it is.
    pub(crate) fn unreadable_answer(&self, what: &str) -> LlmError {
        let message = format!(
            "{} answered with {what} instead of a completion; {}",
            self.scene.door(),
            self.scene.identity().address_hint
        );
        self.scene.error(LlmErrorKind::UnreadableResponse, message).with_status(200)
    }
}

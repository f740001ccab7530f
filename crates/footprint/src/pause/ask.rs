//! `interrupt`: a question asked from inside any stage (ENG-124, ENG-125).

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StageError;
use crate::value::{Object, Value};
use crate::walk::frame::FrameHandle;

/// A question for whoever resumes the run.
///
/// ```
/// use footprint::pause::Ask;
/// use footprint::value;
/// let ask = Ask::new("Refund 99?").expects(value!({ "approved": "boolean" }));
/// assert_eq!(ask.to_value()["reason"], value!("Refund 99?"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    reason: Value,
    expects: Option<Value>,
}

impl Ask {
    /// A question.
    pub fn new(reason: impl Into<Value>) -> Self {
        Self { reason: reason.into(), expects: None }
    }

    /// Says what shape of answer is expected.
    #[must_use]
    pub fn expects(mut self, shape: impl Serialize) -> Self {
        self.expects = Value::from_serialize(&shape).ok();
        self
    }

    /// The recorded form `{reason, expects?}`.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("reason", self.reason.clone());
        if let Some(expects) = &self.expects {
            out.insert("expects", expects.clone());
        }
        Value::Object(out)
    }
}

/// The wait for an answer. On the run that asks it never resolves: the engine sees the question and ends the
/// visit, whatever the stage makes of this future. On the resumed run it resolves at once.
#[must_use = "a question is asked by awaiting it"]
pub struct Interrupt<A> {
    frame: Arc<FrameHandle>,
    ask: Option<Ask>,
    answer: PhantomData<fn() -> A>,
}

impl<A> Interrupt<A> {
    pub(crate) fn new(frame: Arc<FrameHandle>, ask: Ask) -> Self {
        Self { frame, ask: Some(ask), answer: PhantomData }
    }
}

impl<A: DeserializeOwned + 'static> Future for Interrupt<A> {
    type Output = Result<A, StageError>;

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(ask) = self.ask.take() else { return Poll::Pending };
        match self.frame.ask(ask.to_value()) {
            Some(answer) => Poll::Ready(answer.decode::<A>().map_err(StageError::from)),
            None => Poll::Pending,
        }
    }
}

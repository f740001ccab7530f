//! Author functions as the engine stores them, and the types their results turn into.
//!
//! Every function is erased to an `Arc<dyn Fn(..)>`, so a node is cheap to clone and a chart can be shared by runs.

use std::any::{Any, TypeId};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::chart::{Chart, Next, SubflowEnd};
use crate::decide::{Decision, Selection};
use crate::error::StageError;
use crate::scope::{Scope, StateView};
use crate::value::{Object, Value};

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Runs a plain or streaming stage.
pub(crate) type StageFn = Arc<dyn Fn(Scope) -> BoxFuture<Result<StepOutput, StageError>> + Send + Sync>;
/// Runs a decider.
pub(crate) type DeciderFn = Arc<dyn Fn(Scope) -> BoxFuture<Result<Decision, StageError>> + Send + Sync>;
/// Runs a selector.
pub(crate) type SelectorFn = Arc<dyn Fn(Scope) -> BoxFuture<Result<Selection, StageError>> + Send + Sync>;
/// Runs a pausable stage up to its question.
pub(crate) type PausableFn = Arc<dyn Fn(Scope) -> BoxFuture<Result<Step<Value>, StageError>> + Send + Sync>;
/// Runs a pausable stage with the answer.
pub(crate) type ResumeFn =
    Arc<dyn Fn(Scope, Value) -> BoxFuture<Result<StepOutput, StageError>> + Send + Sync>;
/// Maps parent state to the keys a mounted chart starts with.
pub(crate) type InputMapperFn = Arc<dyn Fn(StateView) -> Result<Object, StageError> + Send + Sync>;
/// Maps the end of a mounted chart to the keys its parent receives. The view is the parent's.
pub(crate) type OutputMapperFn =
    Arc<dyn Fn(SubflowEnd, StateView) -> Result<Object, StageError> + Send + Sync>;
/// Produces the chart of a lazy mount.
pub(crate) type ResolverFn = Arc<dyn Fn() -> Result<Chart, StageError> + Send + Sync>;
/// Lists the work of a for-each.
pub(crate) type ItemsFn = Arc<dyn Fn(Scope) -> Result<Vec<Value>, StageError> + Send + Sync>;
/// Produces the chart of one for-each branch, at first entry and again on resume.
pub(crate) type BranchChartFn = Arc<dyn Fn(&Value, usize) -> Result<Chart, StageError> + Send + Sync>;

/// What a pausable stage answers: go on, or ask and wait.
///
/// ```
/// use footprint::chart::Step;
///
/// let asked: Step<&str> = Step::Pause("Approve 4200?");
/// assert!(matches!(asked, Step::Pause(_)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<P> {
    /// The walk continues with the next node.
    Continue,
    /// The run pauses; the payload is the question.
    Pause(P),
}

/// What one visit of a stage hands to the walk: an outcome value, a dynamic continuation, or neither.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepOutput {
    pub(crate) value: Option<Value>,
    pub(crate) next: Option<Next>,
}

/// What a stage function may return: nothing, any serialisable value, or a [`Next`].
///
/// The value is control flow and outcome only. It is not evidence: what must be visible later belongs in state.
pub trait IntoStepOutput: Send + 'static {
    #[doc(hidden)]
    fn into_step_output(self) -> Result<OpaqueStepOutput, StageError>;
}

/// A [`StepOutput`] nobody outside can look into; it keeps the trait implementable only by this crate.
#[doc(hidden)]
#[derive(Debug)]
pub struct OpaqueStepOutput(pub(crate) StepOutput);

impl<T: Serialize + Send + 'static> IntoStepOutput for T {
    fn into_step_output(self) -> Result<OpaqueStepOutput, StageError> {
        if TypeId::of::<T>() == TypeId::of::<()>() {
            return Ok(OpaqueStepOutput(StepOutput::default()));
        }
        let value = to_value(&self)?;
        Ok(OpaqueStepOutput(StepOutput { value: Some(value), next: None }))
    }
}

impl IntoStepOutput for Next {
    fn into_step_output(self) -> Result<OpaqueStepOutput, StageError> {
        Ok(OpaqueStepOutput(StepOutput { value: None, next: Some(self) }))
    }
}

/// Serialises, handing an engine [`Value`] through untouched.
pub(crate) fn to_value<T: Serialize + 'static>(source: &T) -> Result<Value, StageError> {
    if let Some(value) = (source as &dyn Any).downcast_ref::<Value>() {
        value.check_depth()?;
        return Ok(value.clone());
    }
    Value::from_serialize(source).map_err(StageError::from)
}

/// Decodes, handing an engine [`Value`] through untouched.
pub(crate) fn from_value<T: DeserializeOwned + 'static>(value: &Value) -> Result<T, StageError> {
    let mut slot: Option<T> = None;
    if let Some(same) = (&mut slot as &mut dyn Any).downcast_mut::<Option<Value>>() {
        *same = Some(value.clone());
    }
    match slot {
        Some(decoded) => Ok(decoded),
        None => value.decode::<T>().map_err(StageError::from),
    }
}

pub(crate) fn stage_fn<F, Fut, T>(run: F) -> StageFn
where
    F: Fn(Scope) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, StageError>> + Send + 'static,
    T: IntoStepOutput,
{
    Arc::new(move |scope| {
        let running = run(scope);
        Box::pin(async move { Ok(running.await?.into_step_output()?.0) })
    })
}

pub(crate) fn decider_fn<F, Fut, D>(run: F) -> DeciderFn
where
    F: Fn(Scope) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<D, StageError>> + Send + 'static,
    D: Into<Decision>,
{
    Arc::new(move |scope| {
        let running = run(scope);
        Box::pin(async move { Ok(running.await?.into()) })
    })
}

pub(crate) fn selector_fn<F, Fut, S>(run: F) -> SelectorFn
where
    F: Fn(Scope) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<S, StageError>> + Send + 'static,
    S: Into<Selection>,
{
    Arc::new(move |scope| {
        let running = run(scope);
        Box::pin(async move { Ok(running.await?.into()) })
    })
}

pub(crate) fn pausable_fn<F, Fut, P>(ask: F) -> PausableFn
where
    F: Fn(Scope) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Step<P>, StageError>> + Send + 'static,
    P: Serialize + 'static,
{
    Arc::new(move |scope| {
        let running = ask(scope);
        Box::pin(async move {
            match running.await? {
                Step::Continue => Ok(Step::Continue),
                Step::Pause(question) => Ok(Step::Pause(to_value(&question)?)),
            }
        })
    })
}

pub(crate) fn resume_fn<F, Fut, A, T>(answer: F) -> ResumeFn
where
    F: Fn(Scope, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, StageError>> + Send + 'static,
    A: DeserializeOwned + 'static,
    T: IntoStepOutput,
{
    Arc::new(move |scope, value| -> BoxFuture<Result<StepOutput, StageError>> {
        match from_value::<A>(&value) {
            Ok(decoded) => {
                let running = answer(scope, decoded);
                Box::pin(async move { Ok(running.await?.into_step_output()?.0) })
            }
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    })
}

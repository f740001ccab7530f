//! What a stage of a composition works on: the scope, the run, and where the composition is mounted.

use std::sync::Arc;

use agentfootprint_record::conventions::{ids, state};
use agentfootprint_record::events::Payload;
use agentfootprint_record::events::payload::{CompositionEnter, CompositionExit};
use agentfootprint_record::events::words::CompositionStatus;
use footprint::error::StageError;
use footprint::ids::RuntimeStageId;
use footprint::scope::Scope;
use footprint::value::{Object, Str, Value};

use super::member::{DECISION, MESSAGE, PRIOR_DECISION};
use super::open::Facts;
use crate::run::{RunContext, millis, mount_prefix, run_of};

/// The text that goes from member to member.
pub(crate) const CURRENT: &str = "current";

/// A visit of a composition's stage. Nothing of it outlives the visit (AGT-15).
#[derive(Clone)]
pub(crate) struct Cx {
    pub(crate) scope: Scope,
    pub(crate) run: Arc<RunContext>,
    prefix: Str,
}

impl Cx {
    /// Binds a visit; `local` is the stage's id in the composition's own chart.
    pub(crate) fn bind(scope: Scope, local: &str) -> Result<Self, StageError> {
        let run = run_of(&scope)?;
        let prefix = Str::from(mount_prefix(&scope.address(), local));
        Ok(Self { scope, run, prefix })
    }

    /// Where the composition is mounted; `""` at the root.
    pub(crate) fn prefix(&self) -> &Str {
        &self.prefix
    }

    pub(crate) fn address(&self) -> RuntimeStageId {
        self.scope.address()
    }

    /// The message the composition got: the run's at the root, its mount's elsewhere.
    pub(crate) fn message(&self) -> Str {
        if self.prefix.is_empty() {
            return self.run.start.message.clone();
        }
        self.scope.args_value().get(MESSAGE).and_then(Value::as_shared_str).cloned().unwrap_or_default()
    }

    /// The value the composition got: `{message}` is its text, an object is itself.
    pub(crate) fn value(&self) -> Value {
        if self.prefix.is_empty() {
            return match self.run.compositions.input() {
                Some(input) => input.clone(),
                None => Value::from(self.run.start.message.clone()),
            };
        }
        let args = self.scope.args_value();
        match args.as_object() {
            Some(fields) if fields.len() == 1 => fields.get(MESSAGE).cloned().unwrap_or(args),
            _ => args,
        }
    }

    /// A text in state; absent reads as empty.
    pub(crate) fn text(&self, key: &str) -> Result<Str, StageError> {
        Ok(self.scope.value(key)?.as_ref().and_then(Value::as_shared_str).cloned().unwrap_or_default())
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<Value>, StageError> {
        Ok(self.scope.value(key)?)
    }

    pub(crate) fn object(&self, key: &str) -> Result<Object, StageError> {
        Ok(self.get(key)?.and_then(|value| value.as_object().cloned()).unwrap_or_default())
    }

    pub(crate) fn set(&self, key: &'static str, value: impl Into<Value>) -> Result<(), StageError> {
        Ok(self.scope.set_value(key, value.into())?)
    }

    /// The iteration of a loop.
    pub(crate) fn iteration(&self) -> Result<u64, StageError> {
        Ok(self.get(state::ITERATION)?.and_then(|value| value.as_u64()).unwrap_or_default())
    }

    /// The router's decision that applies here, if one travels with the run.
    pub(crate) fn decision(&self) -> Result<Option<Value>, StageError> {
        match self.get(DECISION)? {
            Some(decision) => Ok(Some(decision)),
            None => self.get(PRIOR_DECISION),
        }
    }

    /// Says something. Nothing is built when nobody listens.
    pub(crate) fn emit<P: Payload>(&self, build: impl FnOnce() -> P) {
        self.run.say(&self.address(), build);
    }

    /// The composition begins.
    pub(crate) fn enter(&self, facts: &Facts, children: usize) {
        self.run.compositions.enter(&self.prefix, self.address(), facts, self.run.clock.monotonic());
        self.emit(|| {
            CompositionEnter::new(facts.kind.clone(), facts.id.clone(), facts.name.clone(), children)
        });
    }

    /// The composition ends. Its time counts from its own enter (AGT-117).
    pub(crate) fn exit(&self, facts: &Facts, status: CompositionStatus) {
        let now = self.run.clock.monotonic();
        let since = self.run.compositions.leave(&self.prefix).unwrap_or(now);
        self.emit(|| {
            CompositionExit::new(
                facts.kind.clone(),
                facts.id.clone(),
                status,
                millis(now.saturating_sub(since)),
            )
            .name(facts.name.clone())
        });
    }

    /// The composition ends with a failure of its own.
    pub(crate) fn fail(&self, facts: &Facts, error: StageError) -> StageError {
        self.exit(facts, CompositionStatus::Err);
        error
    }
}

/// Wraps a stage function of a composition.
pub(crate) fn stage<F, Fut, T>(id: &'static str, run: F) -> footprint::chart::Stage
where
    F: Fn(Cx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, StageError>> + Send + 'static,
    T: footprint::chart::IntoStepOutput,
{
    named_stage(id.into(), run)
}

/// The same with an id made at build.
pub(crate) fn named_stage<F, Fut, T>(id: Str, run: F) -> footprint::chart::Stage
where
    F: Fn(Cx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, StageError>> + Send + 'static,
    T: footprint::chart::IntoStepOutput,
{
    let run = Arc::new(run);
    let local = id.clone();
    footprint::chart::Stage::new(id, move |scope: Scope| {
        let (bound, run) = (Cx::bind(scope, &local), Arc::clone(&run));
        async move { run(bound?).await }
    })
}

/// The stage `finalize` that ends a composition with what stands under `key`.
pub(crate) fn finalize(facts: &Facts, key: &'static str) -> footprint::chart::Stage {
    let facts = facts.clone();
    stage(ids::FINALIZE, move |cx: Cx| {
        let facts = facts.clone();
        async move {
            let answer = cx.get(key)?.unwrap_or_default();
            cx.exit(&facts, CompositionStatus::Ok);
            Ok(answer)
        }
    })
    .named("Finalize")
    .describe("hands over the answer")
}

//! Per-run configuration (AGT-24, LLM-84).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use agentfootprint_record::MemoryIdentity;
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};

use crate::injection::{BoxError, panic_text};
use crate::run::{EffectFailure, EffectKind, EffectOutcome, Journaled, Reexecution, StageCx};

/// What a configuration hook may look at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunConfigContext {
    /// The turn's message after input middleware.
    pub message: Str,
    /// Who asks, if somebody was named.
    pub identity: Option<MemoryIdentity>,
    /// The run.
    pub run_id: Str,
    /// What the agent was built with.
    pub defaults: RunConfigDefaults,
}

/// What the agent was built with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunConfigDefaults {
    /// The model.
    pub model: Str,
    /// The base prompt.
    pub instructions: Option<Str>,
}

/// What a hook decided. What it leaves out stays as built.
///
/// ```
/// use agentfootprint_core::agent::RunConfig;
/// let config = RunConfig::new().model("large-1");
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunConfig {
    model: Option<Str>,
    instructions: Option<Str>,
}

impl RunConfig {
    /// Nothing decided.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another model for this run.
    #[must_use]
    pub fn model(mut self, model: impl Into<Str>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Another base prompt for this run.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<Str>) -> Self {
        self.instructions = Some(text.into());
        self
    }
}

pub(crate) type ConfigureFn =
    Arc<dyn Fn(&RunConfigContext) -> Result<Option<RunConfig>, BoxError> + Send + Sync>;

/// What is committed of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) model: Option<Str>,
    pub(crate) instructions: Option<Str>,
}

/// The recorded name of a failing configuration.
pub(crate) const INVALID_RUN_CONFIG: &str = "InvalidRunConfigError";

const CODE: &str = "ERR_INVALID_RUN_CONFIG";

/// Calls the hook, exactly once per run: a resumed leg has the resolution in its state.
pub(crate) async fn resolve(cx: &StageCx, message: &Str) -> Result<Resolved, StageError> {
    let Some(hook) = &cx.agent.configure else { return Ok(Resolved::default()) };
    let context = RunConfigContext {
        message: message.clone(),
        identity: cx.explicit_identity().cloned(),
        run_id: cx.run.run_id().clone(),
        defaults: RunConfigDefaults {
            model: cx.agent.model.clone(),
            instructions: cx.agent.base_prompt.as_ref().map(|base| base.text.clone()),
        },
    };
    let input = || Value::from(context.message.clone());
    let work = async { Hooked(call(hook, &context)) };
    let Hooked(decided) =
        cx.effect(EffectKind::Configure, &cx.agent.id, Reexecution::Idempotent, &input, work).await;
    decided.map_err(refused)
}

fn call(hook: &ConfigureFn, context: &RunConfigContext) -> Result<Resolved, String> {
    let decided = match catch_unwind(AssertUnwindSafe(|| hook(context))) {
        Ok(Ok(decided)) => decided.unwrap_or_default(),
        Ok(Err(error)) => return Err(format!("configure() failed: {error}")),
        Err(payload) => return Err(format!("configure() panicked: {}", panic_text(payload.as_ref()))),
    };
    for (what, text) in [("model", &decided.model), ("instructions", &decided.instructions)] {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(format!("configure() returned blank {what}; leave it out to keep the default"));
        }
    }
    Ok(Resolved { model: decided.model, instructions: decided.instructions })
}

/// What the hook came to, as a journal holds it.
struct Hooked(Result<Resolved, String>);

impl Journaled for Hooked {
    fn to_outcome(&self) -> EffectOutcome {
        match &self.0 {
            Ok(resolved) => {
                let mut out = Object::new();
                for (key, text) in [("model", &resolved.model), ("instructions", &resolved.instructions)] {
                    if let Some(text) = text {
                        out.insert(key, Value::from(text.clone()));
                    }
                }
                EffectOutcome::Ok(Value::from(out))
            }
            Err(why) => EffectOutcome::Err(EffectFailure {
                class: INVALID_RUN_CONFIG.into(),
                code: Some(CODE.into()),
                message: why.as_str().into(),
                retryable: false,
            }),
        }
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        Self(match outcome {
            EffectOutcome::Ok(value) => {
                let text = |key: &str| value.get(key).and_then(Value::as_shared_str).cloned();
                Ok(Resolved { model: text("model"), instructions: text("instructions") })
            }
            EffectOutcome::Err(failure) => Err(failure.message.to_string()),
        })
    }
}

fn refused(what: String) -> StageError {
    StageError::named(INVALID_RUN_CONFIG, what).with_code(CODE)
}

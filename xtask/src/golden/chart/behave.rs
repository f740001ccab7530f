//! What a scenario's stage does: operations over the scope.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use footprint::error::StageError;
use footprint::pause::Ask;
use footprint::scope::{Scope, SetOpts};
use footprint::value::Value as Kept;
use serde_json::{Map, Value, json};

use crate::golden::expr::{Sources, Thrown, eval, holds};
use crate::golden::text;

/// The sources an expression has inside a stage.
pub(super) struct InStage<'a> {
    pub scope: &'a Scope,
    pub env: Option<&'a Value>,
    pub answer: Option<&'a Value>,
}

impl Sources for InStage<'_> {
    fn state(&self, root: &str) -> Option<Value> {
        self.scope.value(root).ok().flatten().map(|value| value.to_json())
    }
    fn args(&self) -> Option<Value> {
        Some(self.scope.args_value().to_json())
    }
    fn env(&self) -> Option<Value> {
        let trace = self.scope.env().trace_id().map(|id| json!({"traceId": &*id}));
        trace.or_else(|| self.env.cloned())
    }
    fn answer(&self) -> Option<Value> {
        self.answer.cloned()
    }
}

/// The operations of one stage, with the attempts each visit has made.
#[derive(Clone)]
pub(super) struct Behaviour {
    operations: Arc<Vec<Value>>,
    returns: Option<Arc<Value>>,
    attempts: Arc<Mutex<HashMap<String, u64>>>,
}

impl Behaviour {
    pub(super) fn of(operations: Option<&Value>, returns: Option<&Value>) -> Self {
        Self {
            operations: Arc::new(operations.and_then(Value::as_array).cloned().unwrap_or_default()),
            returns: returns.cloned().map(Arc::new),
            attempts: Arc::default(),
        }
    }

    /// Executes the operations; the stage's result, when it declares one.
    pub(super) async fn run(&self, scope: Scope, answer: Option<Value>) -> Result<Option<Kept>, StageError> {
        let attempt = self.attempt(&scope);
        perform(&scope, &self.operations, attempt, answer.as_ref()).await?;
        let Some(returns) = &self.returns else { return Ok(None) };
        let sources = InStage { scope: &scope, env: None, answer: answer.as_ref() };
        Ok(eval(returns, &sources).map_err(thrown)?.map(Kept::from))
    }

    fn attempt(&self, scope: &Scope) -> u64 {
        let mut attempts = self.attempts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let count = attempts.entry(scope.address().to_string()).or_default();
        *count += 1;
        *count
    }
}

pub(super) fn thrown(error: Thrown) -> StageError {
    StageError::new(error.0)
}

fn perform<'a>(
    scope: &'a Scope,
    operations: &'a [Value],
    attempt: u64,
    answer: Option<&'a Value>,
) -> Pin<Box<dyn Future<Output = Result<(), StageError>> + Send + 'a>> {
    Box::pin(async move {
        for operation in operations {
            one(scope, operation, attempt, answer).await?;
        }
        Ok(())
    })
}

async fn one(
    scope: &Scope,
    operation: &Value,
    attempt: u64,
    answer: Option<&Value>,
) -> Result<(), StageError> {
    let compute = |field: &str| -> Result<Option<Value>, StageError> {
        let sources = InStage { scope, env: None, answer };
        match operation.get(field) {
            Some(expression) => eval(expression, &sources).map_err(thrown),
            None => Ok(None),
        }
    };
    let key = text(operation, "key");
    match text(operation, "op").as_str() {
        // A state holds no "no value": setting a key to it takes the key away (ENG-76).
        "set" => match compute("value")? {
            Some(value) => set(scope, &key, value, operation)?,
            None => scope.delete(key.as_str())?,
        },
        "update" => scope.update(key.as_str(), compute("value")?.unwrap_or(Value::Null))?,
        "append" => {
            let more = compute("values")?;
            let mut list = match scope.value(&key)?.map(|value| value.to_json()) {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            if let Some(Value::Array(more)) = more {
                list.extend(more);
            }
            scope.set_value(&key, Value::Array(list))?;
        }
        "increment" => {
            let before = scope.value(&key)?.and_then(|value| value.as_f64()).unwrap_or_default();
            let sum = before + operation.get("by").and_then(Value::as_f64).unwrap_or(1.0);
            scope.set_value(&key, if sum.fract() == 0.0 { json!(sum as i64) } else { json!(sum) })?;
        }
        "delete" => scope.delete(key.as_str())?,
        "read" => {
            let root = key.split('.').next().unwrap_or(&key);
            scope.value(root)?;
        }
        "emit" => scope.emit(&text(operation, "name"), compute("payload")?.unwrap_or(Value::Null))?,
        "debug" => scope.debug(&key, compute("value")?)?,
        "error" => scope.error(&key, compute("value")?)?,
        "metric" => scope.metric(&key, compute("value")?)?,
        "eval" => scope.eval(&key, compute("value")?)?,
        "log" => scope.log(compute("value")?)?,
        "break" => match operation.get("reason").and_then(Value::as_str) {
            Some(reason) => scope.stop(reason)?,
            None => scope.stop_silently()?,
        },
        "token" => scope.tokens().send(&text(operation, "text")),
        "yield" => give_way(operation.get("times").and_then(Value::as_u64).unwrap_or(1)).await,
        "throw" => fail(operation, attempt)?,
        "if" => {
            let condition = operation.get("cond").unwrap_or(&Value::Null);
            let yes = holds(condition, &InStage { scope, env: None, answer }).map_err(thrown)?;
            let branch = operation.get(if yes { "then" } else { "else" }).and_then(Value::as_array);
            perform(scope, branch.map_or(&[], Vec::as_slice), attempt, answer).await?;
        }
        "interrupt" => {
            let mut ask = Ask::new(Kept::from(compute("reason")?.unwrap_or(Value::Null)));
            if let Some(expects) = compute("expects")? {
                ask = ask.expects(expects);
            }
            let answer: Kept = scope.interrupt(ask).await?;
            scope.set_value(&text(operation, "into"), answer)?;
        }
        other => return Err(StageError::new(format!("unknown operation {other}"))),
    }
    Ok(())
}

/// A dotted key is a tracked read of the root key and a partial update of it.
fn set(scope: &Scope, key: &str, value: Value, operation: &Value) -> Result<(), StageError> {
    if let Some((root, rest)) = key.split_once('.') {
        scope.value(root)?;
        let patch = rest.rsplit('.').fold(value, |inner, segment| {
            let mut map = Map::new();
            map.insert(segment.to_owned(), inner);
            Value::Object(map)
        });
        return Ok(scope.update(root, patch)?);
    }
    let mut options = SetOpts::new();
    if operation.get("redact").and_then(Value::as_bool).unwrap_or_default() {
        options = options.redact();
    }
    if let Some(note) = operation.get("note").and_then(Value::as_str) {
        options = options.note(note);
    }
    Ok(scope.set_value_with(key, value, options)?)
}

fn fail(operation: &Value, attempt: u64) -> Result<(), StageError> {
    let limit = operation.get("onAttempts").and_then(Value::as_u64);
    if limit.is_some_and(|limit| attempt > limit) {
        return Ok(());
    }
    let name = operation.get("name").and_then(Value::as_str).unwrap_or("Error");
    let error = StageError::named(name, text(operation, "message"));
    Err(match operation.get("code").and_then(Value::as_str) {
        Some(code) => error.with_code(code),
        None => error,
    })
}

/// Lets every other ready branch go first, `times` times.
async fn give_way(times: u64) {
    for _ in 0..times {
        GiveWay(false).await;
    }
}

struct GiveWay(bool);

impl Future for GiveWay {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

//! The output contract: what an answer has to be, and the one function that judges it (AGT-92, TOOL-100).

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use agentfootprint_record::events::words::{JudgeStage, Word as _};
use footprint::value::{Object, Str, Value};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// What an answer has to be.
///
/// [`Typed`] is the contract of a Rust type:
///
/// ```
/// use agentfootprint_core::agent::{OutputContract, Typed};
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Ticket { title: String, hours: Option<f64> }
///
/// let contract = Typed::<Ticket>::new().describe("a support ticket");
/// assert!(contract.check(footprint::value!({ "title": "Mouse" })).is_ok());
/// assert!(contract.check(footprint::value!({ "title": 7 })).is_err());
/// assert!(contract.json_schema().is_some());
/// ```
pub trait OutputContract: Send + Sync + 'static {
    /// Judges a parsed answer.
    ///
    /// # Errors
    /// What is wrong with it and where, without repeating its values.
    fn check(&self, answer: Value) -> Result<Value, ContractViolation>;

    /// What the answer is, for the model.
    fn description(&self) -> Option<&str> {
        None
    }

    /// Its JSON schema, when one can be derived.
    fn json_schema(&self) -> Option<Value> {
        None
    }
}

/// Why an answer does not meet its contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ContractViolation {
    /// What is wrong.
    pub message: String,
    /// Where, as a dotted path.
    pub path: Option<String>,
}

impl ContractViolation {
    /// A violation of the answer as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), path: None }
    }

    /// Names the place.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }
}

/// The contract of a Rust type: it deserializes.
pub struct Typed<T> {
    description: Option<String>,
    kind: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + JsonSchema> Typed<T> {
    /// The contract.
    pub fn new() -> Self {
        Self { description: None, kind: PhantomData }
    }

    /// What the answer is, for the model.
    #[must_use]
    pub fn describe(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }
}

impl<T: DeserializeOwned + JsonSchema> Default for Typed<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: DeserializeOwned + JsonSchema + 'static> OutputContract for Typed<T> {
    fn check(&self, answer: Value) -> Result<Value, ContractViolation> {
        match answer.decode::<T>() {
            Ok(_) => Ok(answer),
            Err(error) => Err(ContractViolation::new(error.to_string())),
        }
    }

    fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn json_schema(&self) -> Option<Value> {
        Some(Value::from(schemars::schema_for!(T).to_value()))
    }
}

impl<T> fmt::Debug for Typed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Typed(..)")
    }
}

/// How the answer's form is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputStrategy {
    /// An instruction in the system prompt.
    #[default]
    Instruct,
    /// A tool the model is forced to call with the answer as its arguments.
    ToolForced,
    /// The endpoint's own structured output: it holds the model to the JSON schema while the answer is written. The agent may
    /// have tools beside it.
    Native,
}

/// The settings of an output contract.
#[derive(Clone, Debug, Default)]
pub struct OutputOptions {
    pub(crate) name: Option<Str>,
    pub(crate) instruction: Option<Str>,
    pub(crate) retries: u32,
    pub(crate) strategy: OutputStrategy,
    pub(crate) json_schema: Option<Value>,
}

impl OutputOptions {
    /// The defaults: judged, never asked again, asked for by an instruction.
    pub fn new() -> Self {
        Self::default()
    }

    /// The id of the instruction in the system prompt; `output-schema` by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The instruction itself.
    #[must_use]
    pub fn instruction(mut self, text: impl Into<Str>) -> Self {
        self.instruction = Some(text.into());
        self
    }

    /// How often a failing answer is asked again, 0 to 10. Each time is an iteration.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// How the form is asked for.
    #[must_use]
    pub fn strategy(mut self, strategy: OutputStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The JSON schema, when the contract cannot derive one.
    #[must_use]
    pub fn json_schema(mut self, schema: impl Into<Value>) -> Self {
        self.json_schema = Some(schema.into());
        self
    }
}

/// The id of the instruction, unless another name is given.
pub(crate) const DEFAULT_NAME: &str = "output-schema";
/// The synthetic tool of `tool-forced`; it appears in requests only.
pub(crate) const FORCED_TOOL: &str = "respond_with_schema";
/// The most re-asks.
pub(crate) const MAX_RETRIES: u32 = 10;

/// The output contract of an agent.
#[derive(Clone)]
pub(crate) struct Output {
    /// The id of the instruction; also what the form is called on a wire.
    pub(crate) name: Str,
    pub(crate) contract: Arc<dyn OutputContract>,
    pub(crate) retries: u32,
    pub(crate) strategy: OutputStrategy,
    pub(crate) schema: Option<Value>,
    pub(crate) fallback: Option<Fallback>,
}

/// What a typed read falls back to.
#[derive(Clone)]
pub(crate) struct Fallback {
    pub(crate) fallback: FallbackFn,
    pub(crate) canned: Option<Value>,
}

/// Makes another answer out of a failing one.
pub(crate) type FallbackFn = Arc<
    dyn Fn(OutputSchemaError, Str) -> std::pin::Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>
        + Send
        + Sync,
>;

/// Why a raw answer is not the declared one: the same for the loop's judge and for the typed read (AGT-92).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct OutputSchemaError {
    /// Which step failed.
    pub stage: JudgeStage,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub path: Option<String>,
    /// The answer as it came. Not part of the text of this error.
    pub raw_output: Str,
}

impl OutputSchemaError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        "ERR_OUTPUT_SCHEMA"
    }

    /// `stage`, `error` and `path` of a recorded row.
    pub(crate) fn describe_in(&self, row: &mut Object) {
        row.insert("stage", Value::from(self.stage.word()));
        row.insert("error", Value::from(self.message.as_str()));
        if let Some(path) = &self.path {
            row.insert("path", Value::from(path.as_str()));
        }
    }
}

/// Judges a raw answer: it must parse as JSON as it stands, and meet the contract. Nothing is stripped or repaired.
pub(crate) fn judge(contract: &dyn OutputContract, raw: &Str) -> Result<Value, OutputSchemaError> {
    let fail = |stage, message, path| OutputSchemaError { stage, message, path, raw_output: raw.clone() };
    let parsed: Value = raw
        .parse()
        .map_err(|error| fail(JudgeStage::JsonParse, format!("the answer is not JSON: {error}"), None))?;
    contract
        .check(parsed)
        .map_err(|violation| fail(JudgeStage::SchemaValidate, violation.message, violation.path))
}

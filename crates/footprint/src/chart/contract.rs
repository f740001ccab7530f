//! What a chart takes and gives: schemas, their validation, and the mapper from final state to output (ENG-58).

use std::fmt;
use std::sync::Arc;

use crate::chart::{BuildError, JsonSchema};
use crate::error::{InputValidationError, StageError};
use crate::scope::StateView;
use crate::value::Value;

type ContractMapper = Arc<dyn Fn(StateView) -> Result<Value, StageError> + Send + Sync>;

/// The declared input and output of a chart.
///
/// With an input schema a run is refused before anything starts when its input does not fit, an absent input included. The output
/// schema describes; it is enforced only with [`Contract::validate_output`].
///
/// ```
/// use footprint::chart::Contract;
/// use footprint::value;
///
/// let contract = Contract::new()
///     .input_schema(value!({ "type": "object", "properties": { "amount": { "type": "number" } }, "required": ["amount"] }));
/// assert!(contract.check_input(Some(&value!({ "amount": 3 }))).is_ok());
/// let refused = contract.check_input(None).unwrap_err();
/// assert_eq!(refused.issues[0].code.as_deref(), Some("invalid_type"));
/// ```
#[derive(Clone, Default)]
pub struct Contract {
    input: Option<JsonSchema>,
    output: Option<JsonSchema>,
    mapper: Option<ContractMapper>,
    validate_output: bool,
}

impl Contract {
    /// A contract that declares nothing yet.
    pub fn new() -> Contract {
        Contract::default()
    }

    /// The input is a Rust type; its schema is derived.
    #[cfg(feature = "schema")]
    #[must_use]
    pub fn input<T: schemars::JsonSchema>(mut self) -> Contract {
        self.input = Some(JsonSchema::of::<T>());
        self
    }

    /// The output is a Rust type; its schema is derived.
    #[cfg(feature = "schema")]
    #[must_use]
    pub fn output<T: schemars::JsonSchema>(mut self) -> Contract {
        self.output = Some(JsonSchema::of::<T>());
        self
    }

    /// The input fits this JSON Schema.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Contract {
        self.input = Some(JsonSchema::new(schema));
        self
    }

    /// The output fits this JSON Schema.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Contract {
        self.output = Some(JsonSchema::new(schema));
        self
    }

    /// Computes the output from the final state; without it the output is the final state.
    #[must_use]
    pub fn mapper(
        mut self,
        map: impl Fn(StateView) -> Result<Value, StageError> + Send + Sync + 'static,
    ) -> Contract {
        self.mapper = Some(Arc::new(map));
        self
    }

    /// Checks the output against its schema after the walk; a misfit fails the outcome and keeps the record.
    #[must_use]
    pub fn validate_output(mut self, validate: bool) -> Contract {
        self.validate_output = validate;
        self
    }

    /// The input schema document.
    pub fn input_document(&self) -> Option<&Value> {
        self.input.as_ref().map(JsonSchema::document)
    }

    /// The output schema document.
    pub fn output_document(&self) -> Option<&Value> {
        self.output.as_ref().map(JsonSchema::document)
    }

    /// Checks an input; `None` is an absent one.
    ///
    /// # Errors
    /// [`InputValidationError`] with one issue per misfit. No issue quotes a value.
    pub fn check_input(&self, input: Option<&Value>) -> Result<(), InputValidationError> {
        check("input", self.input.as_ref(), input)
    }

    /// Checks an output, when the contract asks for it.
    ///
    /// # Errors
    /// [`InputValidationError`] with one issue per misfit.
    pub fn check_output(&self, output: Option<&Value>) -> Result<(), InputValidationError> {
        if self.validate_output { check("output", self.output.as_ref(), output) } else { Ok(()) }
    }

    /// The output of a run that ended with this state, when a mapper is declared. Runs author code.
    pub(crate) fn map_output(&self, state: StateView) -> Option<Result<Value, StageError>> {
        self.mapper.as_ref().map(|map| map(state))
    }

    /// What is wrong with the declared schemas.
    pub(crate) fn problems(&self) -> impl Iterator<Item = BuildError> + '_ {
        [("input", &self.input), ("output", &self.output)].into_iter().filter_map(|(side, schema)| {
            let error = schema.as_ref()?.problem()?.to_owned();
            Some(BuildError::InvalidSchema { side, error })
        })
    }
}

fn check(
    side: &'static str,
    schema: Option<&JsonSchema>,
    instance: Option<&Value>,
) -> Result<(), InputValidationError> {
    // A chart with a broken schema was refused at build, so an error here belongs to no run.
    let issues = schema.map(|schema| schema.check(instance).unwrap_or_default()).unwrap_or_default();
    if issues.is_empty() { Ok(()) } else { Err(InputValidationError { side, issues }) }
}

impl fmt::Debug for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contract")
            .field("input", &self.input)
            .field("output", &self.output)
            .field("mapper", &self.mapper.is_some())
            .field("validate_output", &self.validate_output)
            .finish()
    }
}

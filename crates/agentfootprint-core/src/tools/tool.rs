//! A tool: what the model is shown, what it declares, and what runs.

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use footprint::value::Value;

use super::builder::ToolBuilder;
use super::context::ToolContext;
use super::declare::{ToolDeclarations, ToolDefError, ToolExtensions};
use super::failure::ToolFailure;
use super::output::ToolOutput;
use super::schema::ToolSchema;
use super::validate::ArgValidator;

/// What runs when a tool is called.
///
/// Closures become handlers through [`ToolBuilder::handler`]; implement the trait for handlers with state of their
/// own.
#[async_trait]
pub trait ToolHandler: Send + Sync + 'static {
    /// Executes one call. `args` have passed the tool's schema; `ctx` belongs to this call alone.
    async fn execute(&self, args: Value, ctx: &ToolContext) -> Result<ToolOutput, ToolFailure>;
}

/// A tool an agent can be given. Cheap to clone; two clones are the same tool (AGT-33).
///
/// ```
/// use agentfootprint_core::tools::Tool;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Order {
///     /// The order's number, such as A-1001.
///     id: String,
/// }
///
/// let tool = Tool::builder("get_order")
///     .description("Looks up an order")
///     .input::<Order>()
///     .handler(|order, _ctx| async move { format!("{} has shipped", order.id) })
///     .build()?;
/// assert_eq!(tool.name(), "get_order");
/// # Ok::<(), agentfootprint_core::tools::ToolDefError>(())
/// ```
#[derive(Clone)]
pub struct Tool(Arc<Parts>);

struct Parts {
    schema: ToolSchema,
    declared: ToolDeclarations,
    extensions: ToolExtensions,
    handler: Arc<dyn ToolHandler>,
    validator: OnceLock<ArgValidator>,
}

impl Tool {
    /// Starts a definition.
    pub fn builder(name: impl Into<footprint::value::Str>) -> ToolBuilder {
        ToolBuilder::new(name)
    }

    pub(super) fn assemble(
        schema: ToolSchema,
        declared: ToolDeclarations,
        extensions: ToolExtensions,
        handler: Arc<dyn ToolHandler>,
    ) -> Self {
        Self(Arc::new(Parts { schema, declared, extensions, handler, validator: OnceLock::new() }))
    }

    /// The name the model calls.
    pub fn name(&self) -> &str {
        self.0.schema.name()
    }

    /// What the model is shown.
    pub fn schema(&self) -> &ToolSchema {
        &self.0.schema
    }

    /// What the tool declares.
    pub fn declared(&self) -> &ToolDeclarations {
        &self.0.declared
    }

    /// What the tool carries along.
    pub fn extensions(&self) -> &ToolExtensions {
        &self.0.extensions
    }

    /// What runs.
    pub fn handler(&self) -> &Arc<dyn ToolHandler> {
        &self.0.handler
    }

    /// The check of its arguments, compiled once per tool.
    pub fn validator(&self) -> &ArgValidator {
        self.0.validator.get_or_init(|| ArgValidator::new(self.0.schema.input_schema()))
    }

    /// Whether two values are the same tool.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The same tool with another handler: name, schema, declarations and extensions are kept.
    #[must_use]
    pub fn with_handler(&self, handler: Arc<dyn ToolHandler>) -> Self {
        Self::assemble(self.0.schema.clone(), self.0.declared.clone(), self.0.extensions.clone(), handler)
    }

    /// Calls the handler directly: no gates, no validation, no record. For tests and for wrappers.
    pub async fn call(&self, args: impl Into<Value>, ctx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        self.0.handler.execute(args.into(), ctx).await
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("schema", &self.0.schema)
            .field("declared", &self.0.declared)
            .finish_non_exhaustive()
    }
}

/// What `Agent::builder(..).tool(..)` accepts: a [`Tool`], a [`ToolBuilder`], the value a `#[tool]` function becomes.
pub trait IntoTool {
    /// The tool, or why it cannot be built.
    fn into_tool(self) -> Result<Tool, ToolDefError>;
}

impl IntoTool for Tool {
    fn into_tool(self) -> Result<Tool, ToolDefError> {
        Ok(self)
    }
}

impl IntoTool for &Tool {
    fn into_tool(self) -> Result<Tool, ToolDefError> {
        Ok(self.clone())
    }
}

impl<A> IntoTool for ToolBuilder<A> {
    fn into_tool(self) -> Result<Tool, ToolDefError> {
        self.build()
    }
}

impl IntoTool for Result<Tool, ToolDefError> {
    fn into_tool(self) -> Result<Tool, ToolDefError> {
        self
    }
}

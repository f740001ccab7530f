//! Defining a tool.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use agentfootprint_record::events::words::PermissionCapability;
use footprint::value::{Str, Value};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::context::ToolContext;
use super::declare::{
    ColumnType, CredentialNeed, RepeatedWhen, ResultCeiling, ResultClass, ToolDeclarations, ToolDefError,
    ToolDefProblem, ToolExtensions, ToolOwner, assert_arguments_from, assert_composed_of,
    assert_result_columns,
};
use super::handler::{BoxedCall, TypedHandler, derived_schema};
use super::name::ToolNamePolicy;
use super::output::IntoToolOutput;
use super::people::{AskComponent, CheckIn};
use super::schema::ToolSchema;
use super::tool::{Tool, ToolHandler};
use super::validate::schema_fault;
use crate::run::Reexecution;

/// Builds a [`Tool`]. `A` is the type the handler receives: [`Value`] until [`input`](Self::input) names another.
///
/// Nothing is refused on the way; [`build`](Self::build) reports every fault at once.
pub struct ToolBuilder<A = Value> {
    name: Str,
    description: Option<Str>,
    input_schema: Option<Value>,
    declared: ToolDeclarations,
    extensions: ToolExtensions,
    handler: Option<Arc<dyn ToolHandler>>,
    policy: ToolNamePolicy,
    problems: Vec<ToolDefProblem>,
    input: PhantomData<fn() -> A>,
}

impl ToolBuilder {
    /// Starts a definition.
    pub fn new(name: impl Into<Str>) -> Self {
        Self {
            name: name.into(),
            description: None,
            input_schema: None,
            declared: ToolDeclarations::default(),
            extensions: ToolExtensions::default(),
            handler: None,
            policy: ToolNamePolicy::default(),
            problems: Vec::new(),
            input: PhantomData,
        }
    }
}

impl<A> ToolBuilder<A> {
    fn typed<B>(self) -> ToolBuilder<B> {
        ToolBuilder {
            name: self.name,
            description: self.description,
            input_schema: self.input_schema,
            declared: self.declared,
            extensions: self.extensions,
            handler: self.handler,
            policy: self.policy,
            problems: self.problems,
            input: PhantomData,
        }
    }

    /// What the model reads about the tool: what it does and when to use it.
    #[must_use]
    pub fn description(mut self, text: impl Into<Str>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Derives the input schema from a type; the handler receives it decoded.
    #[must_use]
    pub fn input<B: DeserializeOwned + JsonSchema>(mut self) -> ToolBuilder<B> {
        match derived_schema::<B>() {
            Ok(schema) => self.input_schema = Some(schema),
            Err(what) => self.problems.push(ToolDefProblem::new(
                "inputSchema",
                what,
                "derive it from a struct: the arguments of a call are a JSON object",
            )),
        }
        self.typed()
    }

    /// Gives the input schema as it is; the handler receives the plain [`Value`].
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<Value>) -> ToolBuilder {
        let schema = schema.into();
        if !matches!(schema, Value::Object(_)) {
            self.problems.push(ToolDefProblem::new(
                "inputSchema",
                format!("a {}", schema.kind()),
                "give a JSON Schema object",
            ));
        } else if let Some(place) = schema_fault(&schema) {
            self.problems.push(ToolDefProblem::new(
                "inputSchema",
                format!("no JSON Schema at `{place}`"),
                "correct the schema there",
            ));
        }
        self.input_schema = Some(schema);
        self.typed()
    }

    /// What runs: an async closure over the decoded arguments and the call's context.
    ///
    /// The return type is anything in the table of [`IntoToolOutput`].
    #[must_use]
    pub fn handler<F, Fut, O, Kind>(self, handler: F) -> ToolBuilder
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = O> + Send + 'static,
        O: IntoToolOutput<Kind>,
    {
        self.boxed_handler(move |args, ctx| {
            let answer = handler(args, ctx);
            Box::pin(async move { answer.await.into_tool_output() })
        })
    }

    /// The same over a boxed future.
    #[doc(hidden)]
    #[must_use]
    pub fn boxed_handler<F>(mut self, handler: F) -> ToolBuilder
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, ToolContext) -> BoxedCall + Send + Sync + 'static,
    {
        let schema = self.input_schema.clone();
        self.handler = Some(Arc::new(TypedHandler::new(self.name.clone(), schema, handler)));
        self.typed()
    }

    /// What runs, as a value of its own.
    #[must_use]
    pub fn handle_with(mut self, handler: impl ToolHandler) -> ToolBuilder {
        self.handler = Some(Arc::new(handler));
        self.typed()
    }

    /// A credential resolved before the tool runs; it arrives as `ctx.credential()`.
    #[must_use]
    pub fn needs(mut self, needs: CredentialNeed) -> Self {
        self.declared.needs = Some(needs);
        self
    }

    /// This argument is a reference to an artifact of this kind; the handler receives the data.
    #[must_use]
    pub fn wants(mut self, argument: impl Into<Str>, kind: impl Into<Str>) -> Self {
        self.declared.wants.insert(argument.into(), kind.into());
        self
    }

    /// A person approves the call first.
    #[must_use]
    pub fn check_in(mut self, when: CheckIn) -> Self {
        self.declared.check_in = Some(when);
        self
    }

    /// The screen that collects the check-in's decision.
    #[must_use]
    pub fn check_in_component(mut self, component: AskComponent) -> Self {
        self.declared.check_in_component = Some(component);
        self
    }

    /// The MCP server that supplied the tool.
    #[must_use]
    pub fn source(mut self, server: impl Into<Str>) -> Self {
        self.declared.source = Some(server.into());
        self
    }

    /// What the tool touches; an empty list says "nothing".
    #[must_use]
    pub fn capabilities(mut self, touched: impl IntoIterator<Item = PermissionCapability>) -> Self {
        self.declared.capabilities = Some(touched.into_iter().collect());
        self
    }

    /// Refuses results above this size: no data reaches the model, only the size.
    #[must_use]
    pub fn result_ceiling(mut self, max_chars: usize) -> Self {
        let narrow_by = self.declared.result_ceiling.and_then(|ceiling| ceiling.narrow_by);
        self.declared.result_ceiling = Some(ResultCeiling { max_chars, narrow_by });
        self
    }

    /// The parameters that narrow a call whose result was over the ceiling.
    #[must_use]
    pub fn narrow_by<S: Into<Str>>(mut self, parameters: impl IntoIterator<Item = S>) -> Self {
        let names = parameters.into_iter().map(Into::into).collect();
        match &mut self.declared.result_ceiling {
            Some(ceiling) => ceiling.narrow_by = Some(names),
            None => self.problems.push(ToolDefProblem::new(
                "resultCeiling.narrowBy",
                "parameters without a ceiling",
                "declare `result_ceiling` first",
            )),
        }
        self
    }

    /// What kind of answer the tool gives.
    #[must_use]
    pub fn result_class(mut self, class: ResultClass) -> Self {
        self.declared.result_class = Some(class);
        self
    }

    /// Artifact kind of a placed result; without it `tool-result/<name>`.
    #[must_use]
    pub fn result_kind(mut self, kind: impl Into<Str>) -> Self {
        self.declared.result_kind = Some(kind.into());
        self
    }

    /// Types of the columns of a tabular result.
    #[must_use]
    pub fn result_columns<S, C>(mut self, columns: impl IntoIterator<Item = (S, C)>) -> Self
    where
        S: Into<Str>,
        C: Into<ColumnType>,
    {
        self.declared.result_columns =
            columns.into_iter().map(|(name, column)| (name.into(), column.into())).collect();
        let given = assert_result_columns(&self.declared.result_columns);
        let is_empty = self.declared.result_columns.is_empty();
        self.note_empty(is_empty, given)
    }

    /// Who the offer is attributed to.
    #[must_use]
    pub fn owner(mut self, owner: ToolOwner) -> Self {
        self.declared.owner = Some(owner);
        self
    }

    /// Tools whose results are the ground of this tool's arguments.
    #[must_use]
    pub fn arguments_from<S: Into<Str>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.declared.arguments_from = tools.into_iter().map(Into::into).collect();
        let given = assert_arguments_from(&self.name, &self.declared.arguments_from);
        let is_empty = self.declared.arguments_from.is_empty();
        self.note_empty(is_empty, given)
    }

    /// Tools this one calls through `ctx.tools()`; checked against the agent's tools when it is built.
    #[must_use]
    pub fn composed_of<S: Into<Str>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.declared.composed_of = tools.into_iter().map(Into::into).collect();
        let given = assert_composed_of(&self.name, &self.declared.composed_of);
        let is_empty = self.declared.composed_of.is_empty();
        self.note_empty(is_empty, given)
    }

    /// A list that was given empty is a fault; one that was never given is not.
    fn note_empty(mut self, is_empty: bool, given: Result<(), ToolDefProblem>) -> Self {
        if is_empty {
            self.problems.extend(given.err());
        }
        self
    }

    /// Whether the tool's procedure can raise an approval gate.
    #[must_use]
    pub fn gates(mut self, gates: bool) -> Self {
        self.declared.gates = Some(gates);
        self
    }

    /// What makes two calls the same call.
    #[must_use]
    pub fn repeated_when(mut self, when: RepeatedWhen) -> Self {
        self.declared.repeated_when = when;
        self
    }

    /// What a durable host may do with a call that was in flight at a crash.
    #[must_use]
    pub fn reexecution(mut self, policy: Reexecution) -> Self {
        self.declared.reexecution = Some(policy);
        self
    }

    /// Carries a typed value along with the tool.
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(mut self, extension: Arc<T>) -> Self {
        self.extensions = std::mem::take(&mut self.extensions).with(extension);
        self
    }

    /// What happens to a name outside the charset every vendor accepts.
    #[must_use]
    pub fn name_policy(mut self, policy: ToolNamePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Adds what another builder found wrong.
    pub(super) fn faulty(mut self, problems: Vec<ToolDefProblem>) -> Self {
        self.problems.extend(problems);
        self
    }

    /// Whether no input schema was given.
    pub(super) fn lacks_input(&self) -> bool {
        self.input_schema.is_none()
    }

    /// Takes over declarations read elsewhere, with what was wrong with them.
    #[must_use]
    pub fn declarations(mut self, declared: ToolDeclarations, problems: Vec<ToolDefProblem>) -> Self {
        self.declared = declared;
        self.problems.extend(problems);
        self
    }

    /// Checks everything and builds the tool, or reports every fault at once.
    pub fn build(self) -> Result<Tool, ToolDefError> {
        let Self {
            name, description, input_schema, declared, extensions, handler, policy, mut problems, ..
        } = self;
        if let Err(error) = policy.admit(&name) {
            problems.push(ToolDefProblem::new(
                "name",
                error.reason.to_string(),
                format!("call it `{}`", error.suggestion),
            ));
        }
        let input_schema = input_schema.unwrap_or_else(ToolSchema::no_input);
        declared.check(&name, &input_schema, &mut problems);
        let Some(handler) = handler else {
            problems.push(ToolDefProblem::new(
                "handler",
                "nothing",
                "give the tool something to run with `.handler(..)`",
            ));
            return Err(ToolDefError { tool: name.to_string(), problems });
        };
        if problems.is_empty() {
            let schema = ToolSchema::new(name, description.unwrap_or_default(), input_schema);
            Ok(Tool::assemble(schema, declared, extensions, handler))
        } else {
            Err(ToolDefError { tool: name.to_string(), problems })
        }
    }
}

#[cfg(test)]
#[path = "builder_tests.rs"]
mod tests;

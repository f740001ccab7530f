//! The tool over a code runner (TOOL-94).

use std::sync::Arc;
use std::time::Duration;

use agentfootprint_record::events::payload::ToolsCodeRun;
use async_trait::async_trait;
use footprint::value::{Array, Object, Str, Value};
use indexmap::IndexMap;

use super::pool::Pool;
use super::port::{CodeRequest, CodeRunner, CodeSession, SessionStart, StagedInput};
use super::shape::shape_hash;
use super::staging::staged;
use super::told::told;
use crate::tools::context::ToolContext;
use crate::tools::declare::{CredentialNeed, ToolDefError, ToolDefProblem};
use crate::tools::failure::ToolFailure;
use crate::tools::output::ToolOutput;
use crate::tools::people::CheckIn;
use crate::tools::sessions::{Cleanup, TeardownOptions, TeardownScope, tool_session_key};
use crate::tools::tool::{IntoTool, Tool, ToolHandler};

/// How much of a stream the model reads unless the tool says otherwise.
const MAX_OUTPUT_CHARS: usize = 4000;
/// The argument that holds the code.
const CODE: &str = "code";

/// Declares a tool that runs code; see [`code_runner_tool`].
pub struct CodeRunnerTool {
    runner: Arc<dyn CodeRunner>,
    name: Str,
    description: Option<Str>,
    scope: TeardownScope,
    language: Str,
    max_output_chars: usize,
    check_in: Option<CheckIn>,
    needs: Option<CredentialNeed>,
    wants: IndexMap<Str, Str>,
    timeout: Option<Duration>,
}

/// A tool `run_code` over a place that runs code. One sandbox serves all calls of a turn, and what one of them leaves there
/// the next one finds; [`scope`](CodeRunnerTool::scope) makes it one per call or per session.
///
/// ```
/// use agentfootprint_core::tools::{IntoTool as _, code_runner_tool, local_code_runner};
/// let tool = code_runner_tool(local_code_runner()).wants("sales", "table").into_tool()?;
/// assert_eq!(tool.name(), "run_code");
/// assert!(tool.schema().description().contains("AF_STAGED_INPUTS"));
/// # Ok::<(), agentfootprint_core::tools::ToolDefError>(())
/// ```
pub fn code_runner_tool(runner: impl CodeRunner) -> CodeRunnerTool {
    CodeRunnerTool {
        runner: Arc::new(runner),
        name: "run_code".into(),
        description: None,
        scope: TeardownScope::Run,
        language: "python".into(),
        max_output_chars: MAX_OUTPUT_CHARS,
        check_in: None,
        needs: None,
        wants: IndexMap::new(),
        timeout: None,
    }
}

impl CodeRunnerTool {
    /// Another name than `run_code`.
    #[must_use]
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = name.into();
        self
    }

    /// Another first sentence. How inputs are staged is added to it.
    #[must_use]
    pub fn description(mut self, text: impl Into<Str>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// What one sandbox serves: a call, a turn (default) or a session.
    #[must_use]
    pub fn scope(mut self, scope: TeardownScope) -> Self {
        self.scope = scope;
        self
    }

    /// The language of the code; `python` by default.
    #[must_use]
    pub fn language(mut self, language: impl Into<Str>) -> Self {
        self.language = language.into();
        self
    }

    /// How many characters of each stream the model reads; 4000 by default.
    #[must_use]
    pub fn max_output_chars(mut self, chars: usize) -> Self {
        self.max_output_chars = chars;
        self
    }

    /// A person approves each execution first, or those a predicate picks.
    #[must_use]
    pub fn check_in(mut self, when: CheckIn) -> Self {
        self.check_in = Some(when);
        self
    }

    /// A credential resolved before each call; the one of the call that starts a session reaches the runner.
    #[must_use]
    pub fn needs(mut self, needs: CredentialNeed) -> Self {
        self.needs = Some(needs);
        self
    }

    /// An optional argument that takes a reference to an artifact of this kind; its content is staged as a file.
    #[must_use]
    pub fn wants(mut self, argument: impl Into<Str>, kind: impl Into<Str>) -> Self {
        self.wants.insert(argument.into(), kind.into());
        self
    }

    /// How long one execution may take; the runner's own limit without it.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    fn problems(&self) -> Vec<ToolDefProblem> {
        let mut problems = Vec::new();
        let mut note =
            |field, found: &str, fix| problems.push(ToolDefProblem::new(field, found.to_owned(), fix));
        if self.scope == TeardownScope::Shutdown {
            note("scope", "`shutdown`", "let a sandbox serve a `call`, a `run` or a `session`");
        }
        if self.language.trim().is_empty() {
            note("language", "blank text", "name the language, such as `python`");
        }
        if self.max_output_chars == 0 {
            note("maxOutputChars", "0", "let the model read at least one character");
        }
        if self.timeout.is_some_and(|limit| limit.is_zero()) {
            note("timeoutMs", "0", "give an execution some time, or leave the limit to the runner");
        }
        if self.wants.contains_key(CODE) {
            note("wants", "the argument `code`", "call the input something else: `code` is the program");
        }
        problems
    }

    fn input_schema(&self) -> Value {
        let property = |description: String| {
            let mut property = Object::new();
            property.insert("type", Value::from("string"));
            property.insert("description", Value::from(description));
            Value::Object(property)
        };
        let mut properties = Object::new();
        properties.insert(
            CODE,
            property(format!("The {} program to run. It prints what it found.", self.language)),
        );
        for (argument, kind) in &self.wants {
            properties.insert(
                argument.clone(),
                property(format!(
                    "Optional: the reference of an artifact of kind `{kind}` to stage as a file."
                )),
            );
        }
        let mut schema = Object::new();
        schema.insert("type", Value::from("object"));
        schema.insert("properties", Value::Object(properties));
        schema.insert("required", Value::Array([Value::from(CODE)].into_iter().collect::<Array>()));
        Value::Object(schema)
    }

    fn composed_description(&self) -> String {
        let first = match &self.description {
            Some(text) => text.trim_end().to_owned(),
            None => format!("Runs {} code and returns what it prints.", self.language),
        };
        let lasting = match self.scope {
            TeardownScope::Call => "Nothing is kept for a later call.",
            _ => "What one call leaves in its working directory, later calls find there.",
        };
        let mut out = format!("{first} {lasting}");
        if !self.wants.is_empty() {
            let names: Vec<String> = self.wants.keys().map(|name| format!("`{name}`")).collect();
            out.push_str(&format!(
                " Artifacts passed by reference as {} are staged as files: the environment variable AF_STAGED_INPUTS \
                 holds a JSON object from argument name to file path. Read them from there; do not paste their content \
                 into the code.",
                names.join(", ")
            ));
        }
        out
    }
}

impl IntoTool for CodeRunnerTool {
    fn into_tool(self) -> Result<Tool, ToolDefError> {
        let problems = self.problems();
        let mut builder = Tool::builder(self.name.clone())
            .description(self.composed_description())
            .declarations(Default::default(), problems)
            .input_schema(self.input_schema());
        for (argument, kind) in &self.wants {
            builder = builder.wants(argument.clone(), kind.clone());
        }
        if let Some(when) = self.check_in {
            builder = builder.check_in(when);
        }
        if let Some(needs) = self.needs {
            builder = builder.needs(needs);
        }
        builder
            .handle_with(RunsCode {
                runner: self.runner,
                pool: Arc::default(),
                scope: self.scope,
                language: self.language,
                max_output_chars: self.max_output_chars,
                takes_inputs: self.wants.keys().cloned().collect(),
                timeout: self.timeout,
            })
            .build()
    }
}

struct RunsCode {
    runner: Arc<dyn CodeRunner>,
    pool: Arc<Pool>,
    scope: TeardownScope,
    language: Str,
    max_output_chars: usize,
    takes_inputs: Vec<Str>,
    timeout: Option<Duration>,
}

#[async_trait]
impl ToolHandler for RunsCode {
    async fn execute(&self, args: Value, ctx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let tool = ctx.tool_name();
        let Some(code) = args.get(CODE).and_then(Value::as_shared_str).cloned() else {
            return Err(ToolFailure::message(format!("`{tool}` needs the program as the text `{CODE}`.")));
        };
        if !self.takes_inputs.is_empty() && !self.runner.stages_inputs() {
            return Err(ToolFailure::message(format!(
                "`{tool}` takes artifacts as inputs, and its code runner `{}` cannot stage any.",
                self.runner.id()
            )));
        }
        let session = self.session(ctx).await?;
        let inputs = self.inputs(&args, ctx);
        let staged_inputs = inputs.len() as u64;
        let staged = self.stage(&*session, inputs).await?;
        let mut request =
            CodeRequest::new(code.clone(), self.language.clone()).cancel(ctx.cancel().child_token());
        request.timeout = self.timeout;
        let result = session.execute(request).await?;
        let ok = result.ok;
        let told = told(ctx, staged, result, self.max_output_chars).await;
        ctx.code_ran(|| {
            let shape = shape_hash(&code, &self.language);
            ToolsCodeRun::new(
                tool,
                self.language.clone(),
                staged_inputs,
                told.output_chars,
                told.truncated,
                ok,
                shape,
            )
        });
        Ok(ToolOutput::text(told.text))
    }
}

impl RunsCode {
    /// The session of this call's scope, with its end registered before it begins: nothing that starts can be forgotten.
    async fn session(&self, ctx: &ToolContext) -> Result<Arc<dyn CodeSession>, ToolFailure> {
        let tool = ctx.tool_name();
        let Some(key) = tool_session_key(ctx, self.scope).map(Str::from) else {
            let missing = match self.scope {
                TeardownScope::Session => {
                    "one sandbox per session, and this run names no session; start it with `RunOptions::session_id`"
                }
                _ => "one sandbox per turn, and this call belongs to no turn",
            };
            return Err(ToolFailure::message(format!("`{tool}` keeps {missing}.")));
        };
        let held = self.pool.lease(&key);
        let (pool, named, lease) = (Arc::clone(&self.pool), key.clone(), held.clone());
        let end = Cleanup::new(move || async move {
            pool.release(&named, lease).await.map_err(|error| Box::new(error) as _)
        });
        let options = TeardownOptions {
            scope: self.scope,
            key: Some(key.clone()),
            label: Some(self.language.clone()),
            runner_id: Some(self.runner.id().into()),
        };
        if let Err(refused) = ctx.on_teardown(options, end) {
            // Nothing was started under it.
            let _ = self.pool.release(&key, held).await;
            return Err(ToolFailure::message(format!("`{tool}` cannot keep a sandbox here: {refused}.")));
        }
        // The registration owns the session now.
        drop(held);
        let mut start = SessionStart::new(key, self.language.clone());
        start.credential = ctx.credential().cloned();
        Ok(self.pool.session(&self.runner, start).await?)
    }

    /// The wanted artifacts of this call as files.
    fn inputs(&self, args: &Value, ctx: &ToolContext) -> Vec<StagedInput> {
        let wanted = ctx.wanted().into_iter().flatten();
        wanted.filter_map(|(argument, meta)| Some(staged(argument, meta, args.get(argument)?))).collect()
    }

    /// Stages them; what the model is told about it, when the tool takes inputs at all.
    async fn stage(
        &self,
        session: &dyn CodeSession,
        inputs: Vec<StagedInput>,
    ) -> Result<Option<String>, ToolFailure> {
        if self.takes_inputs.is_empty() {
            return Ok(None);
        }
        if inputs.is_empty() {
            let names: Vec<String> = self.takes_inputs.iter().map(|name| format!("`{name}`")).collect();
            return Ok(Some(format!(
                "[nothing was staged: this call passed no reference as {}]",
                names.join(", ")
            )));
        }
        let sizes: Vec<(Str, usize)> =
            inputs.iter().map(|input| (input.name.clone(), input.data.len())).collect();
        let paths = session.stage_inputs(inputs).await?;
        let told: Vec<String> = sizes
            .iter()
            .map(|(name, bytes)| match paths.get(name) {
                Some(path) => format!("{name} = {path} ({bytes} bytes)"),
                None => format!("{name} ({bytes} bytes, the runner named no path)"),
            })
            .collect();
        Ok(Some(format!("[staged inputs: {}]", told.join("; "))))
    }
}

//! `ctx.tools()`: the agent's other tools, from inside one (TOOL-75).
//!
//! An inner call is the outer call's work: no events of its own in the stream of tool calls, no middleware, no recognisers, and
//! no effect beside the outer one. Whatever needs a person is refused by name.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use agentfootprint_record::events::words::PermissionCapability;
use footprint::value::{Array, Str, Value};
use tokio_util::sync::CancellationToken;

use super::artifacts;
use super::batch::Batch;
use super::call::Attempt;
use super::credential::{self, Vended};
use super::execute::{Handled, run};
use super::permission::{self, Question};
use crate::agent::ArgValidation;
use crate::artifacts::ArtifactAccess;
use crate::run::StageCx;
use crate::tools::context::{CallFacts, ToolContext};
use crate::tools::dispatch_door::{InnerCallError, ToolDispatch};
use crate::tools::name::reserved;
use crate::tools::output::ToolOutput;
use crate::tools::texts;
use crate::tools::tool::Tool;

/// What an outer call lends its inner ones.
struct Inner {
    cx: StageCx,
    history: Array,
    iteration: u32,
    outer_id: Str,
    outer_name: Str,
    sequence: AtomicU32,
    /// False once the outer call has settled.
    live: Arc<AtomicBool>,
}

/// The door of one outer call. `cx` is the visit as seen from inside the outer effect.
pub(super) fn door(cx: &StageCx, batch: &Batch, attempt: &Attempt, live: &Arc<AtomicBool>) -> ToolDispatch {
    let inner = Arc::new(Inner {
        cx: cx.clone(),
        history: batch.history.clone(),
        iteration: batch.iteration,
        outer_id: attempt.call.id.clone(),
        outer_name: attempt.call.name.clone(),
        sequence: AtomicU32::new(0),
        live: Arc::clone(live),
    });
    let named = Arc::clone(&inner);
    ToolDispatch::new(
        Arc::new(move |name| named.find(name).is_some()),
        Arc::new(move |name, args, options| {
            let inner = Arc::clone(&inner);
            Box::pin(async move { inner.call_until(&name, args, options.cancel).await })
        }),
    )
}

impl Inner {
    /// The static dispatch map: registered tools and those pieces carry, never a provider's.
    fn find(&self, name: &str) -> Option<Tool> {
        let agent = &self.cx.agent;
        agent.tool(name).cloned().or_else(|| {
            let carried = agent.injections.iter().flat_map(|injection| &injection.content().tools);
            carried.into_iter().find(|tool| tool.name() == name).cloned()
        })
    }

    /// One call, which ends when the caller's own token is cancelled. What the tool returned is never looked at here.
    async fn call_until(
        &self,
        name: &str,
        args: Value,
        until: Option<CancellationToken>,
    ) -> Result<ToolOutput, InnerCallError> {
        let cancel = self.cx.run.cancel.child_token();
        let Some(until) = until else { return self.call(name, args, cancel).await };
        tokio::select! {
            biased;
            () = until.cancelled() => {
                // What the tool left running sees it too.
                cancel.cancel();
                Err(InnerCallError::Cancelled { name: name.to_owned() })
            }
            done = self.call(name, args, cancel.clone()) => done,
        }
    }

    async fn call(
        &self,
        name: &str,
        args: Value,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, InnerCallError> {
        let refused = |why: String| InnerCallError::Refused { name: name.to_owned(), why };
        if !self.live.load(Ordering::Relaxed) {
            return Err(refused(format!("the call of `{}` it belongs to has ended", self.outer_name)));
        }
        let Some(tool) = self.find(name) else {
            return Err(InnerCallError::Unknown {
                name: name.to_owned(),
                caller: self.outer_name.to_string(),
            });
        };
        if tool.declared().check_in.is_some() {
            return Err(refused("a person has to approve it first".to_owned()));
        }
        if !tool.declared().wants.is_empty() {
            return Err(refused("it takes artifacts, which only the model's own call delivers".to_owned()));
        }
        if name == reserved::PRESENT && self.cx.agent.tooling.artifacts.is_some() {
            return Err(refused("only the model's own call shows an artifact".to_owned()));
        }
        self.permitted(name, &args).await?;
        if self.cx.agent.options.arg_validation == ArgValidation::Enforce {
            let issues = tool.validator().check(&args);
            if !issues.is_empty() {
                return Err(refused(texts::invalid_args(name, &issues)));
            }
        }
        let credential = self.vended(&tool, name).await?;
        let facts = CallFacts {
            iteration: self.iteration,
            cancel,
            spoken_args: args.clone(),
            credentials: credential::access(&self.cx, &name.into()),
            credential,
            artifacts: ArtifactAccess::none(Some(artifacts::sink(&self.cx, &name.into()))),
            run_id: Some(self.cx.run.run_id.clone()),
            session_id: self.cx.run.session_id().cloned(),
            identity: self.cx.explicit_identity().cloned().map(Arc::new),
            turn_id: Some(self.cx.run.turn_id.clone()),
            ..CallFacts::detached(name, self.id())
        };
        match run(&tool, args, &ToolContext::new(facts)).await {
            Handled::Returned(output) => Ok(output),
            Handled::Failed(message) => Err(InnerCallError::Failed { name: name.to_owned(), message }),
            Handled::Panicked => {
                Err(InnerCallError::Failed { name: name.to_owned(), message: texts::panicked(name) })
            }
            Handled::Paused(pause) => Err(InnerCallError::Paused { name: name.to_owned(), pause }),
        }
    }

    /// `<outer>.<n>`, counted from 1.
    fn id(&self) -> Str {
        format!("{}.{}", self.outer_id, self.sequence.fetch_add(1, Ordering::Relaxed) + 1).into()
    }

    /// Asks a checker that governs inner calls.
    async fn permitted(&self, name: &str, args: &Value) -> Result<(), InnerCallError> {
        let Some(checker) =
            self.cx.agent.tooling.permission.clone().filter(|checker| checker.governs_inner())
        else {
            return Ok(());
        };
        let target = Str::from(name);
        let question = Question {
            history: &self.history,
            iteration: self.iteration,
            name: &target,
            args,
            capability: PermissionCapability::ToolCall,
            target: target.clone(),
        };
        match permission::decide(&self.cx, &*checker, question).await {
            Ok(None) => Ok(()),
            Ok(Some(refused)) => {
                Err(InnerCallError::Refused { name: name.to_owned(), why: refused.into_text().to_string() })
            }
            Err(error) => Err(InnerCallError::Failed { name: name.to_owned(), message: error.to_string() }),
        }
    }

    /// What the tool needs, without a person.
    async fn vended(
        &self,
        tool: &Tool,
        name: &str,
    ) -> Result<Option<Arc<dyn crate::tools::credentials::Credential>>, InnerCallError> {
        let Some(needs) = tool.declared().needs.clone() else { return Ok(None) };
        let refused = |why: String| InnerCallError::Refused { name: name.to_owned(), why };
        let service = needs.credential.clone();
        match credential::fetch(&self.cx, self.iteration, &name.into(), needs).await {
            Ok(Vended::Issued(credential)) => Ok(Some(credential)),
            Ok(Vended::Consent(_)) => {
                Err(refused(format!("a person has to grant access to `{service}` first")))
            }
            Ok(Vended::Failed(error)) => {
                Err(refused(format!("no credential for `{service}` could be obtained ({error})")))
            }
            Err(error) => Err(InnerCallError::Failed { name: name.to_owned(), message: error.to_string() }),
        }
    }
}

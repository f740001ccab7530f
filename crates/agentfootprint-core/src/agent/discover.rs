//! Asking the tool provider, once per iteration (TOOL-21, AGT-66), and once before a resumed call it supplied (TOOL-22).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agentfootprint_record::conventions::state;
use agentfootprint_record::events::payload::{
    ToolsDiscoveryCompleted, ToolsDiscoveryFailed, ToolsDiscoveryStarted,
};
use agentfootprint_record::events::words::{ContextSource, PermissionCapability, Word as _};
use async_trait::async_trait;
use footprint::error::StageError;
use footprint::value::{Array, Object, Str, Value};
use futures_util::FutureExt as _;

use super::offer::CurrentOffer;
use crate::injection::ActiveInjection;
use crate::run::{EffectFailure, EffectKind, EffectOutcome, Journaled, Reexecution, StageCx};
use crate::tools::{
    CheckIn, CredentialNeed, Tool, ToolContext, ToolDeclarations, ToolFailure, ToolHandler, ToolListContext,
    ToolNamePolicy, ToolOutput, ToolProvider, ToolProviderError, ToolSchema,
};

/// Asks the provider, when there is one. Its answer lives in the run and is what dispatch reads; a failure fails the stage: tools
/// are never silently dropped.
pub(crate) async fn discover(cx: &StageCx, iteration: u32) -> Result<(), StageError> {
    let Some(provider) = cx.agent.tooling.provider.clone() else { return Ok(()) };
    let id = cx.agent.tool_provider_id();
    let context = context(cx, iteration)?;
    cx.emit(|| ToolsDiscoveryStarted::new(iteration).provider_id(id.clone()));
    let started = cx.now_ms();
    let input = || asked(&context);
    let asked = async { Listed { answer: list(&*provider, &context).await, replayed: false } };
    let name = id.clone().unwrap_or_default();
    let listed = cx.effect(EffectKind::ToolList, &name, Reexecution::Idempotent, &input, asked);
    let Listed { answer, replayed } = cx.unless_cancelled(listed).await?;
    let took = cx.now_ms().saturating_sub(started);
    match answer {
        Ok(tools) => {
            cx.emit(|| ToolsDiscoveryCompleted::new(iteration, took, tools.len()).provider_id(id));
            let late = |tool: Tool| {
                Arc::new(Late {
                    provider: Arc::clone(&provider),
                    context: context.clone(),
                    name: tool.name().into(),
                })
            };
            let tools = match replayed {
                true => tools.into_iter().map(|tool| tool.with_handler(late(tool.clone()))).collect(),
                false => tools,
            };
            cx.turn.of::<CurrentOffer>().note_provided(tools);
            Ok(())
        }
        Err(error) => {
            cx.emit(|| {
                ToolsDiscoveryFailed::new(error.message.as_str(), error.name.as_str(), iteration, took)
                    .provider_id(id)
            });
            Err(StageError::named(error.name.clone(), error.to_string()).with_source(error))
        }
    }
}

fn context(cx: &StageCx, iteration: u32) -> Result<ToolListContext, StageError> {
    let activated = cx.list(state::ACTIVATED_INJECTION_IDS)?;
    let active = cx.list(state::ACTIVE_INJECTIONS)?;
    let mut context = ToolListContext::detached();
    context.iteration = iteration;
    context.active_skill_id = activated.last().and_then(Value::as_shared_str).cloned();
    context.active_skill_ids = active
        .iter()
        .map(ActiveInjection::new)
        .filter(|piece| piece.flavor() == ContextSource::Skill.word())
        .map(|piece| Str::from(piece.id()))
        .collect();
    context.identity = cx.explicit_identity().cloned().map(Arc::new);
    context.cancel = cx.run.cancel.clone();
    Ok(context)
}

fn asked(context: &ToolListContext) -> Value {
    let mut out = Object::new();
    out.insert("iteration", Value::from(context.iteration));
    if let Some(id) = &context.active_skill_id {
        out.insert("activeSkillId", Value::from(id.clone()));
    }
    let ids: Array = context.active_skill_ids.iter().map(|id| Value::from(id.clone())).collect();
    out.insert("activeSkillIds", Value::from(ids));
    Value::from(out)
}

/// A panic of a provider is a failure like any other.
async fn list(
    provider: &dyn ToolProvider,
    context: &ToolListContext,
) -> Result<Vec<Tool>, ToolProviderError> {
    let asked = AssertUnwindSafe(provider.list(context)).catch_unwind();
    asked.await.unwrap_or_else(|_| Err(ToolProviderError::new("it panicked"))).map_err(|error| {
        match (&error.provider, provider.id()) {
            (None, Some(id)) => error.provider(id),
            _ => error,
        }
    })
}

/// What a provider answered, for the effects port. Handlers cannot be written down: a tool that comes from a journal asks the
/// provider for itself when it is really entered, which a replay never does.
struct Listed {
    answer: Result<Vec<Tool>, ToolProviderError>,
    replayed: bool,
}

impl Journaled for Listed {
    fn to_outcome(&self) -> EffectOutcome {
        match &self.answer {
            Ok(tools) => EffectOutcome::Ok(Value::from(tools.iter().map(written).collect::<Array>())),
            Err(error) => EffectOutcome::Err(EffectFailure {
                class: error.name.as_str().into(),
                code: error.provider.as_deref().map(Str::from),
                message: error.message.as_str().into(),
                retryable: true,
            }),
        }
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        let answer = match outcome {
            EffectOutcome::Ok(list) => {
                let rows = list.as_array().cloned().unwrap_or_default();
                rows.iter()
                    .map(read)
                    .collect::<Option<Vec<Tool>>>()
                    .ok_or_else(|| ToolProviderError::new("the list in the journal is unreadable"))
            }
            EffectOutcome::Err(failure) => {
                let mut error = ToolProviderError::new(failure.message.to_string());
                error.name = failure.class.to_string();
                error.provider = failure.code.map(|id| id.to_string());
                Err(error)
            }
        };
        Self { answer, replayed: true }
    }
}

const SCHEMA: &str = "schema";
const META: &str = "meta";
const CHECK_IN: &str = "checkIn";
const CAPABILITIES: &str = "capabilities";
const NEEDS: &str = "needs";
const WANTS: &str = "wants";
const SOURCE: &str = "source";

/// A tool without what cannot be written down.
fn written(tool: &Tool) -> Value {
    let declared = tool.declared();
    let mut out = Object::new();
    out.insert(SCHEMA, tool.schema().recorded().clone());
    out.insert(META, Value::from(declared.to_meta()));
    if declared.check_in.is_some() {
        out.insert(CHECK_IN, Value::from(true));
    }
    if let Some(touched) = &declared.capabilities {
        let words: Array = touched.iter().map(|capability| Value::from(capability.word())).collect();
        out.insert(CAPABILITIES, Value::from(words));
    }
    if let Some(needs) = &declared.needs {
        out.insert(NEEDS, needs.to_value());
    }
    if !declared.wants.is_empty() {
        let wants: Object = declared
            .wants
            .iter()
            .map(|(argument, kind)| (argument.clone(), Value::from(kind.clone())))
            .collect();
        out.insert(WANTS, Value::from(wants));
    }
    if let Some(source) = &declared.source {
        out.insert(SOURCE, Value::from(source.clone()));
    }
    Value::from(out)
}

fn read(row: &Value) -> Option<Tool> {
    let schema = ToolSchema::from_recorded(row.get(SCHEMA)?)?;
    let (mut declared, problems) = ToolDeclarations::read_meta(row.get(META)?.as_object()?);
    if row.get(CHECK_IN).is_some() {
        // The predicate is the provider's own; a doubt goes to the person.
        declared.check_in = Some(CheckIn::try_when(|_, _| Err("its predicate is not in the journal".into())));
    }
    declared.capabilities = row
        .get(CAPABILITIES)
        .and_then(Value::as_array)
        .map(|words| words.iter().filter_map(Value::as_shared_str).map(PermissionCapability::read).collect());
    declared.needs = row.get(NEEDS).and_then(CredentialNeed::read);
    declared.wants = row
        .get(WANTS)
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Object::iter)
        .filter_map(|(argument, kind)| Some((argument.clone(), kind.as_shared_str()?.clone())))
        .collect();
    declared.source = row.get(SOURCE).and_then(Value::as_shared_str).cloned();
    Tool::builder(schema.name().clone())
        .description(schema.description().clone())
        .input_schema(schema.input_schema().clone())
        .name_policy(ToolNamePolicy::Lenient)
        .declarations(declared, problems)
        .handle_with(Unentered)
        .build()
        .ok()
}

/// The handler of a tool nobody may enter before its provider is known.
struct Unentered;

#[async_trait]
impl ToolHandler for Unentered {
    async fn execute(&self, _args: Value, ctx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        Err(ToolFailure::message(format!("`{}` comes from a journal and has no supplier", ctx.tool_name())))
    }
}

/// The handler of a tool that came from a journal and is entered after all: its provider is asked for it.
struct Late {
    provider: Arc<dyn ToolProvider>,
    context: ToolListContext,
    name: Str,
}

#[async_trait]
impl ToolHandler for Late {
    async fn execute(&self, args: Value, ctx: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let tools = list(&*self.provider, &self.context).await?;
        match tools.iter().find(|tool| tool.name() == &*self.name) {
            Some(tool) => tool.call(args, ctx).await,
            None => Err(ToolFailure::message(format!("`{}` is no longer supplied", self.name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    /// Proves HOST-118 for tool lists: what the pipeline asks of a tool survives the journal.
    #[test]
    fn a_list_survives_the_journal() {
        let tool = Tool::builder("send")
            .description("Sends.")
            .input_schema(value!({ "type": "object", "properties": { "to": { "type": "string" } } }))
            .capabilities([PermissionCapability::ExternalNet])
            .needs(CredentialNeed::new("mail").scopes(["send"]))
            .wants("to", "address")
            .source("far")
            .check_in(CheckIn::when(|_, _| false))
            .result_ceiling(50)
            .handler(|_: Value, _| async { "sent" })
            .build()
            .unwrap();
        let listed = Listed { answer: Ok(vec![tool.clone()]), replayed: false };
        let back = Listed::from_outcome(listed.to_outcome());
        assert!(back.replayed);
        let back = back.answer.unwrap().remove(0);
        assert_eq!(written(&back), written(&tool));
        let failed = Listed { answer: Err(ToolProviderError::new("away").provider("far")), replayed: false };
        let back = Listed::from_outcome(failed.to_outcome()).answer.unwrap_err();
        assert_eq!(back.to_string(), "tool provider `far` failed: away");
        let torn = Listed::from_outcome(EffectOutcome::Ok(value!([{ "schema": 7 }]))).answer.unwrap_err();
        assert!(torn.to_string().contains("unreadable"));
    }
}

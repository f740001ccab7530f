//! The manifest of a leg: names only, and absent means not configured (AGT §13).

use agentfootprint_record::events::payload::{
    AgentRunConfigured, AnswerValidationManifest, ArtifactsManifest, LlmManifest,
};
use agentfootprint_record::events::words::{ModelOverride, ReactMode};

use footprint::value::Str;

use super::core::AgentCore;
use super::options::AgentReactMode;

pub(crate) fn manifest(agent: &AgentCore) -> AgentRunConfigured {
    let overrides = agent.configure.is_some().then(|| vec![ModelOverride::Configure]);
    let llm = LlmManifest::new(agent.provider.name(), &agent.model).model_overrides(overrides);
    let mode = match agent.options.react_mode {
        AgentReactMode::Dynamic => ReactMode::Dynamic,
        AgentReactMode::Classic => ReactMode::Classic,
        AgentReactMode::DynamicGrouped => ReactMode::DynamicGrouped,
    };
    let window = agent.window.as_ref().map(|window| Str::from(window.strategy.name()));
    let mut configured = AgentRunConfigured::new(&agent.id, llm, mode, Vec::new()).window(window);
    configured.artifacts = agent.tooling.artifacts.as_ref().map(|options| {
        let mut manifest = ArtifactsManifest::new();
        manifest.placement = options.max_inline_chars().is_some();
        manifest
    });
    configured.answer_validation = agent.answer_validation.as_ref().map(|declared| {
        AnswerValidationManifest::new(declared.id.clone(), declared.version.clone(), declared.mode.as_str())
    });
    configured
}

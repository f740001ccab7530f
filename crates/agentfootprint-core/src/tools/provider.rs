//! Tools that are looked up while the agent runs (TOOL §4).

use std::sync::Arc;

use agentfootprint_record::MemoryIdentity;
use async_trait::async_trait;
use footprint::value::Str;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::tool::Tool;

/// Supplies tools, asked once per iteration.
#[async_trait]
pub trait ToolProvider: Send + Sync {
    /// The id it is recorded under.
    fn id(&self) -> Option<&str> {
        None
    }

    /// The tools of this iteration. Caching them is the provider's business.
    async fn list(&self, ctx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError>;
}

/// What a provider is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolListContext {
    /// The iteration, from 1.
    pub iteration: u32,
    /// The skill the model activated last: `read_skill` and accepted transitions only.
    pub active_skill_id: Option<Str>,
    /// Every active skill, however it was activated.
    pub active_skill_ids: Vec<Str>,
    /// The identity the caller stated.
    pub identity: Option<Arc<MemoryIdentity>>,
    /// Cancelled when the run is.
    pub cancel: CancellationToken,
}

/// A list that could not be had. It fails the run: tools are never silently dropped.
#[derive(Debug, Error)]
#[error("tool provider{} failed: {message}", provider.as_ref().map(|id| format!(" `{id}`")).unwrap_or_default())]
#[non_exhaustive]
pub struct ToolProviderError {
    /// The provider, when it has an id.
    pub provider: Option<String>,
    /// What went wrong.
    pub message: String,
    /// The name of the underlying error's kind.
    pub name: String,
}

impl ToolProviderError {
    /// A failure with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self { provider: None, message: message.into(), name: "ToolProviderError".to_owned() }
    }

    /// Names the provider.
    #[must_use]
    pub fn provider(mut self, id: impl Into<String>) -> Self {
        self.provider = Some(id.into());
        self
    }
}

//! Tools that are looked up while the agent runs (TOOL §4).

mod discovery;
mod shipped;

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::MemoryIdentity;
use async_trait::async_trait;
use footprint::value::Str;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub use self::discovery::{DiscoveryHub, DiscoveryProvider, discovery_provider};
pub use self::shipped::{
    BlankSkillId, GatedTools, SkillScopedTools, StaticTools, gated_tools, skill_scoped_tools, static_tools,
};
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

impl ToolListContext {
    /// A context outside any run, for tests of providers: iteration 1, no skill, nobody named.
    pub fn detached() -> Self {
        Self {
            iteration: 1,
            active_skill_id: None,
            active_skill_ids: Vec::new(),
            identity: None,
            cancel: CancellationToken::new(),
        }
    }

    /// The same with these active skills; the last one counts as the one the model activated last.
    #[must_use]
    pub fn with_active_skills<S: Into<Str>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.active_skill_ids = ids.into_iter().map(Into::into).collect();
        self.active_skill_id = self.active_skill_ids.last().cloned();
        self
    }
}

#[async_trait]
impl<P: ToolProvider + ?Sized> ToolProvider for Arc<P> {
    fn id(&self) -> Option<&str> {
        (**self).id()
    }

    async fn list(&self, ctx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
        (**self).list(ctx).await
    }
}

/// A list that could not be had. It fails the run: tools are never silently dropped.
#[derive(Clone, Debug, Error)]
#[error("tool provider{} failed: {message}", quoted(provider))]
#[non_exhaustive]
pub struct ToolProviderError {
    /// The provider, when it has an id.
    pub provider: Option<String>,
    /// What went wrong.
    pub message: String,
    /// The name of the underlying error's kind.
    pub name: String,
}

fn quoted(id: &Option<String>) -> impl fmt::Display {
    id.as_ref().map(|id| format!(" `{id}`")).unwrap_or_default()
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

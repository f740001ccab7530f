//! Everything around tools that an agent is built with besides the tools themselves.

use std::fmt;
use std::sync::Arc;

use footprint::value::Str;

use super::credentials::CredentialProvider;
use super::middleware::{MessageMiddleware, ToolMiddleware};
use super::people::CheckInOptions;
use super::permission::PermissionChecker;
use super::provider::ToolProvider;
use crate::artifacts::ArtifactOptions;

/// Configured once, read by the dispatch pipeline.
#[derive(Clone, Default)]
pub(crate) struct Tooling {
    pub(crate) credentials: Option<Arc<dyn CredentialProvider>>,
    pub(crate) provider: Option<Arc<dyn ToolProvider>>,
    pub(crate) permission: Option<Arc<dyn PermissionChecker>>,
    pub(crate) tool_middleware: Vec<Arc<dyn ToolMiddleware>>,
    pub(crate) message_middleware: Vec<Arc<dyn MessageMiddleware>>,
    /// What `check_in(..)` said; absent means the defaults.
    pub(crate) check_in: Option<CheckInOptions>,
    /// The artifact store, and how the loop uses it.
    pub(crate) artifacts: Option<ArtifactOptions>,
}

impl Tooling {
    /// Whether a tool provider is set.
    pub(crate) fn has_provider(&self) -> bool {
        self.provider.is_some()
    }

    /// The id under which the tool provider is recorded.
    pub(crate) fn provider_id(&self) -> Option<Str> {
        self.provider.as_ref().and_then(|provider| provider.id()).map(Str::from)
    }
}

impl fmt::Debug for Tooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tooling")
            .field("provider", &self.provider_id())
            .field("permission", &self.permission.as_ref().map(|checker| checker.name().to_owned()))
            .finish_non_exhaustive()
    }
}

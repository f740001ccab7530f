//! Everything around tools that an agent is built with besides the tools themselves.

use std::sync::Arc;

use footprint::value::Str;

use crate::tools::CredentialProvider;

/// Configured once, read by the dispatch pipeline.
#[derive(Clone, Default)]
pub(crate) struct Tooling {
    pub(crate) credentials: Option<Arc<dyn CredentialProvider>>,
}

impl Tooling {
    /// Whether a tool provider is set.
    pub(crate) fn has_provider(&self) -> bool {
        false
    }

    /// The id under which the tool provider is recorded.
    pub(crate) fn provider_id(&self) -> Option<Str> {
        None
    }
}

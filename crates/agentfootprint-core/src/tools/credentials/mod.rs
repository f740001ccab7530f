//! Credentials: who vends them, how a tool gets one, and that they never reach a record (TOOL §9).

mod builtin;
mod port;
mod retry;
mod static_tokens;

use std::sync::Arc;

pub use self::builtin::{ApiKey, Basic, Bearer, HeaderCredential};
pub use self::port::{
    Credential, CredentialError, CredentialHeaders, CredentialProvider, CredentialRequest,
    CredentialResponse, Secret,
};
pub use self::retry::{CredentialRetry, RetryingCredentials, with_credential_retry};
pub use self::static_tokens::{StaticTokens, static_tokens};

/// Told the service and the error of a failed pull.
pub(crate) type FailureListener = Arc<dyn Fn(&str, &CredentialError) + Send + Sync>;

/// The pull side of the port, as a tool sees it.
#[derive(Clone)]
pub struct CredentialAccess {
    provider: Option<Arc<dyn CredentialProvider>>,
    /// Told about a failed pull, so that it is on the record (TOOL-52).
    on_failure: Option<FailureListener>,
}

impl CredentialAccess {
    pub(crate) fn none() -> Self {
        Self { provider: None, on_failure: None }
    }

    pub(crate) fn new(
        provider: Option<Arc<dyn CredentialProvider>>,
        on_failure: Option<FailureListener>,
    ) -> Self {
        Self { provider, on_failure }
    }

    /// Whether a provider is attached.
    pub fn is_attached(&self) -> bool {
        self.provider.is_some()
    }

    /// Asks the provider.
    pub async fn get(&self, request: CredentialRequest) -> Result<CredentialResponse, CredentialError> {
        let service = request.service.clone();
        let answer = match &self.provider {
            Some(provider) => provider.get_credential(request).await,
            None => Err(CredentialError::unattached(&service)),
        };
        if let (Err(error), Some(told)) = (&answer, &self.on_failure) {
            told(&service, error);
        }
        answer
    }
}

impl std::fmt::Debug for CredentialAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CredentialAccess {{ attached: {} }}", self.is_attached())
    }
}

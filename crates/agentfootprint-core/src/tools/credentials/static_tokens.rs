//! Credentials from a map in memory (TOOL-57).

use std::sync::Arc;

use async_trait::async_trait;
use footprint::value::Str;
use indexmap::IndexMap;

use super::builtin::Bearer;
use super::port::{
    Credential, CredentialError, CredentialProvider, CredentialRequest, CredentialResponse, Secret,
};

/// Vends what it was made with; see [`static_tokens`].
#[derive(Clone, Debug, Default)]
pub struct StaticTokens(IndexMap<Str, Arc<dyn Credential>>);

/// A provider of fixed bearer tokens, one per service.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use agentfootprint_core::tools::{CredentialProvider, CredentialRequest, Secret, static_tokens};
/// let tokens = static_tokens([("crm", Secret::new("t0ken"))]);
/// assert!(tokens.get_credential(CredentialRequest::new("crm")).await.is_ok());
/// let unknown = tokens.get_credential(CredentialRequest::new("mail")).await.unwrap_err();
/// assert_eq!(unknown.to_string(), "no credential is configured for service `mail`; configured: crm");
/// # });
/// ```
pub fn static_tokens<S: Into<Str>>(tokens: impl IntoIterator<Item = (S, Secret)>) -> StaticTokens {
    let bearer = |token| Arc::new(Bearer(token)) as Arc<dyn Credential>;
    StaticTokens(tokens.into_iter().map(|(service, token)| (service.into(), bearer(token))).collect())
}

impl StaticTokens {
    /// Adds a credential of another kind.
    #[must_use]
    pub fn with(mut self, service: impl Into<Str>, credential: impl Credential + 'static) -> Self {
        self.0.insert(service.into(), Arc::new(credential));
        self
    }
}

#[async_trait]
impl CredentialProvider for StaticTokens {
    fn id(&self) -> &str {
        "static-tokens"
    }

    async fn get_credential(
        &self,
        request: CredentialRequest,
    ) -> Result<CredentialResponse, CredentialError> {
        match self.0.get(&request.service) {
            Some(credential) => {
                Ok(CredentialResponse::Issued { credential: Arc::clone(credential), expires_at: None })
            }
            None => {
                let known: Vec<&str> = self.0.keys().map(|service| &**service).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let text = format!(
                    "no credential is configured for service `{}`; configured: {known}",
                    request.service
                );
                Err(CredentialError::new(text).class("UnknownService"))
            }
        }
    }
}

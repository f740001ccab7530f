//! The port a credential provider implements.

use std::fmt;
use std::sync::Arc;

use agentfootprint_record::events::words::CredentialMode;
use async_trait::async_trait;
use footprint::value::Str;
use thiserror::Error;

/// A text that must not leak: no serialisation, a redacting `Debug`, wiped when dropped.
pub struct Secret(String);

impl Secret {
    /// Takes the text over.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Reads it; the caller is now responsible for where it goes.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

impl Clone for Secret {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// HTTP headers that carry a credential. The values do not print.
#[derive(Clone, Debug, Default)]
pub struct CredentialHeaders(Vec<(Str, Secret)>);

impl CredentialHeaders {
    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: impl Into<Str>, value: Secret) -> Self {
        self.0.push((name.into(), value));
        self
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

/// A vended credential. It is a trait object on purpose: it cannot be serialised, so it cannot enter state, an
/// event or a tool's output.
pub trait Credential: Send + Sync + fmt::Debug {
    /// What kind it is, such as `bearer`; goes on the record.
    fn kind(&self) -> &str;

    /// The headers that carry it.
    fn to_headers(&self) -> CredentialHeaders;
}

/// What a tool asks for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CredentialRequest {
    /// The service.
    pub service: Str,
    /// Scopes.
    pub scopes: Option<Vec<Str>>,
    /// For whom.
    pub mode: CredentialMode,
    /// The tenant the caller stated.
    pub tenant: Option<Str>,
    /// The principal the caller stated.
    pub principal: Option<Str>,
    /// A proof of the user; never filled by the framework.
    pub user_token: Option<Secret>,
    /// Asks for fresh consent.
    pub force_reauth: bool,
}

impl CredentialRequest {
    /// A machine credential for a service.
    pub fn new(service: impl Into<Str>) -> Self {
        Self {
            service: service.into(),
            scopes: None,
            mode: CredentialMode::Machine,
            tenant: None,
            principal: None,
            user_token: None,
            force_reauth: false,
        }
    }
}

/// What a provider answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CredentialResponse {
    /// Here it is.
    Issued {
        /// The credential.
        credential: Arc<dyn Credential>,
        /// When it ends, Unix seconds.
        expires_at: Option<u64>,
    },
    /// A person must consent at this address first. The address is itself a secret.
    AuthorizationRequired {
        /// Where to consent.
        authorization_url: Secret,
        /// What the consent is filed under.
        session_id: Str,
    },
}

/// A credential that could not be vended. Its text reaches the model and the record: it names operation, status and
/// class, never response content (TOOL-55).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct CredentialError {
    /// What went wrong.
    pub reason: String,
    /// The class of the error.
    pub class: Option<Str>,
}

impl CredentialError {
    /// A failure with this reason; it must not contain a secret.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), class: None }
    }

    /// Names the class of the error.
    #[must_use]
    pub fn class(mut self, class: impl Into<Str>) -> Self {
        self.class = Some(class.into());
        self
    }

    pub(crate) fn unattached(service: &str) -> Self {
        Self::new(format!(
            "no credential provider is attached, so `{service}` has no credential: give the agent one with \
             `.credentials(..)`"
        ))
        .class("NoCredentialProvider")
    }
}

/// Vends credentials.
#[async_trait]
pub trait CredentialProvider: Send + Sync {
    /// The provider's id.
    fn id(&self) -> &str;

    /// Vends one, or says that a person must consent first.
    async fn get_credential(&self, request: CredentialRequest)
    -> Result<CredentialResponse, CredentialError>;
}

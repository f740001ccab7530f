//! How a caller proves who it is: with a Bedrock API key, or by signing with AWS credentials.

use std::fmt;
use std::sync::Arc;

use agentfootprint_core::llm::{CallCx, LlmError, LlmErrorKind};
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use secrecy::SecretString;

use crate::Key;
use crate::credential::key_for;
use crate::http::Scene;
use crate::key::Redactor;

/// Where the proof comes from.
#[derive(Clone)]
pub(crate) enum Auth {
    Key(Key),
    Credentials(Arc<dyn ProvideCredentials>),
    /// AWS's default chain, set up at the first call: constructing a provider looks at nothing.
    #[cfg(feature = "bedrock-config")]
    Chain {
        region: String,
        chain: Arc<tokio::sync::OnceCell<Arc<dyn ProvideCredentials>>>,
    },
}

/// The proof of one call.
pub(crate) enum Proof {
    Bearer(SecretString),
    Signature(Credentials),
}

impl Auth {
    pub(crate) async fn resolve(&self, scene: &Scene, cx: &CallCx) -> Result<Proof, LlmError> {
        let provided = async {
            match self {
                Auth::Key(_) => None,
                Auth::Credentials(provider) => Some(provider.provide_credentials().await),
                #[cfg(feature = "bedrock-config")]
                Auth::Chain { region, chain } => {
                    let provider = chain.get_or_init(|| default_chain(region.clone())).await;
                    Some(provider.provide_credentials().await)
                }
            }
        };
        if let Auth::Key(key) = self {
            let key = key_for(key, scene, cx, "AWS_BEARER_TOKEN_BEDROCK").await?;
            let missing =
                || scene.error(LlmErrorKind::NoCredential, "Bedrock needs a key; give one with .key(…)");
            return key.map(Proof::Bearer).ok_or_else(missing);
        }
        let provided = tokio::select! {
            biased;
            () = cx.cancelled() => return Err(scene.aborted()),
            provided = provided => provided,
        };
        match provided {
            Some(Ok(credentials)) => Ok(Proof::Signature(credentials)),
            Some(Err(error)) => {
                let message = format!(
                    "no AWS credentials could be had ({error}); set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and \
                     AWS_SECRET_ACCESS_KEY, or check the profile or role"
                );
                Err(scene.error(LlmErrorKind::NoCredential, message))
            }
            None => Err(scene.error(LlmErrorKind::NoCredential, "no AWS credentials are set up")),
        }
    }
}

#[cfg(feature = "bedrock-config")]
async fn default_chain(region: String) -> Arc<dyn ProvideCredentials> {
    let region = aws_config::Region::new(region);
    let chain = aws_config::default_provider::credentials::DefaultCredentialsChain::builder().region(region);
    Arc::new(chain.build().await)
}

impl Proof {
    /// What must not appear in any text: the key, or the secret and the session token. The id of an access key is no
    /// secret and helps to find out whose it is.
    pub(crate) fn redactor(&self) -> Redactor {
        match self {
            Proof::Bearer(key) => Redactor::of(Some(key)),
            Proof::Signature(credentials) => {
                let secrets = [Some(credentials.secret_access_key()), credentials.session_token()];
                Redactor::of_all(secrets.into_iter().flatten().map(SecretString::from))
            }
        }
    }
}

/// The kind, never a value.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Auth::Key(key) => key.fmt(f),
            Auth::Credentials(_) => f.write_str("AWS credentials"),
            #[cfg(feature = "bedrock-config")]
            Auth::Chain { .. } => f.write_str("AWS default chain"),
        }
    }
}

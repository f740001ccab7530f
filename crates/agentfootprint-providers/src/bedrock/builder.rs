use std::borrow::Cow;
use std::sync::Arc;

use agentfootprint_core::llm::{LlmError, LlmErrorKind, ThinkingMode, Vendor};
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use footprint::value::Value;

use super::Bedrock;
use super::credentials::Auth;
use super::request::Settings;
use crate::address::read_address;
use crate::http::{Bounds, Deadlines, HttpExchange, Identity, ReqwestExchange, Transport, check_limits};
use crate::ids::InventedIds;
use crate::{EnvVars, Key, MalformedArgs};

const DEFAULT_MODEL: &str = "anthropic.claude-sonnet-4-5-20250929-v1:0";
const DEFAULT_MAX_TOKENS: u64 = 4096;

const KEY_HINT: &str = "check the credentials (AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and \
     AWS_SECRET_ACCESS_KEY, or the profile or role behind them), that they have not expired, and that they may call \
     bedrock:InvokeModel for this model in this region";
const ADDRESS_HINT: &str = "check region (AWS_REGION) and endpoint (AWS_ENDPOINT_URL_BEDROCK_RUNTIME), and that the model is offered there";

/// Builds a [`Bedrock`]. Nothing is sent and no credential is asked for here.
///
/// ```
/// use agentfootprint_core::llm::LlmProvider;
/// use agentfootprint_providers::Bedrock;
///
/// let bedrock = Bedrock::builder().region("eu-central-1").key("a Bedrock API key").build()?;
/// assert_eq!(bedrock.name(), "bedrock");
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct BedrockBuilder {
    name: Option<String>,
    env: EnvVars,
    key: Option<Key>,
    credentials: Option<Arc<dyn ProvideCredentials>>,
    region: Option<String>,
    endpoint: Option<String>,
    default_model: Option<String>,
    no_max_tokens: bool,
    settings: Settings,
    no_streaming: bool,
    malformed_args: MalformedArgs,
    deadlines: Deadlines,
    bounds: Bounds,
    exchange: Option<Arc<dyn HttpExchange>>,
}

impl std::fmt::Debug for BedrockBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BedrockBuilder")
            .field("region", &self.region)
            .field("key", &self.key)
            .field("credentials", &self.credentials.is_some())
            .finish_non_exhaustive()
    }
}

impl BedrockBuilder {
    /// The recorded name; `bedrock`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The region; without it `AWS_REGION` or `AWS_DEFAULT_REGION` is read.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// A Bedrock API key, sent as bearer token. Without it `AWS_BEARER_TOKEN_BEDROCK` is read.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Signs requests with these AWS credentials: a value, or anything that provides them, for instance the chain of
    /// the crate `aws-config`. They are asked for once per request.
    pub fn credentials(mut self, provider: impl ProvideCredentials + 'static) -> Self {
        self.credentials = Some(Arc::new(provider));
        self
    }

    /// Another address of the runtime, for instance a VPC endpoint. Without it `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` is
    /// read, and without that it is the region's own.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// What the shorthand `bedrock` means; `anthropic.claude-sonnet-4-5-20250929-v1:0` unless set.
    pub fn default_model(mut self, model: impl Into<String>) -> Self {
        self.default_model = Some(model.into());
        self
    }

    /// The limit of an answer when a request states none; 4096 unless set. `None` leaves it to the model.
    pub fn max_tokens(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.settings.max_tokens = tokens.into();
        self.no_max_tokens = self.settings.max_tokens.is_none();
        self
    }

    /// How the model is asked to think, where its id hides that it is a Claude.
    pub fn thinking_mode(mut self, mode: ThinkingMode) -> Self {
        self.settings.thinking_mode = Some(mode);
        self
    }

    /// Whether the model takes cache points; told by its id unless declared.
    pub fn prompt_caching(mut self, on: bool) -> Self {
        self.settings.prompt_caching = Some(on);
        self
    }

    /// Puts a guardrail around every call.
    pub fn guardrail(mut self, id: impl Into<String>, version: impl Into<String>) -> Self {
        self.settings.guardrail = Some((id.into(), version.into()));
        self
    }

    /// Fields of the model's own, sent as `additionalModelRequestFields` with every request.
    pub fn additional_fields(mut self, fields: Value) -> Self {
        self.settings.additional_fields = Some(fields);
        self
    }

    /// Switches streaming off, for models that cannot call tools while they stream.
    pub fn streaming(mut self, on: bool) -> Self {
        self.no_streaming = !on;
        self
    }

    /// What to do with tool calls whose arguments cannot be read.
    pub fn malformed_args(mut self, policy: MalformedArgs) -> Self {
        self.malformed_args = policy;
        self
    }

    /// How long each phase may take.
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// How much of an answer is read.
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Where settings from the environment are read; the process's own unless given.
    pub fn env(mut self, env: EnvVars) -> Self {
        self.env = env;
        self
    }

    /// Sends requests through something else than the network.
    pub fn exchange(mut self, exchange: Arc<dyn HttpExchange>) -> Self {
        self.exchange = Some(exchange);
        self
    }

    /// The provider. Opens no socket and asks for no credential.
    ///
    /// # Errors
    /// When a setting is missing or can never work; the message names the option and the variable.
    pub fn build(self) -> Result<Bedrock, LlmError> {
        let adapter = self.name.clone().map_or(Cow::Borrowed("bedrock"), Cow::Owned);
        self.checked()
            .map_err(|(kind, message)| LlmError::new(kind, adapter, message).with_vendor(Vendor::Bedrock))
    }

    fn checked(mut self) -> Result<Bedrock, (LlmErrorKind, String)> {
        let refuse = |message: String| (LlmErrorKind::Refused, message);
        check_limits(&self.deadlines, &self.bounds).map_err(refuse)?;
        if self.settings.max_tokens == Some(0) {
            return Err(refuse("max_tokens is zero; leave it unset or give a positive number".into()));
        }
        if self.settings.additional_fields.as_ref().is_some_and(|fields| fields.as_object().is_none()) {
            return Err(refuse("additional_fields must be an object".into()));
        }
        let given = self.region.clone().filter(|region| !region.trim().is_empty());
        let region = given.or_else(|| Some(self.env.first(&["AWS_REGION", "AWS_DEFAULT_REGION"])?.1));
        let region = region.ok_or_else(|| {
            refuse("Bedrock needs a region: give it with .region(…) or set AWS_REGION".into())
        })?;
        let is_region = |region: &str| region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !is_region(&region) {
            return Err(refuse("region (AWS_REGION) is no AWS region; write it like us-east-1".into()));
        }
        let auth = self.find_auth(&region)?;
        let endpoint = self.endpoint.clone().map(|url| ("endpoint", url));
        let endpoint = endpoint.or_else(|| self.env.first(&["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]));
        let (option, endpoint) = endpoint
            .unwrap_or_else(|| ("region", format!("https://bedrock-runtime.{region}.{}", suffix(&region))));
        let endpoint = read_address(option, &endpoint).map_err(refuse)?;
        if self.settings.max_tokens.is_none() && !self.no_max_tokens {
            self.settings.max_tokens = Some(DEFAULT_MAX_TOKENS);
        }
        let exchange = match self.exchange {
            Some(exchange) => exchange,
            None => Arc::new(
                ReqwestExchange::new(self.deadlines.connect)
                    .map_err(|fault| refuse(format!("the HTTP client cannot be set up: {fault}")))?,
            ),
        };
        let name = self.name.unwrap_or_else(|| "bedrock".to_owned());
        Ok(Bedrock {
            identity: Identity {
                adapter: Cow::Owned(name.clone()),
                vendor: Vendor::Bedrock,
                key_hint: KEY_HINT,
                address_hint: ADDRESS_HINT,
            },
            name,
            auth,
            region,
            endpoint,
            default_model: self.default_model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            settings: self.settings,
            streams: !self.no_streaming,
            malformed_args: self.malformed_args,
            transport: Transport { exchange, deadlines: self.deadlines, bounds: self.bounds },
            ids: Arc::new(InventedIds::new("bedrock")),
        })
    }

    fn find_auth(&self, region: &str) -> Result<Auth, (LlmErrorKind, String)> {
        match (&self.key, &self.credentials) {
            (Some(_), Some(_)) => {
                let message = "both .key(…) and .credentials(…) are given; only one can prove who is calling";
                return Err((LlmErrorKind::Refused, message.to_owned()));
            }
            (Some(key), None) => return Ok(Auth::Key(key.clone())),
            (None, Some(credentials)) => return Ok(Auth::Credentials(credentials.clone())),
            (None, None) => {}
        }
        if let Some(key) = self.env.get("AWS_BEARER_TOKEN_BEDROCK") {
            return Ok(Auth::Key(Key::from(key)));
        }
        if let (Some(id), Some(secret)) =
            (self.env.get("AWS_ACCESS_KEY_ID"), self.env.get("AWS_SECRET_ACCESS_KEY"))
        {
            let token = self.env.get("AWS_SESSION_TOKEN");
            let credentials = Credentials::new(id, secret, token, None, "environment");
            return Ok(Auth::Credentials(Arc::new(credentials)));
        }
        no_credential(region)
    }
}

#[cfg(feature = "bedrock-config")]
fn no_credential(region: &str) -> Result<Auth, (LlmErrorKind, String)> {
    Ok(Auth::Chain { region: region.to_owned(), chain: Arc::default() })
}

#[cfg(not(feature = "bedrock-config"))]
fn no_credential(_region: &str) -> Result<Auth, (LlmErrorKind, String)> {
    let message = "there are no credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, or give .key(…) or .credentials(…); for profiles, SSO and roles build with the feature \
         `bedrock-config`";
    Err((LlmErrorKind::NoCredential, message.to_owned()))
}

/// The domain of a region's partition.
fn suffix(region: &str) -> &'static str {
    if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" }
}

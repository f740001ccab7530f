use std::borrow::Cow;
use std::sync::Arc;

use agentfootprint_core::llm::{LlmError, LlmErrorKind, Vendor};
use url::Url;

use super::request::Dialect;
use super::{OpenAi, Target, base_url};
use crate::http::{Bounds, Deadlines, HttpExchange, Identity, ReqwestExchange, Transport, check_limits};
use crate::ids::InventedIds;
use crate::{EnvVars, Key, MalformedArgs};

const DEFAULT_MODEL: &str = "gpt-4o-mini";

const OPENAI_KEY_HINT: &str = "check the key given with .key(…) or in OPENAI_API_KEY, and what it may do";
const OPENAI_ADDRESS_HINT: &str = "check that the server is running and that base_url (or OPENAI_BASE_URL) is the vendor's \
     documented address, for most servers one that ends in /v1";
const AZURE_KEY_HINT: &str =
    "check the key given with .key(…) or in AZURE_OPENAI_API_KEY, and the role it has";
const AZURE_ADDRESS_HINT: &str = "check endpoint (AZURE_OPENAI_ENDPOINT), deployment (AZURE_OPENAI_DEPLOYMENT) and api_version \
     (AZURE_OPENAI_API_VERSION)";

/// Builds an [`OpenAi`]. Settings that can never work are refused by [`OpenAiBuilder::build`]; nothing is sent and no
/// key callback is asked there.
///
/// ```
/// use agentfootprint_providers::OpenAi;
///
/// let local = OpenAi::builder()
///     .base_url("http://localhost:8080/v1")
///     .without_key()
///     .name("llama-server")
///     .forced_tool_choice(true)
///     .build()?;
/// # let _ = local;
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct OpenAiBuilder {
    name: Option<String>,
    env: EnvVars,
    /// Take the address and the organization from the environment too, not only the key.
    address_from_env: bool,
    azure: bool,
    key: Option<Key>,
    api_key_header: Option<bool>,
    base_url: Option<String>,
    organization: Option<String>,
    deployment: Option<String>,
    api_version: Option<String>,
    default_model: Option<String>,
    legacy: Option<bool>,
    forced_tool_choice: Option<bool>,
    structured_output: Option<bool>,
    reports_usage: Option<bool>,
    no_streaming: bool,
    dialect: Dialect,
    malformed_args: MalformedArgs,
    deadlines: Deadlines,
    bounds: Bounds,
    exchange: Option<Arc<dyn HttpExchange>>,
}

impl std::fmt::Debug for OpenAiBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiBuilder")
            .field("azure", &self.azure)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl OpenAiBuilder {
    pub(super) fn azure() -> Self {
        OpenAiBuilder { azure: true, ..OpenAiBuilder::default() }
    }

    pub(super) fn address_from_env(mut self) -> Self {
        self.address_from_env = true;
        self
    }

    /// The recorded name; `openai`, or `azure-openai`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Where the key comes from. Without one, `OPENAI_API_KEY` is read (for Azure `AZURE_OPENAI_API_KEY` first).
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The server needs no key.
    pub fn without_key(self) -> Self {
        self.key(Key::Absent)
    }

    /// Sends the key in an `api-key` header instead of as a bearer token.
    pub fn api_key_header(mut self, on: bool) -> Self {
        self.api_key_header = Some(on);
        self
    }

    /// The address of a compatible server, without `/chat/completions`. For Azure: the resource's endpoint.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Azure's endpoint; the same setting as [`OpenAiBuilder::base_url`].
    pub fn endpoint(self, endpoint: impl Into<String>) -> Self {
        self.base_url(endpoint)
    }

    /// Azure's deployment; also what the shorthands `azure`, `azure-openai` and `openai` mean.
    pub fn deployment(mut self, deployment: impl Into<String>) -> Self {
        self.deployment = Some(deployment.into());
        self
    }

    /// Azure's API version, for instance `2024-10-21`.
    pub fn api_version(mut self, version: impl Into<String>) -> Self {
        self.api_version = Some(version.into());
        self
    }

    /// Bills an organization.
    pub fn organization(mut self, organization: impl Into<String>) -> Self {
        self.organization = Some(organization.into());
        self
    }

    /// What the shorthand `openai` means; `gpt-4o-mini` unless set.
    pub fn default_model(mut self, model: impl Into<String>) -> Self {
        self.default_model = Some(model.into());
        self
    }

    /// The limit of an answer when a request states none.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.dialect.max_tokens = Some(tokens);
        self
    }

    /// Says `max_tokens` instead of `max_completion_tokens` and does not ask for stream usage. On for custom base
    /// URLs unless switched off.
    pub fn legacy_endpoint(mut self, on: bool) -> Self {
        self.legacy = Some(on);
        self
    }

    /// Says that the models reason, for deployments whose names hide it. Ids like `o3-mini` are recognised.
    pub fn reasoning(mut self, on: bool) -> Self {
        self.dialect.reasoning = Some(on);
        self
    }

    /// How hard reasoning models think: sent as `reasoning_effort`.
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.dialect.reasoning_effort = Some(effort.into());
        self
    }

    /// Gives the model its own earlier reasoning back as `reasoning_content`, as DeepSeek asks for in tool loops.
    pub fn replay_reasoning(mut self, on: bool) -> Self {
        self.dialect.replay_reasoning = on;
        self
    }

    /// Whether the model may ask for several tools at once.
    pub fn parallel_tool_calls(mut self, on: bool) -> Self {
        self.dialect.parallel_tool_calls = Some(on);
        self
    }

    /// Whether the endpoint can hold an answer to a JSON schema (`response_format`). The official one can; a compatible one
    /// has to be declared.
    pub fn structured_output(mut self, on: bool) -> Self {
        self.structured_output = Some(on);
        self
    }

    /// Declares that one tool can be forced; for custom base URLs this is off unless declared.
    pub fn forced_tool_choice(mut self, on: bool) -> Self {
        self.forced_tool_choice = Some(on);
        self
    }

    /// Declares that usage is reported, streamed or not; for custom base URLs this is off unless declared. It also
    /// asks for the usage frame of a stream.
    pub fn reports_usage(mut self, on: bool) -> Self {
        self.reports_usage = Some(on);
        self
    }

    /// Switches streaming off, for endpoints that ignore `stream`.
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

    /// The provider. Opens no socket and asks no key callback.
    ///
    /// # Errors
    /// When a setting is missing or can never work; the message names the option and the variable.
    pub fn build(self) -> Result<OpenAi, LlmError> {
        let identity = self.identity();
        self.checked().map_err(|(kind, message)| {
            LlmError::new(kind, identity.adapter.clone(), message).with_vendor(identity.vendor)
        })
    }

    fn identity(&self) -> Identity {
        let (adapter, vendor, key_hint, address_hint) = if self.azure {
            ("azure-openai", Vendor::AzureOpenAi, AZURE_KEY_HINT, AZURE_ADDRESS_HINT)
        } else {
            ("openai", Vendor::OpenAi, OPENAI_KEY_HINT, OPENAI_ADDRESS_HINT)
        };
        let adapter = self.name.clone().map_or(Cow::Borrowed(adapter), Cow::Owned);
        Identity { adapter, vendor, key_hint, address_hint }
    }

    fn checked(self) -> Result<OpenAi, (LlmErrorKind, String)> {
        let identity = self.identity();
        let refuse = |message: String| (LlmErrorKind::Refused, message);
        self.check_limits().map_err(refuse)?;
        let key = self.find_key()?;
        let target = self.find_target().map_err(refuse)?;
        let official = match &target {
            Target::Chat { url } => base_url::is_official(url),
            Target::Azure { .. } => true,
        };
        let mut dialect = self.dialect;
        dialect.legacy = self.legacy.unwrap_or(!official);
        dialect.stream_usage = self.reports_usage.unwrap_or(!dialect.legacy);
        dialect.forced_tool_choice = self.forced_tool_choice.unwrap_or(official);
        dialect.output_schema = self.structured_output.unwrap_or(official);
        let exchange = match self.exchange {
            Some(exchange) => exchange,
            None => Arc::new(
                ReqwestExchange::new(self.deadlines.connect)
                    .map_err(|fault| refuse(format!("the HTTP client cannot be set up: {fault}")))?,
            ),
        };
        let organization = self.organization.or_else(|| {
            let names = ["OPENAI_ORGANIZATION", "OPENAI_ORG_ID"];
            self.address_from_env.then(|| self.env.first(&names)).flatten().map(|(_, value)| value)
        });
        Ok(OpenAi {
            name: identity.adapter.clone().into_owned(),
            key,
            api_key_header: self.api_key_header.unwrap_or(self.azure),
            organization,
            default_model: self.default_model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            target,
            dialect,
            reports_usage: self.reports_usage.unwrap_or(official),
            streams: !self.no_streaming,
            malformed_args: self.malformed_args,
            transport: Transport { exchange, deadlines: self.deadlines, bounds: self.bounds },
            identity,
            ids: Arc::new(InventedIds::new("openai")),
        })
    }

    fn check_limits(&self) -> Result<(), String> {
        check_limits(&self.deadlines, &self.bounds)?;
        if self.dialect.max_tokens == Some(0) {
            return Err("max_tokens is zero; leave it unset or give a positive number".to_owned());
        }
        Ok(())
    }

    fn find_key(&self) -> Result<Key, (LlmErrorKind, String)> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        let names: &[&str] =
            if self.azure { &["AZURE_OPENAI_API_KEY", "OPENAI_API_KEY"] } else { &["OPENAI_API_KEY"] };
        if let Some((_, key)) = self.env.first(names) {
            return Ok(Key::from(key));
        }
        let message = format!(
            "there is no API key: set {} or give one with .key(…); for a server that needs none, call .without_key() or \
             set the variable to any value",
            names.join(" or ")
        );
        Err((LlmErrorKind::NoCredential, message))
    }

    fn find_target(&self) -> Result<Target, String> {
        if !self.azure {
            let given = self.base_url.clone().map(|url| ("base_url", url));
            let found = given
                .or_else(|| self.address_from_env.then(|| self.env.first(&["OPENAI_BASE_URL"])).flatten());
            let (option, text) = found.unwrap_or(("base_url", base_url::OFFICIAL.to_owned()));
            return Ok(Target::Chat { url: base_url::chat_completions(&base_url::read(option, &text)?) });
        }
        let endpoint =
            self.azure_setting(&self.base_url, "endpoint", &["AZURE_OPENAI_ENDPOINT", "OPENAI_BASE_URL"])?;
        let deployment =
            self.azure_setting(&self.deployment, "deployment", &["AZURE_OPENAI_DEPLOYMENT", "MODEL_NAME"])?;
        let api_version =
            self.azure_setting(&self.api_version, "api_version", &["AZURE_OPENAI_API_VERSION"])?;
        let endpoint: Url = base_url::read("endpoint", &endpoint)?;
        Ok(Target::Azure { endpoint, deployment, api_version })
    }

    fn azure_setting(
        &self,
        given: &Option<String>,
        option: &str,
        variables: &[&str],
    ) -> Result<String, String> {
        let given = given.clone().filter(|value| !value.trim().is_empty());
        given.or_else(|| self.env.first(variables).map(|(_, value)| value)).ok_or_else(|| {
            format!("Azure needs {option}: give it with .{option}(…) or set {}", variables.join(" or "))
        })
    }
}

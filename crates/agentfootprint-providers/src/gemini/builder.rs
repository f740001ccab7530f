use std::borrow::Cow;
use std::sync::Arc;

use agentfootprint_core::llm::{LlmError, LlmErrorKind, Vendor};

use super::request::Dialect;
use super::{Gemini, INVENTED, Target};
use crate::http::{Bounds, Deadlines, HttpExchange, Identity, ReqwestExchange, Transport, check_limits};
use crate::ids::InventedIds;
use crate::{EnvVars, Key, MalformedArgs};

const KEY_HINT: &str =
    "check the key given with .key(…) or in GEMINI_API_KEY or GOOGLE_API_KEY, and what it may do";
const TOKEN_HINT: &str = "check the token given with .access_token(…), and the role of its account in the project (roles/aiplatform.user)";
const KEY_ADDRESS_HINT: &str = "check the model id and base_url; for the vendor itself leave base_url out";
const VERTEX_ADDRESS_HINT: &str = "check the model id, project (GOOGLE_CLOUD_PROJECT), location (GOOGLE_CLOUD_LOCATION) \
     and whether the location offers the model";
/// Where every model is offered.
const DEFAULT_LOCATION: &str = "global";

/// Builds a [`Gemini`]. Settings that can never work are refused by [`GeminiBuilder::build`]; nothing is sent and no key
/// callback is asked there.
///
/// ```
/// use agentfootprint_providers::Gemini;
///
/// let thinking_aloud = Gemini::builder().key("…").include_thoughts(true).default_model("gemini-2.5-pro").build()?;
/// # let _ = thinking_aloud;
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct GeminiBuilder {
    name: Option<String>,
    env: EnvVars,
    key: Option<Key>,
    vertex: bool,
    project: Option<String>,
    location: Option<String>,
    access_token: Option<Key>,
    api_version: Option<String>,
    base_url: Option<String>,
    default_model: Option<String>,
    dialect: Dialect,
    no_streaming: bool,
    malformed_args: MalformedArgs,
    deadlines: Deadlines,
    bounds: Bounds,
    exchange: Option<Arc<dyn HttpExchange>>,
}

impl std::fmt::Debug for GeminiBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GeminiBuilder")
            .field("key", &self.key)
            .field("project", &self.project)
            .field("access_token", &self.access_token)
            .finish_non_exhaustive()
    }
}

impl GeminiBuilder {
    /// The recorded name; `gemini`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Opens the Gemini API with this key. Without any option, `GEMINI_API_KEY` or `GOOGLE_API_KEY` is read.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The endpoint needs no key, for instance a local gateway that has its own.
    pub fn without_key(self) -> Self {
        self.key(Key::Absent)
    }

    /// Opens Vertex AI; project, and location unless `global`, are then given or read from `GOOGLE_CLOUD_PROJECT` and
    /// `GOOGLE_CLOUD_LOCATION`.
    pub fn vertex(mut self, on: bool) -> Self {
        self.vertex = on;
        self
    }

    /// Opens Vertex AI in this project.
    pub fn project(mut self, project: impl Into<String>) -> Self {
        self.project = Some(project.into());
        self
    }

    /// Where Vertex AI serves, for instance `us-central1`; `GOOGLE_CLOUD_LOCATION`, else `global`.
    pub fn location(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// Where the access token for Vertex AI comes from: usually [`Key::provider`], because tokens live for an hour.
    pub fn access_token(mut self, token: impl Into<Key>) -> Self {
        self.access_token = Some(token.into());
        self
    }

    /// Pins the API version; `v1beta`, on Vertex AI `v1beta1`.
    pub fn api_version(mut self, version: impl Into<String>) -> Self {
        self.api_version = Some(version.into());
        self
    }

    /// The address of a proxy, with or without its version.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// What the shorthand `gemini` means. Without it the shorthand means `gemini-2.5-flash` on Vertex AI, and nothing
    /// with an API key.
    pub fn default_model(mut self, model: impl Into<String>) -> Self {
        self.default_model = Some(model.into());
        self
    }

    /// The limit of an answer when a request states none.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.dialect.max_tokens = Some(tokens);
        self
    }

    /// Asks for summaries of the thoughts.
    pub fn include_thoughts(mut self, on: bool) -> Self {
        self.dialect.include_thoughts = on;
        self
    }

    /// How hard models think that take a level (`low`, `medium`, `high`) instead of a budget.
    pub fn thinking_level(mut self, level: impl Into<String>) -> Self {
        self.dialect.thinking_level = Some(level.into());
        self
    }

    /// Switches streaming off.
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
    pub fn build(self) -> Result<Gemini, LlmError> {
        let adapter = self.name.clone().map_or(Cow::Borrowed("gemini"), Cow::Owned);
        let shown = adapter.clone();
        self.checked(adapter)
            .map_err(|(kind, message)| LlmError::new(kind, shown, message).with_vendor(Vendor::Gemini))
    }

    fn checked(self, adapter: Cow<'static, str>) -> Result<Gemini, (LlmErrorKind, String)> {
        let refuse = |message: String| (LlmErrorKind::Refused, message);
        check_limits(&self.deadlines, &self.bounds).map_err(refuse)?;
        if self.dialect.max_tokens == Some(0) {
            return Err(refuse("max_tokens is zero; leave it unset or give a positive number".to_owned()));
        }
        let (target, key) = self.door()?;
        let (key_hint, address_hint) = match &target {
            Target::Key { .. } => (KEY_HINT, KEY_ADDRESS_HINT),
            Target::Vertex { .. } => (TOKEN_HINT, VERTEX_ADDRESS_HINT),
        };
        let exchange = match self.exchange {
            Some(exchange) => exchange,
            None => Arc::new(
                ReqwestExchange::new(self.deadlines.connect)
                    .map_err(|fault| refuse(format!("the HTTP client cannot be set up: {fault}")))?,
            ),
        };
        Ok(Gemini {
            name: adapter.clone().into_owned(),
            identity: Identity { adapter, vendor: Vendor::Gemini, key_hint, address_hint },
            key,
            target,
            default_model: self.default_model,
            dialect: self.dialect,
            streams: !self.no_streaming,
            malformed_args: self.malformed_args,
            transport: Transport { exchange, deadlines: self.deadlines, bounds: self.bounds },
            ids: Arc::new(InventedIds::new(INVENTED)),
        })
    }

    /// Which door, and what opens it. An option decides before any variable does.
    fn door(&self) -> Result<(Target, Key), (LlmErrorKind, String)> {
        let refuse = |message: String| (LlmErrorKind::Refused, message);
        let asks_for_vertex = self.vertex || self.project.is_some() || self.access_token.is_some();
        if asks_for_vertex && self.key.is_some() {
            return Err(refuse(
                "an API key and settings of Vertex AI are given; they open different doors, take one of them out"
                    .to_owned(),
            ));
        }
        let key_in_env =
            || self.env.first(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]).map(|(_, key)| Key::from(key));
        let (base_url, version) = (self.base_url.as_deref(), self.api_version.as_deref());
        if !asks_for_vertex && let Some(key) = self.key.clone().or_else(key_in_env) {
            return Ok((Target::key(base_url, version).map_err(refuse)?, key));
        }
        let project = self.project.clone().filter(|project| !project.trim().is_empty());
        let Some(project) = project.or_else(|| self.env.get("GOOGLE_CLOUD_PROJECT")) else {
            let message = if asks_for_vertex {
                "Vertex AI needs a project: give it with .project(…) or set GOOGLE_CLOUD_PROJECT"
            } else {
                "there is neither an API key nor a project: for the Gemini API set GEMINI_API_KEY or GOOGLE_API_KEY, or \
                 give a key with .key(…); for Vertex AI give .project(…) and .access_token(…)"
            };
            let kind = if asks_for_vertex { LlmErrorKind::Refused } else { LlmErrorKind::NoCredential };
            return Err((kind, message.to_owned()));
        };
        let Some(token) = self.access_token.clone() else {
            let message = "Vertex AI needs an access token: give its source with .access_token(…), for instance a \
                           Key::provider that asks the Application Default Credentials";
            return Err((LlmErrorKind::NoCredential, message.to_owned()));
        };
        let location = self.location.clone().filter(|location| !location.trim().is_empty());
        let location = location
            .or_else(|| self.env.get("GOOGLE_CLOUD_LOCATION"))
            .unwrap_or_else(|| DEFAULT_LOCATION.to_owned());
        Ok((Target::vertex(base_url, version, project, location).map_err(refuse)?, token))
    }
}

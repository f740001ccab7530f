use std::borrow::Cow;
use std::sync::Arc;

use agentfootprint_core::llm::{LlmError, LlmErrorKind, ThinkingMode, Vendor};
use reqwest::header::HeaderValue;
use url::Url;

use super::{Anthropic, Settings};
use crate::address::read_address;
use crate::http::{Bounds, Deadlines, HttpExchange, Identity, ReqwestExchange, Transport, check_limits};
use crate::ids::InventedIds;
use crate::{EnvVars, Key, MalformedArgs};

const OFFICIAL: &str = "https://api.anthropic.com";
const DEFAULT_MODEL: &str = "claude-sonnet-4-5-20250929";
/// The wire insists on a limit.
pub(super) const DEFAULT_MAX_TOKENS: u64 = 4096;

const KEY_HINT: &str = "check the key given with .key(…) or in ANTHROPIC_API_KEY, and what it may do";
const ADDRESS_HINT: &str = "check base_url (or ANTHROPIC_BASE_URL); it is the address without /v1/messages, for the vendor itself \
     https://api.anthropic.com";

/// Builds an [`Anthropic`]. Settings that can never work are refused by [`AnthropicBuilder::build`]; nothing is sent and
/// no key callback is asked there.
///
/// ```
/// use agentfootprint_providers::Anthropic;
///
/// let through_a_gateway = Anthropic::builder()
///     .base_url("http://localhost:4000")
///     .key("gateway-key")
///     .bearer_header(true)
///     .build()?;
/// # let _ = through_a_gateway;
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct AnthropicBuilder {
    name: Option<String>,
    env: EnvVars,
    /// Take the address from the environment too, not only the key.
    address_from_env: bool,
    key: Option<Key>,
    bearer: bool,
    betas: Vec<String>,
    base_url: Option<String>,
    default_model: Option<String>,
    settings: Settings,
    no_streaming: bool,
    malformed_args: MalformedArgs,
    deadlines: Deadlines,
    bounds: Bounds,
    exchange: Option<Arc<dyn HttpExchange>>,
}

impl std::fmt::Debug for AnthropicBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnthropicBuilder").field("key", &self.key).finish_non_exhaustive()
    }
}

impl AnthropicBuilder {
    pub(super) fn address_from_env(mut self) -> Self {
        self.address_from_env = true;
        self
    }

    /// The recorded name; `anthropic`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Where the key comes from. Without one, `ANTHROPIC_API_KEY` is read.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The endpoint needs no key, for instance a local gateway that has its own.
    pub fn without_key(self) -> Self {
        self.key(Key::Absent)
    }

    /// Sends the key as a bearer token instead of in `x-api-key`.
    pub fn bearer_header(mut self, on: bool) -> Self {
        self.bearer = on;
        self
    }

    /// Switches a beta feature of the vendor on, by its name in `anthropic-beta`. May be called several times.
    pub fn beta(mut self, name: impl Into<String>) -> Self {
        self.betas.push(name.into());
        self
    }

    /// The address of a gateway that speaks this wire, without `/v1/messages`.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// What the shorthand `anthropic` means; `claude-sonnet-4-5-20250929` unless set.
    pub fn default_model(mut self, model: impl Into<String>) -> Self {
        self.default_model = Some(model.into());
        self
    }

    /// The limit of an answer when a request states none; 4096 unless set.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.settings.max_tokens = Some(tokens);
        self
    }

    /// How the models think, where their ids hide it. Known ids are recognised, and an unknown one is taken for a new
    /// model, which decides by itself how much it thinks.
    pub fn thinking_mode(mut self, mode: ThinkingMode) -> Self {
        self.settings.thinking = Some(mode);
        self
    }

    /// How hard models work on an answer: sent as `output_config.effort`.
    pub fn effort(mut self, effort: impl Into<String>) -> Self {
        self.settings.effort = Some(effort.into());
        self
    }

    /// Whether the model may ask for several tools at once; each then shares its iteration with others.
    pub fn parallel_tool_calls(mut self, on: bool) -> Self {
        self.settings.parallel_tool_calls = Some(on);
        self
    }

    /// Declares whether one tool can be forced, where the model's id does not tell.
    pub fn forced_tool_choice(mut self, on: bool) -> Self {
        self.settings.forced_tool = Some(on);
        self
    }

    /// Declares whether an answer can be held to a JSON schema (`output_config.format`), where the model's id does not tell.
    pub fn structured_output(mut self, on: bool) -> Self {
        self.settings.structured_output = Some(on);
        self
    }

    /// Declares whether `system` messages may stand among the messages, where the model's id does not tell. Models
    /// before Opus 4.8 reject them; to those they are not sent.
    pub fn system_turns(mut self, on: bool) -> Self {
        self.settings.system_turns = Some(on);
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
    pub fn build(self) -> Result<Anthropic, LlmError> {
        let adapter = self.name.clone().map_or(Cow::Borrowed("anthropic"), Cow::Owned);
        let identity =
            Identity { adapter, vendor: Vendor::Anthropic, key_hint: KEY_HINT, address_hint: ADDRESS_HINT };
        self.checked(identity.clone()).map_err(|(kind, message)| {
            LlmError::new(kind, identity.adapter, message).with_vendor(identity.vendor)
        })
    }

    fn checked(self, identity: Identity) -> Result<Anthropic, (LlmErrorKind, String)> {
        let refuse = |message: String| (LlmErrorKind::Refused, message);
        check_limits(&self.deadlines, &self.bounds).map_err(refuse)?;
        if self.settings.max_tokens == Some(0) {
            return Err(refuse("max_tokens is zero; leave it unset or give a positive number".to_owned()));
        }
        let key = self.find_key()?;
        let url = self.find_url().map_err(refuse)?;
        let betas = match self.betas.as_slice() {
            [] => None,
            names => Some(HeaderValue::from_str(&names.join(",")).map_err(|_| {
                refuse("a name given with .beta(…) holds characters no header can carry".to_owned())
            })?),
        };
        let exchange = match self.exchange {
            Some(exchange) => exchange,
            None => Arc::new(
                ReqwestExchange::new(self.deadlines.connect)
                    .map_err(|fault| refuse(format!("the HTTP client cannot be set up: {fault}")))?,
            ),
        };
        Ok(Anthropic {
            name: identity.adapter.clone().into_owned(),
            identity,
            key,
            bearer: self.bearer,
            betas,
            default_model: self.default_model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            url,
            settings: self.settings,
            streams: !self.no_streaming,
            malformed_args: self.malformed_args,
            transport: Transport { exchange, deadlines: self.deadlines, bounds: self.bounds },
            ids: Arc::new(InventedIds::new("anthropic")),
        })
    }

    fn find_key(&self) -> Result<Key, (LlmErrorKind, String)> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        self.env.get("ANTHROPIC_API_KEY").map(Key::from).ok_or_else(|| {
            let message = "there is no API key: set ANTHROPIC_API_KEY or give one with .key(…); for an endpoint that \
                           needs none, call .without_key()";
            (LlmErrorKind::NoCredential, message.to_owned())
        })
    }

    fn find_url(&self) -> Result<Url, String> {
        let given = self.base_url.clone().map(|url| ("base_url", url));
        let found = given
            .or_else(|| self.address_from_env.then(|| self.env.first(&["ANTHROPIC_BASE_URL"])).flatten());
        let (option, text) = found.unwrap_or(("base_url", OFFICIAL.to_owned()));
        messages_url(option, &text)
    }
}

/// The address of messages below a base, which may be written with or without `/v1` and `/v1/messages`.
fn messages_url(option: &str, text: &str) -> Result<Url, String> {
    let mut url = read_address(option, text)?;
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/messages").unwrap_or(path);
    let path = path.strip_suffix("/v1").unwrap_or(path);
    let path = format!("{}/v1/messages", path.trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_read_as_people_write_them() {
        for text in [
            "https://api.anthropic.com",
            "https://api.anthropic.com/",
            "https://api.anthropic.com/v1",
            "https://api.anthropic.com/v1/messages",
            " https://api.anthropic.com/v1// ",
        ] {
            let url = messages_url("base_url", text).unwrap();
            assert_eq!(url.as_str(), "https://api.anthropic.com/v1/messages", "{text}");
        }
        let gateway = messages_url("base_url", "http://h:1/anthropic/?tenant=a").unwrap();
        assert_eq!(gateway.as_str(), "http://h:1/anthropic/v1/messages?tenant=a");
        assert!(messages_url("base_url", "localhost:8080").unwrap_err().contains("scheme"));
    }
}

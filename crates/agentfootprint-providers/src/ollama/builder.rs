use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use agentfootprint_core::llm::{LlmError, LlmErrorKind, Vendor};
use footprint::value::Value;
use url::Url;

use super::Ollama;
use super::request::{Options, Think};
use crate::http::{Bounds, Deadlines, HttpExchange, Identity, ReqwestExchange, Transport, check_limits};
use crate::ids::InventedIds;
use crate::{EnvVars, Key, MalformedArgs};

const DEFAULT_MODEL: &str = "llama3.2";
const DEFAULT_BASE: &str = "http://localhost:11434";
const DEFAULT_PORT: u16 = 11434;

const KEY_HINT: &str =
    "a local Ollama needs no key; for a server that does, check the one given with .key(…)";
const ADDRESS_HINT: &str =
    "check that `ollama serve` runs there, and the address in base_url (or OLLAMA_HOST)";

/// Builds an [`Ollama`]. Nothing is sent here.
///
/// ```
/// use agentfootprint_providers::Ollama;
/// use agentfootprint_providers::ollama::Think;
///
/// let ollama = Ollama::builder().base_url("gpu-box:11434").num_ctx(32_768).think(Think::Low).build()?;
/// assert!(format!("{ollama:?}").contains("http://gpu-box:11434/"));
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct OllamaBuilder {
    name: Option<String>,
    env: EnvVars,
    key: Option<Key>,
    base_url: Option<String>,
    default_model: Option<String>,
    options: Options,
    no_streaming: bool,
    malformed_args: MalformedArgs,
    deadlines: Option<Deadlines>,
    bounds: Bounds,
    exchange: Option<Arc<dyn HttpExchange>>,
}

impl std::fmt::Debug for OllamaBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OllamaBuilder")
            .field("base_url", &self.base_url.is_some())
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl OllamaBuilder {
    /// The recorded name; `ollama`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The server's address, with or without `http://`; a bare host means port 11434. Without it `OLLAMA_HOST` is
    /// read, and without that it is `http://localhost:11434`.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// A key, sent as bearer token: for a hosted Ollama or one behind a proxy. None by default.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// What the shorthand `ollama` means; `llama3.2` unless set.
    pub fn default_model(mut self, model: impl Into<String>) -> Self {
        self.default_model = Some(model.into());
        self
    }

    /// The context the server loads the model with, in tokens. What does not fit is cut off silently.
    pub fn num_ctx(mut self, tokens: u64) -> Self {
        self.options.num_ctx = Some(tokens);
        self
    }

    /// The limit of an answer when a request states none (`num_predict`).
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.options.num_predict = Some(tokens);
        self
    }

    /// Whether and how hard models think. A request that asks for thinking turns it on; unset, the model decides.
    pub fn think(mut self, think: Think) -> Self {
        self.options.think = Some(think);
        self
    }

    /// How long the server keeps the model loaded after a call, for instance `10m` or `-1m` (for ever).
    pub fn keep_alive(mut self, keep_alive: impl Into<String>) -> Self {
        self.options.keep_alive = Some(keep_alive.into());
        self
    }

    /// Constrains every answer: the string `json`, or a JSON schema.
    pub fn format(mut self, format: Value) -> Self {
        self.options.format = Some(format);
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

    /// How long each phase may take. Unset, a stream has 10 seconds until its head, and a plain completion, whose head
    /// comes only when the answer is ready, 10 minutes.
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = Some(deadlines);
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

    /// The provider. Opens no socket.
    ///
    /// # Errors
    /// When a setting can never work; the message names the option and the variable.
    pub fn build(self) -> Result<Ollama, LlmError> {
        let adapter = self.name.clone().map_or(Cow::Borrowed("ollama"), Cow::Owned);
        self.checked().map_err(|message| {
            LlmError::new(LlmErrorKind::Refused, adapter, message).with_vendor(Vendor::Ollama)
        })
    }

    fn checked(self) -> Result<Ollama, String> {
        let given = self.base_url.clone().map(|url| ("base_url", url));
        let (option, text) = given
            .or_else(|| self.env.first(&["OLLAMA_HOST"]))
            .unwrap_or(("base_url", DEFAULT_BASE.to_owned()));
        let base = read_base(option, &text)?;
        let streamed =
            self.deadlines.unwrap_or(Deadlines { headers: Duration::from_secs(10), ..Deadlines::default() });
        let plain =
            self.deadlines.unwrap_or(Deadlines { headers: Duration::from_secs(600), ..Deadlines::default() });
        check_limits(&streamed, &self.bounds)?;
        if self.options.num_ctx == Some(0) || self.options.num_predict == Some(0) {
            return Err(
                "num_ctx and max_tokens must be positive; leave them unset for the server's own".into()
            );
        }
        let exchange = match self.exchange {
            Some(exchange) => exchange,
            None => Arc::new(
                ReqwestExchange::new(streamed.connect)
                    .map_err(|fault| format!("the HTTP client cannot be set up: {fault}"))?,
            ),
        };
        let name = self.name.unwrap_or_else(|| "ollama".to_owned());
        let transport = Transport { exchange, deadlines: streamed, bounds: self.bounds };
        Ok(Ollama {
            identity: Identity {
                adapter: Cow::Owned(name.clone()),
                vendor: Vendor::Ollama,
                key_hint: KEY_HINT,
                address_hint: ADDRESS_HINT,
            },
            name,
            key: self.key.unwrap_or(Key::Absent),
            base,
            default_model: self.default_model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            options: self.options,
            streams: !self.no_streaming,
            malformed_args: self.malformed_args,
            patient: Transport { deadlines: plain, ..transport.clone() },
            transport,
            ids: Arc::new(InventedIds::new("ollama")),
            warned: Arc::default(),
        })
    }
}

/// An address as people write it: with or without scheme, with or without `/v1`.
fn read_base(option: &str, text: &str) -> Result<Url, String> {
    let text = text.trim();
    let bare = !text.contains("://");
    let address = if bare { format!("http://{text}") } else { text.to_owned() };
    let unusable =
        |why: &str| format!("{option} is not a usable address ({why}); give one like {DEFAULT_BASE}");
    let mut url = Url::parse(&address).map_err(|error| unusable(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable("it is neither http nor https"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(unusable("it has no host"));
    }
    if bare && url.port().is_none() && url.set_port(Some(DEFAULT_PORT)).is_err() {
        return Err(unusable("it cannot have a port"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{option} carries a user or password; give a key with .key(…) instead"));
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path).trim_end_matches('/').to_owned();
    url.set_path(&path);
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-66.
    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, expected) in [
            ("http://localhost:11434", "http://localhost:11434/"),
            ("localhost", "http://localhost:11434/"),
            ("gpu:1234/", "http://gpu:1234/"),
            ("http://gpu/v1/", "http://gpu/"),
            ("https://ollama.example/api-proxy/", "https://ollama.example/api-proxy"),
            (" 127.0.0.1:11434 ", "http://127.0.0.1:11434/"),
        ] {
            assert_eq!(read_base("base_url", text).unwrap().as_str(), expected, "{text}");
        }
        for text in ["ftp://x", "http://", "http://a b", "http://me:secret@h"] {
            assert!(read_base("OLLAMA_HOST", text).unwrap_err().contains("OLLAMA_HOST"), "{text}");
        }
    }

    /// Proves LLM-40, LLM-66.
    #[test]
    fn the_option_comes_before_the_variable() {
        let env = || EnvVars::from_pairs([("OLLAMA_HOST", "from-env")]);
        let shown = |builder: OllamaBuilder| format!("{:?}", builder.build().unwrap());
        assert!(shown(Ollama::builder().env(env())).contains("http://from-env:11434/"));
        assert!(shown(Ollama::builder().env(env()).base_url("mine")).contains("http://mine:11434/"));
        let blank = EnvVars::from_pairs([("OLLAMA_HOST", " ")]);
        assert!(shown(Ollama::builder().env(blank)).contains("http://localhost:11434/"));
    }

    /// Proves LLM-41.
    #[test]
    fn settings_that_cannot_work_are_refused() {
        let zero = Deadlines { idle: Duration::ZERO, ..Deadlines::default() };
        for (builder, word) in [
            (Ollama::builder().deadlines(zero), "deadlines.idle"),
            (Ollama::builder().bounds(Bounds { frame: 0, body: 1 }), "bounds"),
            (Ollama::builder().num_ctx(0), "num_ctx"),
            (Ollama::builder().base_url("nonsense://"), "base_url"),
        ] {
            let error = builder.env(EnvVars::from_pairs([("A", "b")])).build().unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::Refused);
            assert!(error.to_string().contains(word), "{error}");
            assert!(error.refused_before_send());
        }
    }
}

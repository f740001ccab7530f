//! Anthropic's Messages API.
//!
//! Thinking makes a signed round trip: what a turn thought is handed to the thinking handler as it came, kept on the
//! message, and sent back byte for byte, but never to a vendor that did not write it. Cache marks of a request become
//! `cache_control` on the blocks they end. What the wire cannot say is refused before anything is sent.
//!
//! Deliberate differences between request and wire: neighbours of one role are one turn, an assistant turn with
//! nothing to send is left out, a `system` message among the messages is sent only to models that take it, and in a
//! request without tools the calls and results of the history are written as text.
//!
//! | file | holds |
//! |---|---|
//! | `request` | the body |
//! | `turns` | the messages of the body |
//! | `marks` | cache marks |
//! | `models` | what is known of a model by its id |
//! | `gather` | one answer, put together from its blocks |
//! | `assembler`, `response` | the two ways to one: streamed, whole |
//! | `refusal` | the vendor's error bodies |
//! | `thinking` | the thinking handler, and what may be sent back |

mod assembler;
mod builder;
mod gather;
mod marks;
pub(crate) mod refusal;
mod request;
mod response;
#[cfg(test)]
mod tests;
pub(crate) mod thinking;
mod turns;

use std::fmt;
use std::sync::Arc;

use agentfootprint_core::llm::{
    CallCx, Capabilities, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, LlmStream,
    PromptCaching, RoleSet, ThinkingMode,
};
use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderValue};
use secrecy::SecretString;
use url::Url;

pub use builder::AnthropicBuilder;
pub use thinking::AnthropicThinking;

use self::assembler::MessageAssembler;
use self::request::Dialect;
use crate::credential::{key_for, key_header};
use crate::finish::Finish;
use crate::frames::SseFramer;
use crate::http::{AnswerMachine, HttpRequest, Identity, Method, Scene, Sniffing, Transport};
use crate::ids::InventedIds;
use crate::key::Redactor;
use crate::{EnvVars, Key, MalformedArgs};

const VERSION: &str = "2023-06-01";
/// How many cache marks one request may carry.
const MAX_BREAKPOINTS: u32 = 4;

/// Anthropic's Messages API.
///
/// ```no_run
/// use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest};
/// use agentfootprint_providers::Anthropic;
///
/// # async fn run() -> Result<(), agentfootprint_core::llm::LlmError> {
/// let anthropic = Anthropic::from_env()?; // ANTHROPIC_API_KEY, and ANTHROPIC_BASE_URL if set
/// let request = LlmRequest::new("claude-sonnet-4-5").user("What is a flowchart?");
/// let answer = anthropic.complete(&request, &CallCx::detached()).await?;
/// println!("{}", answer.content);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Anthropic {
    name: String,
    identity: Identity,
    key: Key,
    bearer: bool,
    betas: Option<HeaderValue>,
    default_model: String,
    url: Url,
    settings: Settings,
    streams: bool,
    malformed_args: MalformedArgs,
    transport: Transport,
    ids: Arc<InventedIds>,
}

/// What a builder says about models; what it leaves open is told by the model's id.
#[derive(Debug, Clone, Default)]
struct Settings {
    thinking: Option<ThinkingMode>,
    forced_tool: Option<bool>,
    structured_output: Option<bool>,
    system_turns: Option<bool>,
    parallel_tool_calls: Option<bool>,
    effort: Option<String>,
    max_tokens: Option<u64>,
}

impl Settings {
    fn dialect(&self, model: &str) -> Dialect {
        let known = crate::claude::facts(model);
        Dialect {
            thinking: self.thinking.unwrap_or(known.thinking),
            forced_tool: self.forced_tool.unwrap_or(known.forced_tool),
            structured_output: self.structured_output.unwrap_or(known.structured_output),
            system_turns: self.system_turns.unwrap_or(known.system_turns),
            parallel_tool_calls: self.parallel_tool_calls,
            effort: self.effort.clone(),
            max_tokens: self.max_tokens.unwrap_or(builder::DEFAULT_MAX_TOKENS),
        }
    }
}

impl Anthropic {
    /// Reads `ANTHROPIC_API_KEY`, and when it is set `ANTHROPIC_BASE_URL`.
    ///
    /// # Errors
    /// When there is no key, or the address is none; the message says what to set.
    pub fn from_env() -> Result<Anthropic, LlmError> {
        Anthropic::from_env_vars(EnvVars::process())
    }

    /// The same from given variables.
    ///
    /// # Errors
    /// As [`Anthropic::from_env`].
    ///
    /// ```
    /// use agentfootprint_providers::{Anthropic, EnvVars};
    ///
    /// let missing = Anthropic::from_env_vars(EnvVars::from_pairs([("HOME", "/root")])).unwrap_err();
    /// assert!(missing.to_string().contains("ANTHROPIC_API_KEY"));
    /// ```
    pub fn from_env_vars(env: EnvVars) -> Result<Anthropic, LlmError> {
        AnthropicBuilder::default().env(env).address_from_env().build()
    }

    /// A provider with explicit settings. Only a missing key is looked for in the environment.
    ///
    /// ```
    /// use agentfootprint_core::llm::LlmProvider;
    /// use agentfootprint_providers::Anthropic;
    ///
    /// let anthropic = Anthropic::builder().key("…").max_tokens(8192).build()?;
    /// assert_eq!(anthropic.name(), "anthropic");
    /// # Ok::<(), agentfootprint_core::llm::LlmError>(())
    /// ```
    pub fn builder() -> AnthropicBuilder {
        AnthropicBuilder::default()
    }

    /// The model id of a request, with the shorthand resolved.
    fn resolve_model(&self, asked: &str) -> String {
        if asked == "anthropic" { self.default_model.clone() } else { asked.to_owned() }
    }

    /// Everything that can be refused is refused here, before anything is sent.
    async fn prepare(&self, request: &LlmRequest, cx: &CallCx, stream: bool) -> Result<Prepared, LlmError> {
        let model = self.resolve_model(&request.model);
        // Until a key is resolved there is none to redact.
        let keyless = Scene::new(&self.identity, &model, &self.url, Redactor::default(), request);
        if model.trim().is_empty() {
            let message = "the request names no model; set one, for instance claude-sonnet-4-5";
            return Err(keyless.error(LlmErrorKind::Refused, message));
        }
        let key = key_for(&self.key, &keyless, cx, "ANTHROPIC_API_KEY").await?;
        let scene = Scene::new(&self.identity, &model, &self.url, Redactor::of(key.as_ref()), request);
        let body = request::to_wire(request, &model, &self.settings.dialect(&model), stream)
            .map_err(|(kind, message)| scene.error(kind, message))?;
        let tool_names = request::tool_names(&body);
        let headers = self.headers(key.as_ref(), &scene, stream)?;
        let http = HttpRequest { method: Method::Post, url: self.url.clone(), headers, body: body.into() };
        let finish = Finish {
            scene,
            tool_names,
            malformed_args: self.malformed_args,
            provider: self.name.clone(),
            ids: self.ids.clone(),
        };
        Ok(Prepared { http, finish })
    }

    fn headers(
        &self,
        key: Option<&SecretString>,
        scene: &Scene,
        stream: bool,
    ) -> Result<HeaderMap, LlmError> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let accept = if stream { "text/event-stream" } else { "application/json" };
        headers.insert("accept", HeaderValue::from_static(accept));
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        if let Some(betas) = &self.betas {
            headers.insert("anthropic-beta", betas.clone());
        }
        if let Some(key) = key {
            if self.bearer {
                headers.insert("authorization", key_header("Bearer ", key, scene)?);
            } else {
                headers.insert("x-api-key", key_header("", key, scene)?);
            }
        }
        Ok(headers)
    }

    async fn open(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmStream, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, true).await?;
        let scene = finish.scene.clone();
        let response = self.transport.open(http, &scene, cx, refusal::read_refusal).await?;
        let bounds = self.transport.bounds;
        let framer = Box::new(SseFramer::new(bounds.frame));
        let assembler = MessageAssembler::new(finish);
        let machine = AnswerMachine::new(framer, assembler, Sniffing::PlainBody, bounds.body, scene.clone());
        Ok(self.transport.stream(response, machine, scene, cx.clone()))
    }
}

/// A request, ready to be sent.
struct Prepared {
    http: HttpRequest,
    finish: Finish,
}

#[async_trait]
impl LlmProvider for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        let dialect = self.settings.dialect(&self.resolve_model(model));
        let caching = PromptCaching::Breakpoints { max_breakpoints: MAX_BREAKPOINTS, reports_usage: true };
        Capabilities::default()
            .carrying(RoleSet::FLOOR)
            .with_forced_tool_choice(dialect.forced_tool)
            .with_output_schema(dialect.structured_output)
            .with_prompt_caching(caching)
            .with_thinking_handler(Arc::new(AnthropicThinking))
            .with_thinking_mode(dialect.thinking)
            .with_streams(self.streams)
    }

    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, false).await?;
        let (headers, body) = self.transport.ask(http, &finish.scene, cx, refusal::read_refusal).await?;
        response::from_wire(&body, &headers, &finish)
    }

    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        if !self.streams {
            return None;
        }
        Some(self.open(request, cx).await)
    }
}

/// Names and addresses, never the key.
impl fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anthropic")
            .field("name", &self.name)
            .field("key", &self.key)
            .field("url", &crate::http::door(&self.url))
            .finish_non_exhaustive()
    }
}

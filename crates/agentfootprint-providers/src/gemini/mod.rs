//! Google's Gemini, through the Gemini API or Vertex AI.
//!
//! | door | how to open it |
//! |---|---|
//! | Gemini API | [`Gemini::from_env`], or [`Gemini::builder`] with a key |
//! | Vertex AI | [`Gemini::builder`] with a project and an access token |
//!
//! The signature of a call's thought is kept on the call and sent back with it, byte for byte; without it current models
//! reject the turn after the tool ran. Signatures of texts are not kept. Ids this adapter had to invent are never sent.
//!
//! | file | holds |
//! |---|---|
//! | `target` | the two doors and their addresses |
//! | `request` | the body |
//! | `gather` | one answer, put together from its chunks |
//! | `assembler`, `response` | the two ways to one: streamed, whole |
//! | `refusal` | the vendor's error bodies |
//! | `thinking` | the thinking handler |

mod assembler;
mod builder;
mod gather;
mod refusal;
mod request;
mod response;
mod target;
#[cfg(test)]
mod tests;
mod thinking;

use std::fmt;
use std::sync::Arc;

use agentfootprint_core::llm::{
    CallCx, Capabilities, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, LlmStream,
    PromptCaching, RoleSet,
};
use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderValue};
use secrecy::SecretString;

pub use builder::GeminiBuilder;
pub use thinking::GeminiThinking;

use self::assembler::ChunkAssembler;
use self::request::Dialect;
use self::target::Target;
use crate::credential::{key_for, key_header};
use crate::finish::Finish;
use crate::frames::SseOrJsonFramer;
use crate::http::{AnswerMachine, HttpRequest, Identity, Method, Scene, Sniffing, Transport};
use crate::ids::InventedIds;
use crate::key::Redactor;
use crate::{EnvVars, Key, MalformedArgs};

/// Where a call keeps the signature of its thought.
const SIGNATURE: &str = "thoughtSignature";
/// What invented ids are made of.
const INVENTED: &str = "gemini";
/// How invented ids start.
const INVENTED_PREFIX: &str = "gemini-call-";
/// What the shorthand means on Vertex.
const VERTEX_MODEL: &str = "gemini-2.5-flash";

/// Gemini.
///
/// ```no_run
/// use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest};
/// use agentfootprint_providers::Gemini;
///
/// # async fn run() -> Result<(), agentfootprint_core::llm::LlmError> {
/// let gemini = Gemini::from_env()?; // GEMINI_API_KEY or GOOGLE_API_KEY
/// let request = LlmRequest::new("gemini-2.5-flash").user("What is a flowchart?");
/// let answer = gemini.complete(&request, &CallCx::detached()).await?;
/// println!("{}", answer.content);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Gemini {
    name: String,
    identity: Identity,
    key: Key,
    target: Target,
    default_model: Option<String>,
    dialect: Dialect,
    streams: bool,
    malformed_args: MalformedArgs,
    transport: Transport,
    ids: Arc<InventedIds>,
}

impl Gemini {
    /// The Gemini API with the key in `GEMINI_API_KEY` or `GOOGLE_API_KEY`.
    ///
    /// # Errors
    /// When there is no key; the message says what to set.
    pub fn from_env() -> Result<Gemini, LlmError> {
        Gemini::from_env_vars(EnvVars::process())
    }

    /// The same from given variables.
    ///
    /// # Errors
    /// As [`Gemini::from_env`].
    ///
    /// ```
    /// use agentfootprint_providers::{EnvVars, Gemini};
    ///
    /// let missing = Gemini::from_env_vars(EnvVars::from_pairs([("HOME", "/root")])).unwrap_err();
    /// assert!(missing.to_string().contains("GEMINI_API_KEY"));
    /// ```
    pub fn from_env_vars(env: EnvVars) -> Result<Gemini, LlmError> {
        GeminiBuilder::default().env(env).build()
    }

    /// A provider with explicit settings.
    ///
    /// ```
    /// use agentfootprint_core::llm::LlmProvider;
    /// use agentfootprint_providers::{Gemini, Key};
    ///
    /// let vertex = Gemini::builder()
    ///     .project("my-project")
    ///     .location("europe-west4")
    ///     .access_token(Key::provider(|_| async { "ya29.…".into() }))
    ///     .build()?;
    /// assert_eq!(vertex.name(), "gemini");
    /// # Ok::<(), agentfootprint_core::llm::LlmError>(())
    /// ```
    pub fn builder() -> GeminiBuilder {
        GeminiBuilder::default()
    }

    /// The model id of a request, with the shorthand resolved; `None` where the shorthand means nothing.
    fn resolve_model(&self, asked: &str) -> Option<String> {
        match (asked, &self.default_model, &self.target) {
            ("gemini", Some(model), _) => Some(model.clone()),
            ("gemini", None, Target::Vertex { .. }) => Some(VERTEX_MODEL.to_owned()),
            ("gemini", None, Target::Key { .. }) => None,
            _ => Some(asked.to_owned()),
        }
    }

    /// Everything that can be refused is refused here, before anything is sent.
    async fn prepare(&self, request: &LlmRequest, cx: &CallCx, stream: bool) -> Result<Prepared, LlmError> {
        let resolved = self.resolve_model(&request.model);
        let model = resolved.clone().unwrap_or_else(|| request.model.to_string());
        let url = self.target.url(&model, stream);
        // Until a key is resolved there is none to redact.
        let keyless = Scene::new(&self.identity, &model, &url, Redactor::default(), request);
        if resolved.is_none() {
            let message = "the model `gemini` stands for none with an API key; name one, for instance gemini-2.5-flash, \
                           or say what it means with .default_model(…)";
            return Err(keyless.error(LlmErrorKind::Refused, message));
        }
        if model.trim().is_empty() {
            let message = "the request names no model; set one, for instance gemini-2.5-flash";
            return Err(keyless.error(LlmErrorKind::Refused, message));
        }
        let variable = match self.target {
            Target::Key { .. } => "GEMINI_API_KEY",
            Target::Vertex { .. } => "the source given with .access_token(…)",
        };
        let key = key_for(&self.key, &keyless, cx, variable).await?;
        let scene = Scene::new(&self.identity, &model, &url, Redactor::of(key.as_ref()), request);
        let body =
            request::to_wire(request, &self.dialect).map_err(|(kind, message)| scene.error(kind, message))?;
        let tool_names = request::tool_names(&body);
        let headers = self.headers(key.as_ref(), &scene, stream)?;
        let http = HttpRequest { method: Method::Post, url, headers, body: body.into() };
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
        match (key, &self.target) {
            (None, _) => {}
            (Some(key), Target::Key { .. }) => {
                headers.insert("x-goog-api-key", key_header("", key, scene)?);
            }
            (Some(key), Target::Vertex { .. }) => {
                headers.insert("authorization", key_header("Bearer ", key, scene)?);
            }
        }
        Ok(headers)
    }

    async fn open(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmStream, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, true).await?;
        let scene = finish.scene.clone();
        let response = self.transport.open(http, &scene, cx, refusal::read_refusal).await?;
        let bounds = self.transport.bounds;
        let framer = Box::new(SseOrJsonFramer::new(bounds.frame));
        let assembler = ChunkAssembler::new(finish);
        let machine = AnswerMachine::new(framer, assembler, Sniffing::PlainPage, bounds.body, scene.clone());
        Ok(self.transport.stream(response, machine, scene, cx.clone()))
    }
}

/// A request, ready to be sent.
struct Prepared {
    http: HttpRequest,
    finish: Finish,
}

#[async_trait]
impl LlmProvider for Gemini {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities::default()
            .carrying(RoleSet::FLOOR)
            .with_forced_tool_choice(true)
            .with_output_schema(true)
            .with_prompt_caching(PromptCaching::Automatic { reports_usage: true })
            .with_thinking_handler(Arc::new(GeminiThinking))
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
impl fmt::Debug for Gemini {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gemini")
            .field("name", &self.name)
            .field("key", &self.key)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

//! Ollama's native wire, `/api/chat`: models that run on your own machine.
//!
//! ```no_run
//! use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest};
//! use agentfootprint_providers::Ollama;
//!
//! # async fn run() -> Result<(), agentfootprint_core::llm::LlmError> {
//! let ollama = Ollama::builder().num_ctx(16_384).build()?;
//! let request = LlmRequest::new("llama3.2").user("What is a flowchart?");
//! println!("{}", ollama.complete(&request, &CallCx::detached()).await?.content);
//! # Ok(()) }
//! ```
//!
//! Two things to know. Whether a model calls tools, and how well, depends on the model. And the server **silently
//! cuts** a prompt that is longer than its context (`num_ctx`, often 4096 by default): set [`OllamaBuilder::num_ctx`]
//! to what your conversations need, or the model forgets the beginning without any error.
//!
//! The wire has no forced tool, no response id and no cache; requests to think are `think`, without a budget.

mod assembler;
mod builder;
mod gather;
mod refusal;
mod request;
#[cfg(test)]
mod tests;
mod thinking;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentfootprint_core::llm::{
    CallCx, Capabilities, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, LlmStream, RoleSet,
};
use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderValue};
use secrecy::SecretString;
use url::Url;

pub use builder::OllamaBuilder;
pub use request::Think;
pub use thinking::OllamaThinking;

use self::assembler::OllamaAssembler;
use self::request::Options;
use crate::credential::{key_for, key_header};
use crate::finish::Finish;
use crate::frames::NdjsonFramer;
use crate::http::{AnswerMachine, HttpRequest, Identity, Method, Scene, Sniffing, Transport};
use crate::ids::InventedIds;
use crate::key::Redactor;
use crate::{EnvVars, Key, MalformedArgs};

/// A local (or remote) Ollama.
#[derive(Clone)]
pub struct Ollama {
    name: String,
    identity: Identity,
    key: Key,
    base: Url,
    default_model: String,
    options: Options,
    streams: bool,
    malformed_args: MalformedArgs,
    /// For streams: the head comes with the first token.
    transport: Transport,
    /// For plain completions: the head comes when the whole answer is ready.
    patient: Transport,
    ids: Arc<InventedIds>,
    /// Whether the context's size has been warned about.
    warned: Arc<AtomicBool>,
}

impl Ollama {
    /// The Ollama at `OLLAMA_HOST`, or at `http://localhost:11434`.
    ///
    /// # Errors
    /// When `OLLAMA_HOST` is no address.
    pub fn from_env() -> Result<Ollama, LlmError> {
        Ollama::builder().build()
    }

    /// The Ollama of a given environment.
    ///
    /// # Errors
    /// When `OLLAMA_HOST` is no address.
    ///
    /// ```
    /// use agentfootprint_providers::{EnvVars, Ollama};
    ///
    /// let wrong = Ollama::from_env_vars(EnvVars::from_pairs([("OLLAMA_HOST", "ftp://x")])).unwrap_err();
    /// assert!(wrong.to_string().contains("OLLAMA_HOST"));
    /// ```
    pub fn from_env_vars(env: EnvVars) -> Result<Ollama, LlmError> {
        Ollama::builder().env(env).build()
    }

    /// A provider with explicit settings; the address not given is looked for in the environment.
    pub fn builder() -> OllamaBuilder {
        OllamaBuilder::default()
    }

    fn resolve_model(&self, asked: &str) -> String {
        if asked == "ollama" { self.default_model.clone() } else { asked.to_owned() }
    }

    fn endpoint(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let joined = format!("{}{path}", url.path().trim_end_matches('/'));
        url.set_path(&joined);
        url
    }

    /// Says once what no answer of the server ever says.
    fn warn_about_context(&self, model: &str) {
        if self.options.num_ctx.is_none() && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "agentfootprint",
                model,
                "num_ctx is not set: Ollama silently cuts off the beginning of prompts beyond its own default, and whether \
                 a model calls tools well depends on the model"
            );
        }
    }

    /// Everything that can be refused is refused here, before anything is sent.
    async fn prepare(&self, request: &LlmRequest, cx: &CallCx, stream: bool) -> Result<Prepared, LlmError> {
        let model = self.resolve_model(&request.model);
        let url = self.endpoint("/api/chat");
        let keyless = Scene::new(&self.identity, &model, &url, Redactor::default(), request);
        if model.trim().is_empty() {
            let message = "the request names no model; set one, for instance llama3.2";
            return Err(keyless.error(LlmErrorKind::Refused, message));
        }
        let key = key_for(&self.key, &keyless, cx, "no variable: a local Ollama needs none").await?;
        let scene = Scene::new(&self.identity, &model, &url, Redactor::of(key.as_ref()), request);
        let body = request::to_wire(request, &model, &self.options, stream)
            .map_err(|(kind, message)| scene.error(kind, message))?;
        let headers = headers(key.as_ref(), &scene, stream)?;
        self.warn_about_context(scene.model());
        let finish = Finish {
            scene,
            tool_names: request::tool_names(&body),
            malformed_args: self.malformed_args,
            provider: self.name.clone(),
            ids: self.ids.clone(),
        };
        Ok(Prepared { http: HttpRequest { method: Method::Post, url, headers, body: body.into() }, finish })
    }

    async fn open(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmStream, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, true).await?;
        let scene = finish.scene.clone();
        let headers = http.headers.clone();
        let opened = self.transport.open(http, &scene, cx, refusal::read_refusal).await;
        let response = match opened {
            Ok(response) => response,
            Err(error) => return Err(self.explain(error, headers, &scene, cx).await),
        };
        let bounds = self.transport.bounds;
        let framer = Box::new(NdjsonFramer::new(bounds.frame));
        let assembler = OllamaAssembler::new(finish);
        let machine = AnswerMachine::new(framer, assembler, Sniffing::Off, bounds.body, scene.clone());
        Ok(self.transport.stream(response, machine, scene, cx.clone()))
    }
}

/// A request, ready to be sent.
struct Prepared {
    http: HttpRequest,
    finish: Finish,
}

fn headers(key: Option<&SecretString>, scene: &Scene, stream: bool) -> Result<HeaderMap, LlmError> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let accept = if stream { "application/x-ndjson" } else { "application/json" };
    headers.insert("accept", HeaderValue::from_static(accept));
    if let Some(key) = key {
        headers.insert("authorization", key_header("Bearer ", key, scene)?);
    }
    Ok(headers)
}

#[async_trait]
impl LlmProvider for Ollama {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities::default()
            .carrying(RoleSet::ALL)
            .with_output_schema(true)
            .with_thinking_handler(Arc::new(OllamaThinking))
            .with_streams(self.streams)
    }

    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, false).await?;
        let key = http.headers.clone();
        match self.patient.ask(http, &finish.scene, cx, refusal::read_refusal).await {
            Ok((headers, body)) => gather::from_wire(&body, &headers, &finish),
            Err(error) => Err(self.explain(error, key, &finish.scene, cx).await),
        }
    }

    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        if !self.streams {
            return None;
        }
        Some(self.open(request, cx).await)
    }
}

/// Names and addresses, never a key.
impl fmt::Debug for Ollama {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ollama")
            .field("name", &self.name)
            .field("key", &self.key)
            .field("base", &crate::http::door(&self.base))
            .finish_non_exhaustive()
    }
}

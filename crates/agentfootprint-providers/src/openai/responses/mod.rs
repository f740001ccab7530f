//! OpenAI's Responses API: the second door to the same models, and the only one that hands reasoning back.
//!
//! Nothing is kept at the vendor (`store: false`). What a reasoning model thought comes back encrypted, is kept on the
//! conversation like any signed thinking, and is sent along with the next request, so that a tool loop goes on thinking
//! where it stopped, also after a restart.
//!
//! ```no_run
//! use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest};
//! use agentfootprint_providers::OpenAi;
//!
//! # async fn run() -> Result<(), agentfootprint_core::llm::LlmError> {
//! let openai = OpenAi::builder().reasoning(true).build_responses()?;
//! let answer = openai.complete(&LlmRequest::new("gpt-5").user("hi"), &CallCx::detached()).await?;
//! # let _ = answer;
//! # Ok(()) }
//! ```
//!
//! The wire has no stop sequences: a request with some is refused, and the chat door takes it.

mod assembler;
mod items;
mod request;
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
use url::Url;

pub use thinking::ResponsesThinking;

use self::assembler::ResponsesAssembler;
use super::{OpenAi, OpenAiBuilder, Target, refusal};
use crate::credential::key_for;
use crate::finish::Finish;
use crate::frames::SseFramer;
use crate::http::{AnswerMachine, HttpRequest, Method, Scene, Sniffing};
use crate::key::Redactor;

/// The Responses API, spoken by OpenAI, Azure and some compatible servers.
#[derive(Clone)]
pub struct OpenAiResponses {
    /// Key, transport and settings are those of the chat door.
    door: OpenAi,
    url: Url,
}

impl OpenAiBuilder {
    /// The provider that speaks the Responses API, with the same settings.
    ///
    /// # Errors
    /// As [`OpenAiBuilder::build`].
    pub fn build_responses(self) -> Result<OpenAiResponses, LlmError> {
        let door = self.build()?;
        let url = match &door.target {
            Target::Chat { url } => {
                let mut url = url.clone();
                let base = url.path().strip_suffix("/chat/completions").unwrap_or("").to_owned();
                url.set_path(&format!("{base}/responses"));
                url
            }
            Target::Azure { endpoint, .. } => {
                let mut url = endpoint.clone();
                let base = url.path().trim_end_matches('/').to_owned();
                let base = base.strip_suffix("/openai").unwrap_or(&base);
                url.set_path(&format!("{base}/openai/v1/responses"));
                url
            }
        };
        Ok(OpenAiResponses { door, url })
    }
}

/// A request, ready to be sent.
struct Prepared {
    http: HttpRequest,
    finish: Finish,
}

impl OpenAiResponses {
    /// Everything that can be refused is refused here, before anything is sent.
    async fn prepare(&self, request: &LlmRequest, cx: &CallCx, stream: bool) -> Result<Prepared, LlmError> {
        let door = &self.door;
        let model = door.resolve_model(&request.model);
        let keyless = Scene::new(&door.identity, &model, &self.url, Redactor::default(), request);
        if model.trim().is_empty() {
            let message = "the request names no model; set one, for instance gpt-5-mini";
            return Err(keyless.error(LlmErrorKind::Refused, message));
        }
        let key = key_for(&door.key, &keyless, cx, "OPENAI_API_KEY").await?;
        let scene = Scene::new(&door.identity, &model, &self.url, Redactor::of(key.as_ref()), request);
        let body = request::to_wire(request, &model, &door.dialect, stream)
            .map_err(|(kind, message)| scene.error(kind, message))?;
        let headers = door.headers(key.as_ref(), &scene, stream)?;
        let finish = Finish {
            tool_names: request::tool_names(&body),
            scene,
            malformed_args: door.malformed_args,
            provider: door.name.clone(),
            ids: door.ids.clone(),
        };
        let http = HttpRequest { method: Method::Post, url: self.url.clone(), headers, body: body.into() };
        Ok(Prepared { http, finish })
    }

    async fn open(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmStream, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, true).await?;
        let scene = finish.scene.clone();
        let transport = &self.door.transport;
        let response = transport.open(http, &scene, cx, refusal::read_refusal).await?;
        let bounds = transport.bounds;
        let framer = Box::new(SseFramer::new(bounds.frame));
        let assembler = ResponsesAssembler::new(finish);
        let machine = AnswerMachine::new(framer, assembler, Sniffing::PlainBody, bounds.body, scene.clone());
        Ok(transport.stream(response, machine, scene, cx.clone()))
    }
}

#[async_trait]
impl LlmProvider for OpenAiResponses {
    fn name(&self) -> &str {
        &self.door.name
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        let caching = self.door.reports_usage.then_some(PromptCaching::Automatic { reports_usage: true });
        Capabilities::default()
            .carrying(RoleSet::ALL)
            .with_forced_tool_choice(self.door.dialect.forced_tool_choice)
            .with_output_schema(self.door.dialect.output_schema)
            .with_prompt_caching(caching)
            .with_thinking_handler(Arc::new(ResponsesThinking))
            .with_streams(self.door.streams)
    }

    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, false).await?;
        let (headers, body) = self.door.transport.ask(http, &finish.scene, cx, refusal::read_refusal).await?;
        items::from_wire(&body, &headers, &finish)
    }

    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        if !self.door.streams {
            return None;
        }
        Some(self.open(request, cx).await)
    }
}

/// Names and addresses, never the key.
impl fmt::Debug for OpenAiResponses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiResponses")
            .field("name", &self.door.name)
            .field("key", &self.door.key)
            .field("url", &crate::http::door(&self.url))
            .finish_non_exhaustive()
    }
}

//! OpenAI's Chat Completions, Azure's deployments of it, and the many servers that speak the same wire.
//!
//! | who answers | how to build it |
//! |---|---|
//! | OpenAI | [`OpenAi::from_env`], or [`OpenAi::builder`] with a key |
//! | a compatible server | [`OpenAi::builder`] with a base URL |
//! | Azure OpenAI | [`OpenAi::azure`] |
//! | any of them, through the Responses API | [`OpenAiBuilder::build_responses`] |
//!
//! What the wire cannot say is refused before anything is sent; what it says oddly is read generously where the
//! meaning is certain (see `gather.rs`) and refused where it is not. Two differences between request and wire are
//! deliberate: an assistant turn with neither text nor calls is left out, since this wire rejects it, and a wish to
//! think is not sent, since these models reason by themselves ([`OpenAiBuilder::reasoning_effort`] says how hard).

mod assembler;
mod base_url;
mod builder;
mod gather;
mod refusal;
mod request;
mod response;
pub mod responses;
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
use url::Url;

pub use builder::OpenAiBuilder;
pub use responses::OpenAiResponses;
pub use thinking::OpenAiThinking;

use self::assembler::ChatAssembler;
use self::request::Dialect;
use crate::credential::{key_for, key_header};
use crate::finish::Finish;
use crate::frames::SseFramer;
use crate::http::{AnswerMachine, HttpRequest, Identity, Method, Scene, Sniffing, Transport};
use crate::ids::InventedIds;
use crate::key::Redactor;
use crate::{EnvVars, Key, MalformedArgs};

/// Chat Completions, spoken by OpenAI, Azure and compatible servers.
///
/// ```no_run
/// use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest};
/// use agentfootprint_providers::OpenAi;
///
/// # async fn run() -> Result<(), agentfootprint_core::llm::LlmError> {
/// let openai = OpenAi::from_env()?; // OPENAI_API_KEY, and OPENAI_BASE_URL if set
/// let request = LlmRequest::new("gpt-4o-mini").user("What is a flowchart?");
/// let answer = openai.complete(&request, &CallCx::detached()).await?;
/// println!("{}", answer.content);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct OpenAi {
    name: String,
    identity: Identity,
    key: Key,
    api_key_header: bool,
    organization: Option<String>,
    default_model: String,
    target: Target,
    dialect: Dialect,
    reports_usage: bool,
    streams: bool,
    malformed_args: MalformedArgs,
    transport: Transport,
    ids: Arc<InventedIds>,
}

#[derive(Clone)]
enum Target {
    Chat { url: Url },
    Azure { endpoint: Url, deployment: String, api_version: String },
}

impl OpenAi {
    /// Reads `OPENAI_API_KEY`, and when they are set `OPENAI_BASE_URL` and `OPENAI_ORGANIZATION`.
    ///
    /// # Errors
    /// When there is no key, or the address is none; the message says what to set.
    pub fn from_env() -> Result<OpenAi, LlmError> {
        OpenAi::from_env_vars(EnvVars::process())
    }

    /// The same from given variables.
    ///
    /// # Errors
    /// As [`OpenAi::from_env`].
    ///
    /// ```
    /// use agentfootprint_providers::{EnvVars, OpenAi};
    ///
    /// let missing = OpenAi::from_env_vars(EnvVars::from_pairs([("HOME", "/root")])).unwrap_err();
    /// assert!(missing.to_string().contains("OPENAI_API_KEY"));
    /// ```
    pub fn from_env_vars(env: EnvVars) -> Result<OpenAi, LlmError> {
        OpenAiBuilder::default().env(env).address_from_env().build()
    }

    /// A provider with explicit settings. Only a missing key is looked for in the environment.
    pub fn builder() -> OpenAiBuilder {
        OpenAiBuilder::default()
    }

    /// Azure: settings that are not given are read from `AZURE_OPENAI_ENDPOINT`, `AZURE_OPENAI_API_KEY`,
    /// `AZURE_OPENAI_API_VERSION` and `AZURE_OPENAI_DEPLOYMENT`.
    ///
    /// ```
    /// use agentfootprint_core::llm::LlmProvider;
    /// use agentfootprint_providers::OpenAi;
    ///
    /// let azure = OpenAi::azure()
    ///     .endpoint("https://my-resource.openai.azure.com")
    ///     .deployment("my-gpt-4o")
    ///     .api_version("2024-10-21")
    ///     .key("…")
    ///     .build()?;
    /// assert_eq!(azure.name(), "azure-openai");
    /// # Ok::<(), agentfootprint_core::llm::LlmError>(())
    /// ```
    pub fn azure() -> OpenAiBuilder {
        OpenAiBuilder::azure()
    }

    /// The model id of a request, with shorthands resolved.
    fn resolve_model(&self, asked: &str) -> String {
        match (&self.target, asked) {
            (Target::Azure { deployment, .. }, "azure" | "azure-openai" | "openai") => deployment.clone(),
            (Target::Chat { .. }, "openai") => self.default_model.clone(),
            _ => asked.to_owned(),
        }
    }

    fn url(&self, model: &str) -> Url {
        match &self.target {
            Target::Chat { url } => url.clone(),
            Target::Azure { endpoint, api_version, .. } => {
                base_url::azure_deployment(endpoint, model, api_version)
            }
        }
    }

    /// Everything that can be refused is refused here, before anything is sent.
    async fn prepare(&self, request: &LlmRequest, cx: &CallCx, stream: bool) -> Result<Prepared, LlmError> {
        let model = self.resolve_model(&request.model);
        let url = self.url(&model);
        // Until a key is resolved there is none to redact.
        let keyless = Scene::new(&self.identity, &model, &url, Redactor::default(), request);
        if model.trim().is_empty() {
            let message = "the request names no model; set one, for instance gpt-4o-mini";
            return Err(keyless.error(LlmErrorKind::Refused, message));
        }
        let key = key_for(&self.key, &keyless, cx, "OPENAI_API_KEY").await?;
        let scene = Scene::new(&self.identity, &model, &url, Redactor::of(key.as_ref()), request);
        let body = request::to_wire(request, &model, &self.dialect, stream)
            .map_err(|(kind, message)| scene.error(kind, message))?;
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
        if let Some(key) = key {
            if self.api_key_header {
                headers.insert("api-key", key_header("", key, scene)?);
            } else {
                headers.insert("authorization", key_header("Bearer ", key, scene)?);
            }
        }
        if let Some(organization) = &self.organization {
            let organization = HeaderValue::from_str(organization).map_err(|_| {
                let message = "the organization holds characters no header can carry; take them out";
                scene.error(LlmErrorKind::Refused, message)
            })?;
            headers.insert("openai-organization", organization);
        }
        Ok(headers)
    }

    async fn open(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmStream, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, true).await?;
        let scene = finish.scene.clone();
        let response = self.transport.open(http, &scene, cx, refusal::read_refusal).await?;
        let bounds = self.transport.bounds;
        let framer = Box::new(SseFramer::new(bounds.frame));
        let assembler = ChatAssembler::new(finish);
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
impl LlmProvider for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        let caching = self.reports_usage.then_some(PromptCaching::Automatic { reports_usage: true });
        Capabilities::default()
            .carrying(RoleSet::ALL)
            .with_forced_tool_choice(self.dialect.forced_tool_choice)
            .with_output_schema(self.dialect.output_schema)
            .with_prompt_caching(caching)
            .with_thinking_handler(Arc::new(OpenAiThinking))
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
impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("name", &self.name)
            .field("key", &self.key)
            .field("url", &crate::http::door(&self.url(&self.default_model)))
            .finish_non_exhaustive()
    }
}

//! Amazon Bedrock's Converse API: one wire for the models of many vendors.
//!
//! ```no_run
//! use agentfootprint_core::llm::{CallCx, LlmProvider, LlmRequest};
//! use agentfootprint_providers::Bedrock;
//!
//! # async fn run() -> Result<(), agentfootprint_core::llm::LlmError> {
//! let bedrock = Bedrock::builder().region("us-east-1").build()?;
//! let request = LlmRequest::new("amazon.nova-lite-v1:0").user("What is a flowchart?");
//! println!("{}", bedrock.complete(&request, &CallCx::detached()).await?.content);
//! # Ok(()) }
//! ```
//!
//! Requests are signed with AWS's own `aws-sigv4`, streams are framed with `aws-smithy-eventstream`, and everything
//! between goes through this crate's transport: one attempt, its deadlines, its bounds. Credentials come, in this
//! order, from [`BedrockBuilder::key`] (a Bedrock API key) or [`BedrockBuilder::credentials`] (anything that provides
//! AWS credentials), from `AWS_BEARER_TOKEN_BEDROCK`, from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, and with
//! the feature `bedrock-config` from AWS's default chain (profiles, SSO, containers, instances).
//!
//! What the wire demands is done to the request and nothing else: turns of one role that follow each other become one
//! turn, tool results stand before text in theirs, blank texts and empty turns are left out, and a request without
//! tools renders the calls and results of its history as text. Turns of the role `system` inside the conversation are
//! not declared and not sent. Reasoning goes back only where it is signed or encrypted.

mod assembler;
mod builder;
pub(crate) mod credentials;
mod family;
mod gather;
mod refusal;
mod request;
mod sign;
#[cfg(test)]
mod tests;
mod turns;

use std::fmt;
use std::sync::Arc;

use agentfootprint_core::llm::{
    CallCx, Capabilities, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, LlmStream,
    PromptCaching,
};
use async_trait::async_trait;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderMap, HeaderValue};
use url::Url;

pub use builder::BedrockBuilder;
pub use family::BedrockThinking;

use self::assembler::ConverseAssembler;
use self::credentials::{Auth, Proof};
use self::request::Settings;
use crate::finish::Finish;
use crate::frames::EventStreamFramer;
use crate::http::{AnswerMachine, HttpRequest, Identity, Method, Scene, Sniffing, Transport};
use crate::ids::InventedIds;
use crate::key::Redactor;
use crate::{EnvVars, MalformedArgs};

/// What stays itself in a path segment; a model id may hold `:` and an ARN `/`.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Converse and ConverseStream.
#[derive(Clone)]
pub struct Bedrock {
    name: String,
    identity: Identity,
    auth: Auth,
    region: String,
    endpoint: Url,
    default_model: String,
    settings: Settings,
    streams: bool,
    malformed_args: MalformedArgs,
    transport: Transport,
    ids: Arc<InventedIds>,
}

impl Bedrock {
    /// Region and credentials from the environment.
    ///
    /// # Errors
    /// When no region or no credential is set; the message says what to set.
    pub fn from_env() -> Result<Bedrock, LlmError> {
        Bedrock::builder().build()
    }

    /// Region and credentials from a given environment.
    ///
    /// # Errors
    /// When no region or no credential is set; the message says what to set.
    ///
    /// ```
    /// use agentfootprint_providers::{Bedrock, EnvVars};
    ///
    /// let missing = Bedrock::from_env_vars(EnvVars::from_pairs([("HOME", "/root")])).unwrap_err();
    /// assert!(missing.to_string().contains("AWS_REGION"));
    /// ```
    pub fn from_env_vars(env: EnvVars) -> Result<Bedrock, LlmError> {
        Bedrock::builder().env(env).build()
    }

    /// A provider with explicit settings; region and credentials not given are looked for in the environment.
    pub fn builder() -> BedrockBuilder {
        BedrockBuilder::default()
    }

    /// Who is calling, from where, through what: for what else this vendor offers.
    #[cfg(feature = "embed-bedrock")]
    pub(crate) fn door(&self) -> (Identity, Auth, String, Url, Transport) {
        let Bedrock { identity, auth, region, endpoint, transport, .. } = self;
        (identity.clone(), auth.clone(), region.clone(), endpoint.clone(), transport.clone())
    }

    fn resolve_model(&self, asked: &str) -> String {
        if asked == "bedrock" { self.default_model.clone() } else { asked.to_owned() }
    }

    fn url(&self, model: &str, stream: bool) -> Url {
        operation_url(&self.endpoint, model, if stream { "converse-stream" } else { "converse" })
    }

    /// Everything that can be refused is refused here, before anything is sent.
    async fn prepare(&self, request: &LlmRequest, cx: &CallCx, stream: bool) -> Result<Prepared, LlmError> {
        let model = self.resolve_model(&request.model);
        let url = self.url(&model, stream);
        let keyless = Scene::new(&self.identity, &model, &url, Redactor::default(), request);
        if model.trim().is_empty() {
            let message = "the request names no model; set one, for instance amazon.nova-lite-v1:0";
            return Err(keyless.error(LlmErrorKind::Refused, message));
        }
        let proof = self.auth.resolve(&keyless, cx).await?;
        let scene = Scene::new(&self.identity, &model, &url, proof.redactor(), request);
        let body = request::to_wire(request, &model, &self.settings)
            .map_err(|(kind, message)| scene.error(kind, message))?;
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let accept = if stream { "application/vnd.amazon.eventstream" } else { "application/json" };
        headers.insert("accept", HeaderValue::from_static(accept));
        prove(&mut headers, &url, &body, &proof, &self.region, &scene, cx)?;
        let finish = Finish {
            tool_names: request::tool_names(&body),
            scene,
            malformed_args: self.malformed_args,
            provider: self.name.clone(),
            ids: self.ids.clone(),
        };
        Ok(Prepared { http: HttpRequest { method: Method::Post, url, headers, body: body.into() }, finish })
    }

    async fn open(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmStream, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, true).await?;
        let scene = finish.scene.clone();
        let response = self.transport.open(http, &scene, cx, refusal::read_refusal).await?;
        let bounds = self.transport.bounds;
        let framer = Box::new(EventStreamFramer::new(bounds.frame));
        let assembler = ConverseAssembler::new(finish, gather::request_id(&response.headers));
        // No frame starts like a body: its first byte is that of a length within the bound.
        let machine = AnswerMachine::new(framer, assembler, Sniffing::PlainBody, bounds.body, scene.clone());
        Ok(self.transport.stream(response, machine, scene, cx.clone()))
    }
}

/// Puts the proof of who is calling into the headers.
pub(crate) fn prove(
    headers: &mut HeaderMap,
    url: &Url,
    body: &[u8],
    proof: &Proof,
    region: &str,
    scene: &Scene,
    cx: &CallCx,
) -> Result<(), LlmError> {
    match proof {
        Proof::Bearer(key) => {
            headers.insert("authorization", crate::credential::key_header("Bearer ", key, scene)?);
            Ok(())
        }
        Proof::Signature(credentials) => {
            sign::sign(headers, url, body, credentials, region, cx.clock().now_ms())
                .map_err(|message| scene.error(LlmErrorKind::NoCredential, message))
        }
    }
}

/// The address of one operation of a model.
pub(crate) fn operation_url(endpoint: &Url, model: &str, operation: &str) -> Url {
    let mut url = endpoint.clone();
    let base = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{base}/model/{}/{operation}", utf8_percent_encode(model, SEGMENT)));
    url
}

/// A request, ready to be sent.
struct Prepared {
    http: HttpRequest,
    finish: Finish,
}

#[async_trait]
impl LlmProvider for Bedrock {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        let model = self.resolve_model(model);
        let caching = self
            .settings
            .caching(&model)
            .then_some(PromptCaching::Breakpoints { max_breakpoints: 4, reports_usage: true });
        Capabilities::default()
            .with_forced_tool_choice(true)
            .with_prompt_caching(caching)
            .with_thinking_handler(Arc::new(BedrockThinking))
            .with_thinking_mode(self.settings.thinking_mode(&model))
            .with_streams(self.streams)
    }

    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let Prepared { http, finish } = self.prepare(request, cx, false).await?;
        let (headers, body) = self.transport.ask(http, &finish.scene, cx, refusal::read_refusal).await?;
        gather::from_wire(&body, &headers, &finish)
    }

    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        if !self.streams {
            return None;
        }
        Some(self.open(request, cx).await)
    }
}

/// Names and addresses, never a key.
impl fmt::Debug for Bedrock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bedrock")
            .field("name", &self.name)
            .field("auth", &self.auth)
            .field("region", &self.region)
            .field("endpoint", &crate::http::door(&self.endpoint))
            .finish_non_exhaustive()
    }
}

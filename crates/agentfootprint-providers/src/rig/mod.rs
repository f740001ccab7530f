//! Any completion model of the [rig-core](rig_core) crate behind our port.
//!
//! rig reaches vendors we have no adapter for, and models that live in a process of their own. [`Rig`] takes such a model,
//! erased or not, and asks it like any provider of ours: text, tools, forced tools, reasoning, usage, streams, typed errors.
//!
//! ```
//! use agentfootprint_core::llm::LlmProvider;
//! use agentfootprint_providers::Rig;
//! use agentfootprint_providers::rig::rig_core::DynModel;
//! use agentfootprint_providers::rig::rig_core::operation::Completion;
//!
//! fn ours(theirs: DynModel<Completion>) -> impl LlmProvider {
//!     Rig::new(theirs)
//! }
//! # let _ = ours;
//! ```
//!
//! The model id `rig` asks for the model the rig handle was made for; another id is handed to rig as it is.
//!
//! | carried | how |
//! |---|---|
//! | reasoning | blocks of origin `rig`; rig's own item (signatures, encrypted content) travels in the block's signature |
//! | tool calls | rig's own item travels in the call's `providerMeta`, so that vendors which sign calls accept the next turn |
//! | wish to think | a reasoning budget; a model that takes none refuses before anything is sent |
//! | what was sent | nobody outside rig sees the final body, so no wire manifest is stated |
//!
//! rig builds its own HTTP client, with its own limits and its own key. What this bridge adds is the wait: the deadlines of
//! [`Deadlines`] apply to the answer as a whole, to the first item of a stream and to the gap between two. The key is rig's
//! secret; give it to [`Rig::redact`] too if a vendor might repeat it in an error.

mod answer;
mod refusal;
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod thinking;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentfootprint_core::llm::{
    CallCx, Capabilities, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, LlmStream,
    TimeoutPhase, Vendor,
};
use async_trait::async_trait;
pub use rig_core;
use rig_core::DynModel;
use rig_core::completion::CompletionRequest;
use rig_core::operation::Completion;
use secrecy::SecretString;

pub use thinking::RigThinking;

use crate::MalformedArgs;
use crate::finish::Finish;
use crate::http::{Deadlines, Identity, Scene, or_cancelled, within};
use crate::ids::InventedIds;
use crate::key::Redactor;

/// The model id that means "the one the rig handle was made for".
const SHORTHAND: &str = "rig";

type Adjust = Arc<dyn Fn(CompletionRequest) -> CompletionRequest + Send + Sync>;

/// A completion model of rig as one of our providers.
#[derive(Clone)]
pub struct Rig {
    model: DynModel<Completion>,
    name: String,
    identity: Identity,
    redactor: Redactor,
    deadlines: Deadlines,
    malformed_args: MalformedArgs,
    forced_tool_choice: Option<bool>,
    streams: bool,
    adjust: Option<Adjust>,
    ids: Arc<InventedIds>,
}

impl Rig {
    /// A provider named after rig's own: `rig-openai`, `rig-mistral`, and so on.
    pub fn new(model: impl Into<DynModel<Completion>>) -> Self {
        let model = model.into();
        let name = format!("rig-{}", model.name());
        Rig {
            model,
            identity: identity(&name),
            name,
            redactor: Redactor::default(),
            deadlines: Deadlines { total: Some(Duration::from_secs(600)), ..Deadlines::default() },
            malformed_args: MalformedArgs::default(),
            forced_tool_choice: None,
            streams: true,
            adjust: None,
            ids: Arc::new(InventedIds::new("rig")),
        }
    }

    /// The recorded name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.identity = identity(&self.name);
        self
    }

    /// A text that must appear in no error, because a vendor may repeat the key it was given. Shorter ones than 8 bytes
    /// are left alone.
    #[must_use]
    pub fn redact(mut self, key: impl Into<SecretString>) -> Self {
        self.redactor = Redactor::of(Some(&key.into()));
        self
    }

    /// How long to wait: `total` for a whole answer (10 minutes unless given), `headers` for the first item of a stream,
    /// `idle` between two of its items. `connect` is rig's own business.
    #[must_use]
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// What happens to tool arguments that are no JSON object.
    #[must_use]
    pub fn malformed_args(mut self, policy: MalformedArgs) -> Self {
        self.malformed_args = policy;
        self
    }

    /// Whether the model can be forced to call one tool; without it, what the rig model declares.
    #[must_use]
    pub fn forced_tool_choice(mut self, carried: bool) -> Self {
        self.forced_tool_choice = Some(carried);
        self
    }

    /// Whether to stream; on unless switched off.
    #[must_use]
    pub fn streaming(mut self, streams: bool) -> Self {
        self.streams = streams;
        self
    }

    /// Changes each request before rig gets it: provider options, service tiers, seeds.
    #[must_use]
    pub fn with_request(
        mut self,
        adjust: impl Fn(CompletionRequest) -> CompletionRequest + Send + Sync + 'static,
    ) -> Self {
        self.adjust = Some(Arc::new(adjust));
        self
    }

    /// What is asked of rig, and what the end of the answer needs.
    fn prepare(&self, request: &LlmRequest) -> Result<(CompletionRequest, Finish), LlmError> {
        let own = self.model.id().unwrap_or_default();
        let asked = Some(&*request.model).filter(|model| *model != SHORTHAND && !model.trim().is_empty());
        let door = format!("{} (through rig)", self.model.name());
        let scene = Scene::behind(
            &self.identity,
            asked.unwrap_or(own),
            self.redactor.redact(&door).into_owned(),
            self.model.name().to_owned(),
            self.redactor.clone(),
            request,
        );
        let built = request::to_rig(request, asked).map_err(|(kind, message)| scene.error(kind, message))?;
        let built = match &self.adjust {
            Some(adjust) => adjust(built),
            None => built,
        };
        let finish = Finish {
            scene,
            tool_names: None,
            malformed_args: self.malformed_args,
            provider: self.name.clone(),
            ids: self.ids.clone(),
        };
        Ok((built, finish))
    }
}

/// Who speaks in errors.
fn identity(name: &str) -> Identity {
    Identity {
        adapter: name.to_owned().into(),
        vendor: Vendor::Other,
        key_hint: "check the key the rig client was built with",
        address_hint: "check the base URL the rig client was built with, and the model id",
    }
}

#[async_trait]
impl LlmProvider for Rig {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        let declared = !self.model.capabilities().completion.rejects_forced_tool_choice;
        Capabilities::default()
            .with_forced_tool_choice(self.forced_tool_choice.unwrap_or(declared))
            .with_thinking_handler(Arc::new(RigThinking))
            .with_streams(self.streams)
    }

    async fn complete(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        let (request, finish) = self.prepare(request)?;
        let scene = &finish.scene;
        let call = async {
            self.model
                .call(request)
                .await
                .map_err(|error| refusal::error_of(error, scene, refusal::Door::Plain, cx.clock().now_ms()))
        };
        let bounded = async {
            match self.deadlines.total {
                Some(total) => within(total, TimeoutPhase::Total, scene, call).await,
                None => call.await,
            }
        };
        let answer = or_cancelled(cx, scene, bounded).await?;
        let content = answer.text();
        answer::response(answer, content, LlmErrorKind::UnreadableResponse, &finish)
    }

    async fn stream(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        if !self.streams {
            return None;
        }
        let (request, finish) = match self.prepare(request) {
            Ok(prepared) => prepared,
            Err(error) => return Some(Err(error)),
        };
        if cx.is_cancelled() {
            return Some(Err(finish.scene.aborted()));
        }
        let opened = self.model.stream(request);
        let now_ms = cx.clock().now_ms();
        let opened =
            opened.map_err(|error| refusal::error_of(error, &finish.scene, refusal::Door::Stream, now_ms));
        Some(opened.map(|reading| stream::chunks(reading, finish, self.deadlines, cx.clone())))
    }
}

/// Names, never a key.
impl fmt::Debug for Rig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rig")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("redactor", &self.redactor)
            .finish_non_exhaustive()
    }
}

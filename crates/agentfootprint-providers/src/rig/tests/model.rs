//! A rig model that says what a test wrote down, through rig's own driver.

use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use rig_core::completion::history::{Accepts, ReplayTarget};
use rig_core::completion::options::{Mapping, OptionFields, OptionMap};
use rig_core::completion::{CompletionRequest, FinishReason, ProviderCapabilities, Usage};
use rig_core::driver::{Exchange, Model, Opened, Opening, Transport};
use rig_core::error::{EncodeError, ProviderError};
use rig_core::message::{Api, CallId, ToolName};
use rig_core::operation::{Block, Completion, Finish};
use rig_core::wire::document::{Reassemble, Serves};
use rig_core::wire::{Capabilities, Decoder, Descriptor, Flow, Mode, Out, Wire, WireEvent};
use serde_json::Value as Json;

/// One frame of a scripted answer.
#[derive(Debug, Clone)]
pub(super) enum Say {
    Text(&'static str),
    Think(&'static str),
    /// A whole reasoning item with what the vendor wants back.
    Signed(&'static str, Json),
    /// Id, name and arguments; an empty id is one the vendor did not send.
    Call(&'static str, &'static str, &'static str),
    /// The same with the vendor's item.
    SignedCall(&'static str, &'static str, &'static str, Json),
    Fail(ProviderError),
    /// Nothing comes any more, and the connection stays open.
    Stall,
    End(Option<FinishReason>, Usage),
}

#[derive(Clone)]
pub(super) struct Scripted {
    script: Arc<Vec<Say>>,
    asked: Arc<Mutex<Vec<(CompletionRequest, Mode)>>>,
    target: Target,
    forced: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Target {
    reasons: bool,
}

impl Scripted {
    pub(super) fn new(script: Vec<Say>) -> Self {
        let target = Target { reasons: true };
        Scripted { script: Arc::new(script), asked: Arc::default(), target, forced: true }
    }

    pub(super) fn without_reasoning(mut self) -> Self {
        self.target.reasons = false;
        self
    }

    pub(super) fn without_forced_tools(mut self) -> Self {
        self.forced = false;
        self
    }

    pub(super) fn model(&self) -> Model<Scripted, Scripted> {
        Model::new(self.clone(), self.clone())
    }

    pub(super) fn asked(&self) -> Vec<(CompletionRequest, Mode)> {
        self.asked.lock().unwrap().clone()
    }
}

impl ReplayTarget for Target {
    fn api(&self) -> Api {
        Api::from_static("scripted.chat")
    }
    fn provider(&self) -> &str {
        "scripted"
    }
    fn model(&self) -> &str {
        "scripted-1"
    }
    fn accepts(&self, _model: &str) -> Accepts {
        Accepts::TEXT
    }
    fn call_id_slot(&self) -> Option<&'static str> {
        Some("/id")
    }
    fn map_options(&self, _request: &CompletionRequest, fields: OptionFields<'_>) -> OptionMap {
        let no = |set: bool| if set { Mapping::unsupported("not in the script") } else { Mapping::Nothing };
        let OptionFields {
            reasoning,
            cache,
            service_tier,
            verbosity,
            parallel_tool_calls,
            top_p,
            seed,
            stop,
        } = fields;
        OptionMap {
            reasoning: match reasoning {
                Some(_) if self.reasons => Mapping::Send(serde_json::json!({ "think": true })),
                other => no(other.is_some()),
            },
            cache: no(cache.is_some()),
            service_tier: no(service_tier.is_some()),
            verbosity: no(verbosity.is_some()),
            parallel_tool_calls: no(parallel_tool_calls.is_some()),
            top_p: no(top_p.is_some()),
            seed: no(seed.is_some()),
            stop: Mapping::of_stop(stop, |stop| Mapping::Send(serde_json::json!({ "stop": stop }))),
        }
    }
}

impl Wire for Scripted {
    type Op = Completion;
    type Payload = CompletionRequest;
    type Frame = Say;
    type Decoder<'id> = Says;
    type Reassembler = NoDocument;

    fn describe(&self) -> Descriptor<'_> {
        let completion = ProviderCapabilities::new().with_forced_tool_choice_rejected(!self.forced);
        Descriptor::new("scripted")
            .model("scripted-1")
            .replay(&self.target)
            .capabilities(Capabilities::completion(completion))
    }

    fn encode(&self, request: CompletionRequest, _mode: Mode) -> Result<CompletionRequest, EncodeError> {
        Ok(request)
    }

    fn decoder<'id>(&self) -> Self::Decoder<'id> {
        Says
    }
}

impl Transport<Scripted> for Scripted {
    fn send(&self, payload: CompletionRequest, exchange: Exchange) -> Opening<Say> {
        self.asked.lock().unwrap().push((payload, exchange.mode));
        let script: Vec<Say> = self.script.to_vec();
        let frames = stream::iter(script).then(|say| async move {
            match say {
                Say::Fail(error) => Err(error),
                Say::Stall => std::future::pending().await,
                say => Ok(say),
            }
        });
        Opening::ready(Opened::new(frames))
    }
}

#[derive(Debug, Default)]
pub(super) struct Says;

impl<'id> Decoder<'id, Completion, Say> for Says {
    type Event = Say;

    fn classify(&self, say: Say) -> WireEvent<Say> {
        WireEvent::Known(say)
    }

    fn decode(&mut self, say: Say, mut out: Out<'id, Completion>) -> Result<Flow, ProviderError> {
        match say {
            Say::Text(text) => {
                out.run(Block::Text, text)?;
            }
            Say::Think(text) => {
                out.run(Block::Reasoning { redacted: false }, text)?;
            }
            Say::Signed(text, item) => {
                out.end_run()?;
                let index = out.fresh_index();
                out.whole(index, Block::Reasoning { redacted: text.is_empty() }, item, text)?;
            }
            Say::Call(id, name, args) => call(&mut out, id, name, args, Json::Null)?,
            Say::SignedCall(id, name, args, item) => call(&mut out, id, name, args, item)?,
            Say::Fail(error) => return Err(error),
            Say::Stall => {}
            Say::End(reason, usage) => {
                let response_id = Some("resp-1".to_owned());
                return Ok(out.end(Finish { usage, reason, response_id, ..Finish::default() }));
            }
        }
        Ok(Flow::More)
    }
}

fn call(
    out: &mut Out<'_, Completion>,
    id: &str,
    name: &str,
    args: &str,
    item: Json,
) -> Result<(), ProviderError> {
    out.end_run()?;
    let index = out.fresh_index();
    let block = Block::Call { id: CallId::from_wire(id), name: ToolName::new(name).unwrap() };
    out.whole(index, block, item, args)
}

#[derive(Debug, Default)]
pub(super) struct NoDocument;

impl Reassemble<Say> for NoDocument {
    fn absorb(&mut self, _frame: &Say) {}
    fn finish(self) -> Json {
        Json::Null
    }
}

impl Serves<Completion> for NoDocument {}

use std::fmt;
use std::sync::Arc;

use agentfootprint_core::llm::{
    CallCx, Capabilities, LlmDecorator, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse,
    LlmStream, ResilienceReport, tag_thinking,
};
use async_trait::async_trait;
use footprint::value::Str;

use super::opening::{as_stream, begin, map_response};
use super::refused;

type ShouldFallBack = Arc<dyn Fn(&LlmError) -> bool + Send + Sync>;

/// Who is asked instead, and for which model.
///
/// A model id belongs to a vendor, so an arm states its own. [`FallbackArm::same_models`] says that the ids of the
/// request mean the same there: another region, another key, a gateway to the same vendor.
#[derive(Clone)]
pub struct FallbackArm {
    provider: Arc<dyn LlmProvider>,
    model: Option<Str>,
}

impl FallbackArm {
    /// An arm that is asked for `model`.
    pub fn new(provider: impl LlmProvider, model: impl Into<Str>) -> Self {
        FallbackArm { provider: Arc::new(provider), model: Some(model.into()) }
    }

    /// An arm that knows the same model ids.
    pub fn same_models(provider: impl LlmProvider) -> Self {
        FallbackArm { provider: Arc::new(provider), model: None }
    }
}

impl fmt::Debug for FallbackArm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallbackArm")
            .field("provider", &self.provider.name())
            .field("model", &self.model)
            .finish()
    }
}

/// Asks the arm when `primary` fails: by default after anything but a cancelled call and an error that was refused
/// before sending. A stream falls back until its first chunk.
///
/// # Errors
/// When the arm's model is blank.
pub fn with_fallback(primary: impl LlmProvider, arm: FallbackArm) -> Result<Fallback, LlmError> {
    let name = format!("{}|{}", primary.name(), arm.provider.name());
    if arm.model.as_deref().is_some_and(|model| model.trim().is_empty()) {
        let message =
            "the model of the fallback is blank; name one its vendor knows, or use FallbackArm::same_models";
        return Err(refused(&name, message));
    }
    Ok(Fallback { primary: Arc::new(primary), arm, name, should_fall_back: Arc::new(by_default) })
}

/// Several arms, asked one after the other: the pair of the first and the chain of the rest, and so on.
///
/// # Errors
/// When there is no arm, or the model of one is blank.
pub fn fallback_chain(
    primary: impl LlmProvider,
    arms: impl IntoIterator<Item = FallbackArm>,
) -> Result<Fallback, LlmError> {
    let mut arms: Vec<FallbackArm> = arms.into_iter().collect();
    let Some(mut last) = arms.pop() else {
        return Err(refused(primary.name(), "a fallback chain needs at least one arm"));
    };
    while let Some(arm) = arms.pop() {
        // The inner pair is asked for the model of its own first member.
        let FallbackArm { provider, model } = arm;
        last = FallbackArm { provider: Arc::new(with_fallback(provider, last)?), model };
    }
    with_fallback(primary, last)
}

fn by_default(error: &LlmError) -> bool {
    !matches!(error.kind, LlmErrorKind::Aborted) && !error.refused_before_send()
}

/// See [`with_fallback`].
pub struct Fallback {
    primary: Arc<dyn LlmProvider>,
    arm: FallbackArm,
    name: String,
    should_fall_back: ShouldFallBack,
}

impl Fallback {
    /// Another name than `<a>|<b>`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Decides in place of the default. A cancelled call is never passed on.
    #[must_use]
    pub fn should_fall_back(mut self, decide: impl Fn(&LlmError) -> bool + Send + Sync + 'static) -> Self {
        self.should_fall_back = Arc::new(decide);
        self
    }

    /// The request as the arm gets it: nothing but the model differs.
    fn for_arm(&self, request: &LlmRequest) -> LlmRequest {
        let mut request = request.clone();
        if let Some(model) = &self.arm.model {
            request.model = model.clone();
        }
        request
    }

    fn arm_model<'a>(&'a self, model: &'a str) -> &'a str {
        self.arm.model.as_deref().unwrap_or(model)
    }

    /// Passes the call on and says so, unless the failure stays where it is.
    fn pass_on(&self, error: LlmError, cx: &CallCx) -> Result<(), LlmError> {
        let aborted = cx.is_cancelled() || matches!(error.kind, LlmErrorKind::Aborted);
        if aborted || !(self.should_fall_back)(&error) {
            return Err(error);
        }
        cx.report(&ResilienceReport::FellBack {
            primary: self.primary.name().to_owned(),
            fallback: self.arm.provider.name().to_owned(),
            reason: error.to_string(),
        });
        Ok(())
    }

    /// How the thinking of one member is marked, so that the pair's handler knows whose it is: not at all when both
    /// have the same handler, or when the member is a pair and has marked it.
    fn mark(&self, request: &LlmRequest, from_arm: bool) -> Option<String> {
        let id = |capabilities: Capabilities| Some(capabilities.thinking_handler?.id().to_owned());
        let primary = id(self.primary.capabilities(&request.model))?;
        let arm = id(self.arm.provider.capabilities(self.arm_model(&request.model)))?;
        if primary == arm {
            return None;
        }
        Some(if from_arm { arm } else { primary }).filter(|id| !id.contains('|'))
    }
}

fn marked(mut response: LlmResponse, mark: Option<&str>) -> LlmResponse {
    if let Some(handler) = mark {
        response.raw_thinking = response.raw_thinking.map(|raw| tag_thinking(handler, raw));
    }
    response
}

#[async_trait]
impl LlmDecorator for Fallback {
    fn inner(&self) -> &dyn LlmProvider {
        &*self.primary
    }

    fn label(&self) -> &str {
        &self.name
    }

    fn declare(&self, model: &str) -> Capabilities {
        let arm = self.arm.provider.capabilities(self.arm_model(model));
        self.primary.capabilities(model).paired_with(&arm)
    }

    async fn call(&self, request: &LlmRequest, cx: &CallCx) -> Result<LlmResponse, LlmError> {
        match self.primary.complete(request, cx).await {
            Ok(response) => Ok(marked(response, self.mark(request, false).as_deref())),
            Err(error) => {
                self.pass_on(error, cx)?;
                let response = self.arm.provider.complete(&self.for_arm(request), cx).await?;
                Ok(marked(response, self.mark(request, true).as_deref()))
            }
        }
    }

    async fn call_streaming(&self, request: &LlmRequest, cx: &CallCx) -> Option<Result<LlmStream, LlmError>> {
        let with_mark = |stream: LlmStream, mark: Option<String>| match mark {
            Some(mark) => map_response(stream, move |response| marked(response, Some(&mark))),
            None => stream,
        };
        // A primary that merely does not stream is asked for its whole answer by the caller.
        match begin(&*self.primary, request, cx).await? {
            Ok(begun) => Some(Ok(with_mark(begun.into_stream(), self.mark(request, false)))),
            Err(error) => {
                if let Err(error) = self.pass_on(error, cx) {
                    return Some(Err(error));
                }
                let passed_on = self.for_arm(request);
                let stream = match begin(&*self.arm.provider, &passed_on, cx).await {
                    Some(begun) => begun.map(|begun| begun.into_stream()),
                    None => self.arm.provider.complete(&passed_on, cx).await.map(as_stream),
                };
                Some(stream.map(|stream| with_mark(stream, self.mark(request, true))))
            }
        }
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").field("name", &self.name).field("arm", &self.arm).finish_non_exhaustive()
    }
}

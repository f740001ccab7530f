//! Step 11: the credential a tool declared, and the one it pulls itself.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use agentfootprint_record::events::payload::{
    CredentialAcquired, CredentialAuthorizationRequired, CredentialFailed, CredentialRequested,
};
use agentfootprint_record::events::words::CredentialMode;
use footprint::error::StageError;
use footprint::value::Str;
use futures_util::FutureExt as _;

use super::batch::Batch;
use super::call::Attempt;
use super::door::Person;
use super::finish::Outcome;
use super::gates::Gated;
use super::pause::Pause;
use super::verdict::Verdict;
use crate::agent::OnAuthorizationRequired;
use crate::run::{StageCx, lock};
use crate::tools::credentials::{
    CredentialAccess, CredentialError, CredentialRequest, CredentialResponse, Secret,
};
use crate::tools::texts;

/// A consent that is still outstanding: the run may not end quietly on it (TOOL-53). Memory of the run, never state.
#[derive(Default)]
pub(crate) struct OutstandingConsent(Mutex<Vec<ConsentNeeded>>);

/// What a person has to consent to.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "read where a run ends on an outstanding consent (TOOL-53)")]
pub(crate) struct ConsentNeeded {
    pub(crate) service: Str,
    pub(crate) authorization_url: Secret,
    pub(crate) session_id: Str,
    pub(crate) tool: Str,
    pub(crate) iteration: u32,
}

impl OutstandingConsent {
    fn note(&self, needed: ConsentNeeded) {
        let mut list = lock(&self.0);
        list.retain(|other| other.service != needed.service);
        list.push(needed);
    }

    fn settle(&self, service: &str) {
        lock(&self.0).retain(|other| &*other.service != service);
    }

    /// The first consent nobody gave.
    #[expect(dead_code, reason = "read where a run ends on an outstanding consent (TOOL-53)")]
    pub(crate) fn first(&self) -> Option<ConsentNeeded> {
        lock(&self.0).first().cloned()
    }
}

/// What a tool gets as `ctx.credentials()`: a failed pull is on the record like a failed push (TOOL-52).
pub(super) fn access(cx: &StageCx, tool: &Str) -> CredentialAccess {
    let provider = cx.agent.tooling.credentials.clone();
    let (cx, tool) = (cx.clone(), tool.clone());
    CredentialAccess::new(
        provider,
        Some(Arc::new(move |service: &str, error: &CredentialError| failed(&cx, service, &tool, error))),
    )
}

fn failed(cx: &StageCx, service: &str, tool: &Str, error: &CredentialError) {
    cx.emit(|| {
        let mut event = CredentialFailed::new(service, error.reason.as_str());
        event.tool = Some(tool.clone());
        event.error_class = error.class.clone();
        event
    });
}

/// Vends what the tool's `needs` declares; the attempt may execute afterwards, or not.
pub(super) async fn vend(batch: &Batch, attempt: &mut Attempt) -> Result<Gated, StageError> {
    let cx = &batch.cx;
    let Some(needs) = attempt.resolved.tool().and_then(|tool| tool.declared().needs.clone()) else {
        return Ok(Gated::Execute);
    };
    let (tool, service) = (attempt.call.name.clone(), needs.credential.clone());
    cx.emit(|| {
        let mut event = CredentialRequested::new(service.clone());
        event.mode = needs.mode.clone();
        event
    });
    let identity = cx.run.identity().value();
    let mut request = CredentialRequest::new(service.clone());
    request.scopes = needs.scopes;
    request.mode = needs.mode.unwrap_or(CredentialMode::Machine);
    request.tenant = identity.tenant.clone();
    request.principal = identity.principal.clone();
    let answer = match &cx.agent.tooling.credentials {
        Some(provider) => {
            let asked = AssertUnwindSafe(provider.get_credential(request)).catch_unwind();
            cx.unless_cancelled(asked)
                .await?
                .unwrap_or_else(|_| Err(CredentialError::new("the provider panicked")))
        }
        None => Err(CredentialError::unattached(&service)),
    };
    match answer {
        Ok(CredentialResponse::Issued { credential, expires_at }) => {
            cx.emit(|| {
                let mut event = CredentialAcquired::new(service.clone(), credential.kind());
                event.expires_at = expires_at;
                event
            });
            cx.turn.of::<OutstandingConsent>().settle(&service);
            attempt.credential = Some(credential);
            Ok(Gated::Execute)
        }
        Ok(CredentialResponse::AuthorizationRequired { authorization_url, session_id }) => {
            cx.emit(|| CredentialAuthorizationRequired::new(service.clone(), session_id.clone()));
            let pauses = cx.agent.options.on_authorization_required == OnAuthorizationRequired::Pause
                && attempt.door.consent == Person::Pauses;
            if pauses {
                return Ok(Gated::Paused(Pause::consent(&service, &authorization_url, &session_id)));
            }
            cx.turn.of::<OutstandingConsent>().note(ConsentNeeded {
                service: service.clone(),
                authorization_url,
                session_id,
                tool: tool.clone(),
                iteration: batch.iteration,
            });
            let text = texts::consent_needed(&tool, &service);
            Ok(Gated::Settled(Outcome::text(Verdict::CredentialRefused, text)))
        }
        Err(error) => {
            failed(cx, &service, &tool, &error);
            let text = texts::credential_failed(&tool, &service, &error.reason);
            Ok(Gated::Settled(Outcome::text(Verdict::CredentialRefused, text)))
        }
    }
}

//! Step 11: the credential a tool declared, and the one it pulls itself.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use agentfootprint_record::events::payload::{
    CredentialAcquired, CredentialAuthorizationRequired, CredentialFailed, CredentialRequested,
};
use agentfootprint_record::events::words::CredentialMode;
use footprint::error::StageError;
use footprint::value::{Object, Str, Value};
use futures_util::FutureExt as _;

use super::batch::Batch;
use super::call::Attempt;
use super::door::Person;
use super::finish::Outcome;
use super::gates::Gated;
use super::pause::Pause;
use super::verdict::Verdict;
use crate::agent::OnAuthorizationRequired;
use crate::run::{EffectFailure, EffectKind, EffectOutcome, Journaled, Reexecution, RunError, StageCx, lock};
use crate::tools::credentials::{
    Credential, CredentialAccess, CredentialError, CredentialHeaders, CredentialRequest, CredentialResponse,
    Secret,
};
use crate::tools::declare::CredentialNeed;
use crate::tools::texts;

/// A consent that is still outstanding: the run may not end quietly on it (TOOL-53). Memory of the run, never state.
#[derive(Default)]
pub(crate) struct OutstandingConsent(Mutex<Vec<ConsentNeeded>>);

/// What a person has to consent to.
#[derive(Clone, Debug)]
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

    /// The error of a run that ends although nobody gave the first of them.
    pub(crate) fn refusal(&self) -> Option<RunError> {
        let needed = lock(&self.0).first().cloned()?;
        Some(RunError::CredentialConsentRequired {
            service: needed.service,
            tool: needed.tool,
            iteration: needed.iteration,
            session_id: needed.session_id,
            authorization_url: needed.authorization_url,
        })
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

/// How a vending ended.
pub(super) enum Vended {
    /// Here it is.
    Issued(Arc<dyn Credential>),
    /// A person must consent first.
    Consent(ConsentNeeded),
    /// It could not be had.
    Failed(CredentialError),
}

/// Asks the provider for what a tool needs, and says so.
pub(super) async fn fetch(
    cx: &StageCx,
    iteration: u32,
    tool: &Str,
    needs: CredentialNeed,
) -> Result<Vended, StageError> {
    let service = needs.credential.clone();
    cx.emit(|| {
        let mut event = CredentialRequested::new(service.clone());
        event.mode = needs.mode.clone();
        event
    });
    let input = || needs.to_value();
    let asked = async { Answered(ask(cx, &needs).await) };
    let asked = cx.effect(EffectKind::Credential, &service, Reexecution::Idempotent, &input, asked);
    match cx.unless_cancelled(asked).await?.0 {
        Ok(CredentialResponse::Issued { credential, expires_at }) => {
            cx.emit(|| {
                let mut event = CredentialAcquired::new(service.clone(), credential.kind());
                event.expires_at = expires_at;
                event
            });
            cx.run.consent.settle(&service);
            Ok(Vended::Issued(credential))
        }
        Ok(CredentialResponse::AuthorizationRequired { authorization_url, session_id }) => {
            cx.emit(|| CredentialAuthorizationRequired::new(service.clone(), session_id.clone()));
            let tool = tool.clone();
            Ok(Vended::Consent(ConsentNeeded { service, authorization_url, session_id, tool, iteration }))
        }
        Err(error) => {
            failed(cx, &service, tool, &error);
            Ok(Vended::Failed(error))
        }
    }
}

async fn ask(cx: &StageCx, needs: &CredentialNeed) -> Result<CredentialResponse, CredentialError> {
    let identity = cx.run.identity().value();
    let mut request = CredentialRequest::new(needs.credential.clone());
    request.scopes = needs.scopes.clone();
    request.mode = needs.mode.clone().unwrap_or(CredentialMode::Machine);
    request.tenant = identity.tenant.clone();
    request.principal = identity.principal.clone();
    match &cx.agent.tooling.credentials {
        Some(provider) => AssertUnwindSafe(provider.get_credential(request))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(CredentialError::new("the provider panicked"))),
        None => Err(CredentialError::unattached(&needs.credential)),
    }
}

/// Vends what the tool's `needs` declares; the attempt may execute afterwards, or not.
pub(super) async fn vend(batch: &Batch, attempt: &mut Attempt) -> Result<Gated, StageError> {
    let cx = &batch.cx;
    let Some(needs) = attempt.resolved.tool().and_then(|tool| tool.declared().needs.clone()) else {
        return Ok(Gated::Execute);
    };
    let (tool, service) = (attempt.call.name.clone(), needs.credential.clone());
    match fetch(cx, batch.iteration, &tool, needs).await? {
        Vended::Issued(credential) => {
            attempt.credential = Some(credential);
            Ok(Gated::Execute)
        }
        Vended::Consent(needed) => {
            let pauses = cx.agent.options.on_authorization_required == OnAuthorizationRequired::Pause
                && attempt.door.consent == Person::Pauses;
            if pauses {
                let pause = Pause::consent(&service, &needed.authorization_url, &needed.session_id);
                return Ok(Gated::Paused(pause));
            }
            cx.run.consent.note(needed);
            let text = texts::consent_needed(&tool, &service);
            Ok(Gated::Settled(Outcome::text(Verdict::CredentialRefused, text)))
        }
        Vended::Failed(error) => {
            let text = texts::credential_failed(&tool, &service, &error.reason);
            Ok(Gated::Settled(Outcome::text(Verdict::CredentialRefused, text)))
        }
    }
}

/// What a provider answered, for the effects port: facts, never a credential and never an address (HOST-118).
struct Answered(Result<CredentialResponse, CredentialError>);

const KIND: &str = "kind";
const EXPIRES_AT: &str = "expiresAt";
const SESSION_ID: &str = "sessionId";

impl Journaled for Answered {
    fn to_outcome(&self) -> EffectOutcome {
        let mut out = Object::new();
        match &self.0 {
            Ok(CredentialResponse::Issued { credential, expires_at }) => {
                out.insert(KIND, Value::from(credential.kind()));
                if let Some(at) = expires_at {
                    out.insert(EXPIRES_AT, Value::from(*at));
                }
            }
            Ok(CredentialResponse::AuthorizationRequired { session_id, .. }) => {
                out.insert(SESSION_ID, Value::from(session_id.clone()));
            }
            Err(error) => {
                return EffectOutcome::Err(EffectFailure {
                    class: error.class.clone().unwrap_or_default(),
                    code: None,
                    message: error.reason.as_str().into(),
                    retryable: false,
                });
            }
        }
        EffectOutcome::Ok(Value::from(out))
    }

    fn from_outcome(outcome: EffectOutcome) -> Self {
        let value = match outcome {
            EffectOutcome::Ok(value) => value,
            EffectOutcome::Err(failure) => {
                let error = CredentialError::new(failure.message.to_string());
                return Self(Err(match failure.class.is_empty() {
                    true => error,
                    false => error.class(failure.class),
                }));
            }
        };
        let text = |key: &str| value.get(key).and_then(Value::as_shared_str).cloned();
        Self(match (text(KIND), text(SESSION_ID)) {
            (Some(kind), _) => Ok(CredentialResponse::Issued {
                credential: Arc::new(Recorded(kind)),
                expires_at: value.get(EXPIRES_AT).and_then(Value::as_u64),
            }),
            (None, Some(session_id)) => Ok(CredentialResponse::AuthorizationRequired {
                authorization_url: Secret::new(WITHHELD),
                session_id,
            }),
            (None, None) => Err(CredentialError::new("the recorded credential facts are unreadable")),
        })
    }
}

/// Stands where a journal never holds an address.
const WITHHELD: &str = "[withheld: addresses of consent are not journaled]";

/// A credential a journal tells of: its kind, and no headers. The tool it was for is answered from the journal as well.
#[derive(Debug)]
struct Recorded(Str);

impl Credential for Recorded {
    fn kind(&self) -> &str {
        &self.0
    }

    fn to_headers(&self) -> CredentialHeaders {
        CredentialHeaders::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::credentials::Bearer;

    /// Proves HOST-118 for credentials: facts survive the journal, secrets never enter it.
    #[test]
    fn facts_survive_the_journal_and_secrets_do_not_enter_it() {
        let issued = Answered(Ok(CredentialResponse::Issued {
            credential: Arc::new(Bearer(Secret::new("s3cret"))),
            expires_at: Some(9),
        }));
        let outcome = issued.to_outcome();
        assert!(!format!("{outcome:?}").contains("s3cret"));
        let Ok(CredentialResponse::Issued { credential, expires_at }) = Answered::from_outcome(outcome).0
        else {
            panic!("not issued")
        };
        assert_eq!(
            (credential.kind(), expires_at, credential.to_headers().iter().count()),
            ("bearer", Some(9), 0)
        );
        let consent = Answered(Ok(CredentialResponse::AuthorizationRequired {
            authorization_url: Secret::new("https://consent.example/s3cret"),
            session_id: "s-1".into(),
        }));
        let outcome = consent.to_outcome();
        assert!(!format!("{outcome:?}").contains("consent.example"));
        let Ok(CredentialResponse::AuthorizationRequired { session_id, .. }) =
            Answered::from_outcome(outcome).0
        else {
            panic!("not asked")
        };
        assert_eq!(&*session_id, "s-1");
        let failed = Answered(Err(CredentialError::new("503 from vault").class("Unavailable")));
        assert_eq!(Answered::from_outcome(failed.to_outcome()).0.unwrap_err(), failed.0.unwrap_err());
    }
}

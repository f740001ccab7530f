//! Asking a credential provider again (TOOL-56).

use std::time::Duration;

use async_trait::async_trait;

use super::port::{CredentialError, CredentialProvider, CredentialRequest, CredentialResponse};

/// How often and when a provider is asked again.
#[derive(Clone)]
pub struct CredentialRetry {
    attempts: u32,
    first: Duration,
    most: Duration,
    again: fn(&CredentialError) -> bool,
}

impl Default for CredentialRetry {
    fn default() -> Self {
        Self {
            attempts: 3,
            first: Duration::from_millis(200),
            most: Duration::from_secs(10),
            again: |error| {
                !matches!(error.class.as_deref(), Some("UnknownService" | "NoCredentialProvider" | "Aborted"))
            },
        }
    }
}

impl CredentialRetry {
    /// Three attempts, 200 ms apart and doubling, at most ten seconds; errors that name a service nobody knows are final.
    pub fn new() -> Self {
        Self::default()
    }

    /// How often the provider is asked in all; at least once.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Which errors are worth another attempt.
    #[must_use]
    pub fn when(mut self, again: fn(&CredentialError) -> bool) -> Self {
        self.again = again;
        self
    }
}

/// Asks `inner` again after errors; see [`with_credential_retry`].
pub struct RetryingCredentials<P> {
    inner: P,
    id: String,
    options: CredentialRetry,
}

/// Asks again after an error. A consent that a person has to give is an answer and never repeated; the last error is the one that
/// is told.
pub fn with_credential_retry<P: CredentialProvider>(
    inner: P,
    options: CredentialRetry,
) -> RetryingCredentials<P> {
    RetryingCredentials { id: format!("{}+retry", inner.id()), inner, options }
}

#[async_trait]
impl<P: CredentialProvider> CredentialProvider for RetryingCredentials<P> {
    fn id(&self) -> &str {
        &self.id
    }

    async fn get_credential(
        &self,
        request: CredentialRequest,
    ) -> Result<CredentialResponse, CredentialError> {
        let CredentialRetry { attempts, first, most, again } = self.options.clone();
        let mut wait = first;
        for _ in 1..attempts {
            match self.inner.get_credential(request.clone()).await {
                Err(error) if again(&error) => {
                    tokio::time::sleep(wait.min(most)).await;
                    wait = wait.saturating_mul(2);
                }
                answer => return answer,
            }
        }
        self.inner.get_credential(request).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::Instant;

    use super::*;
    use crate::tools::credentials::Secret;

    struct Flaky(Mutex<Vec<Result<CredentialResponse, CredentialError>>>, Mutex<u32>);

    impl Flaky {
        fn new(answers: Vec<Result<CredentialResponse, CredentialError>>) -> Self {
            Self(Mutex::new(answers), Mutex::new(0))
        }
    }

    #[async_trait]
    impl CredentialProvider for Flaky {
        fn id(&self) -> &str {
            "flaky"
        }

        async fn get_credential(
            &self,
            _request: CredentialRequest,
        ) -> Result<CredentialResponse, CredentialError> {
            *self.1.lock().unwrap() += 1;
            self.0.lock().unwrap().remove(0)
        }
    }

    fn away(n: u32) -> Result<CredentialResponse, CredentialError> {
        Err(CredentialError::new(format!("away {n}")).class("Unavailable"))
    }

    fn consent() -> Result<CredentialResponse, CredentialError> {
        let url = Secret::new("https://consent.example");
        Ok(CredentialResponse::AuthorizationRequired { authorization_url: url, session_id: "s".into() })
    }

    /// Proves TOOL-56.
    #[tokio::test(start_paused = true)]
    async fn errors_are_asked_again_and_consent_is_not() {
        let asked = async |answers, options| {
            let retrying = with_credential_retry(Flaky::new(answers), options);
            let began = Instant::now();
            let answer = retrying.get_credential(CredentialRequest::new("crm")).await;
            let times = *retrying.inner.1.lock().unwrap();
            (
                answer.map(|_| ()).map_err(|error| error.to_string()),
                times,
                began.elapsed().as_millis(),
                retrying.id,
            )
        };
        let (answer, times, waited, id) =
            asked(vec![away(1), away(2), consent()], CredentialRetry::new()).await;
        assert_eq!((answer, times, waited, &*id), (Ok(()), 3, 600, "flaky+retry"));
        let (answer, times, ..) = asked(vec![away(1), away(2), away(3)], CredentialRetry::new()).await;
        assert_eq!((answer, times), (Err("away 3".to_owned()), 3));
        let (answer, times, waited, _) = asked(vec![consent()], CredentialRetry::new()).await;
        assert_eq!((answer, times, waited), (Ok(()), 1, 0));
        let unknown = Err(CredentialError::new("no such service").class("UnknownService"));
        assert_eq!(asked(vec![unknown], CredentialRetry::new()).await.1, 1);
        assert_eq!(asked(vec![away(1)], CredentialRetry::new().when(|_| false)).await.1, 1);
        let many = (0..8).map(away).collect();
        assert_eq!(
            asked(many, CredentialRetry::new().attempts(8)).await.2,
            200 + 400 + 800 + 1600 + 3200 + 6400 + 10_000
        );
    }
}

//! How a caller proves who it is, and that nothing of it shows.

use std::sync::Arc;

use agentfootprint_core::llm::LlmErrorKind;
use aws_credential_types::Credentials;
use footprint::clock::ManualClock;

use super::*;
use crate::Key;
use crate::testing::assert_clean;

const SECRET: &str = KEY;

fn credentials() -> Credentials {
    Credentials::new("AKIDEXAMPLE", SECRET, Some(format!("{KEY}-token")), None, "test")
}

fn ok() -> Answer {
    Answer::ok(plain(json!([{"text": "x"}]), "end_turn").to_string())
}

/// Proves LLM-28, LLM-69.
#[tokio::test]
async fn requests_are_signed_at_the_time_of_the_call() {
    let (builder, exchange) = keyless([ok(), ok()]);
    let builder = builder.credentials(credentials());
    assert!(!format!("{builder:?}").contains(KEY));
    let provider = builder.build().unwrap();
    assert!(!format!("{provider:?}").contains(KEY));
    // 2015-08-30T12:36:00Z
    let cx = CallCx::detached().with_clock(Arc::new(ManualClock::at(1_440_938_160_000)));
    for _ in 0..2 {
        provider.complete(&wire().request(), &cx).await.unwrap();
    }
    let sent = exchange.requests();
    let header = |at: usize, name: &str| sent[at].headers[name].to_str().unwrap().to_owned();
    assert_eq!(header(0, "x-amz-date"), "20150830T123600Z");
    let authorization = header(0, "authorization");
    assert!(
        authorization.starts_with(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/bedrock/aws4_request, SignedHeaders="
        ),
        "{authorization}"
    );
    assert!(authorization.contains("host") && authorization.contains("x-amz-security-token"));
    assert_eq!(header(0, "x-amz-security-token"), format!("{KEY}-token"));
    assert_eq!(authorization, header(1, "authorization"), "equal requests have equal signatures");
    assert!(!format!("{:?} {:?}", sent[0], sent[0].headers).contains(KEY));
}

/// Proves LLM-28.
#[tokio::test]
async fn secrets_an_answer_repeats_are_taken_out() {
    let echo = json!({"message": format!("bad signature for {SECRET} and {KEY}-token")}).to_string();
    for status in [400, 403, 500] {
        let (builder, _) = keyless([Answer::new(status, &echo)]);
        let provider = builder.credentials(credentials()).build().unwrap();
        let error = provider.complete(&wire().request(), &CallCx::detached()).await.unwrap_err();
        assert_clean(&error);
        assert!(error.to_string().contains("[redacted apiKey]"), "{error}");
    }
}

#[derive(Debug)]
struct Nobody;

impl aws_credential_types::provider::ProvideCredentials for Nobody {
    fn provide_credentials<'a>(&'a self) -> aws_credential_types::provider::future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let missing = aws_credential_types::provider::error::CredentialsError::not_loaded("no profile");
        aws_credential_types::provider::future::ProvideCredentials::ready(Err(missing))
    }
}

/// Proves LLM-39, LLM-41.
#[tokio::test]
async fn credentials_that_cannot_be_had_are_refused_before_sending() {
    let (builder, exchange) = keyless([]);
    let provider = builder.credentials(Nobody).build().unwrap();
    let error = provider.complete(&wire().request(), &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::NoCredential);
    assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
    for key in [Key::from(" "), Key::Absent, Key::per_model([("other", KEY)])] {
        let (builder, _) = keyless([]);
        let provider = builder.key(key).build().unwrap();
        let error = provider.complete(&wire().request(), &CallCx::detached()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::NoCredential);
    }
    assert!(exchange.requests().is_empty());
}

/// Proves LLM-40, LLM-69.
#[tokio::test]
async fn the_environment_is_read_in_order() {
    let with = |pairs: &[(&'static str, &'static str)]| {
        let exchange = Scripted::new([ok()]);
        let env = EnvVars::from_pairs(pairs.iter().copied());
        (Bedrock::builder().env(env).exchange(exchange.clone()).build(), exchange)
    };
    let region = ("AWS_DEFAULT_REGION", "eu-west-1");
    let keys = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "secret-of-env")];
    let (bearer, exchange) = with(&[region, keys[0], keys[1], ("AWS_BEARER_TOKEN_BEDROCK", "token-of-env")]);
    bearer.unwrap().complete(&wire().request(), &CallCx::detached()).await.unwrap();
    assert_eq!(exchange.requests()[0].headers["authorization"], "Bearer token-of-env");
    assert_eq!(exchange.requests()[0].url.host_str(), Some("bedrock-runtime.eu-west-1.amazonaws.com"));
    let (signed, exchange) = with(&[region, keys[0], keys[1]]);
    signed.unwrap().complete(&wire().request(), &CallCx::detached()).await.unwrap();
    assert!(
        exchange.requests()[0].headers["authorization"].to_str().unwrap().contains("/eu-west-1/bedrock/")
    );

    let (no_region, _) = with(&keys);
    assert!(no_region.unwrap_err().to_string().contains("AWS_REGION"));
    if cfg!(not(feature = "bedrock-config")) {
        let error = with(&[region]).0.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::NoCredential);
        assert!(error.to_string().contains("AWS_BEARER_TOKEN_BEDROCK"), "{error}");
    }
    let both = keyless([]).0.key(KEY).credentials(credentials()).build().unwrap_err();
    assert_eq!(both.kind, LlmErrorKind::Refused);
    for wrong in [
        Bedrock::builder().region("us east").key(KEY).build(),
        Bedrock::builder().region("us-east-1").endpoint("nowhere").key(KEY).build(),
        Bedrock::builder().region("us-east-1").key(KEY).max_tokens(0).build(),
        Bedrock::builder().region("us-east-1").key(KEY).additional_fields(footprint::value!([1])).build(),
    ] {
        assert_eq!(wrong.unwrap_err().kind, LlmErrorKind::Refused);
    }
    let china = Bedrock::builder().region("cn-north-1").key(KEY).build().unwrap();
    assert!(format!("{china:?}").contains("amazonaws.com.cn"));
}

//! The last of the judges: an answer held against evidence before it is delivered.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_core::agent::{Agent, OutputOptions, Typed};
use agentfootprint_core::artifacts::{
    ArtifactData, ArtifactScope, ArtifactStore as _, InMemoryArtifacts, PutArtifact, in_memory_artifacts,
};
use agentfootprint_core::injection::BoxError;
use agentfootprint_core::llm::LlmChunk;
use agentfootprint_core::run::{RunError, RunReport, Runner};
use agentfootprint_core::tools::{MessageContext, MessageMiddleware, MessageOutcome};
use agentfootprint_core::validation::{
    AnswerCheck, AnswerEvidence, AnswerEvidenceRefusal, AnswerValidation, AnswerValidationLimits,
    AnswerValidationMode,
};
use agentfootprint_record::text::artifact_digest;
use async_trait::async_trait;
use footprint::value::Value;
use tokio_util::sync::CancellationToken;

use crate::support::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "only its form matters")]
struct Total {
    total: f64,
    source: Option<String>,
}

/// A validator whose only check is what the answer's total says: 1 passes, 2 fails, 3 is out of reach, 4 has nothing to compare.
fn by_total() -> AnswerValidation {
    AnswerValidation::new("totals", "7", |answer, _| async move {
        Ok(vec![match answer["total"].as_f64() {
            Some(1.0) => AnswerCheck::pass("total").path("total"),
            Some(2.0) => AnswerCheck::fail("total").reason("off by one"),
            Some(3.0) => AnswerCheck::unreachable("total"),
            _ => AnswerCheck::not_applicable("total"),
        }])
    })
}

fn built(script: &Script, validation: AnswerValidation) -> Agent {
    agent(script)
        .output_schema(Typed::<Total>::new(), OutputOptions::new())
        .answer_validation(validation)
        .build()
        .unwrap()
}

async fn answering(text: &str, validation: AnswerValidation) -> (RunReport<String>, Heard) {
    let script = Script::new([say(text)]);
    run(&built(&script, validation), "go").await
}

fn reason(report: &RunReport<String>) -> Option<String> {
    report.record.answer_validation().unwrap().get("reason").and_then(Value::as_str).map(str::to_owned)
}

/// Proves AGT-97, EVD-903, EVD-905: what passes is delivered as exactly the text that was checked, with its report.
#[tokio::test]
async fn what_is_delivered_is_what_was_checked() {
    let spaced = "{ \"total\": 1.0,\n \"source\": \"s\" }";
    let (report, heard) = answering(spaced, by_total()).await;
    let delivered = report.answer().unwrap();
    assert_eq!(delivered, r#"{"total":1,"source":"s"}"#);
    assert_eq!(
        report.record.answer_validation(),
        Some(&json!({
            "validatorId": "totals", "validatorVersion": "7", "mode": "enforce", "status": "passed", "checked": 1,
            "failed": 0, "unreachable": 0, "notApplicable": 0,
            "checks": [{ "id": "total", "disposition": "checked-pass", "path": "total" }],
            "candidateDigest": (artifact_digest(delivered)), "resolvedRefs": [], "schemaAccepted": true,
        }))
    );
    assert_eq!(state(&report, "answerValidationCommitted"), Some(json!(true)));
    assert_eq!(heard.of("agent.turn_end")[0]["finalContent"], json!(delivered.as_str()));
    assert_eq!(
        heard.of("agent.run_configured")[0]["answerValidation"],
        json!({ "id": "totals", "version": "7", "mode": "enforce" })
    );
}

/// Proves AGT-97, EVD-904, EVD-906: a blocked draft is a terminal error with its report; no event and no capture has it.
#[tokio::test]
async fn a_blocked_draft_reaches_nobody() {
    let secret = r#"{"total":2,"source":"very-secret-draft"}"#;
    let pieces = || {
        vec![
            Ok(LlmChunk::Text { token_index: 0, content: secret.to_owned() }),
            Ok(LlmChunk::Thinking { token_index: 0, delta: "very-secret-draft".to_owned() }),
            Ok(LlmChunk::done(1, say(secret))),
        ]
    };
    let script = Script::streaming([pieces()]);
    let (report, heard) = run(&built(&script, by_total()), "go").await;
    let error = report.error().unwrap();
    let RunError::AnswerValidation { report: carried, .. } = error else { panic!("{error}") };
    assert_eq!(error.to_string(), "the answer did not pass its validation `totals`: total (checked-fail)");
    assert_eq!((error.code(), error.is_terminal()), (Some("ERR_ANSWER_VALIDATION"), true));
    assert_eq!((&carried["status"], &carried["failed"]), (&json!("failed"), &json!(1)));
    assert!(!heard.mentions("very-secret-draft") && !carried.to_string().contains("very-secret"));
    let end = &heard.of("stream.llm_end")[0];
    assert_eq!((&end["content"], &end["contentWithheld"]), (&json!(""), &json!(true)));
    assert_eq!((heard.count("stream.token"), heard.count("stream.thinking_delta")), (0, 0));
    assert_eq!((heard.count("agent.turn_end"), heard.count("error.fatal")), (0, 0));
    assert_eq!(state(&report, "answerValidationBlocked"), Some(json!(true)));
    assert!(state(&report, "answerValidationCommitted").is_none());
    assert_eq!(state(&report, "finalContent").unwrap_or_default().as_str().unwrap_or_default(), "");

    // Observing delivers it, in the canonical text; the draft still does not come piece by piece.
    let script = Script::streaming([pieces()]);
    let (report, heard) = run(&built(&script, by_total().mode(AnswerValidationMode::Observe)), "go").await;
    assert_eq!(report.answer().unwrap(), secret);
    assert_eq!(report.record.answer_validation().unwrap()["status"], json!("failed"));
    assert_eq!(
        (heard.count("stream.token"), heard.of("stream.llm_end")[0].get("contentWithheld")),
        (0, None)
    );
}

/// Proves EVD-904: every way in which nothing was verified, and that nothing compared is never a pass.
#[tokio::test(start_paused = true)]
async fn an_unverified_answer_says_why() {
    let small = AnswerValidationLimits { max_candidate_bytes: 20, ..Default::default() };
    let plain = |checks: &'static [&'static str]| {
        AnswerValidation::new("v", "1", move |_, _| async move {
            Ok(checks.iter().map(|id| AnswerCheck::pass(*id)).collect())
        })
    };
    let panics = AnswerValidation::new("v", "1", |_, _| async { panic!("the host's own bug") });
    let fails = AnswerValidation::new("v", "1", |_, _| async { Err(BoxError::from("no")) });
    let hangs = AnswerValidation::new("v", "1", |_, _| std::future::pending());
    let reads = AnswerValidation::new("v", "1", |_, cx| async move {
        // The validator may go on; the report does not forget.
        let _ = cx.artifacts.resolve("art_0123456789abcdefghijKL", "table").await;
        Ok(vec![AnswerCheck::pass("total")])
    });
    let cites = AnswerValidation::new("v", "1", |_, _| async {
        Ok(vec![AnswerCheck::pass("a").evidence(["art_1"])])
    });
    let table: Vec<(&str, &str, AnswerValidation)> = vec![
        ("candidate-limit", r#"{"total":1,"source":"too long"}"#, by_total().limits(small)),
        ("non-json-candidate", "no JSON", by_total()),
        ("non-json-candidate", r#"{"total":-0}"#, by_total()),
        ("schema-rejected", r#"{"total":"one"}"#, by_total()),
        ("unreachable-checks", r#"{"total":3}"#, by_total()),
        ("no-comparable-checks", r#"{"total":4}"#, by_total()),
        ("no-comparable-checks", r#"{"total":1}"#, plain(&[])),
        ("invalid-validator-result", r#"{"total":1}"#, plain(&["a", "a"])),
        ("invalid-validator-result", r#"{"total":1}"#, cites),
        ("validator-error", r#"{"total":1}"#, panics),
        ("validator-error", r#"{"total":1}"#, fails),
        ("timeout", r#"{"total":1}"#, hangs),
        ("evidence-no-store", r#"{"total":1}"#, reads),
    ];
    for (expected, answer, validation) in table {
        let (report, _) = answering(answer, validation.clone()).await;
        assert_eq!(reason(&report).as_deref(), Some(expected), "{answer}");
        assert_eq!(report.record.answer_validation().unwrap()["status"], json!("unverified"));
        assert!(matches!(report.error(), Some(RunError::AnswerValidation { .. })), "{expected}");
        let (observed, _) = answering(answer, validation.mode(AnswerValidationMode::Observe)).await;
        assert_eq!(
            (observed.answer().unwrap().as_str(), reason(&observed).as_deref()),
            (answer, Some(expected))
        );
    }
}

fn scope() -> ArtifactScope {
    ArtifactScope::conversation("c-1")
}

async fn held(text: &str) -> (InMemoryArtifacts, String) {
    let store = in_memory_artifacts();
    let put = PutArtifact::new("table", "text/plain", ArtifactData::text(text));
    let reference = store.put(&scope(), put).await.unwrap().meta.reference.to_string();
    (store, reference)
}

/// Proves EVD-907, EVD-905: a check stands on an artifact of the run; a reader that is kept reads nothing afterwards.
#[tokio::test]
async fn checks_stand_on_artifacts_of_the_run() {
    let (store, reference) = held("1").await;
    let kept: Arc<Mutex<Option<AnswerEvidence>>> = Arc::default();
    let keeper = Arc::clone(&kept);
    let validation = AnswerValidation::new("totals", "1", move |answer, cx| {
        *keeper.lock().unwrap() = Some(cx.artifacts.clone());
        async move {
            let cited = answer["source"].as_str().unwrap_or_default().to_owned();
            let record = cx.artifacts.resolve(&cited, "table").await?;
            let held = record.data.canonical_bytes();
            let stated = answer["total"].as_f64().unwrap_or_default().to_string();
            let check = if held == stated.as_bytes() {
                AnswerCheck::pass("total")
            } else {
                AnswerCheck::fail("total")
            };
            Ok(vec![check.evidence([cited])])
        }
    });
    let answer = format!(r#"{{"total":1,"source":"{reference}"}}"#);
    let agent = agent(&Script::new([say(&answer)]))
        .output_schema(Typed::<Total>::new(), OutputOptions::new())
        .answer_validation(validation)
        .artifacts(store)
        .build()
        .unwrap();
    let heard = Heard::default();
    let report = agent.run("go").options(heard.options().identity(scope())).await;
    assert_eq!(report.answer().unwrap(), &answer);
    let filed = report.record.answer_validation().unwrap();
    assert_eq!(filed["resolvedRefs"], json!([(reference.as_str())]));
    assert_eq!(filed["checks"][0]["evidenceRefs"], json!([(reference.as_str())]));
    let kept = kept.lock().unwrap().take().unwrap();
    assert_eq!(kept.resolve(&reference, "table").await.unwrap_err(), AnswerEvidenceRefusal::Closed);
    // Another conversation's artifact is missing.
    let other = agent.run("go").options(Heard::default().options()).await;
    assert!(other.error().is_some());
}

struct Refuses;

#[async_trait]
impl MessageMiddleware for Refuses {
    fn name(&self) -> &str {
        "gate"
    }

    async fn on_message(&self, seen: &MessageContext) -> Result<MessageOutcome, BoxError> {
        Ok(if seen.iteration > 0 { MessageOutcome::deny("not this") } else { MessageOutcome::allow() })
    }
}

/// Proves EVD-902, TOOL-101: an answer that was refused before is judged by nobody else, and the earlier error is the run's.
#[tokio::test]
async fn an_earlier_refusal_is_the_error() {
    for mode in [AnswerValidationMode::Enforce, AnswerValidationMode::Observe] {
        let script = Script::new([say(r#"{"total":1}"#)]);
        let agent = agent(&script)
            .output_schema(Typed::<Total>::new(), OutputOptions::new())
            .answer_validation(by_total().mode(mode))
            .message_middleware(Refuses)
            .build()
            .unwrap();
        let (report, _) = run(&agent, "go").await;
        assert!(matches!(report.error(), Some(RunError::MessageDenied { .. })), "{:?}", report.error());
        assert_eq!(reason(&report).as_deref(), Some("prior-refusal"));
    }
}

/// Proves EVD-902: a turn is validated once, on the answer that ends it.
#[tokio::test]
async fn only_the_final_answer_is_validated() {
    let seen = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&seen);
    let validation = AnswerValidation::new("v", "1", move |_, _| {
        *counter.lock().unwrap() += 1;
        async { Ok(vec![AnswerCheck::pass("a")]) }
    });
    let script = Script::new([look("c1"), say("not yet"), say(r#"{"total":1}"#)]);
    let agent = agent(&script)
        .tool(looking("seen"))
        .output_schema(Typed::<Total>::new(), OutputOptions::new().retries(1))
        .answer_validation(validation)
        .build()
        .unwrap();
    let (report, _) = run(&agent, "go").await;
    assert_eq!((report.answer().unwrap().as_str(), *seen.lock().unwrap()), (r#"{"total":1}"#, 1));
}

/// Proves EVD-908, AGT-17: a run that is cancelled while its answer is validated ends as cancelled, and the report says so.
#[tokio::test]
async fn a_cancelled_validation_is_reported() {
    let cancel = CancellationToken::new();
    let cancels = cancel.clone();
    let waits = AnswerValidation::new("v", "1", move |_, cx| {
        cancels.cancel();
        async move {
            cx.cancel.cancelled().await;
            std::future::pending().await
        }
    });
    let script = Script::new([say(r#"{"total":1}"#)]);
    let agent = built(&script, waits);
    let report = agent.run("go").options(Heard::default().options().cancel(cancel)).await;
    assert!(matches!(report.error(), Some(RunError::Cancelled { .. })), "{:?}", report.error());
}

/// Proves EVD-901, TOOL-14: what cannot work is refused at build, all of it.
#[test]
fn a_declaration_that_cannot_work_is_refused() {
    let limits = AnswerValidationLimits {
        max_reads: 0,
        max_bytes: 0,
        max_checks: 0,
        max_candidate_bytes: 0,
        timeout: Duration::ZERO,
    };
    let blank = AnswerValidation::new(" ", "v".repeat(129), |_, _| async { Ok(vec![]) }).limits(limits);
    let refused =
        agent(&Script::new([])).answer_validation(by_total()).answer_validation(blank).build().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the agent cannot be built (9 problems):\n\
         - `answer_validation` was called twice; the second call would silently replace the first\n\
         - `answer_validation id` is 1 characters; it must be 1 to 128 characters, not blank\n\
         - `answer_validation version` is 129 characters; it must be 1 to 128 characters, not blank\n\
         - `answer_validation max_reads` is 0; it must be at least 1\n\
         - `answer_validation max_bytes` is 0; it must be at least 1\n\
         - `answer_validation max_checks` is 0; it must be at least 1\n\
         - `answer_validation max_candidate_bytes` is 0; it must be at least 1\n\
         - `answer_validation timeout` is 0 ms; it must be between 1 and 2147483647 ms\n\
         - `answer_validation` needs `output_schema`: what is compared with evidence is an answer of a declared form"
    );
}

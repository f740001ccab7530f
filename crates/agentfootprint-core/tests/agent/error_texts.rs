//! Every refusal says what is wrong and the way on: the texts a person reads, word by word.

use agentfootprint_core::agent::{OutputContract, OutputOptions, OutputStrategy, TypedReadError};
use agentfootprint_core::artifacts::{ArtifactError, ArtifactRef};
use agentfootprint_core::compose::{Graph, LlmCall, Node};
use agentfootprint_core::injection::{Fact, InjectionError, Instruction, IntoInjection as _, PromptTemplate};
use agentfootprint_core::run::{DeliveryError, RunError, RunRefusal};
use agentfootprint_core::tools::{CodeRunnerError, InnerCallError, PauseRequest};
use agentfootprint_core::validation::AnswerEvidenceRefusal;
use agentfootprint_core::window::WindowError;
use footprint::value::Value;

use crate::support::*;

fn reads(cases: &[(&dyn std::fmt::Display, &str)]) {
    for (error, text) in cases {
        assert_eq!(error.to_string(), *text);
    }
}

/// Proves P-7: the failures and refusals of a run, word by word.
#[test]
fn failures_of_a_run() {
    let reference = ArtifactRef::parse("art_0123456789abcdefghijKL").unwrap();
    reads(&[
        (
            &RunRefusal::ForcedToolChoice { provider: "p".into(), model: "m".into() },
            "provider `p` does not declare forced tool choice for model `m`; use the `instruct` strategy",
        ),
        (
            &RunRefusal::OutputSchema { provider: "p".into(), model: "m".into() },
            "provider `p` does not declare structured output for model `m`; use the `instruct` strategy",
        ),
        (
            &RunRefusal::NotResumable { message: "no such stage".into() },
            "the run cannot be resumed: no such stage",
        ),
        (
            &RunError::Cancelled { reason: "by the caller".into(), at_stage: None },
            "the run was cancelled (by the caller)",
        ),
        (&RunError::CheckerDead { checks: vec!["a".into(), "b".into()] }, "integrity checks never ran: a, b"),
        (
            &RunError::InvalidRunConfig { what: "a blank model".into() },
            "the run's configuration is not usable: a blank model",
        ),
        (
            &RunError::MessageDenied {
                reason: "no".into(),
                phase: "input".into(),
                middleware: "gate".into(),
            },
            "middleware `gate` denied the input: no",
        ),
        (
            &RunError::ReliabilityFailFast {
                kind: "throttled".into(),
                reason: "gave up".into(),
                cause_name: None,
                cause_message: None,
                payload: json!({}),
            },
            "a reliability rule gave up (throttled): gave up",
        ),
        (
            &RunError::PolicyHalt {
                reason: "too-many".into(),
                target: "read".into(),
                iteration: 2,
                checker_id: None,
                tell_llm: None,
                sequence: json!([]),
                history: json!([]),
            },
            "the permission checker halted the run at `read`: too-many",
        ),
        (
            &TypedReadError::Type("missing field".into()),
            "the answer does not have the asked type: missing field",
        ),
        (
            &WindowError::Failed { strategy: "mine".into(), reason: "no room".into() },
            "window strategy `mine` failed: no room",
        ),
        (
            &ArtifactError::UnknownParent(vec![reference.clone(), reference.clone()]),
            "the artifact names parents this scope does not hold: art_0123456789abcdefghijKL, \
             art_0123456789abcdefghijKL",
        ),
        (
            &ArtifactError::Integrity { reference, expected: "sha-256:a".into(), actual: "sha-256:b".into() },
            "artifact art_0123456789abcdefghijKL does not match its digest: expected sha-256:a, found sha-256:b",
        ),
        (
            &ArtifactError::Store { operation: "put", class: "Timeout".into() },
            "the artifact store failed at put: Timeout",
        ),
        (
            &InnerCallError::Paused { name: "ask".into(), pause: PauseRequest::new(json!({})) },
            "`ask` asks a person",
        ),
        (&CodeRunnerError::NoStaging { runner: "box".into() }, "the code runner `box` cannot stage inputs"),
        (&CodeRunnerError::Cancelled, "the execution was cancelled"),
    ]);
    let delivered = RunError::Delivery(DeliveryError::EmptyContent { injection: "i".into() });
    assert_eq!(delivered.to_string(), "injection `i` has a message without text");
}

/// Proves EVD-907: each refusal of evidence has its own word and its own text.
#[test]
fn refusals_of_evidence() {
    use AnswerEvidenceRefusal as R;
    let texts = [
        (R::Closed, "closed", "the validation this reader belongs to is over"),
        (R::InvalidInput, "invalid-input", "a reference and a kind are needed"),
        (R::NoStore, "no-store", "this agent has no artifact store"),
        (
            R::MissingOrExpired,
            "missing-or-expired",
            "no artifact answers to that reference in this run's scope",
        ),
        (R::KindMismatch, "kind-mismatch", "the artifact is of another kind"),
        (R::DigestMismatch, "digest-mismatch", "the artifact does not match its digest"),
        (R::MaxReads, "max-reads", "this validation has read as many artifacts as it may"),
        (R::MaxBytes, "max-bytes", "this validation has read as many bytes as it may"),
        (R::InvalidRecord, "invalid-record", "the artifact's ticket and payload do not agree"),
        (R::Store, "store-error", "the artifact store failed"),
    ];
    for (refusal, word, text) in texts {
        assert_eq!((refusal.as_str(), refusal.to_string().as_str()), (word, text));
    }
}

/// A contract nobody can derive a schema from.
struct Loose;

impl OutputContract for Loose {
    fn check(&self, answer: Value) -> Result<Value, agentfootprint_core::agent::ContractViolation> {
        Ok(answer)
    }
}

/// Proves P-7, AGT-31: faults of an agent's declaration, word by word.
#[test]
fn faults_of_an_agent() {
    let refused = agent(&Script::new([]))
        .fact(Fact::new("same", "One."))
        .instruction(Instruction::new("same", "Two."))
        .output_schema(Loose, OutputOptions::new().strategy(OutputStrategy::ToolForced))
        .build()
        .unwrap_err()
        .to_string();
    let formless = agent(&Script::new([]))
        .output_schema(Loose, OutputOptions::new().strategy(OutputStrategy::Native))
        .build()
        .unwrap_err()
        .to_string();
    let text = "output strategy `native` needs a JSON schema; give one with `OutputOptions::json_schema`";
    assert!(formless.contains(text), "{formless}");
    for text in [
        "two injections are called `same`: a fact and a instructions; ids are unique per agent",
        "output strategy `tool-forced` needs a JSON schema; give one with `OutputOptions::json_schema`",
    ] {
        assert!(refused.contains(text), "{refused}");
    }
}

/// Proves P-7: faults of an injection, word by word.
#[test]
fn faults_of_an_injection() {
    let id = || "a".to_owned();
    reads(&[
        (&Fact::new(" ", "x").into_injection().unwrap_err(), "an injection needs a non-empty id"),
        (
            &InjectionError::ToolRole { id: id() },
            "injection `a`: role `tool` answers a call and cannot be injected; use system, user or assistant",
        ),
        (
            &InjectionError::TemplateInMessages { id: id() },
            "injection `a`: a template is rendered anew for every request and can only be in the system prompt",
        ),
        (
            &InjectionError::TemplateCached { id: id() },
            "injection `a`: a template changes with every request and cannot be cached; its cache policy is `never`",
        ),
    ]);
    let unknown = PromptTemplate::parse("{{no_such_fact}}").unwrap_err().to_string();
    assert!(
        unknown.starts_with("template names the unknown fact `no_such_fact`; a template may name only "),
        "{unknown}"
    );
}

/// Proves P-18: faults of a graph, word by word.
#[test]
fn faults_of_compositions() {
    let call = |id: &str| LlmCall::builder(Script::new([]), "m").id(id.to_owned()).build().unwrap();
    let joined = Graph::builder("g")
        .node(Node::new("a", call("a")))
        .node(Node::new("b", call("b")))
        .node(Node::new("c", call("c")))
        .edge("a", "c")
        .edge("b", "c")
        .build()
        .unwrap_err()
        .to_string();
    assert!(
        joined
            .contains("node `c` follows `a` and `b`: declare how their answers are joined with `Node::join`"),
        "{joined}"
    );
    let circle = Graph::builder("g")
        .node(Node::new("a", call("a")))
        .node(Node::new("b", call("b")))
        .edge("a", "b")
        .edge("b", "a")
        .build()
        .unwrap_err()
        .to_string();
    assert!(
        circle.contains("closes a cycle; a graph runs each node once, use a Loop for repetition"),
        "{circle}"
    );
}

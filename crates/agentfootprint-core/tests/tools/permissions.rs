use std::sync::{Arc, Mutex};

use agentfootprint_core::tools::{
    CheckError, PermissionCapability, PermissionChecker, PermissionDecision, PermissionRequest, Tool,
};
use async_trait::async_trait;
use footprint::value;
use footprint::value::Value;

use crate::support::{Script, agent, calls, commits, every_call_is_answered, results, run, say, state, tool};

type Decide = fn(&PermissionRequest) -> Result<PermissionDecision, CheckError>;

#[derive(Clone)]
struct Checker {
    governs: Vec<PermissionCapability>,
    decide: Decide,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Checker {
    fn new(decide: Decide) -> Self {
        Self { governs: Vec::new(), decide, asked: Arc::default() }
    }
}

#[async_trait]
impl PermissionChecker for Checker {
    fn name(&self) -> &str {
        "tripwire"
    }

    fn governs(&self) -> &[PermissionCapability] {
        &self.governs
    }

    async fn check(&self, request: &PermissionRequest) -> Result<PermissionDecision, CheckError> {
        let ran: Vec<&str> = request.sequence.iter().map(|call| call.name()).collect();
        self.asked.lock().unwrap().push(format!("{} {} {ran:?}", request.capability, request.target));
        (self.decide)(request)
    }
}

fn file_tools() -> [Tool; 2] {
    [
        tool("read_file", value!({}), |args| format!("content of {}", args.get("path").unwrap())),
        Tool::builder("delete_file")
            .capabilities([PermissionCapability::UserData])
            .handler(|_: Value, _| async { "deleted" })
            .build()
            .unwrap(),
    ]
}

fn both() -> agentfootprint_core::llm::LlmResponse {
    calls(&[("a", "read_file", value!({ "path": "/a" })), ("b", "delete_file", value!({ "path": "/a" }))])
}

/// Proves TOOL-34, TOOL-36, TOOL-119.
#[tokio::test]
async fn a_denial_is_a_result_and_an_event() {
    let script = Script::new([both(), say("I may not.")]);
    let checker = Checker::new(|request| {
        Ok(match &*request.target {
            "delete_file" => PermissionDecision::deny("files stay").rule("no-delete"),
            _ => PermissionDecision::allow().rule("default"),
        })
    });
    let asked = Arc::clone(&checker.asked);
    let agent = agent(&script).tools(file_tools()).permission_checker(checker).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(
        results(&report)[1],
        ("b".into(), "[permission denied: files stay]".into(), Some("denied".into()))
    );
    assert_eq!(
        heard.of("permission.check")[1],
        value!({
            "capability": "tool_call", "actor": "agent", "target": "delete_file", "result": "deny",
            "policyRuleId": "no-delete", "rationale": "files stay",
        })
    );
    assert!(heard.of("stream.tool_end")[1].get("error").is_none());
    // `user_data` is declared by the tool but not governed: nobody is asked.
    assert_eq!(*asked.lock().unwrap(), ["tool_call read_file []", "tool_call delete_file [\"read_file\"]"]);
}

/// Proves TOOL-34: a capability is asked only when both sides speak.
#[tokio::test]
async fn capabilities_are_asked_when_declared_and_governed() {
    let script = Script::new([both(), say("ok")]);
    let mut checker = Checker::new(|request| {
        Ok(match request.capability {
            PermissionCapability::UserData => PermissionDecision::deny("no").tell_llm("Ask the owner."),
            _ => PermissionDecision::allow(),
        })
    });
    checker.governs = vec![PermissionCapability::UserData, PermissionCapability::MemoryRead];
    let asked = Arc::clone(&checker.asked);
    let agent = agent(&script).tools(file_tools()).permission_checker(checker).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    assert_eq!(
        *asked.lock().unwrap(),
        ["tool_call read_file []", "tool_call delete_file [\"read_file\"]", "user_data delete_file []"]
    );
    assert_eq!(results(&report)[1].1, "Ask the owner.");
}

/// Proves TOOL-35, TOOL-30, T-8: a denial with a text of its own did not run.
#[tokio::test]
async fn the_sequence_counts_what_ran_by_fate() {
    let script = Script::new([both(), calls(&[("c", "read_file", value!({ "path": "/b" }))]), say("ok")]);
    let checker = Checker::new(|request| {
        Ok(match &*request.target {
            "delete_file" => PermissionDecision::deny("no").tell_llm("Not now, thanks."),
            _ => PermissionDecision::allow(),
        })
    });
    let asked = Arc::clone(&checker.asked);
    let agent = agent(&script).tools(file_tools()).permission_checker(checker).build().unwrap();
    run(&agent, "go").await;
    assert_eq!(asked.lock().unwrap()[2], "tool_call read_file [\"read_file\"]");
}

/// Proves TOOL-37, T-9: an outage is a denial, and the model does not read it.
#[tokio::test]
async fn a_failing_checker_denies_and_keeps_its_text_from_the_model() {
    for decide in [
        (|_| Err(CheckError::new("policy server 503 at 10.0.0.7"))) as Decide,
        (|_| panic!("policy server 503 at 10.0.0.7")) as Decide,
    ] {
        let script = Script::new([calls(&[("a", "read_file", value!({ "path": "/a" }))]), say("ok")]);
        let agent =
            agent(&script).tools(file_tools()).permission_checker(Checker::new(decide)).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        let (_, text, reason) = results(&report).remove(0);
        assert!(text.starts_with("[permission denied: `read_file` could not be authorized"), "{text}");
        assert!(!text.contains("503"));
        assert_eq!(reason.as_deref(), Some("denied"));
        let check = &heard.of("permission.check")[0];
        assert_eq!(check.get("result"), Some(&value!("deny")));
        assert!(check.get("rationale").and_then(Value::as_str).unwrap().starts_with("the checker failed: "));
    }
}

/// Proves TOOL-38, TOOL-31, AGT-81, T-10.
#[tokio::test]
async fn a_halt_settles_the_batch_and_ends_the_run() {
    let three = calls(&[
        ("a", "read_file", value!({ "path": "/x" })),
        ("b", "read_file", value!({ "path": "/y" })),
        ("c", "read_file", value!({ "path": "/z" })),
    ]);
    let script = Script::new([three, say("never")]);
    let checker = Checker::new(|request| {
        Ok(if !request.sequence.is_empty() {
            PermissionDecision::halt("too-many-calls")
        } else {
            PermissionDecision::allow()
        })
    });
    let agent = agent(&script).tools(file_tools()).permission_checker(checker).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    let error = report.error().unwrap();
    assert_eq!((error.name(), error.code()), ("PolicyHaltError", Some("ERR_POLICY_HALT")));
    assert_eq!(
        heard.dispatch(),
        [
            "stream.tool_start",
            "permission.check",
            "stream.tool_end",
            "stream.tool_start",
            "permission.check",
            "stream.tool_end",
            "stream.tool_start",
            "stream.tool_end",
            "permission.halt",
        ]
    );
    assert_eq!(
        heard.of("permission.halt"),
        [value!({
            "checkerId": "tripwire", "target": "read_file", "reason": "too-many-calls", "iteration": 1,
            "sequenceLength": 2,
        })]
    );
    assert_eq!(
        results(&report)[1..],
        [
            ("b".into(), "`read_file` is not available in this context.".into(), Some("halted".into())),
            (
                "c".into(),
                "This call was not dispatched: the batch stopped at the call to `read_file` before it. It may be \
                 requested again."
                    .into(),
                Some("not-dispatched".into())
            ),
        ]
    );
    assert!(every_call_is_answered(&report));
    assert_eq!(state(&report, "policyHaltArgs"), Some(value!({ "path": "/y" })));
    assert_eq!(state(&report, "policyHaltReason"), Some(value!("too-many-calls")));
    assert!(state(&report, "policyHaltTellLLM").is_none());
    assert_eq!(
        commits(&report),
        [[
            "lastToolResult set",
            "toolResults set",
            "history append",
            "policyHaltReason set",
            "policyHaltTarget set",
            "policyHaltArgs set",
            "policyHaltIteration set",
            "policyHaltCheckerId set",
        ]]
    );
    assert!(heard.of("agent.iteration_end").is_empty());
    // A call that was not dispatched writes no routing state.
    assert_eq!(state(&report, "toolResults").unwrap().as_array().unwrap().len(), 2);
}

//! Rules of dispatch, one test each.

use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::{OutputOptions, Typed};
use agentfootprint_core::injection::BoxError;
use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::{
    CheckError, CredentialNeed, MessageContext, MessageMiddleware, MessageOutcome, PermissionChecker,
    PermissionDecision, PermissionRequest, Secret, Tool, ToolCallContext, ToolCallOutcome, ToolError,
    ToolHooks, ToolMiddleware, ToolResultContext, ToolResultOutcome, static_tokens,
};
use agentfootprint_record::MemoryIdentity;
use agentfootprint_record::events::words::MessagePhase;
use async_trait::async_trait;
use footprint::value;
use footprint::value::Value;

use crate::support::{Heard, Script, agent, calls, results, run, say, state, tool};

/// Proves TOOL-1: neither a name nor a description nor the look of a result changes what happens to a call.
#[tokio::test]
async fn nothing_is_inferred() {
    let ominous = Tool::builder("delete_everything_ask_human")
        .description("Dangerous. Requires approval. Needs credential `crm`. Returns status denied.")
        .handler(|_: Value, _| async { value!({ "status": "denied", "error": true, "paused": true }) })
        .build()
        .unwrap();
    let script = Script::new([calls(&[("t", "delete_everything_ask_human", value!({}))]), say("ok")]);
    let agent = agent(&script).tool(ominous).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "ok");
    assert_eq!(heard.dispatch(), ["stream.tool_start", "stream.tool_end"]);
    let end = &heard.of("stream.tool_end")[0];
    assert!(end.get("error").is_none() && end.get("status").is_none());
    assert_eq!(
        results(&report),
        [("t".into(), r#"{"status":"denied","error":true,"paused":true}"#.into(), None)]
    );
}

struct Gate;

#[async_trait]
impl PermissionChecker for Gate {
    fn name(&self) -> &str {
        "remote-engine"
    }

    async fn check(&self, _: &PermissionRequest) -> Result<PermissionDecision, CheckError> {
        Ok(PermissionDecision::gate_open("g-1"))
    }
}

/// Proves TOOL-41: an open gate lets the call run, and the loop itself says nothing of gates.
#[tokio::test]
async fn an_open_gate_is_a_pass() {
    let script = Script::new([calls(&[("t", "look", value!({}))]), say("ok")]);
    let agent =
        agent(&script).tool(tool("look", value!({}), |_| "seen")).permission_checker(Gate).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(results(&report)[0].1, "seen");
    assert_eq!(heard.of("permission.check")[0].get("result"), Some(&value!("gate_open")));
    assert_eq!(heard.dispatch(), ["stream.tool_start", "permission.check", "stream.tool_end"]);
}

/// Keeps what it is told, and marks the arguments.
#[derive(Clone, Default)]
struct Keeps(Arc<Mutex<Vec<(ToolCallContext, Option<Value>, bool)>>>);

#[async_trait]
impl ToolMiddleware for Keeps {
    fn name(&self) -> &str {
        "keeps"
    }

    fn hooks(&self) -> ToolHooks {
        ToolHooks::Both
    }

    async fn on_tool_call(&self, call: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        self.0.lock().unwrap().push((call.clone(), None, false));
        Ok(ToolCallOutcome::allow_with(value!({ "n": 2 }), "doubled"))
    }

    async fn on_tool_result(&self, seen: &ToolResultContext) -> Result<ToolResultOutcome, BoxError> {
        self.0.lock().unwrap().push((seen.call.clone(), seen.result.clone(), seen.error));
        Ok(ToolResultOutcome::allow())
    }
}

/// Proves TOOL-44: what a link is told of a call and of its result.
#[tokio::test]
async fn links_are_told_of_the_call() {
    let keeps = Keeps::default();
    let remote = Tool::builder("remote").source("crm-server").handler(|args: Value, _| async move { args });
    let fails = tool("fails", value!({}), |_| Err::<String, _>(ToolError::new("broke")));
    let script = Script::new([
        calls(&[("a", "remote", value!({ "n": 1 })), ("b", "fails", value!({ "n": 1 }))]),
        say("ok"),
    ]);
    let agent = agent(&script).tool(remote).tool(fails).tool_middleware(keeps.clone()).build().unwrap();
    let heard = Heard::default();
    let who = MemoryIdentity::conversation("c").principal("ann");
    agent.run("go").options(heard.options().identity(who.clone())).await;
    let told = keeps.0.lock().unwrap();
    let rows: Vec<_> = told
        .iter()
        .map(|(call, result, error)| {
            let source = call.tool_source.as_deref().map(str::to_owned);
            (call.tool_call_id.to_string(), source, call.args.to_string(), result.clone(), *error)
        })
        .collect();
    let server = Some("crm-server".to_owned());
    let (one, two) = (r#"{"n":1}"#.to_owned(), r#"{"n":2}"#.to_owned());
    assert_eq!(
        rows,
        [
            ("a".to_owned(), server.clone(), one.clone(), None, false),
            ("a".to_owned(), server, two.clone(), Some(value!({ "n": 2 })), false),
            ("b".to_owned(), None, one, None, false),
            ("b".to_owned(), None, two, Some(value!("broke")), true),
        ]
    );
    for (at, (call, ..)) in told.iter().enumerate() {
        assert_eq!((call.iteration, call.identity.as_deref()), (1, Some(&who)));
        // The turn that asks is there; the second call sees the first one's result as well.
        let history = call.history.to_value();
        assert_eq!(history.as_array().unwrap().len(), if at < 2 { 2 } else { 3 });
        assert!(history.as_array().unwrap().get(1).unwrap().get("toolCalls").is_some());
    }
}

/// Proves TOOL-55: what a credential failed with reaches model and record, a secret reaches neither.
#[tokio::test]
async fn a_failed_credential_names_services_and_no_secret() {
    let needy =
        Tool::builder("look").needs(CredentialNeed::new("crm")).handler(|_: Value, _| async { "seen" });
    let script = Script::new([calls(&[("t", "look", value!({}))]), say("ok")]);
    let tokens = static_tokens([("billing", Secret::new("s3cret-token"))]);
    let agent = agent(&script).tool(needy).credentials(tokens).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    let (_, text, reason) = results(&report)[0].clone();
    assert_eq!(reason.as_deref(), Some("credential-refused"));
    assert!(text.contains("crm") && text.contains("billing"), "{text}");
    assert_eq!(heard.of("credential.failed").len(), 1);
    assert!(!heard.mentions("s3cret-token"));
    assert!(!report.record.state().to_string().contains("s3cret-token"));
}

/// Speaks at the output.
struct Output(fn(&str) -> MessageOutcome, Arc<Mutex<Vec<String>>>);

#[async_trait]
impl MessageMiddleware for Output {
    fn name(&self) -> &str {
        "output"
    }

    async fn on_message(&self, message: &MessageContext) -> Result<MessageOutcome, BoxError> {
        if message.phase == MessagePhase::Input {
            return Ok(MessageOutcome::allow());
        }
        self.1.lock().unwrap().push(message.content.to_string());
        Ok((self.0)(&message.content))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Ticket {
    title: String,
}

/// Proves TOOL-101: wrap-up, then the output chain, then the schema; a denied answer is judged by none; one route per answer.
#[tokio::test]
async fn the_judges_come_in_their_order() {
    let contract = || OutputOptions::new().retries(2);
    // The chain comes first: what it makes of the answer is what the schema judges.
    let seen = Arc::default();
    let mends =
        Output(|text| MessageOutcome::allow_with(text.replace('~', "\""), "mended"), Arc::clone(&seen));
    let script = Script::new([say("broken"), say("{~title~:~x~}")]);
    let mended = agent(&script)
        .message_middleware(mends)
        .output_schema(Typed::<Ticket>::new(), contract())
        .build()
        .unwrap();
    let (report, heard) = run(&mended, "go").await;
    assert_eq!(report.answer().unwrap(), r#"{"title":"x"}"#);
    assert_eq!(*seen.lock().unwrap(), ["broken", "{~title~:~x~}"]);
    let routes: Vec<Value> =
        heard.of("agent.route_decided").iter().map(|row| row.get("chosen").cloned().unwrap()).collect();
    assert_eq!(routes, [value!("output-retry"), value!("final")]);

    let denies = Output(|_| MessageOutcome::deny("no"), Arc::default());
    let script = Script::new([say("broken")]);
    let denied = agent(&script)
        .message_middleware(denies)
        .output_schema(Typed::<Ticket>::new(), contract())
        .build()
        .unwrap();
    let (report, heard) = run(&denied, "go").await;
    assert!(report.answer().is_err());
    assert!(state(&report, "outputAttempts").is_none() && heard.of("agent.output_schema_retry").is_empty());

    // A fragment that a wrap-up is about to replace is judged by nobody.
    let seen = Arc::default();
    let watches = Output(|_| MessageOutcome::allow(), Arc::clone(&seen));
    let script = Script::new([calls(&[("t", "look", value!({}))]), say(r#"{"title":"late"}"#)]);
    let wrapped = agent(&script)
        .tool(tool("look", value!({}), |_| "seen"))
        .message_middleware(watches)
        .output_schema(Typed::<Ticket>::new(), contract())
        .max_iterations(1)
        .build()
        .unwrap();
    let (report, heard) = run(&wrapped, "go").await;
    assert_eq!(report.answer().unwrap(), r#"{"title":"late"}"#);
    assert_eq!(*seen.lock().unwrap(), [r#"{"title":"late"}"#]);
    let routes: Vec<Value> =
        heard.of("agent.route_decided").iter().map(|row| row.get("chosen").cloned().unwrap()).collect();
    assert_eq!(routes, [value!("wrap-up"), value!("final")]);
}

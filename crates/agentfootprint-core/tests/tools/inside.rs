//! What a handler may do besides answering: call other tools, leave cleanups, need a person's consent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::OnAuthorizationRequired;
use agentfootprint_core::run::RunError;
use agentfootprint_core::tools::{
    Bearer, CheckError, CheckIn, Cleanup, CredentialError, CredentialNeed, CredentialProvider,
    CredentialRequest, CredentialResponse, PermissionChecker, PermissionDecision, PermissionRequest, Secret,
    TeardownOptions, TeardownScope, Tool, ToolContext, ToolFailure, ask_human, tool_session_key,
};
use async_trait::async_trait;
use footprint::value;
use footprint::value::Value;

use crate::support::{Heard, Script, agent, calls, results, resume, run, say, state, tool};

/// A tool that calls another one with `args.name` and `args.args`, and answers what came of it.
fn caller() -> Tool {
    Tool::builder("caller")
        .handler(|args: Value, cx: ToolContext| async move {
            let name = args.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let inner = args.get("args").cloned().unwrap_or(value!({}));
            let tools = cx.tools().ok_or_else(|| ToolFailure::message("no tools inside"))?;
            let known = tools.has(&name);
            let output = tools.call(name, inner).await?;
            Ok::<_, ToolFailure>(value!({ "known": known, "got": (output.into_value().unwrap_or_default()) }))
        })
        .build()
        .unwrap()
}

fn ask(name: &str, args: Value) -> Value {
    value!({ "name": name, "args": args })
}

/// Vends per service, and counts.
#[derive(Clone, Default)]
struct Vault(Arc<AtomicUsize>);

const CONSENT: &str = "https://consent.example/s3cret";

#[async_trait]
impl CredentialProvider for Vault {
    fn id(&self) -> &str {
        "vault"
    }

    async fn get_credential(
        &self,
        request: CredentialRequest,
    ) -> Result<CredentialResponse, CredentialError> {
        let times = self.0.fetch_add(1, Ordering::SeqCst);
        match &*request.service {
            "away" => Err(CredentialError::new("503 from the vault").class("Unavailable")),
            "later" if times > 0 => Ok(issued()),
            "later" | "asks" => Ok(CredentialResponse::AuthorizationRequired {
                authorization_url: Secret::new(CONSENT),
                session_id: "consent-1".into(),
            }),
            _ => Ok(issued()),
        }
    }
}

fn issued() -> CredentialResponse {
    CredentialResponse::Issued { credential: Arc::new(Bearer(Secret::new("t0ken"))), expires_at: None }
}

fn needing(name: &str, service: &'static str) -> Tool {
    Tool::builder(name.to_owned())
        .needs(CredentialNeed::new(service))
        .handler(|_: Value, cx: ToolContext| async move {
            cx.credential().map_or("nothing".to_owned(), |credential| format!("used {}", credential.kind()))
        })
        .build()
        .unwrap()
}

struct Inner;

#[async_trait]
impl PermissionChecker for Inner {
    fn name(&self) -> &str {
        "inner"
    }
    fn governs_inner(&self) -> bool {
        true
    }
    async fn check(&self, request: &PermissionRequest) -> Result<PermissionDecision, CheckError> {
        Ok(match &*request.target {
            "plain" => PermissionDecision::deny("not from inside"),
            _ => PermissionDecision::allow(),
        })
    }
}

/// Proves TOOL-75, TOOL-76: an inner call comes back exactly, under an id of its own, and is no call of the model.
#[tokio::test]
async fn an_inner_call_is_the_outer_calls_work() {
    let script = Script::new([calls(&[("c1", "caller", ask("who", value!({})))]), say("done")]);
    let who = Tool::builder("who").handler(|_: Value, cx: ToolContext| async move {
        let nested = cx.tools().is_some();
        value!({ "id": (cx.tool_call_id().to_owned()), "nested": nested, "turn": (cx.turn_id().is_some()) })
    });
    let agent = agent(&script).tool(caller()).tool(who).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(results(&report)[0].1, r#"{"known":true,"got":{"id":"c1.1","nested":false,"turn":true}}"#);
    assert_eq!(heard.dispatch(), ["stream.tool_start", "stream.tool_end"]);
}

/// Proves TOOL-75: what an inner call cannot do is refused by name, and the outer tool decides what to make of it.
#[tokio::test]
async fn inner_calls_are_refused_by_name() {
    let cases = [
        ("gone", value!({}), "no tool `gone` can be called from inside `caller`"),
        (
            "asks_first",
            value!({}),
            "`asks_first` cannot be called from inside another tool: a person has to approve it first",
        ),
        (
            "strict",
            value!({ "n": "x" }),
            "`strict` was not executed, its arguments do not fit:\n- `n`: expected number, got string",
        ),
        ("granted", value!({}), "a person has to grant access to `asks` first"),
        ("unlucky", value!({}), "no credential for `away` could be obtained (503 from the vault)"),
        ("fails", value!({}), "`fails` failed: no luck"),
        ("panics", value!({}), "`panics` failed: `panics` failed unexpectedly and returned no result."),
    ];
    for (name, args, expected) in cases {
        let script = Script::new([calls(&[("c1", "caller", ask(name, args))]), say("done")]);
        let approved =
            Tool::builder("asks_first").check_in(CheckIn::Always).handler(|_: Value, _| async { "x" });
        let agent = agent(&script)
            .tools([
                caller(),
                approved.build().unwrap(),
                tool("strict", value!({ "properties": { "n": { "type": "number" } } }), |_| "x"),
                needing("granted", "asks"),
                needing("unlucky", "away"),
                tool("fails", value!({}), |_| Err::<String, _>(ToolFailure::message("no luck"))),
                tool("panics", value!({}), |_| -> String { panic!("boom") }),
            ])
            .credentials(Vault::default())
            .build()
            .unwrap();
        let (report, heard) = run(&agent, "go").await;
        let text = &results(&report)[0].1;
        assert!(text.contains(expected), "{name}: {text}");
        assert!(!heard.mentions(CONSENT));
        assert_eq!(report.answer().unwrap(), "done", "an inner consent is nobody's open question");
    }
}

/// Proves TOOL-75: a checker that governs inner calls is asked; a credential is vended without a person.
#[tokio::test]
async fn inner_calls_are_governed_and_vended() {
    let made = |name: &'static str| async move {
        let script = Script::new([calls(&[("c1", "caller", ask(name, value!({})))]), say("done")]);
        let agent = agent(&script)
            .tools([caller(), tool("plain", value!({}), |_| "x"), needing("vended", "mail")])
            .credentials(Vault::default())
            .permission_checker(Inner)
            .build()
            .unwrap();
        run(&agent, "go").await
    };
    let (report, heard) = made("plain").await;
    assert!(results(&report)[0].1.contains("[permission denied: not from inside]"));
    let asked: Vec<Value> =
        heard.of("permission.check").iter().map(|event| event.get("target").cloned().unwrap()).collect();
    assert_eq!(asked, [value!("caller"), value!("plain")]);
    let (report, heard) = made("vended").await;
    assert!(results(&report)[0].1.contains("used bearer"));
    assert_eq!(heard.of("credential.acquired")[0], value!({ "service": "mail", "kind": "bearer" }));
}

/// Proves TOOL-75: a question of an inner tool pauses the outer call; the answer is the outer result.
#[tokio::test]
async fn an_inner_question_is_the_outer_calls_pause() {
    let script = Script::new([calls(&[("c1", "caller", ask("asking", value!({})))]), say("done")]);
    let asking =
        tool("asking", value!({}), |_| Err::<String, _>(ask_human(value!({ "question": "Which?" }))));
    let agent = agent(&script).tools([caller(), asking]).build().unwrap();
    let (paused, _) = run(&agent, "go").await;
    let pause = paused.paused().unwrap();
    assert_eq!(pause.pause_data.get("toolName"), Some(&value!("caller")));
    assert_eq!(pause.pause_data.get("question"), Some(&value!("Which?")));
    let (done, _) = resume(&agent, &paused, Some(value!("that one"))).await;
    assert_eq!(results(&done)[0].1, "that one");
}

type Log = Arc<Mutex<Vec<String>>>;

/// A tool that leaves cleanups of the scopes it is asked for.
fn leaving(log: &Log) -> Tool {
    let log = Arc::clone(log);
    Tool::builder("leaves")
        .handler(move |args: Value, cx: ToolContext| {
            let log = Arc::clone(&log);
            async move {
                for (word, scope) in [
                    ("call", TeardownScope::Call),
                    ("run", TeardownScope::Run),
                    ("session", TeardownScope::Session),
                    ("shutdown", TeardownScope::Shutdown),
                ] {
                    if args.get(word).is_none() {
                        continue;
                    }
                    let log = Arc::clone(&log);
                    let key = tool_session_key(&cx, scope).unwrap_or_else(|| "all".to_owned());
                    let cleanup = Cleanup::new(move || async move {
                        log.lock().unwrap().push(word.to_owned());
                        if word == "session" { Err("no longer there".into()) } else { Ok(()) }
                    });
                    cx.on_teardown(TeardownOptions::new(scope).key(key).label("box"), cleanup)?;
                }
                if args.get("asks").is_some() {
                    return Err(ask_human(value!({ "question": "Go on?" })));
                }
                Ok::<_, ToolFailure>("left")
            }
        })
        .build()
        .unwrap()
}

/// Proves TOOL-89, TOOL-91, AGT-10: each scope ends where it says, once, and every end is said without its key.
#[tokio::test]
async fn sessions_end_with_their_scope() {
    let log = Log::default();
    let all = value!({ "call": 1, "run": 1, "session": 1, "shutdown": 1 });
    let script = Script::new([
        calls(&[("a", "leaves", all)]),
        calls(&[("b", "leaves", value!({ "run": 1 }))]),
        say("done"),
    ]);
    let agent = agent(&script).tool(leaving(&log)).build().unwrap();
    let heard = Heard::default();
    use agentfootprint_core::observe::ShutdownOptions;
    use agentfootprint_core::run::Runner as _;
    let report = agent.run("go").options(heard.options().session_id("s-1")).await;
    assert_eq!(report.answer().unwrap(), "done");
    assert_eq!(*log.lock().unwrap(), ["call", "run"]);
    assert_eq!(heard.of("tools.session_started").len(), 4);
    let reused = heard.of("tools.session_reused");
    assert_eq!((reused.len(), reused[0].get("calls")), (1, Some(&value!(2))));
    let closed = heard.of("tools.session_closed");
    let ends: Vec<&Value> = closed.iter().map(|event| event.get("reason").unwrap()).collect();
    assert_eq!(ends, [&value!("call-end"), &value!("run-end")]);
    assert_eq!(closed[1].get("label"), Some(&value!("box")));
    assert_eq!(closed[1].get("keyHash").unwrap().as_str().unwrap().len(), 12);
    assert!(!heard.mentions("/s=s-1"), "a key never leaves");

    let said = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&said);
    let _guard = agent
        .events()
        .on("agentfootprint.tools.*", move |event| kept.lock().unwrap().push(event.to_value()))
        .unwrap();
    assert_eq!(agent.close_tool_sessions(Some("another")).await.closed, 0);
    assert_eq!(agent.close_tool_sessions(Some("s-1")).await.failed, ["no longer there"]);
    let shut = async || agent.shutdown(ShutdownOptions::default()).await.sessions.closed;
    assert_eq!((shut().await, shut().await), (1, 0));
    assert_eq!(*log.lock().unwrap(), ["call", "run", "session", "shutdown"]);
    let said = said.lock().unwrap();
    let stage = said[0].get("meta").unwrap().get("runtimeStageId");
    assert_eq!(stage, Some(&value!("tool-teardown#0")));
    assert_eq!(said[0].get("payload").unwrap().get("error"), Some(&value!("no longer there")));
}

/// Proves TOOL-58, TOOL-89, TOOL-95, T-3, T-4: a pause ends nothing; the resumed leg is the same turn.
#[tokio::test]
async fn a_pause_ends_no_session() {
    let log = Log::default();
    let script =
        Script::new([calls(&[("a", "leaves", value!({ "call": 1, "run": 1, "asks": 1 }))]), say("done")]);
    let agent = agent(&script).tool(leaving(&log)).build().unwrap();
    let (paused, heard) = run(&agent, "go").await;
    assert!(log.lock().unwrap().is_empty());
    assert!(heard.of("tools.session_closed").is_empty());
    let (_, heard) = resume(&agent, &paused, Some(value!("yes"))).await;
    assert_eq!(*log.lock().unwrap(), ["call", "run"]);
    assert_eq!(heard.of("tools.session_closed").len(), 2);
}

/// Proves TOOL-53, TOOL-54, T-11: told to the model, a missing consent does not end the turn quietly; the address is on the error
/// alone.
#[tokio::test]
async fn a_missing_consent_ends_the_run_with_its_error() {
    let script = Script::new([calls(&[("a", "mail", value!({}))]), say("I could not.")]);
    let build = |script: &Script, service| {
        agent(script)
            .tool(needing("mail", service))
            .credentials(Vault::default())
            .on_authorization_required(OnAuthorizationRequired::TellModel)
            .build()
            .unwrap()
    };
    let (report, heard) = run(&build(&script, "asks"), "go").await;
    assert_eq!(
        results(&report)[0].1,
        "[`mail` was not executed: a person has to grant access to `asks` first. You cannot do that yourself; go on without \
         it, or say that it is missing.]"
    );
    let error = report.outcome.as_ref().unwrap_err();
    assert_eq!(error.to_string(), "tool `mail` needs a person's consent for service `asks`");
    assert_eq!((error.code(), error.is_terminal()), (Some("ERR_CREDENTIAL_CONSENT_REQUIRED"), true));
    let RunError::CredentialConsentRequired { authorization_url, session_id, iteration, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((authorization_url.expose(), &**session_id, *iteration), (CONSENT, "consent-1", 1));
    assert!(!heard.mentions(CONSENT) && !format!("{error:?}").contains(CONSENT));
    assert!(!Value::from(report.record.state().clone()).to_string().contains(CONSENT));

    // A later credential for the service settles it.
    let script =
        Script::new([calls(&[("a", "mail", value!({}))]), calls(&[("b", "mail", value!({}))]), say("sent")]);
    let (report, _) = run(&build(&script, "later"), "go").await;
    assert_eq!(report.answer().unwrap(), "sent");
}

/// Proves TOOL-51, TOOL-52, TOOL-54: consent pauses, the address rides the pause alone, and the resume asks again.
#[tokio::test]
async fn consent_pauses_and_is_asked_for_again() {
    let script = Script::new([calls(&[("a", "mail", value!({}))]), say("sent")]);
    let agent_ = agent(&script).tool(needing("mail", "later")).credentials(Vault::default()).build().unwrap();
    let (paused, heard) = run(&agent_, "go").await;
    let authorization = paused.paused().unwrap().pause_data.get("authorization").cloned().unwrap();
    assert_eq!(authorization.get("authorizationUrl"), Some(&value!(CONSENT)));
    assert!(!heard.mentions(CONSENT));
    assert!(!Value::from(paused.record.state().clone()).to_string().contains(CONSENT));
    let (done, heard) = resume(&agent_, &paused, None).await;
    assert_eq!(results(&done)[0].1, "used bearer");
    assert_eq!(heard.of("credential.requested").len(), 1);

    // A failed vending is a result and an event.
    let script = Script::new([calls(&[("a", "mail", value!({}))]), say("sorry")]);
    let agent_ = agent(&script).tool(needing("mail", "away")).credentials(Vault::default()).build().unwrap();
    let (report, heard) = run(&agent_, "go").await;
    assert_eq!(
        results(&report)[0],
        (
            "a".to_owned(),
            "`mail` was not executed: no credential for `away` could be obtained (503 from the vault)."
                .to_owned(),
            Some("credential-refused".to_owned())
        )
    );
    assert_eq!(
        heard.of("credential.failed")[0],
        value!({ "service": "away", "reason": "503 from the vault", "tool": "mail", "errorClass": "Unavailable" })
    );

    // Pulled from inside, a failure is on the record as well.
    let pulls = Tool::builder("pulls").handler(|_: Value, cx: ToolContext| async move {
        let pulled = cx.credentials().get(CredentialRequest::new("away")).await;
        pulled.map(|_| "got it").map_err(|error| ToolFailure::message(error.to_string()))
    });
    let script = Script::new([calls(&[("a", "pulls", value!({}))]), say("sorry")]);
    let agent_ = agent(&script).tool(pulls).credentials(Vault::default()).build().unwrap();
    let (_, heard) = run(&agent_, "go").await;
    assert_eq!(heard.of("credential.failed")[0].get("tool"), Some(&value!("pulls")));
    assert!(state(&paused, "history").is_some());
}

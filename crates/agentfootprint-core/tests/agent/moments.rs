use agentfootprint_core::agent::{OutputOptions, RunConfig, Typed};
use agentfootprint_core::run::RunError;
use agentfootprint_core::tools::{MessageContext, MessageMiddleware, MessageOutcome};
use agentfootprint_record::events::words::MessagePhase;
use async_trait::async_trait;

use crate::support::*;

type Decide = fn(&MessageContext) -> Result<MessageOutcome, Box<dyn std::error::Error + Send + Sync>>;

struct Link(&'static str, Decide);

#[async_trait]
impl MessageMiddleware for Link {
    fn name(&self) -> &str {
        self.0
    }

    async fn on_message(
        &self,
        message: &MessageContext,
    ) -> Result<MessageOutcome, Box<dyn std::error::Error + Send + Sync>> {
        (self.1)(message)
    }
}

fn scrub() -> Link {
    Link("scrub", |message| {
        Ok(match message.phase {
            MessagePhase::Input if message.content.contains("4111") => {
                MessageOutcome::allow_with(message.content.replace("4111", "<card>"), "a card number")
            }
            _ => MessageOutcome::allow(),
        })
    })
}

/// Proves TOOL-47, AGT-57: what a link makes of the message is what everybody reads.
#[tokio::test]
async fn a_rewritten_message_is_the_only_one_on_the_record() {
    let script = Script::new([say("ok")]);
    let agent = agent(&script)
        .message_middleware(scrub())
        .configure(|cx| {
            assert_eq!(&*cx.message, "card <card>");
            Some(RunConfig::new())
        })
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "card 4111").await;
    assert_eq!(script.request(0).last_user_text(), Some("card <card>"));
    assert!(!heard.mentions("4111"));
    assert_eq!(state(&report, "userMessage"), Some(json!("card <card>")));
    assert!(!report.record.checkpoint().unwrap().to_json().contains("4111"));
    let row = &state(&report, "middlewareDecisions").unwrap()[0];
    assert_eq!(
        (&row["moment"], &row["outcome"], &row["changed"]),
        (&json!("input"), &json!("allow"), &json!(true))
    );
    assert_eq!((&row["before"], &row["after"]), (&json!("card 4111"), &json!("card <card>")));
    assert_eq!(heard.count("middleware.decision"), 2);
}

/// Proves AGT-58, AGT-108, TOOL-43: an error denies; a denied message is nowhere and no model is asked.
#[tokio::test]
async fn a_denied_message_is_on_no_channel() {
    let failing = Link("gate", |_| Err("the policy store is down".into()));
    let script = Script::new([say("never")]);
    let agent = agent(&script)
        .message_middleware(Link("mark", |message| {
            Ok(MessageOutcome::allow_with(format!("{} (seen)", message.content), "seen"))
        }))
        .message_middleware(failing)
        .configure(|_| panic!("not called for a denied message"))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "the secret plan").await;
    let Err(RunError::MessageDenied { reason, phase, middleware }) = &report.outcome else {
        panic!("{report:?}")
    };
    assert_eq!((&**phase, &**middleware), ("input", "gate"));
    assert!(reason.contains("the policy store is down"));
    assert_eq!(report.error().unwrap().code(), Some("ERR_MESSAGE_DENIED"));
    assert_eq!(script.calls(), 0);
    assert!(!heard.mentions("secret plan"));
    assert!(!report.record.snapshot().to_json().contains("secret plan"));
    assert_eq!(heard.count("agent.turn_start"), 1);
    assert_eq!(heard.count("agent.turn_end"), 0);
    assert_eq!(heard.count("error.fatal"), 0);
}

/// Proves TOOL-47: a denied answer reaches nobody; the run says who denied it.
#[tokio::test]
async fn a_denied_answer_is_not_delivered() {
    let gate = Link("gate", |message| {
        Ok(match message.phase {
            MessagePhase::Output => MessageOutcome::deny("not to be said"),
            _ => MessageOutcome::allow(),
        })
    });
    let agent = agent(&Script::new([say("the launch code")]))
        .message_middleware(gate)
        .output_schema(Typed::<String>::new(), OutputOptions::new().retries(3))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    let Err(RunError::MessageDenied { phase, .. }) = &report.outcome else { panic!("{report:?}") };
    assert_eq!(&**phase, "output");
    assert_eq!(heard.count("agent.turn_end"), 0);
    assert_eq!(heard.count("agent.output_schema_retry"), 0);
    assert!(state(&report, "outputAttempts").is_none());
    assert!(report.record.checkpoint().is_none());
}

/// Proves AGT-94, TOOL-104: an answer the chain broke is not asked again.
#[tokio::test]
async fn an_answer_the_chain_broke_is_not_asked_again() {
    let sign = Link("sign", |message| {
        Ok(match message.phase {
            MessagePhase::Output => {
                MessageOutcome::allow_with(format!("{} -- me", message.content), "signed")
            }
            _ => MessageOutcome::allow(),
        })
    });
    let script = Script::new([say("\"fine\"")]);
    let agent = agent(&script)
        .message_middleware(sign)
        .output_schema(Typed::<String>::new(), OutputOptions::new().retries(3))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "\"fine\" -- me");
    assert_eq!(script.calls(), 1);
    assert_eq!(report.record.output_contract_unmet().unwrap()["brokenBy"], json!("sign"));
    assert_eq!(heard.of("agent.output_contract_unmet")[0]["brokenBy"], json!("sign"));
}

/// Proves AGT-24: a hook decides for one run, and a hook that fails ends it before a model is asked.
#[tokio::test]
async fn a_run_is_configured_by_its_hook() {
    let script = Script::new([say("ok"), say("ok")]);
    let configured = agent(&script)
        .system("As built.")
        .configure(|cx| {
            cx.message.contains("big").then(|| RunConfig::new().model("large").instructions("As decided."))
        })
        .build()
        .unwrap();
    run(&configured, "small").await;
    run(&configured, "big").await;
    let prompt = |at: usize| script.request(at).system_prompt().unwrap().to_string();
    assert_eq!((&*script.request(0).model, &*prompt(0)), ("m", "As built."));
    assert_eq!((&*script.request(1).model, &*prompt(1)), ("large", "As decided."));
    let script = Script::new([say("never")]);
    let failing = agent(&script).configure(|_| panic!("a hook's own bug")).build().unwrap();
    let (report, _) = run(&failing, "go").await;
    assert_eq!(report.error().unwrap().code(), Some("ERR_INVALID_RUN_CONFIG"));
    assert_eq!(script.calls(), 0);
}

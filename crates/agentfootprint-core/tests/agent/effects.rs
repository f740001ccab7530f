//! The effects port: everything outside passes through it, in one order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agentfootprint_core::agent::{Agent, RunConfig};
use agentfootprint_core::injection::BoxError;
use agentfootprint_core::llm::{Capabilities, LlmChunk, LlmError, LlmResponse};
use agentfootprint_core::record::{BoundaryDetail, RecordOptions};
use agentfootprint_core::run::{
    Direct, EffectFn, EffectRecord, EffectSpec, Effects, IdSource, RunOptions, RunOutcome, SequentialIds,
};
use agentfootprint_core::tools::{
    Assembler, Bearer, CheckError, CheckIn, CheckInOptions, CredentialError, CredentialNeed,
    CredentialProvider, CredentialRequest, CredentialResponse, Evidence, EvidenceInput, MessageContext,
    MessageMiddleware, MessageOutcome, PermissionChecker, PermissionDecision, PermissionRequest, Secret,
    Tool, ToolCallContext, ToolCallOutcome, ToolContext, ToolError, ToolHooks, ToolListContext,
    ToolMiddleware, ToolProvider, ToolProviderError, ToolResultContext, ToolResultOutcome, check_in_approved,
};
use async_trait::async_trait;
use footprint::clock::{Clock, ManualClock};
use footprint::pause::FlowchartCheckpoint;
use footprint::value::Value;

use crate::support::{Script, calls, json, say};

/// One entry: ordinal, kind, name, step, input digest, and what it came to.
type Entry = (String, [u8; 32], EffectRecord);

/// Writes every effect down, or answers each from what was written and does no work.
struct Journal {
    direct: Direct,
    written: Mutex<Vec<Entry>>,
    replays: Option<Vec<Entry>>,
    at: AtomicUsize,
}

impl Journal {
    fn new(replays: Option<Vec<Entry>>, ids: u64) -> Arc<Self> {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(1_700_000_000_000 + ids));
        let direct = Direct::new().with_clock(clock).with_ids(Arc::new(SequentialIds::default()));
        Arc::new(Self { direct, written: Mutex::default(), replays, at: AtomicUsize::new(0) })
    }

    fn kinds(&self) -> Vec<String> {
        self.written.lock().unwrap().iter().map(|(what, ..)| what.clone()).collect()
    }
}

#[async_trait]
impl Effects for Journal {
    async fn perform<'a>(&self, spec: EffectSpec<'a>, work: EffectFn<'a>) -> EffectRecord {
        let at = self.at.fetch_add(1, Ordering::SeqCst);
        assert_eq!(spec.ordinal, u64::try_from(at).unwrap(), "effects come in their order");
        let what = format!("{} {} @ {}", spec.kind.as_str(), spec.name, spec.step);
        let digest = spec.input_digest();
        if let Some(replays) = &self.replays {
            let (known, input, record) = &replays[at];
            assert_eq!((known, input), (&what, &digest), "the replay asks for what was recorded");
            return record.clone();
        }
        let record = self.direct.perform(spec, work).await;
        self.written.lock().unwrap().push((what, digest, record.clone()));
        record
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.direct.clock()
    }

    fn ids(&self) -> Arc<dyn IdSource> {
        self.direct.ids()
    }
}

/// Every port of the agent in one value; each counts that it was entered.
#[derive(Clone, Default)]
struct World(Arc<AtomicUsize>);

impl World {
    fn enter(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn entered(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl PermissionChecker for World {
    fn name(&self) -> &str {
        "gate"
    }
    async fn check(&self, request: &PermissionRequest) -> Result<PermissionDecision, CheckError> {
        self.enter();
        match &*request.target {
            "drop" => Ok(PermissionDecision::deny("files stay").rule("no-drop")),
            _ => Ok(PermissionDecision::allow()),
        }
    }
}

#[async_trait]
impl ToolMiddleware for World {
    fn name(&self) -> &str {
        "link"
    }
    fn hooks(&self) -> ToolHooks {
        ToolHooks::Both
    }
    async fn on_tool_call(&self, call: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        self.enter();
        Ok(match &*call.tool_name {
            "mail" => ToolCallOutcome::allow_with(json!({"to": "ann"}), "canonical"),
            _ => ToolCallOutcome::allow(),
        })
    }
    async fn on_tool_result(&self, result: &ToolResultContext) -> Result<ToolResultOutcome, BoxError> {
        self.enter();
        Ok(match &*result.call.tool_name {
            "mail" => ToolResultOutcome::allow_with("masked", "mail"),
            _ => ToolResultOutcome::allow(),
        })
    }
}

#[async_trait]
impl MessageMiddleware for World {
    fn name(&self) -> &str {
        "words"
    }
    async fn on_message(&self, _message: &MessageContext) -> Result<MessageOutcome, BoxError> {
        self.enter();
        Ok(MessageOutcome::allow_because("clean"))
    }
}

#[async_trait]
impl CredentialProvider for World {
    fn id(&self) -> &str {
        "vault"
    }
    async fn get_credential(
        &self,
        _request: CredentialRequest,
    ) -> Result<CredentialResponse, CredentialError> {
        self.enter();
        let credential = Arc::new(Bearer(Secret::new("s3cret")));
        Ok(CredentialResponse::Issued { credential, expires_at: Some(7) })
    }
}

#[async_trait]
impl ToolProvider for World {
    fn id(&self) -> Option<&str> {
        Some("far")
    }
    async fn list(&self, _ctx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
        self.enter();
        let world = self.clone();
        let sum = Tool::builder("sum").handler(move |_: Value, _| {
            world.enter();
            async { json!({"content": 3, "effects": [], "status": "partial"}) }
        });
        Ok(vec![sum.build().unwrap()])
    }
}

impl Assembler for World {
    fn assemble<'a>(
        &'a self,
        _input: &'a EvidenceInput<'a>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Value> + Send + 'a>> {
        self.enter();
        Box::pin(async { json!({"willDo": "send a mail"}) })
    }
}

fn agent(script: &Script, world: &World) -> Agent {
    let (mailer, failing, asking, configured) = (world.clone(), world.clone(), world.clone(), world.clone());
    let mail = Tool::builder("mail").input_schema(json!({})).needs(CredentialNeed::new("mail")).handler(
        move |_: Value, cx: ToolContext| {
            mailer.enter();
            cx.progress(json!({"message": "half way"}));
            async { "to ann@example.org" }
        },
    );
    let fails = Tool::builder("fails").handler(move |_: Value, _| {
        failing.enter();
        async { Err::<String, _>(ToolError::new("no luck")) }
    });
    let pays = Tool::builder("pays")
        .check_in(CheckIn::when(move |_, _| {
            asking.enter();
            true
        }))
        .handler(|_: Value, _| async { "paid" });
    Agent::builder(script.clone(), "m")
        .tools([mail, fails, pays])
        .tool(Tool::builder("drop").handler(|_: Value, _| async { "dropped" }))
        .tool_provider(world.clone())
        .permission_checker(world.clone())
        .tool_middleware(world.clone())
        .message_middleware(world.clone())
        .credentials(world.clone())
        .check_in(CheckInOptions::new().evidence(Evidence::Custom(Arc::new(world.clone()))))
        .configure(move |_| {
            configured.enter();
            Some(RunConfig::new().model("m2"))
        })
        .build()
        .unwrap()
}

fn full() -> RecordOptions {
    RecordOptions::new().boundary_detail(BoundaryDetail::Full)
}

fn done(response: LlmResponse) -> Vec<Result<LlmChunk, LlmError>> {
    let text = |at, content: &str| LlmChunk::Text { token_index: at, content: content.into() };
    vec![Ok(text(0, "piece ")), Ok(text(1, "by piece")), Ok(LlmChunk::done(2, response))]
}

/// Runs the same two legs; the recordings, the journals and how often anything outside was entered.
async fn two_legs(
    script: &Script,
    replays: Option<(Vec<Entry>, Vec<Entry>)>,
) -> (String, String, Arc<Journal>, Arc<Journal>, usize) {
    let world = World::default();
    let agent = agent(script, &world);
    let (first, second) = match replays {
        Some((first, second)) => (Some(first), Some(second)),
        None => (None, None),
    };
    let journal = Journal::new(first, 0);
    let run = agent
        .record("go")
        .record_options(full())
        .options(RunOptions::new().effects(journal.clone()))
        .await
        .unwrap();
    let Ok(RunOutcome::Paused(pause)) = &run.report().outcome else { panic!("{:?}", run.report().outcome) };
    let checkpoint = FlowchartCheckpoint::from_json(&pause.checkpoint.to_json()).unwrap();
    let later = Journal::new(second, 60_000);
    let answer = check_in_approved("ann").at(1).build().to_value();
    let resumed = agent
        .record_resume(checkpoint, Some(answer))
        .record_options(full())
        .options(RunOptions::new().effects(later.clone()))
        .await
        .unwrap();
    assert_eq!(resumed.answer().unwrap(), "all done");
    (run.recording().to_json(), resumed.recording().to_json(), journal, later, world.entered())
}

/// Proves HOST-118: every model, tool, provider, permission, middleware, credential, check-in and configuration call passes the
/// port in a fixed order, and a journal behind it replays both legs of a run, byte for byte, without entering anything.
#[tokio::test]
async fn a_journal_replays_a_run_without_calling_anything() {
    let asks = calls(&[
        ("a", "mail", json!({"to": "Ann"})),
        ("b", "drop", json!({})),
        ("c", "fails", json!({})),
        ("d", "sum", json!({})),
        ("e", "pays", json!({})),
    ]);
    let script = Script::streaming([done(asks), done(say("all done"))])
        .with_capabilities(Capabilities::default().with_streams(true));
    let (leg, resumed, journal, later, entered) = two_legs(&script, None).await;
    assert!(entered > 15);
    assert_eq!(
        journal.kinds(),
        [
            "leg-seed Agent:agent @ leg-seed#0",
            "middleware words @ seed#0",
            "configure agent @ seed#0",
            "tool-list far @ sf-tools/discover#12",
            "llm m2 @ call-llm#18",
            "permission gate @ tool-calls#20",
            "middleware link @ tool-calls#20",
            "credential mail @ tool-calls#20",
            "tool mail @ tool-calls#20",
            "middleware link @ tool-calls#20",
            "permission gate @ tool-calls#20",
            "permission gate @ tool-calls#20",
            "middleware link @ tool-calls#20",
            "tool fails @ tool-calls#20",
            "middleware link @ tool-calls#20",
            "permission gate @ tool-calls#20",
            "middleware link @ tool-calls#20",
            "tool sum @ tool-calls#20",
            "middleware link @ tool-calls#20",
            "permission gate @ tool-calls#20",
            "middleware link @ tool-calls#20",
            "check-in predicate pays @ tool-calls#20",
            "evidence assembler pays @ tool-calls#20",
        ]
    );
    assert!(later.kinds().iter().any(|kind| kind.starts_with("tool pays")));
    let everything = format!("{:?}", journal.written.lock().unwrap());
    assert!(!everything.contains("s3cret"), "a journal holds no credential");

    let kept = (journal.written.lock().unwrap().clone(), later.written.lock().unwrap().clone());
    let silent = Script::streaming([]).with_capabilities(Capabilities::default().with_streams(true));
    let (again, resumed_again, _, _, entered) = two_legs(&silent, Some(kept)).await;
    assert_eq!((entered, silent.calls()), (0, 0), "nothing outside was entered");
    assert_eq!(again, leg);
    assert_eq!(resumed_again, resumed);
    assert!(leg.contains("half way") && leg.contains("stream.token"));
}

/// Proves HOST-118, LLM-121: each attempt of a reliability gate is an effect of its own, its waits too, and on replay the rules
/// decide as they did although a journal keeps of a failure only its text.
#[tokio::test(start_paused = true)]
async fn a_gate_decides_on_replay_as_it_did() {
    use agentfootprint_core::llm::{ErrorKind, LlmErrorKind};
    use agentfootprint_core::reliability::{Post, Reliability, Rule};

    let gate = || {
        Reliability::new()
            .post(Rule::when(|scope| scope.error_kind == ErrorKind::RateLimit, Post::Retry, "slow"))
            .post(Rule::when(|scope| scope.error.is_some(), Post::Fallback, "other"))
            .fallback(|_, error| async move { Ok(say(&format!("instead of: {}", error.unwrap()))) })
    };
    let script = Script::by(|at, _| {
        let (kind, says) =
            if at == 0 { (LlmErrorKind::RateLimited, "wait") } else { (LlmErrorKind::Auth, "no") };
        let wait = std::time::Duration::from_secs(u64::from(at == 0) * 4);
        Err(LlmError::new(kind, "script", says).with_retry_after(wait))
    });
    let agent = crate::support::agent(&script).reliability(gate()).build().unwrap();
    let record = async |journal: Arc<Journal>| {
        let run = agent.record("go").options(RunOptions::new().effects(journal)).await.unwrap();
        assert_eq!(run.answer().unwrap(), "instead of: [script] no");
        run.recording().to_json()
    };
    let journal = Journal::new(None, 0);
    let first = record(journal.clone()).await;
    assert_eq!(
        journal.kinds()[1..],
        [
            "llm m @ call-llm#18",
            "timer reliability-wait @ call-llm#18",
            "llm m @ call-llm#18",
            "llm reliability-fallback @ call-llm#18",
        ]
    );
    let written = journal.written.lock().unwrap().clone();
    let again = record(Journal::new(Some(written), 0)).await;
    assert_eq!((first, script.calls()), (again, 2));
}

//! A tool that runs code: one sandbox per scope, staged inputs, produced files, what is told and what is recorded.

use std::sync::{Arc, Mutex};

use agentfootprint_core::artifacts::{
    ArtifactData, ArtifactScope, ArtifactStore, PutArtifact, in_memory_artifacts,
};
use agentfootprint_core::run::{RunOptions, Runner};
use agentfootprint_core::tools::{
    CheckIn, CodeRequest, CodeResult, CodeRunner, CodeRunnerError, CodeSession, CredentialNeed,
    IntoTool as _, ProducedFile, Secret, SessionStart, StagedInput, TeardownScope, Tool, ToolContext,
    check_in_approved, code_runner_tool, static_tokens,
};
use async_trait::async_trait;
use footprint::value;
use footprint::value::{Str, Value};
use indexmap::IndexMap;

use crate::support::{Heard, Script, agent, calls, results, resume, run, say};

/// A runner that writes down what it is asked, and answers what its code says.
#[derive(Clone, Default)]
struct Fake {
    log: Arc<Mutex<Vec<String>>>,
    stages: bool,
}

struct FakeSession {
    id: String,
    fake: Fake,
}

impl Fake {
    fn staging() -> Self {
        Self { stages: true, ..Self::default() }
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

#[async_trait]
impl CodeRunner for Fake {
    fn id(&self) -> &str {
        "fake"
    }

    fn stages_inputs(&self) -> bool {
        self.stages
    }

    async fn start(&self, start: SessionStart) -> Result<Arc<dyn CodeSession>, CodeRunnerError> {
        let with =
            start.credential.map(|credential| format!(" with {}", credential.kind())).unwrap_or_default();
        self.note(format!("start {} {}{with}", start.key, start.language));
        Ok(Arc::new(FakeSession { id: start.key_hash.to_string(), fake: self.clone() }))
    }
}

#[async_trait]
impl CodeSession for FakeSession {
    fn id(&self) -> &str {
        &self.id
    }

    async fn execute(&self, request: CodeRequest) -> Result<CodeResult, CodeRunnerError> {
        self.fake.note(format!("execute {}", request.code));
        Ok(match &*request.code {
            "plot" => {
                CodeResult::printed("drawn")
                    .files([ProducedFile::with_data("plot.png", vec![1, 2, 3]).media_type("image/png")])
            }
            "bad" => CodeResult::failed(Some(1), "SyntaxError"),
            code => CodeResult::printed(format!("ran {code}")),
        })
    }

    async fn stage_inputs(&self, inputs: Vec<StagedInput>) -> Result<IndexMap<Str, Str>, CodeRunnerError> {
        Ok(inputs
            .into_iter()
            .map(|input| {
                let held = String::from_utf8_lossy(&input.data).into_owned();
                self.fake.note(format!("stage {} as {}: {held}", input.name, input.file_name));
                (input.name, Str::from(format!("/in/{}", input.file_name)))
            })
            .collect())
    }

    async fn stop(&self) -> Result<(), CodeRunnerError> {
        self.fake.note("stop".to_owned());
        Ok(())
    }
}

fn code(id: &str, code: &str) -> (String, Value) {
    (id.to_owned(), value!({ "code": (code) }))
}

fn batch(list: &[(String, Value)]) -> agentfootprint_core::llm::LlmResponse {
    let list: Vec<(&str, &str, Value)> =
        list.iter().map(|(id, args)| (&**id, "run_code", args.clone())).collect();
    calls(&list)
}

fn texts(report: &agentfootprint_core::run::RunReport<String>) -> Vec<String> {
    results(report).into_iter().map(|(_, text, _)| text).collect()
}

/// Proves TOOL-93, TOOL-94, TOOL-97: the calls of a turn share a sandbox that ends with it; the record holds the shape of the
/// code and how it went.
#[tokio::test]
async fn a_turn_has_one_sandbox() {
    let fake = Fake::default();
    let script = Script::new([
        batch(&[code("a", "x = 1"), code("b", "bad")]),
        batch(&[code("c", "y = 22")]),
        say("ok"),
    ]);
    let agent = agent(&script).tool(code_runner_tool(fake.clone())).build().unwrap();
    let heard = Heard::default();
    let report = agent.run("go").options(heard.options().turn_id("t-1")).await;
    assert_eq!(texts(&report), ["ran x = 1", "[stderr]\nSyntaxError\n[exit code 1]", "ran y = 22"]);
    assert_eq!(
        fake.log(),
        ["start t=_/p=_/r=t-1 python", "execute x = 1", "execute bad", "execute y = 22", "stop"]
    );
    let ran = heard.of("tools.code_run");
    assert_eq!(
        ran[0],
        value!({
            "tool": "run_code", "language": "python", "stagedInputs": 0, "outputChars": 9, "truncated": false,
            "ok": true, "shapeHash": (ran[0].get("shapeHash").cloned().unwrap()),
        })
    );
    assert_eq!(ran[1].get("ok"), Some(&value!(false)));
    assert_eq!(ran[0].get("shapeHash"), ran[2].get("shapeHash"));
    assert_ne!(ran[0].get("shapeHash"), ran[1].get("shapeHash"));
    assert!(ran.iter().all(|facts| !facts.to_string().contains("x = 1")));
    // The facts follow the execution and come before its end; the sandbox closes with the turn.
    let names = heard.dispatch();
    let first: Vec<&str> = names.iter().take(4).map(|name| &**name).collect();
    assert_eq!(first, ["stream.tool_start", "tools.session_started", "tools.code_run", "stream.tool_end"]);
    assert_eq!(names.last().map(|name| &**name), Some("tools.session_closed"));
    assert_eq!(heard.of("tools.session_started")[0].get("runnerId"), Some(&value!("fake")));
}

/// Proves TOOL-94: the scope says what one sandbox serves, and a missing fact is refused by its name.
#[tokio::test]
async fn the_scope_says_what_a_sandbox_serves() {
    let fake = Fake::default();
    let script = Script::new([
        batch(&[code("a", "1"), code("b", "2")]),
        say("ok"),
        batch(&[code("a", "1")]),
        say("ok"),
        batch(&[code("c", "3")]),
        say("ok"),
    ]);
    let per_call = code_runner_tool(fake.clone()).scope(TeardownScope::Call);
    run(&agent(&script).tool(per_call).build().unwrap(), "go").await;
    assert_eq!(
        fake.log(),
        ["start c=a python", "execute 1", "stop", "start c=b python", "execute 2", "stop"]
    );

    let fake = Fake::default();
    let per_session = code_runner_tool(fake.clone()).scope(TeardownScope::Session).language("javascript");
    let agent = agent(&script).tool(per_session).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    assert_eq!(
        texts(&report),
        ["`run_code` keeps one sandbox per session, and this run names no session; start it with \
          `RunOptions::session_id`."]
    );
    agent.run("go").options(RunOptions::new().session_id("s-1")).await;
    assert_eq!(fake.log(), ["start t=_/p=_/s=s-1 javascript", "execute 3"]);
    assert_eq!(agent.close_tool_sessions(Some("s-1")).await.closed, 1);
    assert_eq!(fake.log().last().map(|line| &**line), Some("stop"));

    let detached = code_runner_tool(fake).scope(TeardownScope::Call).into_tool().unwrap();
    let refused =
        detached.call(value!({ "code": "1" }), &ToolContext::detached("run_code", "c")).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`run_code` cannot keep a sandbox here: an offline call has no teardown scope `call`; it has none."
    );
}

/// Proves TOOL-95: a person's approval resumes in the sandbox the turn already has.
#[tokio::test]
async fn an_approved_execution_finds_its_sandbox() {
    let fake = Fake::default();
    let script = Script::new([batch(&[code("a", "1")]), batch(&[code("b", "rm")]), say("ok")]);
    let asks = CheckIn::when(|args, _| args.get("code").and_then(Value::as_str) == Some("rm"));
    let agent = agent(&script).tool(code_runner_tool(fake.clone()).check_in(asks)).build().unwrap();
    let (paused, _) = run(&agent, "go").await;
    assert_eq!(fake.log().len(), 2, "nothing closes at a pause: {:?}", fake.log());
    let answer = check_in_approved("ann").build().to_value();
    let (report, heard) = resume(&agent, &paused, Some(answer)).await;
    assert_eq!(report.answer().unwrap(), "ok");
    assert_eq!(heard.of("tools.session_reused").len(), 1);
    let log = fake.log();
    assert_eq!(log[1..], ["execute 1", "execute rm", "stop"]);
}

async fn table(store: &impl ArtifactStore, scope: &ArtifactScope) -> String {
    let put = PutArtifact::new("table", "text/csv", ArtifactData::text("a,b\n1,2"));
    store.put(scope, put).await.unwrap().meta.reference.to_string()
}

/// Proves TOOL-96, TOOL-94: wanted artifacts are staged as files, what is produced becomes an artifact made from them.
#[tokio::test]
async fn inputs_are_staged_and_files_become_artifacts() {
    let (store, scope) =
        (Arc::new(in_memory_artifacts()), ArtifactScope::conversation("c-1").principal("ann"));
    let reference = table(&store, &scope).await;
    let fake = Fake::staging();
    let script = Script::new([
        calls(&[
            ("a", "run_code", value!({ "code": "plot", "sales": (reference.as_str()) })),
            ("b", "run_code", value!({ "code": "1" })),
        ]),
        say("ok"),
    ]);
    let tool = code_runner_tool(fake.clone()).wants("sales", "table").into_tool().unwrap();
    assert_eq!(
        &**tool.schema().description(),
        "Runs python code and returns what it prints. What one call leaves in its working directory, later calls find \
         there. Artifacts passed by reference as `sales` are staged as files: the environment variable AF_STAGED_INPUTS \
         holds a JSON object from argument name to file path. Read them from there; do not paste their content into the \
         code."
    );
    let agent = agent(&script).tool(tool).artifacts(store.clone()).build().unwrap();
    let heard = Heard::default();
    let report = agent.run("go").options(heard.options().identity(scope.clone())).await;
    let told = texts(&report);
    let minted = heard.of("artifacts.minted");
    let made = minted[0].get("ref").and_then(Value::as_str).unwrap();
    assert_eq!(
        told[0],
        format!(
            "[staged inputs: sales = /in/sales.csv (7 bytes)]\ndrawn\n[file plot.png, 3 bytes, image/png, ref {made}]"
        )
    );
    assert_eq!(told[1], "[nothing was staged: this call passed no reference as `sales`]\nran 1");
    assert!(fake.log().contains(&"stage sales as sales.csv: a,b\n1,2".to_owned()));
    let record = store.get(&scope, made).await.unwrap().unwrap();
    assert_eq!((&*record.meta.kind, record.meta.label.as_deref()), ("file/png", Some("plot.png")));
    let parents: Vec<&str> = record.meta.parent_refs.iter().map(|parent| parent.as_str()).collect();
    assert_eq!(parents, [reference.as_str()]);
    let staged: Vec<_> =
        heard.of("tools.code_run").iter().map(|ran| ran.get("stagedInputs").cloned()).collect();
    assert_eq!(staged, [Some(value!(1)), Some(value!(0))]);
    assert!(!heard.mentions("a,b\\n1,2"), "the payload reaches no event");
}

/// Proves TOOL-96: a runner that cannot stage is refused by name before anything is started.
#[tokio::test]
async fn a_runner_that_cannot_stage_is_refused() {
    let (store, scope) = (Arc::new(in_memory_artifacts()), ArtifactScope::conversation("c-1"));
    let reference = table(&store, &scope).await;
    let fake = Fake::default();
    let script =
        Script::new([calls(&[("a", "run_code", value!({ "code": "1", "sales": (reference) }))]), say("ok")]);
    let agent = agent(&script)
        .tool(code_runner_tool(fake.clone()).wants("sales", "table"))
        .artifacts(store)
        .build()
        .unwrap();
    let report = agent.run("go").options(RunOptions::new().identity(scope)).await;
    assert_eq!(
        texts(&report),
        ["`run_code` takes artifacts as inputs, and its code runner `fake` cannot stage any."]
    );
    assert!(fake.log().is_empty());
}

/// Proves TOOL-94: what the tool needs reaches the runner that starts a session, and nothing else.
#[tokio::test]
async fn a_needed_credential_reaches_the_runner() {
    let fake = Fake::default();
    let script = Script::new([batch(&[code("a", "1")]), say("ok")]);
    let tool = code_runner_tool(fake.clone()).needs(CredentialNeed::new("sandbox"));
    let agent = agent(&script)
        .tool(tool)
        .credentials(static_tokens([("sandbox", Secret::new("sk-very-secret"))]))
        .build()
        .unwrap();
    let (_, heard) = run(&agent, "go").await;
    assert!(fake.log()[0].ends_with("python with bearer"), "{:?}", fake.log());
    assert!(!heard.mentions("sk-very-secret"));
}

/// Proves TOOL-94: faults of a declaration, all at once.
#[test]
fn a_declaration_that_cannot_work_is_refused() {
    let refused = code_runner_tool(Fake::default())
        .scope(TeardownScope::Shutdown)
        .language(" ")
        .max_output_chars(0)
        .timeout(std::time::Duration::ZERO)
        .wants("code", "table")
        .into_tool()
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "tool `run_code` cannot be built (5 problems)\n\
         - scope: `shutdown`; let a sandbox serve a `call`, a `run` or a `session`\n\
         - language: blank text; name the language, such as `python`\n\
         - maxOutputChars: 0; let the model read at least one character\n\
         - timeoutMs: 0; give an execution some time, or leave the limit to the runner\n\
         - wants: the argument `code`; call the input something else: `code` is the program"
    );
    let renamed: Tool =
        code_runner_tool(Fake::default()).name("python").description("Computes.").into_tool().unwrap();
    assert_eq!(
        (renamed.name(), &**renamed.schema().description()),
        ("python", "Computes. What one call leaves in its working directory, later calls find there.")
    );
}

/// Proves TOOL-95, TOOL-7: 64 turns of one agent at once have a sandbox each, and none closes another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn turns_at_once_have_a_sandbox_each() {
    let fake = Fake::default();
    let script = Script::by(|request| {
        let word = request.last_user_text().unwrap_or_default().to_owned();
        let answered = request.messages().iter().filter(|message| message.tool_call_id().is_some()).count();
        if answered == 2 {
            say("ok")
        } else {
            batch(&[code(&format!("c{answered}"), &format!("{word} {answered}"))])
        }
    });
    let agent = agent(&script).tool(code_runner_tool(fake.clone())).build().unwrap();
    let turns = (0..64).map(|at| {
        let agent = agent.clone();
        tokio::spawn(async move {
            let options = RunOptions::new().turn_id(format!("turn-{at}"));
            let report = agent.run(format!("word-{at}")).options(options).await;
            (at, texts(&report))
        })
    });
    for turn in turns.collect::<Vec<_>>() {
        let (at, told) = turn.await.unwrap();
        assert_eq!(told, [format!("ran word-{at} 0"), format!("ran word-{at} 1")]);
    }
    let log = fake.log();
    let count = |what: &str| log.iter().filter(|line| line.starts_with(what)).count();
    assert_eq!((count("start"), count("execute"), count("stop")), (64, 128, 64));
}

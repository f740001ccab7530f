//! Coverage through whole runs: what a result says it stands on is on the record, at every door, once.

use std::sync::Arc;

use agentfootprint_core::artifacts::{ArtifactOptions, in_memory_artifacts};
use agentfootprint_core::tools::{Absence, Bearer};
use agentfootprint_core::tools::{
    AskPayload, CheckIn, CoverageError, CoverageItem, CoverageLists, CredentialError, CredentialNeed,
    CredentialProvider, CredentialRequest, CredentialResponse, Secret, Tool, ToolCallContext,
    ToolCallOutcome, ToolEnvelope, ToolHooks, ToolMiddleware, ToolOutput, ToolResultContext,
    ToolResultOutcome, ToolResultStatus, absent, ask_human, check_in_approved, coverage,
};
use async_trait::async_trait;
use footprint::value;
use footprint::value::Value;

use crate::support::{Script, agent, calls, commits, results, resume, run, say, state, tool};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

fn nothing() -> Absence {
    absent("open pick tickets on dock d4")
        .checked("WMS live table, site north")
        .not_checked(("archive", "older than 30 days"))
        .build()
        .unwrap()
}

/// A tool that answers the same to every call.
fn answering(name: &str, output: ToolOutput) -> Tool {
    tool(name, value!({}), move |_| output.clone())
}

fn one_call(name: &str) -> Script {
    Script::new([calls(&[("t1", name, value!({}))]), say("done")])
}

/// What the row of `nothing()` is.
fn absence_row(name: &str) -> Value {
    value!({ "kind": "absence", "toolName": name, "toolCallId": "t1", "iteration": 1,
        "lookedFor": "open pick tickets on dock d4", "checked": [{ "what": "WMS live table, site north" }],
        "notChecked": [{ "what": "archive", "why": "older than 30 days" }], "cannotCover": [] })
}

/// Proves EVD-103, EVD-110, EVD-121, EVD-123, EVD-124, TOOL-70: an absence is an answer with a status, a row and an
/// event; it is no error, and the model reads what was minted.
#[tokio::test]
async fn an_absence_is_an_answer() {
    let typed = answering("tickets", ToolOutput::Absent(nothing()));
    let plain = tool("tickets", value!({}), |_| nothing());
    let foreign = answering("tickets", ToolOutput::Json(nothing().to_value()));
    for tool in [typed, plain, foreign] {
        let agent = agent(&one_call("tickets")).tool(tool).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        assert_eq!(heard.dispatch(), ["stream.tool_start", "tools.absent", "stream.tool_end"]);
        assert_eq!(
            heard.of("tools.absent"),
            [value!({ "toolName": "tickets", "toolCallId": "t1", "iteration": 1,
                "lookedFor": "open pick tickets on dock d4", "checked": [{ "what": "WMS live table, site north" }],
                "notChecked": [{ "what": "archive", "why": "older than 30 days" }] })]
        );
        let end = &heard.of("stream.tool_end")[0];
        assert_eq!((end.get("status"), end.get("error")), (Some(&value!("absent")), None));
        assert_eq!(end.get("result"), Some(&nothing().to_value()));
        assert_eq!(results(&report), [("t1".to_owned(), nothing().to_value().to_string(), None)]);
        assert_eq!(state(&report, "coverageDeclared"), Some(value!([(absence_row("tickets"))])));
        assert_eq!(state(&report, "lastToolResult").unwrap().get("status"), Some(&value!("absent")));
        assert_eq!(
            commits(&report),
            [[
                "coverageDeclared set",
                "lastToolResult set",
                "toolResults set",
                "history append",
                "iteration set"
            ]]
        );
        assert_eq!(report.answer().unwrap(), "done");
    }
}

/// Proves EVD-121, EVD-123, EVD-124: a ledger has an event of its own and no status; around an absence it is two facts.
#[tokio::test]
async fn ledgers_declare_and_deliver_no_status() {
    let counted =
        coverage(412).checked("aisles 1-6").cannot_cover("cold store", "no scanner").build().unwrap();
    let agent_ = agent(&one_call("count")).tool(answering("count", counted.clone().into())).build().unwrap();
    let (report, heard) = run(&agent_, "go").await;
    let facts = value!({ "toolName": "count", "toolCallId": "t1", "iteration": 1, "checked": [{ "what": "aisles 1-6" }],
        "cannotCover": [{ "what": "cold store", "why": "no scanner" }] });
    assert_eq!(heard.of("tools.coverage_declared"), [facts]);
    assert!(heard.of("stream.tool_end")[0].get("status").is_none());
    assert_eq!(results(&report)[0].1, counted.to_value().to_string());
    assert_eq!(
        state(&report, "coverageDeclared"),
        Some(value!([{ "kind": "ledger", "toolName": "count", "toolCallId": "t1", "iteration": 1,
            "checked": [{ "what": "aisles 1-6" }], "notChecked": [],
            "cannotCover": [{ "what": "cold store", "why": "no scanner" }] }]))
    );

    let both = coverage(nothing()).checked("two of three tables").build().unwrap();
    let agent_ = agent(&one_call("count")).tool(answering("count", both.into())).build().unwrap();
    let (report, heard) = run(&agent_, "go").await;
    assert_eq!(
        heard.dispatch(),
        ["stream.tool_start", "tools.coverage_declared", "tools.absent", "stream.tool_end"]
    );
    assert_eq!(heard.of("stream.tool_end")[0].get("status"), Some(&value!("absent")));
    let rows = state(&report, "coverageDeclared").unwrap();
    let kinds: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| row.get("kind").unwrap()).collect();
    assert_eq!(kinds, [&value!("ledger"), &value!("absence")]);
}

/// Proves EVD-121: the effects envelope is unwrapped first, and a status it declares wins.
#[tokio::test]
async fn a_declared_status_wins() {
    let wrapped = |envelope: ToolEnvelope| {
        agent(&one_call("tickets"))
            .tool(answering("tickets", ToolOutput::Envelope(envelope)))
            .build()
            .unwrap()
    };
    let (report, heard) =
        run(&wrapped(ToolEnvelope::new(nothing()).status(ToolResultStatus::Partial)), "go").await;
    assert_eq!(heard.of("stream.tool_end")[0].get("status"), Some(&value!("partial")));
    assert_eq!(state(&report, "coverageDeclared"), Some(value!([(absence_row("tickets"))])));
    let (_, heard) = run(&wrapped(ToolEnvelope::new(nothing())), "go").await;
    assert_eq!(heard.of("stream.tool_end")[0].get("status"), Some(&value!("absent")));
}

/// Proves EVD-112, TOOL-2: a text that holds the shape, a deeper one and a person's answer declare nothing; a run without
/// a declaration has no key and no event.
#[tokio::test]
async fn what_is_no_declaration_leaves_nothing() {
    let text = answering("tickets", ToolOutput::text(nothing().to_value().to_string()));
    let deep = answering("tickets", ToolOutput::Json(value!({ "rows": [(nothing().to_value())] })));
    for tool in [text, deep, answering("tickets", ToolOutput::None)] {
        let agent = agent(&one_call("tickets")).tool(tool).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        assert_eq!(heard.dispatch(), ["stream.tool_start", "stream.tool_end"]);
        assert!(state(&report, "coverageDeclared").is_none());
        assert!(heard.of("stream.tool_end")[0].get("status").is_none());
        assert_eq!(
            commits(&report),
            [["lastToolResult set", "toolResults set", "history append", "iteration set"]]
        );
    }
    let asking = tool("tickets", value!({}), |_| Err::<String, _>(ask_human(value!({ "question": "?" }))));
    let agent = agent(&one_call("tickets")).tool(asking).build().unwrap();
    let (paused, _) = run(&agent, "go").await;
    let (report, heard) = resume(&agent, &paused, Some(nothing().to_value())).await;
    assert_eq!(results(&report)[0].1, nothing().to_value().to_string());
    assert!(heard.of("tools.absent").is_empty() && state(&report, "coverageDeclared").is_none());
}

/// A limit outlives the payload it stood on, refused or placed.
#[tokio::test]
async fn coverage_outlives_the_payload() {
    let big = coverage("x".repeat(5_000)).checked("aisle 1").build().unwrap();
    let output = ToolOutput::Covered(big);
    let handler = output.clone();
    let ceiled = Tool::builder("count").result_ceiling(100).handler(move |_: Value, _| {
        let output = handler.clone();
        async move { output }
    });
    let agent_ = agent(&one_call("count")).tool(ceiled).build().unwrap();
    let (report, heard) = run(&agent_, "go").await;
    assert_eq!(
        heard.dispatch(),
        ["stream.tool_start", "tools.coverage_declared", "tools.result_refused", "stream.tool_end"]
    );
    assert_eq!(state(&report, "coverageDeclared").unwrap().as_array().unwrap().len(), 1);
    assert!(!results(&report)[0].1.contains("aisle 1"));

    let agent_ = agent(&one_call("count"))
        .tool(answering("count", output))
        .artifacts(ArtifactOptions::new(in_memory_artifacts()).place_above(200))
        .build()
        .unwrap();
    let (report, heard) = run(&agent_, "go").await;
    assert_eq!(heard.of("tools.coverage_declared").len(), 1);
    assert!(results(&report)[0].1.contains(r#""placed":true"#), "{}", results(&report)[0].1);
    assert_eq!(state(&report, "coverageDeclared").unwrap().as_array().unwrap().len(), 1);
}

/// Proves EVD-102: a shape that cannot be minted is the tool's error, in its own words, and declares nothing.
#[tokio::test]
async fn a_refused_mint_is_a_tool_error() {
    let careless =
        tool("tickets", value!({}), |_| -> Result<Absence, CoverageError> { absent("lot 7").build() });
    let agent = agent(&one_call("tickets")).tool(careless).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(results(&report)[0].1, CoverageError::NothingChecked.to_string());
    assert_eq!(heard.of("stream.tool_end")[0].get("error"), Some(&value!(true)));
    assert!(state(&report, "coverageDeclared").is_none());
}

/// Proves EVD-124: rows stand in the order of the calls, over batches too.
#[tokio::test]
async fn rows_are_in_call_order() {
    let seen = |name: &str| coverage(1).checked(name).build().unwrap();
    let script = Script::new([
        calls(&[("a", "east", value!({})), ("b", "quiet", value!({})), ("c", "west", value!({}))]),
        calls(&[("d", "east", value!({}))]),
        say("done"),
    ]);
    let agent = agent(&script)
        .tools([
            answering("east", seen("east").into()),
            answering("west", seen("west").into()),
            answering("quiet", ToolOutput::text("-")),
        ])
        .build()
        .unwrap();
    let (report, _) = run(&agent, "go").await;
    let rows = state(&report, "coverageDeclared").unwrap();
    let ids: Vec<String> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{} {}", field(row, "toolCallId"), field(row, "iteration")))
        .collect();
    assert_eq!(ids, [r#""a" 1"#, r#""c" 1"#, r#""d" 2"#]);
}

fn field(row: &Value, key: &str) -> Value {
    row.get(key).cloned().unwrap()
}

/// Asks about every call, and shortens every result.
struct Asks;

#[async_trait]
impl ToolMiddleware for Asks {
    fn name(&self) -> &str {
        "asks"
    }
    fn hooks(&self) -> ToolHooks {
        ToolHooks::Both
    }
    async fn on_tool_call(&self, _: &ToolCallContext) -> Result<ToolCallOutcome, BoxError> {
        Ok(ToolCallOutcome::ask(AskPayload::new("Look?")))
    }
    async fn on_tool_result(&self, _: &ToolResultContext) -> Result<ToolResultOutcome, BoxError> {
        Ok(ToolResultOutcome::allow_with("short", "length"))
    }
}

/// Wants consent the first time.
#[derive(Default)]
struct Consent(std::sync::atomic::AtomicUsize);

#[async_trait]
impl CredentialProvider for Consent {
    fn id(&self) -> &str {
        "consent"
    }
    async fn get_credential(&self, _: CredentialRequest) -> Result<CredentialResponse, CredentialError> {
        Ok(match self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => CredentialResponse::AuthorizationRequired {
                authorization_url: Secret::new("https://consent.example/x"),
                session_id: "c-1".into(),
            },
            _ => CredentialResponse::Issued {
                credential: Arc::new(Bearer(Secret::new("t"))),
                expires_at: None,
            },
        })
    }
}

/// At every door that executes, the result declares once; the after-chain walks it all the same, and
/// what a link makes of it takes nothing from the record.
#[tokio::test]
async fn every_door_declares_once() {
    let handler = |_: Value, _| async { nothing() };
    let builder = || Tool::builder("tickets").description("Looks.");
    let plain =
        agent(&one_call("tickets")).tool(builder().handler(handler)).tool_middleware(Asks).build().unwrap();
    let gated = agent(&one_call("tickets"))
        .tool(builder().check_in(CheckIn::Always).handler(handler))
        .build()
        .unwrap();
    let needy = agent(&one_call("tickets"))
        .tool(builder().needs(CredentialNeed::new("wms")).handler(handler))
        .credentials(Consent::default())
        .build()
        .unwrap();
    let approved = check_in_approved("ann").build().to_value();
    for (agent, answer, read) in [
        (plain, Some(approved.clone()), "short".to_owned()),
        (gated, Some(approved), nothing().to_value().to_string()),
        (needy, None, nothing().to_value().to_string()),
    ] {
        let (paused, heard) = run(&agent, "go").await;
        assert!(paused.paused().is_some() && heard.of("tools.absent").is_empty());
        let (report, heard) = resume(&agent, &paused, answer).await;
        assert_eq!(heard.of("tools.absent").len(), 1);
        assert_eq!(state(&report, "coverageDeclared"), Some(value!([(absence_row("tickets"))])));
        assert_eq!(results(&report)[0].1, read);
        assert_eq!(heard.of("stream.tool_end")[0].get("status"), Some(&value!("absent")));
        assert_eq!(heard.of("stream.tool_end")[0].get("result"), Some(&nothing().to_value()));
    }
}

fn counting(name: &str, checked: Vec<String>) -> Tool {
    let items = checked.into_iter().map(CoverageItem::from).collect();
    let lists = CoverageLists { checked: items, ..CoverageLists::default() };
    answering(
        name,
        coverage(1).lists(lists).cannot_cover("cold\n store", "no scanner").build().unwrap().into(),
    )
}

/// Proves EVD-130, EVD-131: one block under the answer, each entry once, twelve lines a section; what the turn says and
/// keeps is the answer with its block, what the model said is not.
#[tokio::test]
async fn limits_travel_with_the_answer() {
    let many: Vec<String> = (1..=14).map(|n| format!("aisle {n}")).collect();
    let script = Script::new([
        calls(&[("a", "many", value!({})), ("b", "again", value!({})), ("c", "none", value!({}))]),
        say("There are 12.\n\n"),
    ]);
    let agent_ = agent(&script)
        .tools([
            counting("many", many.clone()),
            counting("again", vec!["aisle 3".to_owned(); 50]),
            answering("none", nothing().into()),
        ])
        .limits_travel_with_the_answer()
        .build()
        .unwrap();
    let (report, heard) = run(&agent_, "go").await;
    let shown: String = many.iter().take(12).map(|aisle| format!("\n- {aisle}")).collect();
    let block = format!(
        "Coverage of this answer, as its tools declared it; the model did not write this.\n\nChecked{shown}\n- and 3 more, which the \
         record holds\n\nNot checked\n- archive — older than 30 days\n\nCannot cover\n- cold store — no scanner"
    );
    let answer = format!("There are 12.\n\n---\n\n{block}");
    assert_eq!(report.answer().unwrap(), &answer);
    assert_eq!(heard.of("agent.turn_end")[0].get("finalContent"), Some(&value!(answer.as_str())));
    assert_eq!(state(&report, "finalContent"), Some(value!(answer.as_str())));
    assert_eq!(state(&report, "llmLatestContent"), Some(value!("There are 12.\n\n")));
    assert_eq!(report.record.coverage_block(), Some(block));
    assert_eq!(report.record.coverage().checked.len(), 15);
}

/// Proves EVD-130, EVD-131: an empty answer is the block alone; without a declaration the answer keeps every byte.
#[tokio::test]
async fn limits_add_nothing_where_nothing_is_declared() {
    let quiet = |text: &str| Script::new([calls(&[("a", "quiet", value!({}))]), say(text)]);
    let build = |script: &Script, tool: Tool| {
        agent(script).tool(tool).limits_travel_with_the_answer().build().unwrap()
    };
    let plain = answering("quiet", ToolOutput::text("x"));
    let (report, _) = run(&build(&quiet("Twelve. \n"), plain), "go").await;
    assert_eq!(report.answer().unwrap(), "Twelve. \n");
    assert!(report.record.coverage_block().is_none() && report.record.coverage().is_empty());
    // A foreign declaration whose lists say nothing.
    let hollow = answering("quiet", ToolOutput::Json(value!({ "af_coverage": {}, "result": 1 })));
    let (report, _) = run(&build(&quiet("Twelve. \n"), hollow), "go").await;
    assert_eq!(report.answer().unwrap(), "Twelve. \n");
    assert_eq!(state(&report, "coverageDeclared").unwrap().as_array().unwrap().len(), 1);
    let (report, _) = run(&build(&quiet(" "), answering("quiet", nothing().into())), "go").await;
    assert!(report.answer().unwrap().starts_with("Coverage of this answer"));
    // Not asked for, not there.
    let unarmed = agent(&quiet("Twelve.")).tool(answering("quiet", nothing().into())).build().unwrap();
    let (report, _) = run(&unarmed, "go").await;
    assert_eq!(report.answer().unwrap(), "Twelve.");
    let twice = agent(&quiet("")).limits_travel_with_the_answer().limits_travel_with_the_answer().build();
    let refused = twice.unwrap_err().to_string();
    assert!(refused.contains("limits_travel_with_the_answer"), "{refused}");
}

/// Proves EVD-133: an answer with a schema stays the JSON that was judged; the block rides the outcome.
#[tokio::test]
async fn an_answer_with_a_schema_keeps_its_form() {
    #[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
    struct Count {
        n: u32,
    }
    let script = Script::new([calls(&[("t1", "tickets", value!({}))]), say(r#"{"n":0}"#)]);
    let agent = agent(&script)
        .tool(answering("tickets", nothing().into()))
        .limits_travel_with_the_answer()
        .output_schema(agentfootprint_core::agent::Typed::<Count>::new(), Default::default())
        .build()
        .unwrap();
    let (report, _) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), r#"{"n":0}"#);
    let block = report.record.coverage_block().unwrap();
    assert!(block.contains("Checked\n- WMS live table, site north"), "{block}");
    assert_eq!(report.record.coverage().not_checked.len(), 1);
}

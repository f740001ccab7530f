//! What a runbook files of its walk, and what is refused when one is defined.

use std::sync::Arc;

use agentfootprint_core::artifacts::{
    ArtifactData, ArtifactError, ArtifactOptions, ArtifactRecord, ArtifactScope, ArtifactStore,
    ArtifactTraits, InMemoryArtifacts, ListArtifacts, Page, PutArtifact, PutResult, in_memory_artifacts,
};
use agentfootprint_core::run::Runner as _;
use agentfootprint_core::tools::{
    ContextSource, InnerRunStore, IntoTool as _, ResultClass, RunbookTool, ToolContext, ToolDispatch,
    ToolOwner, runbook_as_tool,
};
use agentfootprint_record::recording::Recording;
use async_trait::async_trait;
use footprint::chart::{BuildErrors, Contract, Decider};
use footprint::decide::{Rule, decide, field};
use footprint::prelude::*;
use footprint::state::RedactionPolicy;
use footprint::value;
use footprint::value::Value;

use crate::support::{Heard, Script, agent, calls, results, say};

/// Many plain steps, then a decision.
fn procedure(_: ToolDispatch) -> Result<Chart, BuildErrors> {
    let judge = Decider::new("judge", |s: Scope| async move {
        Ok(decide(&s, &[Rule::when(field("load").lt(50), "healthy")], "faulty")?)
    })
    .branch(Stage::new("healthy", |_: Scope| async { Ok(()) }))
    .branch(Stage::new("faulty", |_: Scope| async { Ok(()) }));
    Chart::builder(Stage::new("seed", |s: Scope| async move {
        s.set_value("secret", value!("hunter2"))?;
        for n in 0..8_u64 {
            s.set_value("load", value!(n))?;
        }
        Ok(())
    }))
    .decide(judge)
    .build()
}

fn book() -> RunbookTool {
    runbook_as_tool("check", "Checks ports.", procedure)
}

/// Runs the runbook with this store; its `walk`, the events, and the artifacts of the run.
async fn walk_of(book: RunbookTool, store: Option<Arc<dyn ArtifactStore>>) -> (Value, Heard) {
    let script = Script::new([calls(&[("t1", "check", value!({}))]), say("done")]);
    let mut builder = agent(&script).tool(book);
    if let Some(store) = store {
        builder = builder.artifacts(ArtifactOptions::new(store));
    }
    let agent = builder.build().unwrap();
    let heard = Heard::default();
    let report = agent.run("go").options(heard.options().identity(scope())).await;
    let answer: Value = serde_json::from_str(&results(&report)[0].1).unwrap();
    (answer.get("result").unwrap().get("walk").cloned().unwrap(), heard)
}

fn scope() -> ArtifactScope {
    ArtifactScope::conversation("c-1").principal("ann")
}

async fn stored(store: &InMemoryArtifacts, walk: &Value, key: &str) -> ArtifactRecord {
    store.get(&scope(), walk.get(key).unwrap().as_str().unwrap()).await.unwrap().unwrap()
}

fn json(record: &ArtifactRecord) -> Value {
    match &record.data {
        ArtifactData::Json(value) => value.clone(),
        other => serde_json::from_slice(&other.canonical_bytes()).unwrap(),
    }
}

fn words(rows: &Value) -> Vec<String> {
    let text = |row: &Value| row.get("type").unwrap().as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(text).collect()
}

/// Proves TOOL-86: the walk is filed as rows of the story without values, and the answer holds its ticket.
#[tokio::test]
async fn a_walk_is_filed_whole() {
    let store = Arc::new(in_memory_artifacts());
    let (walk, heard) = walk_of(book(), Some(store.clone())).await;
    let total = walk.get("total").unwrap().clone();
    let keys: Vec<String> = walk.as_object().unwrap().keys().map(ToString::to_string).collect();
    assert_eq!(
        keys,
        [
            "ref",
            "kind",
            "rows",
            "steps_executed",
            "projection",
            "shown",
            "total",
            "complete",
            "walk_segment",
            "note"
        ]
    );
    assert_eq!(walk.get("kind"), Some(&value!("recording/chart-walk")));
    assert_eq!(walk.get("steps_executed"), Some(&value!(3)));
    assert_eq!(walk.get("projection"), Some(&value!("full")));
    assert_eq!(
        (walk.get("rows"), walk.get("shown"), walk.get("complete")),
        (Some(&total), Some(&total), Some(&value!(true)))
    );
    assert_eq!(walk.get("note"), Some(&value!(format!("The walk has {total} rows, filed under `ref`."))));
    let filed = stored(&store, &walk, "ref").await;
    assert_eq!(filed.meta.label.as_deref(), Some("check walk"));
    assert_eq!(&*filed.meta.kind, "recording/chart-walk");
    let content = json(&filed);
    let rows = content.get("rows").unwrap();
    assert_eq!(Value::from(rows.as_array().unwrap().len()), total);
    let first = rows.as_array().unwrap().get(0).unwrap();
    assert_eq!(
        first,
        &value!({ "step": 1, "type": "stage", "depth": 0, "stage": "seed", "stage_id": "seed", "runtime_stage_id": "seed#0",
            "text": "Stage 1: the process began with seed" })
    );
    assert!(words(rows).contains(&"condition".to_owned()));
    assert!(!content.to_string().contains("hunter2"), "told without values: {content}");
    assert_eq!(heard.of("artifacts.minted").len(), 1);
}

/// Proves TOOL-86, T-30: over the cap everything that is no plain step is kept, wherever it stands.
#[tokio::test]
async fn over_the_cap_decisions_stay() {
    let store = Arc::new(in_memory_artifacts());
    let (walk, _) = walk_of(book().walk_cap(3), Some(store.clone())).await;
    assert_eq!(walk.get("projection"), Some(&value!("control-flow")));
    assert_eq!(walk.get("complete"), Some(&value!(false)));
    let content = json(&stored(&store, &walk, "ref").await);
    let rows = content.get("rows").unwrap();
    let kinds = words(rows);
    assert!(!kinds.contains(&"step".to_owned()) && kinds.contains(&"condition".to_owned()), "{kinds:?}");
    assert_eq!(walk.get("shown"), Some(&Value::from(kinds.len())));
    assert!(walk.get("total").unwrap().as_u64() > walk.get("shown").unwrap().as_u64());
    // Numbers are those of the whole walk: gaps show.
    let numbers: Vec<u64> =
        rows.as_array().unwrap().iter().map(|row| row.get("step").unwrap().as_u64().unwrap()).collect();
    assert_eq!(numbers[0], 1);
    assert!(numbers[1] > 2, "{numbers:?}");
    let (total, shown) = (walk.get("total").unwrap(), walk.get("shown").unwrap());
    assert_eq!(
        walk.get("note"),
        Some(&value!(format!(
            "The walk has {total} rows, over the cap of 3; the {shown} that are no plain steps are kept, filed under `ref`."
        )))
    );
}

/// A store that takes nothing.
struct Full;

#[async_trait]
impl ArtifactStore for Full {
    fn traits(&self) -> ArtifactTraits {
        in_memory_artifacts().traits()
    }
    async fn put(&self, _: &ArtifactScope, _: PutArtifact) -> Result<PutResult, ArtifactError> {
        Err(ArtifactError::Store { operation: "put", class: "DiskFull".into() })
    }
    async fn head(
        &self,
        _: &ArtifactScope,
        _: &str,
    ) -> Result<Option<agentfootprint_core::artifacts::ArtifactMeta>, ArtifactError> {
        Ok(None)
    }
    async fn get(&self, _: &ArtifactScope, _: &str) -> Result<Option<ArtifactRecord>, ArtifactError> {
        Ok(None)
    }
    async fn delete(&self, _: &ArtifactScope, _: &str) -> Result<(), ArtifactError> {
        Ok(())
    }
    async fn list(
        &self,
        _: &ArtifactScope,
        _: ListArtifacts,
    ) -> Result<Page<agentfootprint_core::artifacts::ArtifactMeta>, ArtifactError> {
        Ok(Page { items: Vec::new(), cursor: None })
    }
}

fn recording_keys(walk: &Value) -> Vec<String> {
    let keys = walk.as_object().unwrap().keys().map(ToString::to_string);
    keys.filter(|key| key.starts_with("recording_")).collect()
}

/// Proves TOOL-86, TOOL-87: without a store, and with one that refuses, the answer goes without tickets and says why.
#[tokio::test]
async fn a_missing_ticket_costs_no_answer() {
    let (walk, heard) = walk_of(book().walk_recording(), None).await;
    assert!(walk.get("ref").is_none() && walk.get("kind").is_none());
    assert!(
        walk.get("note")
            .unwrap()
            .as_str()
            .unwrap()
            .ends_with("; it was not filed: no artifact store is attached.")
    );
    assert_eq!(
        walk.get("recording_note"),
        Some(&value!("The recording was not filed: no artifact store is attached."))
    );
    assert_eq!(recording_keys(&walk), ["recording_note"]);
    assert!(heard.of("artifacts.refused").is_empty(), "nobody was asked");

    let (walk, _) = walk_of(book().walk_recording(), Some(Arc::new(Full))).await;
    assert!(walk.get("ref").is_none());
    let note = walk.get("note").unwrap().as_str().unwrap();
    assert!(note.contains("the artifact store refused it (") && note.contains("DiskFull"), "{note}");
    let note = walk.get("recording_note").unwrap().as_str().unwrap();
    assert!(note.starts_with("The recording was not filed: the artifact store refused it ("), "{note}");
    assert_eq!(recording_keys(&walk), ["recording_note"]);
}

/// Proves TOOL-87, REC-29: the recording is the redacted mirror and opens; a large one is refused with both numbers; off, no field is there.
#[tokio::test]
async fn a_recording_is_filed_or_said() {
    let store = Arc::new(in_memory_artifacts());
    let redacted = || book().redact(RedactionPolicy::new().keys(["secret"]));
    let (walk, _) = walk_of(redacted().walk_recording(), Some(store.clone())).await;
    assert_eq!(
        recording_keys(&walk),
        ["recording_ref", "recording_kind", "recording_bytes", "recording_note"]
    );
    assert_eq!(walk.get("recording_kind"), Some(&value!("recording/run")));
    assert_eq!(
        walk.get("recording_note"),
        Some(&value!(
            "State, commits and structure of this walk; it has no events, and no value a policy redacts."
        ))
    );
    let filed = stored(&store, &walk, "recording_ref").await;
    assert_eq!(filed.meta.label.as_deref(), Some("check recording"));
    let bytes = filed.data.canonical_bytes();
    assert_eq!(walk.get("recording_bytes"), Some(&Value::from(bytes.len())));
    let opened = Recording::open(&bytes).unwrap().into_recording();
    assert!(opened.events().is_empty() && opened.structure.is_some());
    assert_eq!(opened.snapshot.shared_state.get("load"), Some(&value!(7)));
    assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"));

    let (walk, _) = walk_of(redacted().walk_recording_label("mine"), Some(store.clone())).await;
    assert_eq!(stored(&store, &walk, "recording_ref").await.meta.label.as_deref(), Some("mine"));
    let (walk, heard) = walk_of(book().walk_recording_max_bytes(100), Some(store.clone())).await;
    let note = walk.get("recording_note").unwrap().as_str().unwrap();
    assert!(
        note.starts_with("The recording was not filed: it has ")
            && note.ends_with(" bytes, the limit is 100."),
        "{note}"
    );
    assert_eq!(recording_keys(&walk), ["recording_note"]);
    assert_eq!(heard.of("artifacts.minted").len(), 1, "the walk alone");
    let (walk, _) = walk_of(book(), Some(store)).await;
    assert!(recording_keys(&walk).is_empty());
}

fn refused(book: RunbookTool) -> String {
    book.into_tool().unwrap_err().to_string()
}

/// Proves TOOL-88: everything that is refused at definition, by field and fix, all at once.
#[test]
fn bad_declarations_are_refused() {
    let named = |name: &str, description: &str| runbook_as_tool(name, description, procedure);
    assert!(refused(named("", "Checks.")).contains("name: "));
    for (book, expected) in [
        (named("check", " "), "description: blank text; say what the procedure is for"),
        (book().rules(" ", "3"), "rules.name: a blank text; name the rules, or leave them out"),
        (book().rules("x", ""), "rules.version: a blank text; say which version, or leave the rules out"),
        (
            book().verdicts_from(" "),
            "verdicts.decider: a blank text; name the decider by id or name, or leave it out",
        ),
        (book().max_rows(0), "verdicts.maxRows: 0; show at least one row"),
        (book().walk_cap(0), "walk.cap: 0; file at least one row"),
        (
            book().walk_recording_max_bytes(0),
            "walk.recording.maxBytes: 0; allow at least one byte, or do not file recordings",
        ),
        (
            book().keep_record_limit(2),
            "keepRecordLimit: a limit without `keep_record`; keep records or drop the limit",
        ),
        (book().keep_record().keep_record_limit(0), "keepRecordLimit: 0; keep at least one record"),
    ] {
        assert_eq!(refused(book), format!("tool `check` cannot be built: {expected}"));
    }
    let both = refused(book().max_rows(0).walk_cap(0));
    assert!(both.contains("(2 problems)"), "{both}");
    let rule = "; it is called once at definition with a dispatch that has no tools and refuses every call, to read its contract: build \
         the chart there and call tools only from inside its stages";
    let failing = |tools: ToolDispatch| -> Result<Chart, String> {
        assert!(!tools.has("ports"));
        let asked = futures_util::FutureExt::now_or_never(tools.call("ports", value!({}))).unwrap();
        asked.map_err(|error| error.to_string()).and_then(|_| Err("called".to_owned()))
    };
    assert_eq!(
        refused(runbook_as_tool("check", "Checks.", failing)),
        format!(
            "tool `check` cannot be built: procedure: failed when it was read at definition: `ports` cannot be called from inside \
             another tool: the runbook is being defined; its procedure is called once with a dispatch that has no tools, to read \
             its contract, so call tools only from inside its stages{rule}"
        )
    );
    let panicking = |_: ToolDispatch| -> Result<Chart, String> { panic!("boom") };
    assert_eq!(
        refused(runbook_as_tool("check", "Checks.", panicking)),
        format!("tool `check` cannot be built: procedure: panicked when it was read at definition{rule}")
    );
}

/// Proves TOOL-80, TOOL-88: what a runbook declares is what the tool declares; the schema is the contract's unless one is given.
#[tokio::test]
async fn declarations_are_forwarded() {
    let schema = value!({ "type": "object", "properties": { "switch": { "type": "string" } }, "required": ["switch"] });
    let lifted = schema.clone();
    let with = move |schema: Value| {
        move |_: ToolDispatch| {
            Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) }))
                .contract(Contract::new().input_schema(schema.clone()))
                .build()
        }
    };
    let tool = runbook_as_tool("check", "Checks ports.", with(schema))
        .result_kind("verdict/ports")
        .composed_of(["ports"])
        .arguments_from(["switches"])
        .wants("switch", "inventory")
        .result_ceiling(900)
        .result_class(ResultClass::Triage)
        .owner(ToolOwner { kind: ContextSource::Custom, id: "noc".into() })
        .declare(|tool| tool.gates(false))
        .keep_record()
        .into_tool()
        .unwrap();
    let declared = tool.declared();
    assert_eq!(tool.schema().input_schema(), &lifted);
    assert_eq!(&**tool.schema().description(), "Checks ports.");
    assert_eq!(declared.result_kind.as_deref(), Some("verdict/ports"));
    assert_eq!((&*declared.composed_of[0], &*declared.arguments_from[0]), ("ports", "switches"));
    assert_eq!(declared.wants.get("switch").map(|kind| &**kind), Some("inventory"));
    assert_eq!(declared.result_ceiling.as_ref().map(|ceiling| ceiling.max_chars), Some(900));
    assert_eq!(declared.result_class, Some(ResultClass::Triage));
    assert_eq!(declared.owner.as_ref().map(|owner| &*owner.id), Some("noc"));
    assert_eq!(declared.gates, Some(false));
    assert!(tool.extensions().get::<InnerRunStore>().is_some());
    let own = value!({ "type": "object", "properties": { "n": { "type": "number" } } });
    let given =
        runbook_as_tool("check", "Checks.", with(lifted)).input_schema(own.clone()).into_tool().unwrap();
    assert_eq!(given.schema().input_schema(), &own);
    let odd = runbook_as_tool("check", "Checks.", with(value!({ "enum": [1] }))).into_tool().unwrap();
    assert_eq!(odd.schema().input_schema(), &value!({ "type": "object", "properties": {} }));

    // Where no other tool can be reached, a call says so.
    let asks = runbook_as_tool("check", "Checks.", |tools: ToolDispatch| {
        Chart::builder(Stage::new("look", move |_: Scope| {
            let tools = tools.clone();
            async move {
                tools.call("ports", value!({})).await?;
                Ok(())
            }
        }))
        .build()
    });
    let failed =
        asks.into_tool().unwrap().call(value!({}), &ToolContext::detached("check", "t1")).await.unwrap_err();
    assert!(failed.to_string().contains("this call was made where no other tool can be reached"), "{failed}");
}

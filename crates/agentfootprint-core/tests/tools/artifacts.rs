//! Artifacts through whole runs: `ctx.artifacts()`, `wants`, placement, `present`.

use std::sync::{Arc, Mutex};

use agentfootprint_core::artifacts::{
    ArtifactData, ArtifactOptions, ArtifactScope, ArtifactStore, InMemoryArtifacts, ListArtifacts,
    PutArtifact, Retention, in_memory_artifacts, is_placed_tool_result,
};
use agentfootprint_core::llm::LlmResponse;
use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::{CheckIn, Tool, ToolContext, check_in_approved};
use footprint::value;
use footprint::value::Value;

use crate::support::{Heard, Script, agent, calls, results, resume, run, say, state, tool};

fn scope() -> ArtifactScope {
    ArtifactScope::conversation("c-1").principal("ann")
}

async fn stored(store: &InMemoryArtifacts, kind: &str, text: &str) -> String {
    let put = PutArtifact::new(kind, "text/plain", ArtifactData::text(text));
    store.put(&scope(), put).await.unwrap().meta.reference.to_string()
}

/// A run of the identity whose artifacts `stored` made.
async fn run_as_ann(
    agent: &agentfootprint_core::agent::Agent,
) -> (agentfootprint_core::run::RunReport<String>, Heard) {
    let heard = Heard::default();
    let report = agent.run("go").options(heard.options().identity(scope())).await;
    (report, heard)
}

/// Reads what it got: the argument, and the kind of the ticket behind it.
fn draw(required: bool, seen: &Arc<Mutex<Vec<Value>>>) -> Tool {
    let seen = Arc::clone(seen);
    let required = if required { value!(["data"]) } else { value!([]) };
    Tool::builder("draw")
        .description("Draws.")
        .input_schema(value!({
            "type": "object", "properties": { "data": { "type": "string" }, "n": { "type": "number" } },
            "required": (required),
        }))
        .wants("data", "table")
        .handler(move |args: Value, cx: ToolContext| {
            let kinds: Option<Vec<String>> =
                cx.wanted().map(|wanted| wanted.values().map(|meta| meta.kind.to_string()).collect());
            seen.lock()
                .unwrap()
                .push(value!({ "args": (args), "kinds": (Value::from_serialize(&kinds).unwrap()) }));
            async { "drawn" }
        })
        .build()
        .unwrap()
}

/// Proves TOOL-28, TOOL-29, MEM-137: the model speaks the reference, the handler gets the data, and nothing else does.
#[tokio::test]
async fn a_wanted_argument_is_redeemed_for_the_handler_only() {
    let store = Arc::new(in_memory_artifacts());
    let reference = stored(&store, "table", "s3cret,rows").await;
    let seen = Arc::default();
    let script = Script::new([calls(&[("t1", "draw", value!({ "data": (reference.as_str()) }))]), say("ok")]);
    let agent = agent(&script).tool(draw(true, &seen)).artifacts(store).build().unwrap();
    let (report, heard) = run_as_ann(&agent).await;
    assert_eq!(results(&report)[0].1, "drawn");
    assert_eq!(*seen.lock().unwrap(), [value!({ "args": { "data": "s3cret,rows" }, "kinds": ["table"] })]);
    assert_eq!(heard.dispatch(), ["stream.tool_start", "artifacts.resolved", "stream.tool_end"]);
    assert_eq!(
        heard.of("artifacts.resolved"),
        [value!({ "ref": (reference.as_str()), "via": "get", "kind": "table", "bytes": 11, "tool": "draw" })]
    );
    assert!(!heard.mentions("s3cret"));
    assert!(!report.record.state().to_string().contains("s3cret"));
    assert!(!script.requests.lock().unwrap().iter().any(|request| request.to_string().contains("s3cret")));
}

/// Proves TOOL-28: every refusal names argument, kind and fault, all arguments are judged first, and nothing runs.
#[tokio::test]
async fn what_cannot_be_redeemed_is_refused_by_name() {
    let store = Arc::new(in_memory_artifacts());
    let table = stored(&store, "table", "rows").await;
    let picture = stored(&store, "picture", "pixels").await;
    let foreign = store
        .put(&ArtifactScope::conversation("c-2"), PutArtifact::new("table", "m", ArtifactData::text("x")))
        .await
        .unwrap()
        .meta
        .reference
        .to_string();
    let ask = |id: &str, data: Value| calls(&[(id, "draw", value!({ "data": (data) }))]);
    let script = Script::new([
        ask("a", value!(picture.as_str())),
        ask("b", value!(foreign.as_str())),
        ask("c", value!("  ")),
        calls(&[("d", "draw", value!({}))]),
        say("ok"),
    ]);
    let seen = Arc::default();
    let agent = agent(&script)
        .tool(draw(true, &seen))
        .artifacts(store)
        // The demand of `wants` does not depend on the check of arguments.
        .tool_arg_validation(agentfootprint_core::agent::ArgValidation::Off)
        .build()
        .unwrap();
    let (report, heard) = run_as_ann(&agent).await;
    assert!(seen.lock().unwrap().is_empty());
    let live = format!(" References of that kind now: {table}.");
    let text = |what: &str| {
        format!(
            "`draw` was not executed:\n- `data` takes the reference of an artifact of kind `table`; {what}.{live}\nCorrect \
             these and call `draw` again; pass a reference as it is, without its content."
        )
    };
    let refused: Vec<_> =
        results(&report).into_iter().map(|(_, text, reason)| (text, reason.unwrap())).collect();
    let expected = [
        "the artifact is of kind `picture`",
        "no artifact answers to that reference now",
        "what was passed is not a reference",
        "it is required and was missing",
    ];
    assert_eq!(refused, expected.map(|what| (text(what), "wants-refused".to_owned())));
    let events = heard.of("artifacts.refused");
    let reasons: Vec<_> =
        events.iter().map(|event| event.get("reason").and_then(Value::as_str).unwrap()).collect();
    assert_eq!(reasons, ["kind-mismatch", "missing-or-expired", "invalid-input", "invalid-input"]);
    assert!(events.iter().all(|event| event.get("op") == Some(&value!("dispatch"))));
    assert!(heard.of("stream.tool_end").iter().all(|end| end.get("error") == Some(&value!(true))));
}

/// Proves TOOL-28: an argument the schema does not require is simply not there, and `ctx.wanted` is absent, not empty.
#[tokio::test]
async fn an_absent_optional_argument_is_no_entry() {
    let seen = Arc::default();
    let script = Script::new([calls(&[("t", "draw", value!({ "n": 1 }))]), say("ok")]);
    let agent = agent(&script).tool(draw(false, &seen)).artifacts(in_memory_artifacts()).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(results(&report)[0].1, "drawn");
    assert_eq!(*seen.lock().unwrap(), [value!({ "args": { "n": 1 }, "kinds": null })]);
    assert_eq!(heard.dispatch(), ["stream.tool_start", "stream.tool_end"]);
}

/// Proves TOOL-29: a checkpoint carries the reference; the resumed call redeems it again.
#[tokio::test]
async fn a_resumed_call_redeems_its_reference_again() {
    let store = Arc::new(in_memory_artifacts());
    let reference = stored(&store, "table", "s3cret").await;
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let tool = Tool::builder("draw")
        .input_schema(value!({ "properties": { "data": { "type": "string" } }, "required": ["data"] }))
        .wants("data", "table")
        .check_in(CheckIn::Always)
        .handler(move |args: Value, _| {
            kept.lock().unwrap().push(args);
            async { "drawn" }
        });
    let script = Script::new([calls(&[("t", "draw", value!({ "data": (reference.as_str()) }))]), say("ok")]);
    let agent = agent(&script).tool(tool).artifacts(store).build().unwrap();
    let (paused, heard) = run_as_ann(&agent).await;
    let pause = paused.paused().unwrap();
    assert!(heard.of("artifacts.resolved").is_empty());
    assert!(
        !pause.checkpoint.to_json().contains("s3cret") && pause.checkpoint.to_json().contains(&reference)
    );
    let answer = check_in_approved("bo").build().to_value();
    let (report, heard) = resume(&agent, &paused, Some(answer)).await;
    assert_eq!(report.answer().unwrap(), "ok");
    assert_eq!(*seen.lock().unwrap(), [value!({ "data": "s3cret" })]);
    assert_eq!(heard.of("artifacts.resolved").len(), 1);
}

fn export(text: &str) -> Tool {
    let text = text.to_owned();
    tool("export", value!({}), move |_| text.clone())
}

fn placing(
    script: &Script,
    store: Arc<InMemoryArtifacts>,
    limit: u64,
) -> agentfootprint_core::agent::AgentBuilder {
    agent(script).artifacts(ArtifactOptions::new(store).place_above(limit))
}

async fn kept(store: &InMemoryArtifacts) -> Vec<agentfootprint_core::artifacts::ArtifactMeta> {
    store.list(&scope(), ListArtifacts::default()).await.unwrap().items
}

/// Proves TOOL-73, TOOL-27, MEM-136: exactly at the limit a result stays; one unit over, a ticket takes its place everywhere.
#[tokio::test]
async fn a_long_result_is_stored_and_a_ticket_is_read() {
    // Five units: the last character is a pair.
    let at_limit = "abc\u{1F600}";
    for (text, placed) in [(at_limit.to_owned(), false), (format!("{at_limit}!"), true)] {
        let store = Arc::new(in_memory_artifacts());
        let script = Script::new([calls(&[("t1", "export", value!({}))]), say("ok")]);
        let agent = placing(&script, Arc::clone(&store), 5).tool(export(&text)).build().unwrap();
        let (report, heard) = run_as_ann(&agent).await;
        let read = results(&report)[0].1.clone();
        let last = state(&report, "lastToolResult").unwrap();
        assert_eq!(last.get("result"), Some(&value!(read.as_str())));
        if !placed {
            assert_eq!(read, text);
            assert!(heard.of("artifacts.minted").is_empty() && kept(&store).await.is_empty());
            continue;
        }
        let metas = kept(&store).await;
        let meta = &metas[0];
        assert_eq!(metas.len(), 1);
        assert_eq!(is_placed_tool_result(&read), Some(meta.reference.clone()));
        let ticket: Value = Value::from(serde_json::from_str::<serde_json::Value>(&read).unwrap());
        assert_eq!(heard.of("stream.tool_end")[0].get("result"), Some(&ticket));
        assert_eq!((&*meta.kind, &*meta.media_type, meta.bytes), ("tool-result/export", "text/plain", 8));
        assert_eq!(meta.label.as_deref(), Some("export result"));
        let origin = meta.origin.clone().unwrap();
        assert_eq!(origin.tool_call_id.as_deref(), Some("t1"));
        assert!(origin.run_id.is_some());
        let data = store.get(&scope(), meta.reference.as_str()).await.unwrap().unwrap().data;
        assert_eq!(data, ArtifactData::text(text.as_str()));
        assert_eq!(heard.dispatch(), ["stream.tool_start", "artifacts.minted", "stream.tool_end"]);
        assert!(!heard.of("artifacts.minted")[0].to_string().contains(at_limit));
    }
}

/// Proves TOOL-73, MEM-138: JSON is stored as the text the model would have read, under the declared kind; failures stay.
#[tokio::test]
async fn placement_keeps_to_results_of_tools_that_ran() {
    let store = Arc::new(in_memory_artifacts());
    let script = Script::new([
        calls(&[("a", "rows", value!({})), ("b", "fails", value!({})), ("c", "gone", value!({}))]),
        say("ok"),
    ]);
    let rows = Tool::builder("rows")
        .result_kind("table")
        .handler(|_: Value, _| async { value!({ "b": [1, 2], "a": 3 }) });
    let fails = tool("fails", value!({}), |_| Err::<String, _>("a long sentence about a failure".to_owned()));
    let agent = placing(&script, Arc::clone(&store), 4).tool(rows).tool(fails).build().unwrap();
    let (report, _) = run_as_ann(&agent).await;
    let texts = results(&report);
    assert_eq!(texts[1].1, "a long sentence about a failure");
    assert!(texts[2].1.starts_with("Nothing ran"));
    let metas = kept(&store).await;
    assert_eq!(metas.len(), 1);
    assert_eq!((&*metas[0].kind, &*metas[0].media_type), ("table", "application/json"));
    let data = store.get(&scope(), metas[0].reference.as_str()).await.unwrap().unwrap().data;
    assert_eq!(data, ArtifactData::text(r#"{"b":[1,2],"a":3}"#));
}

/// Proves TOOL-73: the ceiling refuses before placement sees anything, and the cap cuts what placement left.
#[tokio::test]
async fn ceiling_placement_and_cap_compose() {
    let store = Arc::new(in_memory_artifacts());
    let script = Script::new([calls(&[("a", "sealed", value!({})), ("b", "export", value!({}))]), say("ok")]);
    let sealed = Tool::builder("sealed").result_ceiling(3).handler(|_: Value, _| async { "s3cret rows" });
    let agent = placing(&script, Arc::clone(&store), 8)
        .max_tool_result_chars(60)
        .tool(sealed)
        .tool(export("long enough to be placed"))
        .build()
        .unwrap();
    let (report, heard) = run_as_ann(&agent).await;
    let texts = results(&report);
    assert!(texts[0].1.contains("cut to the limit") && !heard.mentions("s3cret"));
    assert!(texts[1].1.starts_with(r#"{"truncated":true"#));
    assert_eq!(kept(&store).await.len(), 1);
}

/// Proves TOOL-73, MEM-134: a store that refuses leaves the result inline; exactly one event says so.
#[tokio::test]
async fn a_refusing_store_falls_back_to_the_inline_result() {
    let retention = Retention { max_bytes_per_scope: Some(10), ..Retention::default() };
    let store = Arc::new(in_memory_artifacts().retention(retention).unwrap());
    let script = Script::new([calls(&[("a", "export", value!({}))]), say("ok")]);
    let agent = placing(&script, Arc::clone(&store), 5).tool(export("more than ten bytes")).build().unwrap();
    let (report, heard) = run_as_ann(&agent).await;
    assert_eq!(results(&report)[0].1, "more than ten bytes");
    let refused = heard.of("artifacts.refused");
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].get("op"), Some(&value!("put")));
    assert_eq!(refused[0].get("reason"), Some(&value!("invalid-input")));
    assert!(!refused[0].to_string().contains("more than ten"));
}

/// Proves MEM-134: what a put sweeps is said before the mint that swept it.
#[tokio::test]
async fn what_was_swept_is_said_before_the_mint() {
    let retention = Retention { max_count_per_scope: Some(1), ..Retention::default() };
    let store = Arc::new(in_memory_artifacts().retention(retention).unwrap());
    let old = stored(&store, "table", "rows").await;
    let script = Script::new([calls(&[("a", "export", value!({}))]), say("ok")]);
    let agent = placing(&script, store, 5).tool(export("long enough")).build().unwrap();
    let (_, heard) = run_as_ann(&agent).await;
    assert_eq!(
        heard.dispatch(),
        ["stream.tool_start", "artifacts.expired", "artifacts.minted", "stream.tool_end"]
    );
    assert_eq!(
        heard.of("artifacts.expired"),
        [
            value!({ "ref": (old.as_str()), "reason": "max-count", "kind": "table", "bytes": 4, "tool": "export" })
        ]
    );
}

fn show(reference: &str) -> LlmResponse {
    calls(&[("p", "present", value!({ "ref": (reference), "as": "table", "label": "Orders" }))])
}

/// Proves TOOL-99, MEM-139: a look at the ticket, a snapshot in the tool message, no payload anywhere.
#[tokio::test]
async fn present_shows_a_ticket() {
    let store = Arc::new(in_memory_artifacts());
    let reference = stored(&store, "table", "s3cret").await;
    let script = Script::new([show(&reference), say("Here it is.")]);
    // A limit below the snapshot's own length: what is shown is never placed itself.
    let agent = placing(&script, Arc::clone(&store), 5).build().unwrap();
    let (report, heard) = run_as_ann(&agent).await;
    let snapshot = value!({ "kind": "table", "mediaType": "text/plain", "bytes": 6, "label": "Orders" });
    let shown = value!({ "presented": true, "ref": (reference.as_str()), "as": "table", "snapshot": (snapshot.clone()) });
    assert_eq!(results(&report)[0], ("p".into(), shown.to_string(), None));
    assert_eq!(
        heard.dispatch(),
        ["stream.tool_start", "artifacts.resolved", "artifacts.presented", "stream.tool_end"]
    );
    assert_eq!(
        heard.of("artifacts.presented"),
        [value!({
            "ref": (reference.as_str()), "as": "table", "snapshot": (snapshot), "toolCallId": "p", "iteration": 1,
        })]
    );
    assert_eq!(heard.of("artifacts.resolved")[0].get("via"), Some(&value!("head")));
    assert!(!heard.mentions("s3cret"));
    assert_eq!(kept(&store).await.len(), 1);
}

/// Proves TOOL-99, TOOL-4: a miss is an error that lists what can be shown; with nothing to list, nothing is said of it.
#[tokio::test]
async fn a_reference_that_shows_nothing_is_an_error() {
    for with_rows in [true, false] {
        let store = Arc::new(in_memory_artifacts());
        let mut newest = Vec::new();
        if with_rows {
            for n in 0..12 {
                newest.push(stored(&store, "table", &n.to_string()).await);
            }
        }
        let script = Script::new([show("art_0000000000000000000000"), say("ok")]);
        let agent = agent(&script).artifacts(store).build().unwrap();
        let (report, heard) = run_as_ann(&agent).await;
        let (_, text, reason) = results(&report)[0].clone();
        assert!(text.starts_with("Nothing was shown: no artifact answers to that reference now."));
        assert_eq!(reason, None);
        assert_eq!(heard.of("stream.tool_end")[0].get("error"), Some(&value!(true)));
        assert_eq!(heard.of("artifacts.refused")[0].get("reason"), Some(&value!("missing-or-expired")));
        assert!(heard.of("artifacts.presented").is_empty());
        let listed = newest.iter().filter(|reference| text.contains(reference.as_str())).count();
        assert_eq!(listed, if with_rows { 10 } else { 0 });
        assert_eq!(text.contains("now:"), with_rows);
    }
}

/// Proves MEM-133, MEM-134: a tool's own verbs are bound to the run, stamped and on the record.
#[tokio::test]
async fn a_tool_mints_under_the_run_and_derives_from_what_it_was_given() {
    let store = Arc::new(in_memory_artifacts());
    let parent = stored(&store, "table", "rows").await;
    let tool = Tool::builder("chart")
        .input_schema(value!({ "properties": { "data": { "type": "string" } }, "required": ["data"] }))
        .wants("data", "table")
        .handler(|_: Value, cx: ToolContext| async move {
            let mut put = PutArtifact::new("chart", "image/svg+xml", ArtifactData::text("<svg/>"));
            put.origin = Some(Default::default());
            let made = cx.artifacts().put_derived(put).await.map_err(|error| error.to_string())?;
            let missing =
                cx.artifacts().get("art_0000000000000000000000").await.map_err(|error| error.to_string())?;
            assert!(missing.is_none() && cx.has_artifacts());
            Ok::<_, String>(made.reference.to_string())
        });
    let script = Script::new([calls(&[("t9", "chart", value!({ "data": (parent.as_str()) }))]), say("ok")]);
    let agent = agent(&script).tool(tool).artifacts(Arc::clone(&store)).build().unwrap();
    let (report, heard) = run_as_ann(&agent).await;
    let made = results(&report)[0].1.clone();
    let meta = store.head(&scope(), &made).await.unwrap().unwrap();
    assert_eq!(meta.parent_refs[0].as_str(), parent);
    assert_eq!(meta.origin.unwrap().tool_call_id.as_deref(), Some("t9"));
    assert_eq!(
        heard.dispatch(),
        [
            "stream.tool_start",
            "artifacts.resolved",
            "artifacts.minted",
            "artifacts.refused",
            "stream.tool_end"
        ]
    );
    assert_eq!(heard.of("artifacts.minted")[0].get("parentRefs"), Some(&value!([(parent.as_str())])));
    assert_eq!(heard.of("artifacts.refused")[0].get("op"), Some(&value!("get")));
}

/// Proves MEM-133, TOOL-75: without a store, and inside another tool, every verb is refused once on the record.
#[tokio::test]
async fn without_a_store_every_verb_is_refused() {
    let tool = Tool::builder("save").handler(|_: Value, cx: ToolContext| async move {
        assert!(!cx.has_artifacts());
        let put = PutArtifact::new("k", "m", ArtifactData::text("x"));
        cx.artifacts().put(put).await.map(|_| "saved").map_err(|error| error.to_string())
    });
    let outer = Tool::builder("outer").handler(|_: Value, cx: ToolContext| async move {
        let dispatch = cx.tools().cloned().unwrap();
        let inner = dispatch.call("save", value!({})).await.unwrap_err().to_string();
        let shown = dispatch.call("present", value!({})).await.unwrap_err().to_string();
        format!("{inner} | {shown}")
    });
    let script = Script::new([calls(&[("a", "save", value!({}))]), say("ok")]);
    let plain = agent(&script).tool(tool.build().unwrap()).build().unwrap();
    let (report, heard) = run(&plain, "go").await;
    assert!(results(&report)[0].1.starts_with("no artifact store is attached"));
    let refused = heard.of("artifacts.refused");
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].get("reason"), Some(&value!("no-store")));

    let tool = Tool::builder("save").handler(|_: Value, cx: ToolContext| async move {
        let put = PutArtifact::new("k", "m", ArtifactData::text("x"));
        cx.artifacts().put(put).await.map(|_| "saved").map_err(|error| error.to_string())
    });
    let script = Script::new([calls(&[("a", "outer", value!({}))]), say("ok")]);
    let with = agent(&script).tool(tool).tool(outer).artifacts(in_memory_artifacts()).build().unwrap();
    let (report, _) = run(&with, "go").await;
    let text = &results(&report)[0].1;
    assert!(text.contains("no artifact store is attached"), "{text}");
    assert!(text.contains("only the model's own call shows an artifact"), "{text}");
}

/// Proves MEM-6, MEM-135, TOOL-2: without a store nothing of it exists; with one, the manifest says so and names nothing.
#[tokio::test]
async fn the_manifest_says_what_is_configured() {
    let configured = |options: Option<ArtifactOptions>| async {
        let script = Script::new([say("ok")]);
        let mut builder = agent(&script).tool(export("x"));
        if let Some(options) = options {
            builder = builder.artifacts(options);
        }
        let (_, heard) = run(&builder.build().unwrap(), "go").await;
        let tools = script.requests.lock().unwrap()[0].get("tools").and_then(Value::as_array).unwrap().len();
        (heard.of("agent.run_configured")[0].get("artifacts").cloned(), tools)
    };
    let options = || ArtifactOptions::new(in_memory_artifacts());
    assert_eq!(configured(None).await, (None, 1));
    assert_eq!(configured(Some(options())).await, (Some(value!({})), 2));
    assert_eq!(configured(Some(options().place_above(9))).await, (Some(value!({ "placement": true })), 2));
}

/// Proves MEM-135, TOOL-14, TOOL-105: a limit of nothing, a second store, and a forced answer beside `present` are refused.
#[tokio::test]
async fn impossible_stores_are_refused_at_build() {
    let script = Script::new([]);
    let refused = agent(&script)
        .artifacts(ArtifactOptions::new(in_memory_artifacts()).place_above(0))
        .artifacts(ArtifactOptions::new(in_memory_artifacts()).place_above(0))
        .build()
        .unwrap_err()
        .to_string();
    assert!(refused.contains("artifacts.placement.max_inline_chars"), "{refused}");
    assert!(refused.contains("`artifacts`"), "{refused}");
}

//! Runbooks through whole runs: the envelope, the absence that ends a procedure, rows and meanings.

use std::sync::Arc;

use agentfootprint_core::tools::{
    InnerCallError, InnerCallOptions, InnerOutcome, InnerRunStore, IntoTool as _, Presentation, RunbookTool,
    Tool, ToolContext, ToolDispatch, ToolEnvelope, ToolOutput, absent, ask_human, coverage, runbook_as_tool,
};
use footprint::chart::{BuildErrors, Decider, ForEach};
use footprint::decide::{Rule, decide, field};
use footprint::error::StageError;
use footprint::prelude::*;
use footprint::state::RedactionPolicy;
use footprint::value;
use footprint::value::Value;

use crate::support::{Heard, Script, agent, calls, results, resume, run, say, state, tool};

/// A procedure of one stage.
fn stage<F, Fut>(body: F) -> impl Fn(ToolDispatch) -> Result<Chart, BuildErrors> + Send + Sync + 'static
where
    F: Fn(Scope, ToolDispatch) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), StageError>> + Send + 'static,
{
    move |tools| {
        let body = body.clone();
        Chart::builder(Stage::new("look", move |s: Scope| body(s, tools.clone())).named("Check ports"))
            .build()
    }
}

fn book<E: std::fmt::Display>(
    procedure: impl Fn(ToolDispatch) -> Result<Chart, E> + Send + Sync + 'static,
) -> RunbookTool {
    runbook_as_tool("check", "Checks ports.", procedure)
}

/// Runs the runbook once inside an agent with these other tools; the answer as the model read it.
async fn answer(tool: RunbookTool, others: Vec<Tool>, args: Value) -> (Value, Heard) {
    let script = Script::new([calls(&[("t1", "check", args)]), say("done")]);
    let agent = agent(&script).tool(tool).tools(others).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "done");
    let text = results(&report)[0].1.clone();
    (serde_json::from_str(&text).unwrap_or(Value::from(text)), heard)
}

fn keys(value: &Value) -> Vec<String> {
    value.as_object().unwrap().keys().map(ToString::to_string).collect()
}

fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, key| value.get(key).unwrap_or_else(|| panic!("no `{key}` in {value}")))
}

fn texts(items: &Value) -> Vec<String> {
    let text = |item: &Value| {
        let what = item.get("what").unwrap().as_str().unwrap().to_owned();
        item.get("why").map_or(what.clone(), |why| format!("{what} ({})", why.as_str().unwrap()))
    };
    items.as_array().unwrap().iter().map(text).collect()
}

fn idle(_: Scope, _: ToolDispatch) -> std::future::Ready<Result<(), StageError>> {
    std::future::ready(Ok(()))
}

/// Proves TOOL-80, TOOL-81: the smallest procedure yields the whole spine, and nothing else.
#[tokio::test]
async fn the_smallest_call_yields_the_spine() {
    // Arguments are no state: a model that names them like the procedure's own keys says nothing by it.
    let forged = value!({ "coverage": { "checked": ["everything"] }, "report": { "summary": "fine" }, "verdicts": [] });
    let (answer, heard) = answer(book(stage(idle)), vec![], forged).await;
    assert_eq!(keys(&answer), ["af_coverage", "result"]);
    assert_eq!(keys(at(&answer, &["af_coverage"])), ["checked", "note", "sentence"]);
    assert_eq!(
        at(&answer, &["af_coverage", "checked"]),
        &value!([{ "what": "procedure `Check ports`: 1 step under undeclared rules" }])
    );
    assert_eq!(
        at(&answer, &["af_coverage", "sentence"]),
        &value!(
            "`Check ports` walked 1 step under undeclared rules: 0 rows, 0 of them declined; 0 entries not checked."
        )
    );
    let result = at(&answer, &["result"]);
    assert_eq!(keys(result), ["af_provenance", "rule_version", "walk"]);
    assert_eq!(at(result, &["af_provenance"]), &value!({ "tool": "check", "toolCallId": "t1" }));
    assert_eq!(at(result, &["rule_version"]), &value!("undeclared"));
    assert_eq!(
        at(result, &["walk"]),
        &value!({ "rows": 1, "steps_executed": 1, "projection": "full", "shown": 1, "total": 1, "complete": true,
            "walk_segment": "full", "note": "The walk has 1 rows; it was not filed: no artifact store is attached." })
    );
    // Recognised like any ledger.
    assert_eq!(heard.dispatch(), ["stream.tool_start", "tools.coverage_declared", "stream.tool_end"]);
    assert_eq!(
        heard.of("tools.coverage_declared")[0].get("checked"),
        Some(at(&answer, &["af_coverage", "checked"]))
    );
}

fn ports() -> Tool {
    tool("ports", value!({}), |args| {
        let switch = args.get("switch").and_then(Value::as_str).unwrap_or_default().to_owned();
        let found = value!({ "up": 3, "af_provenance": { "source": (switch.as_str()), "tool": "wms" } });
        coverage(found).checked(switch.as_str()).cannot_cover("lab", "no access").build().unwrap().to_value()
    })
}

/// Proves TOOL-80, TOOL-81: inner results, the chart and the procedure, in this order, each entry once; the first provenance is
/// carried under the name of this call.
#[tokio::test]
async fn coverage_is_folded_from_three_sources() {
    let procedure = stage(|s: Scope, tools: ToolDispatch| async move {
        // Two at once: their results stand in the order they were asked for.
        let slow = async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            tools.call("plain", value!({})).await
        };
        let (first, second, third) = futures_util::join!(
            tools.call("ports", value!({ "switch": "sw-1" })),
            tools.call("ports", value!({ "switch": "sw-2" })),
            slow,
        );
        for answer in [first, second, third] {
            answer?;
        }
        s.set_value(
            "coverage",
            value!({ "checked": ["cabling", { "what": "sw-2" }, "", 7, { "why": "x" }, null],
                "notChecked": [{ "what": "spares", "why": "not in the store" }], "cannot_cover": { "what": "no list" } }),
        )?;
        Ok(())
    });
    let plain = tool("plain", value!({}), |_| value!({ "af_provenance": { "source": "late" } }));
    let book = book(procedure).rules("port-health", "3");
    let (answer, _) = answer(book, vec![ports(), plain], value!({})).await;
    let ledger = at(&answer, &["af_coverage"]);
    assert_eq!(keys(ledger), ["checked", "not_checked", "cannot_cover", "note", "sentence"]);
    assert_eq!(
        texts(at(ledger, &["checked"])),
        ["sw-1", "sw-2", "cabling", "procedure `Check ports`: 1 step under rules port-health 3"]
    );
    assert_eq!(texts(at(ledger, &["not_checked"])), ["spares (not in the store)"]);
    assert_eq!(texts(at(ledger, &["cannot_cover"])), ["lab (no access)"]);
    assert_eq!(
        at(ledger, &["sentence"]),
        &value!(
            "`Check ports` walked 1 step under rules port-health 3: 0 rows, 0 of them declined; 1 entry not checked."
        )
    );
    assert_eq!(at(&answer, &["result", "rule_version"]), &value!("port-health@3"));
    assert_eq!(
        at(&answer, &["result", "af_provenance"]),
        &value!({ "source": "sw-1", "tool": "check", "toolCallId": "t1" })
    );
}

/// Proves TOOL-81: a provenance beside a payload is found when the payload has none.
#[tokio::test]
async fn provenance_beside_the_payload() {
    let procedure = stage(|_: Scope, tools: ToolDispatch| async move {
        tools.call("plain", value!({})).await?;
        Ok(())
    });
    let plain = tool(
        "plain",
        value!({}),
        |_| value!({ "af_coverage": { "checked": [{ "what": "x" }] }, "result": { "n": 1 }, "af_provenance": { "source": "beside" } }),
    );
    let (answer, _) = answer(book(procedure), vec![plain], value!({})).await;
    assert_eq!(at(&answer, &["result", "af_provenance", "source"]), &value!("beside"));
}

fn nothing() -> Value {
    let mut minted =
        absent("sw-9").checked("inventory").build().unwrap().to_value().as_object().unwrap().clone();
    minted.insert("extra", value!("kept"));
    Value::Object(minted)
}

fn finding_nothing() -> Tool {
    tool("ports", value!({}), |_| nothing())
}

/// An error that wraps another one.
#[derive(Debug, thiserror::Error)]
#[error("step {0} failed")]
struct Wrapped(u8, #[source] Box<dyn std::error::Error + Send + Sync>);

fn wrapped(error: InnerCallError, times: u8) -> Wrapped {
    (1..times).fold(Wrapped(0, Box::new(error)), |inner, n| Wrapped(n, Box::new(inner)))
}

/// Proves TOOL-82, TOOL-76: an absence ends the procedure and is the answer, verbatim, through mounts and wrapping errors; to the
/// record it is an absence of the runbook.
#[tokio::test]
async fn an_inner_absence_is_the_answer() {
    let direct = stage(|s: Scope, tools: ToolDispatch| async move {
        tools.call("ports", value!({})).await?;
        s.set_value("report", value!({ "never": true }))?;
        Ok(())
    });
    let deep = |tools: ToolDispatch| {
        let inner = Chart::builder(Stage::new("inner", move |_: Scope| {
            let tools = tools.clone();
            async move {
                tools.call("ports", value!({})).await.map_err(|error| wrapped(error, 4))?;
                Ok(())
            }
        }))
        .build()?;
        let middle = Chart::builder(Mount::of("middle", &inner)).build()?;
        Chart::builder(Mount::of("outer", &middle)).build()
    };
    for tool in [book(direct), book(deep)] {
        let script = Script::new([calls(&[("t1", "check", value!({}))]), say("done")]);
        let tool = tool.keep_record().into_tool().unwrap();
        let agent = agent(&script).tool(tool.clone()).tool(finding_nothing()).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        assert_eq!(results(&report)[0].1, nothing().to_string());
        assert_eq!(heard.dispatch(), ["stream.tool_start", "tools.absent", "stream.tool_end"]);
        assert_eq!(heard.of("tools.absent")[0].get("toolName"), Some(&value!("check")));
        let end = &heard.of("stream.tool_end")[0];
        assert_eq!((end.get("status"), end.get("error")), (Some(&value!("absent")), None));
        assert_eq!(state(&report, "coverageDeclared").unwrap().as_array().unwrap().len(), 1);
        let kept = tool.extensions().get::<InnerRunStore>().unwrap();
        assert_eq!(kept.len(), 1, "the walk that ended there is kept");
    }
}

/// Proves TOOL-82: what a contained branch or the procedure itself swallows is the answer all the same; another failure stays one,
/// and so does a signal more than eight errors away.
#[tokio::test]
async fn an_absence_is_not_swallowed() {
    let caught = stage(|_: Scope, tools: ToolDispatch| async move {
        let _ = tools.call("ports", value!({})).await;
        Ok(())
    });
    let contained = |tools: ToolDispatch| {
        let each = ForEach::new(
            "each",
            |_: Scope| Ok(vec![1_u8, 2]),
            move |n: &u8, _| {
                let (n, tools) = (*n, tools.clone());
                Chart::builder(Stage::new("one", move |_: Scope| {
                    let tools = tools.clone();
                    async move {
                        tools.call(if n == 1 { "ports" } else { "plain" }, value!({})).await?;
                        Ok(())
                    }
                }))
                .build()
            },
        )
        .max_branches(4)
        .into("each");
        Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) })).for_each(each).build()
    };
    let plain = || tool("plain", value!({}), |_| "x");
    for book in [book(caught), book(contained)] {
        let (answer, _) = answer(book, vec![finding_nothing(), plain()], value!({})).await;
        assert_eq!(answer, nothing());
    }
    let failing = stage(|_: Scope, tools: ToolDispatch| async move {
        let _ = tools.call("ports", value!({})).await;
        Err(StageError::new("the switch did not answer"))
    });
    let (text, heard) = answer(book(failing), vec![finding_nothing()], value!({})).await;
    assert!(text.as_str().unwrap().contains("the switch did not answer"), "{text}");
    assert_eq!(heard.of("stream.tool_end")[0].get("error"), Some(&value!(true)));
    assert!(heard.of("tools.absent").is_empty());
    let far = stage(|_: Scope, tools: ToolDispatch| async move {
        tools.call("ports", value!({})).await.map_err(|error| wrapped(error, 9))?;
        Ok(())
    });
    let (text, _) = answer(book(far), vec![finding_nothing()], value!({})).await;
    assert!(text.as_str().unwrap().contains("step 8 failed"), "{text}");
}

/// Proves TOOL-76, TOOL-82: a call that allows an absence goes on with it; what it looked at is folded in.
#[tokio::test]
async fn an_allowed_absence_is_a_result() {
    let procedure = stage(|s: Scope, tools: ToolDispatch| async move {
        let found = tools.call_with("ports", value!({}), InnerCallOptions::new().allow_absent()).await?;
        s.set_value("report", value!({ "found": (found.into_value().unwrap_or_default()) }))?;
        let steered = tools.call_with("steered", value!({}), InnerCallOptions::new().allow_absent()).await?;
        assert!(matches!(steered, ToolOutput::Envelope(_)), "an inner result comes back exactly");
        Ok(())
    });
    let steered = tool("steered", value!({}), |_| {
        let looked = absent("spares").checked("store").build().unwrap();
        ToolOutput::Envelope(ToolEnvelope::new(looked))
    });
    let (answer, heard) = answer(book(procedure), vec![finding_nothing(), steered], value!({})).await;
    assert_eq!(at(&answer, &["result", "found"]), &nothing());
    assert_eq!(
        texts(at(&answer, &["af_coverage", "checked"])),
        ["inventory", "store", "procedure `Check ports`: 1 step under undeclared rules"]
    );
    assert!(heard.of("stream.tool_end")[0].get("status").is_none());
    // An envelope's content is looked at, too.
    let procedure = stage(|_: Scope, tools: ToolDispatch| async move {
        tools.call("steered", value!({})).await?;
        Ok(())
    });
    let steered = tool(
        "steered",
        value!({}),
        |_| value!({ "content": (nothing()), "effects": [], "status": "partial" }),
    );
    let (answer, _) = self::answer(book(procedure), vec![steered], value!({})).await;
    assert_eq!(answer, nothing());
}

/// Proves TOOL-76: outside a runbook `allow_absent` changes nothing, and a caller's own token ends its call.
#[tokio::test]
async fn a_plain_tool_reads_results_itself() {
    let caller = Tool::builder("caller").handler(|_: Value, cx: ToolContext| async move {
        let tools = cx.tools().unwrap();
        let with =
            tools.call_with("ports", value!({}), InnerCallOptions::new().allow_absent()).await.unwrap();
        let without = tools.call("ports", value!({})).await.unwrap();
        assert_eq!(with, without);
        let token = tokio_util::sync::CancellationToken::new();
        let (ended, ()) = futures_util::join!(
            tools.call_with("waits", value!({}), InnerCallOptions::new().cancel(token.clone())),
            async { token.cancel() },
        );
        let error = ended.unwrap_err();
        assert!(!cx.cancel().is_cancelled(), "only the inner call ended");
        format!("{error}; {}", with.into_value().unwrap().get("extra").unwrap())
    });
    let waits = Tool::builder("waits").handler(|_: Value, cx: ToolContext| async move {
        cx.cancel().cancelled().await;
        "never told"
    });
    let script = Script::new([calls(&[("t1", "caller", value!({}))]), say("done")]);
    let agent = agent(&script).tool(caller).tool(waits).tool(finding_nothing()).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    assert_eq!(results(&report)[0].1, r#"the call of `waits` was cancelled by its caller; "kept""#);
}

/// A procedure with a decider: `judge` takes the branch for `load`, and the branch writes the rows.
fn judging(rows: Value) -> impl Fn(ToolDispatch) -> Result<Chart, BuildErrors> + Send + Sync + 'static {
    move |_| {
        let rows = rows.clone();
        let write = move |s: Scope| {
            let rows = rows.clone();
            async move {
                s.set_value("verdicts", rows)?;
                Ok(())
            }
        };
        let judge = Decider::new("judge", |s: Scope| async move {
            let rules = [Rule::when(field("load").lt(50), "healthy").label("under half load")];
            Ok(decide(&s, &rules, ("faulty", "half load or more"))?)
        })
        .named("Judge the load")
        .branch(Stage::new("healthy", write.clone()).describe("all is well"))
        .branch(Stage::new("faulty", write.clone()).named("Faulty port"))
        .branch(Stage::new("declined", write).named("Not judged").describe("  "));
        Chart::builder(Stage::new("seed", |s: Scope| async move {
            let load = s.args_value().get("percent").cloned().unwrap_or_default();
            Ok(s.set_value("load", load)?)
        }))
        .decide(judge)
        .build()
    }
}

fn rows() -> Value {
    value!([
        { "port": "1|a", "verdict": "healthy", "up": true, "load": null },
        { "port": "2\nb", "verdict": "declined", "up": false, "more": 1 },
        { "port": "3", "verdict": 7 },
        "no row",
        { "port": { "n": 4 }, "verdict": "faulty", "up": true, "load": 2.5 },
    ])
}

const PROJECTION: [&str; 6] =
    ["verdicts", "rows_shown", "rows_total", "rows_complete", "table", "render_note"];

/// Proves TOOL-83: list and table show the same rows under the same cap; a row is an object with a text under `verdict`.
#[tokio::test]
async fn rows_and_table_are_the_same_rows() {
    let armed = || book(judging(rows())).result_kind("verdict/ports");
    let (all, _) = answer(armed(), vec![], value!({ "percent": 10 })).await;
    let result = at(&all, &["result"]);
    let expected: Vec<&str> =
        ["af_provenance", "rule_version"].into_iter().chain(PROJECTION).chain(["walk"]).collect();
    assert_eq!(keys(result), expected);
    assert_eq!(
        at(result, &["table"]),
        &value!(
            "| port | verdict | up | load |\n| --- | --- | --- | --- |\n| 1\\|a | healthy | yes | — |\n| 2 b | declined | no | — |\n| {\"n\":4} | faulty | yes | 2.5 |"
        )
    );
    assert_eq!(
        (at(result, &["rows_shown"]), at(result, &["rows_total"]), at(result, &["rows_complete"])),
        (&value!(3), &value!(3), &value!(true))
    );
    assert_eq!(
        texts(at(&all, &["af_coverage", "not_checked"])),
        ["1 row the procedure declined to judge (their verdict is `declined`)"]
    );
    assert_eq!(
        at(&all, &["af_coverage", "sentence"]),
        &value!(
            "`seed` walked 3 steps under undeclared rules: 3 rows, 1 of them declined; 1 entry not checked."
        )
    );
    let (capped, _) = answer(armed().max_rows(1), vec![], value!({ "percent": 10 })).await;
    let result = at(&capped, &["result"]);
    assert_eq!(
        (at(result, &["rows_shown"]), at(result, &["rows_total"]), at(result, &["rows_complete"])),
        (&value!(1), &value!(3), &value!(false))
    );
    assert_eq!(at(result, &["verdicts"]).as_array().unwrap().len(), 1);
    assert_eq!(at(result, &["table"]).as_str().unwrap().lines().count(), 3);
    // Every row counts as declined or judged, shown or not.
    assert_eq!(texts(at(&capped, &["af_coverage", "not_checked"])).len(), 1);
    for none in [value!([]), value!({ "not": "a list" }), value!(null)] {
        let (empty, _) =
            answer(book(judging(none)).result_kind("verdict/ports"), vec![], value!({ "percent": 1 })).await;
        assert_eq!(at(&empty, &["result", "rows_total"]), &value!(0));
        assert_eq!(at(&empty, &["result", "table"]), &value!("(no rows)"));
    }
    // Another kind does not arm the rows.
    for kind in ["report/ports", "verdict/", "verdict"] {
        let (plain, _) =
            answer(book(judging(rows())).result_kind(kind), vec![], value!({ "percent": 1 })).await;
        assert_eq!(keys(at(&plain, &["result"])), ["af_provenance", "rule_version", "walk"]);
    }
}

/// Proves TOOL-83: a panel and prose differ in the table and in what is said about rendering, and in no other byte.
#[tokio::test]
async fn a_panel_differs_in_two_fields_only() {
    let with = |presentation: &str| {
        book(judging(rows()))
            .result_kind("verdict/ports")
            .verdicts_from("judge")
            .presentation(presentation.parse().unwrap())
    };
    let (prose, _) = answer(with("prose"), vec![], value!({ "percent": 10 })).await;
    let (panel, _) = answer(with("panel"), vec![], value!({ "percent": 10 })).await;
    let bare = |answer: &Value| {
        let mut out = answer.as_object().unwrap().clone();
        let mut result = at(answer, &["result"]).as_object().unwrap().clone();
        result.remove("table");
        result.remove("render_note");
        out.insert("result", Value::Object(result));
        Value::Object(out).to_string()
    };
    assert_eq!(bare(&prose), bare(&panel));
    assert!(at(&panel, &["result"]).get("table").is_none());
    let note = |answer: &Value| at(answer, &["result", "render_note"]).as_str().unwrap().to_owned();
    assert!(
        note(&prose).contains("`table` exactly as it stands")
            && note(&prose).contains("never write one from memory")
    );
    assert!(note(&panel).contains("already") && note(&panel).contains("word for word"));
    assert_eq!(
        "screen".parse::<Presentation>().unwrap_err().to_string(),
        "`screen` is no presentation of a runbook; use `prose` or `panel`"
    );
    assert_eq!((Presentation::Prose.as_str(), Presentation::Panel.as_str()), ("prose", "panel"));
}

/// Proves TOOL-84: declared branches say what verdicts mean, labels of this run's decisions stand over them; the default's label is
/// one of them; blank texts say nothing, and where nothing is learned there is no key.
#[tokio::test]
async fn verdicts_have_meanings() {
    let asked =
        |decider: &str| book(judging(rows())).result_kind("verdict/ports").verdicts_from(decider.to_owned());
    for decider in ["judge", "Judge the load"] {
        let (answer, _) = answer(asked(decider), vec![], value!({ "percent": 10 })).await;
        assert_eq!(
            at(&answer, &["result", "verdict_meanings"]),
            &value!({ "healthy": "under half load", "faulty": "half load or more", "declined": "Not judged" }),
            "{decider}"
        );
        let expected = [&PROJECTION[..], &["verdict_meanings", "walk"][..]].concat();
        assert_eq!(keys(at(&answer, &["result"]))[2..], expected[..]);
    }
    let (unknown, _) = answer(asked("other"), vec![], value!({ "percent": 10 })).await;
    assert!(at(&unknown, &["result"]).get("verdict_meanings").is_none());
    let (unasked, _) =
        answer(book(judging(rows())).result_kind("verdict/ports"), vec![], value!({ "percent": 1 })).await;
    assert!(at(&unasked, &["result"]).get("verdict_meanings").is_none());

    // Without evidence the declarations alone speak: description, else name.
    let silent = |_: ToolDispatch| {
        let judge = Decider::new("judge", |_: Scope| async { Ok("healthy") })
            .branch(Stage::new("healthy", |_: Scope| async { Ok(()) }).describe("all is well"))
            .branch(Stage::new("faulty", |_: Scope| async { Ok(()) }).named("Faulty port"));
        let inner = Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) })).decide(judge).build()?;
        Chart::builder(Mount::of("inner", &inner)).build()
    };
    let book = book(silent).result_kind("verdict/ports").verdicts_from("judge");
    let (answer, _) = answer(book, vec![], value!({})).await;
    assert_eq!(
        at(&answer, &["result", "verdict_meanings"]),
        &value!({ "healthy": "all is well", "faulty": "Faulty port" })
    );
}

/// Proves TOOL-84: a branch inside a generated fan-out is not in the static chart; a label recorded in this run still says what it
/// means, rule labels over the default's.
#[tokio::test]
async fn a_generated_decider_is_known_by_its_labels() {
    let generated = |_: ToolDispatch| {
        let each = ForEach::new(
            "each",
            |_: Scope| Ok(vec![10_u64, 90]),
            |load: &u64, _| {
                let load = *load;
                let judge = Decider::new("judge", |s: Scope| async move {
                    let rules = [Rule::when(field("load").lt(50), "healthy").label("under half load")];
                    Ok(decide(&s, &rules, ("healthy", "nothing fired"))?)
                })
                .branch(Stage::new("healthy", |_: Scope| async { Ok(()) }));
                Chart::builder(Stage::new("seed", move |s: Scope| async move {
                    Ok(s.set_value("load", value!(load))?)
                }))
                .decide(judge)
                .build()
            },
        )
        .max_branches(4)
        .into("each");
        Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) })).for_each(each).build()
    };
    let book = book(generated).result_kind("verdict/ports").verdicts_from("judge");
    let (answer, _) = answer(book, vec![], value!({})).await;
    assert_eq!(at(&answer, &["result", "verdict_meanings"]), &value!({ "healthy": "under half load" }));
}

fn reporting(report: Value) -> impl Fn(ToolDispatch) -> Result<Chart, BuildErrors> + Send + Sync + 'static {
    stage(move |s: Scope, _: ToolDispatch| {
        let report = report.clone();
        async move {
            s.set_value("verdicts", value!([{ "verdict": "healthy" }]))?;
            s.set_value("report", report)?;
            Ok(())
        }
    })
}

/// Proves TOOL-85, T-27: the report lands beside the assembled fields and never over one, in both presentations.
#[tokio::test]
async fn the_report_lands_beside() {
    let report = value!({ "summary": "fine", "walk": 1, "af_coverage": 2, "report_note": 3, "table": 4, "rows_total": 5,
        "rule_version": 6, "af_provenance": 7, "verdict_meanings": "mine" });
    for presentation in [Presentation::Prose, Presentation::Panel] {
        let armed = book(reporting(report.clone())).result_kind("verdict/x").presentation(presentation);
        let (armed, _) = answer(armed, vec![], value!({})).await;
        let result = at(&armed, &["result"]);
        assert_eq!(at(result, &["summary"]), &value!("fine"));
        // Not assembled in this answer, so it is the report's.
        assert_eq!(at(result, &["verdict_meanings"]), &value!("mine"));
        assert_eq!(at(result, &["rows_total"]), &value!(1));
        assert_eq!(
            at(result, &["report_note"]),
            &value!(
                "Fields of the procedure's report that have names this answer owns were left out: `walk`, `af_coverage`, `report_note`, `table`, `rows_total`, `rule_version`, `af_provenance`."
            )
        );
        let order = keys(result);
        assert_eq!(order[..4], ["af_provenance", "rule_version", "summary", "verdict_meanings"]);
        assert_eq!(order[order.len() - 2..], ["report_note", "walk"]);
    }
    let (plain, _) = answer(book(reporting(report)), vec![], value!({})).await;
    let result = at(&plain, &["result"]);
    assert_eq!(at(result, &["rows_total"]), &value!(5), "rows are not assembled here");
    assert!(!at(result, &["report_note"]).as_str().unwrap().contains("rows_total"));
    let (clean, _) = answer(book(reporting(value!({ "summary": "fine" }))), vec![], value!({})).await;
    assert_eq!(keys(at(&clean, &["result"])), ["af_provenance", "rule_version", "summary", "walk"]);
    let (text, _) = answer(book(reporting(value!("all fine"))), vec![], value!({})).await;
    assert_eq!(
        at(&text, &["result", "report_note"]),
        &value!("The procedure's report is a string and no object; it was left out.")
    );
}

/// Proves TOOL-88: a chart that pauses inside a runbook is a tool error that says so, and its record is kept; a question of an inner
/// tool is the runbook's.
#[tokio::test]
async fn a_pause_inside() {
    let pausing = |_: ToolDispatch| {
        Chart::builder(Stage::pausable(
            "ask",
            |_: Scope| async move { Ok(footprint::chart::Step::Pause(value!({ "question": "Which?" }))) },
            |_: Scope, _: Value| async move { Ok(()) },
        ))
        .build()
    };
    let tool = book(pausing).keep_record().into_tool().unwrap();
    let failed = tool.call(value!({}), &ToolContext::detached("check", "t1")).await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "the procedure of `check` paused inside the tool; a question of a tool's own chart is not passed on"
    );
    let kept = tool.extensions().get::<InnerRunStore>().unwrap();
    assert_eq!(kept.get(None, "t1").unwrap().outcome, InnerOutcome::Paused);

    let procedure = stage(|_: Scope, tools: ToolDispatch| async move {
        tools.call("asks", value!({})).await?;
        Ok(())
    });
    let asks = crate::support::tool("asks", value!({}), |_| {
        Err::<String, _>(ask_human(value!({ "question": "Which?" })))
    });
    let script = Script::new([calls(&[("t1", "check", value!({}))]), say("done")]);
    let agent = agent(&script).tool(book(procedure)).tool(asks).build().unwrap();
    let (paused, _) = run(&agent, "go").await;
    assert_eq!(paused.paused().unwrap().pause_data.get("question"), Some(&value!("Which?")));
    let (done, _) = resume(&agent, &paused, Some(value!("that one"))).await;
    assert_eq!(results(&done)[0].1, "that one");
}

/// Proves TOOL-80: with a policy the answer holds the redacted mirror.
#[tokio::test]
async fn a_policy_redacts_the_answer() {
    let report = value!({ "summary": "fine", "secret": "hunter2" });
    let book = book(reporting(report)).redact(RedactionPolicy::new().keys(["report"])).keep_record();
    let (answer, heard) = answer(book, vec![], value!({})).await;
    assert!(!answer.to_string().contains("hunter2") && !heard.mentions("hunter2"));
}

/// Proves TOOL-80: built afresh for every call, and around the tools of this call.
#[tokio::test]
async fn every_call_builds_its_chart() {
    let built = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&built);
    let book = book(move |tools: ToolDispatch| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let known = tools.has("ports");
        stage(move |s: Scope, _: ToolDispatch| async move {
            Ok(s.set_value("report", value!({ "known": known }))?)
        })(tools)
    });
    let (first, _) = answer(book, vec![ports()], value!({})).await;
    assert_eq!(at(&first, &["result", "known"]), &value!(true));
    assert_eq!(built.load(std::sync::atomic::Ordering::SeqCst), 2, "once at definition, once for the call");
}

//! Pieces of context: which are active, what is recorded of them, and where their words go.

use agentfootprint_core::agent::{Agent, ContextBudget};
use agentfootprint_core::injection::{Fact, Instruction, RawInjection};
use agentfootprint_core::tools::ContextSource;
use agentfootprint_record::message::Role;
use agentfootprint_record::text::{content_hash, utf16_len};
use footprint::value::Value;

use crate::support::*;

const BASE: &str = "You answer questions about orders, and you never make a number up when nobody gave you one to begin with.";

fn built(script: &Script) -> Agent {
    agent(script)
        .system(BASE)
        .fact(Fact::new("hours", "Open 9 to 5.").describe("when we are open"))
        .instruction(Instruction::new("late", "Hurry.").active_when(|cx| cx.iteration() > 1))
        .injection(
            RawInjection::new("after", ContextSource::Custom).after_tool("look").system_prompt("You looked."),
        )
        .tool(looking("seen"))
        .build()
        .unwrap()
}

async fn two_passes() -> (agentfootprint_core::run::RunReport<String>, Heard, Script) {
    let script = Script::new([look("c1"), say("done")]);
    let (report, heard) = run(&built(&script), "go").await;
    (report, heard, script)
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// Proves CTX-12, CTX-34: each pass says once what is active and why, by the kind of its trigger.
#[tokio::test]
async fn each_pass_says_what_is_active() {
    let (_, heard, _) = two_passes().await;
    let passes = heard.of("context.evaluated");
    let [first, second] = passes.as_slice() else { panic!("{passes:?}") };
    assert_eq!(
        (texts(&first["activeIds"]), texts(&second["activeIds"])),
        (vec!["hours".to_owned()], ["hours", "late", "after"].map(str::to_owned).to_vec())
    );
    assert_eq!(first["triggerKindCounts"], json!({ "always": 1 }));
    assert_eq!(second["triggerKindCounts"], json!({ "always": 1, "rule": 1, "on-tool-return": 1 }));
    for (at, pass) in passes.iter().enumerate() {
        assert_eq!(pass["iteration"], json!(at + 1));
        assert_eq!((&pass["evaluatedTotal"], &pass["skippedCount"]), (&json!(3), &json!(0)));
        assert_eq!((&pass["skippedDetails"], &pass["skillCatalog"]), (&json!([]), &json!([])));
        for absent in ["routing", "cursorMove", "supersededIds"] {
            assert!(pass.get(absent).is_none(), "{absent} only when there is something to say");
        }
    }
}

/// Proves CTX-33, CTX-16: what crosses into state is the projection: plain data, the listed members, nothing of a rule.
#[tokio::test]
async fn only_the_projection_crosses_into_state() {
    let (report, ..) = two_passes().await;
    let active = state(&report, "activeInjections").unwrap();
    let listed =
        ["id", "flavor", "description", "surfaceMode", "autoActivate", "cache", "retrieval", "inject"];
    let rows: Vec<Value> = active.as_array().unwrap().iter().cloned().collect();
    for row in &rows {
        for (key, _) in row.as_object().unwrap() {
            assert!(listed.contains(&&**key), "{key}");
        }
    }
    assert_eq!(rows[0]["id"], json!("hours"));
    assert_eq!(rows[0]["description"], json!("when we are open"));
    assert_eq!(rows[0]["inject"], json!({ "systemPrompt": "Open 9 to 5." }));
    let flavors: Vec<&str> = rows.iter().map(|row| row["flavor"].as_str().unwrap()).collect();
    assert_eq!(flavors, ["fact", "instructions", "custom"]);
}

/// Proves CTX-38, CTX-42: the system prompt is the base and then the active pieces in their order; each piece is a record.
#[tokio::test]
async fn the_system_prompt_is_composed_in_order() {
    let (_, heard, script) = two_passes().await;
    let sent = script.request(1).system_prompt().unwrap().to_string();
    let places: Vec<usize> =
        [BASE, "Open 9 to 5.", "Hurry.", "You looked."].iter().map(|text| sent.find(text).unwrap()).collect();
    assert!(places.is_sorted() && places[0] == 0, "{sent}");
    let records: Vec<Value> = heard
        .of("context.injected")
        .into_iter()
        .filter(|piece| piece["slot"] == json!("system-prompt"))
        .collect();
    let base = &records[0];
    assert_eq!(
        (&base["source"], &base["contentHash"]),
        (&json!("base"), &json!(content_hash(&format!("sp:{BASE}"))))
    );
    assert!(base["reason"].as_str().unwrap().contains("system"), "the way it was set is named: {base}");
    let summary = base["contentSummary"].as_str().unwrap();
    assert!(utf16_len(summary) <= 80 && summary.starts_with("You answer"), "{summary}");
    let hours = &records[1];
    assert_eq!(hours["contentHash"], json!(content_hash("sp:fact:hours:Open 9 to 5.")));
    assert_eq!((&hours["source"], &hours["sourceId"]), (&json!("fact"), &json!("hours")));
}

/// Proves CTX-40: each slot says how full it is and how it was ordered; nothing is dropped.
#[tokio::test]
async fn each_slot_says_how_it_was_composed() {
    let (_, heard, _) = two_passes().await;
    let composed = heard.of("context.slot_composed");
    assert_eq!(composed.len(), 6);
    for slot in &composed {
        let budget = &slot["budget"];
        let (cap, used) = (budget["cap"].as_u64().unwrap(), budget["used"].as_u64().unwrap());
        assert_eq!(budget["headroomChars"], json!(cap - used));
        assert_eq!((&slot["droppedCount"], &slot["droppedSummaries"]), (&json!(0), &json!([])));
        let order = slot.get("orderingStrategy").and_then(Value::as_str);
        let expected = match slot["slot"].as_str().unwrap() {
            "messages" => Some("history-order"),
            "tools" => Some("registry+injections"),
            _ => None,
        };
        assert_eq!(order, expected, "{slot}");
    }
    let last = composed.iter().rfind(|slot| slot["slot"] == json!("system-prompt")).unwrap();
    let sources = last["sourceBreakdown"].as_object().unwrap();
    let named: Vec<&str> = sources.keys().map(|source| &**source).collect();
    assert_eq!(named, ["base", "fact", "instructions", "custom"]);
    assert_eq!(sources.get("base"), Some(&json!({ "chars": (utf16_len(BASE)), "count": 1 })));
}

/// Proves CTX-41: a slot over its budget is reported in every pass and sent whole; a budget of 0 is none.
#[tokio::test]
async fn a_budget_reports_and_never_cuts() {
    let script = Script::new([look("c1"), say("done")]);
    let budget = ContextBudget { system_prompt: 10, messages: 0, ..ContextBudget::default() };
    let agent = agent(&script).system(BASE).context_budget(budget).tool(looking("seen")).build().unwrap();
    let (_, heard) = run(&agent, "go").await;
    let pressure = heard.of("context.budget_pressure");
    assert_eq!(pressure.len(), 2);
    let chars = utf16_len(BASE);
    for event in &pressure {
        assert_eq!(
            event,
            &json!({
                "slot": "system-prompt", "overflowBy": (chars - 10), "planAction": "none", "unit": "chars", "cap": 10,
                "projected": (chars),
            })
        );
    }
    assert_eq!(&*script.request(1).system_prompt().unwrap(), BASE);
}

/// Proves CTX-43, CTX-46, CTX-47: a piece's messages become part of the conversation, marked in the record and not on the wire, and
/// once; what cannot stand there yet waits, and says for what.
#[tokio::test]
async fn messages_of_a_piece_are_delivered_once() {
    let script = Script::new([look("c1"), say("done")]);
    let agent = agent(&script)
        .fact(Fact::new("note", "I remember: Paris.").in_messages(Role::Assistant))
        .fact(Fact::new("waits", "Be brief.").in_messages(Role::User))
        .tool(looking("seen"))
        .build()
        .unwrap();
    let (report, heard) = run(&agent, "go").await;
    let told = history(&report);
    let note: Vec<&Value> =
        told.iter().filter(|message| message["content"] == json!("I remember: Paris.")).collect();
    assert_eq!(note.len(), 1, "once");
    assert_eq!(note[0]["injectedBy"]["injectionId"], json!("note"));
    assert_eq!(note[0]["injectedBy"]["flavor"], json!("fact"));
    for at in 0..2 {
        let wire: Value = Value::from_serialize(&script.request(at)).unwrap();
        assert!(wire.to_string().contains("I remember: Paris.") && !wire.to_string().contains("injectedBy"));
    }
    let delivery = state(&report, "messagesDelivery").unwrap();
    assert_eq!(delivery["iteration"], json!(2));
    let key = |row: &Value| row["key"].as_str().unwrap().to_owned();
    let keys = texts(&state(&report, "deliveredMessageKeys").unwrap());
    assert!(keys.iter().any(|key| key.starts_with("note:") && key.len() == "note:".len() + 64), "{keys:?}");
    for row in delivery["delivered"].as_array().unwrap() {
        assert!(keys.contains(&key(row)));
    }
    assert!(heard.count("context.evaluated") == 2);
    assert!(is_valid(&told), "{told:?}");
}

/// Proves CTX-45: a message that would stand beside one of its own role waits and says what it waits for.
#[tokio::test]
async fn a_message_that_cannot_stand_there_waits() {
    let script = Script::new([say("done")]);
    let agent = agent(&script).fact(Fact::new("waits", "Be brief.").in_messages(Role::User)).build().unwrap();
    let (report, _) = run(&agent, "go").await;
    let delivery = state(&report, "messagesDelivery").unwrap();
    assert_eq!(delivery["delivered"], json!([]));
    let waiting = &delivery["deferred"][0];
    assert_eq!(
        (&waiting["injectionId"], &waiting["role"], &waiting["reason"]),
        (&json!("waits"), &json!("user"), &json!("role-collision"))
    );
    let note = waiting["note"].as_str().unwrap();
    assert!(note.contains("waits"), "{note}");
    assert!(!Value::from_serialize(&script.request(0)).unwrap().to_string().contains("Be brief."));
}

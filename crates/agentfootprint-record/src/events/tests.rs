use std::collections::BTreeSet;

use footprint::value;
use footprint::value::{Object, Str, Value};
use proptest::prelude::*;

use super::field::{Class, FieldInfo, Need, Shape};
use super::payload::*;
use super::words::*;
use super::*;

mod generate;

use generate::{Options, example, payloads};

/// Proves EVT-20, EVT-26: 120 events in 27 domains, names unique, every name parses back, registry order.
#[test]
fn the_registry_counts() {
    assert_eq!(EventName::ALL.len(), 120);
    assert_eq!(Domain::ALL.len(), 27);
    let names: BTreeSet<_> = EventName::ALL.iter().map(|name| name.as_str()).collect();
    assert_eq!(names.len(), 120);
    for name in EventName::ALL {
        assert_eq!(EventName::parse(name.as_str()), Some(name));
        assert!(name.as_str().starts_with(&format!("agentfootprint.{}.", name.domain())));
    }
    let order: Vec<_> = Domain::ALL
        .iter()
        .map(|domain| {
            (domain.as_str(), EventName::ALL.iter().filter(|name| name.domain() == *domain).count())
        })
        .collect();
    assert_eq!(
        order,
        [
            ("composition", 8),
            ("agent", 14),
            ("stream", 8),
            ("context", 5),
            ("memory", 5),
            ("tools", 20),
            ("skill", 11),
            ("map", 2),
            ("integrity", 3),
            ("validation", 1),
            ("permission", 4),
            ("credential", 4),
            ("risk", 1),
            ("fallback", 1),
            ("cost", 2),
            ("eval", 2),
            ("error", 4),
            ("reliability", 3),
            ("resilience", 2),
            ("pause", 2),
            ("checkin", 2),
            ("middleware", 1),
            ("embedding", 1),
            ("artifacts", 5),
            ("findings", 5),
            ("tool_choice", 3),
            ("ontology", 1),
        ]
    );
    // Domains are contiguous, and tool_choice follows findings.contingent.
    assert!(EventName::ALL.is_sorted_by_key(|name| name.domain()));
    let at = EventName::ALL.iter().position(|name| *name == EventName::FindingsContingent).unwrap();
    assert_eq!(EventName::ALL[at + 1], EventName::ToolChoicePicked);
}

/// Proves EVT §9 (2): the events only consumers emit.
#[test]
fn declared_only_events() {
    let declared: Vec<_> =
        EventName::ALL.iter().filter(|name| name.declared_only()).map(|name| &name.as_str()[15..]).collect();
    assert_eq!(
        declared,
        [
            "composition.branch_complete",
            "agent.handoff",
            "memory.detached",
            "memory.written",
            "tools.offered",
            "tools.activated",
            "tools.deactivated",
            "skill.activated",
            "skill.deactivated",
            "permission.gate_opened",
            "permission.gate_closed",
            "risk.flagged",
            "eval.score",
            "eval.threshold_crossed",
        ]
    );
}

/// Proves EVT-10: every domain's wildcard hears each of its events and no other; `*` hears all; nothing else
/// is a pattern.
#[test]
fn patterns() {
    for name in EventName::ALL {
        assert_eq!(name.as_str().parse(), Ok(Pattern::Event(name)));
        assert!(Pattern::All.matches_name(name));
        for domain in Domain::ALL {
            let wildcard: Pattern = domain.wildcard().parse().unwrap();
            assert_eq!(wildcard.matches_name(name), domain == name.domain());
            assert_eq!(wildcard.to_string(), domain.wildcard());
        }
    }
    for refused in [
        "",
        "**",
        "agentfootprint",
        "agentfootprint.*",
        "agentfootprint.strem.*",
        "agentfootprint.stream",
        "agentfootprint.stream.tok*",
        "agentfootprint.stream.tokens",
        "agentfootprint.stream.token.x",
        "stream.token",
        "shop.cart",
        "*.token",
    ] {
        let error = refused.parse::<Pattern>().unwrap_err();
        assert_eq!(error.pattern, refused);
    }
    let hint = "agentfootprint.ontology.serve".parse::<Pattern>().unwrap_err().to_string();
    assert!(hint.contains("events of `ontology`: served"), "{hint}");

    let ours = AgentEvent::custom(CustomEvent { name: "shop.cart".into(), payload: value!({}) }).unwrap();
    assert!(Pattern::custom("shop.cart").unwrap().matches(&ours));
    assert!(Pattern::All.matches(&ours));
    assert!(!Pattern::Domain(Domain::Cost).matches(&ours));
    assert!(Pattern::custom("agentfootprint.stream.token").is_err());
    assert!(Pattern::custom("shop.*").is_err());
}

/// Proves EVT-20, EVT-22: every event round-trips with all optional fields set and with none, keys in
/// declaration order, absent fields absent.
#[test]
fn every_event_round_trips() {
    for name in EventName::ALL {
        for options in [Options::All, Options::None] {
            let payload = example(name.fields(), options);
            let event = AgentEvent::read(name, &payload).unwrap_or_else(|misfit| panic!("{name}: {misfit}"));
            assert_eq!(event.name(), Some(name));
            assert_eq!(event.payload().to_string(), payload.to_string(), "{name}");
            assert!(!event.payload().to_string().contains("null"), "{name}");

            let meta =
                EventMeta::build(Some("seed#0".into()), Moment::default(), &RunFacts::new("r", ["Agent:a"]));
            let event = Event { kind: event, meta };
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
            assert_eq!(text, event.to_value().to_string());
        }
    }
}

/// Proves EVT-20: the generated schema accepts what the types write, and refuses a missing required field.
#[test]
fn schemas_describe_the_payloads() {
    for name in EventName::ALL {
        let schema = jsonschema::validator_for(&payload_schema(name).to_json()).unwrap();
        for options in [Options::All, Options::None] {
            let payload = example(name.fields(), options).to_json();
            if let Err(error) = schema.validate(&payload) {
                panic!("{name}: {error}");
            }
        }
        let required = name.fields().iter().any(|field| field.need == Need::Required);
        assert_eq!(!schema.is_valid(&serde_json::json!({})), required, "{name}");
        assert!(!schema.is_valid(&serde_json::json!({ "no such field": 1 })), "{name}");
    }
    assert!(jsonschema::validator_for(&event_schema(EventName::PauseRequest).to_json()).is_ok());
}

/// Proves EVT-24: every field has a class; a redacted payload holds no content, and all structure.
#[test]
fn structure_holds_no_content() {
    for name in EventName::ALL {
        let payload = example(name.fields(), Options::Secret);
        let event = AgentEvent::read(name, &payload).unwrap();
        let kept = structure_of(&event).to_string();
        assert!(!kept.contains("SECRET"), "{name}: {kept}");
    }
    let end = StreamLlmEnd::new(1, "SECRET", 0, LlmUsage::new(3, 4), "stop", 9);
    assert_eq!(
        structure_of(&end.into()).to_string(),
        r#"{"iteration":1,"toolCallCount":0,"usage":{"input":3,"output":4},"stopReason":"stop","durationMs":9}"#
    );
    let item = CoverageItemHolder::events();
    assert_eq!(
        structure_of(&item).to_string(),
        r#"{"toolName":"t","toolCallId":"c","iteration":1,"checked":[{}]}"#
    );
    // Default is content: free text and JSON.
    for name in EventName::ALL {
        for field in name.fields().iter().filter(|field| field.shape == Shape::Json) {
            assert_eq!(field.class, Class::Content, "{name} {}", field.name);
        }
    }
}

struct CoverageItemHolder;

impl CoverageItemHolder {
    fn events() -> AgentEvent {
        ToolsAbsent::new("t", "c", 1, vec![shared::CoverageItem::new("SECRET")]).into()
    }
}

/// Proves EVT-21: an unknown event is kept whole, an unknown field is ignored, and a registered name with an
/// unfit payload is kept with the reason.
#[test]
fn reading_is_lenient() {
    let meta = value!({ "wallClockMs": 1, "runOffsetMs": 0, "runtimeStageId": "a/b#2", "subflowPath": ["a"],
        "compositionPath": ["Agent:x"], "runId": "r" });
    let read = |name: &str, payload: Value| {
        Event::from_value(&value!({ "type": name, "payload": payload, "meta": meta.clone() })).unwrap()
    };
    let newer = value!({ "argument": { "deep": [1, null] } });
    let unknown = read("agentfootprint.findings.argument", newer.clone());
    assert_eq!((unknown.name(), unknown.name_str()), (None, "agentfootprint.findings.argument"));
    assert_eq!(unknown.to_value()["payload"], newer);
    assert_eq!(unknown.to_value()["meta"], meta);

    let token = value!({ "iteration": 1.0, "tokenIndex": 0, "content": "x", "later": true });
    let token = read("agentfootprint.stream.token", token);
    assert_eq!(token.of::<StreamToken>(), Some(&StreamToken::new(1, 0, "x")));

    let unfit = read("agentfootprint.stream.token", value!({ "iteration": "one" }));
    let AgentEvent::Unknown(kept) = &unfit.kind else { panic!("kept as unknown") };
    assert_eq!(kept.misfit().unwrap().path, "iteration");
    assert_eq!(unfit.to_value()["payload"], value!({ "iteration": "one" }));

    let misfit = AgentEvent::read(
        EventName::ContextEvaluated,
        &example(EventName::ContextEvaluated.fields(), Options::All)
            .as_object()
            .map(|object| {
                let mut object = object.clone();
                object.insert(
                    "skippedDetails",
                    value!([{ "id": "a", "reason": "parked" }, { "id": 1, "reason": "x" }]),
                );
                Value::Object(object)
            })
            .unwrap(),
    )
    .unwrap_err();
    assert_eq!(misfit.to_string(), "`skippedDetails[1].id`: expected a string, found number");
}

/// Proves EVT-23: an unlisted word is read, kept and written back; it cannot be made by hand.
#[test]
fn unlisted_words_survive_reading() {
    let payload = value!({ "kind": "provider", "primary": "a", "fallback": "b", "reason": "r" });
    let mut newer = payload.as_object().unwrap().clone();
    newer.insert("kind", Value::from("database"));
    let event = AgentEvent::read(EventName::FallbackTriggered, &Value::Object(newer)).unwrap();
    let AgentEvent::FallbackTriggered(fallback) = &event else { panic!() };
    assert!(matches!(&fallback.kind, FallbackKind::Other(word) if word.as_str() == "database"));
    assert_eq!(event.payload()["kind"], "database");
    assert_eq!(FallbackKind::listed("database"), None);
    // What a reader met may be anything, so a redacted form drops it.
    assert_eq!(structure_of(&event).get("kind"), None);
}

/// Proves EVT-1, EVT-2: one function builds meta; order and absence as recorded; pseudo steps.
#[test]
fn meta_is_built_in_one_place() {
    let mut run = RunFacts::new("run-1-1", ["Sequence:flow", "Agent:a"]);
    let at = Moment { wall_clock_ms: 1000, run_offset_ms: 5 };
    let meta = EventMeta::build(Some("flow/sf-tools/compose#13".into()), at, &run);
    assert_eq!(
        field::Field::to_value(&meta).to_string(),
        r#"{"wallClockMs":1000,"runOffsetMs":5,"runtimeStageId":"flow/sf-tools/compose#13","subflowPath":["flow","sf-tools"],"compositionPath":["Sequence:flow","Agent:a"],"runId":"run-1-1"}"#
    );
    run.trace_id = Some("t".into());
    run.span_id = Some("s".into());
    run.correlation_id = Some("c".into());
    run.session_id = Some("se".into());
    run.principal = Some("".into());
    run.tenant = Some("acme".into());
    let meta = EventMeta::build(None, at, &run);
    let text = field::Field::to_value(&meta).to_string();
    assert!(text.ends_with(r#""runId":"run-1-1","traceId":"t","spanId":"s","correlationId":"c","sessionId":"se","principal":"","tenant":"acme"}"#));
    assert!(text.contains(r#""runtimeStageId":"unknown#0","subflowPath":[]"#));
    assert_eq!(<EventMeta as field::Field>::from_value(&field::Field::to_value(&meta)).unwrap(), meta);

    let names: Vec<_> = META_FIELDS.iter().map(|field| field.name).collect();
    let mut all = meta.clone();
    all.turn_index = Some(0);
    all.iter_index = Some(1);
    let all = field::Field::to_value(&all);
    assert_eq!(all.as_object().unwrap().keys().map(|key| &**key).collect::<Vec<_>>(), names);

    let consumer = EventMeta::consumer(7);
    assert_eq!((consumer.run_id.as_str(), consumer.run_offset_ms), ("consumer-scope", 0));
    assert_eq!(consumer.runtime_stage_id.to_string(), "consumer-emit#0");
    let paused = EventMeta::build(Some("inner/tool-calls#paused".into()), at, &run);
    assert_eq!(paused.subflow_path().collect::<Vec<_>>(), ["inner"]);
    assert_eq!(paused.runtime_stage_id.to_string(), "inner/tool-calls#paused");
}

/// Proves EVT-16: reserved names are for registered events, whose payload is checked.
#[test]
fn custom_events() {
    let emit = |name: &str, payload: Value| AgentEvent::custom(CustomEvent { name: name.into(), payload });
    let score = value!({ "metricId": "m", "value": 0.5, "target": "turn", "targetRef": "t" });
    assert!(matches!(emit("agentfootprint.eval.score", score), Ok(AgentEvent::EvalScore(_))));
    let unfit = emit("agentfootprint.eval.score", value!({ "metricId": "m" })).unwrap_err();
    assert!(unfit.to_string().contains("`value`"), "{unfit}");
    assert!(matches!(
        emit("agentfootprint.mine.thing", value!({})),
        Err(ReservedEventNameError::Unregistered { .. })
    ));
    assert_eq!(emit("mine.thing", value!(1)).unwrap().payload(), value!(1));
}

/// Proves EVT-3, REC-35: a payload shares what it was given and cannot change afterwards.
#[test]
fn payloads_are_detached_and_share() {
    let mut history: crate::message::Messages = [crate::message::Message::user("hi")].into_iter().collect();
    let event: AgentEvent = AgentIterationEnd::new(0, 1, 0).history(history.clone()).into();
    history.push(&crate::message::Message::assistant("later"));
    let recorded = event.payload();
    assert_eq!(recorded["history"].as_array().unwrap().len(), 1);
    let AgentEvent::AgentIterationEnd(end) = &event else { panic!() };
    assert!(recorded["history"].as_array().unwrap().ptr_eq(end.history.as_ref().unwrap().as_array()));
    let text: Str = "a long answer".into();
    let token = StreamToken::new(1, 0, &text);
    assert!(std::sync::Arc::ptr_eq(&token.content, &text));
}

/// Proves REC-12: whole numbers are recorded as integers.
#[test]
fn whole_numbers_are_integers() {
    let tick = CostTotals::new(1, 2, 3.0);
    assert_eq!(
        serde_json::to_string(&tick).unwrap(),
        r#"{"tokensInput":1,"tokensOutput":2,"estimatedUsd":3}"#
    );
    let start = StreamLlmStart::new(1, "mock", "mock-1", 0, 1, 0).temperature(0.0);
    assert!(serde_json::to_string(&start).unwrap().ends_with(r#""temperature":0}"#));
}

/// Proves EVT §5.15: a † field is written in its declared type and read in any.
#[test]
fn inferred_types_are_read_loosely() {
    let payload = value!({ "iteration": 1, "declaredOn": "answer", "carriers": "two", "standings": ["open"], "valueChars": 3 });
    let event = AgentEvent::read(EventName::FindingsContingent, &payload).unwrap();
    assert_eq!(event.payload(), payload);
    assert_eq!(structure_of(&event).get("carriers"), None);
    let own = FindingsContingent::new(1, DeclaredOn::Answer, field::Loose::from(2), vec![Standing::Open], 3);
    assert_eq!(structure_of(&own.into())["carriers"], 2);
}

/// Proves EVT §3: `docs/events.md` is the generated page. Write it anew with `UPDATE_DOCS=1 cargo test`.
#[test]
fn the_reference_page_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/events.md");
    let page = reference_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "docs/events.md is out of date: run the tests of this crate with UPDATE_DOCS=1");
}

proptest! {
    /// Proves EVT-20, EVT-22: any payload of any event round-trips.
    #[test]
    fn any_payload_round_trips((name, payload) in payloads()) {
        let event = AgentEvent::read(name, &payload).unwrap();
        prop_assert_eq!(event.payload().to_string(), payload.to_string());
    }

    /// Proves EVT-21: no JSON makes reading panic, and what is read is written back equal.
    #[test]
    fn any_json_is_read(json in crate::tests::json(), at in 0..120_usize) {
        let event = AgentEvent::read_any(&EventName::ALL[at].as_str().into(), &json);
        if let AgentEvent::Unknown(kept) = event {
            prop_assert_eq!(kept.payload(), &json);
        }
        let _ = Event::from_value(&json);
    }
}

use std::sync::{Arc, Mutex};

use agentfootprint_core::events::{EventHub, StreamItem};
use agentfootprint_core::llm::LlmResponse;
use agentfootprint_core::run::Runner;
use agentfootprint_core::tools::{Tool, ask_human};
use agentfootprint_record::events::{CustomEvent, Pattern};
use footprint::value::Value;
use tokio_util::sync::CancellationToken;

use crate::support::*;

type Log = Arc<Mutex<Vec<String>>>;

fn note(log: &Log, text: &str) -> impl Fn(&agentfootprint_record::events::Event) + Send + Sync + 'static {
    let (log, text) = (log.clone(), text.to_owned());
    move |_| log.lock().unwrap().push(text.clone())
}

fn word() -> Pattern {
    Pattern::custom("my.word").unwrap()
}

fn emit(hub: &EventHub, name: &str) {
    hub.emit(CustomEvent { name: name.into(), payload: json!({}) }, 1).unwrap();
}

/// Proves EVT-11, EVT-12: exact listeners first, then everybody's; inside a bucket in the order they came.
#[test]
fn listeners_are_told_in_their_order() {
    let (hub, log) = (EventHub::new(), Log::default());
    let kept = [
        hub.on("*", note(&log, "all")).unwrap(),
        hub.on(word(), note(&log, "name")).unwrap(),
        hub.once(word(), note(&log, "once")).unwrap(),
        hub.on("*", note(&log, "again")).unwrap(),
    ];
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["name", "once", "all", "again"]);
    log.lock().unwrap().clear();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["name", "all", "again"]);
    assert_eq!(hub.listener_count(None), 3);
    let [all, ..] = kept;
    all.off();
    log.lock().unwrap().clear();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["name", "again"]);
}

/// Proves EVT-12, AGT-5: a dropped subscription, a cancelled one and a removed one hear nothing more.
#[test]
fn a_subscription_ends_in_each_of_its_ways() {
    let (hub, log) = (EventHub::new(), Log::default());
    let token = CancellationToken::new();
    hub.on_until(token.clone(), word(), note(&log, "until")).unwrap();
    drop(hub.on(word(), note(&log, "dropped")).unwrap());
    hub.on(word(), note(&log, "kept")).unwrap().keep();
    token.cancel();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["kept"]);
    hub.remove_all_listeners();
    hub.remove_all_listeners();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["kept"]);
    assert_eq!(hub.listener_count(None), 0);
}

/// Proves EVT-13, AGT-11: a listener's own bug reaches nobody else.
#[test]
fn a_panicking_listener_does_not_silence_the_others() {
    let (hub, log) = (EventHub::new(), Log::default());
    hub.on(word(), |_| panic!("a listener's own bug")).unwrap().keep();
    hub.on(word(), note(&log, "heard")).unwrap().keep();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["heard"]);
}

/// Proves EVT-10, EVT-16, REC-38: a pattern that names nothing is refused; a reserved name is the library's.
#[test]
fn what_could_never_be_heard_is_refused() {
    let hub = EventHub::new();
    assert!(hub.on("agentfootprint.agent.turn_strat", |_| {}).is_err());
    let reserved = CustomEvent { name: "agentfootprint.agent.turn_start".into(), payload: json!({}) };
    assert!(hub.emit(reserved, 1).is_err());
}

/// Proves EVT-14: the agent's hub hears every run, a run's hub its own.
#[tokio::test]
async fn an_agent_hears_all_of_its_runs_and_a_run_its_own() {
    let agent = agent(&Script::by(|_, _| Ok(say("hi")))).build().unwrap();
    let log = Log::default();
    agent.events().on("agentfootprint.agent.turn_end", note(&log, "agent")).unwrap().keep();
    let first = agent.run("one").start().unwrap();
    let second = agent.run("two").start().unwrap();
    first.events().on("agentfootprint.agent.turn_end", note(&log, "first")).unwrap().keep();
    let (one, two) = tokio::join!(first.finish(), second.finish());
    assert!(one.answer().is_ok() && two.answer().is_ok());
    let mut heard = log.lock().unwrap().clone();
    heard.sort();
    assert_eq!(heard, ["agent", "agent", "first"]);
}

/// Proves EVT-15, REC-36: a reader that does not read loses the oldest events, is told how many, and never slows the run.
#[tokio::test]
async fn a_slow_reader_loses_the_oldest_and_is_told() {
    use futures_util::StreamExt as _;
    let script = Script::new([look("c1"), say("done")]);
    let agent = agent(&script).tool(looking("seen")).build().unwrap();
    let handle = agent.run("go").start().unwrap();
    let four = std::num::NonZeroUsize::new(4).unwrap();
    let stream = handle.events().stream("*", four).unwrap();
    let heard = Heard::default();
    let kept = heard.clone();
    let _guard = handle.events().on("*", move |event| kept.push(event)).unwrap();
    assert_eq!(handle.finish().await.answer().unwrap(), "done");
    let items: Vec<StreamItem> = stream.collect().await;
    let StreamItem::Gap(lost) = &items[0] else { panic!("{items:?}") };
    assert_eq!(usize::try_from(*lost).unwrap(), heard.all().len() - 4);
    let last: Vec<String> = items[1..]
        .iter()
        .map(|item| match item {
            StreamItem::Event(event) => event.name_str().trim_start_matches("agentfootprint.").to_owned(),
            StreamItem::Gap(_) => "gap".to_owned(),
        })
        .collect();
    assert_eq!(last, heard.names()[heard.names().len() - 4..]);
}

/// Proves REC-82: frames, filters, text alone, heartbeats; a stream of one run ends when the run settles, also at a pause.
#[tokio::test(start_paused = true)]
async fn events_are_written_as_frames() {
    use agentfootprint_core::events::{SseFormat, SseOptions, to_sse};
    use futures_util::StreamExt as _;
    let many = std::num::NonZeroUsize::new(1000).unwrap();
    let frames = async |options: SseOptions, replies: Vec<LlmResponse>, asks: bool| {
        let asking = Tool::builder("look").handler(move |_: Value, _| async move {
            match asks {
                true => Err(ask_human(json!({"question": "Which?"}))),
                false => {
                    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
                    Ok("seen")
                }
            }
        });
        let agent = agent(&Script::new(replies)).tool(asking).build().unwrap();
        let handle = agent.run("go").start().unwrap();
        let stream = to_sse(handle.events().stream("*", many).unwrap(), options);
        let (report, frames) = tokio::join!(handle.finish(), stream.collect::<Vec<String>>());
        (report, frames)
    };
    let (_, all) = frames(SseOptions::new(), vec![look("c1"), say("done")], false).await;
    assert!(all[0].starts_with("event: agentfootprint.agent.run_configured\ndata: {\"type\":"), "{}", all[0]);
    assert!(all.iter().all(|frame| frame.ends_with("\n\n")));
    assert!(all.last().unwrap().starts_with("event: agentfootprint.integrity.disposition\n"));
    let tools = SseOptions::new()
        .filter("agentfootprint.stream.*".parse().unwrap())
        .event_name("chat\nid: 7")
        .heartbeat(std::time::Duration::from_secs(1));
    let (_, some) = frames(tools, vec![look("c1"), say("done")], false).await;
    assert!(some.iter().filter(|frame| *frame == ": ping\n\n").count() >= 2, "{some:?}");
    assert!(
        some.iter()
            .filter(|frame| !frame.starts_with(':'))
            .all(|frame| frame.starts_with("event: chat\ndata: "))
    );
    let (_, text) = frames(SseOptions::new().format(SseFormat::Text), vec![say("done")], false).await;
    assert!(text.is_empty(), "this model does not stream");
    let (report, paused) = frames(SseOptions::new(), vec![look("c1")], true).await;
    assert!(report.paused().is_some());
    assert!(paused.iter().any(|frame| frame.starts_with("event: agentfootprint.pause.request\n")));
}

/// Proves REC-83: the stream of a run ends with the run, also when it fails; what a slow reader lost is counted where it is
/// missing; a reader who goes away stops nothing.
#[tokio::test]
async fn a_stream_of_frames_ends_with_its_run() {
    use agentfootprint_core::events::{SseOptions, to_sse};
    use futures_util::StreamExt as _;
    let started = |replies: Vec<LlmResponse>, room: usize| {
        let handle = agent(&Script::new(replies)).build().unwrap().run("go").start().unwrap();
        let room = std::num::NonZeroUsize::new(room).unwrap();
        let stream = to_sse(handle.events().stream("*", room).unwrap(), SseOptions::new());
        (handle, stream)
    };
    let (handle, stream) = started(Vec::new(), 1000);
    let (report, frames) = tokio::join!(handle.finish(), stream.collect::<Vec<String>>());
    assert!(report.outcome.is_err());
    let fatal: Vec<&String> =
        frames.iter().filter(|frame| frame.starts_with("event: agentfootprint.error.fatal\n")).collect();
    assert_eq!(fatal.len(), 1);

    let (handle, stream) = started(vec![say("done")], 2);
    assert!(handle.finish().await.outcome.is_ok());
    let frames: Vec<String> = stream.collect().await;
    assert_eq!(frames.len(), 3, "{frames:?}");
    assert!(frames[0].starts_with(": ") && frames[0].ends_with(" events were lost\n\n"), "{}", frames[0]);

    let (handle, stream) = started(vec![say("done")], 2);
    drop(stream);
    assert!(handle.finish().await.outcome.is_ok());
}

/// Proves EVT-40, EVT-41: what every leg says exactly once, and what pairs.
#[tokio::test]
async fn every_leg_keeps_the_grammar() {
    let asking = || {
        Tool::builder("look").handler(|args: Value, _| async move {
            if args.get("ask").is_some() { Err(ask_human(json!({"question": "Which?"}))) } else { Ok("seen") }
        })
    };
    let scripts: Vec<Vec<LlmResponse>> = vec![
        vec![say("done")],
        vec![look("a"), look("b"), say("done")],
        vec![look("a"), calls(&[("b", "look", json!({"ask": 1}))])],
        vec![look("a")], // the second call fails
        vec![],
    ];
    for (at, replies) in scripts.into_iter().enumerate() {
        let agent = agent(&Script::new(replies)).tool(asking()).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        let names = heard.names();
        let count = |name: &str| names.iter().filter(|heard| *heard == name).count();
        assert_eq!(names[0], "agent.run_configured", "{at}");
        assert_eq!((count("agent.run_configured"), count("integrity.disposition")), (1, 1), "{at}");
        assert_eq!(names.last().unwrap(), "integrity.disposition", "{at}");
        let finished = report.answer().is_ok();
        assert_eq!(count("agent.turn_end"), usize::from(finished), "{at}");
        assert_eq!(count("pause.request"), usize::from(report.paused().is_some()), "{at}");
        assert_eq!(count("error.fatal"), usize::from(report.outcome.is_err()), "{at}");
        let (started, ended, routed) =
            (count("agent.iteration_start"), count("agent.iteration_end"), count("agent.route_decided"));
        // What a failure or a pause cut short has no end; every answered call was routed once.
        assert_eq!(started - ended, usize::from(!finished), "{at}");
        assert_eq!(routed, count("stream.llm_end"), "{at}");
        assert_eq!(count("stream.tool_start") - count("stream.tool_end"), count("pause.request"), "{at}");
        if let Some(pause) = report.paused() {
            let heard = Heard::default();
            let checkpoint = pause.checkpoint.clone();
            agent.resume(checkpoint, Some(json!("that")), heard.options()).unwrap().await;
            let names = heard.names();
            assert_eq!(names[..2], ["pause.resume", "agent.run_configured"]);
            assert!(!names.contains(&"agent.turn_start".to_owned()));
            assert_eq!(heard.count("stream.tool_start"), 0);
        }
    }
}

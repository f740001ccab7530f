use std::sync::{Arc, Mutex};

use agentfootprint_core::events::EventHub;
use agentfootprint_core::run::Runner;
use agentfootprint_record::events::CustomEvent;
use tokio_util::sync::CancellationToken;

use crate::support::*;

type Log = Arc<Mutex<Vec<String>>>;

fn note(log: &Log, text: &str) -> impl Fn(&agentfootprint_record::events::Event) + Send + Sync + 'static {
    let (log, text) = (log.clone(), text.to_owned());
    move |_| log.lock().unwrap().push(text.clone())
}

fn emit(hub: &EventHub, name: &str) {
    hub.emit(CustomEvent { name: name.into(), payload: json!({}) }, 1).unwrap();
}

/// Proves EVT-9, EVT §4: listeners are told in the order they came, whatever their pattern.
#[test]
fn listeners_are_told_in_the_order_they_came() {
    let (hub, log) = (EventHub::new(), Log::default());
    let kept = [
        hub.on("*", note(&log, "all")).unwrap(),
        hub.on("my.word", note(&log, "name")).unwrap(),
        hub.once("my.word", note(&log, "once")).unwrap(),
        hub.on("my.*", note(&log, "domain")).unwrap(),
    ];
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["all", "name", "once", "domain"]);
    log.lock().unwrap().clear();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["all", "name", "domain"]);
    assert_eq!(hub.listener_count(None), 3);
    let [all, ..] = kept;
    all.off();
    log.lock().unwrap().clear();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["name", "domain"]);
}

/// Proves EVT §4: a dropped subscription, a cancelled one and a removed one hear nothing more.
#[test]
fn a_subscription_ends_in_each_of_its_ways() {
    let (hub, log) = (EventHub::new(), Log::default());
    let token = CancellationToken::new();
    hub.on_until(token.clone(), "my.word", note(&log, "until")).unwrap();
    drop(hub.on("my.word", note(&log, "dropped")).unwrap());
    hub.on("my.word", note(&log, "kept")).unwrap().keep();
    token.cancel();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["kept"]);
    hub.remove_all_listeners();
    hub.remove_all_listeners();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["kept"]);
    assert_eq!(hub.listener_count(None), 0);
}

/// Proves EVT-10, AGT-11: a listener's own bug reaches nobody else.
#[test]
fn a_panicking_listener_does_not_silence_the_others() {
    let (hub, log) = (EventHub::new(), Log::default());
    hub.on("my.word", |_| panic!("a listener's own bug")).unwrap().keep();
    hub.on("my.word", note(&log, "heard")).unwrap().keep();
    emit(&hub, "my.word");
    assert_eq!(*log.lock().unwrap(), ["heard"]);
}

/// Proves EVT §3: a pattern that names nothing is refused; a reserved name is the library's.
#[test]
fn what_could_never_be_heard_is_refused() {
    let hub = EventHub::new();
    assert!(hub.on("agent.turn_strat", |_| {}).is_err());
    let reserved = CustomEvent { name: "agentfootprint.agent.turn_start".into(), payload: json!({}) };
    assert!(hub.emit(reserved, 1).is_err());
}

/// Proves AGT §2: the agent's hub hears every run, a run's hub its own.
#[tokio::test]
async fn an_agent_hears_all_of_its_runs_and_a_run_its_own() {
    let agent = agent(&Script::by(|_, _| Ok(say("hi")))).build().unwrap();
    let log = Log::default();
    agent.events().on("agent.turn_end", note(&log, "agent")).unwrap().keep();
    let first = agent.run("one").start().unwrap();
    let second = agent.run("two").start().unwrap();
    first.events().on("agent.turn_end", note(&log, "first")).unwrap().keep();
    let (one, two) = tokio::join!(first.finish(), second.finish());
    assert!(one.answer().is_ok() && two.answer().is_ok());
    let mut heard = log.lock().unwrap().clone();
    heard.sort();
    assert_eq!(heard, ["agent", "agent", "first"]);
}

use std::sync::{Arc, Mutex};

use agentfootprint_core::events::EventHub;
use agentfootprint_core::run::Runner;
use agentfootprint_record::events::{CustomEvent, Pattern};
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

/// Proves EVT-12: a dropped subscription, a cancelled one and a removed one hear nothing more.
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

/// Proves EVT-10, EVT-16: a pattern that names nothing is refused; a reserved name is the library's.
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

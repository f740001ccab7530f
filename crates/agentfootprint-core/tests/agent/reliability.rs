//! The reliability gate: who is asked again, who is not, and how it gives up.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_core::agent::AgentReactMode;
use agentfootprint_core::llm::{ErrorKind, LlmChunk, LlmError, LlmErrorKind, LlmResponse};
use agentfootprint_core::reliability::{
    Backoff, BreakerConfig, BreakerStore, Delivery, FailoverEntry, Post, Pre, Reliability, Rule,
};
use agentfootprint_core::run::{RunError, Runner};
use footprint::value::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::*;

fn busy() -> LlmError {
    LlmError::foreign("ServiceError", "busy").with_status(503)
}

fn always(then: Post, kind: &'static str) -> Rule<Post> {
    Rule::when(|scope| scope.error_kind != ErrorKind::Ok, then, kind)
}

fn retrying() -> Reliability {
    Reliability::new().post(always(Post::Retry, "again"))
}

/// Fails so often, then answers.
fn flaky(failures: usize) -> Script {
    Script::by(move |at, _| if at < failures { Err(busy()) } else { Ok(say("here now")) })
}

/// Proves LLM-121, LLM-124, LLM-125, LLM-132.
#[tokio::test]
async fn a_transient_failure_is_asked_again_inside_one_call() {
    let script = flaky(2);
    let rule =
        Rule::when(|s| s.error_kind == ErrorKind::Transient && s.attempt < 3, Post::Retry, "transient");
    let agent = agent(&script).reliability(Reliability::new().post(rule)).build().unwrap();
    let kept = Heard::default();
    let subscriber = kept.clone();
    let guard =
        agent.events().on("agentfootprint.reliability.*", move |event| subscriber.push(event)).unwrap();
    let (report, heard) = run(&agent, "go").await;
    guard.off();
    assert_eq!(report.answer().unwrap(), "here now");
    assert_eq!(script.calls(), 3);
    let retried = heard.of("reliability.retried");
    assert_eq!(
        retried[1],
        json!({
            "attempt": 2, "action": "retry", "errorKind": "5xx-transient", "errorMessage": "busy",
            "fromProvider": "script", "toProvider": "script",
        })
    );
    assert_eq!(
        heard.of("reliability.recovered"),
        [json!({"attempt": 3, "recoveredVia": "retry", "priorFailures": 2, "errorKind": "5xx-transient"})]
    );
    assert_eq!((heard.count("stream.llm_start"), heard.count("stream.llm_end")), (1, 1), "one bracket");
    assert_eq!(kept.names(), ["reliability.retried", "reliability.retried", "reliability.recovered"]);
    assert!(state(&report, "reliabilityFailKind").is_none());
}

/// Proves LLM-121, LLM-122, LLM-120: the other provider is really another one, with its own model, and each pass is judged anew.
#[tokio::test]
async fn retry_other_asks_the_other_provider_for_its_model() {
    let (first, second) = (flaky(9), Script::new([say("from b")]));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let rule = Rule::when(
        move |scope| {
            let calls: Vec<u32> = scope.attempts_per_provider.values().copied().collect();
            kept.lock().unwrap().push((
                scope.error_kind,
                scope.provider_idx,
                scope.current_provider.to_owned(),
                scope.can_switch_provider,
                calls,
            ));
            scope.error.is_some()
        },
        Post::RetryOther,
        "switch",
    );
    let gate = Reliability::new()
        .providers([
            FailoverEntry::new("a", first.clone(), "model-a"),
            FailoverEntry::new("b", second.clone(), "model-b"),
        ])
        .post(rule);
    let own = Script::new([]);
    let agent = agent(&own).reliability(gate).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "from b");
    assert_eq!((own.calls(), first.calls(), second.calls()), (0, 1, 1));
    assert_eq!((&*first.request(0).model, &*second.request(0).model), ("model-a", "model-b"));
    let retried = &heard.of("reliability.retried")[0];
    assert_eq!((&retried["fromProvider"], &retried["toProvider"]), (&json!("a"), &json!("b")));
    assert_eq!(heard.of("reliability.recovered")[0]["recoveredVia"], json!("retry-other"));
    assert_eq!(heard.of("stream.llm_end")[0]["servedBy"], json!({"provider": "b", "model": "model-b"}));
    assert_eq!(
        *seen.lock().unwrap(),
        [
            (ErrorKind::Transient, 0, "a".to_owned(), true, vec![1]),
            (ErrorKind::Ok, 1, "b".to_owned(), false, vec![1, 1]),
        ]
    );
}

/// Proves LLM-124: past the end of the list there is nobody to ask.
#[tokio::test]
async fn after_the_last_provider_the_gate_gives_up() {
    let gate = Reliability::new()
        .providers([FailoverEntry::new("a", flaky(9), "m"), FailoverEntry::new("b", flaky(9), "m")])
        .post(always(Post::RetryOther, "switch").label("ask somebody else"));
    let agent = agent(&Script::new([])).reliability(gate).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    let given = &heard.of("reliability.fail_fast")[0];
    assert_eq!((&given["kind"], &given["label"]), (&json!("no-more-providers"), &json!("ask somebody else")));
    assert_eq!((&given["providerUsed"], &given["attempt"]), (&json!("b"), &json!(2)));
    assert_eq!(heard.count("reliability.retried"), 1);
    assert!(report.error().is_some());
}

/// Proves LLM-123, LLM-129, AGT-70: unmatched, a failure ends the run; the record carries the five keys and the error its facts.
#[tokio::test]
async fn an_unmatched_failure_ends_the_run_by_its_kind() {
    for mode in [AgentReactMode::Dynamic, AgentReactMode::DynamicGrouped] {
        let script = Script::by(|_, _| Err(LlmError::foreign("ServiceError", "slow down").with_status(429)));
        let rule = Rule::when(|_| false, Post::Retry, "never");
        let agent =
            agent(&script).react_mode(mode).reliability(Reliability::new().post(rule)).build().unwrap();
        let (report, heard) = run(&agent, "go").await;
        let Some(RunError::ReliabilityFailFast { kind, reason, cause_name, cause_message, payload }) =
            report.error()
        else {
            panic!("{mode:?}: {:?}", report.error());
        };
        assert_eq!((&**kind, &**reason), ("rate-limit", "reliability-post-decide: rate-limit"));
        assert_eq!(
            (cause_name.as_deref(), cause_message.as_deref()),
            (Some("ServiceError"), Some("slow down"))
        );
        let facts = json!({
            "phase": "post-decide", "attempt": 1, "providerUsed": "script", "errorKind": "rate-limit",
            "errorMessage": "slow down",
        });
        assert_eq!(payload, &facts);
        for key in ["Kind", "Payload", "Reason", "CauseMessage", "CauseName"] {
            assert!(state(&report, &format!("reliabilityFail{key}")).is_some(), "{mode:?}: {key}");
        }
        assert_eq!(report.error().unwrap().code(), Some("ERR_RELIABILITY_FAIL_FAST"));
        assert!(report.error().unwrap().checkpoint().is_none(), "it is terminal");
        assert_eq!((heard.count("stream.llm_end"), heard.count("agent.route_decided")), (0, 0), "{mode:?}");
        assert_eq!(heard.count("error.fatal"), 0, "no stage threw: the chart was ended");
    }
}

/// Proves LLM-121: fifty passes at most, whatever the rules say.
#[tokio::test]
async fn the_gate_ends_after_fifty_passes() {
    let script = flaky(usize::MAX);
    let agent = agent(&script).reliability(retrying()).build().unwrap();
    let (_, heard) = run(&agent, "go").await;
    assert_eq!((script.calls(), heard.count("reliability.retried")), (50, 50));
    let given = &heard.of("reliability.fail_fast")[0];
    assert_eq!((&given["kind"], &given["attempt"]), (&json!("max-loop-exceeded"), &json!(50)));
    assert_eq!(given["errorMessage"], json!("busy"));
}

/// Proves LLM-124: a stated wait is kept, else the rule's own; none is longer than ten seconds.
#[tokio::test(start_paused = true)]
async fn waits_are_those_stated_then_those_of_the_rule() {
    let stated = |seconds| busy().with_retry_after(Duration::from_secs(seconds));
    let cases: Vec<(LlmError, Rule<Post>, u64)> = vec![
        (stated(4), always(Post::Retry, "r").backoff(Backoff::fixed(Duration::from_millis(200))), 4000),
        (stated(60), always(Post::Retry, "r"), 10_000),
        (busy(), always(Post::Retry, "r").backoff(Backoff::fixed(Duration::from_millis(200))), 200),
        (busy(), always(Post::Retry, "r"), 0),
    ];
    for (error, rule, waited) in cases {
        let script = Script::by(move |at, _| if at == 0 { Err(error.clone()) } else { Ok(say("ok")) });
        let agent = agent(&script).reliability(Reliability::new().post(rule)).build().unwrap();
        let began = Instant::now();
        let (report, _) = run(&agent, "go").await;
        assert_eq!(report.answer().unwrap(), "ok");
        assert_eq!(began.elapsed(), Duration::from_millis(waited));
    }
}

/// Proves LLM-121, LLM-124: a cancelled run leaves at once; nothing is said, nothing counts.
#[tokio::test(start_paused = true)]
async fn a_cancelled_run_leaves_the_gate_wherever_it_is() {
    let cancelled = |gate: Reliability,
                     script: Script,
                     cancel: CancellationToken,
                     from: Option<&'static str>| async move {
        let agent = agent(&script).reliability(gate).build().unwrap();
        let heard = Heard::default();
        let handle = agent.run("go").options(heard.options().cancel(cancel.clone())).start().unwrap();
        if let Some(event) = from {
            handle.events().on(event, move |_| cancel.cancel()).unwrap().keep();
        }
        let report = handle.finish().await;
        assert_eq!(report.error().unwrap().name(), "Cancelled");
        assert_eq!(heard.count("reliability.fail_fast"), 0);
        assert_eq!(heard.count("reliability.recovered"), 0);
        (script.calls(), heard.count("reliability.retried"))
    };
    // Inside the call, which then fails: no rule is asked and the breaker counts nothing.
    let (token, store) = (CancellationToken::new(), Arc::new(BreakerStore::new()));
    let inside = token.clone();
    let script = Script::by(move |_, _| {
        inside.cancel();
        Err(busy())
    });
    let gate =
        retrying().circuit_breaker(BreakerConfig::new().failure_threshold(1)).breaker_store(store.clone());
    assert_eq!(cancelled(gate, script, token, None).await, (1, 0));
    assert!(
        store
            .snapshot()
            .values()
            .all(|breaker| breaker.consecutive_failures == 0 && breaker.opened_at.is_none())
    );
    // While it waits.
    let hour =
        Reliability::new().post(always(Post::Retry, "r").backoff(Backoff::fixed(Duration::from_secs(9))));
    let began = Instant::now();
    let token = CancellationToken::new();
    assert_eq!(cancelled(hour, flaky(9), token, Some("agentfootprint.reliability.retried")).await, (1, 1));
    assert_eq!(began.elapsed(), Duration::ZERO);
    // Inside the fallback.
    let token = CancellationToken::new();
    let inside = token.clone();
    let gate = Reliability::new().post(always(Post::Fallback, "f")).fallback(move |_, _| {
        inside.cancel();
        std::future::pending()
    });
    assert_eq!(cancelled(gate, flaky(9), token, None).await, (1, 0));
}

/// Proves LLM-130: breakers belong to the agent, so a threshold is reached across runs, and concurrent runs see one.
#[tokio::test]
async fn a_breaker_opens_across_runs() {
    let script = flaky(usize::MAX);
    let gate = Reliability::new()
        .circuit_breaker(BreakerConfig::new().failure_threshold(3))
        .post(Rule::when(|scope| scope.error.is_none(), Post::Ok, "fine"));
    let agent = agent(&script).reliability(gate).build().unwrap();
    run(&agent, "one").await;
    tokio::join!(run(&agent, "two"), run(&agent, "three"));
    let (report, heard) = run(&agent, "four").await;
    assert_eq!(script.calls(), 3, "an open circuit makes no call");
    let given = &heard.of("reliability.fail_fast")[0];
    assert_eq!((&given["kind"], &given["errorKind"]), (&json!("circuit-open"), &json!("circuit-open")));
    assert!(
        matches!(report.error(), Some(RunError::ReliabilityFailFast { cause_name: Some(name), .. }) if &**name == "CircuitOpenError")
    );
}

/// Proves LLM-121, LLM-122: passes a breaker rejects count as passes, not as calls, and their kind does not stick.
#[tokio::test]
async fn an_open_circuit_of_one_provider_does_not_stand_in_the_way_of_another() {
    let store = Arc::new(BreakerStore::new());
    let breaker = BreakerConfig::new().failure_threshold(1);
    let (first, second) = (flaky(usize::MAX), Script::by(|_, _| Ok(say("from b"))));
    let gate = Reliability::new()
        .providers([
            FailoverEntry::new("a", first.clone(), "m"),
            FailoverEntry::new("b", second.clone(), "m"),
        ])
        .circuit_breaker(breaker)
        .breaker_store(store)
        .post(always(Post::RetryOther, "switch"));
    let agent = agent(&Script::new([])).reliability(gate).build().unwrap();
    run(&agent, "one").await;
    let (report, heard) = run(&agent, "two").await;
    assert_eq!(report.answer().unwrap(), "from b");
    assert_eq!((first.calls(), second.calls()), (1, 2));
    assert_eq!(heard.of("reliability.retried")[0]["errorKind"], json!("circuit-open"));
    assert_eq!(heard.of("reliability.recovered")[0]["attempt"], json!(2));
}

/// Proves LLM-118: a rule before the call ends the run before anything is sent; the first match decides.
#[tokio::test]
async fn a_rule_before_the_call_keeps_it_from_being_made() {
    let script = Script::new([say("never")]);
    let gate = Reliability::new()
        .pre_check(Rule::when(|_| panic!("broken rule"), Pre::FailFast, "broken"))
        .pre_check(Rule::when(|scope| scope.attempt == 1, Pre::FailFast, "closed").label("closed today"))
        .pre_check(Rule::when(|_| true, Pre::FailFast, "later"));
    let agent = agent(&script).reliability(gate).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(script.calls(), 0);
    let given = &heard.of("reliability.fail_fast")[0];
    assert_eq!((&given["phase"], &given["kind"]), (&json!("pre-check"), &json!("closed")));
    assert_eq!(state(&report, "reliabilityFailReason"), Some(json!("reliability-pre-check: closed today")));
    assert!(state(&report, "reliabilityFailCauseName").is_none(), "nothing failed underneath");
}

fn text(token_index: u64, content: &str) -> Result<LlmChunk, LlmError> {
    Ok(LlmChunk::Text { token_index, content: content.to_owned() })
}

fn whole(answer: &str) -> Vec<Result<LlmChunk, LlmError>> {
    vec![text(0, answer), Ok(LlmChunk::done(1, say(answer)))]
}

fn broken() -> LlmError {
    LlmError::new(LlmErrorKind::StreamBroken { delivered: false }, "script", "it broke off")
}

/// Proves LLM-127: what a reader has seen is not taken back; before the first piece every decision is open.
#[tokio::test]
async fn after_the_first_piece_nobody_is_asked_again() {
    let script = Script::streaming([vec![text(0, "So "), Err(broken())], whole("again")]);
    let agent = agent(&script).reliability(retrying()).build().unwrap();
    let (_, heard) = run(&agent, "go").await;
    assert_eq!((script.calls(), heard.count("stream.token")), (1, 1));
    let given = &heard.of("reliability.fail_fast")[0];
    assert_eq!(given["kind"], json!("mid-stream-not-retryable"));
    assert!(given["label"].as_str().unwrap().contains("`retry`"), "{given}");
    let script = Script::streaming([vec![Err(broken())], whole("again")]);
    let (report, _) = run(&self::agent(&script).reliability(retrying()).build().unwrap(), "go").await;
    assert_eq!(report.answer().unwrap(), "again");
}

/// Proves LLM-128: held pieces are told in order when their answer is accepted, and those of a rejected one never.
#[tokio::test]
async fn held_pieces_are_those_of_the_accepted_answer() {
    let accepted = vec![text(0, "All "), text(1, "well"), Ok(LlmChunk::done(2, say("All well")))];
    let script = Script::streaming([vec![text(0, "So "), Err(broken())], accepted]);
    let agent = agent(&script).reliability(retrying().delivery(Delivery::Hold)).build().unwrap();
    let (report, heard) = run(&agent, "go").await;
    assert_eq!(report.answer().unwrap(), "All well");
    let told: Vec<Value> = heard.of("stream.token").iter().map(|token| token["content"].clone()).collect();
    assert_eq!(told, [json!("All "), json!("well")]);
    let names = heard.names();
    let at = |name: &str| names.iter().position(|one| one == name).unwrap();
    assert!(at("reliability.retried") < at("stream.token") && at("stream.token") < at("stream.llm_end"));
}

/// Proves LLM-124, LLM-125: the fallback sees request and failure; what it fails with is judged without another call.
#[tokio::test]
async fn a_fallback_answers_or_is_judged_itself() {
    let script = flaky(9);
    let gate = Reliability::new().post(always(Post::Fallback, "f")).fallback(|request, error| async move {
        Ok(LlmResponse::text(format!("{} after {}", request.last_user_text().unwrap(), error.unwrap())))
    });
    let (report, heard) = run(&agent(&script).reliability(gate).build().unwrap(), "go").await;
    assert_eq!(report.answer().unwrap(), "go after busy");
    assert_eq!(
        heard.of("reliability.recovered"),
        [json!({"attempt": 1, "recoveredVia": "fallback", "priorFailures": 1, "errorKind": "5xx-transient"})]
    );
    let script = flaky(9);
    let gate = Reliability::new()
        .post(Rule::when(|scope| scope.error_kind == ErrorKind::Transient, Post::Fallback, "f"))
        .post(always(Post::FailFast, "both-failed"))
        .fallback(|_, _| async { Err(LlmError::foreign("ShelfError", "the shelf is empty")) });
    let (_, heard) = run(&agent(&script).reliability(gate).build().unwrap(), "go").await;
    assert_eq!(script.calls(), 1);
    let given = &heard.of("reliability.fail_fast")[0];
    assert_eq!(
        (&given["kind"], &given["errorMessage"]),
        (&json!("both-failed"), &json!("the shelf is empty"))
    );
    assert_eq!((&given["errorKind"], &given["attempt"]), (&json!("unknown"), &json!(2)));
}

/// Proves LLM-129: a rule that takes an answer where there is none says so.
#[tokio::test]
async fn nothing_cannot_be_accepted() {
    let gate = Reliability::new().post(always(Post::Ok, "fine"));
    let (_, heard) = run(&agent(&flaky(9)).reliability(gate).build().unwrap(), "go").await;
    assert_eq!(heard.of("reliability.fail_fast")[0]["kind"], json!("no-response"));
}

/// Proves LLM-131: an error of ours is classified by its type, whatever its words are.
#[tokio::test]
async fn typed_errors_are_classified_by_their_type() {
    let open = LlmErrorKind::CircuitOpen { retry_at: 1, last_error: None };
    for (kind, expected) in [
        (open, "circuit-open"),
        (LlmErrorKind::RateLimited, "rate-limit"),
        (LlmErrorKind::Network, "5xx-transient"),
        (LlmErrorKind::Auth, "unknown"),
    ] {
        let script =
            Script::by(move |_, _| Err(LlmError::new(kind.clone(), "script", "503 rate limit circuit")));
        let gate = Reliability::new().post(Rule::when(|_| false, Post::Retry, "never"));
        let (_, heard) = run(&agent(&script).reliability(gate).build().unwrap(), "go").await;
        assert_eq!(heard.of("reliability.fail_fast")[0]["errorKind"], json!(expected));
    }
}

/// Proves LLM-119, AGT-31.
#[test]
fn a_gate_that_cannot_work_is_refused_with_the_way_out() {
    let refused = |gate: Reliability| {
        let errors = agent(&Script::new([])).reliability(gate).build().expect_err("refused");
        assert_eq!(errors.problems().len(), 1, "{errors}");
        errors.problems()[0].to_string()
    };
    let entry = |name: &str, model: &str| FailoverEntry::new(name, Script::new([]), model);
    let gate = Reliability::new;
    let cases = [
        (gate(), "no rules"),
        (gate().post(always(Post::RetryOther, "o")).providers([entry("a", "m")]), "at least two `providers`"),
        (gate().post(always(Post::Fallback, "f")), "`Reliability::fallback`"),
        (retrying().providers([entry("a", "m"), entry("a", "n")]), "two providers are called `a`"),
        (retrying().providers([entry(" ", "m")]), "has no name"),
        (retrying().providers([entry("a", "")]), "has no model"),
        (retrying().circuit_breaker(BreakerConfig::new().failure_threshold(0)), "failure_threshold is 0"),
        (retrying().circuit_breaker(BreakerConfig::new().half_open_successes(0)), "half_open_successes is 0"),
        (retrying().breaker_store(Arc::default()), "without `circuit_breaker`"),
    ];
    for (gate, says) in cases {
        let text = refused(gate);
        assert!(text.starts_with("`reliability`: ") && text.contains(says), "{text}");
    }
    let twice = agent(&Script::new([])).reliability(retrying()).reliability(retrying()).build().unwrap_err();
    assert!(twice.to_string().contains("`reliability` was called twice"));
}

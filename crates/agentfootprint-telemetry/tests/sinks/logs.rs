//! `attach_logging` and the `tracing` sink.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use agentfootprint_core::run::Runner as _;
use agentfootprint_record::events::Domain;
use agentfootprint_telemetry::log::{LoggingOptions, TracingSink, attach_logging};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::support::*;

/// Proves REC-61: the default domains and line; a domain that does not exist is refused at once with those that do; a format and a
/// sink of one's own; dropping the guard ends it.
#[tokio::test]
async fn logging_writes_lines_of_chosen_domains() {
    let agent = agent("support");
    let said = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&said);
    let options = LoggingOptions::new().sink(move |line| kept.lock().unwrap().push(line.to_owned()));
    let logging = attach_logging(&agent, options).unwrap();
    agent.run("hello").await.into_answer().unwrap();
    let lines = std::mem::take(&mut *said.lock().unwrap());
    assert!(lines.iter().all(|line| line.starts_with("[context.") || line.starts_with("[stream.")));
    assert!(
        lines.iter().any(
            |line| line.starts_with(r#"[stream.tool_start] {"toolName":"good","toolCallId":"call-good""#)
        ),
        "{lines:#?}"
    );
    logging.detach();
    agent.run("hello").await.into_answer().unwrap();
    assert!(said.lock().unwrap().is_empty());

    let error = attach_logging(&agent, LoggingOptions::new().domains(["stream", "strem"])).unwrap_err();
    assert_eq!(error.option, "domains");
    let text = error.to_string();
    assert!(
        text.contains("`strem`") && Domain::ALL.iter().all(|known| text.contains(known.as_str())),
        "{text}"
    );

    let kept = Arc::clone(&said);
    let options = LoggingOptions::new()
        .all_domains()
        .format(|event| event.name_str().to_owned())
        .sink(move |line| kept.lock().unwrap().push(line.to_owned()));
    attach_logging(&agent, options).unwrap().keep();
    agent.run("hello").await.into_answer().unwrap();
    assert_eq!(said.lock().unwrap().first().map(String::as_str), Some("agentfootprint.agent.run_configured"));
}

#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<BTreeMap<String, String>>>>);

struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl<S: tracing::Subscriber> Layer<S> for Collected {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let meta = event.metadata();
        let mut fields = Fields(BTreeMap::new());
        event.record(&mut fields);
        fields.0.insert("target".to_owned(), meta.target().to_owned());
        fields.0.insert("level".to_owned(), meta.level().to_string());
        self.0.lock().unwrap().push(fields.0);
    }
}

/// Proves REC-61: as a strategy each event has its domain's target and its meta as fields, and no payload; a failed run is an error.
#[tokio::test]
async fn tracing_events_carry_target_and_meta() {
    let seen = Collected::default();
    let subscriber = tracing_subscriber::registry().with(seen.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let agent = builder(Model::by(|_, answered| {
        if answered {
            Err(agentfootprint_core::llm::LlmError::foreign("ServiceError", CANARY))
        } else {
            Model::tools().reply(false)
        }
    }))
    .build()
    .unwrap();
    agent.enable().observability(Arc::new(TracingSink::new())).keep();
    let report = agent.run(CANARY).options(options().session_id("s-1").trace_id("t-1")).await;
    assert!(report.error().is_some());
    let rows: Vec<_> = seen
        .0
        .lock()
        .unwrap()
        .iter()
        .filter(|row| row["target"].starts_with("agentfootprint::"))
        .cloned()
        .collect();
    let of =
        |event: &str| rows.iter().find(|row| row["event"] == event).unwrap_or_else(|| panic!("no {event}"));
    let start = of("agentfootprint.stream.tool_start");
    let facts = ["target", "level", "session_id", "trace_id", "composition_path", "message"]
        .map(|key| start[key].clone());
    assert_eq!(
        facts,
        ["agentfootprint::stream", "INFO", "s-1", "t-1", "Agent:agent", "agentfootprint.stream.tool_start"]
    );
    assert!(
        start["runtime_stage_id"].starts_with("tool-calls#") && start["run_id"].starts_with("run-"),
        "{start:?}"
    );
    assert_eq!(of("agentfootprint.error.fatal")["level"], "ERROR");
    assert!(!format!("{rows:?}").contains(CANARY), "no words of anybody");
}

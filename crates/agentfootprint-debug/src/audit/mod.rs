//! A tamper-evident log of a run that a third party can verify offline (REC-75…81).
//!
//! Each event becomes a record that holds the hash of the record before it. Whoever changes, removes or reorders a record breaks
//! the chain from there on. It proves order and integrity **since the final hash was anchored**: somebody who can rewrite all of it
//! can also rewrite the chain, so keep the final hash somewhere else.
//!
//! ```
//! use agentfootprint_debug::audit::{AuditExporter, AuditOptions, verify_audit_bundle};
//! use agentfootprint_record::recording::RecordedEvent;
//! use footprint::value;
//!
//! let mut exporter = AuditExporter::new(AuditOptions::default());
//! exporter.record(&RecordedEvent::from(value!({ "type": "agentfootprint.agent.turn_start",
//!     "payload": { "turnIndex": 0, "userPrompt": "a secret" }, "meta": { "wallClockMs": 5, "runId": "run-1-1" } })));
//! let text = exporter.drain(1_796_042_715_718).to_json();
//! assert!(text.contains("[8 chars]") && !text.contains("a secret"));
//! assert!(verify_audit_bundle(text.as_bytes()).valid);
//! let changed = text.replace("[8 chars]", "[9 chars]");
//! assert_eq!(verify_audit_bundle(changed.as_bytes()).broken_at, Some(1));
//! ```

mod payload;
mod raw;
mod verify;

use std::collections::HashSet;

use agentfootprint_record::recording::RecordedEvent;
use agentfootprint_record::text::{CANONICALIZATION, canonical_json, sha256_hex};
use footprint::value::{Object, Value};

pub use payload::PayloadMode;
pub use verify::{AuditVerdict, verify_audit_bundle, verify_audit_bundles};

/// The format id of a bundle.
pub const AUDIT_FORMAT: &str = "agentfootprint.audit/1";
/// The hash in use.
pub const HASH_ALGORITHM: &str = "sha-256";
/// What the first record of a chain continues from.
pub const ZERO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// The type of the record at the first event of each run.
pub const GENESIS: &str = "audit.genesis";

/// How events are exported.
#[derive(Clone, Debug, Default)]
pub struct AuditOptions {
    /// Also `stream.token` and `stream.thinking_delta`, which are left out otherwise (REC-77).
    pub include_token_events: bool,
    /// Whether payloads are bounded (default) or whole.
    pub payload_mode: PayloadMode,
    /// Named in each genesis record.
    pub agent: Option<String>,
    /// Versions named in each genesis record.
    pub versions: Option<Object>,
}

/// Turns events into a hash chain. One exporter is one chain; runs that interleave do so in it, each with its genesis.
#[derive(Debug)]
pub struct AuditExporter {
    options: AuditOptions,
    head: String,
    chain_head: String,
    first_seq: u64,
    next_seq: u64,
    records: Vec<Value>,
    runs: HashSet<String>,
}

impl AuditExporter {
    /// An exporter at the start of a new chain.
    #[must_use]
    pub fn new(options: AuditOptions) -> Self {
        Self {
            options,
            head: ZERO_HASH.to_owned(),
            chain_head: ZERO_HASH.to_owned(),
            first_seq: 0,
            next_seq: 0,
            records: Vec::new(),
            runs: HashSet::new(),
        }
    }

    /// Appends an event; the first one of a run is preceded by the run's genesis record (REC-75).
    pub fn record(&mut self, event: &RecordedEvent) {
        let name = event.name_str();
        let streamed =
            ["agentfootprint.stream.token", "agentfootprint.stream.thinking_delta"].contains(&name);
        if streamed && !self.options.include_token_events {
            return;
        }
        let row = event.to_value();
        let mut meta = row.get("meta").and_then(Value::as_object).cloned().unwrap_or_default();
        let timestamp = meta.remove("wallClockMs").unwrap_or(Value::Null);
        let run = meta.get("runId").and_then(Value::as_str).unwrap_or("unattributed").to_owned();
        if self.runs.insert(run.clone()) {
            self.genesis(&run, timestamp.clone());
        }
        if !meta.contains_key("runId") {
            meta.insert("runId", Value::from(run));
        }
        let payload = self.options.payload_mode.of(name, &event.payload());
        self.append(name, timestamp, payload, meta);
    }

    fn genesis(&mut self, run: &str, timestamp: Value) {
        let mut payload = Object::new();
        payload.insert("runId", Value::from(run));
        if let Some(agent) = &self.options.agent {
            payload.insert("agent", Value::from(agent));
        }
        payload.insert("library", library());
        if let Some(versions) = &self.options.versions {
            payload.insert("versions", Value::Object(versions.clone()));
        }
        payload.insert("payloadMode", Value::from(self.options.payload_mode.word()));
        let mut meta = Object::new();
        meta.insert("runId", Value::from(run));
        self.append(GENESIS, timestamp, Value::Object(payload), meta);
    }

    fn append(&mut self, event_type: &str, timestamp: Value, payload: Value, meta: Object) {
        let mut record = Object::new();
        record.insert("seq", Value::from(self.next_seq));
        record.insert("timestamp", timestamp);
        record.insert("eventType", Value::from(event_type));
        record.insert("payload", payload);
        record.insert("meta", Value::Object(meta));
        record.insert("prevHash", Value::from(self.head.as_str()));
        let hash = sha256_hex(canonical_json(&Value::Object(record.clone())).as_bytes());
        record.insert("hash", Value::from(hash.as_str()));
        self.head = hash;
        self.next_seq += 1;
        self.records.push(Value::Object(record));
    }

    /// Takes what was recorded since the last time, and keeps the chain: the next bundle continues this one (REC-76).
    pub fn drain(&mut self, exported_at_ms: i64) -> AuditBundle {
        let records = std::mem::take(&mut self.records);
        let mut header = Object::new();
        header.insert("format", Value::from(AUDIT_FORMAT));
        header.insert("hashAlgorithm", Value::from(HASH_ALGORITHM));
        header.insert("canonicalization", Value::from(CANONICALIZATION));
        header.insert("chainHead", Value::from(self.chain_head.as_str()));
        header.insert("firstSeq", Value::from(self.first_seq));
        header.insert("recordCount", Value::from(records.len()));
        header.insert("exportedAt", Value::from(iso(exported_at_ms)));
        header.insert("library", library());
        let mut bundle = Object::new();
        bundle.insert("header", Value::Object(header));
        bundle.insert("records", records.into());
        bundle.insert("finalHash", Value::from(self.head.as_str()));
        self.chain_head.clone_from(&self.head);
        self.first_seq = self.next_seq;
        AuditBundle(Value::Object(bundle))
    }
}

fn library() -> Value {
    let mut library = Object::new();
    library.insert("name", Value::from("agentfootprint"));
    library.insert("version", Value::from(env!("CARGO_PKG_VERSION")));
    Value::Object(library)
}

/// Milliseconds as `YYYY-MM-DDTHH:mm:ss.SSSZ`; a time beyond the calendar is written as milliseconds.
pub(crate) fn iso(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .map_or_else(|_| ms.to_string(), |time| time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

/// A segment of a chain, ready to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditBundle(Value);

impl AuditBundle {
    /// The bundle as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.0.clone()
    }

    /// The bundle as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.0.to_string()
    }

    /// The hash to anchor elsewhere.
    #[must_use]
    pub fn final_hash(&self) -> &str {
        self.0.get("finalHash").and_then(Value::as_str).unwrap_or_default()
    }
}

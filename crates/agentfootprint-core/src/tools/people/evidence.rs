//! The evidence pack of a check-in: what the person sees before deciding (TOOL-67).

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentfootprint_record::message::{MessageView, Messages};
use agentfootprint_record::text::cut;
use footprint::value::{Array, Object, Str, Value};

use crate::tools::dispatch::{ToolFate, tool_fate};
use crate::tools::tool::Tool;

/// The longest rendered argument in `willDo`.
const VALUE_CHARS: usize = 60;
/// The longest summary of a frame.
const SUMMARY_CHARS: usize = 160;

/// How a check-in is prepared for the person.
#[derive(Clone, Default)]
pub struct CheckInOptions {
    pub(crate) evidence: Evidence,
    pub(crate) scorer: Option<Arc<dyn Scorer>>,
}

/// What goes into the pack.
#[derive(Clone, Default)]
pub enum Evidence {
    /// What will be done, and nothing else.
    Minimal,
    /// What will be done, what was read, what speaks for it, what ran before (default).
    #[default]
    Standard,
    /// Whatever this assembles.
    Custom(Arc<dyn Assembler>),
}

/// Assembles a pack.
pub trait Assembler: Send + Sync {
    /// The pack.
    fn assemble<'a>(
        &'a self,
        input: &'a EvidenceInput<'a>,
    ) -> Pin<Box<dyn Future<Output = Value> + Send + 'a>>;
}

/// Ranks pieces of the conversation by what they have to do with a call.
pub trait Scorer: Send + Sync {
    /// A score per unit, in their order.
    fn score(&self, call: &str, units: &[EvidenceUnit]) -> Vec<f64>;
}

/// A piece of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceUnit {
    /// `system-n`, `task-n`, `result-n`.
    pub id: String,
    /// `system`, `task` or `result`.
    pub channel: &'static str,
    /// Its text.
    pub text: String,
}

/// What a pack is made of.
pub struct EvidenceInput<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The arguments of the call.
    pub args: &'a Value,
    /// The conversation judged: the composed system prompt in front of the history.
    pub conversation: &'a Array,
    /// The iteration.
    pub iteration: u32,
}

impl CheckInOptions {
    /// The defaults: a standard pack, scored lexically.
    pub fn new() -> Self {
        Self::default()
    }

    /// What goes into the pack.
    #[must_use]
    pub fn evidence(mut self, evidence: Evidence) -> Self {
        self.evidence = evidence;
        self
    }

    /// Ranks the drivers differently.
    #[must_use]
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.scorer = Some(Arc::new(scorer));
        self
    }

    /// What is wrong with the options, if anything: a scorer has nothing to rank in a minimal pack.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        (matches!(self.evidence, Evidence::Minimal) && self.scorer.is_some()).then_some(
            "a scorer beside minimal evidence has nothing to rank; use standard evidence or drop the scorer",
        )
    }

    pub(crate) async fn assemble(&self, input: &EvidenceInput<'_>) -> Value {
        match &self.evidence {
            Evidence::Minimal => {
                let mut out = Object::new();
                out.insert("willDo", Value::from(will_do(input.tool, input.args)));
                Value::Object(out)
            }
            Evidence::Standard => self.standard(input),
            Evidence::Custom(assembler) => assembler.assemble(input).await,
        }
    }

    fn standard(&self, input: &EvidenceInput<'_>) -> Value {
        let units = units_of(input.conversation);
        let read: Array = units.iter().map(frame).collect();
        let mut out = Object::new();
        out.insert("willDo", Value::from(will_do(input.tool, input.args)));
        out.insert("read", Value::Array(read));
        out.insert("drivers", Value::Array(self.drivers(input, &units)));
        out.insert("trail", trail(input));
        Value::Object(out)
    }

    fn drivers(&self, input: &EvidenceInput<'_>, units: &[EvidenceUnit]) -> Array {
        let schema = input.tool.schema();
        let call = format!("{} {} {}", schema.name(), schema.description(), input.args);
        let scores = match &self.scorer {
            Some(scorer) => scorer.score(&call, units),
            None => Lexical.score(&call, units),
        };
        let mut ranked: Vec<(&EvidenceUnit, f64)> = units.iter().zip(scores).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1)); // stable: ties keep the conversation's order
        ranked.into_iter().map(|(unit, score)| driver(unit, score)).collect()
    }
}

impl fmt::Debug for CheckInOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let evidence = match self.evidence {
            Evidence::Minimal => "minimal",
            Evidence::Standard => "standard",
            Evidence::Custom(_) => "custom",
        };
        f.debug_struct("CheckInOptions").field("evidence", &evidence).finish_non_exhaustive()
    }
}

/// The conversation a demand is judged on: the texts of the system prompt slot, joined, in front of the history.
pub(crate) fn conversation_of(system_injections: &Array, history: &Array) -> Array {
    let texts: Vec<&str> = system_injections
        .iter()
        .filter_map(|record| record.get("rawContent").and_then(Value::as_str))
        .filter(|text| !text.is_empty())
        .collect();
    if texts.is_empty() {
        return history.clone();
    }
    let system = Value::Object(crate::run::message("system", texts.join("\n\n")));
    std::iter::once(system).chain(history.iter().cloned()).collect()
}

/// What the call will do, in a line: the description and the arguments.
fn will_do(tool: &Tool, args: &Value) -> String {
    let schema = tool.schema();
    let what = if schema.description().trim().is_empty() { schema.name() } else { schema.description() };
    let rendered: Vec<String> = args
        .as_object()
        .into_iter()
        .flat_map(Object::iter)
        .map(|(name, value)| format!("{name}: {}", short(&text_of(value), VALUE_CHARS)))
        .collect();
    if rendered.is_empty() { what.to_string() } else { format!("{what} ({})", rendered.join(", ")) }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn short(text: &str, max: usize) -> String {
    let kept = cut(text, max);
    if kept.is_cut() { format!("{}… ({} more)", kept.kept, kept.dropped) } else { text.to_owned() }
}

/// The conversation in pieces: the system text by sentence or line, the person's turns, the results.
fn units_of(conversation: &Array) -> Vec<EvidenceUnit> {
    let messages = Messages::from(conversation.clone());
    let mut units = Vec::new();
    let mut counts = [0_usize; 3];
    let mut add = |slot: usize, channel: &'static str, text: String| {
        if let (Some(count), false) = (counts.get_mut(slot), text.trim().is_empty()) {
            *count += 1;
            units.push(EvidenceUnit { id: format!("{channel}-{count}"), channel, text });
        }
    };
    for message in messages.iter() {
        match message.value().get("role").and_then(Value::as_str) {
            Some("system") => {
                for part in sentences(message.content()) {
                    add(0, "system", part);
                }
            }
            Some("user") => add(1, "task", message.content().to_owned()),
            Some("tool") => {
                let tool = message.tool_name().map_or("", |name| name);
                add(2, "result", format!("{tool}: {}", message.content()));
            }
            _ => {}
        }
    }
    units
}

fn sentences(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(end) = rest.find(['.', '!', '?']) {
            let after = end + 1;
            let (head, tail) = rest.split_at(after);
            if !tail.is_empty() && !tail.starts_with(char::is_whitespace) {
                // A dot inside a number or a name ends no sentence: look on from behind it.
                let Some(next) = tail.find(['.', '!', '?']) else { break };
                let (head, tail) = rest.split_at(after + next + 1);
                out.push(head.trim().to_owned());
                rest = tail;
                continue;
            }
            out.push(head.trim().to_owned());
            rest = tail;
        }
        out.push(rest.trim().to_owned());
    }
    out.retain(|part| !part.is_empty());
    out
}

fn frame(unit: &EvidenceUnit) -> Value {
    let mut out = Object::new();
    out.insert("channel", Value::from(unit.channel));
    out.insert("summary", Value::from(short(&unit.text, SUMMARY_CHARS)));
    Value::Object(out)
}

fn driver(unit: &EvidenceUnit, score: f64) -> Value {
    let mut out = Object::new();
    out.insert("id", Value::from(unit.id.as_str()));
    out.insert("channel", Value::from(unit.channel));
    out.insert("text", Value::from(unit.text.as_str()));
    out.insert("score", Value::from(score));
    Value::Object(out)
}

/// What ran before, and whether it went well: by its fate, never by its text alone.
fn trail(input: &EvidenceInput<'_>) -> Value {
    let messages = Messages::from(input.conversation.clone());
    let marks = messages.marks();
    let ok = |message: MessageView<'_>| tool_fate(message, marks) == ToolFate::Ran;
    let calls: Array = messages
        .iter()
        .filter(|message| message.value().get("role").and_then(Value::as_str) == Some("tool"))
        .map(|message| {
            let mut row = Object::new();
            row.insert("name", Value::from(message.tool_name().cloned().unwrap_or_default()));
            row.insert("ok", Value::from(ok(message)));
            Value::Object(row)
        })
        .collect();
    let summary = match calls.len() {
        0 => format!("no tool has run before iteration {}", input.iteration),
        1 => "one tool call was answered before".to_owned(),
        several => format!("{several} tool calls were answered before"),
    };
    let mut out = Object::new();
    out.insert("iteration", Value::from(input.iteration));
    out.insert("toolCalls", Value::Array(calls));
    out.insert("summary", Value::from(summary));
    Value::Object(out)
}

/// Words in common: the default scorer.
struct Lexical;

const STOPWORDS: &[&str] = &[
    "the", "a", "an", "and", "or", "to", "of", "in", "on", "for", "with", "is", "are", "this", "that", "it",
    "as", "at", "by", "be", "you", "your", "i",
];

fn tokens(text: &str) -> BTreeSet<Str> {
    text.to_lowercase()
        .split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()))
        .filter(|token| token.len() > 1 && !STOPWORDS.contains(token))
        .map(Str::from)
        .collect()
}

impl Scorer for Lexical {
    fn score(&self, call: &str, units: &[EvidenceUnit]) -> Vec<f64> {
        let call = tokens(call);
        units.iter().map(|unit| jaccard(&call, &tokens(&unit.text))).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words in one conversation")]
fn jaccard(a: &BTreeSet<Str>, b: &BTreeSet<Str>) -> f64 {
    let union = a.union(b).count();
    if union == 0 { 0.0 } else { a.intersection(b).count() as f64 / union as f64 }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn refund() -> Tool {
        Tool::builder("refund")
            .description("Refunds an order")
            .handler(|_: Value, _| async {})
            .build()
            .unwrap()
    }

    async fn pack(options: &CheckInOptions, conversation: &Value) -> Value {
        let (tool, args) = (refund(), value!({ "orderId": "A-8", "amount": 900 }));
        let input = EvidenceInput {
            tool: &tool,
            args: &args,
            conversation: conversation.as_array().unwrap(),
            iteration: 1,
        };
        options.assemble(&input).await
    }

    /// Proves TOOL-67: the recorded pack of a check-in.
    #[tokio::test]
    async fn the_standard_pack_says_what_was_read_and_what_speaks_for_it() {
        let conversation =
            value!([{ "role": "user", "content": "Refund A-8" }, { "role": "assistant", "content": "" }]);
        let pack = pack(&CheckInOptions::new(), &conversation).await;
        assert_eq!(
            pack,
            value!({
                "willDo": "Refunds an order (orderId: A-8, amount: 900)",
                "read": [{ "channel": "task", "summary": "Refund A-8" }],
                "drivers": [{ "id": "task-1", "channel": "task", "text": "Refund A-8", "score": (1.0 / 6.0) }],
                "trail": { "iteration": 1, "toolCalls": [], "summary": "no tool has run before iteration 1" },
            })
        );
    }

    /// Proves TOOL-67.
    #[tokio::test]
    async fn units_are_ranked_and_the_trail_goes_by_fate() {
        let system = value!([{ "rawContent": "Be kind. Orders like A-8 are 3.5 kg.\nRefund only once!" }]);
        let history = value!([
            { "role": "user", "content": "refund the order" },
            { "role": "tool", "content": "no", "toolName": "look", "resultReason": "denied" },
            { "role": "tool", "content": "[permission denied: quoted]", "toolName": "look" },
        ]);
        let conversation = conversation_of(system.as_array().unwrap(), history.as_array().unwrap());
        let pack = pack(&CheckInOptions::new(), &Value::from(conversation)).await;
        let read = pack.get("read").and_then(Value::as_array).unwrap();
        let channels: Vec<&str> =
            read.iter().map(|frame| frame.get("channel").unwrap().as_str().unwrap()).collect();
        assert_eq!(channels, ["system", "system", "system", "task", "result", "result"]);
        assert_eq!(read.get(1).unwrap().get("summary"), Some(&value!("Orders like A-8 are 3.5 kg.")));
        assert_eq!(pack.walk(&["drivers", "0", "id"]), Some(&value!("task-1")));
        assert_eq!(
            pack.walk(&["trail", "toolCalls"]),
            Some(&value!([{ "name": "look", "ok": false }, { "name": "look", "ok": true }]))
        );
    }

    /// Proves TOOL-67.
    #[tokio::test]
    async fn minimal_is_one_line_and_long_values_are_cut() {
        let minimal = CheckInOptions::new().evidence(Evidence::Minimal);
        let pack = pack(&minimal, &value!([])).await;
        assert_eq!(pack, value!({ "willDo": "Refunds an order (orderId: A-8, amount: 900)" }));
        let long = will_do(&refund(), &value!({ "note": ("x".repeat(100)) }));
        assert!(long.ends_with("… (40 more))"), "{long}");
        assert!(minimal.scorer(Lexical).fault().is_some());
    }
}

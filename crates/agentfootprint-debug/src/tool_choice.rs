//! How clear each choice of a tool was, by likeness of words: a correlation, never a reason (REC §5.6).
//!
//! The rows come from the events alone. Likeness is scored when somebody asks, with vectors the caller brings: nothing here embeds.
//!
//! ```
//! use agentfootprint_debug::tool_choice::ToolChoices;
//! use agentfootprint_record::recording::RecordedEvent;
//! use footprint::value;
//!
//! let said = |name: &str, payload| RecordedEvent::from(value!({
//!     "type": format!("agentfootprint.stream.{name}"), "payload": payload, "meta": { "runtimeStageId": "call-llm#1" },
//! }));
//! let choices = ToolChoices::of(&[
//!     said("llm_start", value!({ "iteration": 1, "tools": [{ "name": "a" }, { "name": "b" }] })),
//!     said("tool_start", value!({ "toolCallId": "t1", "toolName": "a", "args": {} })),
//! ]);
//! let scored = choices.scored(|name, _| name.to_owned(), |text| match text {
//!     "a" => Some(&[1.0, 0.0]),
//!     "b" => Some(&[0.0, 1.0]),
//!     _ => Some(&[1.0, 1.0]),
//! });
//! assert_eq!(scored.summary.narrow, 1); // nothing tells the two apart
//! ```

use agentfootprint_record::recording::RecordedEvent;
use footprint::value::Value;
use serde::Serialize;

use crate::calls::{is, text};

/// Below this margin a choice is narrow.
pub const NARROW: f32 = 0.05;
/// How much of the user's and of the assistant's text counts, in characters.
const CONTEXT: usize = 2000;

/// Why a call has no margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skipped {
    /// The model chose no tool.
    NothingChosen,
    /// It chose what it was not offered.
    ChosenNotOffered,
}

/// A tool as it was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    pub description: String,
}

/// One model call that was offered tools.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolChoice {
    /// The step.
    pub runtime_stage_id: String,
    /// The iteration.
    pub iteration: u64,
    /// The names on offer.
    #[serde(serialize_with = "names")]
    pub offered: Vec<Offered>,
    /// The names chosen.
    pub chosen: Vec<String>,
    /// Their calls.
    pub tool_call_ids: Vec<String>,
    /// The first 2 000 characters of what the user said, and the last 2 000 of what the model said.
    pub context_text: String,
    /// Likeness of the chosen minus the best other; absent until it is scored, or when there is no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f32>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skipped>,
    /// Whether another tool was more like the context than the chosen one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub proxy_disagreement: bool,
}

fn names<S: serde::Serializer>(offered: &[Offered], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(offered.iter().map(|tool| &tool.name))
}

/// What the rows add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceSummary {
    /// Model calls that were offered tools.
    pub llm_calls_with_tools: u64,
    /// Calls that chose.
    pub choices: u64,
    /// Choices with a margin.
    pub scored: u64,
    /// Narrow choices and disagreements, each call once.
    pub flagged: u64,
    /// Choices with a margin below [`NARROW`].
    pub narrow: u64,
    /// Choices of what was not the most alike.
    pub proxy_disagreement: u64,
    /// Calls without a margin because nothing, or nothing on offer, was chosen.
    pub skipped: u64,
}

/// The choices of a conversation. Events of several runs of it may be read one after the other: a choice whose tool ran after a
/// pause is still one choice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolChoices {
    /// In order of the calls.
    pub rows: Vec<ToolChoice>,
    /// What they add up to.
    pub summary: ChoiceSummary,
}

impl ToolChoices {
    /// Reads the choices, without margins.
    #[must_use]
    pub fn of(events: &[RecordedEvent]) -> Self {
        let mut rows: Vec<ToolChoice> = Vec::new();
        let (mut user, mut assistant) = (String::new(), String::new());
        // Whether the newest row may still be chosen for.
        let mut open = false;
        for event in events {
            let payload = event.payload();
            if is(event, "agent.turn_start") {
                user = text(&payload, "userPrompt");
            } else if is(event, "stream.llm_start") {
                let offered = offered(&payload);
                open = !offered.is_empty();
                if open {
                    rows.push(ToolChoice {
                        runtime_stage_id: event.runtime_stage_id().unwrap_or_default().into_owned(),
                        iteration: payload.get("iteration").and_then(Value::as_u64).unwrap_or_default(),
                        offered,
                        chosen: Vec::new(),
                        tool_call_ids: Vec::new(),
                        context_text: context(&user, &assistant),
                        margin: None,
                        skipped: Some(Skipped::NothingChosen),
                        proxy_disagreement: false,
                    });
                }
            } else if is(event, "stream.llm_end") {
                assistant = text(&payload, "content");
            } else if is(event, "stream.tool_start")
                && let Some(row) = rows.last_mut().filter(|_| open)
            {
                let (name, call) = (text(&payload, "toolName"), text(&payload, "toolCallId"));
                // The same call said again after a pause.
                if !row.tool_call_ids.contains(&call) {
                    row.chosen.push(name);
                    row.tool_call_ids.push(call);
                }
                let known = row.chosen.iter().all(|name| row.offered.iter().any(|tool| tool.name == *name));
                row.skipped = (!known).then_some(Skipped::ChosenNotOffered);
            }
        }
        let summary = summary(&rows);
        Self { rows, summary }
    }

    /// Every text that a score needs a vector of, each once.
    #[must_use]
    pub fn texts(&self, candidate: impl Fn(&str, &str) -> String) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for row in self.rows.iter().filter(|row| row.skipped.is_none()) {
            let tools = row.offered.iter().map(|tool| candidate(&tool.name, &tool.description));
            for text in tools.chain([row.context_text.clone()]) {
                if !out.contains(&text) {
                    out.push(text);
                }
            }
        }
        out
    }

    /// The same with margins: `candidate` makes the text of a tool from its name and description, `vector` knows the vectors of
    /// [`ToolChoices::texts`]. A call one of whose vectors is missing stays without a margin.
    #[must_use]
    pub fn scored<'v>(
        &self,
        candidate: impl Fn(&str, &str) -> String,
        vector: impl Fn(&str) -> Option<&'v [f32]>,
    ) -> Self {
        let mut rows = self.rows.clone();
        for row in rows.iter_mut().filter(|row| row.skipped.is_none()) {
            let Some(context) = vector(&row.context_text) else { continue };
            let likeness: Option<Vec<(bool, f32)>> = row
                .offered
                .iter()
                .map(|tool| {
                    let like = cosine(context, vector(&candidate(&tool.name, &tool.description))?);
                    Some((row.chosen.contains(&tool.name), like))
                })
                .collect();
            let Some(likeness) = likeness else { continue };
            let chosen = likeness.iter().filter(|(chosen, _)| *chosen).map(|(_, like)| *like);
            let others = likeness.iter().filter(|(chosen, _)| !*chosen).map(|(_, like)| *like);
            // Of several chosen tools the least clear one.
            if let (Some(chosen), Some(best)) = (chosen.min_by(f32::total_cmp), others.max_by(f32::total_cmp))
            {
                row.margin = Some(chosen - best);
                row.proxy_disagreement = chosen < best;
            }
        }
        let summary = summary(&rows);
        Self { rows, summary }
    }
}

fn offered(payload: &Value) -> Vec<Offered> {
    let tools = payload.get("tools").and_then(Value::as_array);
    let tools = tools.into_iter().flat_map(|tools| tools.iter());
    tools.map(|tool| Offered { name: text(tool, "name"), description: text(tool, "description") }).collect()
}

fn context(user: &str, assistant: &str) -> String {
    let first: String = user.chars().take(CONTEXT).collect();
    let skip = assistant.chars().count().saturating_sub(CONTEXT);
    let last: String = assistant.chars().skip(skip).collect();
    if last.is_empty() { first } else { format!("{first}\n{last}") }
}

/// 0 for vectors of unequal length and for those without a direction.
fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let norms = (dot(one, one) * dot(other, other)).sqrt();
    if one.len() == other.len() && norms > 0.0 { dot(one, other) / norms } else { 0.0 }
}

fn summary(rows: &[ToolChoice]) -> ChoiceSummary {
    let count = |of: &dyn Fn(&ToolChoice) -> bool| rows.iter().filter(|row| of(row)).count() as u64;
    let narrow = |row: &ToolChoice| row.margin.is_some_and(|margin| margin < NARROW);
    ChoiceSummary {
        llm_calls_with_tools: rows.len() as u64,
        choices: count(&|row| !row.chosen.is_empty()),
        scored: count(&|row| row.margin.is_some()),
        flagged: count(&|row| narrow(row) || row.proxy_disagreement),
        narrow: count(&narrow),
        proxy_disagreement: count(&|row| row.proxy_disagreement),
        skipped: count(&|row| row.skipped.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn said(name: &str, payload: Value) -> RecordedEvent {
        RecordedEvent::from(value!({
            "type": format!("agentfootprint.{name}"), "payload": payload, "meta": { "runtimeStageId": "call-llm#1" },
        }))
    }

    fn ask(iteration: u64) -> RecordedEvent {
        said(
            "stream.llm_start",
            value!({ "iteration": iteration, "tools": [{ "name": "a", "description": "A" }, { "name": "b" }] }),
        )
    }

    fn choose(name: &str, id: &str) -> RecordedEvent {
        said("stream.tool_start", value!({ "toolName": name, "toolCallId": id, "args": {} }))
    }

    #[test]
    fn choices_are_scored_on_reading_and_what_cannot_be_scored_says_why() {
        let events = [
            said("agent.turn_start", value!({ "turnIndex": 0, "userPrompt": "u".repeat(2001) })),
            ask(1),
            said("stream.llm_end", value!({ "iteration": 1, "content": "x".repeat(2001) })),
            choose("b", "t1"),
            said("pause.request", value!({ "reason": "r", "questionPayload": 1 })),
            said("pause.resume", value!({ "resumeInput": 1, "pausedDurationMs": 1 })),
            choose("b", "t1"), // the next run says it again
            ask(2),
            choose("c", "t2"),
            ask(3),
            said("stream.llm_start", value!({ "iteration": 4 })), // no tools on offer
        ];
        let choices = ToolChoices::of(&events);
        let skipped: Vec<Option<Skipped>> = choices.rows.iter().map(|row| row.skipped).collect();
        assert_eq!(skipped, [None, Some(Skipped::ChosenNotOffered), Some(Skipped::NothingChosen)]);
        assert_eq!(choices.rows[0].context_text.chars().count(), 2000);
        assert_eq!(choices.rows[1].context_text.chars().count(), 4001);
        let candidate = |name: &str, description: &str| format!("{name}: {description}");
        assert_eq!(choices.texts(candidate).len(), 3);
        let scored = choices.scored(candidate, |text| match text {
            "a: A" => Some(&[1.0, 0.0]),
            "b: " => Some(&[0.6, 0.8]),
            _ => Some(&[1.0, 0.0]),
        });
        let row = &scored.rows[0];
        assert!((row.margin.unwrap() + 0.4).abs() < 1e-6 && row.proxy_disagreement);
        let all = ChoiceSummary {
            llm_calls_with_tools: 3,
            choices: 2,
            scored: 1,
            flagged: 1,
            narrow: 1,
            proxy_disagreement: 1,
            skipped: 2,
        };
        assert_eq!(scored.summary, all);
        assert_eq!(choices.scored(candidate, |_| None).summary.scored, 0);
        let json = serde_json::to_value(&scored.rows[1]).unwrap();
        assert_eq!(
            (json["skipped"].as_str(), json["offered"][0].as_str()),
            (Some("chosen-not-offered"), Some("a"))
        );
    }
}

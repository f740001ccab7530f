//! The walk of a procedure as rows, and what is filed of it (TOOL-86, TOOL-87).

use std::collections::HashSet;

use agentfootprint_record::recording::Recording;
use footprint::json::JsonSink;
use footprint::recorders::{NarrativeEntry, NarrativeType};
use footprint::value::{Array, Object, Value};

use super::RecordingDial;
use crate::artifacts::{ArtifactData, ArtifactMeta, PutArtifact};
use crate::tools::context::ToolContext;

/// Kind of the artifact a walk is filed as.
const WALK_KIND: &str = "recording/chart-walk";
/// Kind of the artifact a recording is filed as.
const RECORDING_KIND: &str = "recording/run";

/// The walk as rows.
pub(super) struct Walked {
    rows: Array,
    total: usize,
    cap: usize,
    /// Visits of the walk.
    pub(super) steps: usize,
}

impl Walked {
    /// The rows of a story told without values. Over the cap only what is no plain step is kept, wherever it stands: decisions come
    /// last, and cutting at the head would lose them.
    pub(super) fn read(story: &[NarrativeEntry], cap: usize) -> Self {
        let over = story.len() > cap;
        let rows = story.iter().enumerate();
        let kept = rows.filter(|(_, entry)| !over || entry.kind != Some(NarrativeType::Step));
        let visits: HashSet<String> = story
            .iter()
            .filter_map(|entry| entry.runtime_stage_id.as_ref())
            .map(ToString::to_string)
            .collect();
        Self { rows: kept.map(row).collect(), total: story.len(), cap, steps: visits.len() }
    }

    fn is_full(&self) -> bool {
        self.total <= self.cap
    }

    /// What the answer says of the walk, whether or not it is filed.
    fn facts(&self) -> Object {
        let shown = self.rows.len();
        let mut out = Object::new();
        out.insert("rows", Value::from(shown));
        out.insert("steps_executed", Value::from(self.steps));
        out.insert("projection", Value::from(if self.is_full() { "full" } else { "control-flow" }));
        out.insert("shown", Value::from(shown));
        out.insert("total", Value::from(self.total));
        out.insert("complete", Value::from(shown == self.total));
        // A chart that pauses inside a tool gives no answer, so a walk that is told here was walked in one piece.
        out.insert("walk_segment", Value::from("full"));
        out
    }

    fn sentence(&self) -> String {
        let (shown, total) = (self.rows.len(), self.total);
        if self.is_full() {
            format!("The walk has {total} rows")
        } else {
            format!(
                "The walk has {total} rows, over the cap of {}; the {shown} that are no plain steps are kept",
                self.cap
            )
        }
    }
}

/// One row; what an entry does not have is absent. `step` counts all entries, so that gaps show.
fn row((at, entry): (usize, &NarrativeEntry)) -> Value {
    let mut out = Object::new();
    out.insert("step", Value::from(at + 1));
    if let Some(kind) = entry.kind {
        out.insert("type", Value::from(kind.word()));
    }
    out.insert("depth", Value::from(entry.depth));
    let mut put = |key: &str, text: Option<String>| {
        if let Some(text) = text {
            out.insert(key, Value::from(text));
        }
    };
    put("stage", entry.stage_name.as_ref().map(ToString::to_string));
    put("stage_id", entry.stage_id.as_ref().map(ToString::to_string));
    put("runtime_stage_id", entry.runtime_stage_id.as_ref().map(ToString::to_string));
    put("subflow", entry.subflow_id.as_ref().map(ToString::to_string));
    put("text", Some(entry.text.clone()));
    Value::Object(out)
}

/// The `walk` field of an answer.
pub(super) struct Filed(Object);

impl Filed {
    /// Adds the fields of a recording.
    pub(super) fn add(&mut self, fields: Vec<(&'static str, Value)>) {
        self.0.extend(fields);
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// Files the walk. Without a store, or when it refuses, the answer goes without a ticket and says why.
pub(super) async fn file(ctx: &ToolContext, tool: &str, walked: Walked) -> Filed {
    let facts = walked.facts();
    let mut content = Object::new();
    content.insert("tool", Value::from(tool));
    content.insert("toolCallId", Value::from(ctx.tool_call_id()));
    content.extend(
        facts.iter().filter(|(key, _)| &***key != "rows").map(|(key, value)| (key.clone(), value.clone())),
    );
    content.insert("rows", Value::Array(walked.rows.clone()));
    let data = ArtifactData::Json(Value::Object(content));
    let put = PutArtifact::new(WALK_KIND, "application/json", data).label(format!("{tool} walk"));
    let sentence = walked.sentence();
    let mut out = Object::new();
    let note = match mint(ctx, put).await {
        Ok(meta) => {
            out.insert("ref", Value::from(meta.reference.to_str()));
            out.insert("kind", Value::from(WALK_KIND));
            format!("{sentence}, filed under `ref`.")
        }
        Err(why) => format!("{sentence}; it was not filed: {why}."),
    };
    out.extend(facts.iter().map(|(key, value)| (key.clone(), value.clone())));
    out.insert("note", Value::from(note));
    Filed(out)
}

/// Files the recording of the walk, and says what came of it.
pub(super) async fn record(
    ctx: &ToolContext,
    tool: &str,
    dial: &RecordingDial,
    recording: impl FnOnce() -> Recording,
) -> Vec<(&'static str, Value)> {
    let note = |text: String| vec![("recording_note", Value::from(text))];
    if !ctx.has_artifacts() {
        return note(format!("The recording was not filed: {NO_STORE}."));
    }
    let mut text = Bounded { text: String::new(), bytes: 0, max: dial.max_bytes };
    recording().write_to(&mut text);
    let Bounded { text, bytes, max } = text;
    if bytes > max {
        return note(format!("The recording was not filed: it has {bytes} bytes, the limit is {max}."));
    }
    let label = dial.label.clone().unwrap_or_else(|| format!("{tool} recording").into());
    let put = PutArtifact::new(RECORDING_KIND, "application/json", ArtifactData::text(text)).label(label);
    match mint(ctx, put).await {
        Ok(meta) => vec![
            ("recording_ref", Value::from(meta.reference.to_str())),
            ("recording_kind", Value::from(RECORDING_KIND)),
            ("recording_bytes", Value::from(bytes)),
            (
                "recording_note",
                Value::from(
                    "State, commits and structure of this walk; it has no events, and no value a policy redacts.",
                ),
            ),
        ],
        Err(why) => note(format!("The recording was not filed: {why}.")),
    }
}

const NO_STORE: &str = "no artifact store is attached";

/// Checks something in; what was made from wanted artifacts names them as its parents.
async fn mint(ctx: &ToolContext, put: PutArtifact) -> Result<ArtifactMeta, String> {
    if !ctx.has_artifacts() {
        return Err(NO_STORE.to_owned());
    }
    let stored = ctx.artifacts().put_derived(put).await;
    stored.map_err(|error| format!("the artifact store refused it ({error})"))
}

/// A text up to a limit; beyond it only the size is known.
struct Bounded {
    text: String,
    bytes: u64,
    max: u64,
}

impl JsonSink for &mut Bounded {
    fn put(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        if self.bytes <= self.max {
            self.text.push_str(text);
        } else {
            self.text = String::new();
        }
    }
}

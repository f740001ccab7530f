//! One entry of the story, and its JSON form.

use crate::ids::RuntimeStageId;
use crate::stores::HasStep;
use crate::value::{Object, Str, Value};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
        impl $name {
            /// The JSON word.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
            /// The value a JSON word names.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words! {
    /// What an entry tells.
    NarrativeType {
        /// A step's headline.
        Stage = "stage",
        /// A read, write, update or delete; or one mapped input of a subflow.
        Step = "step",
        /// A decision.
        Condition = "condition",
        /// Children start in parallel.
        Fork = "fork",
        /// A selection.
        Selector = "selector",
        /// A subflow is entered or left.
        Subflow = "subflow",
        /// A back edge is taken.
        Loop = "loop",
        /// A stage stopped its chart.
        Break = "break",
        /// A stage failed.
        Error = "error",
        /// The run suspends.
        Pause = "pause",
        /// The run goes on.
        Resume = "resume",
        /// Something the author emitted.
        Emit = "emit",
        /// A failed attempt that will be retried.
        Retry = "retry",
    }
}

words! {
    /// Whether a subflow is entered or left.
    Direction {
        /// Entered.
        Entry = "entry",
        /// Left.
        Exit = "exit",
    }
}

/// One entry of the combined narrative.
#[derive(Clone, Debug, PartialEq)]
pub struct NarrativeEntry {
    /// What it tells; `None` only for a word a foreign writer used.
    pub kind: Option<NarrativeType>,
    /// The words.
    pub text: String,
    /// 1 for what happens inside a step, 0 for the rest.
    pub depth: u32,
    /// The step's name.
    pub stage_name: Option<Str>,
    /// The step's stage id.
    pub stage_id: Option<Str>,
    /// The step's address.
    pub runtime_stage_id: Option<RuntimeStageId>,
    /// Position among the step's buffered items, from 1.
    pub step_number: Option<u32>,
    /// The subflow the step belongs to.
    pub subflow_id: Option<Str>,
    /// Only on `subflow` entries.
    pub direction: Option<Direction>,
    /// Only on `step` entries: the state key.
    pub key: Option<Str>,
    /// The value behind the text, in memory only.
    pub raw: Option<Value>,
}

impl HasStep for NarrativeEntry {
    type Step = RuntimeStageId;
    fn step(&self) -> Option<&RuntimeStageId> {
        self.runtime_stage_id.as_ref()
    }
}

impl NarrativeEntry {
    /// An entry with these words and nothing else.
    pub(super) fn new(kind: NarrativeType, text: String) -> Self {
        use NarrativeType::{Condition, Emit, Retry, Step};
        Self {
            kind: Some(kind),
            text,
            depth: u32::from(matches!(kind, Step | Condition | Emit | Retry)),
            stage_name: None,
            stage_id: None,
            runtime_stage_id: None,
            step_number: None,
            subflow_id: None,
            direction: None,
            key: None,
            raw: None,
        }
    }

    /// The recorded form; the raw value stays behind.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                out.insert(key, value);
            }
        };
        put("type", self.kind.map(|k| k.word().into()));
        put("text", Some(self.text.as_str().into()));
        put("depth", Some(self.depth.into()));
        put("stageName", self.stage_name.clone().map(Value::from));
        put("stageId", self.stage_id.clone().map(Value::from));
        put("runtimeStageId", self.runtime_stage_id.as_ref().map(|id| id.to_string().into()));
        put("stepNumber", self.step_number.map(Value::from));
        put("subflowId", self.subflow_id.clone().map(Value::from));
        put("direction", self.direction.map(|d| d.word().into()));
        put("key", self.key.clone().map(Value::from));
        Value::Object(out)
    }

    /// Reads a recorded entry; `None` without a string `text`.
    pub fn from_value(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let text = |key: &str| match object.get(key) {
            Some(Value::String(text)) => Some(text.clone()),
            _ => None,
        };
        let number = |key: &str| object.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        Some(Self {
            kind: text("type").and_then(|w| NarrativeType::parse(&w)),
            text: text("text")?.to_string(),
            depth: number("depth").unwrap_or(0),
            stage_name: text("stageName"),
            stage_id: text("stageId"),
            runtime_stage_id: text("runtimeStageId").map(|id| RuntimeStageId::parse(&id)),
            step_number: number("stepNumber"),
            subflow_id: text("subflowId"),
            direction: text("direction").and_then(|w| Direction::parse(&w)),
            key: text("key"),
            raw: None,
        })
    }
}

/// The row data of a narrative.
pub fn entries_to_value<'a>(entries: impl IntoIterator<Item = &'a NarrativeEntry>) -> Value {
    Value::Array(entries.into_iter().map(NarrativeEntry::to_value).collect())
}

/// Reads row data as a narrative, recognised by shape (OBS-58): an array whose first element has a string `text` and a number `depth`.
pub fn entries_from_value(data: &Value) -> Option<Vec<NarrativeEntry>> {
    let items = data.as_array()?;
    let first = items.get(0)?;
    let is_text = matches!(first.get("text"), Some(Value::String(_)));
    let is_depth = matches!(first.get("depth"), Some(Value::Number(_)));
    (is_text && is_depth).then(|| items.iter().filter_map(NarrativeEntry::from_value).collect())
}

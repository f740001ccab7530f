//! The tools: names, what each is for, and the arguments each takes — one table for schemas and validation.

use footprint::value::{Array, Object, Value};

use super::{TraceTools, errors};

pub use agentfootprint_record::conventions::TRACE_TOOL_NAMES;

/// Steps that a schema lists at most; longer runs name them in words (REC-87).
const STEPS_LISTED: usize = 48;
/// Keys that a description hints at.
const KEYS_HINTED: usize = 12;

/// One tool as a model, an MCP client or a shell sees it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TraceToolSpec {
    /// The name.
    pub name: &'static str,
    /// What it answers, and when another tool is better.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    RunOverview,
    FindContextErrors,
    FindInTrace,
    TraceNode,
    TraceSlice,
    Backtrack,
    WhoWrote,
    GetValue,
    InspectToolCall,
    InspectToolRun,
    ReadNarrative,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Text of this many UTF-16 units.
    Text { min: usize, max: usize },
    /// A step id.
    Step { min: usize, max: usize },
    /// A kind of finding.
    Finding { min: usize, max: usize },
    /// A whole number.
    Count { min: u64, max: u64 },
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
    pub(super) says: &'static str,
}

const fn need(name: &'static str, kind: Kind, says: &'static str) -> Field {
    Field { name, kind, required: true, says }
}

const fn may(name: &'static str, kind: Kind, says: &'static str) -> Field {
    Field { name, kind, required: false, says }
}

const NAME: Kind = Kind::Text { min: 1, max: 512 };
const STEP: Kind = Kind::Step { min: 1, max: 1024 };
const DEPTH: Field = may("maxDepth", Kind::Count { min: 1, max: 20 }, "how many hops back (default 6)");
const NODES: Field = may("maxNodes", Kind::Count { min: 2, max: 100 }, "how many steps at most (default 25)");

impl Tool {
    pub(super) const ALL: [Self; 11] = [
        Self::RunOverview,
        Self::FindContextErrors,
        Self::FindInTrace,
        Self::TraceNode,
        Self::TraceSlice,
        Self::Backtrack,
        Self::WhoWrote,
        Self::GetValue,
        Self::InspectToolCall,
        Self::InspectToolRun,
        Self::ReadNarrative,
    ];

    pub(super) fn name(self) -> &'static str {
        TRACE_TOOL_NAMES.get(self as usize).copied().unwrap_or_default()
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn says(self) -> &'static str {
        match self {
            Self::RunOverview => {
                "What happened in this run: status, counts, stages, loops, errors, state keys, and what the record cannot say. Call this first."
            }
            Self::FindContextErrors => {
                "Contradictions that integrity checks filed while the run was live, and whether the checks really looked. Silence is not a clean bill unless it says so."
            }
            Self::FindInTrace => {
                "Where a text occurs in committed values, the narrative and the events. Use it when you know words but not the step or the key."
            }
            Self::TraceNode => {
                "Everything about one step: what it wrote, what it read and who had written that, its decision, its errors. For what led to it over several steps use trace_slice."
            }
            Self::TraceSlice => {
                "The backward causal slice of a step, as an indented tree: what led to it, through data and decisions. To start from a variable use backtrack."
            }
            Self::Backtrack => {
                "Why a variable has its value: its last write (or the commit that produced one list element), then what led to that. Prefer it over trace_slice when you have a name and no step."
            }
            Self::WhoWrote => "All steps that wrote a key, in order, the one whose value stands marked.",
            Self::GetValue => "The value of a key as it stood after a step.",
            Self::InspectToolCall => {
                "One tool call: the arguments the model proposed, what ran, the outcome, duration and result."
            }
            Self::InspectToolRun => {
                "Looks inside the run of a chart-backed tool, when its record was kept. Inner step ids are valid here only."
            }
            Self::ReadNarrative => "The run told in lines of prose, from an offset.",
        }
    }

    pub(super) fn fields(self) -> &'static [Field] {
        match self {
            Self::RunOverview => &[],
            Self::FindContextErrors => {
                const {
                    &[
                        may("kind", Kind::Finding { min: 1, max: 64 }, "only findings of this kind"),
                        may("limit", Kind::Count { min: 1, max: 25 }, "how many findings (default 10)"),
                    ]
                }
            }
            Self::FindInTrace => {
                const {
                    &[
                        need("query", Kind::Text { min: 2, max: 200 }, "the text to find, ignoring case"),
                        may("maxHits", Kind::Count { min: 1, max: 25 }, "how many hits (default 10)"),
                    ]
                }
            }
            Self::TraceNode => const { &[need("runtimeStageId", STEP, "the step, such as tool-calls#22")] },
            Self::TraceSlice => {
                const {
                    &[
                        need("runtimeStageId", STEP, "the step to start from, such as tool-calls#22"),
                        may("key", NAME, "only what led to this key of the step"),
                        DEPTH,
                        NODES,
                    ]
                }
            }
            Self::Backtrack => {
                const {
                    &[
                        need("variable", NAME, "a state key, with dots for what is nested: cfg.mode"),
                        may("element", Kind::Count { min: 0, max: 100_000_000 }, "index of a list element"),
                        may("before", STEP, "as the value stood before this step"),
                        DEPTH,
                        NODES,
                    ]
                }
            }
            Self::WhoWrote => {
                const {
                    &[
                        need("key", NAME, "a state key, with dots for what is nested"),
                        may("beforeStageId", STEP, "only writes before this step"),
                    ]
                }
            }
            Self::GetValue => {
                const {
                    &[
                        need("runtimeStageId", STEP, "as of this step"),
                        need("key", NAME, "a state key, with dots for what is nested"),
                        may(
                            "maxChars",
                            Kind::Count { min: 50, max: 8000 },
                            "characters of the value (default 2000)",
                        ),
                    ]
                }
            }
            Self::InspectToolCall => const { &[need("toolCallId", NAME, "the id of the call")] },
            Self::InspectToolRun => {
                const {
                    &[
                        need("toolCallId", NAME, "the id of the call in the outer run"),
                        may("runtimeStageId", NAME, "a step of the inner run"),
                        may("key", NAME, "a state key of the inner run"),
                        may("variable", NAME, "a variable of the inner run to trace back"),
                        may("find", Kind::Text { min: 2, max: 200 }, "text to find in the inner run"),
                    ]
                }
            }
            Self::ReadNarrative => {
                const {
                    &[
                        may("offset", Kind::Count { min: 0, max: 100_000_000 }, "first line (default 0)"),
                        may("maxLines", Kind::Count { min: 1, max: 200 }, "how many lines (default 40)"),
                    ]
                }
            }
        }
    }
}

pub(super) fn of(tools: &TraceTools) -> Vec<TraceToolSpec> {
    let narrated = tools.query.narrative().is_some_and(|entries| !entries.is_empty());
    let steps = tools.places().ids();
    let listed: Option<Array> = (!steps.is_empty() && steps.len() <= STEPS_LISTED)
        .then(|| steps.iter().map(|id| Value::from(id.as_str())).collect());
    let keys = tools.places().root_keys();
    let hint = match keys.len() {
        0 => String::new(),
        count => {
            let shown = keys
                .iter()
                .take(KEYS_HINTED)
                .map(|key| crate::plain::excerpt(key, 60))
                .collect::<Vec<_>>()
                .join(", ");
            let more = count.saturating_sub(KEYS_HINTED);
            if more > 0 {
                format!("; keys of this run: {shown} and {more} more")
            } else {
                format!("; keys of this run: {shown}")
            }
        }
    };
    Tool::ALL
        .into_iter()
        .filter(|tool| narrated || *tool != Tool::ReadNarrative)
        .map(|tool| TraceToolSpec {
            name: tool.name(),
            description: tool.says().to_owned(),
            input_schema: schema(tool, listed.as_ref(), &hint),
        })
        .collect()
}

fn schema(tool: Tool, steps: Option<&Array>, keys: &str) -> Value {
    let mut properties = Object::new();
    for field in tool.fields() {
        let mut property = Object::new();
        let kind = if matches!(field.kind, Kind::Count { .. }) { "integer" } else { "string" };
        property.insert("type", kind.into());
        let hinted = matches!(field.name, "key" | "variable") && tool != Tool::InspectToolRun;
        let hint = if hinted { keys } else { "" };
        property.insert("description", format!("{}{hint}", field.says).into());
        match field.kind {
            Kind::Text { min, max } | Kind::Step { min, max } | Kind::Finding { min, max } => {
                property.insert("minLength", min.into());
                property.insert("maxLength", max.into());
            }
            Kind::Count { min, max } => {
                property.insert("minimum", min.into());
                property.insert("maximum", max.into());
            }
        }
        if let (Kind::Step { .. }, Some(steps)) = (field.kind, steps) {
            property.insert("enum", Value::Array(steps.clone()));
        }
        if let Kind::Finding { .. } = field.kind {
            property.insert("enum", errors::filable().map(Value::from).collect::<Vec<_>>().into());
        }
        properties.insert(field.name, Value::Object(property));
    }
    let mut out = Object::new();
    out.insert("type", "object".into());
    out.insert("properties", Value::Object(properties));
    let required: Vec<Value> =
        tool.fields().iter().filter(|field| field.required).map(|field| field.name.into()).collect();
    if !required.is_empty() {
        out.insert("required", required.into());
    }
    out.insert("additionalProperties", false.into());
    Value::Object(out)
}

//! What differs between two runs, and where they first part (REC-162).
//!
//! Runs are aligned by pass and by what happens in a pass, never by step numbers, times or ids: two runs of the same input with a
//! scripted model do not differ.

use std::fmt;

use agentfootprint_record::recording::{OpenRecording, Recording};
use footprint::value::{Array, Object, Str, Value};
use indexmap::{IndexMap, IndexSet};

use crate::calls::{is, text};
use crate::loops::{Pass, PassToolCall, ServedPiece, passes};
use crate::plain::excerpt;

/// Characters of a value in a difference.
const SHOWN: usize = 160;
/// Deeper values are compared as they are.
const MAX_DEPTH: usize = 64;

/// One thing that differs. `None` on a side means that this side has no such thing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// What it is about: `system-prompt facts/returns`, `call 1 args`, `finalContent`.
    pub what: String,
    /// On the first side.
    pub a: Option<String>,
    /// On the second side.
    pub b: Option<String>,
}

/// The earliest place where two runs part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirstDivergence {
    /// The pass, from 1.
    pub pass: usize,
    /// `served context`, `tools offered`, `model output`, `route`, `tool call`, `tool result` or `number of passes`.
    pub milestone: &'static str,
    /// The step on the first side, if it has one.
    pub a_step: Option<String>,
    /// The step on the second side, if it has one.
    pub b_step: Option<String>,
    /// What differs there.
    pub difference: Difference,
}

/// How two recordings differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunDiff {
    /// Facets of the configuration.
    pub configuration: Vec<Difference>,
    /// Where the runs part first.
    pub first: Option<FirstDivergence>,
    /// Differences of each pass that has some.
    pub passes: Vec<(usize, Vec<Difference>)>,
    /// The final answer.
    pub answer: Option<Difference>,
    /// Keys of the end state.
    pub state: Vec<Difference>,
    /// What could not be compared.
    pub limits: Vec<String>,
}

/// Compares two recordings.
#[must_use]
pub fn diff(a: &OpenRecording, b: &OpenRecording) -> RunDiff {
    let (left, right) = (Side::of(a.recording()), Side::of(b.recording()));
    let mut out = RunDiff::default();
    for (name, side) in [("first", a), ("second", b)] {
        if side.recording().events.is_none() {
            out.limits.push(format!("the {name} recording has no events: only the end states are compared"));
        }
        out.limits.extend(
            side.limits()
                .iter()
                .filter(|limit| limit.code() == "events-dropped")
                .map(|limit| format!("{name}: {limit}")),
        );
    }
    out.configuration = members(&left.configuration, &right.configuration);
    for at in 0..left.passes.len().max(right.passes.len()) {
        pass(at, left.passes.get(at), right.passes.get(at), &left, &right, &mut out);
    }
    out.answer = compare("answer", left.answer.clone(), right.answer.clone());
    out.state = members(&left.state, &right.state);
    out
}

/// One recording, with what is volatile taken out.
struct Side {
    passes: Vec<Pass>,
    configuration: Object,
    answer: Option<String>,
    state: Object,
    calls: IndexMap<String, String>,
}

impl Side {
    fn of(recording: &Recording) -> Self {
        let passes = passes(recording);
        let ids: IndexSet<&str> =
            passes.iter().flat_map(|pass| pass.tools.iter().map(|call| call.id.as_str())).collect();
        let calls =
            ids.iter().enumerate().map(|(at, id)| ((*id).to_owned(), format!("call#{}", at + 1))).collect();
        let find = |name: &str| recording.events().iter().rev().find(|event| is(event, name));
        let configured = find("agent.run_configured").map(|event| event.payload());
        let mut side = Self {
            passes,
            configuration: configured.as_ref().and_then(Value::as_object).cloned().unwrap_or_default(),
            answer: find("agent.turn_end").map(|event| text(&event.payload(), "finalContent")),
            state: Object::new(),
            calls,
        };
        side.configuration = side.steady_object(&side.configuration, 0);
        side.state = side.steady_object(&recording.snapshot.shared_state, 0);
        side
    }

    fn steady(&self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => Value::from(self.steady_text(text)),
            Value::Array(items) if depth < MAX_DEPTH => {
                Value::Array(items.iter().map(|item| self.steady(item, depth + 1)).collect::<Array>())
            }
            Value::Object(members) if depth < MAX_DEPTH => Value::Object(self.steady_object(members, depth)),
            other => other.clone(),
        }
    }

    fn steady_object(&self, members: &Object, depth: usize) -> Object {
        let kept = members.iter().filter(|(key, _)| !is_volatile(key));
        kept.map(|(key, value)| (Str::from(self.steady_text(key)), self.steady(value, depth + 1))).collect()
    }

    fn steady_text(&self, text: &str) -> String {
        self.calls.get(text).cloned().unwrap_or_else(|| text.to_owned())
    }

    fn shown(&self, value: &Value) -> String {
        let steady = self.steady(value, 0);
        steady.as_str().map_or_else(|| steady.to_string(), str::to_owned)
    }
}

/// Times, durations, ids of runs and hashes of contents.
fn is_volatile(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    key.ends_with("Ms")
        || lower.ends_with("hash")
        || lower.ends_with("hashes")
        || lower.ends_with("runid")
        || matches!(
            key,
            "ts" | "timestamp" | "runIdentity" | "requestId" | "startedAt" | "endedAt" | "createdAt"
        )
}

fn compare(what: impl Into<String>, a: Option<String>, b: Option<String>) -> Option<Difference> {
    (a != b).then(|| Difference { what: what.into(), a, b })
}

/// Members that differ, in the order of the first side, then those only the second has.
fn members(a: &Object, b: &Object) -> Vec<Difference> {
    let keys: IndexSet<&str> = a.keys().chain(b.keys()).map(|key| &**key).collect();
    keys.into_iter()
        .filter(|key| a.get(key) != b.get(key))
        .filter_map(|key| {
            compare(key, a.get(key).map(ToString::to_string), b.get(key).map(ToString::to_string))
        })
        .collect()
}

fn pass(at: usize, a: Option<&Pass>, b: Option<&Pass>, left: &Side, right: &Side, out: &mut RunDiff) {
    let number = at + 1;
    let (Some(a), Some(b)) = (a, b) else {
        let step = |pass: Option<&Pass>| pass.map(|pass| pass.step.clone());
        let said = |pass: Option<&Pass>| pass.map(|pass| format!("asks {} at {}", pass.model, pass.step));
        let difference = Difference { what: format!("pass {number}"), a: said(a), b: said(b) };
        out.first.get_or_insert_with(|| FirstDivergence {
            pass: number,
            milestone: "number of passes",
            a_step: step(a),
            b_step: step(b),
            difference: difference.clone(),
        });
        out.passes.push((number, vec![difference]));
        return;
    };
    let mut found: Vec<(&'static str, String, String, Difference)> = Vec::new();
    let at = |milestone: &'static str, a: &str, b: &str| (milestone, a.to_owned(), b.to_owned());
    let mut add = |place: (&'static str, String, String), difference: Option<Difference>| {
        found.extend(difference.map(|difference| (place.0, place.1, place.2, difference)));
    };
    for difference in pieces(&a.served, &b.served, left, right) {
        add(at("served context", &a.step, &b.step), Some(difference));
    }
    let names = |pass: &Pass| Some(pass.offered.join(", "));
    add(at("tools offered", &a.step, &b.step), compare("tools offered", names(a), names(b)));
    add(at("model output", &a.step, &b.step), compare("model output", a.output.clone(), b.output.clone()));
    add(at("route", &a.route_step, &b.route_step), compare("route", a.route.clone(), b.route.clone()));
    for call in 0..a.tools.len().max(b.tools.len()) {
        let (one, two) = (a.tools.get(call), b.tools.get(call));
        let steps = (step_of(one, a), step_of(two, b));
        let asked = |call: Option<&PassToolCall>, side: &Side| {
            call.map(|call| format!("{} {}", call.name, side.shown(&call.args)))
        };
        add(
            at("tool call", &steps.0, &steps.1),
            compare(format!("tool call {}", call + 1), asked(one, left), asked(two, right)),
        );
        let result = |call: Option<&PassToolCall>, side: &Side| {
            call.and_then(|call| {
                let result = side.shown(call.result.as_ref()?);
                Some(if call.failed { format!("failed: {result}") } else { result })
            })
        };
        add(
            at("tool result", &steps.0, &steps.1),
            compare(format!("result of tool call {}", call + 1), result(one, left), result(two, right)),
        );
    }
    // Tokens follow from the rest; they are listed, but never the first thing that differs.
    let tokens = |pass: &Pass| Some(format!("{} in, {} out", pass.tokens.0, pass.tokens.1));
    if let Some((milestone, a_step, b_step, difference)) = found.first() {
        out.first.get_or_insert_with(|| FirstDivergence {
            pass: number,
            milestone,
            a_step: Some(a_step.clone()),
            b_step: Some(b_step.clone()),
            difference: difference.clone(),
        });
    }
    let mut all: Vec<Difference> = found.into_iter().map(|(.., difference)| difference).collect();
    all.extend(compare("tokens", tokens(a), tokens(b)));
    if !all.is_empty() {
        out.passes.push((number, all));
    }
}

fn step_of(call: Option<&PassToolCall>, pass: &Pass) -> String {
    call.map_or_else(|| pass.step.clone(), |call| call.step.clone())
}

/// Pieces added, removed and changed, by slot and source.
fn pieces(a: &[ServedPiece], b: &[ServedPiece], left: &Side, right: &Side) -> Vec<Difference> {
    let grouped = |pieces: &[ServedPiece], side: &Side| {
        let mut groups: IndexMap<String, Vec<String>> = IndexMap::new();
        for piece in pieces {
            let id =
                piece.source_id.as_deref().map(|id| format!("/{}", side.steady_text(id))).unwrap_or_default();
            groups
                .entry(format!("{} {}{id}", piece.slot, piece.source))
                .or_default()
                .push(piece.text.clone());
        }
        groups
    };
    let (a, b) = (grouped(a, left), grouped(b, right));
    let names: IndexSet<&String> = a.keys().chain(b.keys()).collect();
    let none = Vec::new();
    names
        .into_iter()
        .flat_map(|name| {
            let (one, two) = (a.get(name).unwrap_or(&none), b.get(name).unwrap_or(&none));
            (0..one.len().max(two.len()))
                .filter_map(move |at| compare(name.as_str(), one.get(at).cloned(), two.get(at).cloned()))
        })
        .collect()
}

impl RunDiff {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.configuration.is_empty()
            && self.first.is_none()
            && self.passes.is_empty()
            && self.answer.is_none()
            && self.state.is_empty()
    }

    /// The JSON object.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let list = |differences: &[Difference]| -> Value {
            differences.iter().map(Difference::to_value).collect::<Vec<_>>().into()
        };
        let mut out = Object::new();
        out.insert("equal", self.is_empty().into());
        out.insert("configuration", list(&self.configuration));
        if let Some(first) = &self.first {
            let mut row = Object::new();
            row.insert("pass", first.pass.into());
            row.insert("milestone", first.milestone.into());
            for (key, step) in [("aStep", &first.a_step), ("bStep", &first.b_step)] {
                if let Some(step) = step {
                    row.insert(key, Value::from(step));
                }
            }
            row.insert("difference", first.difference.to_value());
            out.insert("firstDivergence", Value::Object(row));
        }
        let passes = self.passes.iter().map(|(number, differences)| {
            let mut row = Object::new();
            row.insert("pass", (*number).into());
            row.insert("differences", list(differences));
            Value::Object(row)
        });
        out.insert("passes", passes.collect::<Vec<_>>().into());
        if let Some(answer) = &self.answer {
            out.insert("answer", answer.to_value());
        }
        out.insert("state", list(&self.state));
        out.insert("limits", self.limits.iter().map(Value::from).collect::<Vec<_>>().into());
        Value::Object(out)
    }
}

impl Difference {
    fn to_value(&self) -> Value {
        let mut row = Object::new();
        row.insert("what", Value::from(self.what.as_str()));
        for (key, side) in [("a", &self.a), ("b", &self.b)] {
            if let Some(side) = side {
                row.insert(key, Value::from(excerpt(side, 2000)));
            }
        }
        Value::Object(row)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", excerpt(&self.what, SHOWN))?;
        let side = |mark, side: &Option<String>| match side {
            Some(text) => format!("    {mark} {}", around(text, &self.a, &self.b)),
            None => format!("    {mark} (nothing)"),
        };
        writeln!(f, "{}", side('-', &self.a))?;
        writeln!(f, "{}", side('+', &self.b))
    }
}

/// The part of a text around the first character that differs.
fn around(text: &str, a: &Option<String>, b: &Option<String>) -> String {
    let same = match (a, b) {
        (Some(a), Some(b)) => a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    };
    let from = if text.chars().count() > SHOWN { same.saturating_sub(40) } else { 0 };
    let part: String = text.chars().skip(from).collect();
    if from > 0 { format!("…{}", excerpt(&part, SHOWN)) } else { excerpt(&part, SHOWN) }
}

impl fmt::Display for RunDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            writeln!(f, "no difference (times, durations, ids and hashes were not compared)")?;
        }
        for limit in &self.limits {
            writeln!(f, "⚠ {}", excerpt(limit, SHOWN))?;
        }
        if let Some(first) = &self.first {
            let step = |step: &Option<String>| {
                step.as_deref().map_or_else(|| "nowhere".to_owned(), |step| excerpt(step, 80))
            };
            writeln!(
                f,
                "first divergence: pass {}, {}, at {} and {}",
                first.pass,
                first.milestone,
                step(&first.a_step),
                step(&first.b_step)
            )?;
            write!(f, "{}", first.difference)?;
        }
        let section = |f: &mut fmt::Formatter<'_>, name: &str, list: &[Difference]| {
            if !list.is_empty() {
                writeln!(f, "{name}:")?;
            }
            list.iter().try_for_each(|difference| write!(f, "{difference}"))
        };
        section(f, "configuration", &self.configuration)?;
        for (number, differences) in &self.passes {
            section(f, &format!("pass {number}"), differences)?;
        }
        section(f, "answer", self.answer.as_slice())?;
        section(f, "end state", &self.state)
    }
}

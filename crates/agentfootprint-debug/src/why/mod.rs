//! From an answer back to what it is made of.
//!
//! The walk back has two kinds of links. *Recorded* ones are facts: who wrote a value, which step decided, which piece was
//! served to a model call, which step put a message into the conversation. *Suspects* are an inference: a model call reads
//! everything it is sent, so the pieces it was sent are ranked by what they share with its answer, and the score says only that.

mod chain;
mod suspects;
mod words;

use std::fmt;

use agentfootprint_record::recording::OpenRecording;
use footprint::query::{QueryError, SliceOptions, StateKey, TraceQuery};
use footprint::value::{Object, Value};

use crate::plain::{excerpt, plain};

pub use suspects::Suspect;

/// One recorded link: where, and what happened there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Address of the step.
    pub at: String,
    /// What it did, in one line.
    pub what: String,
}

impl Link {
    fn new(at: impl ToString, what: impl Into<String>) -> Self {
        Self { at: at.to_string(), what: what.into() }
    }
}

/// Why a value is what it is.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Why {
    /// The question: the answer of the run, or a variable.
    pub claim: String,
    /// The value, in short.
    pub answer: String,
    /// Recorded links, from the answer backwards.
    pub chain: Vec<Link>,
    /// Pieces of context the deciding model call was sent, ranked by what they share with the answer.
    pub suspects: Vec<Suspect>,
    /// Suspects not listed.
    pub folded: usize,
    /// The causal slice of a variable, as text.
    pub slice: Option<String>,
    /// What the record cannot say.
    pub honesty: Vec<String>,
}

/// A question the recording cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WhyError {
    /// The variable is not in the record.
    #[error("no step of this recording wrote `{variable}`; it has {}", listed(.known))]
    UnknownVariable {
        /// What was asked for.
        variable: String,
        /// Variables there are, some of them.
        known: Vec<String>,
    },
    /// The variable's name cannot be one.
    #[error("`{variable}` is not a variable: {reason}")]
    NotAVariable {
        /// What was asked for.
        variable: String,
        /// Why not.
        reason: String,
    },
    /// A list has no such item.
    #[error("`{variable}` has {length} items, so there is no item {item}")]
    NoSuchItem {
        /// The list.
        variable: String,
        /// The item asked for.
        item: usize,
        /// Its length.
        length: usize,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no variables at all".to_owned() } else { names.join(", ") }
}

/// How many variables a correction lists.
const LISTED: usize = 12;

/// Why the run answered what it answered.
///
/// ```no_run
/// use agentfootprint_debug::why;
/// use agentfootprint_record::recording::Recording;
/// let opened = Recording::open(&std::fs::read("run.json")?)?;
/// println!("{}", why::answer(&opened));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn answer(opened: &OpenRecording) -> Why {
    told(opened, None)
}

/// Why the answer has these words in it: the same walk, with the pieces ranked by these words alone.
pub fn about(opened: &OpenRecording, words: &str) -> Why {
    told(opened, Some(words))
}

fn told(opened: &OpenRecording, about: Option<&str>) -> Why {
    let mut why = chain::of_answer(opened.recording(), about);
    why.honesty.extend(opened.limits().iter().map(ToString::to_string));
    why
}

/// Why a variable has its value: `total`, `cfg.mode`, or an item of a list, `history[2]`.
///
/// # Errors
/// [`WhyError`] names the variable and what there is instead.
pub fn variable(opened: &OpenRecording, name: &str) -> Result<Why, WhyError> {
    let query = TraceQuery::new(opened.recording().snapshot.clone());
    let (path, item) = indexed(name);
    let not_a_variable =
        |error: QueryError| WhyError::NotAVariable { variable: name.to_owned(), reason: error.to_string() };
    let key = StateKey::dotted(path).map_err(not_a_variable)?;
    let root = query.root();
    let last = root.last_writer(&key, None).ok_or_else(|| WhyError::UnknownVariable {
        variable: name.to_owned(),
        known: query.overview().keys.iter().take(LISTED).map(ToString::to_string).collect(),
    })?;
    let mut why = Why { claim: name.to_owned(), ..Why::default() };
    let mut before = None;
    if let Some(item) = item {
        let births = root.array_births(&key, None);
        let birth = births.births.as_ref().and_then(|births| births.get(item)).ok_or_else(|| {
            WhyError::NoSuchItem {
                variable: path.to_owned(),
                item,
                length: births.births.as_ref().map_or(0, Vec::len),
            }
        })?;
        why.answer = excerpt(&birth.value.to_string(), 200);
        if let Some(born) = &birth.born {
            why.chain.push(Link::new(
                &born.runtime_stage_id,
                format!("put item {item} into `{path}` ({})", birth.basis.word()),
            ));
            before = Some(footprint::ids::CommitIdx(born.commit_idx.0 + 1));
        }
    } else {
        let value = root.value_at(&key, last.commit_idx).ok().and_then(|at| at.value.value().cloned());
        why.answer = value.map_or_else(|| "(no value)".to_owned(), |value| excerpt(&value.to_string(), 200));
        why.chain.push(Link::new(&last.runtime_stage_id, format!("wrote `{path}` last")));
    }
    let slice = root.slice_for_key(&key, before, &SliceOptions::for_key()).map_err(not_a_variable)?;
    why.honesty.extend(slice.notes.iter().map(|note| note.detail.clone()));
    why.slice = Some(slice.format());
    why.honesty.extend(opened.limits().iter().map(ToString::to_string));
    Ok(why)
}

/// `history[2]` → (`history`, 2).
fn indexed(name: &str) -> (&str, Option<usize>) {
    let split = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    match split.and_then(|(path, index)| Some((path, index.parse().ok()?))) {
        Some((path, index)) => (path, Some(index)),
        None => (name, None),
    }
}

impl Why {
    /// The same as JSON.
    pub fn to_value(&self) -> Value {
        let link = |link: &Link| {
            let mut out = Object::new();
            out.insert("at", Value::from(link.at.as_str()));
            out.insert("what", Value::from(link.what.as_str()));
            Value::Object(out)
        };
        let mut out = Object::new();
        out.insert("claim", Value::from(self.claim.as_str()));
        out.insert("answer", Value::from(self.answer.as_str()));
        out.insert("chain", self.chain.iter().map(link).collect::<Vec<_>>().into());
        out.insert("suspects", self.suspects.iter().map(Suspect::to_value).collect::<Vec<_>>().into());
        if self.folded > 0 {
            out.insert("folded", Value::from(self.folded as u64));
        }
        if let Some(slice) = &self.slice {
            out.insert("slice", Value::from(slice.as_str()));
        }
        out.insert(
            "honesty",
            self.honesty.iter().map(|line| Value::from(line.as_str())).collect::<Vec<_>>().into(),
        );
        Value::Object(out)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "why: {}", plain(&self.claim))?;
        writeln!(f, "  \"{}\"", excerpt(&self.answer, 300))?;
        for link in &self.chain {
            writeln!(f, "  ← {:<34} {}", plain(&link.at), plain(&link.what))?;
        }
        if !self.suspects.is_empty() {
            writeln!(
                f,
                "  what that call read, by what it shares with the answer (correlation, not proof):"
            )?;
        }
        for (rank, suspect) in self.suspects.iter().enumerate() {
            write!(f, "{}", suspect.lines(rank + 1))?;
        }
        if self.folded > 0 {
            writeln!(f, "     … and {} more", self.folded)?;
        }
        if let Some(slice) = &self.slice {
            for line in slice.lines() {
                writeln!(f, "  {}", plain(line))?;
            }
        }
        if !self.honesty.is_empty() {
            writeln!(f, "  the record does not say: {}", plain(&self.honesty.join("; ")))?;
        }
        Ok(())
    }
}

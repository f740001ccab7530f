//! The dispatch a procedure is given: it keeps what the inner tools answered, and ends the procedure at an absence (TOOL-82).

use std::error::Error as StdError;
use std::sync::{Arc, Mutex};

use footprint::value::Value;

use crate::run::lock;
use crate::tools::ToolResultStatus;
use crate::tools::coverage::read_coverage;
use crate::tools::dispatch_door::{InnerCallError, ToolDispatch};
use crate::tools::envelope::{EnvelopeReading, read_envelope};
use crate::tools::failure::inner_error_behind;
use crate::tools::output::ToolOutput;

/// What the inner calls of one walk answered, in the order they were made: a place is taken when a call begins, so that calls of
/// parallel branches stand in the same order however long they take.
#[derive(Default)]
pub(super) struct InnerResults(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    places: Vec<Option<Value>>,
    /// Where the earliest absence stands that no call allowed.
    absence: Option<usize>,
}

impl InnerResults {
    fn begin(&self) -> usize {
        let places = &mut lock(&self.0).places;
        places.push(None);
        places.len() - 1
    }

    fn keep(&self, at: usize, result: Value, ends: bool) {
        let mut kept = lock(&self.0);
        if ends {
            kept.absence = Some(kept.absence.map_or(at, |earlier| earlier.min(at)));
        }
        if let Some(place) = kept.places.get_mut(at) {
            *place = Some(result);
        }
    }

    pub(super) fn all(&self) -> Vec<Value> {
        lock(&self.0).places.iter().flatten().cloned().collect()
    }

    /// The absence the procedure should have ended at, when one was swallowed on the way: by a branch whose failure is contained,
    /// or by the procedure's own code.
    pub(super) fn absence(&self) -> Option<Value> {
        let kept = lock(&self.0);
        kept.places.get(kept.absence?)?.clone()
    }
}

/// A dispatch that keeps every result. A result that is an absence fails the call, unless the call allows one.
pub(super) fn watched(outer: ToolDispatch, results: &Arc<InnerResults>) -> ToolDispatch {
    let (named, results) = (outer.clone(), Arc::clone(results));
    ToolDispatch::new(
        Arc::new(move |name| named.has(name)),
        Arc::new(move |name, args, options| {
            let (outer, results) = (outer.clone(), Arc::clone(&results));
            let at = results.begin();
            Box::pin(async move {
                let allowed = options.allow_absent;
                let output = outer.call_with(name.clone(), args, options).await?;
                let Some(result) = content(&output) else { return Ok(output) };
                let status = read_coverage(&result).and_then(|reading| reading.status);
                let ends = status == Some(ToolResultStatus::Absent) && !allowed;
                results.keep(at, result.clone(), ends);
                if ends {
                    return Err(InnerCallError::Absent { name, result });
                }
                Ok(output)
            })
        }),
    )
}

/// What a tool answered, without the envelope it may have steered with.
fn content(output: &ToolOutput) -> Option<Value> {
    let value = match output {
        ToolOutput::Envelope(envelope) => return Some(envelope.content.clone()),
        other => other.clone().into_value()?,
    };
    Some(match read_envelope(&value) {
        EnvelopeReading::Envelope(envelope) => envelope.content,
        EnvelopeReading::NearMiss | EnvelopeReading::Data => value,
    })
}

/// The absence a failed walk ended at, however the engine and the procedure wrapped it.
pub(super) fn absence_behind(error: &(dyn StdError + 'static)) -> Option<Value> {
    inner_error_behind(error, |error| match error {
        InnerCallError::Absent { result, .. } => Some(result.clone()),
        _ => None,
    })
}

//! Several recorders under one id (OBS-41).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::error::panic_text;
use crate::ids::RunId;
use crate::observe::*;
use crate::value::{Object, Str, Value};

/// Hands every event to its children in order. A child that fails does not keep the others from hearing.
///
/// ```
/// use std::sync::Arc;
/// use footprint::recorders::{Composite, Manifest, Metrics};
/// let both = Composite::new("both", [Arc::new(Metrics::new()) as _, Arc::new(Manifest::new()) as _]);
/// assert!(both.get::<Metrics>().is_some());
/// ```
pub struct Composite {
    id: Str,
    children: Vec<Arc<dyn Recorder>>,
}

impl std::fmt::Debug for Composite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let children: Vec<&str> = self.children.iter().map(|c| c.id()).collect();
        f.debug_struct("Composite").field("id", &self.id).field("children", &children).finish()
    }
}

impl Composite {
    /// These recorders under one id.
    pub fn new(id: impl Into<Str>, children: impl IntoIterator<Item = Arc<dyn Recorder>>) -> Self {
        Self { id: id.into(), children: children.into_iter().collect() }
    }

    /// The children in order.
    pub fn children(&self) -> &[Arc<dyn Recorder>] {
        &self.children
    }

    /// The first child of this type.
    pub fn get<T: Recorder>(&self) -> Option<&T> {
        self.children.iter().find_map(|child| {
            let any: &dyn Any = &**child;
            any.downcast_ref::<T>()
        })
    }

    /// Tells all children and collects what failed.
    fn tell_all(&self, tell: impl Fn(&dyn Recorder) -> HookResult) -> HookResult {
        let mut failures = Vec::new();
        for child in &self.children {
            let failed = match catch_unwind(AssertUnwindSafe(|| tell(&**child))) {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.message,
                Err(payload) => format!("panic: {}", panic_text(&*payload)),
            };
            failures.push(format!("{}: {failed}", child.id()));
        }
        if failures.is_empty() { Ok(()) } else { Err(RecorderError::new(failures.join("; "))) }
    }
}

impl Recorder for Composite {
    fn id(&self) -> &str {
        &self.id
    }

    fn interest(&self) -> Interest {
        self.children.iter().fold(Interest::NONE, |all, child| all | child.interest())
    }

    fn on_leg(&self, leg: &RunLeg<'_>) -> HookResult {
        self.tell_all(|child| child.on_leg(leg))
    }

    fn on_event(&self, cx: &EventCx<'_>, e: &Payload) -> HookResult {
        let hook = e.hook();
        self.tell_all(|child| if child.interest().contains(hook) { child.on_event(cx, e) } else { Ok(()) })
    }

    fn snapshot(&self, run: &RunId) -> Option<RecorderBundle> {
        let row = |child: &Arc<dyn Recorder>| {
            let bundle = catch_unwind(AssertUnwindSafe(|| child.snapshot(run))).ok().flatten()?;
            let mut row = Object::new();
            row.insert("id", child.id().into());
            row.insert("name", Value::from(&bundle.name));
            if let Some(description) = &bundle.description {
                row.insert("description", Value::from(description));
            }
            if let Some(operation) = bundle.preferred_operation {
                row.insert("preferredOperation", operation.word().into());
            }
            row.insert("data", bundle.data);
            if let Some(meta) = bundle.meta {
                row.insert("meta", meta);
            }
            Some(Value::Object(row))
        };
        let children = self.children.iter().filter_map(row).collect();
        let data = Object::from_iter([(Str::from("children"), Value::Array(children))]);
        Some(RecorderBundle::new("Composite", Value::Object(data)))
    }
}

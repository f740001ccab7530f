//! Where a parallel branch writes (ENG-81, ENG-82): `runs␟<child>` below the namespace of its fork.

use std::sync::Arc;

use crate::observe::NamespaceId;
use crate::state::Path;
use crate::value::{Object, Str, Value};

/// The namespace of one parallel branch. A level's root has none.
pub(crate) struct Namespace {
    /// `["runs", "outer", "runs", "inner"]`.
    segments: Vec<Str>,
    /// The same as a path.
    path: Path,
    /// `outer/inner`: the form events and frames show.
    id: NamespaceId,
}

impl Namespace {
    /// The namespace of a child of a fan-out that itself runs in `outer`.
    pub(crate) fn child(outer: Option<&Arc<Self>>, child: &Str, runs: &Str) -> Arc<Self> {
        let mut segments = outer.map_or_else(Vec::new, |outer| outer.segments.clone());
        segments.push(runs.clone());
        segments.push(child.clone());
        let id = match outer {
            None => child.clone(),
            Some(outer) => format!("{}/{child}", outer.id.as_str()).into(),
        };
        Arc::new(Self { path: Path::new(segments.clone()), segments, id: NamespaceId(id) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn id(&self) -> &NamespaceId {
        &self.id
    }

    /// Reads a root key as a stage in this namespace sees it: innermost namespace first, root last.
    pub(crate) fn lookup<'a>(&self, state: &'a Object, key: &str) -> Option<&'a Value> {
        let mut end = self.segments.len();
        while end > 0 {
            let found =
                self.segments.get(..end).and_then(|path| descend(state, path)).and_then(|o| o.get(key));
            if found.is_some() {
                return found;
            }
            end = end.saturating_sub(2);
        }
        state.get(key)
    }
}

/// The object at a path of keys, if there is one.
pub(crate) fn descend<'a>(state: &'a Object, path: &[Str]) -> Option<&'a Object> {
    path.iter().try_fold(state, |object, segment| object.get(segment).and_then(Value::as_object))
}

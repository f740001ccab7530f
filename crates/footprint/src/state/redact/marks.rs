use indexmap::IndexSet;

use crate::state::Path;
use crate::state::staging::inside_namespaces;
use crate::value::Str;

/// Paths that stages marked as redacted while writing. One per run, shared by all its levels; a mark holds
/// until its key is deleted.
///
/// Paths are relative to the namespace of the writing branch: a mark covers the key in every branch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks {
    paths: Vec<Path>,
    selected: IndexSet<Str>,
}

impl Marks {
    /// Marks what stands at a path, now and later.
    pub fn mark(&mut self, path: Path) {
        if let Some(key) = path.segments().first() {
            self.selected.insert(key.clone());
        }
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    /// Takes back marks at and below a path, as a delete does. What the policy selects stays selected.
    pub fn clear(&mut self, path: &Path) {
        self.paths.retain(|mark| !path.is_prefix_of(mark));
    }

    /// Whether no mark is set.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether a mark stands at, above or below a path.
    pub fn touches(&self, path: &Path) -> bool {
        self.paths.iter().any(|mark| mark.is_prefix_of(path) || path.is_prefix_of(mark))
    }

    /// The marks.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Remembers the root keys of paths a commit redacted, for the report.
    pub fn note_redacted(&mut self, paths: &[Path]) {
        for path in paths {
            if let [key] = inside_namespaces(path.segments()) {
                self.selected.insert(key.clone());
            }
        }
    }

    /// Keys selected so far, in order of first sight.
    pub(super) fn selected(&self) -> impl Iterator<Item = &Str> {
        self.selected.iter()
    }
}

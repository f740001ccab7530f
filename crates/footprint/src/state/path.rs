use std::fmt;

use smallvec::SmallVec;

use crate::ids::UNIT_SEPARATOR;
use crate::value::Str;

/// Where a value stands in state: a root key, then segments below it. One segment needs no allocation.
///
/// The empty path is the root itself; no row ever has it.
///
/// ```
/// use footprint::state::Path;
/// let path = Path::dotted("order.address.zip");
/// assert_eq!(path.root_key(), Some("order"));
/// assert_eq!(path.wire(), "order\u{1f}address\u{1f}zip");
/// assert_eq!(Path::from_wire(&path.wire()), path);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(SmallVec<[Str; 1]>);

/// How a row's path stands to a key, by whole segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathRelation {
    /// The same path.
    Exact,
    /// The row is below the key.
    Inside,
    /// The row is above the key.
    Around,
    /// Neither is part of the other.
    Apart,
}

impl Path {
    /// A path of segments.
    pub fn new(segments: impl IntoIterator<Item = Str>) -> Self {
        Self(segments.into_iter().collect())
    }

    /// The empty path.
    pub fn root() -> Self {
        Self::default()
    }

    /// A root key.
    pub fn key(key: impl Into<Str>) -> Self {
        Self(SmallVec::from_buf([key.into()]))
    }

    /// The form with dots, as authors write it. An empty text is the empty path.
    pub fn dotted(text: &str) -> Self {
        Self::split(text, '.')
    }

    /// The recorded form.
    pub fn from_wire(text: &str) -> Self {
        Self::split(text, UNIT_SEPARATOR)
    }

    fn split(text: &str, separator: char) -> Self {
        if text.is_empty() { Self::default() } else { Self(text.split(separator).map(Str::from).collect()) }
    }

    /// The recorded form: segments joined by U+001F. Never show it.
    pub fn wire(&self) -> String {
        self.joined(UNIT_SEPARATOR)
    }

    fn joined(&self, separator: char) -> String {
        let mut text = String::with_capacity(self.0.iter().map(|s| s.len() + 1).sum());
        for (at, segment) in self.0.iter().enumerate() {
            if at > 0 {
                text.push(separator);
            }
            text.push_str(segment);
        }
        text
    }

    /// The segments.
    pub fn segments(&self) -> &[Str] {
        &self.0
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is the root itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first segment.
    pub fn root_key(&self) -> Option<&str> {
        self.0.first().map(|key| &**key)
    }

    /// The last segment.
    pub fn last(&self) -> Option<&Str> {
        self.0.last()
    }

    /// This path, then the segments of another.
    pub fn join(&self, rest: &Self) -> Self {
        if self.is_empty() {
            return rest.clone();
        }
        Self(self.0.iter().chain(&rest.0).cloned().collect())
    }

    /// This path and one more segment.
    pub fn child(&self, segment: impl Into<Str>) -> Self {
        Self(self.0.iter().cloned().chain([segment.into()]).collect())
    }

    /// Whether the other path is this one or below it.
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// How this path stands to `key`.
    pub fn relation_to(&self, key: &Self) -> PathRelation {
        match (key.is_prefix_of(self), self.is_prefix_of(key)) {
            (true, true) => PathRelation::Exact,
            (true, false) => PathRelation::Inside,
            (false, true) => PathRelation::Around,
            (false, false) => PathRelation::Apart,
        }
    }
}

/// With dots, for people.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            f.write_str(segment)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl From<&str> for Path {
    fn from(key: &str) -> Self {
        Self::key(key)
    }
}

impl From<Str> for Path {
    fn from(key: Str) -> Self {
        Self::key(key)
    }
}

impl AsRef<[Str]> for Path {
    fn as_ref(&self) -> &[Str] {
        &self.0
    }
}

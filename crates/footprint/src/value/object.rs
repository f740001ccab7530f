use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use rpds::HashTrieMapSync;
use smallvec::SmallVec;

use super::array::child_depth;
use super::equal::{Pairs, same_so_far};
use super::pvec::{PIter, PVec};
use super::shapes::{self, Keys};
use super::{Str, Value, names};

/// Up to this many entries an object is two flat lists; beyond, persistent vectors and a hash trie.
const FLAT: usize = 64;

/// Values of a flat object; up to four stand in the node itself.
type FlatValues = SmallVec<[Value; 4]>;

/// An insertion-ordered map from text to values: O(1) clone, O(log n) insert, get and remove.
///
/// Replacing a value keeps its position; removing and inserting again moves it to the end. Objects that
/// only differ in values share their key list. Equality does not regard order.
///
/// ```
/// use footprint::value::{Object, Value};
/// let mut a = Object::new();
/// a.insert("x", Value::from(1));
/// let b = a.clone();
/// a.insert("x", Value::from(2));
/// assert_eq!((a.get("x"), b.get("x")), (Some(&Value::from(2)), Some(&Value::from(1))));
/// ```
#[derive(Clone, Default)]
pub struct Object(Option<Arc<Node>>);

#[derive(Clone)]
struct Node {
    depth: u16,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Flat { keys: Keys, values: FlatValues },
    Wide(Box<Wide>),
}

/// Slots in insertion order; a removed entry leaves a slot without key until the next compaction.
#[derive(Clone)]
struct Wide {
    keys: PVec<Option<Str>>,
    values: PVec<Value>,
    index: HashTrieMapSync<Key, u32>,
}

/// What can name an entry of an [`Object`]: text of any kind. Short names that are not shared yet become shared ones
/// without an allocation where the thread has met them before.
pub trait IntoKey: AsRef<str> {
    /// The key as shared text.
    fn into_key(self) -> Str;
}

impl IntoKey for Str {
    fn into_key(self) -> Str {
        self
    }
}

impl IntoKey for &Str {
    fn into_key(self) -> Str {
        self.clone()
    }
}

impl IntoKey for &str {
    fn into_key(self) -> Str {
        names::shared(self)
    }
}

impl IntoKey for String {
    fn into_key(self) -> Str {
        names::shared(&self)
    }
}

impl IntoKey for &String {
    fn into_key(self) -> Str {
        names::shared(self)
    }
}

impl IntoKey for Box<str> {
    fn into_key(self) -> Str {
        names::shared(&self)
    }
}

impl IntoKey for std::borrow::Cow<'_, str> {
    fn into_key(self) -> Str {
        names::shared(&self)
    }
}

/// A shared key that can be looked up by `&str`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key(Str);

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Object {
    /// An empty object; allocates nothing.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        match self.body() {
            None => 0,
            Some(Body::Flat { values, .. }) => values.len(),
            Some(Body::Wide(wide)) => wide.index.size(),
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.get_entry(key).map(|(_, value)| value)
    }

    /// The object's own copy of a key, and its value.
    pub fn get_entry(&self, key: &str) -> Option<(&Str, &Value)> {
        match self.body()? {
            Body::Flat { keys, values } => {
                let at = flat_position(keys, key)?;
                Some((keys.get(at)?, values.get(at)?))
            }
            Body::Wide(wide) => {
                let at = *wide.index.get(key)? as usize;
                Some((wide.keys.get(at)?.as_ref()?, wide.values.get(at)?))
            }
        }
    }

    /// Whether there is a value under a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get_entry(key).is_some()
    }

    /// Follows segments, as [`Value::walk`] does.
    pub fn walk<S: AsRef<str>>(&self, segments: &[S]) -> Option<&Value> {
        let (first, rest) = segments.split_first()?;
        self.get(first.as_ref())?.walk(rest)
    }

    /// Puts a value under a key and returns what was there.
    pub fn insert(&mut self, key: impl IntoKey, value: Value) -> Option<Value> {
        let node = self.node_mut();
        node.depth = node.depth.max(child_depth(&value));
        match &mut node.body {
            Body::Flat { keys, values } => match flat_position(keys, key.as_ref()) {
                Some(at) => values.get_mut(at).map(|slot| std::mem::replace(slot, value)),
                None if values.len() < FLAT => {
                    shapes::add(keys, key);
                    values.push(value);
                    None
                }
                None => {
                    let entries = keys.iter().cloned().zip(std::mem::take(values));
                    let mut wide = Wide::from_unique(entries);
                    wide.push(key.into_key(), value);
                    node.body = Body::Wide(Box::new(wide));
                    None
                }
            },
            Body::Wide(wide) => match wide.index.get(key.as_ref()).copied() {
                Some(at) => {
                    let before = wide.values.get(at as usize).cloned();
                    wide.values.set(at as usize, value);
                    before
                }
                None => {
                    wide.push(key.into_key(), value);
                    None
                }
            },
        }
    }

    /// Takes a key out and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        if !self.contains_key(key) {
            return None;
        }
        let node = self.node_mut();
        match &mut node.body {
            Body::Flat { keys, values } => {
                let at = flat_position(keys, key)?;
                Arc::make_mut(keys).remove(at);
                Some(values.remove(at))
            }
            Body::Wide(wide) => {
                let at = *wide.index.get(key)? as usize;
                let value = wide.values.get(at).cloned();
                wide.keys.set(at, None);
                wide.values.set(at, Value::Null);
                wide.index.remove_mut(key);
                let live = wide.index.size();
                if wide.keys.len() > 2 * live + FLAT {
                    let compact: Self = wide.entries().map(|(k, v)| (k.clone(), v.clone())).collect();
                    let depth = node.depth;
                    *self = compact;
                    if let Some(node) = &mut self.0 {
                        Arc::make_mut(node).depth = depth;
                    }
                }
                value
            }
        }
    }

    /// The entries in insertion order.
    pub fn iter(&self) -> ObjectIter<'_> {
        ObjectIter(match self.body() {
            None => Entries::Flat { keys: [].iter(), values: [].iter() },
            Some(Body::Flat { keys, values }) => Entries::Flat { keys: keys.iter(), values: values.iter() },
            Some(Body::Wide(wide)) => Entries::Wide {
                keys: wide.keys.iter(),
                values: wide.values.iter(),
                remaining: wide.index.size(),
            },
        })
    }

    /// The keys in insertion order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Str> + ExactSizeIterator {
        self.iter().map(|(key, _)| key)
    }

    /// The values in insertion order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.iter().map(|(_, value)| value)
    }

    /// One level of deep equality.
    pub(super) fn same_entries<'a>(&'a self, other: &'a Self, later: &mut Pairs<'a>) -> bool {
        if self.ptr_eq(other) {
            return true;
        }
        if self.len() != other.len() {
            return false;
        }
        match (self.body(), other.body()) {
            (Some(Body::Flat { keys: a, values: x }), Some(Body::Flat { keys: b, values: y }))
                if Arc::ptr_eq(a, b) =>
            {
                x.iter().zip(y).all(|(x, y)| same_so_far(x, y, later))
            }
            // One history: slots agree chunk by chunk, and shared chunks are skipped.
            (Some(Body::Wide(a)), Some(Body::Wide(b)))
                if a.keys.len() == b.keys.len() && a.keys.is_prefix_of(&b.keys, PartialEq::eq) =>
            {
                a.values.is_prefix_of(&b.values, |x, y| same_so_far(x, y, later))
            }
            _ => self
                .iter()
                .all(|(key, value)| other.get(key).is_some_and(|theirs| same_so_far(value, theirs, later))),
        }
    }

    /// Whether both are the same shared object.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    pub(crate) fn depth(&self) -> usize {
        self.0.as_ref().map_or(1, |node| usize::from(node.depth))
    }

    pub(super) fn is_shared(&self) -> bool {
        self.0.as_ref().is_some_and(|node| Arc::strong_count(node) > 1)
    }

    pub(super) fn address(&self) -> usize {
        self.0.as_ref().map_or(0, |node| Arc::as_ptr(node) as usize)
    }

    fn body(&self) -> Option<&Body> {
        self.0.as_ref().map(|node| &node.body)
    }

    fn node_mut(&mut self) -> &mut Node {
        Arc::make_mut(self.0.get_or_insert_with(|| {
            Arc::new(Node { depth: 1, body: Body::Flat { keys: shapes::none(), values: FlatValues::new() } })
        }))
    }

    /// Entries whose keys are known to be distinct.
    fn from_unique(keys: Keys, values: FlatValues) -> Self {
        if values.is_empty() {
            return Self::new();
        }
        let depth = values.iter().map(child_depth).max().unwrap_or(1);
        let body = if values.len() <= FLAT {
            Body::Flat { keys, values }
        } else {
            Body::Wide(Box::new(Wide::from_unique(keys.iter().cloned().zip(values))))
        };
        Self(Some(Arc::new(Node { depth, body })))
    }
}

impl Wide {
    fn from_unique(entries: impl Iterator<Item = (Str, Value)>) -> Self {
        let (keys, values): (Vec<Str>, Vec<Value>) = entries.unzip();
        let mut index = HashTrieMapSync::new_sync();
        for (at, key) in keys.iter().enumerate() {
            index.insert_mut(Key(key.clone()), at as u32);
        }
        Self {
            keys: PVec::from_vec(keys.into_iter().map(Some).collect()),
            values: PVec::from_vec(values),
            index,
        }
    }

    fn push(&mut self, key: Str, value: Value) {
        self.index.insert_mut(Key(key.clone()), self.keys.len() as u32);
        self.keys.push(Some(key));
        self.values.push(value);
    }

    fn entries(&self) -> impl Iterator<Item = (&Str, &Value)> {
        self.keys.iter().zip(self.values.iter()).filter_map(|(key, value)| key.as_ref().map(|k| (k, value)))
    }
}

fn flat_position(keys: &[Str], key: &str) -> Option<usize> {
    keys.iter().position(|candidate| **candidate == *key)
}

impl<K: IntoKey> FromIterator<(K, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Self {
        let (mut keys, mut values) = (shapes::none(), FlatValues::new());
        let mut entries = entries.into_iter();
        for (key, value) in entries.by_ref() {
            match flat_position(&keys, key.as_ref()) {
                Some(at) => {
                    if let Some(slot) = values.get_mut(at) {
                        *slot = value;
                    }
                }
                None => {
                    shapes::add(&mut keys, key);
                    values.push(value);
                    if keys.len() > FLAT {
                        break;
                    }
                }
            }
        }
        let mut object = Self::from_unique(keys, values);
        for (key, value) in entries {
            object.insert(key, value);
        }
        object
    }
}

impl<K: IntoKey> Extend<(K, Value)> for Object {
    fn extend<I: IntoIterator<Item = (K, Value)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a Str, &'a Value);
    type IntoIter = ObjectIter<'a>;

    fn into_iter(self) -> ObjectIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// The entries of an [`Object`] in insertion order.
pub struct ObjectIter<'a>(Entries<'a>);

#[allow(
    clippy::large_enum_variant,
    reason = "an iterator lives on the stack; boxing it would allocate per loop"
)]
enum Entries<'a> {
    Flat { keys: std::slice::Iter<'a, Str>, values: std::slice::Iter<'a, Value> },
    Wide { keys: PIter<'a, Option<Str>>, values: PIter<'a, Value>, remaining: usize },
}

impl<'a> Iterator for ObjectIter<'a> {
    type Item = (&'a Str, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Entries::Flat { keys, values } => Some((keys.next()?, values.next()?)),
            Entries::Wide { keys, values, remaining } => loop {
                if let (Some(key), value) = (keys.next()?, values.next()?) {
                    *remaining -= 1;
                    return Some((key, value));
                }
            },
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = match &self.0 {
            Entries::Flat { values, .. } => values.len(),
            Entries::Wide { remaining, .. } => *remaining,
        };
        (remaining, Some(remaining))
    }
}

impl DoubleEndedIterator for ObjectIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Entries::Flat { keys, values } => Some((keys.next_back()?, values.next_back()?)),
            Entries::Wide { keys, values, remaining } => loop {
                if let (Some(key), value) = (keys.next_back()?, values.next_back()?) {
                    *remaining -= 1;
                    return Some((key, value));
                }
            },
        }
    }
}

impl ExactSizeIterator for ObjectIter<'_> {}

use std::fmt;
use std::sync::Arc;

use super::equal::{Pairs, same_so_far};
use super::pvec::{PIter, PVec};
use super::{Str, Value};

/// A persistent list of values: O(1) clone, O(log n) push and set, shared with every version it came from.
///
/// ```
/// use footprint::value::{Array, Value};
/// let mut list: Array = [Value::from(1), Value::from(2)].into_iter().collect();
/// let before = list.clone();
/// list.push(Value::from(3));
/// assert_eq!((before.len(), list.len()), (2, 3));
/// assert_eq!(list.tail(2).get(0), Some(&Value::from(3)));
/// ```
#[derive(Clone, Default)]
pub struct Array(Option<Arc<Node>>);

#[derive(Clone)]
struct Node {
    depth: u16,
    items: PVec<Value>,
}

impl Array {
    /// An empty list; allocates nothing.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |node| node.items.len())
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at a position.
    pub fn get(&self, index: usize) -> Option<&Value> {
        self.0.as_ref().and_then(|node| node.items.get(index))
    }

    /// The first item.
    pub fn first(&self) -> Option<&Value> {
        self.get(0)
    }

    /// The last item.
    pub fn last(&self) -> Option<&Value> {
        self.0.as_ref().and_then(|node| node.items.last())
    }

    /// The items in order, from both ends.
    pub fn iter(&self) -> ArrayIter<'_> {
        ArrayIter(self.0.as_ref().map(|node| node.items.iter()))
    }

    /// The items from a position on, without walking what lies before it.
    pub fn iter_from(&self, start: usize) -> impl Iterator<Item = &Value> {
        self.0.iter().flat_map(move |node| node.items.iter_from(start))
    }

    /// Adds an item at the end. Other versions of the list keep what they had.
    pub fn push(&mut self, item: Value) {
        if let Some(node) = &mut self.0
            && Arc::get_mut(node).is_none()
        {
            *node = Arc::new(Node { depth: node.depth, items: node.items.version() });
        }
        let node = self.node_mut();
        node.note_depth(&item);
        node.items.push(item);
    }

    /// Adds items at the end.
    pub fn extend(&mut self, items: impl IntoIterator<Item = Value>) {
        for item in items {
            self.push(item);
        }
    }

    /// Replaces the item at a position; `false`, changing nothing, when there is none.
    pub fn set(&mut self, index: usize, item: Value) -> bool {
        if index >= self.len() {
            return false;
        }
        let node = self.node_mut();
        node.note_depth(&item);
        node.items.set(index, item)
    }

    /// The items from a position on, as a list of their own.
    pub fn tail(&self, from: usize) -> Self {
        if from == 0 {
            return self.clone();
        }
        self.iter_from(from).cloned().collect()
    }

    /// The first `len` items, or all there are: a version that shares them.
    ///
    /// ```
    /// use footprint::value::{Array, Value};
    /// let list: Array = (0..100).map(Value::from).collect();
    /// let mut other = list.prefix(70);
    /// other.push(Value::Null);
    /// assert_eq!((other.len(), other.get(69), list.len()), (71, Some(&Value::from(69)), 100));
    /// assert_eq!(list.shared_prefix(&other), 70);
    /// ```
    pub fn prefix(&self, len: usize) -> Self {
        match &self.0 {
            Some(node) if len > 0 && len < node.items.len() => {
                Self(Some(Arc::new(Node { depth: node.depth, items: node.items.prefix(len) })))
            }
            Some(_) if len == 0 => Self::new(),
            _ => self.clone(),
        }
    }

    /// How many leading items both lists share: the same nodes, or equal scalars. Chunks both share are not
    /// visited, so versions of one growing list cost what differs.
    pub fn shared_prefix(&self, other: &Self) -> usize {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) => a.items.len(),
            (Some(a), Some(b)) => a.items.shared_prefix(&b.items, Value::ptr_eq),
            _ => 0,
        }
    }

    /// Whether this list is the beginning of the other (equal lists included).
    ///
    /// Chunks that both share are not visited.
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, _) => true,
            (Some(_), None) => self.is_empty(),
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a.items.is_prefix_of(&b.items, PartialEq::eq),
        }
    }

    /// One level of deep equality.
    pub(super) fn same_items<'a>(&'a self, other: &'a Self, later: &mut Pairs<'a>) -> bool {
        if self.ptr_eq(other) {
            return true;
        }
        match (&self.0, &other.0) {
            (Some(a), Some(b)) if a.items.len() == b.items.len() => {
                a.items.is_prefix_of(&b.items, |x, y| same_so_far(x, y, later))
            }
            _ => self.len() == other.len(),
        }
    }

    /// Whether both are the same shared list.
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

    fn node_mut(&mut self) -> &mut Node {
        Arc::make_mut(self.0.get_or_insert_with(|| Arc::new(Node { depth: 1, items: PVec::default() })))
    }
}

impl Node {
    fn note_depth(&mut self, item: &Value) {
        self.depth = self.depth.max(child_depth(item));
    }
}

/// Depth of a container that holds this value.
pub(super) fn child_depth(item: &Value) -> u16 {
    u16::try_from(item.depth() + 1).unwrap_or(u16::MAX)
}

impl From<Vec<Value>> for Array {
    fn from(items: Vec<Value>) -> Self {
        if items.is_empty() {
            return Self::new();
        }
        let depth = items.iter().map(child_depth).max().unwrap_or(1);
        Self(Some(Arc::new(Node { depth, items: PVec::from_vec(items) })))
    }
}

impl FromIterator<Value> for Array {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        items.into_iter().collect::<Vec<_>>().into()
    }
}

impl Extend<Value> for Array {
    fn extend<I: IntoIterator<Item = Value>>(&mut self, items: I) {
        Array::extend(self, items);
    }
}

impl FromIterator<Str> for Array {
    fn from_iter<I: IntoIterator<Item = Str>>(items: I) -> Self {
        items.into_iter().map(Value::String).collect()
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Value;
    type IntoIter = ArrayIter<'a>;

    fn into_iter(self) -> ArrayIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// The items of an [`Array`] in order.
pub struct ArrayIter<'a>(Option<PIter<'a, Value>>);

impl<'a> Iterator for ArrayIter<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        self.0.as_mut()?.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.as_ref().map_or((0, Some(0)), Iterator::size_hint)
    }
}

impl DoubleEndedIterator for ArrayIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.as_mut()?.next_back()
    }
}

impl ExactSizeIterator for ArrayIter<'_> {}

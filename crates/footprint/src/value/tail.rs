//! The open end of a persistent vector: a buffer that the versions of a growing list share.
//!
//! A list that grows by one item per step is kept once per step, by state, log and tree. Were the open end copied for each of these
//! versions, a kilobyte of pointers would stay for every item. Instead a version is a length over one buffer whose slots are filled once
//! and in order: whoever pushes to the longest version takes the next slot, whoever pushes to an older one finds it taken and goes on in
//! a buffer of its own.

use std::sync::{Arc, OnceLock};

/// Fewer items than a chunk, or as many while it is being closed.
pub(super) enum Tail<T> {
    /// Of one version only.
    Own(Vec<T>),
    /// The first `len` slots of a shared buffer; those are filled.
    Shared { slots: Arc<[OnceLock<T>]>, len: usize },
}

impl<T> Default for Tail<T> {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl<T: Clone> Clone for Tail<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Own(items) => Self::Own(items.clone()),
            Self::Shared { slots, len } => Self::Shared { slots: Arc::clone(slots), len: *len },
        }
    }
}

impl<T: Clone> Tail<T> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Own(items) => items.len(),
            Self::Shared { len, .. } => *len,
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        match self {
            Self::Own(items) => items.get(index),
            Self::Shared { slots, len } => slots.get(..*len)?.get(index)?.get(),
        }
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    pub(super) fn iter(&self) -> TailIter<'_, T> {
        self.iter_from(0)
    }

    pub(super) fn iter_from(&self, start: usize) -> TailIter<'_, T> {
        match self {
            Self::Own(items) => TailIter::Own(items.get(start..).unwrap_or_default().iter()),
            Self::Shared { slots, len } => {
                TailIter::Shared(slots.get(start..*len).unwrap_or_default().iter())
            }
        }
    }

    /// A version to push to, beside this one: from here on they share a buffer, with `room` slots at least when it is new.
    pub(super) fn version(&self, room: usize) -> Self {
        match self {
            Self::Own(items) => Self::in_new_buffer(items.iter(), items.len(), room),
            Self::Shared { .. } => self.clone(),
        }
    }

    /// The caller sees to it that a chunk has room for one more.
    pub(super) fn push(&mut self, item: T) {
        match self {
            Self::Own(items) => items.push(item),
            Self::Shared { slots, len } => {
                let refused = match slots.get(*len) {
                    Some(slot) => slot.set(item).err(),
                    None => Some(item),
                };
                let Some(item) = refused else {
                    *len += 1;
                    return;
                };
                // Full, or another version went on from here.
                let mut own = Self::in_new_buffer(self.iter(), self.len(), 0);
                if let Self::Shared { slots, len } = &mut own
                    && let Some(slot) = slots.get(*len)
                    && slot.set(item).is_ok()
                {
                    *len += 1;
                }
                *self = own;
            }
        }
    }

    /// Replaces an item; `false` when there is none at the position.
    pub(super) fn set(&mut self, index: usize, item: T) -> bool {
        if let Self::Shared { .. } = self {
            *self = Self::Own(self.iter().cloned().collect());
        }
        let Self::Own(items) = self else { return false };
        match items.get_mut(index) {
            Some(slot) => {
                *slot = item;
                true
            }
            None => false,
        }
    }

    /// The items as a chunk that is never pushed to again.
    pub(super) fn into_chunk(self) -> Arc<[T]> {
        match self {
            Self::Own(items) => items.into(),
            Self::Shared { .. } => self.iter().cloned().collect::<Vec<_>>().into(),
        }
    }

    /// The first `len` items.
    pub(super) fn prefix(&self, len: usize) -> Self {
        match self {
            Self::Own(items) => Self::Own(items.iter().take(len).cloned().collect()),
            Self::Shared { slots, len: filled } => {
                Self::Shared { slots: Arc::clone(slots), len: len.min(*filled) }
            }
        }
    }

    /// Whether one of both is, without looking at an item, known to be a beginning of the other.
    pub(super) fn is_same_buffer(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Shared { slots: a, .. }, Self::Shared { slots: b, .. }) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// A buffer with room for at least one more item.
    fn in_new_buffer<'a>(items: impl Iterator<Item = &'a T>, len: usize, room: usize) -> Self
    where
        T: 'a,
    {
        let room = (len + 1).next_power_of_two().max(room);
        let empty = std::iter::repeat_with(OnceLock::new).take(room - len);
        let slots: Vec<OnceLock<T>> = items.map(|item| OnceLock::from(item.clone())).chain(empty).collect();
        Self::Shared { slots: slots.into(), len }
    }
}

/// Iterator over a [`Tail`], from both ends.
pub(super) enum TailIter<'a, T> {
    Own(std::slice::Iter<'a, T>),
    Shared(std::slice::Iter<'a, OnceLock<T>>),
}

impl<'a, T> Iterator for TailIter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        match self {
            Self::Own(items) => items.next(),
            Self::Shared(slots) => slots.next().and_then(OnceLock::get),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Own(items) => items.size_hint(),
            Self::Shared(slots) => slots.size_hint(),
        }
    }
}

impl<'a, T> DoubleEndedIterator for TailIter<'a, T> {
    fn next_back(&mut self) -> Option<&'a T> {
        match self {
            Self::Own(items) => items.next_back(),
            Self::Shared(slots) => slots.next_back().and_then(OnceLock::get),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::pvec::CHUNK;

    fn items(tail: &Tail<u32>) -> Vec<u32> {
        tail.iter().copied().collect()
    }

    /// Proves ENG-2, ENG-152: versions of a growing list stand in one buffer, and none sees what another pushed.
    #[test]
    fn versions_share_a_buffer_until_they_part() {
        let first = Tail::Own(vec![1]);
        let mut second = first.version(4);
        second.push(2);
        let mut third = second.version(4);
        third.push(3);
        assert!(second.is_same_buffer(&third));
        let mut other = second.version(4);
        other.push(4);
        assert!(!second.is_same_buffer(&other));
        assert_eq!((items(&first), items(&second)), (vec![1], vec![1, 2]));
        assert_eq!((items(&third), items(&other)), (vec![1, 2, 3], vec![1, 2, 4]));
        assert!(third.set(0, 9));
        assert_eq!((items(&third), items(&second)), (vec![9, 2, 3], vec![1, 2]));
        assert!(!third.set(3, 9));
    }

    /// Proves ENG-2: two tasks that push to one version at once each keep their own item.
    #[test]
    fn concurrent_pushes_part() {
        for _ in 0..200 {
            let base = Tail::Own(vec![0_u32]).version(4);
            let ends: Vec<Vec<u32>> = std::thread::scope(|scope| {
                let pushing = |n: u32| {
                    let mut mine = base.version(4);
                    scope.spawn(move || {
                        mine.push(n);
                        mine.push(n + 10);
                        items(&mine)
                    })
                };
                let threads = [pushing(1), pushing(2)];
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(ends, [vec![0, 1, 11], vec![0, 2, 12]]);
            assert_eq!(items(&base), [0]);
        }
    }

    proptest! {
        /// Proves ENG-2: any mix of versions, pushes and replacements is what plain lists make of it.
        #[test]
        fn as_plain_lists(steps in prop::collection::vec((0..4_u8, 0..8_usize, any::<u32>()), 0..120)) {
            let mut tails = vec![Tail::<u32>::default()];
            let mut plain = vec![Vec::<u32>::new()];
            for (what, which, n) in steps {
                let at = which % tails.len();
                match what {
                    0 if tails.len() < 8 => {
                        tails.push(tails[at].version(4));
                        plain.push(plain[at].clone());
                    }
                    1 => {
                        let slot = n as usize % CHUNK;
                        let done = plain[at].get_mut(slot).map(|known| *known = n).is_some();
                        prop_assert_eq!(tails[at].set(slot, n), done);
                    }
                    _ if plain[at].len() < CHUNK => {
                        tails[at].push(n);
                        plain[at].push(n);
                    }
                    _ => {}
                }
                for (tail, plain) in tails.iter().zip(&plain) {
                    prop_assert_eq!(&items(tail), plain);
                    prop_assert_eq!(tail.last(), plain.last());
                    prop_assert_eq!(tail.iter().rev().count(), plain.len());
                }
            }
        }
    }
}

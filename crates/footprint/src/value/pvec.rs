//! The persistent vector under [`Array`](super::Array) and large [`Object`](super::Object)s.
//!
//! Items live in chunks of 32; full chunks hang in a persistent trie, the last chunk is a [`Tail`].
//! The layout depends on the length alone, so two vectors of one history compare chunk by chunk, and a
//! chunk both share is never visited.

use std::sync::Arc;

use rpds::VectorSync;

use super::tail::{Tail, TailIter};

pub(super) const CHUNK: usize = 32;

type Trie<T> = VectorSync<Arc<[T]>>;

#[derive(Clone)]
pub(super) struct PVec<T> {
    full: Option<Trie<T>>,
    tail: Tail<T>,
}

impl<T> Default for PVec<T> {
    fn default() -> Self {
        Self { full: None, tail: Tail::default() }
    }
}

impl<T: Clone> PVec<T> {
    pub(super) fn from_vec(mut items: Vec<T>) -> Self {
        if items.len() <= CHUNK {
            return Self { full: None, tail: Tail::Own(items) };
        }
        let in_full = (items.len() - 1) / CHUNK * CHUNK;
        let tail = items.split_off(in_full);
        let mut full = Trie::new_sync();
        let mut rest = items.into_iter();
        loop {
            let chunk: Vec<T> = rest.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                break;
            }
            full.push_back_mut(chunk.into());
        }
        Self { full: Some(full), tail: Tail::Own(tail) }
    }

    /// A copy to push to: it and this one, and whatever is pushed to it, stand in one buffer.
    pub(super) fn version(&self) -> Self {
        // A list of many chunks will fill this one too; a short one is spared the room.
        let room = if self.full.is_some() { CHUNK } else { 4 };
        Self { full: self.full.clone(), tail: self.tail.version(room) }
    }

    fn in_full(&self) -> usize {
        self.full.as_ref().map_or(0, |trie| trie.len() * CHUNK)
    }

    pub(super) fn len(&self) -> usize {
        self.in_full() + self.tail.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        match &self.full {
            None => self.tail.get(index),
            Some(trie) => match trie.get(index / CHUNK) {
                Some(chunk) => chunk.get(index % CHUNK),
                None => self.tail.get(index.wrapping_sub(trie.len() * CHUNK)),
            },
        }
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.tail.last()
    }

    pub(super) fn push(&mut self, item: T) {
        if self.tail.len() == CHUNK {
            let chunk = std::mem::take(&mut self.tail).into_chunk();
            self.full.get_or_insert_with(Trie::new_sync).push_back_mut(chunk);
        }
        self.tail.push(item);
    }

    /// Replaces an item; `false` when there is none at the position.
    pub(super) fn set(&mut self, index: usize, item: T) -> bool {
        let in_full = self.in_full();
        if index >= in_full {
            return self.tail.set(index - in_full, item);
        }
        let Some(chunk) = self.full.as_mut().and_then(|trie| trie.get_mut(index / CHUNK)) else {
            return false;
        };
        match Arc::get_mut(chunk).and_then(|items| items.get_mut(index % CHUNK)) {
            Some(slot) => *slot = item,
            None => {
                let mut item = Some(item);
                let replaced = chunk.iter().enumerate().map(|(at, old)| {
                    if at == index % CHUNK { item.take() } else { None }.unwrap_or_else(|| old.clone())
                });
                *chunk = replaced.collect();
            }
        }
        true
    }

    pub(super) fn iter(&self) -> PIter<'_, T> {
        PIter {
            chunks: self.full.as_ref().map(|trie| trie.iter()),
            front: [].iter(),
            back: self.tail.iter(),
            remaining: self.len(),
        }
    }

    /// Items from a position on, without walking what lies before it.
    pub(super) fn iter_from(&self, start: usize) -> impl Iterator<Item = &T> {
        let in_full = self.in_full();
        let chunks = self.full.iter().flat_map(move |trie| {
            (start / CHUNK..trie.len()).filter_map(move |at| {
                let skip = start.saturating_sub(at * CHUNK);
                trie.get(at).and_then(|chunk| chunk.get(skip..))
            })
        });
        let tail = self.tail.iter_from(start.saturating_sub(in_full));
        chunks.flatten().chain(tail)
    }

    /// The first `len` items; chunks that are whole in them are shared.
    pub(super) fn prefix(&self, len: usize) -> Self {
        if len >= self.len() {
            return self.clone();
        }
        let chunks = len.saturating_sub(1) / CHUNK;
        let in_tail = len - chunks * CHUNK;
        let Some(trie) = &self.full else { return Self { full: None, tail: self.tail.prefix(in_tail) } };
        let tail = match trie.get(chunks) {
            Some(chunk) => Tail::Own(chunk.iter().take(in_tail).cloned().collect()),
            None => self.tail.prefix(in_tail),
        };
        let full = if chunks > trie.len() / 2 {
            let mut kept = trie.clone();
            while kept.len() > chunks {
                kept.drop_last_mut();
            }
            kept
        } else {
            trie.iter().take(chunks).cloned().collect()
        };
        Self { full: (chunks > 0).then_some(full), tail }
    }

    /// How many leading pairs of items pass `same`; chunks both sides share are not visited.
    pub(super) fn shared_prefix(&self, other: &Self, mut same: impl FnMut(&T, &T) -> bool) -> usize {
        let mut count = 0;
        if let (Some(mine), Some(theirs)) = (&self.full, &other.full) {
            for (a, b) in mine.iter().zip(theirs.iter()) {
                let alike = if Arc::ptr_eq(a, b) {
                    CHUNK
                } else {
                    a.iter().zip(b.iter()).take_while(|(x, y)| same(x, y)).count()
                };
                count += alike;
                if alike < CHUNK {
                    return count;
                }
            }
        }
        if count == self.in_full() && count == other.in_full() && self.tail.is_same_buffer(&other.tail) {
            return self.len().min(other.len());
        }
        count + self.iter_from(count).zip(other.iter_from(count)).take_while(|(x, y)| same(x, y)).count()
    }

    /// Whether every pair of items passes `same`, skipping chunks both sides share; `other` may be longer.
    pub(super) fn is_prefix_of<'a>(
        &'a self,
        other: &'a Self,
        mut same: impl FnMut(&'a T, &'a T) -> bool,
    ) -> bool {
        if self.len() > other.len() {
            return false;
        }
        if let (Some(mine), Some(theirs)) = (&self.full, &other.full) {
            for (a, b) in mine.iter().zip(theirs.iter()) {
                if !Arc::ptr_eq(a, b) && !a.iter().zip(b.iter()).all(|(x, y)| same(x, y)) {
                    return false;
                }
            }
        }
        let start = self.in_full();
        if start == other.in_full() && self.tail.is_same_buffer(&other.tail) {
            return true;
        }
        self.tail.iter().zip(other.iter_from(start)).all(|(x, y)| same(x, y))
    }
}

/// Iterator over a [`PVec`], from both ends.
pub(super) struct PIter<'a, T> {
    chunks: Option<<&'a Trie<T> as IntoIterator>::IntoIter>,
    front: std::slice::Iter<'a, T>,
    back: TailIter<'a, T>,
    remaining: usize,
}

impl<'a, T> Iterator for PIter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(item) = self.front.next() {
                self.remaining -= 1;
                return Some(item);
            }
            match self.chunks.as_mut().and_then(Iterator::next) {
                Some(chunk) => self.front = chunk.iter(),
                None => {
                    let item = self.back.next()?;
                    self.remaining -= 1;
                    return Some(item);
                }
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl<'a, T> DoubleEndedIterator for PIter<'a, T> {
    fn next_back(&mut self) -> Option<&'a T> {
        loop {
            if let Some(item) = self.back.next_back() {
                self.remaining -= 1;
                return Some(item);
            }
            match self.chunks.as_mut().and_then(DoubleEndedIterator::next_back) {
                Some(chunk) => self.back = TailIter::Own(chunk.iter()),
                None => {
                    let item = self.front.next_back()?;
                    self.remaining -= 1;
                    return Some(item);
                }
            }
        }
    }
}

impl<T> ExactSizeIterator for PIter<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many chunks two versions do not share.
    fn apart<T>(a: &PVec<T>, b: &PVec<T>) -> usize {
        let (Some(a), Some(b)) = (&a.full, &b.full) else { return 0 };
        a.iter().zip(b.iter()).filter(|(x, y)| !Arc::ptr_eq(x, y)).count()
    }

    /// Proves ENG-147: the work of one change does not grow with the length.
    #[test]
    fn a_change_copies_one_chunk_whatever_the_length() {
        for len in [100, 10_000, 100_000] {
            let before = PVec::from_vec((0..len).collect());
            let mut set = before.clone();
            assert!(set.set(5, 0));
            assert_eq!(apart(&before, &set), 1, "{len}");
            let mut pushed = before.clone();
            for n in 0..100 {
                pushed.push(n);
            }
            assert_eq!(apart(&before, &pushed), 0, "{len}");
            assert_eq!(before.len(), len);
        }
    }

    /// Proves ENG-147: a version nobody else holds changes in place.
    #[test]
    fn an_unshared_chunk_is_changed_in_place() {
        let mut list = PVec::from_vec((0..100).collect());
        let place = |list: &PVec<i32>| list.full.as_ref().unwrap().get(0).unwrap().as_ptr();
        let before = place(&list);
        list.set(3, 7);
        assert_eq!(place(&list), before);
        assert_eq!(list.get(3), Some(&7));
    }
}

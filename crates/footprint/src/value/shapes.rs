//! Key lists that many objects share: records, messages, events and seeds have the same keys in the same order, again and again.
//!
//! A thread remembers which list follows another when a key is added. Objects that grow the way others grew then share their
//! lists and allocate nothing for them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use smallvec::SmallVec;

use super::{Str, names};

/// The keys of a flat object, in order.
pub(super) type Keys = Arc<Vec<Str>>;

/// Most lists a thread remembers; beyond, objects have lists of their own.
const MOST: usize = 2_048;
/// Most lists that follow one list. What has more successors is no record but a table of free keys.
const FAN: usize = 24;
/// Longer keys and lists are not remembered.
const LONGEST_KEY: usize = 48;
const LONGEST_LIST: usize = 32;

/// A list that follows another one by this key.
struct Step {
    key: Str,
    to: Keys,
}

/// What a thread remembers. Lists are known by their address, which stays theirs because `Step` and `root` hold them.
struct Shapes {
    root: Keys,
    steps: HashMap<usize, SmallVec<[Step; 2]>, FixedState>,
    count: usize,
}

thread_local! {
    static SHAPES: RefCell<Shapes> = RefCell::new(Shapes {
        root: Keys::default(),
        steps: HashMap::default(),
        count: 0,
    });
}

/// The empty list.
pub(super) fn none() -> Keys {
    SHAPES.try_with(|shapes| Arc::clone(&shapes.borrow().root)).unwrap_or_default()
}

/// Adds a key that is not in the list yet, sharing the result where such a list is known.
pub(super) fn add(keys: &mut Keys, key: impl super::IntoKey) {
    // Nobody else has this list, so it is no shared one.
    if let Some(own) = Arc::get_mut(keys) {
        own.push(key.into_key());
        return;
    }
    if keys.len() < LONGEST_LIST && key.as_ref().len() <= LONGEST_KEY {
        let known = SHAPES.try_with(|shapes| shapes.borrow_mut().after(keys, key.as_ref()));
        if let Ok(Some(next)) = known {
            *keys = next;
            return;
        }
    }
    let mut own = Vec::with_capacity(keys.len() + 4);
    own.extend(keys.iter().cloned());
    own.push(key.into_key());
    *keys = Arc::new(own);
}

impl Shapes {
    /// The list that follows `keys` by `key`; `None` when it is not to be remembered.
    fn after(&mut self, keys: &Keys, key: &str) -> Option<Keys> {
        let place = Arc::as_ptr(keys) as usize;
        let is_root = Arc::ptr_eq(keys, &self.root);
        let steps = match self.steps.get_mut(&place) {
            Some(steps) => steps,
            None if is_root => self.steps.entry(place).or_default(),
            None => return None,
        };
        if let Some(known) = steps.iter().find(|step| *step.key == *key) {
            return Some(Arc::clone(&known.to));
        }
        let fan = if is_root { FAN * 8 } else { FAN };
        if self.count >= MOST || steps.len() >= fan {
            return None;
        }
        let key = names::shared(key);
        let mut list = Vec::with_capacity(keys.len() + 1);
        list.extend(keys.iter().cloned());
        list.push(key.clone());
        let to: Keys = Arc::new(list);
        steps.push(Step { key, to: Arc::clone(&to) });
        self.steps.insert(Arc::as_ptr(&to) as usize, SmallVec::new());
        self.count += 1;
        Some(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Object;
    use crate::value::Value;

    fn grown(names: &[&str]) -> Keys {
        let mut keys = none();
        names.iter().for_each(|name| add(&mut keys, *name));
        keys
    }

    #[test]
    fn what_grows_alike_is_shared() {
        assert!(Arc::ptr_eq(&grown(&["a", "b"]), &grown(&["a", "b"])));
        assert!(!Arc::ptr_eq(&grown(&["a", "b"]), &grown(&["b", "a"])));
        let from: Object = [("a", Value::Null), ("b", Value::Null)].into_iter().collect();
        assert_eq!(from.keys().map(|key| &**key).collect::<Vec<_>>(), ["a", "b"]);
    }

    /// Free keys fill a bounded table; every list is right all the same.
    #[test]
    fn free_keys_are_kept_apart() {
        for at in 0..5_000 {
            let names = [format!("free-{at}"), "x".to_owned(), "y".to_owned()];
            let keys = grown(&names.each_ref().map(String::as_str));
            assert!(keys.iter().map(|key| &**key).eq(names.iter().map(String::as_str)));
        }
        SHAPES.with(|shapes| assert!(shapes.borrow().count <= MOST));
        let long = "k".repeat(LONGEST_KEY + 1);
        assert!(!Arc::ptr_eq(&grown(&[&long]), &grown(&[&long])));
    }

    /// A list of another thread is nobody's here; adding to it gives one of its own.
    #[test]
    fn lists_travel_between_threads() {
        let theirs = std::thread::spawn(|| grown(&["a", "b"])).join().unwrap();
        let mut mine = Arc::clone(&theirs);
        add(&mut mine, "c");
        assert_eq!((theirs.len(), mine.len()), (2, 3));
    }
}

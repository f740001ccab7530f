//! Names that many objects share: the keys of records, messages and events are the same few texts again and again.

use std::cell::RefCell;
use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use super::Str;

/// Places of a thread's table; a power of two.
const PLACES: usize = 1024;

/// Longer texts are hardly names, and are not kept.
const LONGEST: usize = 48;

thread_local! {
    /// One text per place: a newer one with the same place takes it over, so the table never grows.
    static NAMES: RefCell<Vec<Option<Str>>> = const { RefCell::new(Vec::new()) };
}

/// Whether a text is taken for a name.
pub(crate) fn is_short(name: &str) -> bool {
    name.len() <= LONGEST
}

/// Shared text of a name, the same one as before if this thread still has it.
pub(crate) fn shared(name: &str) -> Str {
    if !is_short(name) {
        return name.into();
    }
    NAMES.try_with(|names| kept(&mut names.borrow_mut(), name)).unwrap_or_else(|_| name.into())
}

fn kept(names: &mut Vec<Option<Str>>, name: &str) -> Str {
    if names.is_empty() {
        names.resize(PLACES, None);
    }
    let place = FixedState::default().hash_one(name) as usize % PLACES;
    match names.get_mut(place) {
        Some(Some(known)) if **known == *name => known.clone(),
        Some(slot) => slot.insert(name.into()).clone(),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_short_name_is_shared_and_a_long_text_is_not() {
        assert!(Arc::ptr_eq(&shared("iteration"), &shared("iteration")));
        let long = "x".repeat(LONGEST + 1);
        assert!(!Arc::ptr_eq(&shared(&long), &shared(&long)));
        assert_eq!(&*shared(""), "");
    }

    /// Names that fall on one place take turns; each is still the text that was asked for.
    #[test]
    fn names_that_collide_stay_themselves() {
        for round in 0..3 {
            for at in 0..PLACES * 3 {
                let name = format!("key-{at}");
                assert_eq!(&*shared(&name), name, "round {round}");
            }
        }
    }
}

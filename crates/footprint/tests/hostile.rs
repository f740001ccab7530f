//! Rules crossed on purpose: what a wrong engine would do at the edges, one file by subject.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::cmp_owned, clippy::unit_arg)]

mod hostile {
    #[path = "../walk/support.rs"]
    #[allow(dead_code)]
    pub(crate) mod support;

    mod depth;
    mod hiding;
    mod keys;
    mod observing;
    mod papers;
    mod pausing;
}

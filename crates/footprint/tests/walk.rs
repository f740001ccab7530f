//! The walk, from outside: order of events, errors, fan-outs, mounts, loops, cancellation, pauses.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::cmp_owned, clippy::unit_arg)]

mod walk {
    pub(crate) mod support;

    mod cancel;
    mod deferred;
    mod errors;
    mod fanout;
    mod isolation;
    mod kept;
    mod loops;
    mod mounts;
    mod observers;
    mod order;
    mod pause;
    mod scope;
    mod told;
}

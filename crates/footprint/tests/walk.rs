//! The walk, from outside: order of events, errors, fan-outs, mounts, loops, cancellation, pauses.

mod walk {
    pub mod support;

    mod cancel;
    mod deferred;
    mod errors;
    mod fanout;
    mod isolation;
    mod loops;
    mod mounts;
    mod observers;
    mod order;
    mod pause;
    mod scope;
}

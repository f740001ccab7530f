//! `cargo +nightly fuzz run structure`
#![no_main]

#[path = "../src/doors.rs"]
mod doors;

libfuzzer_sys::fuzz_target!(|data: &[u8]| doors::structure(data));

//! `cargo +nightly fuzz run snapshot`
#![no_main]

#[path = "../src/doors.rs"]
mod doors;

libfuzzer_sys::fuzz_target!(|data: &[u8]| doors::snapshot(data));

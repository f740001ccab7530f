//! `cargo +nightly fuzz run checkpoint`
#![no_main]

#[path = "../src/doors.rs"]
mod doors;

libfuzzer_sys::fuzz_target!(|data: &[u8]| doors::checkpoint(data));

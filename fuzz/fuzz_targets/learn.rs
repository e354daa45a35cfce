#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dyno_fuzz::learn(bytes));

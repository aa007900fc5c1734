#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| burst_bcm::fuzzing::header(bytes));

//! The wrapper of the fuzz target `html`, whose function is in `ahp_harness::arb::targets`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ahp_harness::arb::targets::html(data));

#[cfg(not(fuzzing))]
fn main() {}

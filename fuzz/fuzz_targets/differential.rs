//! The wrapper of the fuzz target `differential`, whose function is in `ahp_harness::arb::targets`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
use libfuzzer_sys::Corpus;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| -> Corpus {
    if ahp_harness::arb::targets::differential(data) { Corpus::Keep } else { Corpus::Reject }
});

#[cfg(not(fuzzing))]
fn main() {}

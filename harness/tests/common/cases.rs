//! How many cases a property is tried with, and from which seed.
//!
//! The seed is fixed, so that a run is green or red for everybody. `PROPTEST_RNG_SEED` and
//! `PROPTEST_CASES` look further.

use std::env;

use proptest::test_runner::{Config, RngSeed};

/// The configuration of a property that is tried with so many cases.
pub fn cases(count: u32) -> Config {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if env::var_os("PROPTEST_CASES").is_none() {
        config.cases = count;
    }
    if env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config.max_shrink_iters = 4_000;
    config
}

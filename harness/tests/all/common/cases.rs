//! The number of cases of a property test, and its seed.
//!
//! The seed is fixed, so that a test gives the same result everywhere. `PROPTEST_RNG_SEED` and `PROPTEST_CASES`
//! extend the search.

use std::env;

use proptest::test_runner::{Config, RngSeed};

/// Returns the configuration of a property with this many cases.
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

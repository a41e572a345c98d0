//! The built-in suite, which the test process reads only once.

use std::sync::LazyLock;

use ahp_harness::run::suite::ScenarioSuite;

/// Returns the built-in suite.
pub fn carried() -> &'static ScenarioSuite {
    static CARRIED: LazyLock<ScenarioSuite> = LazyLock::new(ScenarioSuite::carried);
    &CARRIED
}

/// Returns the built-in suite with one scenario only.
pub fn only(scenario: &str) -> ScenarioSuite {
    let mut suite = ScenarioSuite::default();
    let named = carried().entries.iter().filter(|entry| entry.scenario.id == scenario);
    suite.entries.extend(named.cloned());
    assert_eq!(suite.entries.len(), 1, "{scenario}");
    suite
}

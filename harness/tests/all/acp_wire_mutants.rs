//! Tests a fixed sample of `mutants --wire --acp`: the percentage of an agent's faults that the always-on checks detect
//! in captures, by class. Also tests that these checks report no finding for a legal rewrite of a capture.
//!
//! The whole table is in `reports/oracle/`. A lower score here means that a check detects less than before.

use std::sync::OnceLock;

use ahp_harness::mutation::acp::bases;
use ahp_harness::mutation::bases::BaseOptions;
use ahp_harness::mutation::capture::MutableCapture;
use ahp_harness::mutation::operator::FaultClass;
use ahp_harness::mutation::trial::{MutantFate, WireTrial};
use ahp_harness::mutation::{operators, rewrites, table};
use ahp_harness::wire::version::{ProtocolStandard, Version};

use crate::common::wire_trial::{expect_mutants_by_seed, expect_no_accusation, on_all_cores};

/// The number of parts into which the suite is divided. The test plays the scenarios of one part.
const PART: usize = 4;
/// The number of legal variants of the agent that the test plays as well.
const VARIANTS: u64 = 24;
/// The number of mutants of each mutation operator, and of rewritten captures of each kind of legal rewrite.
const COUNT: usize = 4;

/// The minimum percentage of mutants (changed captures) that the checks detect in each class. The actual percentage is
/// 100; the margin allows for different conversations after a change of the suite.
const LEAST: usize = 97;
/// The minimum percentage of detected mutants among the mutants that only break recommendations of the specification.
const NOTED: usize = 97;

fn captures() -> Vec<MutableCapture> {
    static CAPTURES: OnceLock<Vec<MutableCapture>> = OnceLock::new();
    let options = BaseOptions { version: Version::ACP_1, part: PART, drawn: VARIANTS, seed: 1 };
    CAPTURES.get_or_init(|| bases::clean(options)).clone()
}

#[test]
fn the_score_of_each_class_of_agent_mutants_does_not_fall() {
    let trial = WireTrial::new(captures(), 1, COUNT);
    let wanted: Vec<_> = operators::of(ProtocolStandard::Acp).collect();
    let results = trial.mutate(&wanted, &|_, _| {}, &on_all_cores);
    let text = table::of_mutants(&results);
    let scores = table::by_class(&results);
    let ours = FaultClass::ALL.iter().filter(|class| class.standard() == ProtocolStandard::Acp);
    assert_eq!(scores.len(), ours.count(), "{text}");
    for (class, score) in scores {
        let found = score.per_mille().unwrap();
        let name = class.name();
        assert!(
            found >= LEAST * 10,
            "expected {LEAST} % of `{name}` killed, found {found} per mille\n{text}"
        );
    }
    let untried: Vec<_> =
        results.iter().filter(|it| it.mutants.is_empty()).map(|it| it.operator.name).collect();
    assert!(untried.len() * 20 < results.len(), "not tried: {untried:?}");
}

/// Mutants that break only requirements of the weight "note" do not count for the score, but the checks must
/// detect them.
#[test]
fn mutants_that_break_only_notes_are_detected() {
    let trial = WireTrial::new(captures(), 2, COUNT);
    let wanted: Vec<_> =
        operators::of(ProtocolStandard::Acp).filter(|it| it.advice.is_some()).collect();
    let results = trial.mutate(&wanted, &|_, _| {}, &on_all_cores);
    let all = results.iter().flat_map(|result| &result.mutants);
    let decided: Vec<_> = all.filter(|it| it.fate != MutantFate::Undecidable).collect();
    let missed = decided.iter().filter(|it| it.fate == MutantFate::Survived).count();
    assert!(decided.len() >= 300, "{}", decided.len());
    assert!(missed * 100 <= decided.len() * (100 - NOTED), "{}", table::of_mutants(&results));
}

#[test]
fn legal_rewrites_of_agents_have_no_finding() {
    let wanted: Vec<_> = rewrites::of(ProtocolStandard::Acp).collect();
    expect_no_accusation(captures(), &wanted, COUNT);
}

#[test]
fn the_same_seed_makes_the_same_mutants_of_agents() {
    let wanted: Vec<_> = operators::of(ProtocolStandard::Acp).step_by(40).collect();
    expect_mutants_by_seed(&captures(), &wanted);
}

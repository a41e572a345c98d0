//! The ledger, the checks, the scenarios and the vectors hold together.

use ahp_harness::ledger::{Ledger, Party};
use ahp_harness::oracle::CHECKS;
use ahp_harness::reducers::vector;
use ahp_harness::report::coverage::{Coverage, Standing};
use ahp_harness::run::suite::Suite;
use ahp_harness::verdict::Weight;
use ahp_harness::wire::version::Version;

#[test]
fn every_check_has_its_requirement() {
    for check in CHECKS {
        for id in check.requirements {
            assert!(Ledger::look_up(id).is_some(), "{}: no requirement `{id}`", check.id);
        }
    }
}

#[test]
fn every_rule_of_reducers_has_vectors() {
    let (suite, vectors) = (Suite::carried(), vector::carried());
    for ledger in Ledger::all() {
        for row in Coverage::of(ledger.version, &suite, &vectors).rows {
            let reducers = row.rule.party == Party::Reducer;
            assert!(!reducers || row.vectors > 0, "{} {}", ledger.version, row.rule.id);
        }
    }
}

#[test]
fn what_is_excluded_is_not_put_to_the_test() {
    let (suite, vectors) = (Suite::carried(), vector::carried());
    for ledger in Ledger::all() {
        for row in Coverage::of(ledger.version, &suite, &vectors).rows {
            let both = row.rule.excluded.is_some() && row.standing() == Standing::Covered;
            assert!(!both, "{} {}: excluded, and yet tested", ledger.version, row.rule.id);
        }
    }
}

#[test]
fn nothing_that_is_more_than_a_note_is_open() {
    for version in [Version::V1_0, Version::V0_9] {
        let coverage = Coverage::of(version, &Suite::carried(), &vector::carried());
        let open = coverage.open(Weight::Should);
        let names: Vec<_> = open.iter().map(|row| row.rule.id).collect();
        assert!(names.is_empty(), "{version}: {names:?}");
    }
}

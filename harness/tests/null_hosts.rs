//! Hosts that do nothing get nothing, and hosts that only shake hands get no more than that.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot write a report has failed")]

use std::collections::BTreeSet;

use ahp_harness::host::Host;
use ahp_harness::host::liar::{Liar, LiarHost};
use ahp_harness::host::null::{Null, NullHost};
use ahp_harness::report::event::CaseReport;
use ahp_harness::report::junit::Junit;
use ahp_harness::report::summary::Summary;
use ahp_harness::run::mutants::{play_on, playable};
use ahp_harness::run::suite::Suite;
use ahp_harness::verdict::Status;
use ahp_harness::wire::protocol::Protocol;

/// What a suite said of a host.
struct Said {
    /// Ids of scenarios and checks that passed, or did nothing worse than a note.
    credited: BTreeSet<String>,
    /// Names of test cases in the JUnit file that are neither failed, in error, nor skipped.
    green: BTreeSet<String>,
    /// How many test cases the JUnit file has.
    cases: usize,
}

/// Plays the whole suite, each scenario against a host of its own.
fn play(mut host: impl FnMut() -> Box<dyn Host>) -> Said {
    let version = Protocol::known()[0];
    let mut summary = Summary::new(false);
    let mut junit = Junit::default();
    let mut credited = BTreeSet::new();
    for (case, entry) in playable(&Suite::carried(), version).iter().enumerate() {
        let verdict = play_on(entry, version, host().as_mut());
        let report = CaseReport::of(u32::try_from(case).unwrap(), entry, &verdict);
        if is_credit(report.status) {
            credited.insert(report.scenario.clone());
        }
        summary.add(&report);
        junit.add(&report);
    }
    let checks = summary.checks.iter().filter(|(_, total)| is_credit(total.status()));
    credited.extend(checks.map(|(check, _)| check.clone()));
    let mut text = Vec::new();
    junit.write(&summary, &mut text).unwrap();
    let (green, cases) = green(&String::from_utf8(text).unwrap());
    Said { credited, green, cases }
}

fn is_credit(status: Status) -> bool {
    matches!(status, Status::Pass | Status::Note | Status::Warn)
}

/// The green test cases of a JUnit file, and how many there are of any colour.
fn green(text: &str) -> (BTreeSet<String>, usize) {
    let mut green = BTreeSet::new();
    let cases = text.split("<testcase ").skip(1);
    let count = cases.clone().count();
    for case in cases {
        let name = case.split("name=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let body = case.split("</testcase>").next().unwrap();
        if !["<failure", "<error", "<skipped"].iter().any(|tag| body.contains(tag)) {
            green.insert(name.to_owned());
        }
    }
    (green, count)
}

#[test]
fn reads_junit() {
    let text = r#"<testcase name="a" time="0"/><testcase classname="x" name="b"><failure/>
        </testcase><testcase name="c"><skipped message="m"/></testcase>"#;
    assert_eq!(green(text), (BTreeSet::from(["a".to_owned()]), 3));
}

#[test]
fn hosts_that_do_nothing_get_nothing() {
    for null in Null::ALL {
        let said = play(|| Box::new(NullHost::new(*null)));
        assert!(said.cases > 30, "{}: {} test cases", null.name(), said.cases);
        assert_eq!(said.credited, BTreeSet::new(), "{}", null.name());
        assert_eq!(said.green, BTreeSet::new(), "{}", null.name());
    }
}

/// What a liar may be credited with, and nothing else.
fn earned(liar: Liar) -> &'static [&'static str] {
    let _ = liar;
    &[]
}

#[test]
fn liars_get_no_more_than_they_earned() {
    let mut wrong = Vec::new();
    for liar in Liar::ALL {
        let said = play(|| Box::new(LiarHost::new(*liar)));
        let earned: BTreeSet<String> = earned(*liar).iter().map(|id| (*id).to_owned()).collect();
        let name = liar.name();
        wrong.extend(said.credited.difference(&earned).map(|id| format!("{name}: {id} passed")));
        wrong.extend(earned.difference(&said.credited).map(|id| format!("{name}: {id} failed")));
        wrong.extend(said.green.difference(&earned).map(|id| format!("{name}: {id} is green")));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

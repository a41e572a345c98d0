//! Tests a fixed sample of `mutants --wire`: the percentage of a host's faults that the always-on checks detect in
//! captures, by class. Also tests that these checks report no finding for a legal rewrite of a capture.
//!
//! The whole table is in `reports/oracle/`. A lower score here means that a check detects less than before.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use ahp_harness::mutation::bases::{self, BaseOptions};
use ahp_harness::mutation::capture::MutableCapture;
use ahp_harness::mutation::operator::FaultClass;
use ahp_harness::mutation::trial::WireTrial;
use ahp_harness::mutation::{operators, rewrites, table};
use ahp_harness::oracle::JudgedParty;
use ahp_harness::wire::version::{ProtocolStandard, Version};

use crate::common::wire_trial::{expect_mutants_by_seed, expect_no_accusation, on_all_cores};

/// The number of parts into which the suite is divided. The test plays the scenarios of one part.
const PART: usize = 9;
/// The number of generated conversations that the test plays as well.
const DRAWN: u64 = 4;
/// The number of mutants of each mutation operator, and of rewritten captures of each kind of legal rewrite.
const COUNT: usize = 3;

/// The minimum percentage of mutants (changed captures) that the checks detect in each class. The margin below the
/// actual percentage allows for different conversations after a change of the suite.
const LEAST: &[(FaultClass, usize)] = &[
    (FaultClass::Delivery, 86),
    (FaultClass::Numbers, 91),
    (FaultClass::Settlement, 92),
    (FaultClass::ActionMembers, 97),
    (FaultClass::ActionValues, 92),
    (FaultClass::Snapshots, 94),
    (FaultClass::Results, 79),
    (FaultClass::Notifications, 84),
    (FaultClass::Handshake, 97),
    (FaultClass::Responses, 89),
    (FaultClass::Reconnect, 86),
    (FaultClass::Content, 97),
    (FaultClass::Inserted, 90),
];

fn captures() -> Vec<MutableCapture> {
    static CAPTURES: OnceLock<Vec<MutableCapture>> = OnceLock::new();
    let options = BaseOptions { version: Version::V1_0, part: PART, drawn: DRAWN, seed: 1 };
    CAPTURES.get_or_init(|| bases::clean(options)).clone()
}

#[test]
fn the_score_of_each_class_of_mutants_does_not_fall() {
    let trial = WireTrial::new(captures(), 1, COUNT);
    let wanted: Vec<_> = operators::all().collect();
    let results = trial.mutate(&wanted, &|_, _| {}, &on_all_cores);
    let scores = table::by_class(&results);
    for (class, least) in LEAST {
        let (_, score) = scores.iter().find(|(found, _)| found == class).unwrap();
        let found = score.per_mille().unwrap();
        let name = class.name();
        assert!(
            found >= least * 10,
            "expected {least} % of `{name}` killed, found {found} per mille\n{}",
            table::of_mutants(&results)
        );
    }
    let ours = FaultClass::ALL.iter().filter(|class| {
        class.standard() == ProtocolStandard::Ahp && class.party() == JudgedParty::Server
    });
    assert_eq!(LEAST.len(), ours.count());
    let untried: Vec<_> =
        results.iter().filter(|it| it.mutants.is_empty()).map(|it| it.operator.name).collect();
    assert!(untried.len() * 10 < results.len(), "not tried: {untried:?}");
}

#[test]
fn legal_rewrites_have_no_finding() {
    let wanted: Vec<_> = rewrites::of(ProtocolStandard::Ahp).collect();
    expect_no_accusation(captures(), &wanted, COUNT);
}

/// Returns captures whose clients are judged: first the captures of the corpus in which clients break no rule, then the
/// captures of the suite. Also returns the number of captures of the corpus.
fn captures_of_clients() -> (usize, Vec<MutableCapture>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/captures/clients");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut kept: Vec<_> = files
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("kept") && name.ends_with(".jsonl")
        })
        .collect();
    kept.sort_unstable();
    let mut all: Vec<MutableCapture> = kept
        .iter()
        .map(|path| {
            let name = path.display().to_string();
            let text = fs::read(path).unwrap();
            MutableCapture::read(&name, text.as_slice()).unwrap().of_clients()
        })
        .collect();
    let own = all.len();
    all.extend(captures().into_iter().map(bases::of_clients));
    (own, all)
}

/// The minimum percentage of mutants of clients' messages that the checks detect in each class. It is below 100 %,
/// because, for example, a number that is too high can be detected only if an action follows.
const LEAST_OF_CLIENTS: usize = 80;

#[test]
fn the_score_of_each_class_of_client_mutants_does_not_fall() {
    let trial = WireTrial::new(captures_of_clients().1, 1, COUNT);
    let wanted: Vec<_> = operators::clients::all().collect();
    let results = trial.mutate(&wanted, &|_, _| {}, &on_all_cores);
    let (text, scores) = (table::of_mutants(&results), table::by_class(&results));
    let ours = FaultClass::ALL.iter().filter(|class| class.party() == JudgedParty::Clients);
    assert_eq!(scores.len(), ours.count(), "{text}");
    for (class, score) in scores {
        let found = score.per_mille().unwrap();
        assert!(found >= LEAST_OF_CLIENTS * 10, "{}: {found} per mille\n{text}", class.name());
    }
    let untried: Vec<_> =
        results.iter().filter(|it| it.mutants.is_empty()).map(|it| it.operator.name).collect();
    assert!(untried.len() * 5 < results.len(), "not tried: {untried:?}");
}

/// Judges the clients instead of the host: the clients of the suite, and the clients in the captures that break no rule
/// of clients.
#[test]
fn legal_rewrites_of_what_clients_send_have_no_finding() {
    let (own, mut all) = captures_of_clients();
    // The clients of the suite reconnect as each scenario requires, and not always as a client should.
    let mut number = 0;
    all.retain(|capture| {
        number += 1;
        number <= own || !capture.text().contains("\"reconnect\"")
    });
    // Some scenarios send messages that clients must not send; their captures are left out.
    let trial = WireTrial::new(all.clone(), 1, COUNT);
    assert!(trial.captures().len() > own + 20, "{}", trial.captures().len());
    assert!(trial.captures().iter().take(own).all(|it| it.name.contains("kept")));
    let wanted: Vec<_> = rewrites::of_clients().collect();
    expect_no_accusation(all, &wanted, COUNT);
}

#[test]
fn the_same_seed_makes_the_same_mutants() {
    let wanted: Vec<_> = operators::all().step_by(40).collect();
    expect_mutants_by_seed(&captures(), &wanted);
}

//! The suite for agents can fail: every check and every scenario has a planted fault that trips it, and agents that do
//! nothing get nothing.

use std::collections::BTreeSet;

use ahp_harness::agent::acp::fault::FAULTS;
use ahp_harness::host::null::{Null, NullHost};
use ahp_harness::oracle::checks;
use ahp_harness::run::agents::{EXEMPT, ROWS, earns_nothing, play_all, play_on, playable};
use ahp_harness::run::mutants::PURE_PERCENT;
use ahp_harness::run::suite::Suite;
use ahp_harness::wire::version::Standard;

#[test]
fn every_fault_is_caught_and_nothing_is_there_that_cannot_fail() {
    let suite = Suite::carried();
    let (honest, outcomes) = play_all(&suite);
    let mut mistakes: Vec<String> =
        honest.names().map(|name| format!("{name} trips on the honest agent")).collect();
    let mut pure = 0;
    let mut named: BTreeSet<String> = BTreeSet::new();
    for outcome in &outcomes {
        let name = outcome.fault.name();
        let rows = ROWS.iter().filter(|row| row.fault == outcome.fault).count();
        if rows != 1 {
            mistakes.push(format!("{name} has {rows} rows"));
        }
        for missed in &outcome.missed {
            mistakes.push(format!("{name} does not trip {missed}"));
        }
        pure += usize::from(outcome.collateral.is_empty());
        let Some(row) = ROWS.iter().find(|row| row.fault == outcome.fault) else { continue };
        let exact = outcome.tripped.iter().filter(|tripped| row.trips.contains(&tripped.as_str()));
        named.extend(exact.cloned());
        if !outcome.collateral.is_empty() {
            println!("{name}: also {}", outcome.collateral.join(", "));
        }
    }
    if pure * 100 < outcomes.len() * PURE_PERCENT {
        mistakes.push(format!("only {pure} of {} faults trip nothing else", outcomes.len()));
    }
    let exempt = |id: &str| EXEMPT.iter().any(|(known, _)| *known == id);
    let scenarios = playable(&suite).into_iter().map(|entry| entry.scenario.id.clone());
    let all = checks(Standard::Acp).iter().map(|row| row.id.to_owned()).chain(scenarios);
    for id in all.filter(|id| !exempt(id) && !named.contains(id)) {
        mistakes.push(format!("no fault is known to trip {id}"));
    }
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
    assert_eq!(outcomes.len(), FAULTS.len());
}

#[test]
fn agents_that_do_nothing_get_nothing() {
    for null in Null::ALL {
        for entry in playable(&Suite::carried()) {
            let verdict = play_on(&entry, &mut NullHost::new(*null));
            assert!(
                earns_nothing(&verdict),
                "{} {}: {:?}",
                null.name(),
                entry.scenario.id,
                verdict.status
            );
        }
    }
}

//! The kill matrix: the suite is played against the reference host with one planted fault at a
//! time, and has to notice each one in the way that was said beforehand.
//!
//! A suite is worth what it refuses. [`rows`] say of each fault what must trip on it: always-on
//! checks by their id, scenarios by theirs. What trips besides is collateral. The rules, which
//! [`Matrix::broken`] judges:
//!
//! 1. nothing trips on the honest host;
//! 2. each fault has one row, and everything that the row names trips;
//! 3. each check and each scenario is named by a row, and trips there: nothing is there that
//!    cannot fail;
//! 4. at least [`PURE_PERCENT`] of the faults trip only what their row names.
//!
//! A name is an id, or ends with `/*` and allows an area without proving any scenario of it.
//! A scenario that could not be tested proves little, so it trips only a name that begins with
//! [`UNTESTED`].
//!
//! Knows: `host`, the simulation. Never knows: how a matrix is shown.
//!
//! Start at [`Matrix::play`].

use std::collections::HashSet;

use litemap::LiteMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::agent::mode::Mode;
use crate::host::Host;
use crate::host::engine::{Config, RefHost};
use crate::host::fault::{BELOW, FAULTS, Fault};
use crate::oracle::CHECKS;
use crate::verdict::{Status, Weight};
use crate::wire::protocol::Protocol;
use crate::wire::version::Version;

pub use super::mutant_rows::{of_older, rows};

use super::case::Setup;
use super::plan::{Abilities, plan};
use super::play::{Counting, Play, Verdict};
use super::sim;
use super::suite::{Entry, Suite};

/// One fault with what it must trip.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The fault.
    pub fault: Fault,
    /// Ids of checks and scenarios.
    pub trips: &'static [&'static str],
}

/// Stands before the id of a scenario that the fault keeps from being tested.
pub const UNTESTED: &str = "untested:";
/// How many of a hundred faults have to trip only what their row names.
pub const PURE_PERCENT: usize = 80;

/// Checks that no fault can trip here, each with the reason. Their own tests break them, or captures
/// in `corpus/captures` break and keep them.
pub const EXEMPT: &[(&str, &str)] = &[
    ("shape.harness", "it judges the harness's own frames, which no host can spoil"),
    (
        "jsonrpc.host-request-ids",
        "in the simulation a client answers before the next frame comes, so that a host never has \
         two open requests",
    ),
    (
        "below.tools-unique",
        "only the model stand-in hears what tools there are, and in the simulation no agent asks it",
    ),
];

/// Every id is made from this; the matrix is the same every time.
const SEED: u64 = 1;
/// How long a wait may take, in virtual time.
const LIMIT: Duration = Duration::from_secs(2);

/// What tripped on a host.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tripped {
    /// Checks with a finding, and the weight of the worst one.
    pub checks: LiteMap<&'static str, Weight>,
    /// Scenarios that neither passed nor were skipped, and how they ended.
    pub scenarios: LiteMap<String, Status>,
    /// Checks that were put to the test at all.
    pub exercised: HashSet<&'static str>,
}

/// What came of one row.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The fault.
    pub fault: Fault,
    /// What its row names; empty if it has none.
    pub named: Vec<&'static str>,
    /// Everything that tripped.
    pub tripped: Tripped,
    /// Names that nothing answered to.
    pub missed: Vec<&'static str>,
    /// What tripped and is not named.
    pub collateral: Vec<String>,
}

/// The whole matrix.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The version it was played at.
    pub version: Version,
    /// The scenarios that were played.
    pub scenarios: Vec<String>,
    /// What tripped on the honest host.
    pub honest: Tripped,
    /// What tripped on it while it spoke ACP to its agent.
    pub honest_acp: Tripped,
    /// A fault each, in the order of [`FAULTS`].
    pub outcomes: Vec<Outcome>,
}

/// Plays one scenario against a host in memory that keeps its own agent, with the settings of the matrix.
pub fn play_on(entry: &Entry, version: Version, host: &mut dyn Host) -> Verdict {
    play_with(entry, version, host, Mode::Host)
}

fn play_with(entry: &Entry, version: Version, host: &mut dyn Host, agent: Mode) -> Verdict {
    let facts = sim::facts(&entry.scenario, version);
    let setup = Setup { agent, facts, ..Setup::of(&entry.scenario, version, SEED, epoch(), LIMIT) };
    sim::play(Play::new(setup, false, Box::new(Counting::default())), host)
}

/// The scenarios that a host of this version can be asked to play.
pub fn playable(suite: &Suite, version: Version) -> Vec<Entry> {
    playable_with(suite, version, Mode::Host)
}

fn playable_with(suite: &Suite, version: Version, agent: Mode) -> Vec<Entry> {
    let abilities = Abilities {
        version,
        profiles: vec!["all".to_owned()],
        embedded: true,
        restarts: true,
        agent,
        detected: Vec::new(),
        aggressive: true,
    };
    let entries: Vec<&Entry> = suite.entries.iter().collect();
    let planned = plan(&entries, &abilities);
    planned.into_iter().filter(|one| one.skip.is_none()).map(|one| one.entry).collect()
}

/// Plays scenarios against the reference host with these faults planted.
pub fn play(faults: &[Fault], entries: &[Entry], version: Version, agent: Mode) -> Tripped {
    let mut tripped = Tripped::default();
    for entry in entries {
        let mut config = sim::settings_with(&entry.scenario, SEED, epoch(), agent);
        config.faults = faults.to_vec();
        let config = sim::speaking(config, version);
        let verdict = play_with(entry, version, &mut RefHost::new(config), agent);
        tripped.add(entry, &verdict, EXEMPT);
    }
    tripped
}

pub(super) fn epoch() -> Duration {
    Duration::from_millis(Config::default().epoch_ms)
}

impl Tripped {
    /// Adds what a scenario and the checks under it came to.
    pub(super) fn add(&mut self, entry: &Entry, verdict: &Verdict, exempt: &[(&str, &str)]) {
        if !matches!(verdict.status, Status::Pass | Status::Skip) {
            self.scenarios.insert(entry.scenario.id.clone(), verdict.status);
        }
        for report in &verdict.checks {
            if report.observations > 0 {
                self.exercised.insert(report.check);
            }
            let worst = report.findings.iter().map(|finding| finding.weight).max();
            let judged = exempt.iter().all(|(check, _)| *check != report.check);
            if let Some(worst) = worst.filter(|_| judged) {
                let known = self.checks.entry(report.check).or_insert(worst);
                *known = worst.max(*known);
            }
        }
    }

    /// Whether nothing tripped.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.scenarios.is_empty()
    }

    /// Everything that tripped, by the name that a row has to use.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let scenarios = self.scenarios.iter().map(|(id, status)| match status {
            Status::Untested => format!("{UNTESTED}{id}"),
            _ => id.clone(),
        });
        self.checks.keys().map(|check| (*check).to_owned()).chain(scenarios)
    }
}

/// Whether a name of a row is about what tripped.
pub(super) fn covers(name: &str, tripped: &str) -> bool {
    match name.strip_suffix('*') {
        Some(area) => tripped.strip_prefix(area).is_some_and(|rest| !rest.is_empty()),
        None => name == tripped,
    }
}

impl Outcome {
    fn of(fault: Fault, tripped: Tripped, absent: impl Fn(&str) -> bool) -> Outcome {
        let row = rows().find(|row| row.fault == fault);
        let named = row.map_or(&[][..], |row| row.trips);
        let named: Vec<&'static str> = named.iter().chain(of_older(fault)).copied().collect();
        let names: Vec<String> = tripped.names().collect();
        let unmet = |name: &&&str| !names.iter().any(|tripped| covers(name, tripped));
        let missed = named.iter().filter(unmet).filter(|name| !absent(name)).copied().collect();
        let other = |tripped: &String| !named.iter().any(|name| covers(name, tripped));
        let collateral = names.iter().filter(|name| other(name)).cloned().collect();
        Outcome { fault, named, tripped, missed, collateral }
    }

    /// Whether the fault has a row and everything in it tripped.
    pub fn is_caught(&self) -> bool {
        !self.named.is_empty() && self.missed.is_empty()
    }

    /// Whether nothing tripped but what the row names.
    pub fn is_pure(&self) -> bool {
        self.is_caught() && self.collateral.is_empty()
    }
}

impl Matrix {
    /// Plays the suite against the honest host and against each of these faults. `share` calls
    /// what it is given on as many threads as it likes, at least once, and waits for all of them.
    pub fn play(
        suite: &Suite,
        version: Version,
        faults: &[Fault],
        share: impl FnOnce(&(dyn Fn() + Sync)),
    ) -> Matrix {
        let entries = playable(suite, version);
        let started = playable_with(suite, version, Mode::Acp);
        let next = AtomicUsize::new(0);
        let tripped: Mutex<LiteMap<Fault, Tripped>> = Mutex::default();
        share(&|| {
            while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                let one = match BELOW.contains(fault) {
                    true => play(&[*fault], &started, version, Mode::Acp),
                    false => play(&[*fault], &entries, version, Mode::Host),
                };
                tripped.lock().unwrap_or_else(PoisonError::into_inner).insert(*fault, one);
            }
        });
        let tripped = tripped.into_inner().unwrap_or_else(PoisonError::into_inner);
        let honest = play(&[], &entries, version, Mode::Host);
        let honest_acp = play(&[], &started, version, Mode::Acp);
        let scenarios: Vec<String> = entries.iter().map(|one| one.scenario.id.clone()).collect();
        // A scenario that this version does not have cannot be missed, nor can a check of what it does
        // not have.
        let oldest = !Protocol::known().contains(&version);
        let absent = |name: &str| {
            let id = name.strip_prefix(UNTESTED).unwrap_or(name);
            let check = CHECKS.iter().any(|row| row.id == id);
            if oldest && check {
                return !honest.exercised.contains(id) && !honest_acp.exercised.contains(id);
            }
            suite.entries.iter().any(|one| covers(id, &one.scenario.id))
                && !scenarios.iter().any(|scenario| covers(id, scenario))
        };
        let outcomes =
            tripped.into_iter().map(|(fault, one)| Outcome::of(fault, one, absent)).collect();
        Matrix { version, honest, honest_acp, outcomes, scenarios }
    }

    /// Whether a row names it by its very name, and it tripped there.
    fn is_killed(&self, name: &str) -> bool {
        self.outcomes.iter().any(|outcome| {
            let here = outcome.named.iter().find(|named| {
                **named == name || named.strip_prefix(UNTESTED).is_some_and(|id| id == name)
            });
            here.is_some_and(|named| !outcome.missed.contains(named))
        })
    }

    /// Checks that nothing killed.
    pub fn checks_alive(&self) -> Vec<&'static str> {
        let about_hosts = |id: &&str| EXEMPT.iter().all(|(check, _)| check != id);
        let older = !Protocol::known().contains(&self.version);
        let here = |id: &&str| {
            !older || self.honest.exercised.contains(id) || self.honest_acp.exercised.contains(id)
        };
        let ids = CHECKS.iter().map(|row| row.id).filter(about_hosts).filter(here);
        ids.filter(|id| !self.is_killed(id)).collect()
    }

    /// Checks that were only ever broken more lightly than they weigh, with the worst weight.
    pub fn checks_grazed(&self) -> Vec<(&'static str, Weight)> {
        let worst = |id| self.outcomes.iter().filter_map(|one| one.tripped.checks.get(id)).max();
        let lighter = |row: &crate::oracle::CheckRow| {
            worst(row.id).filter(|worst| **worst < row.weight).map(|worst| (row.id, *worst))
        };
        CHECKS.iter().filter_map(lighter).collect()
    }

    /// Scenarios that nothing killed.
    pub fn scenarios_alive(&self) -> Vec<&str> {
        self.scenarios.iter().map(String::as_str).filter(|id| !self.is_killed(id)).collect()
    }

    /// Names in rows that are neither a check nor a scenario of the suite, each with its fault.
    pub fn unknown_names(&self, suite: &Suite) -> Vec<(Fault, &'static str)> {
        let known = |name: &str| {
            let id = name.strip_prefix(UNTESTED).unwrap_or(name);
            CHECKS.iter().any(|row| row.id == id)
                || suite.entries.iter().any(|one| covers(id, &one.scenario.id))
        };
        let names = rows().flat_map(|row| {
            row.trips.iter().chain(of_older(row.fault)).map(|name| (row.fault, *name))
        });
        names.filter(|(_, name)| !known(name)).collect()
    }

    /// How many outcomes fulfil something.
    pub fn count(&self, fulfils: impl Fn(&Outcome) -> bool) -> usize {
        self.outcomes.iter().filter(|outcome| fulfils(outcome)).count()
    }

    /// Whether every fault was played.
    pub fn is_whole(&self) -> bool {
        self.outcomes.len() == FAULTS.len()
    }

    /// The rules that are broken, a sentence each. Of a part of the faults only the rules about
    /// each one are judged.
    pub fn broken(&self, suite: &Suite) -> Vec<String> {
        let mut broken = Vec::new();
        for (which, tripped) in [
            ("the honest host", &self.honest),
            ("the honest host that speaks ACP to its agent (see `agent::mode`)", &self.honest_acp),
        ] {
            if !tripped.is_empty() {
                let names: Vec<String> = tripped.names().collect();
                let names = names.join("`, `");
                broken.push(format!("expected nothing to trip on {which}, found `{names}`"));
            }
        }
        for outcome in self.outcomes.iter().filter(|outcome| !outcome.is_caught()) {
            let (fault, missed) = (outcome.fault.name(), outcome.missed.join("`, `"));
            broken.push(match outcome.named.is_empty() {
                true => format!("expected a row for the fault `{fault}`, found none"),
                false => format!("expected `{fault}` to trip `{missed}`, which held"),
            });
        }
        if self.is_whole() {
            self.whole(suite, &mut broken);
        }
        broken
    }

    fn whole(&self, suite: &Suite, broken: &mut Vec<String>) {
        for check in self.checks_alive() {
            broken.push(format!("expected a row that trips the check `{check}`, found none"));
        }
        for scenario in self.scenarios_alive() {
            broken.push(format!("expected a row that trips the scenario `{scenario}`, found none"));
        }
        for (fault, name) in self.unknown_names(suite) {
            let fault = fault.name();
            broken.push(format!("expected a check or a scenario in `{fault}`, found `{name}`"));
        }
        let (pure, all) = (self.count(Outcome::is_pure), self.outcomes.len());
        if pure * 100 < all * PURE_PERCENT {
            broken.push(format!(
                "expected {PURE_PERCENT} % of the faults to trip only what their row names, found \
                 {pure} of {all}"
            ));
        }
        let mut seen = HashSet::new();
        for row in rows().filter(|row| !seen.insert(row.fault)) {
            let fault = row.fault.name();
            broken.push(format!("expected one row for the fault `{fault}`, found two"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cover() {
        let check = |name, tripped, expected| {
            assert_eq!(covers(name, tripped), expected, "{name} {tripped}");
        };
        check("turns/a", "turns/a", true);
        check("turns/a", "turns/ab", false);
        check("turns/*", "turns/ab", true);
        check("turns/*", "untested:turns/ab", false);
        check("untested:turns/*", "untested:turns/ab", true);
        check("untested:turns/a", "turns/a", false);
    }

    #[test]
    fn rows_name_something_and_never_everything() {
        for row in rows() {
            let fault = row.fault.name();
            assert!(!row.trips.is_empty(), "{fault}");
            for name in row.trips {
                assert!(!name.contains('*') || name.ends_with("/*"), "{fault}: {name}");
                let id = name.strip_prefix(UNTESTED).unwrap_or(name);
                assert!(EXEMPT.iter().all(|(check, _)| *check != id), "{fault}: {name}");
            }
        }
    }
}

//! What a kill matrix is made of, whoever is put wrong: rows of faults, what tripped, and the rules.
//!
//! A suite is worth what it refuses. A row says of each fault what must trip on it: always-on checks by their id,
//! scenarios by theirs. What trips besides is collateral. The rules, which [`KillMatrix::broken`] judges:
//!
//! 1. nothing trips on whoever is honest;
//! 2. each fault has one row, and everything that the row names trips;
//! 3. each check and each scenario is named by a row, and trips there: nothing is there that
//!    cannot fail;
//! 4. of at least [`PURE_PERCENT`] of the faults no MUST and no essential rule is reported broken but those that
//!    the fault breaks, as [`BrokenRules`] has it; this is judged at the newest version.
//!
//! Rows are exact for the newest version. In a version that may lack a part of the suite, a fault about that part is
//! [`RowOutcome::foreign`] and nothing is asked of it; of any other one a name in its row has to trip, whichever, since the
//! same mistake looks different where states and messages are others. The rules about checks and scenarios stand as
//! they are, so that nothing which the version does have goes unproved; what a row names kills there also if the fault is
//! about something else.
//!
//! A name is an id, or ends with `*` and allows an area without proving any scenario of it.
//! A scenario that could not be tested proves little, so it trips only a name that begins with
//! [`UNTESTED`].
//!
//! Knows: verdicts. Never knows: who is played, how a matrix is shown.
//!
//! Start at [`KillMatrix::play`].

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use litemap::LiteMap;

use crate::fault::FaultKind;
use crate::oracle::{CheckRow, all_checks};
use crate::verdict::{Finding, FindingSubject, Status, Weight};
use crate::wire::version::Version;

use super::mutant_rows::broken::BrokenRules;
use super::play::ScenarioVerdict;
use super::suite::{ScenarioSuite, SuiteEntry};
use super::words;

/// One fault with what it must trip.
#[derive(Clone, Copy, Debug)]
pub struct KillRow<F> {
    /// The fault.
    pub fault: F,
    /// Ids of checks and scenarios.
    pub trips: &'static [&'static str],
}

/// Stands before the id of a scenario that the fault keeps from being tested.
pub const UNTESTED: &str = "untested:";
/// Of how many of a hundred faults no rule may be reported broken that is not in their row.
pub const PURE_PERCENT: usize = 95;

/// How much of the suite is played with each fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KillDepth {
    /// All of it: only this shows what trips besides the row.
    Whole,
    /// Until everything in the row has tripped, the row's own scenarios first. The fourth rule is not judged.
    Caught,
}

/// What is looked for with a fault.
#[derive(Debug)]
pub struct KillHunt<'a> {
    wanted: Vec<&'a str>,
    depth: KillDepth,
    /// Once the scenarios that are named were played, one name is enough.
    any: bool,
}

impl KillHunt<'_> {
    /// Looks at everything.
    pub fn whole() -> Self {
        KillHunt { wanted: Vec::new(), depth: KillDepth::Whole, any: false }
    }

    /// Plays scenarios with `one` until enough was seen.
    pub fn play(
        &self,
        entries: &[SuiteEntry],
        exempt: ExemptIds,
        one: impl Fn(&SuiteEntry) -> ScenarioVerdict,
    ) -> TrippedRules {
        let mut tripped = TrippedRules::default();
        for entry in self.order(entries) {
            if self.is_over(&tripped, entry) {
                break;
            }
            tripped.add(entry, &one(entry), exempt);
        }
        tripped
    }

    fn is_named(&self, entry: &SuiteEntry) -> bool {
        self.wanted.iter().any(|name| covers(bare(name), &entry.scenario.id))
    }

    /// The scenarios, in the order in which they are played.
    fn order<'e>(&self, entries: &'e [SuiteEntry]) -> Vec<&'e SuiteEntry> {
        let mut order: Vec<&SuiteEntry> = entries.iter().collect();
        if self.depth == KillDepth::Caught {
            order.sort_by_key(|entry| !self.is_named(entry));
        }
        order
    }

    /// Whether enough was seen before this scenario.
    fn is_over(&self, tripped: &TrippedRules, next: &SuiteEntry) -> bool {
        if self.depth == KillDepth::Whole {
            return false;
        }
        let names: Vec<String> = tripped.names().collect();
        let seen = |name: &&str| names.iter().any(|tripped| covers(name, tripped));
        match self.any && !self.is_named(next) {
            true => self.wanted.is_empty() || self.wanted.iter().any(seen),
            false => self.wanted.iter().all(seen),
        }
    }
}

/// A name without what says that it is not tested.
fn bare(name: &str) -> &str {
    name.strip_prefix(UNTESTED).unwrap_or(name)
}

/// Ids of checks and scenarios, each with the reason why no fault trips it.
pub type ExemptIds = &'static [(&'static str, &'static str)];

/// Names for each fault.
pub type FaultNames<F> = Vec<(F, &'static [&'static str])>;

/// What a matrix is held against.
#[derive(Clone, Debug)]
pub struct KillTable<F> {
    /// The version that is played.
    pub version: Version,
    /// The checks that have to be killed.
    pub checks: &'static [CheckRow],
    /// Those of them that cannot.
    pub exempt: ExemptIds,
    /// What each fault must trip.
    pub rows: FaultNames<F>,
    /// What it must trip besides in versions that lack what its row is about.
    pub older: FaultNames<F>,
    /// The version may lack a part of what is checked: what the honest one does not put to the test counts for nothing.
    pub partial: bool,
    /// How much is played with each fault.
    pub depth: KillDepth,
}

/// What tripped.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TrippedRules {
    /// Checks with a finding, and the weight of the worst one.
    pub checks: LiteMap<&'static str, Weight>,
    /// Scenarios that neither passed nor were skipped, and how they ended.
    pub scenarios: LiteMap<String, Status>,
    /// Checks that were put to the test at all.
    pub exercised: HashSet<&'static str>,
    /// The MUST and essential rules that were reported broken: requirements by claims, checks by their findings.
    pub accused: LiteMap<String, FirstAccusation>,
    /// The requirements that were reported broken, of any weight.
    pub requirements: HashSet<String>,
}

/// How a rule was first reported broken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FirstAccusation {
    /// The scenario.
    pub scenario: String,
    /// The message.
    pub message: String,
}

/// What came of one row.
#[derive(Clone, Debug)]
pub struct RowOutcome<F> {
    /// The fault.
    pub fault: F,
    /// What its row names; empty if it has none.
    pub named: Vec<&'static str>,
    /// Everything that tripped.
    pub tripped: TrippedRules,
    /// Names that nothing answered to.
    pub held: Vec<&'static str>,
    /// Those of them that something had to answer to.
    pub missed: Vec<&'static str>,
    /// What tripped and is not named.
    pub collateral: Vec<String>,
    /// The MUST and essential rules that were reported broken, although the fault does not break them.
    pub wrongly_accused: Vec<String>,
    /// It is about something that the version does not have.
    pub foreign: bool,
}

/// The whole matrix.
#[derive(Clone, Debug)]
pub struct KillMatrix<F> {
    /// What it is held against.
    pub table: KillTable<F>,
    /// The scenarios that were played.
    pub scenarios: Vec<String>,
    /// What tripped on whoever has no fault: who that is, and what.
    pub honest: Vec<(&'static str, TrippedRules)>,
    /// A fault each.
    pub outcomes: Vec<RowOutcome<F>>,
}

impl TrippedRules {
    /// Adds what a scenario and the checks under it came to.
    fn add(&mut self, entry: &SuiteEntry, verdict: &ScenarioVerdict, exempt: ExemptIds) {
        if !matches!(verdict.status, Status::Pass | Status::Skip) {
            self.scenarios.insert(entry.scenario.id.clone(), verdict.status);
        }
        for claim in &verdict.claims {
            let Some(failure) = &claim.outcome.failure else { continue };
            self.requirements.insert(claim.rule.clone());
            if claim.weight >= Weight::Essential {
                self.accuse(&claim.rule, entry, &failure.message);
            }
        }
        // Where clients of several versions meet, checks are exercised that the one that is played does not have.
        let own = words::of_other_versions(&entry.scenario).is_empty();
        for report in &verdict.checks {
            if report.observations > 0 && own {
                self.exercised.insert(report.check);
            }
            let broken = report.findings.iter().filter_map(requirement_of).map(str::to_owned);
            self.requirements.extend(broken);
            let worst = report.findings.iter().map(|finding| finding.weight).max();
            let heavy = report.findings.iter().find(|it| it.weight >= Weight::Essential);
            if let Some(finding) = heavy {
                self.accuse(report.check, entry, &finding.message);
            }
            let judged = exempt.iter().all(|(check, _)| *check != report.check);
            if let Some(worst) = worst.filter(|_| judged) {
                let known = self.checks.entry(report.check).or_insert(worst);
                *known = worst.max(*known);
            }
        }
    }

    fn accuse(&mut self, rule: &str, entry: &SuiteEntry, message: &str) {
        let scenario = || entry.scenario.id.clone();
        let new = || FirstAccusation { scenario: scenario(), message: message.to_owned() };
        self.accused.entry(rule.to_owned()).or_insert_with(new);
    }

    /// Adds what tripped elsewhere.
    fn join(&mut self, other: TrippedRules) {
        for (check, weight) in other.checks {
            let known = self.checks.entry(check).or_insert(weight);
            *known = weight.max(*known);
        }
        self.scenarios.extend(other.scenarios);
        self.exercised.extend(other.exercised);
        self.requirements.extend(other.requirements);
        for (rule, accusation) in other.accused {
            self.accused.entry(rule).or_insert(accusation);
        }
    }

    /// Whether a name of a row tripped.
    fn has(&self, name: &str) -> bool {
        self.names().any(|tripped| covers(name, &tripped))
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

/// The requirement that a finding breaks, where it is known which.
fn requirement_of(finding: &Finding) -> Option<&'static str> {
    match finding.subject {
        FindingSubject::Requirement(id) => Some(id),
        FindingSubject::Unnamed => {
            let row = all_checks().find(|row| row.id == finding.check)?;
            row.requirements.first().copied().filter(|_| row.requirements.len() == 1)
        }
        FindingSubject::Beyond => None,
    }
}

/// Whether a name of a row is about what tripped.
pub fn covers(name: &str, tripped: &str) -> bool {
    match name.strip_suffix('*') {
        Some(area) => tripped.strip_prefix(area).is_some_and(|rest| !rest.is_empty()),
        None => name == tripped,
    }
}

/// Does something with each of these, on as many threads as `share` has.
fn each<T: Sync>(share: &impl Fn(&(dyn Fn() + Sync)), all: &[T], work: &(impl Fn(&T) + Sync)) {
    let next = AtomicUsize::new(0);
    share(&|| {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(one);
        }
    });
}

fn names_of<F: FaultKind>(names: &FaultNames<F>, fault: F) -> &'static [&'static str] {
    names.iter().find(|(other, _)| *other == fault).map_or(&[], |(_, named)| named)
}

impl<F: FaultKind> RowOutcome<F> {
    fn of(
        fault: F,
        table: &KillTable<F>,
        tripped: TrippedRules,
        absent: impl Fn(&str) -> bool,
    ) -> RowOutcome<F> {
        let named = table.named(fault);
        let foreign = table.is_foreign(fault, &absent);
        let names: Vec<String> = tripped.names().collect();
        let unmet = |name: &&&str| !names.iter().any(|tripped| covers(name, tripped));
        let held: Vec<&str> = named.iter().filter(unmet).copied().collect();
        let excused = foreign || table.partial && held.len() < named.len();
        let missed = held.iter().filter(|name| !excused && !absent(name)).copied().collect();
        let other = |tripped: &String| !named.iter().any(|name| covers(name, tripped));
        let collateral = names.iter().filter(|name| other(name)).cloned().collect();
        let broken = BrokenRules::of(table.version.standard, fault.word());
        let wrong = |rule: &&String| !broken.has(rule) && !named.contains(&rule.as_str());
        let wrongly_accused = tripped.accused.keys().filter(wrong).cloned().collect();
        RowOutcome { fault, named, tripped, held, missed, collateral, wrongly_accused, foreign }
    }

    /// Whether the fault has a row and what has to trip of it did.
    pub fn is_caught(&self) -> bool {
        !self.named.is_empty() && self.missed.is_empty() && !self.foreign
    }

    /// Whether no MUST and no essential rule was reported broken but those that the fault breaks.
    pub fn is_pure(&self) -> bool {
        self.is_caught() && self.wrongly_accused.is_empty()
    }
}

impl<F: FaultKind> KillTable<F> {
    fn named(&self, fault: F) -> Vec<&'static str> {
        [names_of(&self.rows, fault), names_of(&self.older, fault)].concat()
    }

    /// Whether the row of a fault is about what is absent: all of its scenarios, or, of a row without any, one of its
    /// checks; and older versions add nothing to it that is there.
    fn is_foreign(&self, fault: F, absent: impl Fn(&str) -> bool) -> bool {
        let named = names_of(&self.rows, fault);
        let mut scenarios = named.iter().filter(|name| name.contains('/')).peekable();
        let gone = match scenarios.peek() {
            None => named.iter().any(|name| absent(name)),
            Some(_) => scenarios.all(|name| absent(name)),
        };
        gone && names_of(&self.older, fault).iter().all(|name| absent(name))
    }

    /// The ids of the checks that have to be killed.
    pub fn killable(&self) -> impl Iterator<Item = &'static str> {
        let exempt = self.exempt;
        let ids = self.checks.iter().map(|row| row.id);
        ids.filter(move |id| exempt.iter().all(|(check, _)| check != id))
    }
}

impl<F: FaultKind> KillMatrix<F> {
    /// Plays each of these faults with `one` and holds what tripped against the table. `share` calls
    /// what it is given on as many threads as it likes, at least once, and waits for all of them.
    pub fn play(
        table: KillTable<F>,
        suite: &ScenarioSuite,
        played: &[SuiteEntry],
        honest: Vec<(&'static str, TrippedRules)>,
        faults: &[F],
        one: impl Fn(F, &KillHunt<'_>) -> TrippedRules + Sync,
        share: impl Fn(&(dyn Fn() + Sync)),
    ) -> KillMatrix<F> {
        let scenarios: Vec<String> = played.iter().map(|one| one.scenario.id.clone()).collect();
        let checks: HashSet<&str> = table.checks.iter().map(|row| row.id).collect();
        let exercised: HashSet<&str> =
            honest.iter().flat_map(|(_, tripped)| tripped.exercised.iter().copied()).collect();
        // A scenario that this version does not have cannot be missed, nor can a check of what it does
        // not have.
        let (partial, played) = (table.partial, scenarios.clone());
        let absent = |name: &str| {
            let id = bare(name);
            if partial && checks.contains(id) {
                return !exercised.contains(id);
            }
            suite.entries.iter().any(|one| covers(id, &one.scenario.id))
                && !played.iter().any(|scenario| covers(id, scenario))
        };
        let hunts: Vec<(F, KillHunt<'_>)> = faults
            .iter()
            .map(|fault| {
                let mut wanted: Vec<&str> = table.named(*fault);
                let foreign = table.is_foreign(*fault, absent);
                wanted.retain(|name| !foreign && !absent(name));
                (*fault, KillHunt { wanted, depth: table.depth, any: table.partial })
            })
            .collect();
        let tripped: Mutex<LiteMap<F, TrippedRules>> = Mutex::default();
        each(&share, &hunts, &|(fault, hunt)| {
            let one = one(*fault, hunt);
            tripped.lock().unwrap_or_else(PoisonError::into_inner).insert(*fault, one);
        });
        let tripped = tripped.into_inner().unwrap_or_else(PoisonError::into_inner);
        let outcomes = tripped.into_iter();
        let outcomes =
            outcomes.map(|(fault, one)| RowOutcome::of(fault, &table, one, absent)).collect();
        let mut matrix = KillMatrix { honest, outcomes, scenarios, table };
        if matrix.table.partial && matrix.table.depth == KillDepth::Caught && matrix.is_whole() {
            matrix.look_again(one, share, &absent);
        }
        matrix
    }

    /// Where a part of a row is enough for a fault, some names have not been looked for. Each that nothing has
    /// killed yet is looked for alone, with one fault after another whose row has it, also with those that are
    /// about something else.
    fn look_again(
        &mut self,
        one: impl Fn(F, &KillHunt<'_>) -> TrippedRules + Sync,
        share: impl Fn(&(dyn Fn() + Sync)),
        absent: &impl Fn(&str) -> bool,
    ) {
        let scenarios = self.scenarios_alive().into_iter().map(str::to_owned);
        let alive: Vec<String> =
            self.checks_alive().into_iter().map(str::to_owned).chain(scenarios).collect();
        let found: Mutex<Vec<(usize, TrippedRules)>> = Mutex::default();
        each(&share, &alive, &|name| {
            for (place, outcome) in self.outcomes.iter().enumerate() {
                let Some(named) = outcome.named.iter().find(|named| bare(named) == name) else {
                    continue;
                };
                let wanted = vec![*named];
                let hunt = KillHunt { wanted, depth: KillDepth::Caught, any: false };
                let tripped = one(outcome.fault, &hunt);
                if tripped.has(named) {
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((place, tripped));
                    return;
                }
            }
        });
        for (place, tripped) in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
            if let Some(outcome) = self.outcomes.get_mut(place) {
                let mut all = std::mem::take(&mut outcome.tripped);
                all.join(tripped);
                *outcome = RowOutcome::of(outcome.fault, &self.table, all, absent);
            }
        }
    }

    /// Whether a row names it by its very name, and it tripped there.
    fn is_killed(&self, name: &str) -> bool {
        self.outcomes.iter().any(|outcome| {
            let here = outcome.named.iter().find(|named| {
                **named == name || named.strip_prefix(UNTESTED).is_some_and(|id| id == name)
            });
            here.is_some_and(|named| !outcome.held.contains(named))
        })
    }

    /// The faults under which a requirement was reported broken.
    pub fn breakers(&self, requirement: &str) -> Vec<&'static str> {
        let breaks = |outcome: &&RowOutcome<F>| outcome.tripped.requirements.contains(requirement);
        self.outcomes.iter().filter(breaks).map(|outcome| outcome.fault.word()).collect()
    }

    /// Checks that nothing killed.
    pub fn checks_alive(&self) -> Vec<&'static str> {
        let exercised = |id: &str| self.honest.iter().any(|(_, one)| one.exercised.contains(id));
        let here = |id: &&str| !self.table.partial || exercised(id);
        self.table.killable().filter(here).filter(|id| !self.is_killed(id)).collect()
    }

    /// Checks that were only ever broken more lightly than they weigh, with the worst weight.
    pub fn checks_grazed(&self) -> Vec<(&'static str, Weight)> {
        let worst = |id| self.outcomes.iter().filter_map(|one| one.tripped.checks.get(id)).max();
        let lighter = |row: &CheckRow| {
            worst(row.id).filter(|worst| **worst < row.weight).map(|worst| (row.id, *worst))
        };
        self.table.checks.iter().filter_map(lighter).collect()
    }

    /// Scenarios that nothing killed.
    pub fn scenarios_alive(&self) -> Vec<&str> {
        let exempt = |id: &&str| self.table.exempt.iter().any(|(name, _)| name == id);
        let scenarios = self.scenarios.iter().map(String::as_str);
        scenarios.filter(|id| !self.is_killed(id)).filter(|id| !exempt(id)).collect()
    }

    /// Names in rows that are neither a check nor a scenario of the suite, each with its fault.
    pub fn unknown_names(&self, suite: &ScenarioSuite) -> Vec<(F, &'static str)> {
        let known = |name: &str| {
            let id = bare(name);
            self.table.checks.iter().any(|row| covers(id, row.id))
                || suite.entries.iter().any(|one| covers(id, &one.scenario.id))
        };
        let rows = self.table.rows.iter();
        let names = rows.flat_map(|(fault, named)| named.iter().map(|name| (*fault, *name)));
        names.filter(|(_, name)| !known(name)).collect()
    }

    /// How many outcomes fulfil something.
    pub fn count(&self, fulfils: impl Fn(&RowOutcome<F>) -> bool) -> usize {
        self.outcomes.iter().filter(|outcome| fulfils(outcome)).count()
    }

    /// Whether every fault was played.
    pub fn is_whole(&self) -> bool {
        self.outcomes.len() == F::ALL.len()
    }

    /// The rules that are broken, a sentence each. Of a part of the faults only the rules about
    /// each one are judged.
    pub fn broken(&self, suite: &ScenarioSuite) -> Vec<String> {
        let mut broken = Vec::new();
        for (which, tripped) in self.honest.iter().filter(|(_, tripped)| !tripped.is_empty()) {
            let names: Vec<String> = tripped.names().collect();
            let names = names.join("`, `");
            broken.push(format!("expected nothing to trip on {which}, found `{names}`"));
        }
        let missed = |outcome: &&RowOutcome<F>| !outcome.is_caught() && !outcome.foreign;
        for outcome in self.outcomes.iter().filter(missed) {
            let (fault, missed) = (outcome.fault.word(), outcome.missed.join("`, `"));
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

    fn whole(&self, suite: &ScenarioSuite, broken: &mut Vec<String>) {
        for check in self.checks_alive() {
            broken.push(format!("expected a row that trips the check `{check}`, found none"));
        }
        for scenario in self.scenarios_alive() {
            broken.push(format!("expected a row that trips the scenario `{scenario}`, found none"));
        }
        for (fault, name) in self.unknown_names(suite) {
            let fault = fault.word();
            broken.push(format!("expected a check or a scenario in `{fault}`, found `{name}`"));
        }
        let (pure, all) = (self.count(RowOutcome::is_pure), self.count(|outcome| !outcome.foreign));
        let judged = self.table.depth == KillDepth::Whole && !self.table.partial;
        if judged && pure * 100 < all * PURE_PERCENT {
            broken.push(format!(
                "expected {PURE_PERCENT} % of the faults to have no rule reported broken but those of their row \
                 (see `protocol/broken.json`), found {pure} of {all}"
            ));
        }
        let mut seen = HashSet::new();
        for (fault, _) in self.table.rows.iter().filter(|(fault, _)| !seen.insert(*fault)) {
            let fault = fault.word();
            broken.push(format!("expected one row for the fault `{fault}`, found two"));
        }
    }
}

/// What is wrong with rows before anything is played: each names something, nothing that cannot trip, and areas only
/// as whole words.
#[cfg(test)]
pub(super) fn check_rows<'a, F: FaultKind>(
    rows: impl Iterator<Item = &'a KillRow<F>>,
    exempt: ExemptIds,
) {
    for row in rows {
        let fault = row.fault.word();
        assert!(!row.trips.is_empty(), "{fault}");
        for name in row.trips {
            let area = name.ends_with("/*") || name.ends_with(".*");
            assert!(!name.contains('*') || area, "{fault}: {name}");
            let id = bare(name);
            assert!(exempt.iter().all(|(check, _)| *check != id), "{fault}: {name}");
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
}

//! The kill matrix of a suite: the rows of the injected faults, the checks and scenarios that tripped, and the rules
//! that judge them.
//!
//! A test suite is only useful if it rejects faulty hosts. For each injected fault, a row lists the ids of the
//! always-on checks and scenarios that must trip, that is, report the fault. Everything else that trips is collateral.
//! [`KillMatrix::broken`] judges these rules:
//!
//! 1. no check and no scenario trips on a target without faults;
//! 2. each fault has exactly one row, and everything that the row names trips;
//! 3. each check and each scenario is in a row and trips there, so everything in the suite can fail;
//! 4. for at least [`PURE_PERCENT`] percent of the faults, no MUST and no essential rule is reported broken except the
//!    rules that the fault breaks according to [`BrokenRules`]; this is judged only at the newest version.
//!
//! At the newest version, everything that a row names has to trip. An older version may lack a part of the suite. A
//! fault about a missing part is [`RowOutcome::foreign`] at that version, and nothing has to trip. For any other fault,
//! one name of its row is enough, because the same fault has other effects if states and messages differ. The rules
//! about checks and scenarios also apply to older versions, at which a name also counts as killed if a foreign fault
//! trips it.
//!
//! A name in a row is an id, or a prefix that ends with `*`. A prefix permits the scenarios of an area to trip, but
//! does not prove for any of them that it can fail. A scenario that could not be tested proves little, so it matches
//! only names that begin with [`UNTESTED`].
//!
//! Knows: verdicts. Never knows: the target, the presentation of a matrix.
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

use super::mutant_rows::broken::{BrokenRules, FaultOwner};
use super::play::ScenarioVerdict;
use super::suite::{ScenarioSuite, SuiteEntry};
use super::words;

/// A row of a kill matrix: an injected fault, with the names of the checks and scenarios that must trip (report this
/// fault).
#[derive(Clone, Copy, Debug)]
pub struct KillRow<F> {
    /// The fault.
    pub fault: F,
    /// The ids of checks and scenarios.
    pub trips: &'static [&'static str],
}

/// The prefix for the id of a scenario that the fault makes untestable.
pub const UNTESTED: &str = "untested:";
/// The minimum percentage of faults under which no rule is wrongly reported broken.
pub const PURE_PERCENT: usize = 95;

/// The part of the suite that is played for each fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KillDepth {
    /// All scenarios of the suite. Only this depth shows which checks and scenarios trip although the row of the fault
    /// does not name them.
    Whole,
    /// The scenarios in the row first, then other scenarios until every name in the row has tripped. The fourth rule is
    /// not judged.
    Caught,
}

/// A hunt: it plays scenarios with one injected fault, until the checks and scenarios that must trip (report the fault)
/// have tripped.
#[derive(Debug)]
pub struct KillHunt<'a> {
    wanted: Vec<&'a str>,
    depth: KillDepth,
    /// Whether one name that has tripped is enough: the hunt then ends after the scenarios in the row were played.
    any: bool,
}

impl KillHunt<'_> {
    /// Returns a hunt that plays all scenarios, whichever checks and scenarios fail.
    pub fn whole() -> Self {
        KillHunt { wanted: Vec::new(), depth: KillDepth::Whole, any: false }
    }

    /// Plays scenarios with the function `one`, until the names have tripped that this hunt waits for.
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

    /// Returns the scenarios in the order in which they are played.
    fn order<'e>(&self, entries: &'e [SuiteEntry]) -> Vec<&'e SuiteEntry> {
        let mut order: Vec<&SuiteEntry> = entries.iter().collect();
        if self.depth == KillDepth::Caught {
            order.sort_by_key(|entry| !self.is_named(entry));
        }
        order
    }

    /// Returns whether enough names have tripped, so that the scenario `next` does not have to be played.
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

/// Returns a name without the [`UNTESTED`] prefix.
fn bare(name: &str) -> &str {
    name.strip_prefix(UNTESTED).unwrap_or(name)
}

/// The ids of checks and scenarios that no injected fault can make fail, each with the reason.
pub type ExemptIds = &'static [(&'static str, &'static str)];

/// The faults, each with the names of the checks and scenarios in its row.
pub type FaultNames<F> = Vec<(F, &'static [&'static str])>;

/// The expectations of a kill matrix.
#[derive(Clone, Debug)]
pub struct KillTable<F> {
    /// The component into which the faults are injected.
    pub owner: FaultOwner,
    /// The protocol version under test.
    pub version: Version,
    /// The checks that must fail with at least one fault.
    pub checks: &'static [CheckRow],
    /// The checks and scenarios that no fault can make fail.
    pub exempt: ExemptIds,
    /// The names of the checks and scenarios that must trip (fail) under each fault.
    pub rows: FaultNames<F>,
    /// The additional names that must trip under each fault at an older version, which has scenarios of its own.
    pub older: FaultNames<F>,
    /// Whether the version may lack a part of the suite. For such a version, the matrix ignores a check that
    /// the target without faults does not exercise.
    pub partial: bool,
    /// The part of the suite that is played for each fault.
    pub depth: KillDepth,
}

/// The checks and scenarios that tripped (reported a failure) when scenarios were played.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TrippedRules {
    /// The checks with a finding, each with the weight of its worst finding.
    pub checks: LiteMap<&'static str, Weight>,
    /// The scenarios that neither passed nor were skipped, each with its status.
    pub scenarios: LiteMap<String, Status>,
    /// The checks that were exercised.
    pub exercised: HashSet<&'static str>,
    /// The MUST and essential rules that were reported broken: requirements by claims, and checks by findings.
    pub accused: LiteMap<String, FirstAccusation>,
    /// The requirements that were reported broken, of any weight.
    pub requirements: HashSet<String>,
}

/// The first report that a rule is broken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FirstAccusation {
    /// The scenario that reported the broken rule.
    pub scenario: String,
    /// The message of the report.
    pub message: String,
}

/// The outcome of one row.
#[derive(Clone, Debug)]
pub struct RowOutcome<F> {
    /// The fault.
    pub fault: F,
    /// The names in the fault's row; empty if the fault has no row.
    pub named: Vec<&'static str>,
    /// The checks and scenarios that tripped.
    pub tripped: TrippedRules,
    /// The names in the row that did not trip, so the fault was not reported there.
    pub held: Vec<&'static str>,
    /// Those names in `held` that had to trip at this version.
    pub missed: Vec<&'static str>,
    /// The checks and scenarios that tripped although the row does not name them.
    pub collateral: Vec<String>,
    /// The MUST and essential rules that were reported broken, although the fault does not break them.
    pub wrongly_accused: Vec<String>,
    /// Whether the fault is about a feature that the version does not have.
    pub foreign: bool,
}

/// A kill matrix: what each injected fault makes fail, compared with the rows of the faults.
#[derive(Clone, Debug)]
pub struct KillMatrix<F> {
    /// The expectations.
    pub table: KillTable<F>,
    /// The scenarios that were played.
    pub scenarios: Vec<String>,
    /// The targets without faults, each with a description and with the checks and scenarios that tripped on it.
    pub honest: Vec<(&'static str, TrippedRules)>,
    /// The outcome of each fault.
    pub outcomes: Vec<RowOutcome<F>>,
}

impl TrippedRules {
    /// Adds the result of a scenario and of the checks that ran with it.
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
        // If a scenario has clients of other versions, it may exercise checks that do not exist in the version under
        // test.
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

    /// Adds the results of another part of the suite.
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

    /// Returns whether a check or scenario that a name of a row covers has tripped.
    fn has(&self, name: &str) -> bool {
        self.names().any(|tripped| covers(name, &tripped))
    }

    /// Returns whether nothing tripped.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.scenarios.is_empty()
    }

    /// Returns everything that tripped, as the names that a row has to use.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let scenarios = self.scenarios.iter().map(|(id, status)| match status {
            Status::Untested => format!("{UNTESTED}{id}"),
            _ => id.clone(),
        });
        self.checks.keys().map(|check| (*check).to_owned()).chain(scenarios)
    }
}

/// Returns the requirement that a finding breaks; `None` if the finding does not determine it.
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

/// Returns whether a name in a row covers a check or scenario that tripped.
pub fn covers(name: &str, tripped: &str) -> bool {
    match name.strip_suffix('*') {
        Some(area) => tripped.strip_prefix(area).is_some_and(|rest| !rest.is_empty()),
        None => name == tripped,
    }
}

/// Calls `work` once for each item of `all`, on as many threads as `share` provides.
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
        let broken = BrokenRules::of(table.owner, fault.word());
        let wrong = |rule: &&String| !broken.has(rule) && !named.contains(&rule.as_str());
        let wrongly_accused = tripped.accused.keys().filter(wrong).cloned().collect();
        RowOutcome { fault, named, tripped, held, missed, collateral, wrongly_accused, foreign }
    }

    /// Returns whether the fault has a row and all required names in the row tripped.
    pub fn is_caught(&self) -> bool {
        !self.named.is_empty() && self.missed.is_empty() && !self.foreign
    }

    /// Returns whether the fault is caught and no MUST or essential rule is wrongly reported broken.
    pub fn is_pure(&self) -> bool {
        self.is_caught() && self.wrongly_accused.is_empty()
    }
}

impl<F: FaultKind> KillTable<F> {
    fn named(&self, fault: F) -> Vec<&'static str> {
        [names_of(&self.rows, fault), names_of(&self.older, fault)].concat()
    }

    /// Returns whether the version lacks the feature that a fault is about: all scenarios of its row are absent or, in
    /// a row without scenarios, one of its checks is absent. The names that `older` adds must be absent as well.
    fn is_foreign(&self, fault: F, absent: impl Fn(&str) -> bool) -> bool {
        let named = names_of(&self.rows, fault);
        let mut scenarios = named.iter().filter(|name| name.contains('/')).peekable();
        let gone = match scenarios.peek() {
            None => named.iter().any(|name| absent(name)),
            Some(_) => scenarios.all(|name| absent(name)),
        };
        gone && names_of(&self.older, fault).iter().all(|name| absent(name))
    }

    /// Returns the ids of the checks that must fail with at least one fault.
    pub fn killable(&self) -> impl Iterator<Item = &'static str> {
        let exempt = self.exempt;
        let ids = self.checks.iter().map(|row| row.id);
        ids.filter(move |id| exempt.iter().all(|(check, _)| check != id))
    }
}

impl<F: FaultKind> KillMatrix<F> {
    /// Plays each of these faults with the function `one` and compares what tripped with the table. `share`
    /// calls its argument on any number of threads, at least once, and waits for all of these threads.
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
        // Scenarios and checks that do not exist in this version do not have to trip (fail), although a row names them.
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

    /// Plays faults again for the names that have not tripped yet with any fault. At versions at which one name of a
    /// row is enough, the scenarios of its other names may not have been played. For each remaining name, this function
    /// plays the faults whose row contains the name, including foreign faults, one after another until the name trips.
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

    /// Returns whether a row contains this exact name, and the name tripped when the fault of the row was played.
    fn is_killed(&self, name: &str) -> bool {
        self.outcomes.iter().any(|outcome| {
            let here = outcome.named.iter().find(|named| {
                **named == name || named.strip_prefix(UNTESTED).is_some_and(|id| id == name)
            });
            here.is_some_and(|named| !outcome.held.contains(named))
        })
    }

    /// Returns the faults under which a requirement was reported broken.
    pub fn breakers(&self, requirement: &str) -> Vec<&'static str> {
        let breaks = |outcome: &&RowOutcome<F>| outcome.tripped.requirements.contains(requirement);
        self.outcomes.iter().filter(breaks).map(|outcome| outcome.fault.word()).collect()
    }

    /// Returns the checks that did not fail with any fault.
    pub fn checks_alive(&self) -> Vec<&'static str> {
        let exercised = |id: &str| self.honest.iter().any(|(_, one)| one.exercised.contains(id));
        let here = |id: &&str| !self.table.partial || exercised(id);
        self.table.killable().filter(here).filter(|id| !self.is_killed(id)).collect()
    }

    /// Returns the checks whose heaviest finding weighs less than the check itself, each with the weight of that
    /// finding.
    pub fn checks_grazed(&self) -> Vec<(&'static str, Weight)> {
        let worst = |id| self.outcomes.iter().filter_map(|one| one.tripped.checks.get(id)).max();
        let lighter = |row: &CheckRow| {
            worst(row.id).filter(|worst| **worst < row.weight).map(|worst| (row.id, *worst))
        };
        self.table.checks.iter().filter_map(lighter).collect()
    }

    /// Returns the scenarios that did not fail with any fault.
    pub fn scenarios_alive(&self) -> Vec<&str> {
        let exempt = |id: &&str| self.table.exempt.iter().any(|(name, _)| name == id);
        let scenarios = self.scenarios.iter().map(String::as_str);
        scenarios.filter(|id| !self.is_killed(id)).filter(|id| !exempt(id)).collect()
    }

    /// Returns the names in rows of played faults that match neither a check nor a scenario of the suite, each with its
    /// fault.
    pub fn unknown_names(&self, suite: &ScenarioSuite) -> Vec<(F, &'static str)> {
        let known = |name: &str| {
            let id = bare(name);
            self.table.checks.iter().any(|row| covers(id, row.id))
                || suite.entries.iter().any(|one| covers(id, &one.scenario.id))
        };
        let played = |fault: &F| self.outcomes.iter().any(|outcome| outcome.fault == *fault);
        let rows = self.table.rows.iter().filter(|(fault, _)| played(fault));
        let names = rows.flat_map(|(fault, named)| named.iter().map(|name| (*fault, *name)));
        names.filter(|(_, name)| !known(name)).collect()
    }

    /// Returns the number of outcomes that fulfil a condition.
    pub fn count(&self, fulfils: impl Fn(&RowOutcome<F>) -> bool) -> usize {
        self.outcomes.iter().filter(|outcome| fulfils(outcome)).count()
    }

    /// Returns whether every fault was played.
    pub fn is_whole(&self) -> bool {
        self.outcomes.len() == F::ALL.len()
    }

    /// Returns one sentence for each broken rule. If only some faults were played, only the rules about single
    /// faults are judged.
    pub fn broken(&self, suite: &ScenarioSuite) -> Vec<String> {
        let mut broken = Vec::new();
        for (which, tripped) in self.honest.iter().filter(|(_, tripped)| !tripped.is_empty()) {
            let names: Vec<String> = tripped.names().collect();
            let names = names.join("`, `");
            broken.push(format!(
                "expected no check and no scenario to fail on {which}, found `{names}`"
            ));
        }
        let missed = |outcome: &&RowOutcome<F>| !outcome.is_caught() && !outcome.foreign;
        for outcome in self.outcomes.iter().filter(missed) {
            let (fault, missed) = (outcome.fault.word(), outcome.missed.join("`, `"));
            broken.push(match outcome.named.is_empty() {
                true => format!(
                    "expected a row for the fault `{fault}`, found none (hint: add one in \
                     `harness/src/run/mutant_rows`)"
                ),
                false => format!(
                    "expected the fault `{fault}` to make `{missed}` fail, found that it held"
                ),
            });
        }
        for (fault, name) in self.unknown_names(suite) {
            let fault = fault.word();
            broken.push(format!(
                "expected only checks and scenarios in the row of `{fault}`, found `{name}`"
            ));
        }
        match self.is_whole() {
            true => self.whole(&mut broken),
            false => self.impure(&mut broken),
        }
        broken
    }

    /// Adds a sentence for each rule that was wrongly reported broken. This is judged for chosen faults; a whole matrix
    /// only judges the percentage of such faults.
    fn impure(&self, broken: &mut Vec<String>) {
        if !self.judges_purity() {
            return;
        }
        for outcome in &self.outcomes {
            let fault = outcome.fault.word();
            for rule in &outcome.wrongly_accused {
                broken.push(format!(
                    "expected the fault `{fault}` not to break `{rule}`, found that it was reported broken (hint: if \
                     the fault breaks this rule, add the rule to the fault in `harness/protocol/broken.json`; \
                     otherwise the report is wrong)"
                ));
            }
        }
    }

    /// Returns whether the fourth rule is judged.
    fn judges_purity(&self) -> bool {
        self.table.depth == KillDepth::Whole && !self.table.partial
    }

    fn whole(&self, broken: &mut Vec<String>) {
        for check in self.checks_alive() {
            broken
                .push(format!("expected a fault that makes the check `{check}` fail, found none"));
        }
        for scenario in self.scenarios_alive() {
            broken.push(format!(
                "expected a fault that makes the scenario `{scenario}` fail, found none"
            ));
        }
        let (pure, all) = (self.count(RowOutcome::is_pure), self.count(|outcome| !outcome.foreign));
        if self.judges_purity() && pure * 100 < all * PURE_PERCENT {
            broken.push(format!(
                "expected {PURE_PERCENT} % of the faults to break only the rules in their row (see \
                 `harness/protocol/broken.json`), found {pure} of {all}"
            ));
        }
        let mut seen = HashSet::new();
        for (fault, _) in self.table.rows.iter().filter(|(fault, _)| !seen.insert(*fault)) {
            let fault = fault.word();
            broken.push(format!("expected one row for the fault `{fault}`, found two"));
        }
    }
}

/// Checks rows before anything is played: each row has a name, no row contains an exempt id, and `*` only
/// follows whole words.
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
    fn names_cover_their_patterns() {
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

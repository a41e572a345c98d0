//! Which requirement is put to the test by what: the ledger against checks, scenarios and vectors.
//!
//! A requirement is *covered* when an always-on check, a scenario or a vector names it, *excluded*
//! when its row says why nothing can put it to the test, and *open* otherwise. What names it is read
//! off the scenarios and the catalogue of checks, the only place where it is written; what has been
//! seen to fail is read off the rows of the kill matrix.
//!
//! Start at [`Coverage::of`].

use std::collections::{HashMap, HashSet};

use litemap::LiteMap;

use crate::ledger::{Ledger, Party, Requirement};
use crate::oracle::checks as checks_of;
use crate::reducers::vector::VectorFile;
use crate::run::mutant_rows::named;
use crate::run::suite::Suite;
use crate::verdict::Weight;
use crate::wire::version::Version;

/// The ledger of a version with what puts each requirement to the test.
#[derive(Debug)]
pub struct Coverage {
    /// The version.
    pub version: Version,
    /// A row for each requirement, sorted by id.
    pub rows: Vec<Covered>,
}

/// A requirement with what puts it to the test.
#[derive(Debug)]
pub struct Covered {
    /// The requirement.
    pub rule: &'static Requirement,
    /// Ids of always-on checks.
    pub checks: Vec<&'static str>,
    /// Ids of scenarios that are played at the version.
    pub scenarios: Vec<String>,
    /// How many vectors there are for it.
    pub vectors: usize,
    /// Planted faults that a check or scenario of it has to catch.
    pub faults: Vec<&'static str>,
}

/// What is known of a requirement.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Standing {
    /// Something puts it to the test.
    Covered,
    /// Nothing can, for a reason that its row gives.
    Excluded,
    /// Nothing does.
    Open,
}

impl Covered {
    /// What is known of it.
    pub fn standing(&self) -> Standing {
        let tested = !self.checks.is_empty() || !self.scenarios.is_empty() || self.vectors > 0;
        match (tested, self.rule.excluded) {
            (true, _) => Standing::Covered,
            (false, Some(_)) => Standing::Excluded,
            (false, None) => Standing::Open,
        }
    }
}

/// How many requirements stand how.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// All of them.
    pub all: usize,
    /// Those that something puts to the test.
    pub covered: usize,
    /// Those that nothing can.
    pub excluded: usize,
    /// Those that nothing does.
    pub open: usize,
}

impl Tally {
    fn add(&mut self, standing: Standing) {
        self.all += 1;
        match standing {
            Standing::Covered => self.covered += 1,
            Standing::Excluded => self.excluded += 1,
            Standing::Open => self.open += 1,
        }
    }
}

impl Coverage {
    /// Holds the ledger of a version against a suite and its vectors.
    pub fn of(version: Version, suite: &Suite, vectors: &[VectorFile]) -> Coverage {
        let mut checks: HashMap<&str, Vec<&'static str>> = HashMap::new();
        for check in checks_of(version.standard) {
            for id in check.requirements {
                checks.entry(id).or_default().push(check.id);
            }
        }
        let mut scenarios: HashMap<&str, Vec<String>> = HashMap::new();
        for entry in &suite.entries {
            let scenario = &entry.scenario;
            if !scenario.spec.includes(version) {
                continue;
            }
            for id in &scenario.proves {
                scenarios.entry(id).or_default().push(scenario.id.clone());
            }
        }
        let (mut of_rules, mut of_actions) = (HashMap::new(), HashMap::new());
        let mut all = 0;
        let played = vectors.iter().flat_map(|file| &file.vectors);
        for vector in played.filter(|vector| vector.spec.includes(version)) {
            all += 1;
            for id in &vector.proves {
                *of_rules.entry(id.as_str()).or_insert(0_usize) += 1;
            }
            let names = vector.actions.iter().filter_map(|action| action["type"].as_str());
            for name in names.collect::<HashSet<_>>() {
                *of_actions.entry(name).or_insert(0_usize) += 1;
            }
        }
        let mut faults: HashMap<&str, Vec<&'static str>> = HashMap::new();
        for (fault, trips) in named(version.standard) {
            for name in trips {
                faults.entry(name).or_default().push(fault);
            }
        }
        let cover = |rule: &'static Requirement| {
            let checks = checks.get(rule.id).cloned().unwrap_or_default();
            let scenarios = scenarios.get(rule.id).cloned().unwrap_or_default();
            let count = |name: &&str| match *name {
                "*" => all,
                name => of_actions.get(name).copied().unwrap_or_default(),
            };
            let vectors = rule.reducers.iter().map(count).sum::<usize>();
            let vectors = vectors.max(of_rules.get(rule.id).copied().unwrap_or_default());
            let tests = checks.iter().copied().chain(scenarios.iter().map(String::as_str));
            let caught = tests.filter_map(|name| faults.get(name)).flatten().copied();
            let mut faults: Vec<&'static str> = caught.collect();
            faults.sort_unstable();
            faults.dedup();
            Covered { rule, checks, scenarios, vectors, faults }
        };
        let ledger = Ledger::of(version).iter().filter(|rule| rule.holds_in(version));
        Coverage { version, rows: ledger.map(cover).collect() }
    }

    /// How many requirements of each weight and party stand how, the heaviest first.
    pub fn tallies(&self) -> Vec<((Weight, Party), Tally)> {
        let mut tallies: LiteMap<(Weight, Party), Tally> = LiteMap::new();
        for row in &self.rows {
            let tally = tallies.entry((row.rule.weight, row.rule.party));
            tally.or_default().add(row.standing());
        }
        let mut tallies: Vec<_> = tallies.into_iter().collect();
        tallies.sort_by_key(|((weight, party), _)| (std::cmp::Reverse(*weight), *party));
        tallies
    }

    /// Requirements of at least this weight that nothing puts to the test, those that do most harm
    /// first.
    pub fn open(&self, weight: Weight) -> Vec<&Covered> {
        let open = |row: &&Covered| row.standing() == Standing::Open && row.rule.weight >= weight;
        let mut rows: Vec<_> = self.rows.iter().filter(open).collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.rule.severity, row.rule.weight)));
        rows
    }
}

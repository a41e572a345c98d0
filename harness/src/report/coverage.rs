//! Which requirement is put to the test by what: the ledger against checks, scenarios and vectors.
//!
//! A requirement is *covered* when an always-on check, a scenario or a vector names it, *excluded*
//! when its row says why nothing can put it to the test, and *open* otherwise. What names it is read
//! off the scenarios and the catalogue of checks, the only place where it is written; what has been
//! seen to fail is read off the rows of the kill matrix.
//!
//! A scenario counts only where it is played, and a step only at the versions at which it is taken. What is
//! played differs between our own host and somebody else's: [`HostKind`] says between which.
//!
//! Start at [`LedgerCoverage::of`].

use std::collections::{HashMap, HashSet};

use litemap::LiteMap;

use crate::agent::mode::AgentMode;
use crate::ledger::{BoundParty, Requirement, RequirementLedger};
use crate::oracle::checks as checks_of;
use crate::reducers::vector::VectorFile;
use crate::run::detect::DetectedFeature;
use crate::run::mutant_rows::named;
use crate::run::plan::{TargetAbilities, plan};
use crate::run::suite::{ScenarioSuite, SuiteEntry};
use crate::scenario::capability::{FILES, SCRIPTS};
use crate::verdict::Weight;
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::area::{area, or_core};

/// The hosts that requirements may be tested on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostKind {
    /// The host that the harness carries, whose settings a scenario may choose.
    Embedded,
    /// Somebody else's host that offers everything, with every option of the run given.
    Foreign,
    /// The same, but its agent plays no scripts.
    WithoutAgent,
    /// The same with an agent, but the run was given no folders on its disk.
    WithoutFiles,
}

impl HostKind {
    /// All kinds, in the order of the columns.
    pub const ALL: [HostKind; 4] =
        [HostKind::Embedded, HostKind::Foreign, HostKind::WithoutAgent, HostKind::WithoutFiles];

    /// The heading of this kind's column in the table.
    pub fn heading(self) -> &'static str {
        match self {
            HostKind::Embedded => "anywhere",
            HostKind::Foreign => "foreign",
            HostKind::WithoutAgent => "no agent",
            HostKind::WithoutFiles => "no files",
        }
    }

    /// Its name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            HostKind::Embedded => "anywhere",
            HostKind::Foreign => "foreign",
            HostKind::WithoutAgent => "foreign-without-agent",
            HostKind::WithoutFiles => "foreign-without-files",
        }
    }

    fn abilities(self, version: Version) -> TargetAbilities {
        let lacks = match self {
            HostKind::Embedded | HostKind::Foreign => None,
            HostKind::WithoutAgent => Some(SCRIPTS),
            HostKind::WithoutFiles => Some(FILES),
        };
        let lacks = lacks.map(|name| DetectedFeature {
            capability: name.to_owned(),
            offered: false,
            how: ForeignText::default(),
            facts: Vec::new(),
        });
        TargetAbilities {
            version,
            profiles: vec!["all".to_owned()],
            embedded: self == HostKind::Embedded,
            restarts: true,
            detected: lacks.into_iter().collect(),
            agent: AgentMode::Host,
            aggressive: true,
        }
    }
}

/// What is played of a suite on one kind of host.
struct PlayedSuite<'a> {
    /// Each scenario, with the reason where it is not played.
    planned: Vec<(&'a SuiteEntry, Option<String>)>,
    /// The profiles of which at least one scenario is played.
    profiles: HashSet<String>,
}

impl<'a> PlayedSuite<'a> {
    fn new(kind: HostKind, version: Version, suite: &'a ScenarioSuite) -> PlayedSuite<'a> {
        let entries: Vec<&SuiteEntry> = suite.entries.iter().collect();
        let skips = plan(&entries, &kind.abilities(version)).into_iter().map(|it| it.skip);
        let planned: Vec<_> = entries.iter().copied().zip(skips).collect();
        let played = planned.iter().filter(|(_, skip)| skip.is_none());
        let profile =
            |entry: &SuiteEntry| area(&entry.scenario.id, or_core(&entry.scenario.profile));
        let profiles = played.map(|(entry, _)| profile(entry)).collect();
        PlayedSuite { planned, profiles }
    }

    /// Whether an always-on check has something to look at that a requirement is about.
    fn shows(&self, rule: &Requirement) -> bool {
        self.profiles.contains(&area(rule.id, "core"))
    }

    /// The scenarios that test each requirement, by its id.
    fn tests(&self, version: Version) -> HashMap<&'a str, Vec<String>> {
        let mut tests: HashMap<&str, Vec<String>> = HashMap::new();
        for (entry, _) in self.planned.iter().filter(|(_, skip)| skip.is_none()) {
            let steps = entry.scenario.steps.iter().filter(|step| step.holds_in(version));
            let ids: HashSet<&str> =
                steps.flat_map(|step| step.proves()).map(String::as_str).collect();
            for id in ids {
                tests.entry(id).or_default().push(entry.scenario.id.clone());
            }
        }
        tests
    }

    /// Why no scenario tests a requirement, in the words of the first of those that would.
    fn why_not(&self, id: &str, version: Version) -> String {
        let mut about = self
            .planned
            .iter()
            .filter(|(entry, _)| entry.scenario.proves.iter().any(|proved| proved == id));
        // One that is about the version says more than one that is not.
        let missing = about.clone().filter(|(_, skip)| skip.is_some());
        let missing = missing.min_by_key(|(entry, _)| !entry.scenario.spec.includes(version));
        let missing = missing.and_then(|(entry, skip)| {
            Some(format!("`{}` is not played: {}", entry.scenario.id, skip.as_ref()?))
        });
        missing.unwrap_or_else(|| match about.next() {
            Some((entry, _)) => {
                format!("the step of `{}` is not taken at {version}", entry.scenario.id)
            }
            None => "no scenario tests it, and no check sees it".to_owned(),
        })
    }
}

/// The ledger of a version with what puts each requirement to the test.
#[derive(Debug)]
pub struct LedgerCoverage {
    /// The version.
    pub version: Version,
    /// A row for each requirement, sorted by id.
    pub rows: Vec<CoveredRequirement>,
}

/// A requirement with what puts it to the test.
#[derive(Debug)]
pub struct CoveredRequirement {
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
    /// The kinds of hosts on which a check or scenario looks at it.
    pub reached: Vec<HostKind>,
    /// Why it is not tested on somebody else's host that offers everything.
    pub unreached: Option<String>,
}

/// What is known of a requirement.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum RequirementStanding {
    /// Something puts it to the test.
    Covered,
    /// Nothing can, for a reason that its row gives.
    Excluded,
    /// Nothing does.
    Open,
}

impl CoveredRequirement {
    /// What is known of it.
    pub fn standing(&self) -> RequirementStanding {
        let tested = !self.checks.is_empty() || !self.scenarios.is_empty() || self.vectors > 0;
        match (tested, self.rule.excluded) {
            (true, _) => RequirementStanding::Covered,
            (false, Some(_)) => RequirementStanding::Excluded,
            (false, None) => RequirementStanding::Open,
        }
    }
}

/// How many requirements stand how.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CoverageTally {
    /// All of them.
    pub all: usize,
    /// Those that something puts to the test.
    pub covered: usize,
    /// Those that something looks at on each kind of host.
    pub reached: [usize; HostKind::ALL.len()],
    /// Those that nothing can.
    pub excluded: usize,
    /// Those that nothing does.
    pub open: usize,
}

impl CoverageTally {
    fn add(&mut self, row: &CoveredRequirement) {
        self.all += 1;
        for (count, kind) in self.reached.iter_mut().zip(HostKind::ALL) {
            *count += usize::from(row.reached.contains(&kind));
        }
        match row.standing() {
            RequirementStanding::Covered => self.covered += 1,
            RequirementStanding::Excluded => self.excluded += 1,
            RequirementStanding::Open => self.open += 1,
        }
    }
}

impl LedgerCoverage {
    /// Holds the ledger of a version against a suite and its vectors.
    pub fn of(version: Version, suite: &ScenarioSuite, vectors: &[VectorFile]) -> LedgerCoverage {
        let mut checks: HashMap<&str, Vec<&'static str>> = HashMap::new();
        for check in checks_of(version.standard) {
            for id in check.requirements {
                checks.entry(id).or_default().push(check.id);
            }
        }
        let suites = HostKind::ALL.map(|kind| PlayedSuite::new(kind, version, suite));
        let by_kind = suites.each_ref().map(|played| played.tests(version));
        let [scenarios, ..] = &by_kind;
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
            let kinds = HostKind::ALL.into_iter().zip(&suites).zip(&by_kind);
            let reached = kinds.filter(|((_, played), tests)| {
                tests.contains_key(rule.id) || !checks.is_empty() && played.shows(rule)
            });
            let reached: Vec<HostKind> = reached.map(|((kind, _), _)| kind).collect();
            let [_, foreign, ..] = &suites;
            let unreached =
                (!reached.contains(&HostKind::Foreign)).then(|| foreign.why_not(rule.id, version));
            CoveredRequirement { rule, checks, scenarios, vectors, faults, reached, unreached }
        };
        let ledger = RequirementLedger::of(version).iter().filter(|rule| rule.holds_in(version));
        LedgerCoverage { version, rows: ledger.map(cover).collect() }
    }

    /// How many requirements of each weight and party stand how, the heaviest first.
    pub fn tallies(&self) -> Vec<((Weight, BoundParty), CoverageTally)> {
        let mut tallies: LiteMap<(Weight, BoundParty), CoverageTally> = LiteMap::new();
        for row in &self.rows {
            let tally = tallies.entry((row.rule.weight, row.rule.party));
            tally.or_default().add(row);
        }
        let mut tallies: Vec<_> = tallies.into_iter().collect();
        tallies.sort_by_key(|((weight, party), _)| (std::cmp::Reverse(*weight), *party));
        tallies
    }

    /// Requirements of at least this weight that nothing puts to the test, those that do most harm
    /// first.
    pub fn open(&self, weight: Weight) -> Vec<&CoveredRequirement> {
        let open = |row: &&CoveredRequirement| {
            row.standing() == RequirementStanding::Open && row.rule.weight >= weight
        };
        let mut rows: Vec<_> = self.rows.iter().filter(open).collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.rule.severity, row.rule.weight)));
        rows
    }

    /// The requirements of at least this weight that a host or an agent can be tested on, and that nothing looks at on
    /// somebody else's, however much it offers; the heaviest first.
    pub fn unreached(&self, weight: Weight) -> Vec<(&CoveredRequirement, &str)> {
        let rows = self.rows.iter().filter(|row| {
            let bound = matches!(row.rule.party, BoundParty::Host | BoundParty::Agent);
            bound && row.rule.excluded.is_none() && row.rule.weight >= weight
        });
        let mut rows: Vec<_> =
            rows.filter_map(|row| Some((row, row.unreached.as_deref()?))).collect();
        rows.sort_by_key(|(row, _)| std::cmp::Reverse(row.rule.weight));
        rows
    }
}

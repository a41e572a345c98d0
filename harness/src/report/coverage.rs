//! Coverage of the ledger: which checks, scenarios and vectors test each requirement.
//!
//! A requirement is *covered* if an always-on check, a scenario or a vector names it, *excluded* if its row says why it
//! cannot be tested, and *open* in all other cases. The scenarios and the catalogue of checks name the requirements
//! that they test; the kill matrix (`mutants`) names the checks and scenarios that are known to detect an injected
//! fault.
//!
//! A scenario covers requirements only on hosts against which the scenario is played, and a step only in versions to
//! which the step applies. The set of played scenarios depends on the host; [`HostKind`] lists the kinds of hosts.
//!
//! Start at [`LedgerCoverage::of`].

use std::collections::{HashMap, HashSet};

use litemap::LiteMap;

use crate::agent::mode::AgentMode;
use crate::ledger::{BoundParty, Requirement, RequirementLedger};
use crate::oracle::{JudgedParty, checks_of};
use crate::reducers::vector::VectorFile;
use crate::run::detect::DetectedFeature;
use crate::run::mutant_rows::named;
use crate::run::plan::{HostRestarts, TargetAbilities, plan};
use crate::run::suite::{ScenarioSuite, SuiteEntry};
use crate::scenario::capability::{FILES, SCRIPTS};
use crate::verdict::Weight;
use crate::wire::foreign_text::ForeignText;
use crate::wire::version::Version;

use super::area::{area, or_core};

/// The kinds of hosts on which requirements may be tested.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostKind {
    /// The embedded host, whose settings a scenario may choose.
    Embedded,
    /// An external host with every capability, in a run with every option.
    Foreign,
    /// An external host with every capability, except that its agent plays no scripts.
    WithoutAgent,
    /// An external host with every capability, except that the run has no folders on the host's disk.
    WithoutFiles,
}

impl HostKind {
    /// All kinds, in the order of the columns.
    pub const ALL: [HostKind; 4] =
        [HostKind::Embedded, HostKind::Foreign, HostKind::WithoutAgent, HostKind::WithoutFiles];

    /// Returns the heading of this kind's column in the table.
    pub fn heading(self) -> &'static str {
        match self {
            HostKind::Embedded => "anywhere",
            HostKind::Foreign => "foreign",
            HostKind::WithoutAgent => "no agent",
            HostKind::WithoutFiles => "no files",
        }
    }

    /// Returns the key of this kind in JSON.
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
            restarts: HostRestarts::Crashes,
            detected: lacks.into_iter().collect(),
            agent: AgentMode::Host,
            aggressive: true,
        }
    }
}

/// The scenarios of a suite, with the information which of them are played on one kind of host.
struct PlayedSuite<'a> {
    /// Each scenario of the suite. If the scenario is not played, the string is the reason.
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

    /// Returns whether the played scenarios exercise the area of a requirement, so that an always-on check of the
    /// requirement can observe something.
    fn shows(&self, rule: &Requirement) -> bool {
        self.profiles.contains(&area(rule.id, "core"))
    }

    /// Returns the scenarios that test each requirement, by the requirement's identifier.
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

    /// Returns the reason why no scenario tests a requirement, taken from a scenario that would test it.
    fn why_not(&self, id: &str, version: Version) -> String {
        let mut about = self
            .planned
            .iter()
            .filter(|(entry, _)| entry.scenario.proves.iter().any(|proved| proved == id));
        // If one scenario is for this version and another is for other versions, the reason why the first one is
        // skipped is more useful.
        let missing = about.clone().filter(|(_, skip)| skip.is_some());
        let missing = missing.min_by_key(|(entry, _)| !entry.scenario.spec.includes(version));
        let missing = missing.and_then(|(entry, skip)| {
            Some(format!("`{}` is not played: {}", entry.scenario.id, skip.as_ref()?))
        });
        missing.unwrap_or_else(|| match about.next() {
            Some((entry, _)) => {
                format!("the step of `{}` is not played at {version}", entry.scenario.id)
            }
            None => "no scenario and no check tests it".to_owned(),
        })
    }
}

/// The ledger of a version, with the checks, scenarios and vectors that test each requirement.
#[derive(Debug)]
pub struct LedgerCoverage {
    /// The version.
    pub version: Version,
    /// A row for each requirement, sorted by id.
    pub rows: Vec<CoveredRequirement>,
}

/// A requirement, with the checks, scenarios and vectors that test it.
#[derive(Debug)]
pub struct CoveredRequirement {
    /// The requirement.
    pub rule: &'static Requirement,
    /// The identifiers of the always-on checks.
    pub checks: Vec<&'static str>,
    /// The identifiers of the scenarios that are played in this version.
    pub scenarios: Vec<String>,
    /// The number of vectors.
    pub vectors: usize,
    /// The injected faults that the checks and scenarios of the requirement must detect.
    pub faults: Vec<&'static str>,
    /// The kinds of hosts on which a check or scenario tests the requirement.
    pub reached: Vec<HostKind>,
    /// The reason why the requirement is not tested on an external host with every capability; `None` if it is
    /// tested on such a host.
    pub unreached: Option<String>,
}

/// The coverage of a requirement.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum RequirementStanding {
    /// A check, scenario or vector tests the requirement.
    Covered,
    /// The requirement cannot be tested; its row has the reason.
    Excluded,
    /// The requirement has no test.
    Open,
}

impl CoveredRequirement {
    /// Returns the coverage of the requirement.
    pub fn standing(&self) -> RequirementStanding {
        let tested = !self.checks.is_empty() || !self.scenarios.is_empty() || self.vectors > 0;
        match (tested, self.rule.excluded) {
            (true, _) => RequirementStanding::Covered,
            (false, Some(_)) => RequirementStanding::Excluded,
            (false, None) => RequirementStanding::Open,
        }
    }
}

/// The numbers of requirements that are covered, excluded or open.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CoverageTally {
    /// The number of all requirements.
    pub all: usize,
    /// The number of covered requirements.
    pub covered: usize,
    /// The number of requirements tested on each kind of host.
    pub reached: [usize; HostKind::ALL.len()],
    /// The number of excluded requirements.
    pub excluded: usize,
    /// The number of open requirements.
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
    /// Determines which requirements of a version a suite and the vectors cover.
    pub fn of(version: Version, suite: &ScenarioSuite, vectors: &[VectorFile]) -> LedgerCoverage {
        let mut checks: HashMap<&str, Vec<&'static str>> = HashMap::new();
        let parties = [JudgedParty::Server, JudgedParty::Clients];
        for check in parties.iter().flat_map(|party| checks_of(version.standard, *party)) {
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
                let server = rule.party != BoundParty::Client;
                tests.contains_key(rule.id) || server && !checks.is_empty() && played.shows(rule)
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

    /// Returns the numbers of requirements for each weight and party, the heaviest weight first.
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

    /// Returns the open requirements of at least this weight, the most severe first.
    pub fn open(&self, weight: Weight) -> Vec<&CoveredRequirement> {
        let open = |row: &&CoveredRequirement| {
            row.standing() == RequirementStanding::Open && row.rule.weight >= weight
        };
        let mut rows: Vec<_> = self.rows.iter().filter(open).collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.rule.severity, row.rule.weight)));
        rows
    }

    /// Returns the requirements that could be tested but are not tested on an external host with every
    /// capability, with the reasons. The list contains only requirements of at least this weight that bind a
    /// host or an agent; the heaviest come first.
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

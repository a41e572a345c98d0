//! Measures the fuzzer: the effort until it finds each injected fault, and the size of the shrunk scenario compared
//! with the hand-written scenario.
//!
//! The conversations are generated once and played against every fault. The effort is counted in steps, so that
//! the table is the same on every machine; time is only a limit. Rows that are already known are not played
//! again.
//!
//! Knows: faults, the embedded suite. Never knows: the presentation of tables, real clocks.
//!
//! Start at [`PlantedTable::play`].

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::agent::acp::fault::Fault as AgentFault;
use crate::agent::mode::AgentMode;
use crate::fault::FaultKind;
use crate::host::engine::{HostConfig, RefHost};
use crate::host::fault::HostFault;
use crate::run::agents;
use crate::run::mutant_rows::{self, load_rows, rows};
use crate::run::mutants::{play_on, playable};
use crate::run::play::ScenarioVerdict;
use crate::run::suite::{ScenarioSuite, SuiteEntry};
use crate::verdict::Status;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::agents::{AgentAbilitySet, AgentConversationGenerator};
use super::conditions::PlayConditions;
use super::draft::ScenarioDraft;
use super::embedded::EmbeddedGround;
use super::generate::ConversationGenerator;
use super::source::ConversationSource;

/// Why no conversation can find the faults in the admission of connections.
const OUTSIDE: &str = "it concerns the HTTP request that opens a connection, and the credentials \
                       in it; conversations only use open connections";

/// Why no conversation can find the faults that occur only under load.
const UNDER_LOAD: &str = "it shows only under load, and `stress` finds it";

/// Faults that cannot be observed in any generated conversation, each with the reason, declared in advance.
pub const UNSEEN: &[(HostFault, &str)] = &[
    (
        HostFault::ReplayPartialAfterOverflow,
        "it needs a host that keeps so little history that a conversation exceeds it, which only a \
         setting of the embedded host provides",
    ),
    (
        HostFault::ListOldestFirst,
        "on a host that has other users, the session that was modified last is not known, so no \
         order is expected",
    ),
    (
        HostFault::ActiveSessionsOneMore,
        "on a host that has other users, the number of active sessions is not known",
    ),
    (HostFault::DoorOpen, OUTSIDE),
    (HostFault::DoorLate, OUTSIDE),
    (HostFault::OriginIgnored, OUTSIDE),
    (HostFault::ClientIdTaken, OUTSIDE),
    (HostFault::ClientIdResumed, OUTSIDE),
    (
        HostFault::PreferenceIgnored,
        "it needs a host that supports several versions below 1.0.0, which only a setting of the \
         embedded host provides",
    ),
];

/// The result of one seed for one fault that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct PlantedHit {
    /// The number of conversations that were generated until the fault was found, including the last one.
    pub sequences: usize,
    /// The number of steps in these conversations.
    pub steps: usize,
    /// The time until the fault was found, generation included.
    pub took: Duration,
    /// The rule that the finding reports as broken.
    pub rule: String,
}

/// The results of one fault.
#[derive(Clone, Debug, PartialEq)]
pub struct PlantedRow<F> {
    /// The fault.
    pub fault: F,
    /// The reason why the fault was not searched for; `None` if the fault was searched for.
    pub unseen: Option<&'static str>,
    /// The result of each seed; `None` if the seed did not find the fault.
    pub hits: Vec<Option<PlantedHit>>,
    /// The number of steps of the shrunk scenario, from the first seed that found the fault.
    pub small: Option<usize>,
    /// The id and the number of steps of a hand-written scenario: the smallest scenario that the fault's row names and
    /// that detects the fault.
    pub by_hand: Option<(String, usize)>,
}

impl<F: SoughtFault> PlantedRow<F> {
    /// Returns the median number of steps until the fault was found; `None` unless most seeds found it.
    pub fn steps(&self) -> Option<usize> {
        let mut steps: Vec<usize> =
            self.hits.iter().map(|hit| hit.as_ref().map_or(usize::MAX, |hit| hit.steps)).collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied().filter(|steps| *steps < usize::MAX)
    }

    /// Returns how many steps the shrunk scenario has more than the hand-written scenario; `None` if one of these
    /// scenarios is missing.
    pub fn more(&self) -> Option<isize> {
        let (small, (_, by_hand)) = (self.small?, self.by_hand.as_ref()?);
        Some(small as isize - *by_hand as isize)
    }

    /// Returns the row as a JSON value, for saving.
    pub fn value(&self) -> Value {
        let hit = |hit: &Option<PlantedHit>| match hit {
            Some(PlantedHit { sequences, steps, took, rule }) => {
                json!([sequences, steps, took.as_secs_f64(), rule])
            }
            None => Value::Null,
        };
        json!({
            "fault": self.fault.word(), "hits": self.hits.iter().map(hit).collect::<Vec<_>>(),
            "small": self.small, "byHand": self.by_hand.as_ref().map(|(id, steps)| json!([id, steps])),
        })
    }

    /// Parses the output of [`value`](Self::value).
    pub fn of(value: &Value) -> Option<PlantedRow<F>> {
        let count = |value: &Value| value.as_u64().and_then(|it| usize::try_from(it).ok());
        let hit = |hit: &Value| {
            let took = Duration::try_from_secs_f64(hit[2].as_f64()?).ok()?;
            let rule = hit[3].as_str()?.to_owned();
            Some(PlantedHit { sequences: count(&hit[0])?, steps: count(&hit[1])?, took, rule })
        };
        let hand = &value["byHand"];
        let fault = F::named(value["fault"].as_str()?)?;
        Some(PlantedRow {
            fault,
            unseen: fault.unseen(),
            hits: value["hits"].as_array()?.iter().map(hit).collect(),
            small: count(&value["small"]),
            by_hand: hand[0].as_str().and_then(|id| Some((id.to_owned(), count(&hand[1])?))),
        })
    }
}

/// A kind of injected fault that generated conversations search for.
pub trait SoughtFault: FaultKind {
    /// Whether faults of this kind are faults of an agent under test, and not of a host.
    const IS_OF_AGENTS: bool;

    /// Returns the mode of the agent in the conversations in which the fault may be observed.
    fn mode(self) -> AgentMode;

    /// Returns a host or agent with this fault.
    fn planted(self, version: Version) -> EmbeddedGround;

    /// Returns a host or agent without faults. The mode says who plays the host's agent.
    fn honest(version: Version, mode: AgentMode) -> EmbeddedGround;

    /// Returns the generator of the conversations in which the fault is searched for.
    fn source(version: Version, mode: AgentMode, seed: u64) -> ConversationSource;

    /// Returns why the fault cannot be observed in any generated conversation; `None` if the fault is searched for. The
    /// reasons are declared in advance.
    fn unseen(self) -> Option<&'static str>;

    /// Returns the checks and scenarios that must detect the fault.
    fn trips(self) -> Vec<&'static str>;

    /// Returns the hand-written scenarios of the suite that can be played at this version.
    fn entries(suite: &ScenarioSuite, version: Version) -> Vec<SuiteEntry>;

    /// Plays a hand-written scenario against the host or agent with this fault.
    fn play_by_hand(self, entry: &SuiteEntry, version: Version) -> ScenarioVerdict;
}

impl SoughtFault for HostFault {
    const IS_OF_AGENTS: bool = false;

    fn mode(self) -> AgentMode {
        if self.is_below() { AgentMode::Acp } else { AgentMode::Host }
    }

    fn planted(self, version: Version) -> EmbeddedGround {
        EmbeddedGround::of(version, self.mode(), &[self])
    }

    fn honest(version: Version, mode: AgentMode) -> EmbeddedGround {
        EmbeddedGround::of(version, mode, &[])
    }

    fn source(version: Version, mode: AgentMode, seed: u64) -> ConversationSource {
        let conditions = PlayConditions { agent: Some(mode), ..PlayConditions::ALL };
        ConversationSource::OfHosts(ConversationGenerator::new(version, seed, conditions))
    }

    fn unseen(self) -> Option<&'static str> {
        let row = UNSEEN.iter().find(|(known, _)| *known == self).map(|row| row.1);
        row.or_else(|| self.is_under_load().then_some(UNDER_LOAD))
    }

    fn trips(self) -> Vec<&'static str> {
        rows()
            .chain(load_rows())
            .filter(|row| row.fault == self)
            .flat_map(|row| row.trips.iter().copied())
            .collect()
    }

    fn entries(suite: &ScenarioSuite, version: Version) -> Vec<SuiteEntry> {
        playable(suite, version)
    }

    fn play_by_hand(self, entry: &SuiteEntry, version: Version) -> ScenarioVerdict {
        let config = HostConfig { faults: vec![self], ..HostConfig::default() };
        play_on(entry, version, &mut RefHost::new(config))
    }
}

impl SoughtFault for AgentFault {
    const IS_OF_AGENTS: bool = true;

    fn mode(self) -> AgentMode {
        AgentMode::default()
    }

    fn planted(self, _version: Version) -> EmbeddedGround {
        EmbeddedGround::of_agent(&[self])
    }

    fn honest(_version: Version, _mode: AgentMode) -> EmbeddedGround {
        EmbeddedGround::of_agent(&[])
    }

    fn source(_version: Version, _mode: AgentMode, seed: u64) -> ConversationSource {
        let all = AgentAbilitySet::all();
        ConversationSource::OfAgents(AgentConversationGenerator::new(seed, all))
    }

    fn unseen(self) -> Option<&'static str> {
        None
    }

    fn trips(self) -> Vec<&'static str> {
        let rows = mutant_rows::acp::ROWS.iter().filter(|row| row.fault == self);
        rows.flat_map(|row| row.trips.iter().copied()).collect()
    }

    fn entries(suite: &ScenarioSuite, _version: Version) -> Vec<SuiteEntry> {
        agents::playable(suite)
    }

    fn play_by_hand(self, entry: &SuiteEntry, version: Version) -> ScenarioVerdict {
        agents::play_on(entry, &mut *self.planted(version).subject(&entry.scenario))
    }
}

/// The limits of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlantedEffort {
    /// The number of steps of each seed.
    pub steps: u64,
    /// The time limit of a seed for one fault, generation included.
    pub time: Duration,
    /// The number of seeds.
    pub seeds: u64,
    /// Whether findings are shrunk.
    pub shrinks: bool,
}

/// The functions of the caller that [`PlantedTable::play`] needs.
pub struct PlantedMeans<'a, F> {
    /// A function that returns the CPU time of the calling thread.
    pub clock: &'a (dyn Fn() -> Duration + Sync),
    /// A function that calls its argument on any number of threads.
    pub share: &'a dyn Fn(&(dyn Fn() + Sync)),
    /// A function that saves a finished row.
    pub keep: &'a (dyn Fn(&PlantedRow<F>) + Sync),
}

/// The results of the search for each fault, as a table.
#[derive(Clone, Debug)]
pub struct PlantedTable<F> {
    /// The protocol version.
    pub version: Version,
    /// The limits of the search.
    pub effort: PlantedEffort,
    /// The rows, in the order of the faults.
    pub rows: Vec<PlantedRow<F>>,
}

/// The generated conversations of all seeds, and the average time to generate one step.
struct GeneratedConversations {
    seeds: Vec<Vec<ScenarioDraft>>,
    a_step: Duration,
}

impl<F: SoughtFault> PlantedTable<F> {
    /// Plays generated conversations against each of these faults that has no row in `known`.
    pub fn play(
        version: Version,
        faults: &[F],
        effort: PlantedEffort,
        known: Vec<PlantedRow<F>>,
        means: &PlantedMeans<'_, F>,
    ) -> PlantedTable<F> {
        let suite = ScenarioSuite::carried();
        let entries = F::entries(&suite, version);
        let is_known = |fault: &F| known.iter().any(|row| row.fault == *fault);
        let open: Vec<F> = faults.iter().copied().filter(|it| !is_known(it)).collect();
        let rows: Mutex<Vec<PlantedRow<F>>> = Mutex::new(known);
        for mode in [AgentMode::Host, AgentMode::Acp] {
            let faults: Vec<F> = open.iter().copied().filter(|it| it.mode() == mode).collect();
            if faults.is_empty() {
                continue;
            }
            let generated = generated::<F>(version, mode, effort, means);
            let next = AtomicUsize::new(0);
            (means.share)(&|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = hunt(*fault, version, &generated, effort, &entries, means.clock);
                    (means.keep)(&row);
                    rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
                }
            });
        }
        let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
        rows.retain(|row| faults.contains(&row.fault));
        rows.sort_by_key(|row| row.fault);
        PlantedTable { version, effort, rows }
    }

    /// Returns the rows of faults that were searched for.
    pub fn sought(&self) -> impl Iterator<Item = &PlantedRow<F>> {
        self.rows.iter().filter(|row| row.unseen.is_none())
    }

    /// Returns the percentage of the searched faults that most seeds found.
    pub fn found_percent(&self) -> usize {
        let all = self.sought().count().max(1);
        self.sought().filter(|row| row.steps().is_some()).count() * 100 / all
    }

    /// Returns the duration of the longest successful search.
    pub fn longest(&self) -> Duration {
        self.rows
            .iter()
            .flat_map(|row| row.hits.iter().flatten())
            .map(|hit| hit.took)
            .max()
            .unwrap_or_default()
    }

    /// Returns the median of the differences in steps between shrunk and hand-written scenarios.
    pub fn median_more(&self) -> Option<isize> {
        let mut more: Vec<isize> = self.rows.iter().filter_map(PlantedRow::more).collect();
        more.sort_unstable();
        more.get(more.len() / 2).copied()
    }
}

/// Generates the conversations of each seed. Conversations with a finding against the host without faults are
/// left out.
fn generated<F: SoughtFault>(
    version: Version,
    mode: AgentMode,
    effort: PlantedEffort,
    means: &PlantedMeans<'_, F>,
) -> GeneratedConversations {
    let honest = F::honest(version, mode);
    let worked: Mutex<Duration> = Mutex::default();
    let of_seed = |seed| {
        let source = F::source(version, mode, seed);
        let (next, steps) = (AtomicU64::new(0), AtomicU64::new(0));
        let drafts: Mutex<Vec<(u64, ScenarioDraft)>> = Mutex::default();
        (means.share)(&|| {
            let began = (means.clock)();
            while steps.load(Ordering::Relaxed) < effort.steps {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let sequence = source.sequence(number);
                if let Some(sequence) = sequence.filter(|it| honest.found(&it.draft).is_empty()) {
                    steps.fetch_add(sequence.draft.steps.len() as u64, Ordering::Relaxed);
                    let mut drafts = drafts.lock().unwrap_or_else(PoisonError::into_inner);
                    drafts.push((number, sequence.draft));
                }
            }
            *worked.lock().unwrap_or_else(PoisonError::into_inner) += (means.clock)() - began;
        });
        let mut drafts = drafts.into_inner().unwrap_or_else(PoisonError::into_inner);
        drafts.sort_by_key(|(number, _)| *number);
        // The threads together may have generated more conversations than needed.
        let mut left = effort.steps;
        drafts.retain(|(_, draft)| {
            let wanted = left > 0;
            left = left.saturating_sub(draft.steps.len() as u64);
            wanted
        });
        drafts.into_iter().map(|(_, draft)| draft).collect::<Vec<_>>()
    };
    let seeds: Vec<Vec<ScenarioDraft>> = (1..=effort.seeds).map(of_seed).collect();
    let steps: usize = seeds.iter().flatten().map(|draft| draft.steps.len()).sum();
    let worked = worked.into_inner().unwrap_or_else(PoisonError::into_inner);
    GeneratedConversations {
        seeds,
        a_step: worked / u32::try_from(steps.max(1)).unwrap_or(u32::MAX),
    }
}

fn hunt<F: SoughtFault>(
    fault: F,
    version: Version,
    generated: &GeneratedConversations,
    effort: PlantedEffort,
    entries: &[SuiteEntry],
    clock: &dyn Fn() -> Duration,
) -> PlantedRow<F> {
    let (ground, unseen) = (fault.planted(version), fault.unseen());
    let mut row = PlantedRow { fault, unseen, hits: Vec::new(), small: None, by_hand: None };
    if row.unseen.is_some() {
        return row;
    }
    for drafts in &generated.seeds {
        let (began, mut steps) = (clock(), 0);
        let mut hit = None;
        for (place, draft) in drafts.iter().enumerate() {
            steps += draft.steps.len();
            let finding = ground.found(draft).into_iter().next();
            let generating = generated.a_step * u32::try_from(steps).unwrap_or(u32::MAX);
            let took = clock() - began + generating;
            if let Some(finding) = finding {
                if row.small.is_none() && effort.shrinks {
                    row.small = Some(ground.small(draft.clone(), &finding).steps.len());
                }
                hit = Some(PlantedHit { sequences: place + 1, steps, took, rule: finding.rule });
                break;
            }
            if took > effort.time {
                break;
            }
        }
        row.hits.push(hit);
    }
    if effort.shrinks {
        row.by_hand = by_hand(fault, version, entries);
    }
    row
}

/// Returns the smallest scenario that detects the fault. The candidates are the scenarios whose id or area the fault's
/// row names.
fn by_hand<F: SoughtFault>(
    fault: F,
    version: Version,
    entries: &[SuiteEntry],
) -> Option<(String, usize)> {
    let names: HashSet<&str> = fault.trips().into_iter().collect();
    let named = |entry: &&SuiteEntry| {
        let id = entry.scenario.id.as_str();
        let area = id.split('/').next().unwrap_or_default();
        names.contains(id) || names.contains(format!("{area}/*").as_str())
    };
    let mut candidates: Vec<&SuiteEntry> = entries.iter().filter(named).collect();
    if candidates.is_empty() {
        // The row names only checks, which may report a finding in any scenario.
        candidates = entries.iter().collect();
    }
    candidates.sort_by_key(|entry| entry.scenario.steps.len());
    let trips = |entry: &&&SuiteEntry| {
        let verdict = fault.play_by_hand(entry, version);
        let broken = verdict.checks.iter().any(|check| !check.findings.is_empty());
        broken || !matches!(verdict.status, Status::Pass | Status::Skip)
    };
    let found = candidates.iter().find(trips)?;
    Some((found.scenario.id.clone(), found.scenario.steps.len()))
}

//! What the fuzzer is worth: how soon it finds each planted fault, and how small what it found becomes, beside
//! the scenario that was written by hand.
//!
//! The same conversations are played against every fault, so that they are drawn once. What is tried is counted in
//! steps, so that the table is the same on every machine; time is only a limit. A row that is known from before is not
//! played again.
//!
//! Knows: faults, the carried suite. Never knows: how a table is shown, and what a clock is.
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
use crate::run::mutant_rows::{self, rows};
use crate::run::mutants::{play_on, playable};
use crate::run::play::ScenarioVerdict;
use crate::run::suite::{ScenarioSuite, SuiteEntry};
use crate::verdict::Status;
use crate::wire::json::{Value, json};
use crate::wire::version::Version;

use super::agents::{AgentAbilitySet, AgentConversationGenerator};
use super::draft::ScenarioDraft;
use super::embedded::EmbeddedGround;
use super::generate::{ConversationGenerator, DrawTaste};
use super::source::ConversationSource;

/// Why what a host lets in is not seen.
const OUTSIDE: &str = "it is about the HTTP request that a connection begins with and the credentials in it, and conversations \
                       are what is said on connections that stand";

/// Faults that no drawn conversation shows, each with the reason, said beforehand.
pub const UNSEEN: &[(HostFault, &str)] = &[
    (
        HostFault::ReplayPartialAfterOverflow,
        "it needs a host that keeps so little that a conversation overflows it, which only a setting of the \
         embedded host makes",
    ),
    (
        HostFault::ListOldestFirst,
        "on a host that others use too nobody knows which session was modified last, so no order is expected",
    ),
    (
        HostFault::ActiveSessionsOneMore,
        "on a host that others use too nobody knows how many sessions are active",
    ),
    (HostFault::DoorOpen, OUTSIDE),
    (HostFault::DoorLate, OUTSIDE),
    (HostFault::OriginIgnored, OUTSIDE),
    (HostFault::ClientIdTaken, OUTSIDE),
    (HostFault::ClientIdResumed, OUTSIDE),
    (
        HostFault::PreferenceIgnored,
        "it needs a host that speaks several versions below 1.0.0, which only a setting of the embedded host makes",
    ),
];

/// What came of one fault and one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct PlantedHit {
    /// Conversations that were played up to it.
    pub sequences: usize,
    /// Steps that were played up to it.
    pub steps: usize,
    /// How long that took, drawing included.
    pub took: Duration,
    /// What does not hold.
    pub rule: String,
}

/// What came of one fault.
#[derive(Clone, Debug, PartialEq)]
pub struct PlantedRow<F> {
    /// The fault.
    pub fault: F,
    /// Why it was not looked for.
    pub unseen: Option<&'static str>,
    /// What each seed found.
    pub hits: Vec<Option<PlantedHit>>,
    /// The steps of the small case of the first seed that found it.
    pub small: Option<usize>,
    /// The smallest scenario of its row that was written by hand and trips on it, and its steps.
    pub by_hand: Option<(String, usize)>,
}

impl<F: SoughtFault> PlantedRow<F> {
    /// The median of the steps that it took, where most seeds found it.
    pub fn steps(&self) -> Option<usize> {
        let mut steps: Vec<usize> =
            self.hits.iter().map(|hit| hit.as_ref().map_or(usize::MAX, |hit| hit.steps)).collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied().filter(|steps| *steps < usize::MAX)
    }

    /// How many steps more than the scenario by hand the small case has.
    pub fn more(&self) -> Option<isize> {
        let (small, (_, by_hand)) = (self.small?, self.by_hand.as_ref()?);
        Some(small as isize - *by_hand as isize)
    }

    /// The row as a line to keep.
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

    /// Reads what [`value`](Self::value) made.
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

/// A kind of fault that drawn conversations look for.
pub trait SoughtFault: FaultKind {
    /// Whether it is a fault of an agent that is put to the test itself.
    const IS_OF_AGENTS: bool;

    /// Who plays the agent in the conversations that may show it.
    fn mode(self) -> AgentMode;

    /// The host or agent that has it.
    fn planted(self, version: Version) -> EmbeddedGround;

    /// One without faults, whose agent is played in this way.
    fn honest(version: Version, mode: AgentMode) -> EmbeddedGround;

    /// Who draws conversations for it.
    fn source(version: Version, mode: AgentMode, seed: u64) -> ConversationSource;

    /// Why no drawn conversation shows it, said beforehand.
    fn unseen(self) -> Option<&'static str>;

    /// The checks and scenarios that it has to trip.
    fn trips(self) -> Vec<&'static str>;

    /// The scenarios that were written by hand.
    fn entries(suite: &ScenarioSuite, version: Version) -> Vec<SuiteEntry>;

    /// Plays one of them against the host or agent that has it.
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
        let taste = DrawTaste { agent: Some(mode), ..DrawTaste::ALL };
        ConversationSource::OfHosts(ConversationGenerator::new(version, seed, taste))
    }

    fn unseen(self) -> Option<&'static str> {
        UNSEEN.iter().find(|(known, _)| *known == self).map(|row| row.1)
    }

    fn trips(self) -> Vec<&'static str> {
        rows().filter(|row| row.fault == self).flat_map(|row| row.trips.iter().copied()).collect()
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

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlantedEffort {
    /// Steps of each seed.
    pub steps: u64,
    /// How long a seed may look for a fault, drawing included.
    pub time: Duration,
    /// How many seeds.
    pub seeds: u64,
    /// Whether what is found is made small.
    pub shrinks: bool,
}

/// What a table is made with.
pub struct PlantedMeans<'a, F> {
    /// The time that the calling thread has worked.
    pub clock: &'a (dyn Fn() -> Duration + Sync),
    /// Calls what it is given on as many threads as it likes.
    pub share: &'a dyn Fn(&(dyn Fn() + Sync)),
    /// Is told of each row as soon as it is there.
    pub keep: &'a (dyn Fn(&PlantedRow<F>) + Sync),
}

/// The whole table.
#[derive(Clone, Debug)]
pub struct PlantedTable<F> {
    /// The version that was spoken.
    pub version: Version,
    /// What was tried.
    pub effort: PlantedEffort,
    /// A row each, in the order of the faults.
    pub rows: Vec<PlantedRow<F>>,
}

/// Conversations, and how long it took to draw a step of them.
struct DrawnConversations {
    seeds: Vec<Vec<ScenarioDraft>>,
    a_step: Duration,
}

impl<F: SoughtFault> PlantedTable<F> {
    /// Plays drawn conversations against each of these faults of which no row is `known`.
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
            let drawn = drawn::<F>(version, mode, effort, means);
            let next = AtomicUsize::new(0);
            (means.share)(&|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = hunt(*fault, version, &drawn, effort, &entries, means.clock);
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

    /// The rows of faults that were looked for.
    pub fn sought(&self) -> impl Iterator<Item = &PlantedRow<F>> {
        self.rows.iter().filter(|row| row.unseen.is_none())
    }

    /// Of a hundred faults that were looked for, how many most seeds found.
    pub fn found_percent(&self) -> usize {
        let all = self.sought().count().max(1);
        self.sought().filter(|row| row.steps().is_some()).count() * 100 / all
    }

    /// How long the longest search took that found something.
    pub fn longest(&self) -> Duration {
        self.rows
            .iter()
            .flat_map(|row| row.hits.iter().flatten())
            .map(|hit| hit.took)
            .max()
            .unwrap_or_default()
    }

    /// The median of how many steps more the small cases have than those by hand.
    pub fn median_more(&self) -> Option<isize> {
        let mut more: Vec<isize> = self.rows.iter().filter_map(PlantedRow::more).collect();
        more.sort_unstable();
        more.get(more.len() / 2).copied()
    }
}

/// The conversations of each seed that the honest host plays as they were drawn.
fn drawn<F: SoughtFault>(
    version: Version,
    mode: AgentMode,
    effort: PlantedEffort,
    means: &PlantedMeans<'_, F>,
) -> DrawnConversations {
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
        // Threads may have drawn a few too many.
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
    DrawnConversations { seeds, a_step: worked / u32::try_from(steps.max(1)).unwrap_or(u32::MAX) }
}

fn hunt<F: SoughtFault>(
    fault: F,
    version: Version,
    drawn: &DrawnConversations,
    effort: PlantedEffort,
    entries: &[SuiteEntry],
    clock: &dyn Fn() -> Duration,
) -> PlantedRow<F> {
    let (ground, unseen) = (fault.planted(version), fault.unseen());
    let mut row = PlantedRow { fault, unseen, hits: Vec::new(), small: None, by_hand: None };
    if row.unseen.is_some() {
        return row;
    }
    for drafts in &drawn.seeds {
        let (began, mut steps) = (clock(), 0);
        let mut hit = None;
        for (place, draft) in drafts.iter().enumerate() {
            steps += draft.steps.len();
            let finding = ground.found(draft).into_iter().next();
            let drawing = drawn.a_step * u32::try_from(steps).unwrap_or(u32::MAX);
            let took = clock() - began + drawing;
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

/// The smallest scenario that the fault's row names, or an area of which it names, and that trips on it.
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
        // The row names checks alone: any scenario may be the one under which they trip.
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

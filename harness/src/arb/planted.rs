//! What the fuzzer is worth: how soon it finds each planted fault, and how small what it found becomes, beside
//! the scenario that was written by hand.
//!
//! The same conversations are played against every fault, so that they are drawn once.
//!
//! Knows: faults, the carried suite. Never knows: how a table is shown.
//!
//! Start at [`Table::play`].

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::agent::mode::Mode;
use crate::host::engine::{Config, RefHost};
use crate::host::fault::{BELOW, FAULTS, Fault};
use crate::run::mutant_rows::rows;
use crate::run::mutants::{play_on, playable};
use crate::run::suite::{Entry, Suite};
use crate::verdict::Status;
use crate::wire::version::Version;

use super::draft::Draft;
use super::embedded::Ground;
use super::generate::{Generator, Taste};

/// Faults that no drawn conversation shows, each with the reason, said beforehand.
pub const UNSEEN: &[(Fault, &str)] = &[
    (
        Fault::ReplayPartialAfterOverflow,
        "it needs a host that keeps so little that a conversation overflows it, which only a setting of the \
         embedded host makes",
    ),
    (
        Fault::ListOldestFirst,
        "on a host that others use too nobody knows which session was modified last, so no order is expected",
    ),
    (
        Fault::ActiveSessionsOneMore,
        "on a host that others use too nobody knows how many sessions are active",
    ),
];

/// What came of one fault and one seed.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Conversations that were played up to it.
    pub sequences: usize,
    /// Steps that were played up to it.
    pub steps: usize,
    /// What does not hold.
    pub rule: String,
}

/// What came of one fault.
#[derive(Clone, Debug)]
pub struct Row {
    /// The fault.
    pub fault: Fault,
    /// Why it was not looked for.
    pub unseen: Option<&'static str>,
    /// What each seed found.
    pub hits: Vec<Option<Hit>>,
    /// The small case of the first seed that found it.
    pub small: Option<Draft>,
    /// The smallest scenario of its row that was written by hand and trips on it, and its steps.
    pub by_hand: Option<(String, usize)>,
}

impl Row {
    /// The median of the steps that it took, where most seeds found it.
    pub fn steps(&self) -> Option<usize> {
        let mut steps: Vec<usize> =
            self.hits.iter().map(|hit| hit.as_ref().map_or(usize::MAX, |hit| hit.steps)).collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied().filter(|steps| *steps < usize::MAX)
    }

    /// How many steps more than the scenario by hand the small case has.
    pub fn more(&self) -> Option<isize> {
        let (small, (_, by_hand)) = (self.small.as_ref()?, self.by_hand.as_ref()?);
        Some(small.steps.len() as isize - *by_hand as isize)
    }
}

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Conversations of each seed.
    pub sequences: u64,
    /// How many seeds.
    pub seeds: u64,
    /// Whether what is found is made small.
    pub shrinks: bool,
}

/// The whole table.
#[derive(Clone, Debug)]
pub struct Table {
    /// The version that was spoken.
    pub version: Version,
    /// What was tried.
    pub effort: Effort,
    /// Steps of all conversations of a seed, on average.
    pub drawn: usize,
    /// A row each, in the order of the faults.
    pub rows: Vec<Row>,
}

impl Table {
    /// Plays drawn conversations against each of these faults. `share` calls what it is given on as many threads
    /// as it likes.
    pub fn play(
        version: Version,
        faults: &[Fault],
        effort: Effort,
        share: impl Fn(&(dyn Fn() + Sync)),
    ) -> Table {
        let suite = Suite::carried();
        let entries = playable(&suite, version);
        let host = drawn(version, Mode::Host, effort, &share);
        let below = faults.iter().any(|fault| BELOW.contains(fault));
        let acp = if below {
            drawn(version, Mode::Acp, effort, &share)
        } else {
            vec![Vec::new(); host.len()]
        };
        let next = AtomicUsize::new(0);
        let rows: Mutex<Vec<Row>> = Mutex::default();
        share(&|| {
            while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (mode, drafts) = match BELOW.contains(fault) {
                    true => (Mode::Acp, &acp),
                    false => (Mode::Host, &host),
                };
                let row =
                    hunt(*fault, Ground::of(version, mode, &[*fault]), drafts, effort, &entries);
                rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
            }
        });
        let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
        rows.sort_by_key(|row| row.fault);
        let steps: usize = host.iter().flatten().map(|draft| draft.steps.len()).sum();
        Table { version, effort, drawn: steps / host.len().max(1), rows }
    }

    /// The rows of faults that were looked for.
    pub fn sought(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.unseen.is_none())
    }

    /// Of a hundred faults that were looked for, how many most seeds found.
    pub fn found_percent(&self) -> usize {
        let all = self.sought().count().max(1);
        self.sought().filter(|row| row.steps().is_some()).count() * 100 / all
    }

    /// The median of how many steps more the small cases have than those by hand.
    pub fn median_more(&self) -> Option<isize> {
        let mut more: Vec<isize> = self.rows.iter().filter_map(Row::more).collect();
        more.sort_unstable();
        more.get(more.len() / 2).copied()
    }
}

/// The conversations of each seed that the honest host plays as they were drawn.
fn drawn(
    version: Version,
    agent: Mode,
    effort: Effort,
    share: &impl Fn(&(dyn Fn() + Sync)),
) -> Vec<Vec<Draft>> {
    let taste = Taste { agent: Some(agent), ..Taste::ALL };
    let honest = Ground::of(version, agent, &[]);
    let of_seed = |seed| {
        let generator = Generator::new(version, seed, taste);
        let next = AtomicUsize::new(0);
        let drafts: Mutex<Vec<(u64, Draft)>> = Mutex::default();
        share(&|| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed) as u64;
                if number >= effort.sequences {
                    return;
                }
                let sequence = generator.sequence(number);
                if let Some(sequence) = sequence.filter(|it| honest.found(&it.draft).is_empty()) {
                    let mut drafts = drafts.lock().unwrap_or_else(PoisonError::into_inner);
                    drafts.push((number, sequence.draft));
                }
            }
        });
        let mut drafts = drafts.into_inner().unwrap_or_else(PoisonError::into_inner);
        drafts.sort_by_key(|(number, _)| *number);
        drafts.into_iter().map(|(_, draft)| draft).collect()
    };
    (1..=effort.seeds).map(of_seed).collect()
}

fn hunt(
    fault: Fault,
    ground: Ground,
    drawn: &[Vec<Draft>],
    effort: Effort,
    entries: &[Entry],
) -> Row {
    let unseen = UNSEEN.iter().find(|(known, _)| *known == fault).map(|row| row.1);
    let mut row = Row { fault, unseen, hits: Vec::new(), small: None, by_hand: None };
    if unseen.is_some() {
        return row;
    }
    for drafts in drawn {
        let mut steps = 0;
        let mut hit = None;
        for (place, draft) in drafts.iter().enumerate() {
            steps += draft.steps.len();
            let Some(finding) = ground.found(draft).into_iter().next() else { continue };
            if row.small.is_none() && effort.shrinks {
                row.small = Some(ground.small(draft.clone(), &finding.rule));
            }
            hit = Some(Hit { sequences: place + 1, steps, rule: finding.rule });
            break;
        }
        row.hits.push(hit);
    }
    if effort.shrinks {
        row.by_hand = by_hand(fault, ground.version, entries);
    }
    row
}

/// The smallest scenario that the fault's row names, or an area of which it names, and that trips on it.
fn by_hand(fault: Fault, version: Version, entries: &[Entry]) -> Option<(String, usize)> {
    let names: HashSet<&str> =
        rows().filter(|row| row.fault == fault).flat_map(|row| row.trips.iter().copied()).collect();
    let named = |entry: &&Entry| {
        let id = entry.scenario.id.as_str();
        let area = id.split('/').next().unwrap_or_default();
        names.contains(id) || names.contains(format!("{area}/*").as_str())
    };
    let mut candidates: Vec<&Entry> = entries.iter().filter(named).collect();
    if candidates.is_empty() {
        // The row names checks alone: any scenario may be the one under which they trip.
        candidates = entries.iter().collect();
    }
    candidates.sort_by_key(|entry| entry.scenario.steps.len());
    let trips = |entry: &&&Entry| {
        let config = Config { faults: vec![fault], ..Config::default() };
        let verdict = play_on(entry, version, &mut RefHost::new(config));
        let broken = verdict.checks.iter().any(|check| !check.findings.is_empty());
        broken || !matches!(verdict.status, Status::Pass | Status::Skip)
    };
    let found = candidates.iter().find(trips)?;
    Some((found.scenario.id.clone(), found.scenario.steps.len()))
}

/// Every fault.
pub fn all() -> Vec<Fault> {
    FAULTS.iter().map(|row| row.fault).collect()
}

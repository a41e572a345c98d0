//! The requirements of the specification: identifier, weight, source and argument of each requirement.
//!
//! The rows are in `protocol/requirements/ahp.toml` and `acp-1.toml`, one table per requirement, sorted by identifier,
//! with the differences in older versions. The build script compiles a ledger per version into the binary. Every
//! verdict of the harness refers to a row: a scenario or a check names the identifier, and the row states the weight of
//! a breach. If the text of a rule has no keyword such as MUST, but its weight is greater than that of a note, its row
//! has an argument for the weight.
//!
//! Knows: `wire::version`, `verdict::Weight`. Never knows: the checks and scenarios that use a row.
//!
//! Start at [`RequirementLedger::of`].

use std::fmt;

use strsim::levenshtein as edits;

use crate::verdict::Weight;
use crate::wire::version::Version;

/// All requirements of one protocol version, sorted by identifier.
#[derive(Debug)]
pub struct RequirementLedger {
    /// The version.
    pub version: Version,
    rows: &'static [Requirement],
}

/// A requirement: one rule that a host, client, reducer or agent can fulfil or break.
#[derive(Debug, Eq, PartialEq)]
pub struct Requirement {
    /// The identifier, in the form `area.what-must-hold`. An identifier is never reused.
    pub id: &'static str,
    /// The weight of a breach.
    pub weight: Weight,
    /// The severity of a breach.
    pub severity: RequirementSeverity,
    /// The party that must fulfil the requirement.
    pub party: BoundParty,
    /// The first version that contains the requirement.
    pub since: Version,
    /// The last version that contains the requirement; `None` if the newest version contains it.
    pub until: Option<Version>,
    /// The source: document and section, or crate and type.
    pub source: &'static str,
    /// The rule, in one or two sentences.
    pub statement: &'static str,
    /// The argument why a rule without a keyword has the same weight as a MUST; `None` for rows that are not essential.
    pub argument: Option<&'static str>,
    /// For a rule about reducers: the actions whose test vectors test the rule; `*` means any action.
    pub reducers: &'static [&'static str],
    /// The reason why the requirement cannot be tested; `None` if the requirement is testable.
    pub excluded: Option<&'static str>,
    /// For a rule about clients: how a breach can be observed; `None` if a breach cannot be observed, or if the rule is
    /// about another party.
    pub observation: Option<ClientObservation>,
    /// For a rule about optional behaviour: the behaviour, as a verb phrase such as "asks a client for
    /// something". The rule does not apply to a host that never shows this behaviour.
    pub when: Option<&'static str>,
    /// The kind of failure that breaks the requirement.
    pub breach: BreachKind,
}

/// How a breach of a rule about clients can be observed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClientObservation {
    /// The means that a test needs.
    pub needs: ObservationNeed,
    /// The observation that decides whether the rule holds, in one sentence.
    pub by: &'static str,
}

/// The means that a test of a client needs.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ObservationNeed {
    /// A recorded conversation with any host is enough.
    Capture,
    /// The host has to provoke the behaviour. The frames of the client show whether the rule holds.
    Host,
    /// A driver has to make the client act, or to expose the client's state.
    Driver,
}

impl ObservationNeed {
    /// Returns the means as a phrase.
    pub fn phrase(self) -> &'static str {
        match self {
            ObservationNeed::Capture => "in a capture",
            ObservationNeed::Host => "if the host plays a part",
            ObservationNeed::Driver => "with a driver",
        }
    }
}

/// The reason why no rule about clients counts when a host is judged.
const OF_CLIENTS: &str = "The rule binds clients, and the harness judges the host. Where the \
                          harness is the client, it keeps the rule itself.";

/// The kind of step failure that breaks the rule of the step.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum BreachKind {
    /// The rule is broken only by a message with wrong content: the rule describes the message, but does not require
    /// that the message is sent.
    Content,
    /// The rule is broken by wrong content, or by the opposite outcome, such as an error instead of a result, or an
    /// acceptance instead of a rejection.
    Outcome,
    /// The rule is broken by wrong content, by the opposite outcome, or by a missing answer. A host that does not
    /// answer has made no decision, so a missing answer breaks only rules of this kind.
    Silence,
}

impl Requirement {
    /// Returns the reason why the requirement does not count when a host or an agent is judged; `None` if the
    /// requirement counts.
    pub fn excluded_for_hosts(&self) -> Option<&'static str> {
        // A rule with an `observation` is about clients, and is tested only when a client is judged.
        self.excluded.or_else(|| self.observation.map(|_| OF_CLIENTS))
    }

    /// Returns whether a version contains the requirement.
    pub fn holds_in(&self, version: Version) -> bool {
        self.since <= version && self.until.is_none_or(|until| version <= until)
    }
}

/// The severity of a breach: the harm that it causes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum RequirementSeverity {
    /// A breach causes hardly any harm.
    Low,
    /// A breach misleads a user or a program.
    Medium,
    /// A breach loses work or lets states diverge.
    High,
    /// A breach bypasses a decision of the user, or makes everything fail.
    Critical,
}

/// The party that must fulfil a requirement.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum BoundParty {
    /// The host.
    Host,
    /// A client.
    Client,
    /// Any code that applies actions to a state, in a host or a client.
    Reducer,
    /// The agent, for ACP.
    Agent,
}

impl fmt::Display for BoundParty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BoundParty::Host => "host",
            BoundParty::Client => "client",
            BoundParty::Reducer => "reducer",
            BoundParty::Agent => "agent",
        })
    }
}

const LEDGERS: &[RequirementLedger] = include!(concat!(env!("OUT_DIR"), "/ledgers.rs"));

/// The divisor that determines how similar a suggested identifier must be: at most one letter in three may differ.
const ONE_IN: usize = 3;
/// The maximum length of an identifier for which suggestions are searched, in bytes.
const MAX_ID: usize = 200;

impl RequirementLedger {
    /// Returns the ledger of a version. A version without its own ledger gets the ledger of the next newer
    /// version that has one, or else the newest ledger. The members `since` and `until` of a row say whether
    /// the row applies to the version.
    pub fn of(version: Version) -> &'static RequirementLedger {
        let oldest_first = LEDGERS.iter().rev();
        let mut not_before = oldest_first.filter(|ledger| {
            ledger.version.standard == version.standard && ledger.version >= version
        });
        not_before.next().unwrap_or(RequirementLedger::newest())
    }

    /// Returns the ledger of the newest version.
    pub fn newest() -> &'static RequirementLedger {
        const { &LEDGERS[0] }
    }

    /// Iterates over the ledgers: first the ledgers of AHP, newest first, then the ledger of ACP.
    pub fn all() -> impl Iterator<Item = &'static RequirementLedger> {
        LEDGERS.iter()
    }

    /// Returns the weight of a breach in a version. If the version does not contain the rule, the weight is that of a
    /// note.
    pub fn weight(version: Version, id: &str) -> Weight {
        let row = RequirementLedger::of(version).find(id).filter(|row| row.holds_in(version));
        row.map_or(Weight::Note, |row| row.weight)
    }

    /// Returns the kind of failure that breaks a rule. An author's own requirement is broken by any failure.
    pub fn breach(id: &str) -> BreachKind {
        RequirementLedger::look_up(id).map_or(BreachKind::Silence, |row| row.breach)
    }

    /// Returns the ledger of the newest version that contains an identifier.
    pub fn newest_with(id: &str) -> Option<&'static RequirementLedger> {
        LEDGERS.iter().find(|ledger| ledger.find(id).is_some())
    }

    /// Returns the row of an identifier in the newest version that contains it. A report about one version must use the
    /// row of that version instead.
    pub fn look_up(id: &str) -> Option<&'static Requirement> {
        RequirementLedger::newest_with(id)?.find(id)
    }

    /// Returns the row of an identifier.
    pub fn find(&self, id: &str) -> Option<&'static Requirement> {
        let place = self.rows.binary_search_by(|row| row.id.cmp(id));
        self.rows.get(place.ok()?)
    }

    /// Iterates over the rows, sorted by identifier.
    pub fn iter(&self) -> impl Iterator<Item = &'static Requirement> {
        self.rows.iter()
    }

    /// Returns the identifier in the ledger with the smallest edit distance from `id`; `None` if no identifier is
    /// similar enough.
    pub fn closest(&self, id: &str) -> Option<&'static str> {
        if id.len() > MAX_ID {
            return None;
        }
        let near = |row: &Requirement| edits(id, row.id);
        let row = self.rows.iter().min_by_key(|row| near(row))?;
        let limit = id.chars().count().max(ONE_IN) / ONE_IN;
        (near(row) <= limit).then_some(row.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_in_their_version() {
        for ledger in RequirementLedger::all() {
            let least = if ledger.version == Version::ACP_1 { 50 } else { 600 };
            assert!(ledger.iter().count() > least, "{}", ledger.version);
            for row in ledger.iter() {
                let version = ledger.version;
                assert!(row.since <= version, "{version}: {}", row.id);
                assert!(row.until.is_none_or(|until| until >= version), "{version}: {}", row.id);
                assert_eq!(row.reducers.is_empty(), row.party != BoundParty::Reducer, "{}", row.id);
                assert_eq!(ledger.find(row.id), Some(row));
            }
        }
    }

    #[test]
    fn weighs_as_the_open_points_say() {
        let check = |id: &str, weight: Weight| {
            assert_eq!(RequirementLedger::newest().find(id).unwrap().weight, weight, "{id}");
        };
        check("envelope.serverseq.monotonic", Weight::Essential);
        check("dispatch.table.server-only.chat.delta", Weight::Essential);
        check("lifecycle.version.highest-in-range", Weight::Must);
        check("dispatch.chat.turnStarted.while-active", Weight::Note);
        check("chat.turn.exactly-one-end", Weight::Essential);
        check("envelope.rejection.audience", Weight::Note);
        check("dispatch.table.server-only.session.defaultChatChanged", Weight::Note);
        check("chat.create.uri-client-chosen", Weight::Note);
        check("version.host-picks-highest", Weight::Note);
    }

    #[test]
    fn suggests_what_was_meant() {
        let check = |id: &str, expected: Option<&str>| {
            assert_eq!(RequirementLedger::newest().closest(id), expected, "{id}");
            assert!(RequirementLedger::newest().find(id).is_none(), "{id}");
        };
        check("envelope.serverseq.monotone", Some("envelope.serverseq.monotonic"));
        check("ping.anytme", None);
        check("snapshot.consistent-with-logs", Some("snapshot.consistent-with-log"));
        check("zzzzzzzzzzzzzzzz", None);
        check("", None);
    }

    #[test]
    fn counts_edits() {
        let check = |from: &str, to: &str, expected: usize| {
            assert_eq!(edits(from, to), expected, "{from} {to}");
        };
        check("", "", 0);
        check("abc", "", 3);
        check("", "abc", 3);
        check("kitten", "sitting", 3);
        check("same", "same", 0);
    }
}

//! The requirements: what the specification asks for, by id, with weight, source and argument.
//!
//! The rows are `protocol/requirements/<version>.toml`, one table each, sorted by id; the build puts
//! them into the binary. Every verdict of the harness rests on one of them: a scenario or a check
//! names the id, the row says what a breach weighs. A rule without a keyword that weighs more than a
//! note has its argument beside it.
//!
//! Knows: `wire::version`, `verdict::Weight`. Never knows: which check or scenario uses a row.
//!
//! Start at [`RequirementLedger::of`].

use std::fmt;

use strsim::levenshtein as edits;

use crate::verdict::Weight;
use crate::wire::version::Version;

/// All requirements of a version, sorted by id.
#[derive(Debug)]
pub struct RequirementLedger {
    /// The version that asks for them.
    pub version: Version,
    rows: &'static [Requirement],
}

/// One rule that a peer can keep or break.
#[derive(Debug, Eq, PartialEq)]
pub struct Requirement {
    /// The name, never reused: `area.what-must-hold`.
    pub id: &'static str,
    /// What a breach weighs.
    pub weight: Weight,
    /// How much harm a breach does: the order in which rules get their checks.
    pub severity: RequirementSeverity,
    /// Who has to keep it.
    pub party: BoundParty,
    /// The first version it holds in.
    pub since: Version,
    /// The last version it holds in, where that is not the newest.
    pub until: Option<Version>,
    /// Where it comes from: document and section, or crate and type.
    pub source: &'static str,
    /// The rule, in one or two sentences.
    pub statement: &'static str,
    /// Why a rule without a keyword weighs as much as a MUST; only essential rows have one.
    pub argument: Option<&'static str>,
    /// The actions whose vectors put it to the test, for a rule about reducers; `*`: any.
    pub reducers: &'static [&'static str],
    /// Why nothing can put it to the test.
    pub excluded: Option<&'static str>,
    /// For a rule about optional behaviour: the behaviour, as a verb phrase such as "asks a client for something".
    /// The rule does not apply to a host that never behaves so.
    pub when: Option<&'static str>,
    /// What kind of failure breaks the rule.
    pub breach: BreachKind,
}

/// What kind of failure of a step breaks the rule that the step tests.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum BreachKind {
    /// What came looks wrong. The rule says how something looks, and not that it is sent.
    Content,
    /// The same, or the opposite came: an error for a result, an acceptance for a rejection.
    Outcome,
    /// The same, or no answer came to what a client sent. Other rules are not broken by silence, since a host
    /// that does not answer has not decided anything.
    Silence,
}

impl Requirement {
    /// Whether the version asks for it.
    pub fn holds_in(&self, version: Version) -> bool {
        self.since <= version && self.until.is_none_or(|until| version <= until)
    }
}

/// How much harm a breach does.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum RequirementSeverity {
    /// Hardly any.
    Low,
    /// Somebody is misled.
    Medium,
    /// Work is lost or states diverge.
    High,
    /// A decision of the user is bypassed, or nothing works.
    Critical,
}

/// Who has to keep a rule.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum BoundParty {
    /// The host.
    Host,
    /// A client.
    Client,
    /// Whoever folds actions into state, host or client.
    Reducer,
    /// The agent, of ACP.
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

/// An id that differs in more than this part of its letters, one in so many, is no suggestion.
const ONE_IN: usize = 3;
/// A longer id, in bytes, is not compared with anything.
const MAX_ID: usize = 200;

impl RequirementLedger {
    /// The ledger of a version; for one without a ledger of its own that of the next version that
    /// has one, else the newest. Its rows say by `since` and `until` whether they hold there.
    pub fn of(version: Version) -> &'static RequirementLedger {
        let oldest_first = LEDGERS.iter().rev();
        let mut not_before = oldest_first.filter(|ledger| {
            ledger.version.standard == version.standard && ledger.version >= version
        });
        not_before.next().unwrap_or(RequirementLedger::newest())
    }

    /// The ledger of the newest version.
    pub fn newest() -> &'static RequirementLedger {
        const { &LEDGERS[0] }
    }

    /// Every ledger of AHP, newest first, then that of ACP.
    pub fn all() -> impl Iterator<Item = &'static RequirementLedger> {
        LEDGERS.iter()
    }

    /// What a breach of a rule weighs in a version: no more than a note where it does not hold.
    pub fn weight(version: Version, id: &str) -> Weight {
        let row = RequirementLedger::of(version).find(id).filter(|row| row.holds_in(version));
        row.map_or(Weight::Note, |row| row.weight)
    }

    /// What kind of failure breaks a rule; that of an author's own requirement is broken by any.
    pub fn breach(id: &str) -> BreachKind {
        RequirementLedger::look_up(id).map_or(BreachKind::Silence, |row| row.breach)
    }

    /// The ledger of the newest version that has an id.
    pub fn newest_with(id: &str) -> Option<&'static RequirementLedger> {
        LEDGERS.iter().find(|ledger| ledger.find(id).is_some())
    }

    /// The row of an id in the newest version that has it. Reports about one version quote that version's own row.
    pub fn look_up(id: &str) -> Option<&'static Requirement> {
        RequirementLedger::newest_with(id)?.find(id)
    }

    /// The row of an id.
    pub fn find(&self, id: &str) -> Option<&'static Requirement> {
        let place = self.rows.binary_search_by(|row| row.id.cmp(id));
        self.rows.get(place.ok()?)
    }

    /// Every row, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = &'static Requirement> {
        self.rows.iter()
    }

    /// The id that was probably meant: the nearest by edits, when it is near at all.
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

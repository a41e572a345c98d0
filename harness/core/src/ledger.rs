//! The requirements: what the specification asks for, by id, with weight, source and argument.
//!
//! The rows are `protocol/requirements.json`, one line each, sorted by id. Every verdict of the
//! harness rests on one of them: a scenario or a check names the id, the row says what a breach
//! weighs. A rule without a keyword that weighs more than a note has its argument beside it.
//!
//! Knows: `wire::version`, `verdict::Weight`. Never knows: which check or scenario uses a row.
//!
//! Start at [`Ledger::get`].

use std::fmt;
use std::sync::OnceLock;

use litemap::LiteMap;
use serde::Deserialize;
use strsim::levenshtein as edits;

use crate::verdict::Weight;
use crate::wire::version::Version;

/// All requirements, sorted by id.
#[derive(Debug, Default)]
pub struct Ledger {
    rows: Vec<Requirement>,
}

/// One rule that a peer can keep or break.
#[derive(Debug, Eq, PartialEq)]
pub struct Requirement {
    /// The name, never reused: `area.what-must-hold`.
    pub id: String,
    /// What a breach weighs.
    pub weight: Weight,
    /// The rule, in one or two sentences.
    pub statement: String,
    /// Where it comes from: document and section, or crate and type.
    pub source: String,
    /// The first version it holds in.
    pub since: Version,
    /// Who has to keep it.
    pub party: Party,
    /// Why a rule without a keyword weighs as much as a MUST; only essential rows have one.
    pub argument: Option<String>,
}

/// Who has to keep a rule.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The host.
    Host,
    /// A client.
    Client,
    /// Whoever folds actions into state, host or client.
    Reducer,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Party::Host => "host",
            Party::Client => "client",
            Party::Reducer => "reducer",
        })
    }
}

const TEXT: &str = include_str!("../../protocol/requirements.json");

/// An id that differs in more than this part of its letters, one in so many, is no suggestion.
const ONE_IN: usize = 3;
/// A longer id, in bytes, is not compared with anything.
const MAX_ID: usize = 200;

impl Ledger {
    /// The ledger, read on its first use.
    pub fn get() -> &'static Ledger {
        static LEDGER: OnceLock<Ledger> = OnceLock::new();
        // The text is compiled in and a test reads it: the default is never seen.
        LEDGER.get_or_init(|| Ledger::read(TEXT).unwrap_or_default())
    }

    /// The row of an id.
    pub fn find(&self, id: &str) -> Option<&Requirement> {
        let place = self.rows.binary_search_by(|row| row.id.as_str().cmp(id));
        self.rows.get(place.ok()?)
    }

    /// Every row, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.rows.iter()
    }

    /// The id that was probably meant: the nearest by edits, when it is near at all.
    pub fn closest(&self, id: &str) -> Option<&str> {
        if id.len() > MAX_ID {
            return None;
        }
        let near = |row: &Requirement| edits(id, &row.id);
        let row = self.rows.iter().min_by_key(|row| near(row))?;
        let limit = id.chars().count().max(ONE_IN) / ONE_IN;
        (near(row) <= limit).then_some(row.id.as_str())
    }

    fn read(text: &str) -> Result<Ledger, serde_json::Error> {
        let file: File = serde_json::from_str(text)?;
        let mut rows = Vec::with_capacity(file.requirements.len());
        for row in file.requirements {
            rows.push(row.requirement(&file.arguments)?);
        }
        Ok(Ledger { rows })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Arguments have names, as families of rules share one.
    arguments: LiteMap<String, String>,
    requirements: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    weight: Weight,
    statement: String,
    source: String,
    since: String,
    party: Party,
    #[serde(default)]
    argument: Option<String>,
}

impl Row {
    fn requirement(
        self,
        arguments: &LiteMap<String, String>,
    ) -> Result<Requirement, serde_json::Error> {
        use serde::de::Error;
        let argument = match &self.argument {
            Some(name) => Some(arguments.get(name).cloned().ok_or_else(|| {
                Error::custom(format_args!("`{}` has no argument `{name}`", self.id))
            })?),
            None => None,
        };
        Ok(Requirement {
            since: self.since.parse().map_err(Error::custom)?,
            id: self.id,
            weight: self.weight,
            statement: self.statement,
            source: self.source,
            party: self.party,
            argument,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_complete_and_argued() {
        let ledger = Ledger::read(TEXT).unwrap();
        assert!(ledger.rows.len() > 1_300, "{}", ledger.rows.len());
        assert!(ledger.rows.is_sorted_by(|a, b| a.id < b.id));
        for row in ledger.iter() {
            let essential = row.weight == Weight::Essential;
            assert_eq!(row.argument.is_some(), essential, "{}", row.id);
            assert!(!row.statement.is_empty() && !row.source.is_empty(), "{}", row.id);
            assert_eq!(ledger.find(&row.id), Some(row));
        }
    }

    #[test]
    fn arguments_are_used() {
        let file: File = serde_json::from_str(TEXT).unwrap();
        for name in file.arguments.keys() {
            let uses = |row: &Row| row.argument.as_ref() == Some(name);
            assert!(file.requirements.iter().any(uses), "{name}");
        }
    }

    #[test]
    fn weighs_as_the_open_points_say() {
        let check = |id: &str, weight: Weight| {
            assert_eq!(Ledger::get().find(id).unwrap().weight, weight, "{id}");
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
            assert_eq!(Ledger::get().closest(id), expected, "{id}");
            assert!(Ledger::get().find(id).is_none(), "{id}");
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

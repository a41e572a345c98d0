//! Quotes requirements and checks in the reports of a run, from the ledger and with the names of the run's
//! version.
//!
//! If a rule does not apply to the version, the quote has the text of the newest version with this rule, and states
//! that the rule does not apply.
//!
//! Start at [`RuleQuotes`].

use crate::edge::VersionEdge;
use crate::ledger::{Requirement, RequirementLedger};
use crate::verdict::Weight;
use crate::wire::version::Version;

use super::event::RunHeader;
use super::summary::word;

/// The wording of requirements and checks for reports about one version.
#[derive(Clone, Debug)]
pub struct RuleQuotes {
    version: Version,
    edge: VersionEdge,
}

/// A requirement with the strings that a report quotes.
#[derive(Clone, Debug)]
pub struct QuotedRequirement {
    /// The row of the requirement in the ledger.
    pub row: &'static Requirement,
    /// The weight of a breach in this version.
    pub weight: Weight,
    /// The statement of the requirement, with actions and notifications named as in this version.
    pub statement: String,
    /// The weight of the requirement and the first version that contains it, or the statement that the requirement does
    /// not apply to this version.
    pub standing: String,
}

impl RuleQuotes {
    /// Makes the quotes for a version.
    pub fn of(version: Version) -> RuleQuotes {
        RuleQuotes { version, edge: VersionEdge::new(version, "") }
    }

    /// Makes the quotes for the newest version.
    pub fn newest() -> RuleQuotes {
        RuleQuotes::of(RequirementLedger::newest().version)
    }

    /// Makes the quotes for the version of a run.
    pub fn of_run(header: &RunHeader) -> RuleQuotes {
        RuleQuotes::of(header.version)
    }

    /// Returns a string, such as the description of a check, with actions and notifications named as in this version.
    pub fn text(&self, text: &str) -> String {
        self.edge.in_words_of_the_wire(text)
    }

    /// Returns the quote of a requirement; `None` if no ledger contains the identifier.
    pub fn requirement(&self, id: &str) -> Option<QuotedRequirement> {
        let version = self.version;
        let own = RequirementLedger::of(version);
        let ledger =
            own.find(id).map_or_else(|| RequirementLedger::newest_with(id), |_| Some(own))?;
        let row = ledger.find(id)?;
        let weight = RequirementLedger::weight(version, id);
        let last = row.until.unwrap_or(ledger.version);
        let holds = ledger.version == own.version && row.holds_in(version);
        let since = match holds {
            true => format!("since {}", row.since),
            false if row.since > version => format!("no rule of {version}, since {}", row.since),
            false if last < version => format!("no rule of {version}, until {last}"),
            false => format!("no rule of {version}"),
        };
        let standing = format!("{}, {since}", word(weight));
        Some(QuotedRequirement { row, weight, statement: self.text(row.statement), standing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::version::PUBLISHED;

    fn of(version: &str, id: &str) -> QuotedRequirement {
        RuleQuotes::of(version.parse().unwrap()).requirement(id).expect(id)
    }

    #[test]
    fn quotes_of_applicable_rules_name_no_later_version() {
        let ids = RequirementLedger::all().flat_map(RequirementLedger::iter).map(|row| row.id);
        let ids: Vec<&str> = ids.collect();
        for version in PUBLISHED {
            let quotes = RuleQuotes::of(version);
            for id in &ids {
                let quote = quotes.requirement(id).expect(id);
                let own = RequirementLedger::of(version).find(id);
                let holds = own.is_some_and(|row| row.holds_in(version));
                let says_so = !quote.standing.contains("no rule of");
                assert_eq!(says_so, holds, "{version} {id}: {}", quote.standing);
                assert!(holds || quote.weight == Weight::Note, "{version} {id}");
            }
        }
    }

    #[test]
    fn statements_have_the_words_of_their_version() {
        for version in PUBLISHED {
            let edge = VersionEdge::new(version, "");
            let ledger = RequirementLedger::of(version);
            for row in ledger.iter().filter(|row| row.holds_in(version)) {
                let statement = of(&version.to_string(), row.id).statement;
                let names = statement.split(|c: char| !(c.is_ascii_alphanumeric() || c == '/'));
                let strange: Vec<&str> =
                    names.filter(|name| edge.name_on_the_wire(name).is_some()).collect();
                assert!(strange.is_empty(), "{version} {}: {strange:?}", row.id);
            }
        }
    }

    #[test]
    fn quotes_the_ledger_of_the_version() {
        let id = "chat.stream.kind-match";
        let newest = of("1.0.0", id).statement;
        assert!(newest.contains("chat/delta"), "{newest}");
        let older = of("0.3.0", id).statement;
        assert!(older.contains("session/delta") && !older.contains("chat/"), "{older}");
    }
}

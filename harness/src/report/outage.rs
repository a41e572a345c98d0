//! Outages: the host ended, or stopped answering, while a scenario was being played.
//!
//! The claims of such a scenario do not count. The outage breaks the requirement [`OUTLIVES`], but only if it happened
//! again while nothing else was being played.
//!
//! Knows: reports of scenarios, the ledger. Never knows: processes, sockets.
//!
//! Start at [`HostOutage`].

use serde::{Deserialize, Serialize};

use crate::ledger::RequirementLedger;
use crate::verdict::{Status, Weight};
use crate::wire::foreign_text::ForeignText;

use super::event::{CaseReport, ClaimReport, FailureReport};

/// The requirement that no input ends a host.
pub const OUTLIVES: &str = "security.no-crash-fuzz";

/// What became of a host whenever a scenario was played.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HostOutage {
    /// What happened, such as "the host ended (signal: 9 (SIGKILL))".
    pub what: String,
    /// The other scenarios that have to be played at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

impl HostOutage {
    /// What is said of it, in one line.
    pub fn message(&self) -> String {
        let when = match &self.beside[..] {
            [] => "alone on a fresh host, twice, and before that together with others".to_owned(),
            others => format!("together with `{}`, twice, but not alone", others.join("`, `")),
        };
        format!(
            "expected the host to outlive this scenario, {} when it was played {when}",
            self.what
        )
    }
}

/// A scenario whose play does not count.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct VoidCase {
    /// Its number in the run.
    pub case: u32,
    /// Why.
    pub reason: String,
}

impl CaseReport {
    /// The report of a scenario that ends the host: the requirement that no input does is broken, and what the steps
    /// saw meanwhile is untested.
    pub fn charged(mut self, outage: HostOutage) -> CaseReport {
        let weight =
            RequirementLedger::look_up(OUTLIVES).map_or(Weight::Essential, |rule| rule.weight);
        for claim in &mut self.claims {
            if claim.failure.take().is_some() {
                claim.status = Status::Untested;
                claim.untested = outage.what.as_str().into();
            }
        }
        let failure = FailureReport {
            file: self.file.clone(),
            line: 1,
            column: 1,
            message: outage.message().into(),
            label: "while this was played".into(),
            rule: OUTLIVES.to_owned(),
            transcript: Vec::new(),
        };
        self.claims.push(ClaimReport {
            rules: vec![OUTLIVES.to_owned()],
            file: failure.file.clone(),
            line: failure.line,
            status: weight.broken(),
            untested: ForeignText::default(),
            observations: 0,
            failure: Some(failure.clone()),
            twin: None,
        });
        (self.status, self.weight) = (weight.broken(), weight);
        self.reason.clone_from(&failure.message);
        self.failure = Some(failure);
        self.drawn.clear();
        self.outage = Some(outage);
        self
    }
}

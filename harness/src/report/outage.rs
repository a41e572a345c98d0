//! Outages: the host stopped or no longer answered while a scenario was played.
//!
//! The claims of such a scenario are not judged. The outage breaks the requirement [`OUTLIVES`], but only if
//! the outage is reproducible while no other scenario is played.
//!
//! Knows: reports of scenarios, the ledger. Never knows: processes, sockets.
//!
//! Start at [`HostOutage`].

use serde::{Deserialize, Serialize};

use crate::ledger::RequirementLedger;
use crate::verdict::{Status, Weight};
use crate::wire::foreign_text::ForeignText;

use super::event::{CaseReport, ClaimReport, FailureReport};

/// The id of the requirement that no input may stop a host.
pub const OUTLIVES: &str = "security.no-crash-fuzz";

/// A reproducible outage of the host in a scenario.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HostOutage {
    /// The description of the outage, such as "the host ended (signal: 9 (SIGKILL))".
    pub what: String,
    /// The other scenarios that must be played at the same time to reproduce the outage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

impl HostOutage {
    /// Describes the outage in one line.
    pub fn message(&self) -> String {
        let when = match &self.beside[..] {
            [] => "in three attempts: first together with other scenarios, then twice alone on a fresh host".to_owned(),
            others => format!("together with `{}`, twice, but not alone", others.join("`, `")),
        };
        format!(
            "expected the host to outlive this scenario, {} when it was played {when}",
            self.what
        )
    }
}

/// A scenario whose result is discarded.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct VoidCase {
    /// The number of the scenario in the run.
    pub case: u32,
    /// The reason why the result is discarded.
    pub reason: String,
}

impl CaseReport {
    /// Returns the report of a scenario that causes an outage. In this report, [`OUTLIVES`] is broken, and the
    /// failed claims become untested.
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

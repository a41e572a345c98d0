//! A table of certificates: one row per host, one column per profile.
//!
//! Start at [`matrix`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;

use super::area::PROFILES;
use super::certificate::FORMAT;
use super::profile_verdict::ProfileVerdict;
use crate::wire::foreign_text::{ForeignText, markdown};
use crate::wire::version::{ProtocolStandard, Version};

/// The members of a `certificate.json` that the table shows.
#[derive(Clone, Debug, Deserialize)]
pub struct CertificateBrief {
    format: u32,
    target: ForeignText,
    host: Option<ForeignText>,
    version: Version,
    harness: String,
    started: String,
    profiles: Vec<MatrixProfile>,
    requirements: Vec<MatrixRule>,
}

#[derive(Clone, Debug, Deserialize)]
struct MatrixProfile {
    name: String,
    verdict: String,
}

/// The result of one requirement.
#[derive(Clone, Debug, Deserialize)]
pub struct MatrixRule {
    /// The identifier.
    pub id: String,
    /// The weight of the requirement, as the certificate states it.
    pub weight: String,
    statement: ForeignText,
    outcome: String,
}

impl CertificateBrief {
    /// Parses a certificate.
    ///
    /// # Errors
    /// Returns an error with the reason if the string is not a certificate.
    pub fn read(text: &str) -> Result<CertificateBrief, String> {
        let brief: CertificateBrief =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        match brief.format {
            FORMAT => Ok(brief),
            other => Err(format!("expected a certificate of format {FORMAT}, found {other}")),
        }
    }

    /// Returns the name of the host or agent, or the target if the host gave no name.
    pub fn name(&self) -> &ForeignText {
        self.host.as_ref().unwrap_or(&self.target)
    }

    /// Returns the protocol version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the date on which the run began.
    pub fn day(&self) -> &str {
        self.started.split('T').next().unwrap_or_default()
    }

    /// Returns whether the certificate is about an agent of the Agent Client Protocol.
    pub fn is_agent(&self) -> bool {
        self.version.standard == ProtocolStandard::Acp
    }

    /// Returns the verdict of a profile; `None` if the certificate has no such profile.
    pub fn verdict(&self, profile: &str) -> Option<ProfileVerdict> {
        let row = self.profiles.iter().find(|row| row.name == profile)?;
        serde_json::from_value(row.verdict.clone().into()).ok()
    }

    /// Returns the MUST and essential requirements that are broken.
    pub fn broken(&self) -> impl Iterator<Item = &MatrixRule> {
        let heavy = |rule: &&MatrixRule| ["must", "essential"].contains(&rule.weight.as_str());
        let broken = |rule: &&MatrixRule| ["fail", "known"].contains(&rule.outcome.as_str());
        self.requirements.iter().filter(heavy).filter(broken)
    }

    /// Returns the outcome and the text of each requirement.
    pub fn outcomes(&self) -> BTreeMap<&str, (&str, &ForeignText)> {
        let rules = self.requirements.iter();
        rules.map(|rule| (rule.id.as_str(), (rule.outcome.as_str(), &rule.statement))).collect()
    }
}

/// Returns the profiles of several certificates. The profiles that every host has come first.
pub fn columns<'a>(certificates: &[&'a CertificateBrief]) -> Vec<&'a str> {
    let profiles = certificates.iter().flat_map(|brief| &brief.profiles);
    let names: BTreeSet<&str> = profiles.map(|profile| profile.name.as_str()).collect();
    let first = PROFILES.into_iter().filter(|name| names.contains(name));
    let rest = names.iter().copied().filter(|name| !PROFILES.contains(name));
    first.chain(rest).collect()
}

/// Formats the table as Markdown. The string beside each certificate is the link to its report; empty if there is no
/// report.
pub fn matrix(certificates: &[(String, CertificateBrief)]) -> String {
    let briefs: Vec<&CertificateBrief> = certificates.iter().map(|(_, brief)| brief).collect();
    let columns = columns(&briefs);
    let mut out = String::from("# Certificates\n\n");
    let _ = writeln!(
        out,
        "| host | AHP | {} | made |",
        columns.iter().map(|name| markdown(name)).collect::<Vec<_>>().join(" | ")
    );
    let _ = writeln!(out, "|---|---|{}---|", "---|".repeat(columns.len()));
    for (place, brief) in certificates {
        let name = brief.name().markdown();
        let name = if place.is_empty() { name } else { format!("[{name}]({place})") };
        let verdict = |column: &&str| {
            let found = brief.profiles.iter().find(|profile| profile.name == **column);
            found.map(|profile| markdown(&profile.verdict)).unwrap_or_default()
        };
        let cells: Vec<String> = columns.iter().map(verdict).collect();
        let made = markdown(&format!("{}, harness {}", brief.day(), brief.harness));
        let _ = writeln!(out, "| {name} | {} | {} | {made} |", brief.version, cells.join(" | "));
    }
    out
}

//! A table of certificates: one row per host, one column per profile.
//!
//! Start at [`matrix`].

use std::fmt::Write as _;

use litemap::LiteMap;
use serde::Deserialize;

use super::certificate::FORMAT;
use crate::wire::foreign_text::{ForeignText, markdown};

/// The members of a `certificate.json` that the table shows.
#[derive(Clone, Debug, Deserialize)]
pub struct CertificateBrief {
    format: u32,
    target: ForeignText,
    host: Option<ForeignText>,
    version: String,
    harness: String,
    started: String,
    profiles: Vec<MatrixProfile>,
}

#[derive(Clone, Debug, Deserialize)]
struct MatrixProfile {
    name: String,
    verdict: String,
}

impl CertificateBrief {
    /// Parses a certificate.
    ///
    /// # Errors
    /// Returns the reason why the text is not a certificate.
    pub fn read(text: &str) -> Result<CertificateBrief, String> {
        let brief: CertificateBrief =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        match brief.format {
            FORMAT => Ok(brief),
            other => Err(format!("expected a certificate of format {FORMAT}, found {other}")),
        }
    }
}

/// Formats the table as Markdown. Each certificate has the link to its report; the link is empty if there is no
/// report.
pub fn matrix(certificates: &[(String, CertificateBrief)]) -> String {
    let mut columns: LiteMap<&str, ()> = LiteMap::new();
    for (_, brief) in certificates {
        columns.extend(brief.profiles.iter().map(|profile| (profile.name.as_str(), ())));
    }
    // The profiles that every host has are in the first columns.
    let first = ["core", "agent"];
    let rest = columns.keys().copied().filter(|name| !first.contains(name));
    let columns: Vec<&str> = first.into_iter().chain(rest).collect();
    let mut out = String::from("# Certificates\n\n");
    let _ = writeln!(
        out,
        "| host | AHP | {} | made |",
        columns.iter().map(|name| markdown(name)).collect::<Vec<_>>().join(" | ")
    );
    let _ = writeln!(out, "|---|---|{}---|", "---|".repeat(columns.len()));
    for (place, brief) in certificates {
        let name = brief.host.as_ref().unwrap_or(&brief.target).markdown();
        let name = if place.is_empty() { name } else { format!("[{name}]({place})") };
        let verdict = |column: &&str| {
            let found = brief.profiles.iter().find(|profile| profile.name == **column);
            found.map(|profile| markdown(&profile.verdict)).unwrap_or_default()
        };
        let cells: Vec<String> = columns.iter().map(verdict).collect();
        let day = brief.started.split('T').next().unwrap_or_default();
        let made = markdown(&format!("{day}, harness {}", brief.harness));
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {made} |",
            markdown(&brief.version),
            cells.join(" | ")
        );
    }
    out
}

//! Judges the frames of a load as they arrive, and keeps the captures of the findings.
//!
//! Knows: the oracle, recent frames. Never knows: clients, figures.
//!
//! Start at [`LoadJudge::observe`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::oracle::{Oracle, OracleOptions, alike};
use crate::transcript::TranscriptEntry;
use crate::verdict::{CheckReport, Finding};

use super::evidence::{self, LoadEvidence};
use super::recent::RecentFrames;
use super::result::LoadFinding;

/// The maximum number of different findings that are kept.
const MAX_FINDINGS: usize = 50;
/// The maximum total size of all captures of findings, in bytes.
const MAX_CAPTURES: usize = 32 << 20;

/// The judge of the frames of a load.
pub struct LoadJudge {
    oracle: Oracle,
    recent: RecentFrames,
    found: Vec<LoadFinding>,
    /// The indices of the findings in the list. The key consists of the check and the message without names and
    /// numbers.
    places: BTreeMap<(&'static str, String), usize>,
    bytes: usize,
    /// The number of findings that [`take_fresh`](Self::take_fresh) has already returned.
    taken: usize,
}

impl LoadJudge {
    /// Creates a judge without entries.
    pub fn new(options: OracleOptions) -> LoadJudge {
        LoadJudge {
            oracle: Oracle::new(options),
            recent: RecentFrames::default(),
            found: Vec::new(),
            places: BTreeMap::new(),
            bytes: 0,
            taken: 0,
        }
    }

    /// Adds a secret that no frame of the host may contain.
    pub fn keep_secret(&mut self, secret: &str) {
        self.oracle.keep_secret(secret);
    }

    /// Reads the next entry of the transcript.
    pub fn observe(&mut self, entry: &TranscriptEntry) {
        self.recent.keep(entry);
        for finding in self.oracle.observe(entry) {
            self.found(entry.at, finding);
        }
    }

    /// Keeps a finding. If a finding differs from an earlier one only in names and numbers, the counter of the earlier
    /// finding grows instead.
    pub fn found(&mut self, at: Duration, finding: Finding) {
        let key = (finding.check, alike(&finding.message));
        if let Some(place) = self.places.get(&key) {
            self.found[*place].finding.times += 1;
            return;
        }
        if self.found.len() >= MAX_FINDINGS {
            return;
        }
        let evidence = match self.bytes < MAX_CAPTURES {
            true => evidence::capture(&self.recent, &finding),
            false => LoadEvidence::default(),
        };
        self.bytes += evidence.bytes();
        self.places.insert(key, self.found.len());
        self.found.push(LoadFinding { finding, at, evidence });
    }

    /// Returns the findings since the last call.
    pub fn take_fresh(&mut self) -> Vec<LoadFinding> {
        let fresh = self.found.get(self.taken..).unwrap_or_default().to_vec();
        self.taken = self.found.len();
        fresh
    }

    /// Completes the judgement with the rules that can be judged only at the end. Returns the findings and the reports
    /// of the checks.
    pub fn finish(mut self, at: Duration) -> (Vec<LoadFinding>, Vec<CheckReport>) {
        let oracle = std::mem::replace(&mut self.oracle, Oracle::new(OracleOptions::default()));
        let (reports, last) = oracle.finish_with_findings();
        last.into_iter().for_each(|finding| self.found(at, finding));
        (self.found, reports)
    }
}

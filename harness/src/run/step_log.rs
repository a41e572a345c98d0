//! The results of the steps that were played, and the notes for the report.
//!
//! Knows: steps by their index, failures, clients by their index. Never knows: what a failure means for a claim.
//!
//! Start at [`StepLog`].

use std::collections::{BTreeSet, HashSet};

use super::case_peers::PeerId;
use super::failure::StepFailure;

/// The name that stands for any action or method. If no host may accept the refused action or method, any other
/// accepted one shows that the host does not refuse everything.
pub(super) const ANY: &str = "*";
/// The maximum number of notes about the agent's behaviour outside its conversation.
const MAX_NOTED: usize = 10;

/// The results of the steps that were played. A step is identified by its index in the scenario.
#[derive(Debug, Default)]
pub(super) struct StepLog {
    held: Vec<(usize, u64)>,
    broken: Vec<(usize, StepFailure)>,
    left_out: Vec<(usize, String)>,
    refusals: Vec<(usize, String)>,
    /// The actions and requests that the host has accepted, as `dispatch TYPE` and `request METHOD`.
    accepted: BTreeSet<String>,
    /// The names that a failed step should have bound.
    missing: HashSet<String>,
    /// The responses with a bound name: the client, the name, and the transcript line of the response.
    responses: Vec<(PeerId, String, u64)>,
    /// The notes for the report, apart from the verdict.
    notes: Vec<String>,
}

impl StepLog {
    /// Returns how often a claim was tested and held.
    pub(super) fn observations(&self) -> u64 {
        self.held.iter().map(|(_, times)| times).sum()
    }

    /// Returns the notes for the report, apart from the verdict.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Adds a note for the report.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Adds a note about the agent's behaviour outside its conversation, unless there is the same note or there are many.
    pub(super) fn note_once(&mut self, note: String) {
        if self.notes.len() < MAX_NOTED && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Records the transcript line of a response that a name is bound to.
    pub(super) fn responded(&mut self, peer: PeerId, name: &str, line: u64) {
        self.responses.push((peer, name.to_owned(), line));
    }

    /// Returns the transcript line of the latest response that is bound to this name of the client.
    pub(super) fn response(&self, peer: PeerId, name: &str) -> Option<u64> {
        let mut latest = self.responses.iter().rev();
        latest.find(|(by, known, _)| *by == peer && known == name).map(|(.., line)| *line)
    }

    /// Records that the host accepted a dispatch or answered a request with a result.
    pub(super) fn accepted(&mut self, what: &str, name: &str) {
        if self.accepted.insert(format!("{what} {name}")) {
            self.accepted.insert(format!("{what} {ANY}"));
        }
    }
    /// Returns the actions and requests that the host has accepted, as `dispatch TYPE` and `request METHOD`.
    pub(super) fn all_accepted(&self) -> impl Iterator<Item = &str> {
        self.accepted.iter().map(String::as_str)
    }

    /// Returns whether the host has accepted this action or request.
    pub(super) fn has_accepted(&self, twin: &str) -> bool {
        self.accepted.contains(twin)
    }

    // Methods about claims.

    /// Records that a claim was tested and held.
    pub(super) fn hold(&mut self, step: usize) {
        match self.held.iter_mut().find(|(known, _)| *known == step) {
            Some((_, times)) => *times += 1,
            None => self.held.push((step, 1)),
        }
    }

    /// Returns how often a claim was tested and held.
    pub(super) fn observations_of(&self, step: usize) -> u64 {
        of(&self.held, step).copied().unwrap_or_default()
    }

    /// Records the failure of a claim. Only the first failure of a claim counts.
    pub(super) fn break_claim(&mut self, step: usize, failure: &StepFailure) {
        if !self.is_broken(step) {
            self.broken.push((step, failure.clone()));
        }
    }

    /// Returns the failure of a claim.
    pub(super) fn failure_of(&self, step: usize) -> Option<&StepFailure> {
        of(&self.broken, step)
    }

    /// Returns whether a claim has failed.
    pub(super) fn is_broken(&self, step: usize) -> bool {
        self.failure_of(step).is_some()
    }

    /// Returns whether any claim has failed.
    pub(super) fn any_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Records why a step was left out.
    pub(super) fn leave_out(&mut self, step: usize, why: String) {
        self.left_out.push((step, why));
    }

    /// Returns why a step was left out.
    pub(super) fn reason_left_out(&self, step: usize) -> Option<&String> {
        of(&self.left_out, step)
    }

    /// Records the action or request that the host has to accept, so that the refusal that a step expects is evidence.
    pub(super) fn expect_refusal(&mut self, step: usize, twin: String) {
        self.refusals.push((step, twin));
    }

    /// Returns the action or request that the host has to accept, so that the refusal that a step expects is evidence.
    pub(super) fn twin(&self, step: usize) -> Option<&String> {
        of(&self.refusals, step)
    }

    /// Records a name that a failed step should have bound.
    pub(super) fn miss(&mut self, name: &str) {
        self.missing.insert(name.to_owned());
    }

    /// Returns whether a failed step should have bound a name.
    pub(super) fn misses(&self, name: &str) -> bool {
        self.missing.contains(name)
    }
}

/// Returns the value of a step.
fn of<T>(rows: &[(usize, T)], step: usize) -> Option<&T> {
    rows.iter().find(|(known, _)| *known == step).map(|(_, value)| value)
}

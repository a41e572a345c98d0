//! Makes the failures of a case's steps.
//!
//! Knows: steps, clients, mismatches of patterns. Never knows: what a failure means for the claims of the scenario.
//!
//! Start at [`ScenarioCase::failure_of`].

use crate::scenario::pattern::PatternMismatch;
use crate::scenario::verbs::VerbNature;

use super::case::ScenarioCase;
use super::case_peers::PeerId;
use super::failure::{FailureKind, StepFailure};
use super::goal::RequestGoal;
use super::task_wait::WaitProgress;

impl ScenarioCase {
    pub(super) fn ended(&self, peer: PeerId) -> Option<(u64, String)> {
        // A wait for the tested client continues after its connection has ended, because the client may connect again.
        if self.is_host(peer) {
            return None;
        }
        let peer = self.clients.get(peer)?;
        match peer.ended() {
            Some(end) => Some(end.clone()),
            None if !peer.is_connected() => {
                Some((self.traffic.last_line(), "the client is not connected".to_owned()))
            }
            None => None,
        }
    }

    pub(super) fn closed_instead(
        &mut self,
        step: Option<usize>,
        peer: PeerId,
        (line, reason): (u64, String),
        want: &RequestGoal,
    ) -> WaitProgress {
        let wanted = if matches!(want, RequestGoal::Error(_)) { "an error" } else { "an answer" };
        let message = format!(
            "client `{}`: expected {wanted}, the connection ended: {reason}",
            self.name(peer)
        );
        let kind = match self.step_at(step) {
            // A host may close a connection at any time. The close is evidence only if the step sent a frame before,
            // and not if the step only waited for a message.
            Some(step) if step.verb.row().nature == VerbNature::Listens => FailureKind::Trouble,
            _ => FailureKind::Silence,
        };
        let mut failure = self.failure_of(step, kind, message);
        failure.label = "the connection ended here".to_owned();
        failure.lines.push(line);
        WaitProgress::Failed(failure)
    }

    /// Returns a failure of the kind [`FailureKind::Outcome`].
    pub(super) fn failure_at(&self, step: Option<usize>, message: String) -> Box<StepFailure> {
        self.failure_of(step, FailureKind::Outcome, message)
    }

    pub(super) fn failure_of(
        &self,
        at: Option<usize>,
        kind: FailureKind,
        message: String,
    ) -> Box<StepFailure> {
        let step = self.step_at(at);
        Box::new(StepFailure {
            span: step.map_or(self.setup().scenario.span, |step| step.span),
            message,
            label: "this step".to_owned(),
            second: None,
            lines: Vec::new(),
            step: at,
            kind,
        })
    }

    pub(super) fn mismatch(
        &self,
        step: Option<usize>,
        name: &str,
        what: &str,
        line: u64,
        miss: &PatternMismatch,
    ) -> Box<StepFailure> {
        let place =
            if miss.path.is_empty() { String::new() } else { format!(" at `{}`", miss.path) };
        let message = format!(
            "client `{name}`: {what}{place}: expected {}, found {}",
            miss.expected, miss.found
        );
        let mut failure = self.failure_of(step, FailureKind::Content, message);
        failure.span = miss.span;
        failure.label = format!("found {}", miss.found);
        failure.second = self.names.source_of(miss);
        failure.lines.push(line);
        failure
    }
}

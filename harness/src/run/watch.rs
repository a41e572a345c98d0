//! Forbidden messages: each message is checked against the patterns of the `never` steps.
//!
//! Knows: messages, patterns. Never knows: other kinds of steps.
//!
//! Start at [`ScenarioCase::hold_against_watches`].

use crate::scenario::pattern::brief;
use crate::wire::message::Message;

use super::case::ScenarioCase;
use super::case_peers::PeerId;
use super::failure::{FailureKind, StepFailure};

impl ScenarioCase {
    /// Ends all watches and counts each of them as held.
    pub(super) fn watches_held(&mut self) {
        for step in self.watches.take_steps() {
            self.observed(step);
        }
    }

    /// Checks a message against all watches and records a failure for each watch that it matches.
    pub(super) fn hold_against_watches(&mut self, id: PeerId, line: u64, message: &Message) {
        while let Some(failure) = self.watched(id, line, message) {
            let now = self.now();
            self.failed_meanwhile(now, failure);
        }
    }

    /// Checks a message against the watches. Removes the first watch whose forbidden message this is, and returns the
    /// failure.
    #[must_use]
    pub(super) fn watched(
        &mut self,
        peer: PeerId,
        line: u64,
        message: &Message,
    ) -> Option<Box<StepFailure>> {
        let watch = self.watches.broken_by(peer, line, message, self.names.bindings())?;
        let (what, span, step) = (watch.filter.what_not(), watch.filter.span, watch.step);
        let name = self.name(peer);
        let message_text = match watch.tolerated.len() {
            0 => format!("client `{name}`: expected no {what}, one came"),
            count => {
                format!("client `{name}`: expected no more than {count} {what}, one more came")
            }
        };
        let mut failure = self.failure_of(step, FailureKind::Content, message_text);
        failure.span = span;
        failure.label = format!("{} came", brief(message.params()));
        failure.lines.push(line);
        Some(failure)
    }
}

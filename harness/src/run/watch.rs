//! Forbidden messages: each message is checked against the patterns of the `never` steps.
//!
//! Knows: messages, patterns. Never knows: other kinds of steps.
//!
//! Start at [`ScenarioCase::hold_against_watches`].

use crate::scenario::bind::NameBindings;
use crate::scenario::pattern::brief;
use crate::wire::message::Message;

use super::case::ScenarioCase;
use super::failure::{FailureKind, StepFailure};
use super::task::{MessageFilter, PeerId};

/// A message that must not arrive.
#[derive(Debug)]
struct AbsenceWatch {
    step: Option<usize>,
    peer: PeerId,
    filter: MessageFilter,
    /// The transcript lines of the matching messages that were tolerated.
    tolerated: Vec<u64>,
}

/// The messages that must not arrive, in the order of their steps.
#[derive(Debug, Default)]
pub(super) struct AbsenceWatches(Vec<AbsenceWatch>);

impl AbsenceWatch {
    /// Records a matching message. Returns whether the step still tolerates it.
    fn tolerates(&mut self, line: u64) -> bool {
        if !self.tolerated.contains(&line) && self.tolerated.len() as u64 == self.filter.beyond {
            return false;
        }
        if !self.tolerated.contains(&line) {
            self.tolerated.push(line);
        }
        true
    }
}

impl AbsenceWatches {
    /// Forbids the messages that match a filter.
    pub(super) fn add(&mut self, step: Option<usize>, peer: PeerId, filter: MessageFilter) {
        self.0.push(AbsenceWatch { step, peer, filter, tolerated: Vec::new() });
    }

    /// Removes and returns the first watch whose forbidden message this is.
    fn broken_by(
        &mut self,
        peer: PeerId,
        line: u64,
        message: &Message,
        bindings: &NameBindings,
    ) -> Option<AbsenceWatch> {
        let broken = self.0.iter_mut().position(|watch| {
            watch.peer == peer
                && watch.filter.is_about(message)
                && watch.filter.params.as_ref().is_none_or(|pattern| {
                    pattern.matches(Some(message.params()), bindings, watch.filter.exact).is_ok()
                })
                && !watch.tolerates(line)
        })?;
        Some(self.0.remove(broken))
    }

    /// Permits all messages again.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl ScenarioCase {
    /// Ends all watches and counts each of them as held.
    pub(super) fn watches_held(&mut self) {
        for watch in std::mem::take(&mut self.watches).0 {
            self.observed(watch.step);
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

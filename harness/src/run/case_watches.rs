//! The messages that must not arrive, according to the `never` steps that were played.
//!
//! Knows: messages, patterns. Never knows: the case, what a forbidden message means.
//!
//! Start at [`AbsenceWatches`].

use crate::scenario::bind::NameBindings;
use crate::wire::message::Message;

use super::case_peers::PeerId;
use super::message_filter::MessageFilter;

/// A message that must not arrive.
#[derive(Debug)]
pub(super) struct AbsenceWatch {
    /// The index of the step that forbids the message.
    pub(super) step: Option<usize>,
    peer: PeerId,
    /// The forbidden message.
    pub(super) filter: MessageFilter,
    /// The transcript lines of the matching messages that were tolerated.
    pub(super) tolerated: Vec<u64>,
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
    pub(super) fn broken_by(
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

    /// Permits all messages again. Returns the steps that forbade messages.
    pub(super) fn take_steps(&mut self) -> impl Iterator<Item = Option<usize>> + use<> {
        std::mem::take(&mut self.0).into_iter().map(|watch| watch.step)
    }

    /// Permits all messages again.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

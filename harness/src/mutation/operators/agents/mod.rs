//! All operators about agents, by class.
//!
//! Knows: the vocabulary of the Agent Client Protocol. Never knows: the implementation of changes.
//!
//! Start at [`all`].

mod answers;
mod asking;
mod calls;
mod contents;
mod frames;

use super::target;
use crate::mutation::operator::{OperatorTarget, TargetKind, WireOperator};
use crate::mutation::reading::FrameRole;

/// Returns all operators about agents.
pub fn all() -> impl Iterator<Item = &'static WireOperator> {
    let tables = [
        calls::DELIVERY,
        calls::MEMBERS,
        calls::STATES,
        contents::CONTENTS,
        asking::PERMISSIONS,
        asking::REQUESTS,
        answers::ANSWERS,
        answers::SESSIONS,
        answers::ENDS,
        frames::FRAMES,
    ];
    tables.into_iter().flatten()
}

/// Returns a target: updates of these kinds.
const fn update(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Frame(FrameRole::Notice), names)
}

/// Returns a target: requests of the agent with these methods.
const fn asks(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Frame(FrameRole::HostRequest), names)
}

/// Returns a target: results of requests with these methods.
const fn result(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Frame(FrameRole::Result), names)
}

/// Returns a target: errors in answer to requests with these methods.
const fn refusal(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Frame(FrameRole::Refusal), names)
}

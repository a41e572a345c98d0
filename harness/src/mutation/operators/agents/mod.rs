//! Every operator about agents, by class.
//!
//! Knows: the words of the Agent Client Protocol. Never knows: how a change is made.
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

/// Every operator about agents.
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

/// Updates of these kinds.
const fn update(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Frame(FrameRole::Notice), names)
}

/// Requests of the agent by these methods.
const fn asks(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Frame(FrameRole::HostRequest), names)
}

/// Results of requests by these methods.
const fn result(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Frame(FrameRole::Result), names)
}

/// Errors in answer to requests by these methods.
const fn refusal(names: &'static [&'static str]) -> OperatorTarget {
    target(TargetKind::Frame(FrameRole::Refusal), names)
}

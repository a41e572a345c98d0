//! The event that a task waits for, and the progress of the wait.
//!
//! Knows: goals, filters, claims about states, barriers. Never knows: how a wait is checked, clients, time limits.
//!
//! Start at [`TaskWait`].

use std::time::Duration;

use crate::scenario::pattern::ValuePattern;
use crate::wire::json::Value;

use super::case_marks::PendingBarrier;
use super::case_peers::PeerId;
use super::case_witness::FileLook;
use super::failure::StepFailure;
use super::goal::{DispatchGoal, DriverGoal, OpeningGoal, RequestGoal, ResultUse};
use super::message_filter::{FilterMode, MessageFilter};
use super::permission_reply::PermissionReply;
use super::state_claim::{MirrorClaim, TestedStateClaim};
use super::step_wait::StepWait;

/// The event that the current task waits for. A wait ignores messages in the mailbox up to and including line
/// `looked`.
#[derive(Debug)]
pub(super) enum TaskWait {
    Connected(PeerId, OpeningGoal),
    Response { peer: PeerId, id: u64, want: RequestGoal, exact: bool, keep: ResultUse },
    Settled { peer: PeerId, seq: u64, settle: DispatchGoal, looked: u64 },
    Message { peer: PeerId, filter: MessageFilter, mode: FilterMode, looked: u64 },
    DefaultChat { peer: PeerId, session: Value, bind: String },
    Barrier(PendingBarrier),
    Answer { peer: PeerId, id: ValuePattern, want: RequestGoal, keep: ResultUse },
    Asked { peer: PeerId, method: String, id: ValuePattern, params: Option<ValuePattern> },
    NoAnswer { peer: PeerId, id: ValuePattern, ping: u64, want: Option<RequestGoal> },
    Closed(PeerId),
    Restarted,
    // Waits until the reference host has published an action for the tested client.
    Published,
    // Waits for no event: only its time has to pass.
    Rested,
    Observers,
    Permission { peer: PeerId, answer: PermissionReply },
    Looked { token: u64, look: FileLook },
    // Reads a file again at the time `at`.
    LookAgain { at: Duration, look: FileLook },
    // A wait that a module of its own implements.
    Own(Box<dyn StepWait>),
    // Waits for the driver of the tested client to answer a command.
    Driven { id: u64, want: DriverGoal, bind: Option<String> },
    // Waits for the state of the tested client.
    TestedState { id: u64, claim: TestedStateClaim, until: Duration },
    // Asks for the state of the tested client again at the time `at`.
    TestedStateAgain { at: Duration, claim: TestedStateClaim, until: Duration },
    // Compares a client's state again after further messages, because the barrier could not prove that all messages had
    // arrived.
    Mirrored(MirrorClaim),
}

/// The state of the current wait after the received messages were checked against it.
pub(super) enum WaitProgress {
    Done,
    Wait(TaskWait),
    Failed(Box<StepFailure>),
}

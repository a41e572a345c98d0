//! What a step of a scenario can be, and what a row of the table of verbs says about it.
//!
//! Knows: the standards that are tested. Never knows: which members a verb has.

use crate::wire::version::ProtocolStandard;

use super::forms::FormField;
use super::verbs::VERBS;

/// What a step does.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum StepVerb {
    /// Opens connections without a handshake.
    Connect,
    /// Sends `initialize`.
    Initialize,
    /// The usual opening.
    Open,
    /// Sends a request and waits for its response.
    Request,
    /// Sends a notification.
    Notify,
    /// Dispatches an action.
    Dispatch,
    /// Starts a turn with the scenario's agent script.
    Turn,
    /// Subscribes to a channel.
    Subscribe,
    /// Unsubscribes.
    Unsubscribe,
    /// Waits for a message, passing over others.
    Expect,
    /// Demands that the very next message matches.
    Next,
    /// Demands that nothing matches until the next barrier.
    Never,
    /// Waits until everything sent before has arrived everywhere.
    Barrier,
    /// Reads a channel's state.
    Snapshot,
    /// Looks at what a client has made of a channel by itself.
    Mirror,
    /// Sends a frame as it is.
    Send,
    /// Waits for the response to a frame sent as it is.
    Answer,
    /// Waits for a request of the host.
    Asked,
    /// Cuts connections off.
    Drop,
    /// Comes back with `reconnect`.
    Reconnect,
    /// Waits until the host closes connections.
    Closed,
    /// Lets the agent go on from a `hold`.
    Release,
    /// Stops reading what comes.
    Pause,
    /// Reads on.
    Resume,
    /// Restarts the host.
    Restart,
    /// Does nothing for a while.
    Rest,
    /// Plays the steps of another file.
    Include,
    /// Sends `session/prompt` with the scenario's agent script.
    Prompt,
    /// Answers a request for permission.
    Permit,
    /// Waits for a message that the scenario needs and does not judge.
    Await,
    /// Looks at a file in the agent's folder.
    Disk,
    /// Looks at which tools of ours were called.
    Called,
    /// Looks at what the reports of a tool call add up to.
    Call,
    /// Looks at what the chunks of a session's messages add up to.
    Texts,
}

/// One verb of the language.
#[derive(Debug)]
pub struct VerbRow {
    /// The verb.
    pub verb: StepVerb,
    /// Its key in a step.
    pub name: &'static str,
    /// The member that a bare value stands for.
    pub short: Option<&'static str>,
    /// Whether every such step is an expectation that can fail.
    pub asserts: bool,
    /// Whether every such step waits for an answer, and fails where another one comes.
    pub answered: bool,
    /// Its members.
    pub fields: &'static [FormField],
    /// What it does.
    pub doc: &'static str,
}

impl StepVerb {
    /// The row of the verb.
    pub fn row(self) -> &'static VerbRow {
        // The rows stand in the order of the variants; a test holds them there.
        &VERBS[self as usize]
    }

    /// The one protocol that it is for; `None` where it is for all.
    pub fn standard(self) -> Option<ProtocolStandard> {
        match self {
            StepVerb::Prompt
            | StepVerb::Permit
            | StepVerb::Disk
            | StepVerb::Called
            | StepVerb::Call
            | StepVerb::Texts => Some(ProtocolStandard::Acp),
            StepVerb::Dispatch
            | StepVerb::Turn
            | StepVerb::Subscribe
            | StepVerb::Unsubscribe
            | StepVerb::Snapshot
            | StepVerb::Mirror
            | StepVerb::Reconnect
            | StepVerb::Restart => Some(ProtocolStandard::Ahp),
            _ => None,
        }
    }
}

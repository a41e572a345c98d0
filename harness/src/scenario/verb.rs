//! Defines the verbs of steps, and the type of a row in the table of verbs.
//!
//! Knows: the standards that are tested. Never knows: which members a verb has.

use crate::wire::version::ProtocolStandard;

use super::forms::FormField;
use super::verbs::VERBS;

/// The verb of a step.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum StepVerb {
    /// Opens connections without a handshake.
    Connect,
    /// Sends `initialize`.
    Initialize,
    /// Performs the usual opening: connection, handshake and session.
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
    /// Unsubscribes from a channel.
    Unsubscribe,
    /// Waits for a matching message and skips messages that do not match.
    Expect,
    /// Requires that the next message matches.
    Next,
    /// Requires that no message that arrives before the next barrier matches.
    Never,
    /// Waits until every message that was sent before has arrived at every client.
    Barrier,
    /// Reads the state of a channel.
    Snapshot,
    /// Checks the state that a client has built from a channel's actions.
    Mirror,
    /// Sends a frame unchanged.
    Send,
    /// Waits for the response to a frame of `send`.
    Answer,
    /// Waits for a request from the host.
    Asked,
    /// Lets a client serve a folder to the host.
    Serve,
    /// Closes connections abruptly.
    Drop,
    /// Connects again with `reconnect`.
    Reconnect,
    /// Waits until the host closes connections.
    Closed,
    /// Lets the agent continue after a `hold`.
    Release,
    /// Stops reading from a connection.
    Pause,
    /// Starts reading from a connection again.
    Resume,
    /// Restarts the host.
    Restart,
    /// Does nothing for a given time.
    Rest,
    /// Plays the steps of another file.
    Include,
    /// Sends `session/prompt` with the scenario's agent script.
    Prompt,
    /// Answers a request for permission.
    Permit,
    /// Waits for a message that later steps need, without judging the message.
    Await,
    /// Checks a file in the agent's folder.
    Disk,
    /// Checks how often the agent called the harness's own tool.
    Called,
    /// Checks the state of a tool call, accumulated from its updates.
    Call,
    /// Checks the concatenated chunks of a session's messages.
    Texts,
    /// Gives the driver of the tested client a command.
    Drive,
    /// Changes how the host answers the tested client's next requests of a method.
    Respond,
    /// Makes the host publish an action of its own, or of a client that does not exist.
    Publish,
    /// Refuses the tested client's next connections.
    Refuse,
}

/// What a step with a verb does, apart from what it expects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VerbNature {
    /// Acts: sends messages, or opens, closes or configures something. If the host closes the connection instead of
    /// answering, this is evidence.
    Acts,
    /// Only waits for messages, or looks at what has arrived. A host may close a connection at any time, so a close is
    /// no evidence. If the step cannot be played, the scenario continues.
    Listens,
    /// Reads what the step then checks: a state, or the answer to an earlier frame. A close is evidence, because a
    /// frame was sent. If the step cannot be played, the scenario continues.
    Reads,
    /// Lets time pass or messages come, and expects nothing.
    Paces,
}

impl VerbNature {
    /// Returns whether a step only observes.
    pub fn observes(self) -> bool {
        matches!(self, VerbNature::Listens | VerbNature::Reads)
    }
}

/// The party that a scenario tests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TestedParty {
    /// The host, or the agent.
    Server,
    /// A client.
    Client,
}

/// A row of the table of verbs.
#[derive(Debug)]
pub struct VerbRow {
    /// The verb.
    pub verb: StepVerb,
    /// The key by which a step in a scenario file names the verb.
    pub name: &'static str,
    /// The member to which a bare value of the verb is assigned.
    pub short: Option<&'static str>,
    /// What a step with this verb does, apart from what it expects.
    pub nature: VerbNature,
    /// Whether every step with this verb is an expectation that can fail, so that it may have `proves`.
    pub asserts: bool,
    /// Whether every step with this verb waits for an answer, and fails if the answer is not the expected one.
    pub answered: bool,
    /// The members.
    pub fields: &'static [FormField],
    /// The description for users.
    pub doc: &'static str,
}

impl VerbRow {
    /// Returns the names of the members that name clients.
    pub fn client_members(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().filter(|it| it.is_of_clients()).map(|it| it.name)
    }
}

impl StepVerb {
    /// Returns the row of the verb.
    pub fn row(self) -> &'static VerbRow {
        // The rows are in the order of the variants, as a test ensures.
        &VERBS[self as usize]
    }

    /// Returns the tested party of the only kind of scenario in which the verb may occur; `None` if the verb may occur
    /// in every scenario.
    pub fn party(self) -> Option<TestedParty> {
        match self {
            StepVerb::Drive | StepVerb::Respond | StepVerb::Publish | StepVerb::Refuse => {
                Some(TestedParty::Client)
            }
            StepVerb::Restart | StepVerb::Pause | StepVerb::Resume => Some(TestedParty::Server),
            _ => None,
        }
    }

    /// Returns whether a step with this verb waits until something has come, so that later steps come after it.
    pub fn lets_come(self) -> bool {
        match self.row().nature {
            VerbNature::Acts => false,
            VerbNature::Paces => true,
            VerbNature::Listens | VerbNature::Reads => {
                !matches!(self, StepVerb::Never | StepVerb::Mirror | StepVerb::Snapshot)
            }
        }
    }

    /// Returns the only protocol whose scenarios may use the verb; `None` if the scenarios of all protocols may use it.
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
            | StepVerb::Serve
            | StepVerb::Restart
            | StepVerb::Drive
            | StepVerb::Respond
            | StepVerb::Publish
            | StepVerb::Refuse => Some(ProtocolStandard::Ahp),
            _ => None,
        }
    }
}

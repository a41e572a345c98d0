//! The small tasks of which steps consist: each sends a message, waits for an event, or does both.

use std::time::Duration;

use crate::peer::guise::ClientCredentials;
use crate::peer::serving::AgentOffers;
use crate::scenario::bind::ValueTemplate;
use crate::scenario::pattern::ValuePattern;
use crate::wire::version::ProtocolStandard;

use super::case_peers::PeerId;
use super::goal::{DispatchGoal, DriverGoal, OpeningGoal, RequestGoal, ResultUse};
use super::message_filter::{FilterMode, MessageFilter};
use super::permission_reply::PermissionReply;
use super::response_rule::ResponseRule;
use super::state_claim::TestedStateClaim;
use super::step_wait::StepWait;

/// An act with its step.
#[derive(Debug)]
pub struct StepTask {
    /// The index of the step in the scenario; `None` for tasks of the cleanup.
    pub step: Option<usize>,
    /// The time limit of the act's wait, if the step states one.
    pub within: Option<Duration>,
    /// The act.
    pub act: TaskAct,
    /// Whether the act only prepares the step's main act, such as an observer's handshake. If a preparing act
    /// fails, the requirements of the step are untested.
    pub prepares: bool,
}

/// The requests that may start or end a process on the host, and that may therefore take longer than others.
const SLOW: &[(ProtocolStandard, &str)] = &[
    (ProtocolStandard::Ahp, "createSession"),
    (ProtocolStandard::Ahp, "disposeSession"),
    (ProtocolStandard::Ahp, "createChat"),
    (ProtocolStandard::Ahp, "createTerminal"),
    (ProtocolStandard::Ahp, "disposeTerminal"),
    // The handshake starts the agent.
    (ProtocolStandard::Acp, "initialize"),
    (ProtocolStandard::Acp, "authenticate"),
    (ProtocolStandard::Acp, "session/new"),
];
/// The time limit of a slow request, as a multiple of the time limit of one wait.
pub(super) const PATIENCE: u32 = 5;

/// An act.
#[derive(Debug)]
pub enum TaskAct {
    /// Gives the driver of the tested client a command, and waits for the answer if `want` is set.
    Drive {
        /// The name of the command.
        command: String,
        /// The members of the command.
        members: Option<ValueTemplate>,
        /// The expected outcome; `None` if the step does not wait.
        want: Option<DriverGoal>,
        /// The name that the result is bound to, or the id of an unawaited command.
        bind: Option<String>,
    },
    /// Waits for the driver's answer to an unawaited command.
    AwaitDriver {
        /// The id of the command.
        id: ValuePattern,
        /// The expected outcome.
        want: DriverGoal,
        /// The name that the result is bound to.
        bind: Option<String>,
    },
    /// Compares the state of the tested client with the reducers and with a pattern.
    TestedState {
        /// The channel.
        channel: ValueTemplate,
        /// The claim. Its `channel` is empty until the template in `channel` is filled in.
        claim: TestedStateClaim,
    },
    /// Changes how the host answers requests of the tested client.
    Respond {
        /// The rule. The value in its `change` is null until the template in `value` is filled in.
        rule: ResponseRule,
        /// The value of the change, as a template.
        value: Option<ValueTemplate>,
    },
    /// Makes the host publish an action.
    Publish {
        /// The channel.
        channel: ValueTemplate,
        /// The action.
        action: ValueTemplate,
        /// The origin of the envelope.
        origin: Option<ValueTemplate>,
        /// The reason for the rejection.
        rejected: Option<String>,
        /// Further members of the envelope.
        members: Option<ValueTemplate>,
    },
    /// Refuses the next connections of the tested client.
    Refuse {
        /// The number of connections.
        times: u64,
        /// The HTTP status.
        status: u16,
    },
    /// Opens a connection and waits until it is open.
    Connect(PeerId),
    /// Opens a connection with the given credentials and origin. The client uses them for later connections, too.
    Come {
        /// The client.
        peer: PeerId,
        /// The credentials of the client.
        credentials: ClientCredentials,
        /// The `Origin` header.
        origin: Option<ValueTemplate>,
        /// The expected outcome.
        want: OpeningGoal,
    },
    /// Sends a request and waits for its answer.
    Request {
        /// The client.
        peer: PeerId,
        /// The method.
        method: String,
        /// The params.
        params: ValueTemplate,
        /// The expected outcome.
        want: RequestGoal,
        /// Whether objects of the answer must not have members beyond those of the pattern.
        exact: bool,
        /// The names to which the result is bound.
        keep: ResultUse,
    },
    /// Waits until a session has a default chat, and binds a name to the URI of that chat.
    DefaultChat {
        /// A client that is subscribed to the session.
        peer: PeerId,
        /// The session.
        session: ValueTemplate,
        /// The name to which the chat is bound.
        bind: String,
    },
    /// Sends `reconnect` and waits for its answer.
    Reconnect {
        /// The client.
        peer: PeerId,
        /// The channels to resume.
        subscriptions: Option<ValueTemplate>,
        /// The `serverSeq` last seen.
        last_seen: Option<ValueTemplate>,
        /// The expected outcome.
        want: RequestGoal,
        /// The names to which the result is bound.
        keep: ResultUse,
    },
    /// Sends a request and does not wait for its answer; binds the request's identifier.
    Ask {
        /// The client.
        peer: PeerId,
        /// The method.
        method: String,
        /// The params.
        params: ValueTemplate,
        /// The name to which the identifier is bound.
        bind: Option<String>,
    },
    /// Sets the capabilities that a client offers to agents from now on.
    Offer {
        /// The client.
        peer: PeerId,
        /// The offered abilities.
        offers: AgentOffers,
    },
    /// Waits until an agent asks for permission, and answers the request.
    Permit {
        /// The client.
        peer: PeerId,
        /// The answer.
        answer: PermissionReply,
    },
    /// Compares a file in the agent's folder with a pattern.
    Look {
        /// The absolute path.
        path: String,
        /// The pattern for the file's content.
        text: ValuePattern,
        /// Whether the file is read again until it matches.
        waits: bool,
    },
    /// Waits. A module of its own implements the wait.
    Wait(Box<dyn StepWait>),
    /// Compares a tool call's accumulated state with a pattern.
    CallState {
        /// The client.
        peer: PeerId,
        /// The identifier of the tool call.
        id: ValueTemplate,
        /// The pattern for the state.
        state: ValuePattern,
    },
    /// Sends a notification.
    Notify {
        /// The client.
        peer: PeerId,
        /// The method.
        method: String,
        /// The params.
        params: ValueTemplate,
    },
    /// Dispatches an action and waits for its outcome.
    Dispatch {
        /// The client.
        peer: PeerId,
        /// The channel.
        channel: ValueTemplate,
        /// The action.
        action: ValueTemplate,
        /// The `clientSeq`, if the step states one.
        seq: Option<ValueTemplate>,
        /// The expected outcome; `None` if the task does not wait for one.
        settle: Option<DispatchGoal>,
        /// The name to which the `clientSeq` is bound.
        bind: Option<String>,
    },
    /// Waits for a message.
    Await {
        /// The client.
        peer: PeerId,
        /// The filter for the message.
        filter: MessageFilter,
        /// The channel, as a template.
        channel: Option<ValueTemplate>,
        /// How the filter is applied.
        mode: FilterMode,
    },
    /// Watches that a message does not arrive.
    Watch {
        /// The client.
        peer: PeerId,
        /// The filter for the message.
        filter: MessageFilter,
        /// The channel, as a template.
        channel: Option<ValueTemplate>,
    },
    /// Waits until every frame that the host sent before has arrived at every client.
    Barrier {
        /// The client that dispatches the marker.
        peer: PeerId,
        /// The channel, as a template.
        channel: Option<ValueTemplate>,
    },
    /// Compares a client's mirror of a channel's state with a pattern.
    Mirror {
        /// The client.
        peer: PeerId,
        /// The channel.
        channel: ValueTemplate,
        /// The pattern for the state.
        state: ValuePattern,
        /// Whether objects must not have members beyond those of the pattern.
        exact: bool,
    },
    /// Sends a raw frame.
    Send {
        /// The client.
        peer: PeerId,
        /// The frame.
        frame: RawFrame,
        /// The number of times that the frame is sent.
        times: u64,
    },
    /// Pauses or resumes reading.
    Hold {
        /// The client.
        peer: PeerId,
        /// Whether to pause.
        paused: bool,
    },
    /// Waits for the response to a raw frame.
    Answer {
        /// The client.
        peer: PeerId,
        /// The identifier of the response.
        id: ValuePattern,
        /// The expected outcome; `None` if the host must not respond.
        want: Option<RequestGoal>,
        /// Whether the host may omit the response. Then it only has to answer a `ping` that is sent afterwards.
        silent: bool,
        /// The names to which the result is bound.
        keep: ResultUse,
    },
    /// Waits for a request of the host.
    Asked {
        /// The client.
        peer: PeerId,
        /// The method.
        method: String,
        /// The request's identifier.
        id: ValuePattern,
        /// The pattern for the params.
        params: Option<ValuePattern>,
    },
    /// Lets a client serve a folder to the host.
    Serve {
        /// The client.
        peer: PeerId,
        /// The URI of the folder.
        folder: ValueTemplate,
        /// The content of the files.
        files: ValueTemplate,
        /// The methods that steps of the scenario answer.
        withheld: Vec<String>,
        /// Whether the host may change the files.
        writable: bool,
    },
    /// Ends a connection.
    Hang {
        /// The client.
        peer: PeerId,
        /// Whether to perform a closing handshake.
        graceful: bool,
    },
    /// Waits until the host closes a connection.
    AwaitClosed(PeerId),
    /// Restarts the host.
    Restart {
        /// Whether to kill the host's process instead of asking it to end.
        crash: bool,
    },
    /// Releases the agent from a hold by other means than a message to the host.
    Release(String),
    /// Waits until the time limit of the task has passed.
    Rest,
}

/// A frame that the scenario specifies exactly.
#[derive(Clone, Debug)]
pub enum RawFrame {
    /// The text of the frame.
    Text(ValueTemplate),
    /// A JSON value.
    Json(ValueTemplate),
    /// The bytes of a binary frame.
    Binary(ValueTemplate),
    /// A `ping` padded to this many bytes.
    Padded(u64),
    /// A `ping` with arrays nested to this depth.
    Nested(u64),
    /// A `ping` of this many bytes that the transcript does not keep.
    Flood(u64),
    /// A JSON value with one mutation.
    Mangled(ValueTemplate),
}

impl TaskAct {
    /// Returns the default time limit of the act, as a multiple of the time limit of one wait. The protocol
    /// sets no deadlines, and a slow host under load must not look like a host that does not answer.
    pub fn patience(&self, standard: ProtocolStandard) -> u32 {
        match self {
            TaskAct::Request { method, .. } if SLOW.contains(&(standard, method.as_str())) => {
                PATIENCE
            }
            _ => 1,
        }
    }
}

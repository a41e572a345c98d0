//! The small tasks of which steps consist: each sends a message, waits for an event, or does both.

use std::time::Duration;

use crate::peer::guise::ClientCredentials;
use crate::peer::serving::AgentOffers;
use crate::wire::json::Value;

use crate::scenario::bind::{TextPiece, ValueTemplate};
use crate::scenario::pattern::{PatternName, ValuePattern};
use crate::scenario::source::SourceSpan;
use crate::wire::message::Message;
use crate::wire::version::ProtocolStandard;

use super::step_wait::StepWait;

/// A client of the case, by its index in [`ScenarioCase`](super::case::ScenarioCase).
pub type PeerId = usize;

/// The expected outcome of a request.
#[derive(Clone, Debug)]
pub enum RequestGoal {
    /// A result. If there is a pattern, the result must match it.
    Result(Option<ValuePattern>),
    /// A result with a snapshot. The template names the channel of the snapshot; the pattern matches its state.
    State(ValuePattern, ValueTemplate),
    /// An error that matches the pattern.
    Error(ValuePattern),
    /// An error that matches the pattern, or the end of the connection by the host.
    Refused(ValuePattern),
    /// A result that matches the first pattern, or an error that matches the second pattern.
    Either(ValuePattern, ValuePattern),
    /// The end of the connection by the host.
    Closed,
    /// Any answer. The cleanup uses this goal, because it judges nothing.
    Anything,
}

/// The expected outcome of opening a connection.
#[derive(Clone, Debug)]
pub enum OpeningGoal {
    /// The connection is opened.
    Stands,
    /// The connection is opened or refused.
    Either,
    /// The connection is refused with a status that matches the pattern.
    Refused(ValuePattern),
}

/// The names to which a matched result is bound.
#[derive(Clone, Debug, Default)]
pub struct ResultUse {
    /// The name to which the result, or the snapshot's state, is bound.
    pub bind: Option<String>,
    /// The name to which the default chat of a session's snapshot is bound, if the snapshot has a default chat.
    pub default_chat: Option<String>,
}

/// The expected outcome of a dispatched action.
#[derive(Clone, Debug)]
pub enum DispatchGoal {
    /// The host echoes the action as accepted, in an envelope that matches the pattern.
    Accept(ValuePattern),
    /// The host echoes the action with a `rejectionReason`, in an envelope that matches the pattern.
    Reject(ValuePattern),
    /// The host sends no envelope before a barrier completes.
    Ignored,
    /// The host does not accept the action: it rejects the action, or sends no envelope before a barrier
    /// completes.
    Refused,
}

/// The messages that a step looks for.
#[derive(Clone, Debug)]
pub struct MessageFilter {
    /// The location of the step.
    pub span: SourceSpan,
    /// The type of the action.
    pub action: Option<String>,
    /// The method of the notification.
    pub method: Option<String>,
    /// The channel, after its template was filled in.
    pub channel: Option<Value>,
    /// The pattern for the params.
    pub params: Option<ValuePattern>,
    /// Whether objects must not have members beyond those of the pattern.
    pub exact: bool,
    /// The number of matching messages that a `never` step tolerates.
    pub beyond: u64,
    /// The method of a message that ends the wait, because the sender is free to send it instead of the expected
    /// message.
    pub unless: Option<String>,
    /// The name of a response, and the side of that response on which the message has to arrive: before or after it.
    pub beside: Option<Box<(ResponseSide, String)>>,
    /// The position from `beside` with the line of the response; `None` until the wait begins.
    pub order: Option<MessageOrder>,
}

/// The order of a message and a response in a client's transcript.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ResponseSide {
    /// Before the response.
    Before,
    /// After the response.
    After,
}

/// The required position of a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MessageOrder {
    /// The side of the response.
    pub side: ResponseSide,
    /// The line of the response.
    pub response: u64,
}

/// The reason why the position of a message is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OrderMismatch {
    /// The message came before the response, but has to come after it.
    TooEarly,
    /// The message came after the response on this line, but has to come before it.
    TooLate(u64),
}

impl MessageOrder {
    /// Returns why a message on this line has the wrong position; `None` if the position is right.
    pub fn broken_by(self, line: u64) -> Option<OrderMismatch> {
        match self.side {
            ResponseSide::Before if line > self.response => {
                Some(OrderMismatch::TooLate(self.response))
            }
            ResponseSide::After if line < self.response => Some(OrderMismatch::TooEarly),
            ResponseSide::Before | ResponseSide::After => None,
        }
    }
}

impl MessageFilter {
    /// Returns whether a message has the filter's type or method and channel, regardless of its params.
    pub fn is_about(&self, message: &Message) -> bool {
        let params = message.params();
        let action = message.method() == Some("action");
        let method = match (&self.method, &self.action) {
            (Some(method), _) => message.method() == Some(method),
            (None, Some(wanted)) => action && params["action"]["type"] == wanted.as_str(),
            (None, None) => true,
        };
        method && self.channel.as_ref().is_none_or(|channel| params["channel"] == *channel)
    }

    /// Returns whether the filter names neither a type nor a method.
    pub fn is_of_any_kind(&self) -> bool {
        self.action.is_none() && self.method.is_none()
    }

    /// Returns whether the pattern uses a `serverSeq` that grows during the wait (`${A.seq}`).
    pub fn uses_numbers(&self) -> bool {
        let mut found = false;
        if let Some(params) = &self.params {
            params.names(&mut |_, name| {
                found |= matches!(name, PatternName::Hole(TextPiece::Use(name)) if name.ends_with(".seq"));
            });
        }
        found
    }

    /// Returns the action types that the filter names; empty if it accepts any type.
    pub fn action_types(&self) -> Vec<String> {
        let types = || self.params.as_ref().map(|it| it.texts_at(&["action", "type"]));
        match &self.action {
            Some(name) => vec![name.clone()],
            None => types().unwrap_or_default(),
        }
    }

    /// Returns the filter's types or method as text for a failure message, such as "`chat/delta`" or "`chat/error` or
    /// `chat/turnComplete`".
    pub fn what(&self) -> String {
        let names = match &self.method {
            Some(method) if self.action.is_none() => vec![method.clone()],
            _ => self.action_types(),
        };
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        match names.split_last() {
            None => "a message".to_owned(),
            Some((last, [])) => last.clone(),
            Some((last, first)) => format!("{} or {last}", first.join(", ")),
        }
    }

    /// Returns the same string as `what`, for use after "no"; "such message" if the filter has no type and no method.
    pub fn what_not(&self) -> String {
        match &*self.what() {
            "a message" => "such message".to_owned(),
            what => what.to_owned(),
        }
    }
}

/// How a filter is applied to the unread messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FilterMode {
    /// The first match; earlier messages on the channel are skipped.
    First,
    /// The next message has to match.
    Next,
    /// The first match. The message stays unread.
    Look,
}

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

/// The expected outcome of a command to the driver of the tested client.
#[derive(Clone, Debug)]
pub enum DriverGoal {
    /// A result. If there is a pattern, the result must match it.
    Result(Option<ValuePattern>),
    /// An error that matches the pattern.
    Error(ValuePattern),
    /// A result that matches the first pattern, or an error that matches the second.
    Either(ValuePattern, ValuePattern),
}

/// A change of the host's responses to the tested client.
#[derive(Clone, Debug)]
pub struct ResponseRule {
    /// The method of the requests.
    pub method: String,
    /// The pattern of the requests' params.
    pub params: Option<ValuePattern>,
    /// The number of requests to which the rule still applies.
    pub times: u64,
    /// The change.
    pub change: ResponseChange,
    /// The delay of the response.
    pub delay: Option<Duration>,
}

/// The change of a response.
#[derive(Clone, Debug)]
pub enum ResponseChange {
    /// The response is unchanged.
    Nothing,
    /// The result is replaced by this value. The host does not see the request.
    Result(Value),
    /// The response is this error. The host does not see the request.
    Error(Value),
    /// This JSON Merge Patch is applied to the host's result.
    Merge(Value),
    /// No response is sent.
    Silence,
    /// The response is sent twice.
    Twice,
    /// The connection is cut instead of sending a response.
    Cut,
}

/// A claim about the state of the tested client.
#[derive(Clone, Debug)]
pub struct TestedStateClaim {
    /// The channel, after its template was filled in.
    pub channel: String,
    /// The pattern of the state.
    pub state: Option<ValuePattern>,
    /// The members of the state that the step tests in addition to those of the pattern.
    pub compares: Vec<String>,
    /// Whether objects must not have members beyond those of the pattern.
    pub exact: bool,
    /// Whether the optimistic state is compared, which includes pending actions, instead of the confirmed state.
    pub shown: bool,
    /// The number of pending actions.
    pub pending: Option<u64>,
}

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

/// An answer to a request for permission.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PermissionReply {
    /// Selects an option of this kind.
    Kind(&'static str),
    /// Answers with the outcome `cancelled`.
    Cancelled,
    /// Selects an option that was not offered.
    Unknown,
    /// Answers with an error.
    Error,
}

impl PermissionReply {
    /// Every answer, with its name in the scenario language.
    pub const ALL: [(&'static str, PermissionReply); 7] = [
        ("allow-once", PermissionReply::Kind("allow_once")),
        ("allow-always", PermissionReply::Kind("allow_always")),
        ("reject-once", PermissionReply::Kind("reject_once")),
        ("reject-always", PermissionReply::Kind("reject_always")),
        ("cancelled", PermissionReply::Cancelled),
        ("unknown", PermissionReply::Unknown),
        ("error", PermissionReply::Error),
    ];

    /// Returns the answer with this name; `None` if no answer has this name.
    pub fn named(word: &str) -> Option<PermissionReply> {
        PermissionReply::ALL.iter().find(|(known, _)| *known == word).map(|(_, permit)| *permit)
    }
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

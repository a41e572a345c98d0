//! The small acts that steps are made of: each sends something, waits for something, or both.

use std::time::Duration;

use crate::peer::guise::ClientCredentials;
use crate::peer::serving::AgentOffers;
use crate::wire::json::Value;

use crate::scenario::bind::{TextPiece, ValueTemplate};
use crate::scenario::pattern::{PatternName, ValuePattern};
use crate::scenario::source::SourceSpan;
use crate::wire::message::Message;
use crate::wire::version::ProtocolStandard;

/// A client of the case, by its place in [`ScenarioCase`](super::case::ScenarioCase).
pub type PeerId = usize;

/// What a request has to lead to.
#[derive(Clone, Debug)]
pub enum RequestGoal {
    /// A result; with a pattern, one that looks like it.
    Result(Option<ValuePattern>),
    /// A result whose snapshot's state looks like this.
    State(ValuePattern),
    /// An error that looks like this.
    Error(ValuePattern),
    /// An error that looks like this, or that the host closes the connection.
    Refused(ValuePattern),
    /// A result or an error, as the host likes, that looks like the one or the other of these.
    Either(ValuePattern, ValuePattern),
    /// That the host closes the connection.
    Closed,
    /// Any answer at all: cleaning up judges nothing.
    Anything,
}

/// What opening a connection has to lead to.
#[derive(Clone, Debug)]
pub enum OpeningGoal {
    /// That it stands.
    Stands,
    /// That it stands or is refused.
    Either,
    /// That it is refused with a status that looks like this.
    Refused(ValuePattern),
}

/// What becomes of a result besides being matched.
#[derive(Clone, Debug, Default)]
pub struct ResultUse {
    /// The name that the result, or the snapshot's state, is bound to.
    pub bind: Option<String>,
    /// The name that the default chat of a session's snapshot is bound to, where it has one.
    pub default_chat: Option<String>,
}

/// What has to become of a dispatched action.
#[derive(Clone, Debug)]
pub enum DispatchGoal {
    /// It comes back accepted, in an envelope that looks like this.
    Accept(ValuePattern),
    /// It comes back with a `rejectionReason`, in an envelope that looks like this.
    Reject(ValuePattern),
    /// Nothing comes back up to a barrier.
    Ignored,
    /// It is not accepted: rejected, or nothing comes back up to a barrier.
    Refused,
}

/// Which messages a step looks for.
#[derive(Clone, Debug)]
pub struct MessageFilter {
    /// Where the step stands.
    pub span: SourceSpan,
    /// The type of an action.
    pub action: Option<String>,
    /// The method of a notification.
    pub method: Option<String>,
    /// The channel, once filled in.
    pub channel: Option<Value>,
    /// What the params have to look like.
    pub params: Option<ValuePattern>,
    /// Whether objects may have other members.
    pub exact: bool,
    /// The name of a response, and on which side of it the message has to stand.
    pub beside: Option<(ResponseSide, String)>,
    /// The same with the line of the response, once the wait begins.
    pub order: Option<MessageOrder>,
}

/// On which side of a response a message has to stand in a client's transcript.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ResponseSide {
    /// Before it.
    Before,
    /// After it.
    After,
}

/// Where a message has to stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MessageOrder {
    /// On which side.
    pub side: ResponseSide,
    /// The line of the response.
    pub response: u64,
}

/// Why a message stands in the wrong place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OrderMismatch {
    /// It came before the response on this side of which it must not be.
    TooEarly,
    /// It came after the response, which stands on this line.
    TooLate(u64),
}

impl MessageOrder {
    /// What is wrong with a message on a line, if anything is.
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
    /// Whether the message is of the kind that the filter is about, whatever its params.
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

    /// Whether it says neither a type nor a method.
    pub fn is_of_any_kind(&self) -> bool {
        self.action.is_none() && self.method.is_none()
    }

    /// Whether what it matches depends on numbers that grow while it waits (`${A.seq}`).
    pub fn uses_numbers(&self) -> bool {
        let mut found = false;
        if let Some(params) = &self.params {
            params.names(&mut |_, name| {
                found |= matches!(name, PatternName::Hole(TextPiece::Use(name)) if name.ends_with(".seq"));
            });
        }
        found
    }

    /// The types of actions that it names; none where it takes any.
    pub fn action_types(&self) -> Vec<String> {
        let types = || self.params.as_ref().map(|it| it.texts_at(&["action", "type"]));
        match &self.action {
            Some(name) => vec![name.clone()],
            None => types().unwrap_or_default(),
        }
    }

    /// What the filter is about, for a message: "`chat/delta`", "`chat/error` or `chat/turnComplete`".
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

    /// The same, after "no": "such message" where it has no name.
    pub fn what_not(&self) -> String {
        match &*self.what() {
            "a message" => "such message".to_owned(),
            what => what.to_owned(),
        }
    }
}

/// How a filter is held against what arrives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FilterMode {
    /// The first that matches.
    First,
    /// The very next.
    Next,
    /// The first that matches, which stays unread.
    Look,
}

/// One small act, with the step it belongs to.
#[derive(Clone, Debug)]
pub struct StepTask {
    /// The step's place in the scenario; `None` while cleaning up.
    pub step: Option<usize>,
    /// How long its wait may take, where the step says so.
    pub within: Option<Duration>,
    /// The act.
    pub act: TaskAct,
    /// Whether the act only makes the step's own possible, such as the handshake of an observer: what goes
    /// wrong with it says nothing about what the step tests.
    pub prepares: bool,
}

/// Requests that may start or end a process on the host, which takes longer than an answer does.
const SLOW: &[(ProtocolStandard, &str)] = &[
    (ProtocolStandard::Ahp, "createSession"),
    (ProtocolStandard::Ahp, "disposeSession"),
    (ProtocolStandard::Ahp, "createChat"),
    (ProtocolStandard::Ahp, "createTerminal"),
    (ProtocolStandard::Ahp, "disposeTerminal"),
    // An agent is started by the handshake.
    (ProtocolStandard::Acp, "initialize"),
    (ProtocolStandard::Acp, "authenticate"),
    (ProtocolStandard::Acp, "session/new"),
];
/// Waits of the usual length that such a request may take.
pub(super) const PATIENCE: u32 = 5;

/// What to do.
#[derive(Clone, Debug)]
pub enum TaskAct {
    /// Opens a connection and waits until it stands.
    Connect(PeerId),
    /// The same in a guise, which the client keeps.
    Come {
        /// Who comes.
        peer: PeerId,
        /// By which credentials.
        credentials: ClientCredentials,
        /// From which page.
        origin: Option<ValueTemplate>,
        /// What has to come of it.
        want: OpeningGoal,
    },
    /// Sends a request and waits for its answer.
    Request {
        /// Who sends it.
        peer: PeerId,
        /// The method.
        method: String,
        /// The params.
        params: ValueTemplate,
        /// What has to come of it.
        want: RequestGoal,
        /// Whether objects of the answer may have other members.
        exact: bool,
        /// What becomes of the result.
        keep: ResultUse,
    },
    /// Waits until a session has a default chat, and binds it.
    DefaultChat {
        /// A client that is subscribed to the session.
        peer: PeerId,
        /// The session.
        session: ValueTemplate,
        /// The name that the chat is bound to.
        bind: String,
    },
    /// Sends `reconnect` and waits for its answer.
    Reconnect {
        /// Who comes back.
        peer: PeerId,
        /// The channels to resume.
        subscriptions: Option<ValueTemplate>,
        /// The number last seen.
        last_seen: Option<ValueTemplate>,
        /// What has to come of it.
        want: RequestGoal,
        /// What becomes of the result.
        keep: ResultUse,
    },
    /// Sends a request and does not wait; its id is bound.
    Ask {
        /// Who sends it.
        peer: PeerId,
        /// The method.
        method: String,
        /// The params.
        params: ValueTemplate,
        /// The name that the id is bound to.
        bind: Option<String>,
    },
    /// From here on offers an agent this.
    Offer {
        /// Who offers it.
        peer: PeerId,
        /// What.
        offers: AgentOffers,
    },
    /// Waits until an agent asks for permission, and answers.
    Permit {
        /// Who answers.
        peer: PeerId,
        /// What.
        answer: PermissionReply,
    },
    /// Looks at a file in the agent's folder.
    Look {
        /// The absolute path.
        path: String,
        /// What has to stand in it.
        text: ValuePattern,
        /// Whether it is looked at again until that stands in it.
        waits: bool,
    },
    /// Looks at how often our tool was called.
    Called {
        /// How often, since the case began.
        times: u64,
        /// What is told of each call has to look like this.
        each: ValuePattern,
    },
    /// Waits until the texts of a session look like this.
    Texts {
        /// Whose.
        peer: PeerId,
        /// The session, to be filled in.
        session: ValueTemplate,
        /// What they have to look like: members `user` and `agent`.
        texts: ValuePattern,
    },
    /// Looks at what the reports of a call add up to.
    CallState {
        /// Whose.
        peer: PeerId,
        /// The id of the call.
        id: ValueTemplate,
        /// What it has to look like.
        state: ValuePattern,
    },
    /// Sends a notification.
    Notify {
        /// Who sends it.
        peer: PeerId,
        /// The method.
        method: String,
        /// The params.
        params: ValueTemplate,
    },
    /// Dispatches an action and waits for what has to become of it.
    Dispatch {
        /// Who dispatches it.
        peer: PeerId,
        /// The channel.
        channel: ValueTemplate,
        /// The action.
        action: ValueTemplate,
        /// Its `clientSeq`, where the step says so.
        seq: Option<ValueTemplate>,
        /// What has to become of it.
        settle: Option<DispatchGoal>,
        /// The name that the `clientSeq` is bound to.
        bind: Option<String>,
    },
    /// Waits for a message.
    Await {
        /// Who has to see it.
        peer: PeerId,
        /// Which one.
        filter: MessageFilter,
        /// The channel, to be filled in.
        channel: Option<ValueTemplate>,
        /// How it is looked for.
        mode: FilterMode,
    },
    /// Watches that a message does not come.
    Watch {
        /// Who must not see it.
        peer: PeerId,
        /// Which one.
        filter: MessageFilter,
        /// The channel, to be filled in.
        channel: Option<ValueTemplate>,
    },
    /// Waits until everything sent before has arrived everywhere.
    Barrier {
        /// Who marks it.
        peer: PeerId,
        /// The channel, to be filled in.
        channel: Option<ValueTemplate>,
    },
    /// Looks at a client's own state.
    Mirror {
        /// Whose.
        peer: PeerId,
        /// The channel.
        channel: ValueTemplate,
        /// What it has to look like.
        state: ValuePattern,
        /// Whether objects may have other members.
        exact: bool,
    },
    /// Sends a frame as it is.
    Send {
        /// Who sends it.
        peer: PeerId,
        /// What it is.
        frame: RawFrame,
        /// How often it is sent.
        times: u64,
    },
    /// Stops reading, or goes on.
    Hold {
        /// Whose connection.
        peer: PeerId,
        /// Whether it stops.
        paused: bool,
    },
    /// Waits for the response to a frame sent as it is.
    Answer {
        /// Who has to see it.
        peer: PeerId,
        /// Its id.
        id: ValuePattern,
        /// What the response must look like; `None`: no response may come.
        want: Option<RequestGoal>,
        /// Whether the host may also stay silent until it answers a later `ping`.
        silent: bool,
        /// What becomes of the result.
        keep: ResultUse,
    },
    /// Waits for a request of the host.
    Asked {
        /// Who is asked.
        peer: PeerId,
        /// The method.
        method: String,
        /// Its id.
        id: ValuePattern,
        /// What the params have to look like.
        params: Option<ValuePattern>,
    },
    /// Ends a connection.
    Hang {
        /// Whose.
        peer: PeerId,
        /// Whether with a closing handshake.
        graceful: bool,
    },
    /// Waits until the host closes a connection.
    AwaitClosed(PeerId),
    /// Restarts the host.
    Restart,
    /// Lets the agent go on from a hold, behind the host's back.
    Release(String),
    /// Does nothing until its time is over.
    Rest,
}

/// An answer to a request for permission.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PermissionReply {
    /// An option of this kind.
    Kind(&'static str),
    /// The outcome `cancelled`.
    Cancelled,
    /// An option that was not offered.
    Unknown,
    /// An error.
    Error,
}

impl PermissionReply {
    /// Every answer, with the word of a scenario.
    pub const ALL: [(&'static str, PermissionReply); 7] = [
        ("allow-once", PermissionReply::Kind("allow_once")),
        ("allow-always", PermissionReply::Kind("allow_always")),
        ("reject-once", PermissionReply::Kind("reject_once")),
        ("reject-always", PermissionReply::Kind("reject_always")),
        ("cancelled", PermissionReply::Cancelled),
        ("unknown", PermissionReply::Unknown),
        ("error", PermissionReply::Error),
    ];

    /// What a word of a scenario stands for.
    pub fn named(word: &str) -> Option<PermissionReply> {
        PermissionReply::ALL.iter().find(|(known, _)| *known == word).map(|(_, permit)| *permit)
    }
}

/// A frame that the scenario writes itself.
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
    /// A `ping` with arrays nested this deep.
    Nested(u64),
    /// A `ping` of this many bytes that the transcript does not keep.
    Flood(u64),
    /// A JSON value with one thing in it spoilt.
    Mangled(ValueTemplate),
}

impl TaskAct {
    /// How many waits of the usual length it may take, where the scenario does not say. The protocol
    /// has no deadlines; a host under load is not to be taken for one that does not answer.
    pub fn patience(&self, standard: ProtocolStandard) -> u32 {
        match self {
            TaskAct::Request { method, .. } if SLOW.contains(&(standard, method.as_str())) => {
                PATIENCE
            }
            _ => 1,
        }
    }
}
